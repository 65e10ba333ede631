"""The centreline of a tube: skeleton, longest geodesic, smoothing.

A skeleton goes up and down stairs: its raw length is about a fifth too long (fiji/AnalyzeSkeleton#6 shows the same),
so the path is resampled and smoothed in mm before it is measured.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import ndimage, sparse
from scipy.sparse.csgraph import dijkstra

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Bools, Floats, Grid, Triple
from slicewise.imaging.measure import components
from slicewise.imaging.volume import Mask

_STEPS = np.asarray([(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1) if (a, b, c) > (0, 0, 0)])


@dataclass(frozen=True, slots=True)
class Centreline:
    """A path through the middle of a tube.

    Attributes:
        voxels: ``(n, 3)`` positions ``(z, y, x)``, fractional, about one voxel apart.
        length_mm: Length of the smoothed path from skeleton end to skeleton end; a tube with flat ends is longer by
            up to its radius at each end.
        tortuosity: Length over the straight distance of its ends; ``None`` for a closed path.
        radius_mm: Smallest, mean and largest distance from the path to the wall.
        branches: Skeleton ends; 2 for a plain tube.
    """

    voxels: Floats
    length_mm: float
    tortuosity: float | None
    radius_mm: Triple
    branches: int


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
        start: Voxel near which the path starts; the nearest skeleton voxel is taken.
        end: Likewise for the end.
        smooth_mm: Standard deviation times two of the Gaussian that smooths the path; 0 leaves the stairs.

    Raises:
        ImagingError: ``E_EMPTY_MASK`` without voxels or for a region that is no tube at all; ``E_BAD_INDEX`` when only
            one of the ends is given or one lies outside; ``E_FORMAT`` without spacing.
    """
    if (start is None) != (end is None):
        raise ImagingError(Code.BAD_INDEX, "start and end belong together; give both or none.")
    spacing = np.asarray(mask.grid.mm)
    inside, bounds = mask.region(label)
    inside = np.pad(components(inside, "largest")[0], 1)
    corner = np.asarray([low for low, _ in bounds]) - 1
    nodes, graph = _skeleton(inside, spacing)
    ends = int((np.diff((graph + graph.T).tocsr().indptr) == 1).sum())
    path = _between(nodes, graph, spacing, mask.grid, corner, start, end)
    wall = ndimage.distance_transform_edt(inside, sampling=spacing)
    points = smoothed(nodes[path] * spacing, smooth_mm, float(spacing.min()))
    length = float(np.linalg.norm(np.diff(points, axis=0), axis=1).sum())
    straight = float(np.linalg.norm(points[-1] - points[0]))
    radii = ndimage.map_coordinates(wall, (points / spacing).T, order=1)
    return Centreline(
        points / spacing + corner,
        length,
        length / straight if straight > float(spacing.max()) else None,
        (float(radii.min()), float(radii.mean()), float(radii.max())),
        ends,
    )


def _skeleton(inside: Bools, spacing: Floats) -> tuple[npt.NDArray[np.int64], sparse.csr_array]:
    """Skeleton voxels and the upper half of their graph, weights in mm."""
    from skimage.morphology import skeletonize

    bones = skeletonize(inside)
    nodes = np.argwhere(bones)
    if len(nodes) < 2:
        raise ImagingError(Code.EMPTY_MASK, "the region is too compact for a centreline; its skeleton is one point.")
    number = np.full(inside.shape, -1, dtype=np.int64)
    number[tuple(nodes.T)] = np.arange(len(nodes))
    rows, columns, weights = [], [], []
    for step in _STEPS:
        other = number[tuple((nodes + step).T)]
        there = np.flatnonzero(other >= 0)
        rows.append(there)
        columns.append(other[there])
        weights.append(np.full(len(there), float(np.linalg.norm(step * spacing))))
    shape = (len(nodes), len(nodes))
    edges = (np.concatenate(weights), (np.concatenate(rows), np.concatenate(columns)))
    return nodes, sparse.csr_array(edges, shape=shape)


def _between(
    nodes: npt.NDArray[np.int64],
    graph: sparse.csr_array,
    spacing: Floats,
    grid: Grid,
    corner: npt.NDArray[np.int64],
    start: Sequence[float] | None,
    end: Sequence[float] | None,
) -> list[int]:
    """Node numbers along the path."""
    if start is not None and end is not None:
        for point in (start, end):
            if not grid.contains(point):
                raise ImagingError(Code.BAD_INDEX, f"{list(point)} lies outside the shape {list(grid.shape)}.")
        first, last = (
            int((((nodes + corner - np.asarray(point)) * spacing) ** 2).sum(axis=1).argmin()) for point in (start, end)
        )
    else:
        # In a tree the node farthest from anywhere is one end of the longest path; two sweeps find it.
        seed = _farthest_node(graph, 0)
        first, last = seed, _farthest_node(graph, seed)
    _, before = dijkstra(graph, directed=False, indices=[first], return_predecessors=True)
    path = [last]
    while path[-1] != first:
        path.append(int(before[0, path[-1]]))
        if path[-1] < 0:
            raise ImagingError(Code.EMPTY_MASK, "start and end lie in parts of the skeleton that do not touch.")
    return path[::-1]


def _farthest_node(graph: sparse.csr_array, node: int) -> int:
    reach = dijkstra(graph, directed=False, indices=[node])[0]
    return int(np.where(np.isfinite(reach), reach, -1.0).argmax())


def smoothed(points: Floats, smooth_mm: float, step_mm: float) -> Floats:
    """The path resampled every ``step_mm`` and smoothed by a Gaussian, both ends kept in place.

    Args:
        points: ``(n, 3)`` in mm.
        smooth_mm: Twice the standard deviation of the Gaussian.
        step_mm: Distance of the new points.
    """
    along = np.concatenate([[0.0], np.cumsum(np.linalg.norm(np.diff(points, axis=0), axis=1))])
    count = max(2, round(float(along[-1]) / step_mm) + 1)
    even = np.linspace(0.0, float(along[-1]), count)
    path = np.stack([np.interp(even, along, points[:, axis]) for axis in range(3)], axis=1)
    sigma = smooth_mm / 2 / (even[1] - even[0])
    if smooth_mm <= 0 or sigma < 0.1:
        return path
    # Reflection through the end points keeps them where they are.
    reach = min(len(path) - 1, int(4 * sigma) + 1)
    before, after = 2 * path[0] - path[reach:0:-1], 2 * path[-1] - path[-2 : -reach - 2 : -1]
    wide = np.concatenate([before, path, after])
    return ndimage.gaussian_filter1d(wide, sigma, axis=0)[reach : reach + len(path)]
