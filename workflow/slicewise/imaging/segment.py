"""Segmentation without a model: thresholds, connected parts and a little anatomy.

This is honest and limited. It finds the body, aerated lung, the large airways, bone and fat of a CT; a tumour or
consolidated lung is denser than lung and is *not* in the lung masks, and vessels or bowel full of contrast count as
bone. Anything else needs the TotalSegmentator backend (:mod:`slicewise.imaging.totalseg`).
"""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import numpy.typing as npt
from scipy import ndimage

from slicewise.errors import did_you_mean
from slicewise.imaging import airway, morphology
from slicewise.imaging.anatomy import HEURISTIC, LABELS, TOTAL
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Bools, Triple
from slicewise.imaging.volume import Mask, Volume

DEFAULT = ("lung_left", "lung_right", "airway", "bone", "fat")
NOTE = (
    "heuristic backend: thresholds and connected parts; dense lesions are outside the lung masks, and contrast-filled "
    "vessels or bowel may count as bone"
)
BODY_HU = -300
LUNG_HU = -400
BONE_HU = 200
FAT_HU = (-190, -30)
_LUNG_MEDIAN = (-960.0, -400.0)
# Gas in stomach or bowel: darker than lung and much smaller than the larger lung.
_GAS_MEDIAN = -900.0
_GAS_SHARE = 0.15
_LEAST_LUNG_ML = 30.0
_LEAST_BONE_ML = 0.3
_CLOSE_MM = 4.0
_COARSE_SIDE = 300


def known(names: Iterable[str]) -> tuple[str, ...]:
    """The names, checked.

    Raises:
        ImagingError: ``E_UNKNOWN_ANATOMY`` for a name in no label set; ``E_BACKEND_UNAVAILABLE`` for one that needs
            TotalSegmentator.
    """
    wanted = tuple(dict.fromkeys(names))
    for name in wanted:
        if name in HEURISTIC:
            continue
        if name in TOTAL:
            raise ImagingError(
                Code.BACKEND_UNAVAILABLE,
                f"'{name}' needs the backend totalsegmentator; the heuristic backend knows {', '.join(HEURISTIC)}.",
            )
        hint = did_you_mean(name, (*HEURISTIC, *TOTAL))
        raise ImagingError(Code.UNKNOWN_ANATOMY, f"no anatomy '{name}'; search_anatomy_names lists names.{hint}")
    return wanted


def heuristic(volume: Volume, names: Iterable[str] | None = None, *, fast: bool = True) -> Mask:
    """Segment by thresholds.

    Args:
        volume: A CT in HU.
        names: Which of ``body, lung_left, lung_right, airway, bone, fat``; default all but ``body``. With others,
            ``body`` is what they leave of it.
        fast: Work on every second voxel in plane when the slices are larger than 300 pixels.

    Returns:
        A label mask; numbers as in :data:`slicewise.imaging.anatomy.LABELS`, absent labels were not found.

    Raises:
        ImagingError: ``E_HU_SUSPECT``, ``E_FORMAT``, ``E_UNKNOWN_ANATOMY``, ``E_BACKEND_UNAVAILABLE``, or
            ``E_EMPTY_MASK`` when none of the names is found.
    """
    wanted = known(DEFAULT if names is None else names)
    volume.require_hu()
    z, y, x = volume.grid.mm
    step = 2 if fast and min(volume.grid.shape[1:]) > _COARSE_SIDE else 1
    hu = volume.hu[:, ::step, ::step]
    spacing = (z, y * step, x * step)
    regions = _regions(np.ascontiguousarray(hu), spacing, set(wanted))
    labels = np.zeros(hu.shape, dtype=np.uint8)
    for name in HEURISTIC:  # later names lie over earlier ones: fat over body, airway over lung
        if name in wanted and name not in ("airway", "bone"):
            labels[regions[name]] = LABELS[name]
    for name in ("bone", "airway"):
        if name in wanted:
            labels[regions[name]] = LABELS[name]
    if step > 1:
        rows, columns = volume.grid.shape[1:]
        labels = labels.repeat(step, axis=1).repeat(step, axis=2)[:, :rows, :columns]
    mask = Mask(np.ascontiguousarray(labels), volume.grid, {LABELS[name]: name for name in wanted}, "heuristic", NOTE)
    if not mask.counts:
        raise ImagingError(Code.EMPTY_MASK, f"found nothing of {', '.join(wanted)} in this volume.")
    return mask


def _regions(hu: npt.NDArray[np.int16], spacing: Triple, wanted: set[str]) -> dict[str, Bools]:
    """Every region that is asked for, and those it depends on."""
    body = body_of(hu, spacing)
    found: dict[str, Bools] = {"body": body}
    air = (hu < LUNG_HU) & body
    if wanted & {"lung_left", "lung_right", "airway", "fat"}:
        found["airway"] = airway.find(hu, air, body, spacing)
        found["lung_left"], found["lung_right"] = lungs_of(hu, air, found["airway"], body, spacing)
    if "bone" in wanted:
        least = max(1, round(_LEAST_BONE_ML * 1000 / float(np.prod(spacing))))
        found["bone"] = morphology.without_specks((hu > BONE_HU) & body, least)
    if "fat" in wanted:
        fat = (hu > FAT_HU[0]) & (hu < FAT_HU[1]) & body
        # The rim of the lungs passes through the range of fat; one voxel of it is left out.
        near_air = ndimage.binary_dilation(air | ~body)
        found["fat"] = fat & ~near_air
    return found


def body_of(hu: npt.NDArray[np.int16], spacing: Triple) -> Bools:
    """The patient: the largest part above -300 HU that is thicker than a table, holes of each slice filled."""
    dense = hu > BODY_HU
    structure = ndimage.generate_binary_structure(3, 1) & np.asarray([False, True, False])[:, None, None]
    turns = max(1, round(3.0 / min(spacing[1:])))
    core = ndimage.binary_erosion(dense, structure=structure, iterations=turns)
    core = morphology.largest(core)
    grown = ndimage.binary_dilation(core, structure=structure, iterations=turns + 1) & dense
    return morphology.fill_slices(grown)


def lungs_of(
    hu: npt.NDArray[np.int16], air: Bools, airways: Bools, body: Bools, spacing: Triple
) -> tuple[Bools, Bools]:
    """Left and right lung: air in the body that is no airway and has the density of lung."""
    structure = ndimage.generate_binary_structure(3, 1)
    open_air = air & ~ndimage.binary_dilation(airways, structure=structure)
    labels, sizes = morphology.parts(open_air)
    least = _LEAST_LUNG_ML * 1000 / float(np.prod(spacing))
    large = [int(number) for number in np.argsort(-sizes, kind="stable")[:4] if sizes[number] >= least]
    medians = [float(np.median(hu[labels == number])) for number in large]
    most = float(sizes.max())
    kept = [
        number
        for number, median in zip(large, medians, strict=True)
        if _LUNG_MEDIAN[0] < median < _LUNG_MEDIAN[1] and (median > _GAS_MEDIAN or sizes[number] > _GAS_SHARE * most)
    ]
    left, right = np.zeros(air.shape, dtype=bool), np.zeros(air.shape, dtype=bool)
    middle = float(np.flatnonzero(body.any(axis=(0, 1))).mean())
    for number in kept:
        part = labels == number
        for side in _sides(part, middle):
            where = float(np.flatnonzero(side.any(axis=(0, 1))).mean())
            (left if where > middle else right)[side] = True
    taken = airways.copy()
    for lung in (left, right):
        # Vessels inside the lung belong to it, tissue between the lungs does not.
        full = morphology.fill_slices(morphology.closed(lung, _CLOSE_MM, spacing)) & body & ~taken
        lung[...] = full
        taken |= full
    return left, right


def _sides(part: Bools, middle: float) -> list[Bools]:
    """The part itself, or its two halves when it holds both lungs."""
    columns = part.sum(axis=(0, 1))
    total = int(columns.sum())
    right = int(columns[: round(middle)].sum())
    if min(right, total - right) < 0.15 * total:
        return [part]
    structure = ndimage.generate_binary_structure(3, 1)
    core = part
    for _ in range(6):
        core = ndimage.binary_erosion(core, structure=structure)
        labels, sizes = morphology.parts(core)
        first, second = (np.argsort(-sizes, kind="stable")[:2]).tolist() if sizes.size > 2 else (0, 0)
        if second and sizes[second] > 0.1 * total:
            seeds = np.where(labels == first, 1, np.where(labels == second, 2, 0))
            where = ndimage.distance_transform_edt(seeds == 0, return_distances=False, return_indices=True)
            nearest = seeds[tuple(where)]
            return [part & (nearest == 1), part & (nearest == 2)]
    halves = np.arange(part.shape[2]) < round(middle)
    return [part & halves, part & ~halves]
