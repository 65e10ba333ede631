"""Binary morphology in mm and by slice, each in a few whole-array passes."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from slicewise.imaging.grid import Bools, Bounds, Triple
from slicewise.imaging.volume import bounding_box, cut, grown

_IN_PLANE = np.zeros((3, 3, 3), dtype=bool)
_IN_PLANE[1] = ndimage.generate_binary_structure(2, 1)
_FULL = np.ones((3, 3, 3), dtype=bool)


def dilated(inside: Bools, mm: float, spacing: Triple) -> Bools:
    """All voxels whose centre is at most ``mm`` from a voxel of the region."""
    return _near(inside, mm, spacing)


def eroded(inside: Bools, mm: float, spacing: Triple) -> Bools:
    """The voxels whose centre is more than ``mm`` from any voxel outside; the edge of the array is no outside."""
    return inside & ~_near(~inside, mm, spacing) if not inside.all() else inside


def opened(inside: Bools, mm: float, spacing: Triple) -> Bools:
    """Eroded, then dilated: thin parts vanish."""
    return dilated(eroded(inside, mm, spacing), mm, spacing)


def closed(inside: Bools, mm: float, spacing: Triple) -> Bools:
    """Dilated, then eroded: thin gaps vanish. Nothing is lost at the edge of the array."""
    margin = _margin(mm, spacing)
    padded = np.pad(inside, [(more, more) for more in margin])
    kept = eroded(dilated(padded, mm, spacing), mm, spacing)
    core = tuple(slice(more, more + size) for more, size in zip(margin, inside.shape, strict=True))
    return kept[core]


def _margin(mm: float, spacing: Triple) -> tuple[int, int, int]:
    z, y, x = (int(mm / step) + 1 for step in spacing)
    return z, y, x


def _near(inside: Bools, mm: float, spacing: Triple) -> Bools:
    """Within ``mm`` of a true voxel; the distance transform runs on the box that matters only."""
    out = np.zeros(inside.shape, dtype=bool)
    if not inside.any():
        return out
    bounds: Bounds = grown(
        bounding_box(inside), _margin(mm, spacing), (inside.shape[0], inside.shape[1], inside.shape[2])
    )
    part = ndimage.distance_transform_edt(~cut(inside, bounds), sampling=spacing) <= mm + 1e-9
    cut(out, bounds)[...] = part
    return out


def fill_slices(inside: Bools) -> Bools:
    """Fill the holes of every axial slice: background that does not reach the edge of its slice."""
    labels, count = ndimage.label(~inside, structure=_IN_PLANE)
    outside = np.zeros(count + 1, dtype=bool)
    for edge in (labels[:, 0], labels[:, -1], labels[:, :, 0], labels[:, :, -1]):
        outside[np.unique(edge)] = True
    outside[0] = False
    filled: Bools = ~outside[labels]
    return filled


def parts(inside: Bools) -> tuple[npt.NDArray[Any], npt.NDArray[np.int64]]:
    """Connected parts (26 neighbours): labels, and voxels by label with the background as 0."""
    labels, _ = ndimage.label(inside, structure=_FULL)
    sizes = np.bincount(labels.reshape(-1))
    sizes[0] = 0
    return labels, sizes


def largest(inside: Bools) -> Bools:
    """The largest connected part; nothing when there is none."""
    labels, sizes = parts(inside)
    return labels == int(sizes.argmax()) if sizes.any() else inside


def without_specks(inside: Bools, least: int) -> Bools:
    """Connected parts of at least so many voxels."""
    labels, sizes = parts(inside)
    kept: Bools = (sizes >= least)[labels]
    return kept
