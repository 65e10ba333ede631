"""Hounsfield units: slope and intercept exactly once, padding recognised, air where air has to be.

Public reports that this guards against: ibrahimethemhamamci/CT-CLIP#50 and #28 (rescaled twice),
JoHof/lungmask#108 (stored values taken for HU), ibrahimethemhamamci/CT2Rep#15 (constant volumes).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Int16s
from slicewise.imaging.volume import AIR_HU, HuCheck

Policy = Literal["auto", "as_is", "rescale"]

LOWEST_HU = -1500  # no scanner writes air below this; what is there is padding, or rescaled twice
_AIR = (-1100, -850)
_LEAST_AIR = 0.002  # share of voxels
_SAMPLE = 2_000_000
_ARBITRARY_TOP = 4095


def to_int16(array: npt.NDArray[Any]) -> tuple[Int16s, tuple[str, ...]]:
    """Intensities as int16.

    Integers outside int16 are clipped and whole numbers stored as floats are cast; fractions are rounded. A volume
    that is normalised (a span of at most 8 with fractions) is stretched to 0..4095, in arbitrary units.

    Raises:
        ImagingError: ``E_FORMAT`` for values that are not numbers, not finite, or all the same.
    """
    if array.dtype.kind not in "iuf":
        raise ImagingError(Code.FORMAT, f"intensities are of type {array.dtype}, expected integers or floats.")
    low, high = array.min(), array.max()
    if not (np.isfinite(low) and np.isfinite(high)):
        raise ImagingError(Code.FORMAT, "some intensities are NaN or infinite; replace them by -1024 and save again.")
    if low == high:
        raise ImagingError(Code.FORMAT, f"all voxels have the value {low}; the volume is empty or broken.")
    if array.dtype == np.int16:
        return array, ()
    warnings: list[str] = []
    if array.dtype.kind == "f":
        if high - low <= 8 and np.any(array != np.rint(array)):
            stretched = (array - low) * (_ARBITRARY_TOP / (high - low))
            return np.rint(stretched).astype(np.int16), ("normalised intensities stretched to 0..4095",)
        array = np.rint(array)
    if low < -32768 or high > 32767:
        warnings.append("intensities outside the range of int16 were clipped")
        array = np.clip(array, -32768, 32767)
    return array.astype(np.int16), tuple(warnings)


def split_padding(hu: Int16s) -> tuple[Int16s, int | None, int]:
    """Set padding outside the reconstructed field to -1024.

    Padding is one or two values below -1500 and nothing else there; a spread of values is data.

    Returns:
        ``(hu, padding_value, padding_voxels)``.
    """
    lowest = int(hu.min())
    if lowest >= LOWEST_HU:
        return hu, None, 0
    below = hu < LOWEST_HU
    values = hu[below]
    padding = (values == lowest) | (values == values.max())
    if not padding.all():
        return hu, None, 0
    out = hu.copy()
    out[below] = AIR_HU
    return out, lowest, int(values.size)


def check(hu: Int16s) -> HuCheck:
    """Look for the peak of air near -1000 and for values that no CT has.

    A strided sample of at most about two million voxels is enough for the peak; the minimum is taken over all.
    """
    lowest = int(hu.min())
    sample = hu.reshape(-1)[:: max(1, hu.size // _SAMPLE) | 1] if hu.flags.c_contiguous else hu.reshape(-1)
    air = sample[(sample >= _AIR[0]) & (sample <= _AIR[1])]
    if lowest < LOWEST_HU:
        return HuCheck(None, True, f"values down to {lowest} that are not padding: rescaled twice?")
    if air.size < _LEAST_AIR * sample.size:
        return HuCheck(None, True, f"no air near -1000, lowest value {lowest}: stored values without their intercept?")
    peak = int(np.bincount(air.astype(np.int64) - _AIR[0]).argmax()) + _AIR[0]
    return HuCheck(peak, False)


def settle(
    array: npt.NDArray[Any], policy: Policy, slope: float | None, intercept: float | None, *, declared: bool
) -> tuple[Int16s, bool, HuCheck, tuple[str, ...]]:
    """Intensities in HU where that is possible.

    Args:
        array: What the reader gave, with the slope and intercept of the file's own header already applied.
        policy: ``as_is`` takes the values for HU; ``rescale`` applies ``slope`` and ``intercept``; ``auto`` applies
            them, when given, exactly if the values do not look like HU yet.
        slope: Slope from outside the file, such as a metadata table.
        intercept: Likewise.
        declared: The file itself says that it holds HU (a DICOM CT).

    Returns:
        ``(hu, is_hu, check, warnings)``.

    Raises:
        ImagingError: ``E_HU_SUSPECT`` when ``rescale`` is asked for values that are HU already; ``E_FORMAT`` for
            unusable values or a missing slope or intercept.
    """
    if (slope is None) != (intercept is None):
        raise ImagingError(Code.FORMAT, "slope and intercept belong together; give both or none.")
    if policy == "rescale" and slope is None:
        raise ImagingError(Code.FORMAT, "hu_policy 'rescale' needs slope and intercept.")
    values, warnings = to_int16(array)
    values, padding, padded = split_padding(values)
    found = check(values)
    if slope is not None and intercept is not None and policy != "as_is":
        if not (np.isfinite(slope) and np.isfinite(intercept) and slope > 0):
            raise ImagingError(Code.FORMAT, f"slope {slope} and intercept {intercept} are no rescaling.")
        if found.suspect:
            values, padding, padded, found, more = _rescaled(array, slope, intercept)
            warnings += more
        elif policy == "rescale":
            raise ImagingError(
                Code.HU_SUSPECT,
                f"the values are HU already (air peak at {found.air_peak}); rescaling them again would be wrong: use "
                "hu_policy 'as_is'.",
            )
        else:
            warnings += ("slope and intercept were not applied: the values are HU already",)
    if found.suspect:
        warnings += (f"{Code.HU_SUSPECT}: {found.reason}",)
    is_hu = policy == "as_is" or declared or not found.suspect
    return values, is_hu, replace(found, padding_value=padding, padding_voxels=padded), warnings


def _rescaled(
    array: npt.NDArray[Any], slope: float, intercept: float
) -> tuple[Int16s, int | None, int, HuCheck, tuple[str, ...]]:
    scaled = array.astype(np.float32) * np.float32(slope) + np.float32(intercept)
    values, warnings = to_int16(scaled)
    values, padding, padded = split_padding(values)
    return values, padding, padded, check(values), warnings
