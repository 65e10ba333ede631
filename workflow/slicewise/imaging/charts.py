"""Small charts drawn without a plotting library: a histogram, bars, a radar. Same bytes on every machine."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from PIL import Image, ImageDraw

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.render import Picture, encode, font

INK = (30, 34, 40)
PALE = (205, 210, 216)
FILL = (52, 120, 190)
SHEET = (255, 255, 255)
MOST_BARS = 40


def histogram(edges: Sequence[float], counts: Sequence[int], title: str, size: tuple[int, int] = (640, 360)) -> Picture:
    """Counts by bin, HU along the bottom."""
    image = Image.new("RGB", size, SHEET)
    pen = ImageDraw.Draw(image)
    left, right, top, bottom = 56, size[0] - 16, 34, size[1] - 40
    pen.text((left, 8), title, fill=INK, font=font(14))
    most = max(1, *counts)
    low, high = edges[0], edges[-1]

    def across(value: float) -> float:
        return left + (value - low) / (high - low) * (right - left)

    for edge, following, count in zip(edges, edges[1:], counts, strict=False):
        if count:
            height = max(1.0, count / most * (bottom - top))
            pen.rectangle((across(edge), bottom - height, max(across(edge), across(following) - 1), bottom), fill=FILL)
    pen.line([(left, bottom), (right, bottom)], fill=INK)
    for value in _ticks(low, high):
        pen.line([(across(value), bottom), (across(value), bottom + 4)], fill=INK)
        pen.text((across(value), bottom + 6), f"{value:g}", fill=INK, font=font(11), anchor="ma")
    pen.text((right, size[1] - 4), "HU", fill=INK, font=font(11), anchor="rd")
    pen.text((left - 6, top), f"{most:,}", fill=INK, font=font(11), anchor="ra")
    pen.text((left - 6, bottom), "0", fill=INK, font=font(11), anchor="rd")
    return encode(image)


def _ticks(low: float, high: float) -> list[float]:
    """About six round numbers."""
    raw = (high - low) / 6
    power = 10 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1, 2, 5, 10) if m * power >= raw)
    first = math.ceil(low / step)
    return [n * step for n in range(first, math.floor(high / step) + 1)]


def bars(values: Mapping[str, float], title: str, width: int = 640) -> Picture:
    """One bar per feature, its number beside it.

    Features have no common unit, so lengths are on a logarithmic scale of the magnitude; negative ones are hollow.

    Raises:
        ImagingError: ``E_LIMIT`` for no or more than 40 features.
    """
    _check(values)
    row = 20
    size = (width, 44 + row * len(values))
    image = Image.new("RGB", size, SHEET)
    pen = ImageDraw.Draw(image)
    pen.text((10, 8), title, fill=INK, font=font(14))
    left, right = 210, width - 110
    scale = {name: math.log10(1 + abs(value)) for name, value in values.items()}
    most = max(*scale.values(), 1e-9)
    for number, (name, value) in enumerate(values.items()):
        y = 36 + number * row
        pen.text((left - 8, y + 7), name, fill=INK, font=font(11), anchor="rm")
        end = left + scale[name] / most * (right - left)
        pen.rectangle((left, y + 1, max(left + 1, end), y + 13), fill=FILL if value >= 0 else SHEET, outline=FILL)
        pen.text((end + 6, y + 7), f"{value:.4g}", fill=INK, font=font(11), anchor="lm")
    return encode(image)


def radar(values: Mapping[str, float], title: str, side: int = 560) -> Picture:
    """A spoke per feature, logarithmic like the bars.

    Raises:
        ImagingError: ``E_LIMIT`` for fewer than 3 or more than 40 features.
    """
    _check(values, least=3)
    image = Image.new("RGB", (side, side), SHEET)
    pen = ImageDraw.Draw(image)
    pen.text((10, 8), title, fill=INK, font=font(14))
    middle, reach = side / 2, side * 0.33
    scale = [math.log10(1 + abs(value)) for value in values.values()]
    most = max(*scale, 1e-9)

    def spot(number: int, share: float) -> tuple[float, float]:
        angle = 2 * math.pi * number / len(scale) - math.pi / 2
        return middle + reach * share * math.cos(angle), middle + reach * share * math.sin(angle)

    for ring in (0.25, 0.5, 0.75, 1.0):
        pen.polygon([spot(n, ring) for n in range(len(scale))], outline=PALE)
    pen.polygon([spot(n, value / most) for n, value in enumerate(scale)], outline=FILL, width=2)
    for number, (name, value) in enumerate(values.items()):
        pen.line([(middle, middle), spot(number, 1.0)], fill=PALE)
        x, y = spot(number, 1.12)
        anchor = "mm" if abs(x - middle) < 0.05 * side else ("lm" if x > middle else "rm")
        pen.text((x, y), f"{name}\n{value:.3g}", fill=INK, font=font(10), anchor=anchor)
    return encode(image)


def _check(values: Mapping[str, float], least: int = 1) -> None:
    if not least <= len(values) <= MOST_BARS:
        raise ImagingError(Code.LIMIT, f"{len(values)} features: a chart shows {least} to {MOST_BARS}; name some.")
