"""What the readers of boxes share: number tokens, groups of numbers, names of fields, the candidate they produce."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from slicewise.geometry import CXCYWH, XYWH, Y_FIRST, Convention
from slicewise.parse.frames import Named

NUMBER = r"[-+]?(?:\d{1,20}(?:\.\d{0,20})?|\.\d{1,20})(?:[eE][-+]?\d{1,3})?(?!(?!px\b)\w)"
UNIT = r"(?:\s?(?:%|px\b|pixels?\b))?"
SEPARATOR = r"(?:\s{0,5}[,;]\s{0,5}|\s{1,5})"
_NUMBERS = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,3})?", re.ASCII)
_ITEM = re.compile(rf"\s*({NUMBER}){UNIT}\s*\Z")
_BAD_NUMBER = re.compile(r"\b(?:nan|inf(?:inity)?)\b", re.IGNORECASE)
_INNER = re.compile(r"[\[({]([^\[\](){}]*)[\])}]")


class Form(StrEnum):
    """What a text itself says about the order of four numbers; it outranks the declared order, never the unit."""

    DECLARED = "declared"
    POINTS = "points"  # two opposite corners, each in the declared axis order
    CORNERS = "corners"  # x0, y0, x1, y1 by name
    ANCHOR_SIZE = "anchor_size"  # x, y, width, height by name; the declaration says what the anchor is
    CORNER_SIZE = "corner_size"  # left, top, width, height by name
    CENTRE_SIZE = "centre_size"  # centre x, centre y, width, height by name


@dataclass(slots=True)
class Candidate:
    """Something that looks like a box.

    Attributes:
        start: Where it begins in the text.
        end: Where it ends.
        numbers: The numbers as written, or ``None`` when they are no box (wrong count, not finite, cut off).
        form: What the text says about their order.
        frames: Frames named by the object itself, or ``None`` when the surrounding text decides.
        label: What the box shows, as written.
        rung: The syntax: ``tag``, ``json``, ``table`` or ``prose``.
    """

    start: int
    end: int
    numbers: tuple[float, ...] | None
    form: Form = Form.DECLARED
    frames: Named | None = None
    label: str | None = None
    rung: str = "prose"


@dataclass(slots=True)
class Scan:
    """What one reader found.

    Attributes:
        candidates: In the order of the text.
        claimed: Spans of the text that other readers must leave alone.
        flags: ``explicit_empty``, ``point_only``, ``template_echo``, ``truncated`` and repairs.
    """

    candidates: list[Candidate] = field(default_factory=list)
    claimed: list[tuple[int, int]] = field(default_factory=list)
    flags: dict[str, None] = field(default_factory=dict)

    def flag(self, name: str) -> None:
        """Note something once."""
        self.flags[name] = None


def add(out: Scan, start: int, end: int, numbers: tuple[float, ...] | None, form: Form) -> Candidate:
    """Note a candidate and claim its span."""
    made = Candidate(start, end, numbers, form)
    out.candidates.append(made)
    out.claimed.append((start, end))
    return made


def in_declared_order(numbers: Sequence[float], form: Form, convention: Convention) -> tuple[float, ...]:
    """The numbers as a model that follows its declaration would have written them, in the same unit."""
    if form is Form.DECLARED or len(numbers) != 4:
        return tuple(numbers)
    a, b, c, d = numbers
    y_first = convention in Y_FIRST
    if form is Form.ANCHOR_SIZE:
        form = Form.CENTRE_SIZE if convention in CXCYWH else Form.CORNER_SIZE
        if convention in XYWH or convention in CXCYWH:
            return (a, b, c, d)
    if form is Form.POINTS and y_first:
        a, b, c, d = b, a, d, c
    elif form is Form.CORNER_SIZE:
        c, d = a + c, b + d
    elif form is Form.CENTRE_SIZE:
        a, b, c, d = a - c / 2, b - d / 2, a + c / 2, b + d / 2
    if convention in XYWH:
        return (a, b, c - a, d - b)
    if convention in CXCYWH:
        return ((a + c) / 2, (b + d) / 2, c - a, d - b)
    return (b, a, d, c) if y_first else (a, b, c, d)


def number(value: Any) -> float | None:
    """A finite number from a JSON scalar, also from ``"112"``, ``"30px"`` and ``"12.5%"``; else ``None``."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        try:
            value = float(value)
        except OverflowError:
            return None
        return value if math.isfinite(value) else None
    if isinstance(value, str) and len(value) < 40:
        match = _ITEM.match(value)
        return float(match[1]) if match else None
    return None


def numbers_in(text: str) -> tuple[float, ...]:
    """All number tokens of a text that holds nothing but numbers and punctuation."""
    return tuple(float(token) for token in _NUMBERS.findall(text))


def groups(content: str) -> list[tuple[tuple[float, ...] | None, Form]]:
    """The boxes in the content of a box tag or of a bracket: number groups with their form, ``None`` where malformed.

    Innermost brackets of four are boxes, two pairs in a row are opposite corners, semicolons separate boxes. A group
    of any other size is malformed: its first four numbers are not a box (deepseek-ai/DeepSeek-VL2#123).
    """
    if _BAD_NUMBER.search(content):
        return [(None, Form.DECLARED)]
    inner = [match[1] for match in _INNER.finditer(content)]
    if not inner:
        return _flat(content)
    outside = numbers_in(_INNER.sub(" ", content))
    found: list[tuple[tuple[float, ...] | None, Form]] = []
    pairs: list[tuple[float, ...]] = []
    for piece in inner:
        values = numbers_in(piece)
        if len(values) == 2:
            pairs.append(values)
            continue
        found += _flat(piece)
    found += from_pairs(pairs)
    if outside:
        found.append((None, Form.DECLARED))
    return found


def _flat(piece: str) -> list[tuple[tuple[float, ...] | None, Form]]:
    if ";" in piece:
        parts = [numbers_in(part) for part in piece.split(";") if part.strip()]
        if len(parts) > 1 and all(len(part) == 4 for part in parts):
            return [(part, Form.DECLARED) for part in parts]
    values = numbers_in(piece)
    if not values:
        return []
    return [(values if len(values) == 4 else None, Form.DECLARED)]


def from_pairs(pairs: Sequence[Sequence[float]]) -> list[tuple[tuple[float, ...] | None, Form]]:
    """Boxes from points in a row: two opposite corners each, or the four corners of one upright rectangle."""
    if len(pairs) == 4:
        xs, ys = {p[0] for p in pairs}, {p[1] for p in pairs}
        if len(xs) == 2 and len(ys) == 2 and len({tuple(p[:2]) for p in pairs}) == 4:
            return [((min(xs), min(ys), max(xs), max(ys)), Form.POINTS)]
    whole = len(pairs) - len(pairs) % 2
    found: list[tuple[tuple[float, ...] | None, Form]] = [
        ((*pairs[i], *pairs[i + 1]), Form.POINTS) for i in range(0, whole, 2)
    ]
    if len(pairs) % 2:
        found.append((None, Form.POINTS))
    return found


# --- fields by name --------------------------------------------------------------------------------------------------

_ROLES: dict[str, str] = {}
for _role, _names in {
    "x0": "x0 xmin minx left xleft leftx xstart startx xtl tlx xtopleft topleftx x0min l",
    "y0": "y0 ymin miny top ytop topy ystart starty ytl tly ytopleft toplefty upper t",
    "x1": "xmax maxx right xright rightx xend endx xbr brx xbottomright bottomrightx r",
    "y1": "ymax maxy bottom ybottom bottomy yend endy ybr bry ybottomright bottomrighty lower b",
    "first_x": "x1",
    "first_y": "y1",
    "second_x": "x2",
    "second_y": "y2",
    "x": "x",
    "y": "y",
    "w": "w width bw boxwidth dx",
    "h": "h height bh boxheight dy",
    "cx": "cx xc xcenter xcentre centerx centrex xmid midx",
    "cy": "cy yc ycenter ycentre centery centrey ymid midy",
    "low": "topleft upperleft tl lefttop leftupper ul p1 corner1 topleftcorner upperleftcorner",
    "high": "bottomright lowerright br rightbottom rightlower lr p2 corner2 bottomrightcorner lowerrightcorner",
    "low_right": "topright upperright tr toprightcorner",
    "high_left": "bottomleft lowerleft bl ll bottomleftcorner",
    "centre": "center centre centerpoint centroid",
    "size": "size dimensions dims wh extent",
}.items():
    _ROLES.update(dict.fromkeys(_names.split(), _role))
ROLES: Mapping[str, str] = _ROLES


def plain(name: str) -> str:
    """A field name without case and punctuation: ``x_min`` and ``XMin`` are one."""
    return re.sub(r"[^a-z0-9]", "", name.lower())


def from_fields(fields: Mapping[str, Any]) -> tuple[tuple[float, ...], Form] | None:
    """Four numbers from named fields: ``x1 y1 x2 y2``, ``left top width height``, ``top_left bottom_right``."""
    roles: dict[str, Any] = {}
    for name, value in fields.items():
        role = _ROLES.get(plain(name))
        if role is not None and role not in roles:
            roles[role] = value
    if len(roles) < 2:
        return None
    flat = {role: number(value) for role, value in roles.items()}
    if flat.get("x0") is not None and "first_x" in flat and "x1" not in flat:  # x0 y0 x1 y1
        flat["x1"], flat["y1"] = flat["first_x"], flat.get("first_y")
    for names, form in _LAYOUTS:
        values = [flat.get(name) for name in names]
        if all(value is not None for value in values):
            return tuple(value for value in values if value is not None), form
    return _from_points(roles)


_LAYOUTS: tuple[tuple[tuple[str, str, str, str], Form], ...] = (
    (("first_x", "first_y", "second_x", "second_y"), Form.CORNERS),
    (("x0", "y0", "x1", "y1"), Form.CORNERS),
    (("cx", "cy", "w", "h"), Form.CENTRE_SIZE),
    (("x", "y", "w", "h"), Form.ANCHOR_SIZE),
    (("x0", "y0", "w", "h"), Form.CORNER_SIZE),
    (("first_x", "first_y", "w", "h"), Form.CORNER_SIZE),
)


def point(value: Any) -> tuple[float, float] | None:
    """A point from ``[x, y]``, ``{"x": .., "y": ..}`` or ``"10, 20"``."""
    if isinstance(value, Mapping):
        x, y = number(value.get("x")), number(value.get("y"))
        return (x, y) if x is not None and y is not None else None
    if isinstance(value, str) and len(value) < 80 and not re.search(r"[A-Za-z]{3}", value):
        value = list(numbers_in(value))
    if isinstance(value, (list, tuple)) and len(value) == 2:
        x, y = number(value[0]), number(value[1])
        return (x, y) if x is not None and y is not None else None
    return None


def _from_points(roles: Mapping[str, Any]) -> tuple[tuple[float, ...], Form] | None:
    points = {
        role: point(roles[role])
        for role in ("low", "high", "low_right", "high_left", "centre", "size")
        if role in roles
    }
    low, high = points.get("low"), points.get("high")
    if low and high:
        return (*low, *high), Form.POINTS
    right, left = points.get("low_right"), points.get("high_left")
    if right and left:
        return (left[0], right[1], right[0], left[1]), Form.POINTS
    size = points.get("size")
    w, h = number(roles.get("w")), number(roles.get("h"))
    if size is None and w is not None and h is not None:
        size = (w, h)
    if size is None:
        return None
    if points.get("centre"):
        return (*points["centre"], *size), Form.CENTRE_SIZE  # type: ignore[misc]
    return ((*low, *size), Form.CORNER_SIZE) if low else None


def merged(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans sorted, overlaps united."""
    out: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if out and start <= out[-1][1]:
            out[-1] = (out[-1][0], max(end, out[-1][1]))
        else:
            out.append((start, end))
    return out


def blanked(text: str, spans: Sequence[tuple[int, int]], fill: str = "\0") -> str:
    """The text with the spans filled, so that positions stay."""
    if not spans:
        return text
    parts, at = [], 0
    for start, end in merged(spans):
        parts += [text[at:start], fill * (end - start)]
        at = end
    return "".join([*parts, text[at:]])
