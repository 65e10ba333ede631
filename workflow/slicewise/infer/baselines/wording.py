"""How baselines word an answer: letters with their option text, boxes in a declared convention, frames by number."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slicewise.geometry import Box, render
from slicewise.infer.items import Frame, Item
from slicewise.params import BaselineModel


def choice(item: Item, letters: Sequence[str]) -> str:
    """``(B) Edema`` for one letter, ``(A), (C)`` for several."""
    if len(letters) == 1:
        return f"({letters[0]}) {item.options.get(letters[0], '')}".strip()
    return ", ".join(f"({letter})" for letter in letters)


def frame_name(model: BaselineModel, position: int) -> str:
    """``Frame 7``: what the model's text calls the frame at a 0-based position."""
    return f"Frame {position + model.frame_base}"


def boxes(model: BaselineModel, item: Item, found: Iterable[Box]) -> str:
    """Boxes as the model writes them, separated by commas; on volumes each behind the name of its frame.

    Args:
        model: Declares the box convention and the number of the first frame.
        item: Gives the native sizes of the frames.
        found: Boxes in native pixels; ``frame`` is the 0-based position among the item's frames.
    """
    return ", ".join(_box(model, item, box) for box in found)


def _box(model: BaselineModel, item: Item, box: Box) -> str:
    position = box.frame or 0
    shown: Frame = item.frames[position]
    native = (shown.width, shown.height)
    written = render((box.x0, box.y0, box.x1, box.y1), model.bbox_convention, sent=native, native=native)
    return f"{frame_name(model, position)}: {written}" if item.level == "volume" else written


def located(text: str, written_boxes: str) -> str:
    """A localization answer: the words, then the boxes."""
    words = text.strip().rstrip(",;:").rstrip()
    return f"{words}, {written_boxes}" if words and written_boxes else words or written_boxes
