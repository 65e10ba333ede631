"""Trachea and main bronchi: a round dark spot near the middle of the upper slices, grown until it would leak."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from slicewise.imaging import morphology
from slicewise.imaging.grid import Bools, Triple

_AREA_MM2 = (40.0, 800.0)
_SEED_HU = -800
_STRICT = (-880, -910, -940, -960, -980)
_MOST_ML = 120.0
_LEAST_SLICES = 3
_PLANE = ndimage.generate_binary_structure(2, 2)


def find(hu: npt.NDArray[np.int16], air: Bools, body: Bools, spacing: Triple) -> Bools:
    """The large airways, or nothing when no trachea is seen.

    Args:
        hu: ``(z, y, x)`` in HU.
        air: Air inside the body.
        body: The body.
        spacing: z, y, x in mm.

    Returns:
        A mask of the array's shape. Growing stops at the least strict threshold at which the tree stays under 120 mL,
        because a leak into the lung shows as a jump in volume.
    """
    seed = _trachea(hu, air, body, spacing)
    nothing = np.zeros(hu.shape, dtype=bool)
    if seed is None:
        return nothing
    most = _MOST_ML * 1000 / float(np.prod(spacing))
    for threshold in _STRICT:
        labels, _ = ndimage.label((hu < threshold) & body)
        numbers = np.unique(labels[seed])
        numbers = numbers[numbers > 0]
        if not numbers.size:
            continue
        tree = np.isin(labels, numbers)
        if tree.sum() <= most:
            # The wall voxel is partly air: take it back where it is dark.
            return (ndimage.binary_dilation(tree) & air & (hu < -500)) | tree
    return seed


def _trachea(hu: npt.NDArray[np.int16], air: Bools, body: Bools, spacing: Triple) -> Bools | None:
    """Dark round spots near the middle, in a run of slices from the top."""
    area = spacing[1] * spacing[2]
    seed = np.zeros(hu.shape, dtype=bool)
    run = 0
    last: tuple[float, float] | None = None
    reach = np.cumsum(air.sum(axis=(1, 2)))
    for z in range(hu.shape[0] - 1, -1, -1):
        spot = _spot(hu[z], air[z], body[z], area, last, spacing)
        if spot is None:
            if run >= _LEAST_SLICES:
                return seed
            run, last = 0, None
            seed[...] = False
            continue
        if run == 0 and 2 * reach[z] < reach[-1]:
            return None  # most of the air lies above: this is bowel
        plane, last = spot
        seed[z] = plane
        run += 1
    return seed if run >= _LEAST_SLICES else None


def _spot(
    hu: npt.NDArray[np.int16], air: Bools, body: Bools, area: float, last: tuple[float, float] | None, spacing: Triple
) -> tuple[Bools, tuple[float, float]] | None:
    """The trachea in one slice, near where it was in the slice above."""
    if not body.any():
        return None
    labels, count = ndimage.label(air, structure=_PLANE)
    if not count:
        return None
    sizes = np.bincount(labels.reshape(-1))
    columns = np.flatnonzero(body.any(axis=0))
    low, high = columns[0], columns[-1] + 1
    middle, width = (low + high) / 2, high - low
    best: tuple[float, int, tuple[float, float]] | None = None
    for number in range(1, count + 1):
        if not _AREA_MM2[0] <= sizes[number] * area <= _AREA_MM2[1]:
            continue
        inside = labels == number
        ys, xs = np.nonzero(inside)
        centre = (float(ys.mean()), float(xs.mean()))
        box = (np.ptp(ys) + 1) * (np.ptp(xs) + 1)
        off = abs(centre[1] - middle) if last is None else float(np.hypot(centre[0] - last[0], centre[1] - last[1]))
        round_enough = sizes[number] > 0.5 * box
        near = off < 0.15 * width if last is None else off * spacing[1] < 12.0
        if round_enough and near and float(np.median(hu[inside])) < _SEED_HU and (best is None or off < best[0]):
            best = (off, number, centre)
    return None if best is None else (labels == best[1], best[2])


def volume_ml(tree: Bools, spacing: Triple) -> float:
    """Volume of a tree in mL."""
    return float(morphology.largest(tree).sum()) * float(np.prod(spacing)) / 1000
