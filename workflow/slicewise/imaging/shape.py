"""Shape of a region: mesh, volume, axes, densities; definitions of the Image Biomarker Standardisation Initiative.

The surface is that of marching cubes on the binary mask, half-way between voxel centres. A digitised sphere has a
sphericity near 0.89 this way, because its surface keeps the steps; that is the definition, not an error.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.spatial import ConvexHull, QhullError

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Bools, Floats, Triple
from slicewise.imaging.measure import farthest


@dataclass(frozen=True, slots=True)
class Mesh:
    """Surface of a region.

    Attributes:
        corners: ``(n, 3)`` in mm, z, y, x.
        volume: mm3.
        area: mm2.
    """

    corners: Floats
    volume: float
    area: float


def mesh_of(inside: Bools, spacing: Triple) -> Mesh:
    """The surface of a region, by marching cubes."""
    from skimage.measure import marching_cubes

    corners, faces, _, _ = marching_cubes(np.pad(inside, 1).astype(np.float32), 0.5, spacing=spacing)
    a, b, c = (corners[faces[:, corner]].astype(np.float64) for corner in range(3))
    normals = np.cross(b - a, c - a)
    volume = abs(float(np.einsum("ij,ij->", a, normals))) / 6
    return Mesh(corners.astype(np.float64), volume, float(np.linalg.norm(normals, axis=1).sum()) / 2)


def axes_of(points_mm: Floats) -> Triple:
    """Major, minor and least axis length in mm: four standard deviations (divided by n - 1) of the voxel centres."""
    if len(points_mm) < 2:
        return 0.0, 0.0, 0.0
    centred = points_mm - points_mm.mean(axis=0)
    spread = np.linalg.eigvalsh(centred.T @ centred / (len(points_mm) - 1))[::-1]
    major, minor, least = 4 * np.sqrt(np.maximum(spread, 0.0))
    return float(major), float(minor), float(least)


def features(inside: Bools, spacing: Triple) -> dict[str, float]:
    """Shape features by their names in the standard, without the prefix ``morph_``; lengths in mm.

    Args:
        inside: The region, in a box of any size.
        spacing: z, y, x in mm.

    Raises:
        ImagingError: ``E_EMPTY_MASK``.
    """
    if not inside.any():
        raise ImagingError(Code.EMPTY_MASK, "the region has no voxel.")
    mesh = mesh_of(inside, spacing)
    points = np.argwhere(inside) * np.asarray(spacing)
    major, minor, least = axes_of(points)
    volume, area = mesh.volume, mesh.area
    sphere = (36 * np.pi * volume**2) ** (1 / 3)  # area of the sphere of that volume
    found = {
        "volume": volume,
        "vol_approx": float(len(points) * np.prod(spacing)),
        "area_mesh": area,
        "av": area / volume,
        "comp_1": volume / (np.sqrt(np.pi) * area**1.5),
        "comp_2": 36 * np.pi * volume**2 / area**3,
        "sph_dispr": area / sphere,
        "sphericity": sphere / area,
        "asphericity": area / sphere - 1,
        "pca_maj_axis": major,
        "pca_min_axis": minor,
        "pca_least_axis": least,
    }
    if major > 0:
        found |= {"pca_elongation": minor / major, "pca_flatness": least / major}
    found |= _densities(mesh, (major, minor, least))
    return {name: float(value) for name, value in found.items()}


def _densities(mesh: Mesh, axes: Triple) -> dict[str, float]:
    """The mesh against its box, its hull and the ellipsoid of its axes."""
    size = np.ptp(mesh.corners, axis=0)
    box = float(np.prod(size))
    sides = 2 * float(size[0] * size[1] + size[0] * size[2] + size[1] * size[2])
    found = {"vol_dens_aabb": mesh.volume / box, "area_dens_aabb": mesh.area / sides}
    ellipsoid = np.pi * float(np.prod(axes)) / 6
    if ellipsoid > 0:
        found["vol_dens_aee"] = mesh.volume / ellipsoid
    try:
        hull = ConvexHull(mesh.corners)
    except QhullError:
        return found
    return found | {
        "vol_dens_conv_hull": mesh.volume / float(hull.volume),
        "area_dens_conv_hull": mesh.area / float(hull.area),
        "diam": farthest(mesh.corners[hull.vertices])[2],
    }


def centre_shift(inside: Bools, counted: Bools, values: npt.NDArray[np.int16], spacing: Triple) -> float | None:
    """Distance in mm between the centre of the region and its centre weighted by intensity.

    Args:
        inside: The region.
        counted: The voxels whose intensity counts, a part of it.
        values: Intensities of the box.
        spacing: z, y, x in mm.

    Returns:
        The distance, or ``None`` when the weights sum to nothing (HU may be negative).
    """
    weights = values[counted].astype(np.float64)
    if weights.sum() == 0:
        return None
    scale = np.asarray(spacing)
    plain = (np.argwhere(inside) * scale).mean(axis=0)
    weighted = (np.argwhere(counted) * scale * weights[:, None]).sum(axis=0) / weights.sum()
    return float(np.linalg.norm(weighted - plain))
