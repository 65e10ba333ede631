"""Boxes in native pixels, and the conventions in which models write them.

Inside Slicewise a box is ``x0, y0, x1, y1`` in native pixels of its frame: continuous coordinates, origin at the top
left, no +1. ``frame`` is the 0-based position in the list of frames shown, or ``None`` when the text named none.

:func:`decode` turns the numbers of a declared convention into native pixels, :func:`encode` and :func:`render` go the
other way, and :func:`settle` applies the rules for boxes that leave the image, are inverted or have no area.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum

Corners = tuple[float, float, float, float]
Size = tuple[int, int]

OVERSHOOT = 0.05  # share of the image's side by which a box may leave the image and still be clipped
_ROUNDING = 1e-9  # relative excess that is rounding, not overshoot
_LOC_BINS = 1024
_FLORENCE_BINS = 1000
_KOSMOS_SIDE = 32


class Convention(StrEnum):
    """How a model writes the four numbers of a box. Declared per checkpoint, never inferred."""

    ABS_XYXY_ORIGINAL = "abs_xyxy_original"
    ABS_XYXY_RESIZED = "abs_xyxy_resized"
    ABS_XYWH_ORIGINAL = "abs_xywh_original"
    ABS_CXCYWH_ORIGINAL = "abs_cxcywh_original"
    REL_XYXY_0_1000 = "rel_xyxy_0_1000"
    REL_XYXY_0_999 = "rel_xyxy_0_999"
    REL_YXYX_0_1000 = "rel_yxyx_0_1000"
    REL_XYXY_0_1 = "rel_xyxy_0_1"
    REL_XYXY_PERCENT = "rel_xyxy_percent"
    REL_XYXY_0_1_SQUARE_PAD = "rel_xyxy_0_1_square_pad"
    REL_XYXY_0_999_SQUARE_PAD = "rel_xyxy_0_999_square_pad"
    REL_XYWH_0_1 = "rel_xywh_0_1"
    REL_CXCYWH_0_1 = "rel_cxcywh_0_1"
    LOC1024_YXYX = "loc1024_yxyx"
    LOC1000_XYXY_BIN_CENTRE = "loc1000_xyxy_bin_centre"
    KOSMOS_PATCH32 = "kosmos_patch32"


@dataclass(frozen=True, slots=True, order=True)
class Box:
    """One rectangle on one frame.

    Attributes:
        frame: 0-based position in the list of frames shown; ``None`` when unknown.
        x0: Left edge, native pixels.
        y0: Top edge, native pixels.
        x1: Right edge, native pixels.
        y1: Bottom edge, native pixels.
        label: What the box shows, as written; ``None`` when unnamed.
    """

    frame: int | None
    x0: float
    y0: float
    x1: float
    y1: float
    label: str | None = None

    @property
    def area(self) -> float:
        """Area in square pixels; 0 for a degenerate box."""
        return max(0.0, self.x1 - self.x0) * max(0.0, self.y1 - self.y0)

    @property
    def key(self) -> tuple[int | None, float, float, float, float]:
        """What makes two boxes exact duplicates: frame and corners, not the label."""
        return (self.frame, self.x0, self.y0, self.x1, self.y1)


def iou(a: Box, b: Box) -> float:
    """Intersection over union of two boxes in [0, 1]; frames are not compared; 0 when either has no area."""
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    union = a.area + b.area - shared
    return shared / union if union > 0 else 0.0


class BadBox(ValueError):
    """The numbers are no box of the convention; the message is a short reason such as ``not_four_numbers``."""


# What one unit of the number is: how many of them span the image, or None for pixels.
_SPAN: dict[Convention, float] = {
    Convention.REL_XYXY_0_1000: 1000.0,
    Convention.REL_YXYX_0_1000: 1000.0,
    Convention.REL_XYXY_0_999: 999.0,
    Convention.REL_XYXY_0_999_SQUARE_PAD: 999.0,
    Convention.REL_XYXY_0_1: 1.0,
    Convention.REL_XYXY_0_1_SQUARE_PAD: 1.0,
    Convention.REL_XYWH_0_1: 1.0,
    Convention.REL_CXCYWH_0_1: 1.0,
    Convention.REL_XYXY_PERCENT: 100.0,
    Convention.LOC1024_YXYX: float(_LOC_BINS),
    Convention.LOC1000_XYXY_BIN_CENTRE: float(_FLORENCE_BINS),
}
Y_FIRST = frozenset({Convention.REL_YXYX_0_1000, Convention.LOC1024_YXYX})
SQUARE_PAD = frozenset({Convention.REL_XYXY_0_1_SQUARE_PAD, Convention.REL_XYXY_0_999_SQUARE_PAD})
XYWH = frozenset({Convention.ABS_XYWH_ORIGINAL, Convention.REL_XYWH_0_1})
CXCYWH = frozenset({Convention.ABS_CXCYWH_ORIGINAL, Convention.REL_CXCYWH_0_1})
BINNED = frozenset({Convention.LOC1024_YXYX, Convention.LOC1000_XYXY_BIN_CENTRE, Convention.KOSMOS_PATCH32})


def arity(convention: Convention) -> int:
    """How many numbers make one box: two patch indices for ``kosmos_patch32``, else four."""
    return 2 if convention is Convention.KOSMOS_PATCH32 else 4


def span(convention: Convention) -> float | None:
    """The number that stands for the far edge of the image, or ``None`` for pixels and patch indices."""
    return _SPAN.get(convention)


def extent(convention: Convention, native: Size) -> Corners:
    """The rectangle that the convention's grid covers, in native pixels: the image, or the padded square around it."""
    width, height = native
    if convention not in SQUARE_PAD:
        return (0.0, 0.0, float(width), float(height))
    side = max(width, height)
    left, top = (side - width) / 2, (side - height) / 2
    return (-left, -top, side - left, side - top)


def _units(convention: Convention, sent: Size | None, native: Size) -> tuple[float, float, float, float]:
    """Native pixels per number in x and y, and the native position of the number 0 in x and y."""
    x0, y0, x1, y1 = extent(convention, native)
    if convention is Convention.ABS_XYXY_RESIZED:
        shown = sent or native
        return (native[0] / shown[0], native[1] / shown[1], 0.0, 0.0)
    whole = _SPAN.get(convention)
    if whole is None:
        return (1.0, 1.0, 0.0, 0.0)
    shift = 0.5 if convention is Convention.LOC1000_XYXY_BIN_CENTRE else 0.0
    unit_x, unit_y = (x1 - x0) / whole, (y1 - y0) / whole
    return (unit_x, unit_y, x0 + shift * unit_x, y0 + shift * unit_y)


def decode(numbers: Sequence[float], convention: Convention, *, sent: Size | None, native: Size) -> Corners:
    """Native pixels of the numbers of one box.

    Nothing is clipped or sorted here; see :func:`settle`.

    Args:
        numbers: Four numbers in the convention's order; two patch indices for ``kosmos_patch32``.
        convention: The declared convention.
        sent: Width and height of the image as the model saw it; only ``abs_xyxy_resized`` uses it, and maps x and y
            back by separate factors (QwenLM/Qwen3-VL#676). ``None`` means that it was sent at its native size.
        native: Width and height of the frame.

    Returns:
        ``x0, y0, x1, y1`` in native pixels, origin top left, continuous.

    Raises:
        BadBox: There are not exactly as many numbers as the convention has, or one is not finite.
    """
    if len(numbers) != arity(convention):
        raise BadBox("not_four_numbers")
    if not all(map(math.isfinite, numbers)):
        raise BadBox("not_finite")
    if convention is Convention.KOSMOS_PATCH32:
        return _decode_kosmos(numbers, native)
    a, b, c, d = numbers
    if convention in Y_FIRST:
        a, b, c, d = b, a, d, c
    elif convention in XYWH:
        c, d = a + c, b + d
    elif convention in CXCYWH:
        a, b, c, d = a - c / 2, b - d / 2, a + c / 2, b + d / 2
    unit_x, unit_y, zero_x, zero_y = _units(convention, sent, native)
    corners = (a * unit_x + zero_x, b * unit_y + zero_y, c * unit_x + zero_x, d * unit_y + zero_y)
    if not all(map(math.isfinite, corners)):
        raise BadBox("not_finite")
    return corners


def _decode_kosmos(numbers: Sequence[float], native: Size) -> Corners:
    """Cell centres of two patches, or the outer cell edges when the corners share a row or a column."""
    cells = _KOSMOS_SIDE * _KOSMOS_SIDE
    if any(n != int(n) or not 0 <= n < cells for n in numbers):
        raise BadBox("no_patch_index")
    (row0, col0), (row1, col1) = (divmod(int(n), _KOSMOS_SIDE) for n in numbers)
    low, high = (0.0, 1.0) if row0 == row1 or col0 == col1 else (0.5, 0.5)
    width, height = native[0] / _KOSMOS_SIDE, native[1] / _KOSMOS_SIDE
    return ((col0 + low) * width, (row0 + low) * height, (col1 + high) * width, (row1 + high) * height)


def encode(corners: Corners, convention: Convention, *, sent: Size | None, native: Size) -> tuple[float, ...]:
    """The numbers that a model of the convention would write for a box; the inverse of :func:`decode`.

    Binned conventions give integers: ``loc1024_yxyx`` and ``loc1000_xyxy_bin_centre`` are exact to half a bin (one
    bin at the far edge), ``kosmos_patch32`` to one cell.
    """
    if convention is Convention.KOSMOS_PATCH32:
        return _encode_kosmos(corners, native)
    unit_x, unit_y, zero_x, zero_y = _units(convention, sent, native)
    x0, y0, x1, y1 = corners
    a, b, c, d = (x0 - zero_x) / unit_x, (y0 - zero_y) / unit_y, (x1 - zero_x) / unit_x, (y1 - zero_y) / unit_y
    if convention in BINNED:
        last = int(_SPAN[convention]) - 1
        a, b, c, d = (float(min(max(round(n), 0), last)) for n in (a, b, c, d))
    if convention in Y_FIRST:
        return (b, a, d, c)
    if convention in XYWH:
        return (a, b, c - a, d - b)
    if convention in CXCYWH:
        return ((a + c) / 2, (b + d) / 2, c - a, d - b)
    return (a, b, c, d)


def _encode_kosmos(corners: Corners, native: Size) -> tuple[float, ...]:
    x0, y0, x1, y1 = corners
    cell_x, cell_y = native[0] / _KOSMOS_SIDE, native[1] / _KOSMOS_SIDE

    def index(x: float, y: float) -> float:
        col, row = (min(max(math.floor(n), 0), _KOSMOS_SIDE - 1) for n in (x / cell_x, y / cell_y))
        return float(row * _KOSMOS_SIDE + col)

    return (index(x0, y0), index(math.nextafter(x1, x0), math.nextafter(y1, y0)))


def render(corners: Corners, convention: Convention, *, sent: Size | None, native: Size) -> str:
    """The text that a model of the convention would write for a box, without frame and label.

    The location and patch tokens for the binned conventions, ``<bbx>[a, b, c, d]</bbx>`` for the others with twelve
    decimals at most, so that reading it back is exact to 1e-6 px (to bin precision for the binned ones).
    """
    numbers = encode(corners, convention, sent=sent, native=native)
    if convention is Convention.LOC1024_YXYX:
        return "".join(f"<loc{int(n):04d}>" for n in numbers)
    if convention is Convention.LOC1000_XYXY_BIN_CENTRE:
        return "".join(f"<loc_{int(n)}>" for n in numbers)
    if convention is Convention.KOSMOS_PATCH32:
        return "<object>" + "".join(f"<patch_index_{int(n):04d}>" for n in numbers) + "</object>"
    return f"<bbx>[{', '.join(map(_number, numbers))}]</bbx>"


def _number(value: float) -> str:
    """A number without exponent and without needless zeros."""
    text = f"{value:.12f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


@dataclass(frozen=True, slots=True)
class Settled:
    """A box after the rules.

    Attributes:
        corners: Sorted corners inside the image, or ``None`` when the box was rejected.
        flags: ``inverted_repaired``, ``clipped`` and ``zero_area`` as they apply; the reason when rejected.
        reason: Why it was rejected (``outside_image``, ``no_overlap``), or ``None``.
    """

    corners: Corners | None
    flags: tuple[str, ...] = ()
    reason: str | None = None


def settle(corners: Corners, *, native: Size, covered: Corners | None = None) -> Settled:
    """Apply the rules for boxes that are inverted, leave the image or have no area.

    Inverted corners are sorted and flagged. A box that leaves ``covered`` by at most 5 % of its side is clipped and
    flagged, by more rejected; so is one that shares nothing with the image. A box without area is kept and flagged:
    it overlaps nothing, so it stays a false positive.

    Args:
        corners: Four finite numbers in native pixels.
        native: Width and height of the frame.
        covered: What the convention's grid covers (:func:`extent`); default the image. A box in the padding of a
            padded grid is legal there, and is clipped to the image after the padding is taken off.
    """
    ax, ay, bx, by = corners
    flags = ["inverted_repaired"] if ax > bx or ay > by else []
    (x0, x1), (y0, y1) = sorted((ax, bx)), sorted((ay, by))
    left, top, right, bottom = covered or (0.0, 0.0, float(native[0]), float(native[1]))
    slack_x, slack_y = (right - left) * (OVERSHOOT + _ROUNDING), (bottom - top) * (OVERSHOOT + _ROUNDING)
    if x0 < left - slack_x or y0 < top - slack_y or x1 > right + slack_x or y1 > bottom + slack_y:
        return Settled(None, (*flags, "outside_image"), "outside_image")
    tiny = max(native) * _ROUNDING
    beyond = (x1 > native[0] + tiny and x0 >= native[0]) or (y1 > native[1] + tiny and y0 >= native[1])
    before = (x0 < -tiny and x1 <= 0) or (y0 < -tiny and y1 <= 0)
    if beyond or before:
        return Settled(None, (*flags, "no_overlap"), "no_overlap")
    width, height = float(native[0]), float(native[1])
    inside = (
        min(max(x0, 0.0), width), min(max(y0, 0.0), height), min(max(x1, 0.0), width), min(max(y1, 0.0), height)
    )  # fmt: skip
    if max(abs(a - b) for a, b in zip(inside, (x0, y0, x1, y1), strict=True)) > tiny:
        flags.append("clipped")
    if inside[0] >= inside[2] or inside[1] >= inside[3]:
        flags.append("zero_area")
    return Settled(inside, tuple(flags))
