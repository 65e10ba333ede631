"""New geometry from old: resample, crop, flip, body crop, and morphology of masks. Nothing is changed in place."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeVar, cast

import numpy as np
import numpy.typing as npt
import SimpleITK as sitk
from scipy import ndimage

from slicewise.imaging import morphology
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Bools, Bounds, Grid, Triple
from slicewise.imaging.limits import Limits
from slicewise.imaging.load import to_image
from slicewise.imaging.volume import AIR_HU, Mask, Volume, bounding_box, cut, grown

Thing = TypeVar("Thing", bound=Volume | Mask)

_MORPHOLOGY: dict[str, Callable[[Bools, float, Triple], Bools]] = {
    "dilate": morphology.dilated,
    "erode": morphology.eroded,
    "open": morphology.opened,
    "close": morphology.closed,
}
AXES = {"z": 0, "y": 1, "x": 2}
_BODY_SAMPLE = 2


def with_array(thing: Thing, array: npt.NDArray[Any], grid: Grid) -> Thing:
    """The same thing with other voxels."""
    new: Volume | Mask
    if isinstance(thing, Volume):
        new = Volume(
            np.ascontiguousarray(array),
            grid,
            thing.is_hu,
            thing.check,
            thing.orientation_in,
            thing.facts,
            thing.warnings,
        )
    else:
        new = Mask(np.ascontiguousarray(array), grid, thing.names, "edit", thing.note)
    return cast(Thing, new)


def array_of(thing: Volume | Mask) -> npt.NDArray[Any]:
    """The voxels of a volume or a mask."""
    return thing.hu if isinstance(thing, Volume) else thing.labels


def crop(thing: Thing, bounds: Bounds) -> Thing:
    """A box of it.

    Raises:
        ImagingError: ``E_BAD_INDEX`` for an empty box or one that leaves the volume.
    """
    for name, (low, high), size in zip("zyx", bounds, thing.grid.shape, strict=True):
        if not 0 <= low < high <= size:
            raise ImagingError(Code.BAD_INDEX, f"{name} bounds {low}..{high} are empty or leave 0..{size}.")
    return with_array(thing, cut(array_of(thing), bounds).copy(), thing.grid.cropped(bounds))


def flip(thing: Thing, axis: str) -> Thing:
    """Mirror the voxels along ``z``, ``y`` or ``x``; the grid stays, so this corrects a wrong orientation in the file.

    Raises:
        ImagingError: ``E_BAD_INDEX`` for another axis.
    """
    if axis not in AXES:
        raise ImagingError(Code.BAD_INDEX, f"axis '{axis}': expected z, y or x.")
    return with_array(thing, np.flip(array_of(thing), AXES[axis]).copy(), thing.grid)


def resample_iso(thing: Thing, mm: float, limits: Limits) -> Thing:
    """Cubic voxels of ``mm``: linear for volumes, nearest for masks; the outer faces stay where they are.

    Raises:
        ImagingError: ``E_LIMIT`` for a size that is not above zero or makes too many voxels.
    """
    spacing = np.asarray(thing.grid.mm)
    if not np.isfinite(mm) or mm <= 0:
        raise ImagingError(Code.LIMIT, f"value_mm {mm}: expected a voxel size above 0 mm.")
    exact = np.asarray(thing.grid.shape) * spacing / mm
    if exact.max() > limits.max_voxels:
        raise ImagingError(Code.LIMIT, f"value_mm {mm} makes far too many voxels; use a larger size.")
    z, y, x = (max(1, round(float(size))) for size in exact)
    limits.check_voxels((z, y, x), "the resampled volume")
    shift = (mm / 2 - spacing / 2) / spacing
    grid = replace(thing.grid, shape=(z, y, x), spacing=(mm, mm, mm), origin=thing.grid.lps(shift))
    volume = isinstance(thing, Volume)
    frame = sitk.ResampleImageFilter()
    frame.SetSize((x, y, z))
    frame.SetOutputSpacing((mm, mm, mm))
    frame.SetOutputOrigin(grid.origin)
    frame.SetOutputDirection([cosine for row in grid.direction for cosine in row])
    frame.SetInterpolator(sitk.sitkLinear if volume else sitk.sitkNearestNeighbor)
    frame.SetDefaultPixelValue(AIR_HU if volume else 0)
    frame.UseNearestNeighborExtrapolatorOn()
    return with_array(thing, sitk.GetArrayFromImage(frame.Execute(to_image(array_of(thing), thing.grid))), grid)


def morph(mask: Mask, op: str, mm: float) -> Mask:
    """Morphology of all labels of a mask, each by itself; grown labels never take voxels of another one.

    Args:
        mask: The mask.
        op: ``dilate``, ``erode``, ``open``, ``close``, ``fill`` or ``largest``.
        mm: Radius, for the first four.

    Raises:
        ImagingError: ``E_LIMIT`` for a radius outside 0..100 mm; ``E_EMPTY_MASK`` when nothing is left.
    """
    if op in _MORPHOLOGY and not 0 < mm <= 100:
        raise ImagingError(Code.LIMIT, f"value_mm {mm}: expected a radius above 0 and up to 100 mm.")
    out = np.zeros_like(mask.labels)
    for label in mask.counts:
        inside = mask.labels == label
        if op == "fill":
            kept = ndimage.binary_fill_holes(inside)
        elif op == "largest":
            kept = morphology.largest(inside)
        else:
            kept = _MORPHOLOGY[op](inside, mm, mask.grid.mm)
        free = (mask.labels == 0) | inside
        out[kept & free & (out == 0)] = label
    if not out.any():
        raise ImagingError(Code.EMPTY_MASK, f"nothing is left after '{op}' with {mm} mm; use a smaller radius.")
    return replace(mask, labels=out, backend="edit")


def body_bounds(volume: Volume, threshold_hu: float = -300.0, margin_mm: float = 10.0) -> Bounds:
    """The box around the largest thing above a threshold, with a margin.

    The largest part is looked for on every second voxel in plane; the box is exact to two voxels before the margin.

    Raises:
        ImagingError: ``E_EMPTY_MASK`` when nothing is above the threshold; ``E_LIMIT`` for a negative margin.
    """
    if not 0 <= margin_mm <= 1000:
        raise ImagingError(Code.LIMIT, f"margin_mm {margin_mm}: expected 0 to 1000.")
    step = _BODY_SAMPLE
    coarse = morphology.largest(volume.hu[:, ::step, ::step] > threshold_hu)
    if not coarse.any():
        raise ImagingError(Code.EMPTY_MASK, f"no voxel is above {threshold_hu:g} HU; use a lower threshold.")
    (z0, z1), (y0, y1), (x0, x1) = bounding_box(coarse)
    inner: Bounds = ((z0, z1), (y0 * step, y1 * step), (x0 * step, x1 * step))
    margin = [int(np.ceil(margin_mm / mm)) for mm in volume.grid.mm]
    return grown(inner, (margin[0], margin[1], margin[2]), volume.grid.shape)
