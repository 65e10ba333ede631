"""The centreline of a tube: the cheapest path along the middle of a region, smoothed.

A skeleton by thinning is no safe base: a straight tube with an even number of voxels across is thinned away from its
flat ends, down to a point. So the two ends are the voxels that are farthest apart inside the region, and the path
between them is the cheapest one where a voxel costs the more the nearer it is to the wall. A path over voxels goes up
and down stairs and is up to a fifth too long (fiji/AnalyzeSkeleton#6 shows the same), so it is resampled and smoothed
in mm before it is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import ndimage

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Bools, Floats, Grid, Triple
from slicewise.imaging.measure import components
from slicewise.imaging.volume import Mask

MOST_VOXELS = 2_000_000
MOST_CUBIC = 6_000_000  # voxels of the box, and below of the region, after interpolation
MOST_FILLED = 250_000
_SLACK = 0.8  # voxels
_STEEP = 4  # a path at half the depth costs 16 times as much


@dataclass(frozen=True, slots=True)
class Centreline:
    """A path through the middle of a tube.

    Attributes:
        voxels: ``(n, 3)`` positions ``(z, y, x)``, fractional, about one voxel apart.
        length_mm: Length of the smoothed path, from the middle of the last ball that fits into one end to that of the
            other; a tube with flat ends is longer by its radius at each end. Within 2 % for tubes at least ten times
            as long as wide; where an end lies is known to about half a radius. With given ends, the path between them.
        tortuosity: Length over the straight distance of its ends; ``None`` for a closed path.
        radius_mm: Smallest, mean and largest distance from the path to the wall.
    """

    voxels: Floats
    length_mm: float
    tortuosity: float | None
    radius_mm: Triple


def centreline(
    mask: Mask,
    label: int,
    *,
    start: Sequence[float] | None = None,
    end: Sequence[float] | None = None,
    smooth_mm: float = 5.0,
) -> Centreline:
    """The longest path through the largest connected part of a label, or the path between two points.

    Args:
        mask: The mask.
        label: Its label.
        start: Voxel near which the path starts; the nearest voxel of the region is taken.
        end: Likewise for the end.
        smooth_mm: Twice the standard deviation of the Gaussian that smooths the path; 0 leaves the stairs.

    Raises:
        ImagingError: ``E_EMPTY_MASK`` without voxels or for a region that is no tube at all; ``E_BAD_INDEX`` when only
            one of the ends is given or one lies outside; ``E_LIMIT`` for more than two million voxels; ``E_FORMAT``
            without spacing.
    """
    if (start is None) != (end is None):
        raise ImagingError(Code.BAD_INDEX, "start and end belong together; give both or none.")
    scale = np.asarray(mask.grid.mm)
    inside, bounds = mask.region(label)
    if mask.counts[label] > MOST_VOXELS:
        raise ImagingError(Code.LIMIT, f"the region has more than {MOST_VOXELS} voxels; resample the mask first.")
    inside, step = _cubic(np.pad(components(inside, "largest")[0], 1), scale)
    # From voxels of the cubic box to those of the volume: z = a * zoom + b.
    zoom = step / scale
    corner = np.asarray([low for low, _ in bounds]) - 1.5 + zoom / 2
    wall = ndimage.distance_transform_edt(inside, sampling=step)
    if start is None or end is None:
        path = _trimmed(_path(inside, wall, *_far_ends(inside, wall)), wall / step)
    else:
        first, last = (_nearest(inside, mask.grid, zoom, corner, point) for point in (start, end))
        path = _path(inside, wall, first, last)
    if len(path) < 2:
        raise ImagingError(Code.EMPTY_MASK, "the region is too compact for a centreline.")
    # Less than a voxel cannot smooth stairs of a voxel.
    reach = max(smooth_mm, 2 * float(scale.max())) / step if smooth_mm > 0 else 0.0
    points = smoothed(path, reach)
    if smooth_mm > 0:
        points = smoothed(_centred(points, inside, wall / step), reach)
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum()) * step
    straight = float(np.linalg.norm(points[-1] - points[0])) * step
    radii = ndimage.map_coordinates(wall, points.T, order=1)
    return Centreline(
        points * zoom + corner,
        length,
        length / straight if straight > float(scale.max()) else None,
        (float(radii.min()), float(radii.mean()), float(radii.max())),
    )


def _cubic(inside: Bools, spacing: Floats) -> tuple[Bools, float]:
    """The region on cubic voxels, its shape interpolated between slices, and their size in mm.

    Distances to the wall would otherwise be off by half a slice at the tips. The signed distance is interpolated, not
    the mask, so that the shape changes smoothly from slice to slice. Both boxes have the same outer faces.
    """
    size = np.asarray(inside.shape) * spacing
    filled = float(inside.sum() * spacing.prod())
    step = max(float(spacing.min()), (float(size.prod()) / MOST_CUBIC) ** (1 / 3), (filled / MOST_FILLED) ** (1 / 3))
    if np.allclose(spacing, step, rtol=1e-3):
        return inside, step
    depth = ndimage.distance_transform_edt(inside, sampling=spacing)
    depth -= ndimage.distance_transform_edt(~inside, sampling=spacing)
    shape = np.maximum(1, np.ceil(size / step)).astype(int)
    lines = [
        np.clip((np.arange(count) + 0.5) * step / mm - 0.5, 0, old - 1)
        for count, mm, old in zip(shape, spacing, inside.shape, strict=True)
    ]
    where = np.meshgrid(*lines, indexing="ij", sparse=True)
    found = ndimage.map_coordinates(depth, np.broadcast_arrays(*where), order=1)
    return np.asarray(found > 0), step


def _nearest(inside: Bools, grid: Grid, zoom: Floats, corner: Floats, point: Sequence[float]) -> tuple[int, int, int]:
    """The voxel of the region that is nearest to a point of the volume."""
    if not grid.contains(point):
        raise ImagingError(Code.BAD_INDEX, f"{list(point)} lies outside the shape {list(grid.shape)}.")
    there = np.argwhere(inside)
    gaps = ((there - (np.asarray(point) - corner) / zoom) ** 2).sum(axis=1)
    z, y, x = there[int(gaps.argmin())].tolist()
    return z, y, x


def _far_ends(inside: Bools, wall: Floats) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """Two middle voxels that are farthest apart inside the region, found by two sweeps (exact in a tree).

    A middle voxel is about as deep as any of its neighbours, so an end is the middle of a ball that fits into the tip.
    """
    slack = float(wall[inside].min()) / 3
    middle = inside & (wall >= ndimage.maximum_filter(wall, size=3) - slack)
    seed = np.argwhere(middle)[0].tolist()
    first = _farthest(inside, middle, (seed[0], seed[1], seed[2]))
    return first, _farthest(inside, middle, first)


def _farthest(inside: Bools, middle: Bools, start: tuple[int, int, int]) -> tuple[int, int, int]:
    from skimage.graph import MCP_Geometric

    reach, _ = MCP_Geometric(np.where(inside, 1.0, -1.0)).find_costs([start])
    best = int(np.where(middle & np.isfinite(reach), reach, -1.0).argmax())
    z, y, x = (int(at) for at in np.unravel_index(best, inside.shape))
    return z, y, x


def _path(inside: Bools, wall: Floats, first: tuple[int, int, int], last: tuple[int, int, int]) -> Floats:
    """Voxels of the cheapest path."""
    from skimage.graph import MCP_Geometric

    with np.errstate(divide="ignore"):
        cost = np.where(inside, (wall.max() / wall) ** _STEEP, -1.0)
    search = MCP_Geometric(cost)
    search.find_costs([first], [last])
    return np.asarray(search.traceback(last), dtype=np.float64)


def _trimmed(path: Floats, wall: Floats) -> Floats:
    """Each end moved to the middle of the farthest ball along the path that still holds the ball around the end."""
    for _ in range(2):
        depth = wall[tuple(path.astype(np.int64).T)]
        holds = np.linalg.norm(path - path[0], axis=1) + depth[0] <= depth + _SLACK
        path = path[int(np.flatnonzero(holds)[-1]) :][::-1]
    return path


def _centred(points: Floats, inside: Bools, wall: Floats) -> Floats:
    """Each point moved to the mean of the region's voxels that are nearer to it than to any other point.

    Only voxels within one and a half local radii count, so that a side branch does not pull the path out. Both ends
    stay, because half of what is around them is no part of the path.
    """
    from scipy.spatial import cKDTree

    voxels = np.argwhere(inside).astype(np.float64)
    depth = ndimage.map_coordinates(wall, points.T, order=1)
    found = cKDTree(points).query(voxels)
    gaps, owner = np.asarray(found[0]), np.asarray(found[1])
    near = (gaps <= 1.5 * depth[owner]) & (owner > 0) & (owner < len(points) - 1)
    count = np.bincount(owner[near], minlength=len(points))
    sums = np.stack([np.bincount(owner[near], voxels[near, axis], len(points)) for axis in range(3)], axis=1)
    return np.where(count[:, None] > 0, sums / np.maximum(count, 1)[:, None], points)


def smoothed(points: Floats, width: float) -> Floats:
    """The path resampled to steps of one and smoothed by a Gaussian, both ends kept in place.

    Args:
        points: ``(n, 3)`` in voxels of a cubic grid.
        width: Twice the standard deviation of the Gaussian; 0 leaves the stairs.
    """
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    count = max(2, round(float(along[-1])) + 1)
    even = np.linspace(0.0, float(along[-1]), count)
    path = np.stack([np.interp(even, along, points[:, axis]) for axis in range(3)], axis=1)
    sigma = width / 2 / (even[1] - even[0])
    if sigma < 0.1:
        return path
    # Reflection through the end points keeps them where they are.
    reach = min(len(path) - 1, int(4 * sigma) + 1)
    before, after = 2 * path[0] - path[reach:0:-1], 2 * path[-1] - path[-2 : -reach - 2 : -1]
    wide = np.concatenate([before, path, after])
    return ndimage.gaussian_filter1d(wide, sigma, axis=0)[reach : reach + len(path)]
