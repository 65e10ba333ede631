"""Volumes and masks from DICOM folders, NIfTI, NRRD, NPY and folders of PNG slices."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import SimpleITK as sitk

from slicewise.imaging import dicom, headers, hu
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Floats, Grid, Triple
from slicewise.imaging.limits import Limits
from slicewise.imaging.orient import contiguous, to_lps
from slicewise.imaging.volume import Labels, Mask, Volume

SUFFIXES = (".nii.gz", ".nii", ".nrrd", ".npy", ".dcm")
_IO = {".nii.gz": "NiftiImageIO", ".nii": "NiftiImageIO", ".nrrd": "NrrdImageIO"}
_MAX_LABEL = 65535


class _Raw:
    """What a reader found, before orientation and HU."""

    def __init__(self, array: npt.NDArray[Any], spacing: Triple | None, origin: Triple, direction: Floats) -> None:
        self.array = array
        self.spacing = spacing
        self.origin = origin
        self.direction = direction
        self.facts: dict[str, Any] = {}
        self.gaps: tuple[float, float] | None = None
        self.warnings: tuple[str, ...] = ()
        self.owner: object = None


def load(
    path: Path,
    *,
    series_uid: str | None = None,
    policy: hu.Policy = "auto",
    slope: float | None = None,
    intercept: float | None = None,
    limits: Limits | None = None,
) -> Volume:
    """Read a volume.

    Args:
        path: A folder of DICOM or PNG slices, or a ``.nii``, ``.nii.gz``, ``.nrrd``, ``.npy`` or ``.dcm`` file. NPY
            and PNG have no spacing, so nothing can be measured on them.
        series_uid: Which DICOM series of the folder, when there are several.
        policy: How to reach HU; see :func:`slicewise.imaging.hu.settle`.
        slope: Slope from outside the file.
        intercept: Intercept from outside the file.
        limits: Bounds of size.

    Returns:
        The volume in canonical LPS. Warnings say what was noticed.

    Raises:
        ImagingError: ``E_NOT_FOUND``, ``E_FORMAT``, ``E_HU_SUSPECT`` or ``E_LIMIT``; messages hold no path.
    """
    limits = limits or Limits()
    raw = _read(path, series_uid, limits)
    declared = raw.facts.get("modality") == "CT"
    values, is_hu, check, warnings = hu.settle(raw.array, policy, slope, intercept, declared=declared)
    if raw.facts.get("modality") not in (None, "CT") and policy == "auto":
        is_hu = False
    array, grid, orientation = to_lps(values, raw.spacing, raw.origin, raw.direction)
    return Volume(
        hu=contiguous(array),
        grid=grid,
        is_hu=is_hu,
        check=check,
        orientation_in=orientation,
        facts={"modality": "CT" if is_hu else None, **raw.facts},
        warnings=(*raw.warnings, *warnings),
        gaps_mm=raw.gaps,
        owner=raw.owner if values is raw.array else None,
    )


def load_mask(
    path: Path, grid: Grid, *, resample: Literal["never", "nearest"] = "never", limits: Limits | None = None
) -> tuple[Mask, bool]:
    """Read a mask for a volume.

    Args:
        path: A ``.nii``, ``.nii.gz``, ``.nrrd`` or ``.npy`` file of whole numbers from 0 to 65535.
        grid: Where the volume's voxels lie.
        resample: ``nearest`` maps a mask on another grid onto the volume's.
        limits: Bounds of size.

    Returns:
        ``(mask, matched)``: ``matched`` is false when it was resampled.

    Raises:
        ImagingError: ``E_GEOMETRY_MISMATCH`` when grids differ and resampling was not asked for; ``E_EMPTY_MASK``
            without any label; ``E_NOT_FOUND``, ``E_FORMAT`` or ``E_LIMIT``.
    """
    raw = _read(path, None, limits or Limits())
    found = raw.array
    if found.dtype.kind == "f" and np.any(found != np.rint(found)):
        raise ImagingError(Code.FORMAT, "the mask has fractions; expected whole labels from 0 to 65535.")
    if found.min() < 0 or found.max() > _MAX_LABEL:
        raise ImagingError(Code.FORMAT, f"mask labels reach from {found.min()} to {found.max()}, expected 0 to 65535.")
    array, own, _ = to_lps(found, raw.spacing, raw.origin, raw.direction)
    labels: Labels = contiguous(array).astype(np.uint8 if found.max() <= 255 else np.uint16)
    wrong = grid.mismatch(own)
    if raw.spacing is None and own.shape == grid.shape:
        wrong = None  # a bare array says nothing of its place but its shape
    if wrong and (resample == "never" or own.spacing is None):
        raise ImagingError(
            Code.GEOMETRY_MISMATCH, f"the mask does not lie on the volume: {wrong}; resample='nearest' maps it."
        )
    if wrong:
        labels = _onto(labels, own, grid)
    mask = Mask(labels, grid)
    if not mask.counts:
        raise ImagingError(Code.EMPTY_MASK, "the mask has no voxel other than 0 on the volume.")
    return mask, not wrong


def to_image(array: npt.NDArray[Any], grid: Grid) -> sitk.Image:
    """An ITK image of an array on a grid."""
    image = sitk.GetImageFromArray(np.asarray(array))
    image.SetSpacing(grid.mm[::-1])
    image.SetOrigin(grid.origin)
    image.SetDirection([cosine for row in grid.direction for cosine in row])
    return image


def save(path: Path, array: npt.NDArray[Any], grid: Grid) -> None:
    """Write an array as NIfTI or NRRD, whatever the suffix says, compressed."""
    sitk.WriteImage(to_image(array, grid), str(path), useCompression=True)


def _onto(labels: npt.NDArray[Any], own: Grid, grid: Grid) -> npt.NDArray[Any]:
    placed = sitk.Resample(
        to_image(labels, own),
        to_image(np.zeros(grid.shape, np.uint8), grid),
        sitk.Transform(),
        sitk.sitkNearestNeighbor,
    )
    array: npt.NDArray[Any] = sitk.GetArrayFromImage(placed)
    return array


def _read(path: Path, series_uid: str | None, limits: Limits) -> _Raw:
    if path.is_dir():
        pictures = sorted((one for one in path.iterdir() if one.suffix.lower() == ".png"), key=_natural)
        return _pngs(pictures, limits) if pictures else _dicom(path, series_uid, limits)
    if not path.is_file():
        raise ImagingError(Code.NOT_FOUND, "there is no file or folder of that name in the data root.")
    if path.stat().st_size > limits.max_file_bytes:
        raise ImagingError(Code.LIMIT, f"the file has more than the {limits.max_file_bytes} bytes allowed.")
    suffix = next((one for one in SUFFIXES if path.name.lower().endswith(one)), None)
    if suffix is None:
        raise ImagingError(Code.FORMAT, f"expected a folder of slices or a file ending in {', '.join(SUFFIXES)}.")
    if suffix == ".npy":
        return _npy(path, limits)
    return _dicom(path, series_uid, limits) if suffix == ".dcm" else _itk(path, suffix, limits)


def _itk(path: Path, suffix: str, limits: Limits) -> _Raw:
    check = headers.check_nrrd if suffix == ".nrrd" else headers.check_nifti
    check(path, limits)
    reader = sitk.ImageFileReader()
    reader.SetImageIO(_IO[suffix])
    reader.SetFileName(os.fspath(path))
    try:
        reader.ReadImageInformation()
        headers.check_sizes(tuple(reader.GetSize()), limits)
        if reader.GetNumberOfComponents() != 1:
            raise ImagingError(Code.FORMAT, "the voxels have several components; expected single numbers.")
        image = reader.Execute()
    except RuntimeError as error:
        hint = "orthonormal" in str(error)
        why = "its axes are not orthonormal" if hint else "its header or its data are broken"
        raise ImagingError(Code.FORMAT, f"the file cannot be read: {why}.") from error
    headers.check_spacing(tuple(image.GetSpacing()[:3]))
    return _from_image(image)


def _from_image(image: sitk.Image) -> _Raw:
    if image.GetDimension() > 3:
        image = sitk.Extract(image, [*image.GetSize()[:3], *[0] * (image.GetDimension() - 3)])
    spacing, origin = image.GetSpacing(), image.GetOrigin()
    direction = np.asarray(image.GetDirection(), dtype=np.float64).reshape(3, 3)
    # Headers hold 32-bit floats: 2.2 mm comes back as 2.2000000477.
    steps, place = [round(step, 6) for step in spacing], [round(at, 4) for at in origin]
    raw = _Raw(
        sitk.GetArrayViewFromImage(image), (steps[0], steps[1], steps[2]), (place[0], place[1], place[2]), direction
    )
    raw.owner = image
    return raw


def _dicom(path: Path, series_uid: str | None, limits: Limits) -> _Raw:
    series = dicom.read(path, series_uid, limits)
    array = sitk.GetArrayViewFromImage(series.image)
    raw = _Raw(array if array.ndim == 3 else array[None], series.spacing, series.origin, series.direction)
    raw.owner = series.image
    raw.facts, raw.gaps, raw.warnings = series.facts, series.gaps_mm, series.warnings
    return raw


def _npy(path: Path, limits: Limits) -> _Raw:
    try:
        array = np.load(path, mmap_mode="r", allow_pickle=False)
    except (ValueError, OSError, EOFError, SyntaxError) as error:
        raise ImagingError(Code.FORMAT, "the file is no plain NPY array of numbers, or is cut off.") from error
    headers.check_sizes(tuple(reversed(array.shape)), limits)
    if array.dtype.kind not in "iufb":
        raise ImagingError(Code.FORMAT, f"the array is of type {array.dtype}, expected numbers.")
    array = np.array(array).reshape(array.shape[-3:])
    return _Raw(array.astype(np.uint8) if array.dtype.kind == "b" else array, None, (0.0, 0.0, 0.0), np.eye(3))


def _pngs(paths: list[Path], limits: Limits) -> _Raw:
    from PIL import Image

    if len(paths) > limits.max_files:
        raise ImagingError(Code.LIMIT, f"the folder has more than the {limits.max_files} pictures allowed.")
    planes: list[npt.NDArray[Any]] = []
    for path in paths:
        try:
            with Image.open(path) as picture:
                limits.check_voxels((*picture.size, len(paths)))
                if picture.mode not in ("L", "I;16", "1"):
                    raise ImagingError(Code.FORMAT, f"a picture has mode {picture.mode}, expected one gray channel.")
                planes.append(np.asarray(picture).astype(np.int32))
        except Image.DecompressionBombError as error:
            raise ImagingError(Code.LIMIT, "a picture of the folder is far too large.") from error
        except (OSError, SyntaxError) as error:
            raise ImagingError(Code.FORMAT, "a picture of the folder cannot be decoded.") from error
        if planes[-1].shape != planes[0].shape:
            raise ImagingError(Code.FORMAT, "the pictures of the folder differ in size.")
    return _Raw(np.stack(planes), None, (0.0, 0.0, 0.0), np.eye(3))


def _natural(path: Path) -> list[tuple[int, str]]:
    """Order in which slice 2 comes before slice 10."""
    return [(int(word), "") if word.isdigit() else (-1, word) for word in re.split(r"(\d+)", path.name.lower())]
