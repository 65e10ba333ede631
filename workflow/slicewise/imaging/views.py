"""Planes and projections of a volume, in display orientation.

Axial rows show as they are stored (patient's right on the left of the picture); coronal and sagittal planes are
flipped once so that the head is on top, and a sagittal plane has the patient's front on the left.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Int16s
from slicewise.imaging.volume import Volume

Plane = Literal["axial", "coronal", "sagittal"]
Projection = Literal["max", "min", "mean"]

AXIS: dict[Plane, int] = {"axial": 0, "coronal": 1, "sagittal": 2}
MARKS: dict[Plane, tuple[str, str, str, str]] = {  # left, right, top, bottom
    "axial": ("R", "L", "A", "P"),
    "coronal": ("R", "L", "S", "I"),
    "sagittal": ("A", "P", "S", "I"),
}
Affine = tuple[tuple[float, float, float], tuple[float, float, float], tuple[float, float, float]]


@dataclass(frozen=True, eq=False)
class View:
    """A plane of intensities as it is shown.

    Attributes:
        values: ``(rows, columns)`` int16.
        plane: Which plane.
        index: Slice index, or the middle of the slab.
        mm: Size of a pixel in row and column direction; 1, 1 when the volume has no spacing.
        affine: Rows of the matrix that takes ``(column, row, 1)`` to the voxel ``(z, y, x)``.
        measurable: Whether ``mm`` is real.
    """

    values: Int16s
    plane: Plane
    index: float
    mm: tuple[float, float]
    affine: Affine
    measurable: bool

    def pixel(self, zyx: tuple[float, float, float]) -> tuple[float, float]:
        """Column and row at which a voxel position shows."""
        row_axis, column_axis = _axes(self.plane)
        (row_row, row_shift), (col_col, col_shift) = (
            (self.affine[row_axis][1], self.affine[row_axis][2]),
            (self.affine[column_axis][0], self.affine[column_axis][2]),
        )
        return (zyx[column_axis] - col_shift) / col_col, (zyx[row_axis] - row_shift) / row_row


def _axes(plane: Plane) -> tuple[int, int]:
    """Array axes that run down and across the picture."""
    return {"axial": (1, 2), "coronal": (0, 2), "sagittal": (0, 1)}[plane]


def oriented(array: npt.NDArray[Any], plane: Plane) -> npt.NDArray[Any]:
    """A 2-D plane ``(rows, columns)`` of the array in display orientation."""
    return array if plane == "axial" else array[::-1]


def plane_of(array: npt.NDArray[Any], plane: Plane, index: int) -> npt.NDArray[Any]:
    """One slice of any ``(z, y, x)`` array in display orientation, a view.

    Raises:
        ImagingError: ``E_BAD_INDEX``.
    """
    size = array.shape[AXIS[plane]]
    if not 0 <= index < size:
        raise ImagingError(Code.BAD_INDEX, f"{plane} index {index} is outside 0..{size - 1}.")
    return oriented(array.take(index, axis=AXIS[plane]) if plane != "axial" else array[index], plane)


def slice_view(volume: Volume, plane: Plane, index: int) -> View:
    """One slice.

    Raises:
        ImagingError: ``E_BAD_INDEX``.
    """
    return _view(volume, np.ascontiguousarray(plane_of(volume.hu, plane, index)), plane, float(index))


def cropped(view: View, roi: tuple[int, int, int, int]) -> View:
    """The part ``rows y0..y1, columns x0..x1`` (half open) of the picture.

    Raises:
        ImagingError: ``E_BAD_INDEX`` when it is empty or leaves the picture.
    """
    y0, x0, y1, x1 = roi
    rows, columns = view.values.shape
    if not (0 <= y0 < y1 <= rows and 0 <= x0 < x1 <= columns):
        raise ImagingError(Code.BAD_INDEX, f"roi {list(roi)} does not fit rows 0..{rows}, columns 0..{columns}.")
    (a, b, c), (d, e, f), (g, h, i) = view.affine
    moved = ((a, b, c + a * x0 + b * y0), (d, e, f + d * x0 + e * y0), (g, h, i + g * x0 + h * y0))
    values = np.ascontiguousarray(view.values[y0:y1, x0:x1])
    return View(values, view.plane, view.index, view.mm, moved, view.measurable)


def project(volume: Volume, plane: Plane, slab: tuple[int, int], how: Projection) -> View:
    """Maximum, minimum or mean over the slices ``slab[0] <= index < slab[1]`` of a plane.

    The mean is summed in 32-bit integers, which is exact for any CT, and rounded.

    Raises:
        ImagingError: ``E_BAD_INDEX`` for an empty slab or one that leaves the volume.
    """
    axis = AXIS[plane]
    start, stop = slab
    if not 0 <= start < stop <= volume.grid.shape[axis]:
        raise ImagingError(
            Code.BAD_INDEX, f"slab {list(slab)} is empty or leaves 0..{volume.grid.shape[axis]} of the {plane} plane."
        )
    part = volume.hu[(slice(None),) * axis + (slice(start, stop),)]
    if how == "max":
        flat = part.max(axis=axis)
    elif how == "min":
        flat = part.min(axis=axis)
    else:
        total = np.add.reduce(part, axis=axis, dtype=np.int32)
        flat = np.rint(total / (stop - start)).astype(np.int16)
    return _view(volume, np.ascontiguousarray(oriented(flat, plane)), plane, (start + stop - 1) / 2)


def spread(low: int, high: int, n: int) -> list[int]:
    """Slice indices from ``low`` to ``high``, both shown, evenly spread, at most ``n`` of them."""
    count = min(n, high - low + 1)
    if count == 1:
        return [(low + high) // 2]
    return [low + (2 * step * (high - low) + count - 1) // (2 * (count - 1)) for step in range(count)]


def _view(volume: Volume, values: Int16s, plane: Plane, index: float) -> View:
    grid = volume.grid
    row_axis, column_axis = _axes(plane)
    rows = values.shape[0]
    affine = [[0.0, 0.0, 0.0] for _ in range(3)]
    affine[AXIS[plane]][2] = index
    affine[column_axis][0] = 1.0
    affine[row_axis][1:] = [1.0, 0.0] if plane == "axial" else [-1.0, float(rows - 1)]
    lines = [(line[0], line[1], line[2]) for line in affine]
    mm = (1.0, 1.0) if grid.spacing is None else (grid.spacing[row_axis], grid.spacing[column_axis])
    return View(values, plane, index, mm, (lines[0], lines[1], lines[2]), grid.spacing is not None)
