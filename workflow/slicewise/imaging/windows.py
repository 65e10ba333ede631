"""Display windows: which intensities become black and white."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt

from slicewise.errors import did_you_mean
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.volume import Volume

Bytes = npt.NDArray[np.uint8]


@dataclass(frozen=True, slots=True)
class Window:
    """Width and centre in HU."""

    name: str
    width: float
    level: float


# Lung, soft tissue and bone as the CT-Flow paper states them; the others as is usual.
PRESETS = {
    window.name: window
    for window in (
        Window("lung", 1500, -600),
        Window("soft_tissue", 400, 40),
        Window("bone", 2000, 500),
        Window("mediastinum", 350, 50),
        Window("liver", 150, 30),
        Window("brain", 80, 40),
        Window("angio", 600, 300),
    )
}


def choose(volume: Volume, preset: str | None, width: float | None, level: float | None) -> Window:
    """The window to use: explicit numbers win over the preset, intensities that are not HU get their own range.

    Raises:
        ImagingError: ``E_BAD_WINDOW`` for an unknown preset, a width that is not above zero, or half a pair.
    """
    if (width is None) != (level is None):
        raise ImagingError(Code.BAD_WINDOW, "window and level belong together; give both or a preset.")
    if width is not None and level is not None:
        if not (0 < width <= 65536 and abs(level) <= 32768):
            raise ImagingError(
                Code.BAD_WINDOW, f"window {width:g} and level {level:g}: expected a width above 0 and a level in HU."
            )
        return Window("custom", float(width), float(level))
    if preset is not None and preset not in PRESETS:
        hint = did_you_mean(preset, PRESETS)
        raise ImagingError(Code.BAD_WINDOW, f"no preset '{preset}'; expected one of {', '.join(PRESETS)}.{hint}")
    if not volume.is_hu:
        return own_range(volume)
    return PRESETS[preset or "soft_tissue"]


def own_range(volume: Volume) -> Window:
    """From the 1st to the 99th percentile of a sample of the intensities."""
    sample = volume.hu.reshape(-1)[:: max(1, volume.hu.size // 500_000) | 1]
    low, high = np.percentile(sample, [1, 99])
    return Window("own range", max(1.0, float(high - low)), float(high + low) / 2)


def apply(values: npt.NDArray[Any], window: Window) -> Bytes:
    """Gray values of int16 intensities; linear between the ends of the window, rounded."""
    table = _table(window)
    return (
        table[values.view(np.uint16)] if values.flags.c_contiguous else table[values.astype(np.int16).view(np.uint16)]
    )


@lru_cache(maxsize=32)
def _table(window: Window) -> Bytes:
    values = np.arange(65536, dtype=np.uint16).view(np.int16).astype(np.float64)
    gray = (values - (window.level - window.width / 2)) * (255.0 / window.width)
    return np.rint(np.clip(gray, 0, 255)).astype(np.uint8)
