"""Any axis order to canonical LPS, by swaps and flips of whole axes: no value is interpolated."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import numpy.typing as npt

from slicewise.imaging.grid import Floats, Grid, Triple

_LETTERS = (("R", "L"), ("A", "P"), ("I", "S"))


def axis_of(direction: Floats) -> tuple[int, int, int]:
    """For each LPS axis, the array index axis (0 = x) that runs along it; oblique axes go to the nearest."""
    strength = np.abs(direction)
    best = max(permutations(range(3)), key=lambda order: sum(strength[world, axis] for world, axis in enumerate(order)))
    return best[0], best[1], best[2]


def code(direction: Floats) -> str:
    """Three letters: where the x, y and z index of an array grow to, such as ``LPS`` or ``RAS``."""
    order = axis_of(direction)
    letters = [""] * 3
    for world, axis in enumerate(order):
        letters[axis] = _LETTERS[world][int(direction[world, axis] > 0)]
    return "".join(letters)


def to_lps(
    array: npt.NDArray[Any], spacing_xyz: Triple | None, origin: Triple, direction: Floats
) -> tuple[npt.NDArray[Any], Grid, str]:
    """A view of the array in canonical orientation, and its grid.

    Args:
        array: ``(z, y, x)``, as ITK hands it out.
        spacing_xyz: Spacing in x, y, z in mm, or ``None`` when unknown.
        origin: LPS position in mm of the first voxel.
        direction: 3x3; columns are the LPS unit vectors of the x, y and z axis.

    Returns:
        ``(array, grid, orientation)``: the view, where it lies, and the orientation of the input (:func:`code`).
    """
    order = axis_of(direction)
    turned = direction.copy()
    start = np.asarray(origin, dtype=np.float64)
    steps = spacing_xyz or (1.0, 1.0, 1.0)
    for world, axis in enumerate(order):
        if turned[world, axis] < 0:
            start = start + turned[:, axis] * steps[axis] * (array.shape[2 - axis] - 1)
            turned[:, axis] *= -1
            array = np.flip(array, axis=2 - axis)
    array = array.transpose(2 - order[2], 2 - order[1], 2 - order[0])
    turned = turned[:, list(order)] + 0.0
    rows = [(float(row[0]), float(row[1]), float(row[2])) for row in turned]
    shape = (array.shape[0], array.shape[1], array.shape[2])
    spacing = None if spacing_xyz is None else (steps[order[2]], steps[order[1]], steps[order[0]])
    place = (float(start[0]), float(start[1]), float(start[2]))
    return array, Grid(shape, spacing, place, (rows[0], rows[1], rows[2])), code(direction)


def contiguous(array: npt.NDArray[Any]) -> npt.NDArray[Any]:
    """A C-ordered copy where needed; a flip of x alone costs most, so it is made plane by plane in the cache."""
    if array.flags.c_contiguous:
        return array
    out = np.empty(array.shape, dtype=array.dtype)
    for plane, source in zip(out, array, strict=True):
        plane[...] = source
    return out
