"""Box reading of the released scorer, with its unit guesses, and its stripping of locations from text.

The spellings are tried in a fixed order and the first that yields a box wins for the whole text:
``<bbx>[…]</bbx>`` (also ``<bbox>``), ``<|box_start|>(x1,y1),(x2,y2)<|box_end|>``, ``"bbox_2d": […]``,
``bbox(x1,y1,x2,y2)``, ``(x1,y1),(x2,y2)``, ``{"x", "y", "width", "height"}``, and any list of four numbers.

Boxes are ``[x, y, width, height]`` in whatever unit the guess gives. Frames are as written and 1-based in
practice; "Frame 7:" or "frame 7," directly before a box names it, and later boxes of the same spelling
without a frame inherit the previous one.

Source: recorded behaviour of the released evaluator (see ``docs/reference-protocol.md``).
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import TypedDict


class RefBox(TypedDict):
    """A box as the released parser gives it: the frame as written or None, and ``[x, y, width, height]``."""

    frame: int | None
    xywh: list[float]


_FRAME = r"(?:[Ff]rame\s+(\d+)(?:\s*[:,])?\s*)?"
_NUMBER = r"(\d+(?:\.\d+)?)"
_FOUR_NUMBERS = r"\[\s*" + r"\s*,\s*".join([_NUMBER] * 4) + r"\s*\]"
_PAIRS = r"\((\d+),\s*(\d+)\),\s*\((\d+),\s*(\d+)\)"

_TAG_OPEN = re.compile(_FRAME + r"<bbo?x>\s*\[")
_TAG_CLOSE = re.compile(r"\]\s*</bbo?x>")
_SPECIAL = re.compile(_FRAME + r"<\|box_start\|>\s*" + _PAIRS + r"\s*<\|box_end\|>")
_CALL = re.compile(_FRAME + r"bbox\(\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*,\s*(\d+)\s*\)")
_PAIRED = re.compile(_FRAME + _PAIRS)
_LIST = re.compile(_FRAME + _FOUR_NUMBERS)
_FRAME_BEFORE = re.compile(r"[Ff]rame\s+(\d+)(?:\s*[:,])?\s*\Z")
_BBOX_2D = re.compile(r'"bbox_2d"\s*:\s*' + _FOUR_NUMBERS)
_OBJECT = re.compile(r"\{[^{}]*\}")

Size = tuple[float, float] | None
Reader = Callable[[str, Size], list[RefBox]]


def boxes(text: str, image_width: float | None = None, image_height: float | None = None) -> list[RefBox]:
    """Read the boxes of a text the way the released scorer does.

    Args:
        text: Model output or gold answer; reasoning blocks are not removed here.
        image_width: Image width in pixels, or None to leave coordinates as they are.
        image_height: Image height in pixels, or None.

    Returns:
        Boxes in the order of the text, all of one spelling.

    Raises:
        TypeError: When ``text`` is not a string.
    """
    if not isinstance(text, str):
        raise TypeError(f"expected string or bytes-like object, got {type(text).__name__!r}")
    size = (image_width, image_height) if image_width and image_height else None
    for read in _READERS:
        found = read(text, size)
        if found:
            return found
    return []


def _tagged(text: str, size: Size) -> list[RefBox]:
    """``<bbx>[x, y, w, h]</bbx>``: taken as pixels, anything ``float`` accepts is a coordinate, NaN included."""
    found: list[RefBox] = []
    frame: int | None = None
    position = 0
    close = -1
    while opened := _TAG_OPEN.search(text, position):
        # The first bracket after the opener closes it; the pointer only moves forward, which keeps this linear.
        if close < opened.end():
            close = text.find("]", opened.end())
            if close < 0:
                break
        ended = _TAG_CLOSE.match(text, close)
        if ended is None:
            position = opened.end()
            continue
        position = ended.end()
        frame = frame if opened.group(1) is None else int(opened.group(1))
        values = _floats(text[opened.end() : close])
        if values is not None:
            found.append({"frame": frame, "xywh": values})
    return found


def _special_tokens(text: str, size: Size) -> list[RefBox]:
    """``<|box_start|>`` pairs: always read as 0-1000 when the image size is known, integers only."""
    return [_corners(frame, *_per_mille(values, size)) for frame, values in _found(_SPECIAL, text)]


def _bbox_2d(text: str, size: Size) -> list[RefBox]:
    """``"bbox_2d"`` inside braces: corners, scaled from 0-1000 when any of the four exceeds the image.

    The last ``"bbox_2d"`` before the closing brace wins, a ``"frame"`` field is not looked at, and a frame in
    front of the brace is.
    """
    if '"bbox_2d"' not in text:
        return []
    found: list[RefBox] = []
    frame: int | None = None
    for piece in text.split("}")[:-1]:
        brace = piece.find("{")
        lists = list(_BBOX_2D.finditer(piece, brace + 1)) if brace >= 0 else []
        if not lists:
            continue
        named = _FRAME_BEFORE.search(piece, 0, brace)
        frame = int(named.group(1)) if named else frame
        x1, y1, x2, y2 = (float(value) for value in lists[-1].groups())
        if size and (max(x1, x2) > size[0] or max(y1, y2) > size[1]):
            x1, y1, x2, y2 = _per_mille((x1, y1, x2, y2), size)
        found.append(_corners(frame, x1, y1, x2, y2))
    return found


def _call(text: str, size: Size) -> list[RefBox]:
    """``bbox(x1,y1,x2,y2)``: corners, integers only, never scaled."""
    return [_corners(frame, *values) for frame, values in _found(_CALL, text)]


def _paired(text: str, size: Size) -> list[RefBox]:
    """``(x1,y1),(x2,y2)``: corners, integers only, never scaled."""
    return [_corners(frame, *values) for frame, values in _found(_PAIRED, text)]


def _objects(text: str, size: Size) -> list[RefBox]:
    """JSON objects with x, y, width and height: pixels; the frame comes from a "frame" field only."""
    found: list[RefBox] = []
    for candidate in _OBJECT.findall(text):
        if '"x"' not in candidate:
            continue
        try:
            fields = json.loads(candidate)
            frame = fields.get("frame")
            xywh = [float(fields[key]) for key in ("x", "y", "width", "height")]
            found.append({"frame": None if frame is None else int(frame), "xywh": xywh})
        except (ValueError, KeyError, TypeError, OverflowError, RecursionError):
            continue  # a field of another shape loses the whole box
    return found


def _lists(text: str, size: Size) -> list[RefBox]:
    """Any ``[a, b, c, d]`` without signs: corners when c > a and d > b, else width and height.

    The unit is guessed after that: if any of x, y, width, height exceeds its side, all four are taken as 0-1000.
    """
    found: list[RefBox] = []
    for frame, (x, y, w, h) in _found(_LIST, text):
        if w > x and h > y:
            w, h = w - x, h - y
        if size and (max(x, w) > size[0] or max(y, h) > size[1]):
            x, y, w, h = _per_mille((x, y, w, h), size)
        found.append({"frame": frame, "xywh": [x, y, w, h]})
    return found


_READERS: tuple[Reader, ...] = (_tagged, _special_tokens, _bbox_2d, _call, _paired, _objects, _lists)


def _found(pattern: re.Pattern[str], text: str) -> Iterator[tuple[int | None, tuple[float, float, float, float]]]:
    """Matches as (frame, four numbers); a box without a frame inherits the previous one."""
    frame: int | None = None
    for match in pattern.finditer(text):
        named, *numbers = match.groups()
        frame = frame if named is None else int(named)
        a, b, c, d = (float(number) for number in numbers)
        yield frame, (a, b, c, d)


def _floats(text: str) -> list[float] | None:
    try:
        values = [float(part) for part in text.split(",")]
    except ValueError:
        return None
    return values if len(values) == 4 else None


def _per_mille(values: tuple[float, float, float, float], size: Size) -> tuple[float, float, float, float]:
    """Thousandths of the image to pixels; divided first, multiplied second, as the recorded bits demand."""
    if size is None:
        return values
    a, b, c, d = values
    width, height = size
    return a / 1000 * width, b / 1000 * height, c / 1000 * width, d / 1000 * height


def _corners(frame: int | None, x1: float, y1: float, x2: float, y2: float) -> RefBox:
    return {"frame": frame, "xywh": [x1, y1, x2 - x1, y2 - y1]}
