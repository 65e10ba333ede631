"""A DICOM series: headers first, then one pass over the pixels.

GDCM applies the rescale slope and intercept of each slice, so they are never applied again. Slices are ordered by
position, never by instance number.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import SimpleITK as sitk

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Floats, Triple
from slicewise.imaging.headers import check_spacing
from slicewise.imaging.limits import Limits

_MISSING = 1.5  # a gap this many times the usual one is a missing slice
_UNIFORM_MM = 0.02
_TILT_DEGREES = 0.2
_SAFE_WORD = re.compile(r"[^A-Za-z0-9 ._+-]")


@dataclass(frozen=True, slots=True)
class Series:
    """Pixels and place of a series.

    Attributes:
        image: The volume as ITK read it.
        facts: Technical facts from a fixed list of tags; nothing that tells who was scanned.
        gaps_mm: Smallest and largest distance of neighbours when not uniform.
        warnings: What was noticed.
    """

    image: sitk.Image
    spacing: Triple
    origin: Triple
    direction: Floats
    facts: dict[str, Any]
    gaps_mm: tuple[float, float] | None
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Slice:
    name: str
    size: tuple[int, int, int]
    spacing: Triple
    position: Floats
    direction: Floats
    tags: dict[str, str]


def read(path: Path, series_uid: str | None, limits: Limits) -> Series:
    """Read the series of a folder, or a single DICOM file.

    Args:
        path: Folder with the files of one series (others may lie beside it), or one file.
        series_uid: Which series, when there are several.
        limits: Bounds of files and voxels.

    Raises:
        ImagingError: ``E_NOT_FOUND`` without DICOM files; ``E_FORMAT`` for several series, colour, mixed sizes or
            orientations, doubled positions, or a missing slice; ``E_LIMIT``.
    """
    names = [str(path)] if path.is_file() else _names(path, series_uid, limits)
    slices = [_header(name) for name in names]
    _check_same(slices)
    columns, rows, frames = slices[0].size
    limits.check_voxels((columns, rows, frames * len(slices)))
    if len(slices) == 1:
        image = _pixels(names)
        spacing = slices[0].spacing
        check_spacing(spacing)
        return Series(image, spacing, _triple(slices[0].position), slices[0].direction, _facts(slices[0]), None, ())
    normal = slices[0].direction[:, 2]
    slices.sort(key=lambda one: float(one.position @ normal))
    step, gaps, warnings = _stack(slices, normal)
    image = _pixels([one.name for one in slices])
    spacing = (slices[0].spacing[0], slices[0].spacing[1], step)
    check_spacing(spacing)
    origin = _triple(slices[0].position)
    return Series(image, spacing, origin, slices[0].direction, _facts(slices[0]), gaps, warnings)


def _names(path: Path, series_uid: str | None, limits: Limits) -> list[str]:
    files = [entry for entry in path.iterdir() if entry.is_file()]
    if len(files) > limits.max_files:
        raise ImagingError(Code.LIMIT, f"the folder has {len(files)} files, more than the {limits.max_files} allowed.")
    found = sitk.ImageSeriesReader.GetGDCMSeriesIDs(str(path))
    if not found:
        raise ImagingError(Code.NOT_FOUND, "the folder holds no DICOM series; give the folder of the slices itself.")
    if series_uid is None and len(found) > 1:
        listed = ", ".join(sorted(found)[:8])
        raise ImagingError(Code.FORMAT, f"the folder holds {len(found)} series; give series_uid, one of: {listed}.")
    if series_uid is not None and series_uid not in found:
        raise ImagingError(Code.NOT_FOUND, "the folder has no series of that series_uid.")
    return list(sitk.ImageSeriesReader.GetGDCMSeriesFileNames(str(path), series_uid or found[0]))


def _header(name: str) -> _Slice:
    reader = sitk.ImageFileReader()
    reader.SetImageIO("GDCMImageIO")
    reader.SetFileName(name)
    try:
        reader.ReadImageInformation()
    except RuntimeError as error:
        raise ImagingError(Code.FORMAT, "a file of the series is no readable DICOM image.") from error
    if reader.GetNumberOfComponents() != 1:
        raise ImagingError(Code.FORMAT, "the images are in colour; expected single numbers (MONOCHROME).")
    sizes = (*reader.GetSize(), 1)[:3]
    spacing = (*reader.GetSpacing(), 1.0)[:3]
    tags = {key: reader.GetMetaData(key).strip() for key in reader.GetMetaDataKeys() if "|" in key}
    direction = np.asarray(reader.GetDirection(), dtype=np.float64).reshape(3, 3)
    position = np.asarray(reader.GetOrigin(), dtype=np.float64)
    return _Slice(name, (sizes[0], sizes[1], sizes[2]), (spacing[0], spacing[1], spacing[2]), position, direction, tags)


def _check_same(slices: Sequence[_Slice]) -> None:
    first = slices[0]
    for one in slices:
        if one.size != first.size:
            raise ImagingError(Code.FORMAT, f"slices differ in size: {list(first.size)} and {list(one.size)}.")
        same_place = np.allclose(one.direction, first.direction, atol=1e-3)
        if not (same_place and np.allclose(one.spacing[:2], first.spacing[:2], rtol=1e-3)):
            raise ImagingError(Code.FORMAT, "slices differ in orientation or pixel spacing (a localizer among them?).")


def _stack(slices: Sequence[_Slice], normal: Floats) -> tuple[float, tuple[float, float] | None, tuple[str, ...]]:
    """Distance of slices, the range of distances when not uniform, and warnings."""
    positions = np.stack([one.position for one in slices])
    gaps = np.diff(positions @ normal)
    usual = float(np.median(gaps))
    if gaps.min() <= 1e-3:
        raise ImagingError(Code.FORMAT, "two slices lie at the same position; the folder holds more than one volume.")
    if gaps.max() > _MISSING * usual:
        at = int(gaps.argmax())
        raise ImagingError(
            Code.FORMAT,
            f"a slice is missing: {gaps[at]:.2f} mm between slices {at} and {at + 1} (from the bottom), where "
            f"{usual:.2f} mm is usual; every measurement across it would be wrong.",
        )
    warnings = []
    uniform = float(gaps.max() - gaps.min()) <= _UNIFORM_MM
    if not uniform:
        warnings.append(f"slices are {gaps.min():.3f} to {gaps.max():.3f} mm apart; the mean is used")
    along = positions[-1] - positions[0]
    cosine = min(1.0, float(along @ normal) / float(np.linalg.norm(along)))
    tilt = float(np.degrees(np.arccos(cosine)))
    if tilt > _TILT_DEGREES:
        warnings.append(f"gantry tilt of {tilt:.1f} degrees: the volume is sheared, oblique lengths are off")
    mean = float(gaps.mean())
    return mean, None if uniform else (float(gaps.min()), float(gaps.max())), tuple(warnings)


def _pixels(names: Sequence[str]) -> sitk.Image:
    try:
        if len(names) == 1:
            return sitk.ReadImage(names[0], imageIO="GDCMImageIO")
        reader = sitk.ImageSeriesReader()
        reader.SetImageIO("GDCMImageIO")
        reader.SetFileNames(list(names))
        return reader.Execute()
    except RuntimeError as error:
        raise ImagingError(Code.FORMAT, "the pixels of the series cannot be decoded.") from error


def _facts(one: _Slice) -> dict[str, Any]:
    """Technical facts only; free text is cut to a word of harmless letters."""
    tags = one.tags
    facts: dict[str, Any] = {
        "modality": _SAFE_WORD.sub("", tags.get("0008|0060", ""))[:8] or None,
        "slice_thickness_mm": _number(tags.get("0018|0050")),
        "kernel": _SAFE_WORD.sub("", tags.get("0018|1210", ""))[:16] or None,
        "kvp": _number(tags.get("0018|0060")),
        "reconstruction_diameter_mm": _number(tags.get("0018|1100")),
        "contrast": bool(tags["0018|0010"]) if "0018|0010" in tags else None,
    }
    return {name: value for name, value in facts.items() if value is not None}


def _number(text: str | None) -> float | None:
    try:
        value = float(text) if text else None
    except ValueError:
        return None
    return value if value is not None and np.isfinite(value) else None


def _triple(values: Floats) -> Triple:
    return float(values[0]), float(values[1]), float(values[2])
