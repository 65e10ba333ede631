"""A baseline that really looks at the pixels, and answers every kind of question from what it sees."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

from slicewise.errors import ManyErrors
from slicewise.geometry import Box, iou
from slicewise.infer import blob
from slicewise.infer.baselines import gold, wording
from slicewise.infer.baselines.base import Rule
from slicewise.infer.items import Frame, Item
from slicewise.outcome import Outcome
from slicewise.params import BaselineModel

MAX_BOXES_PER_FRAME = 2
MAX_BOXES_PER_VOLUME = 12
MIN_STRENGTH = 25.0  # summed contrast under which a blob is noise
SAME_SPOT = 0.25  # IoU from which spots of neighbouring frames are one
KINDS = re.compile(r"\b(?:types?|kinds?)\b", re.IGNORECASE)
NORMAL_WORDS = ("normal", "no ", "none", "absent")


class BlobRule(Rule):
    """Finds conspicuous blobs frame by frame and writes what they imply."""

    def __init__(self, model: BaselineModel, items: Sequence[Item]) -> None:
        super().__init__(model, items)
        _refuse_missing(items)
        self._found = lru_cache(maxsize=4096)(_find)  # several questions are asked of each frame

    @property
    def looks(self) -> bool:
        """It reads every frame."""
        return True

    def needs(self, item: Item) -> Outcome | None:
        """``not_run`` for an item without frame files."""
        return Outcome.NOT_RUN if any(frame.path is None for frame in item.frames) or not item.frames else None

    def text(self, item: Item) -> str:
        """The answer that the blobs imply."""
        found = self._boxes(item)
        kind = gold.kind(item)
        if kind == "yes_no":
            return "Yes" if found else "No"
        if kind == "count":
            return str(_number(item, found))
        if kind in ("single_choice", "multiple_choice"):
            return wording.choice(item, [_option(item, bool(found))])
        if kind == "short_text":
            return "MRI"
        if item.task == "localization":
            words = "In the marked region" if found else "No findings to localize"
            return wording.located(words, wording.boxes(self.model, item, found))
        return _sentence(self.model, item, found)

    def _boxes(self, item: Item) -> list[Box]:
        """The strongest spots, in the order of the frames; on volumes only those that go on in a neighbouring frame."""
        spots = [
            (spot.strength, Box(position, float(spot.x0), float(spot.y0), float(spot.x1), float(spot.y1)))
            for position, frame in enumerate(item.frames)
            for spot in self._found(_path(frame))[:MAX_BOXES_PER_FRAME]
            if spot.strength >= MIN_STRENGTH
        ]
        if item.level == "volume":
            spots = [spot for spot in spots if any(_goes_on(spot[1], other) for _, other in spots)]
        kept = sorted(spots, key=lambda spot: (-spot[0], spot[1].key))[:MAX_BOXES_PER_VOLUME]
        return [box for _, box in sorted(kept, key=lambda spot: (spot[1].frame, -spot[0], spot[1].key))]


def _goes_on(box: Box, other: Box) -> bool:
    return abs((box.frame or 0) - (other.frame or 0)) == 1 and iou(box, other) >= SAME_SPOT


def _number(item: Item, found: Sequence[Box]) -> int:
    """What the question counts: kinds of finding, of which each spot that runs through frames is one, or boxes."""
    if not KINDS.search(item.question):
        return len(found)
    return sum(
        not any(_goes_on(box, other) and (other.frame or 0) < (box.frame or 0) for other in found) for box in found
    )


def _refuse_missing(items: Sequence[Item]) -> None:
    paths = sorted({frame.path for item in items for frame in item.frames if frame.path is not None})
    missing = [path for path in paths if not Path(path).is_file()]
    if missing:
        shown = missing[:10] + ([f"and {len(missing) - 10} more"] if len(missing) > 10 else [])
        raise ManyErrors(
            f"{len(missing)} of {len(paths)} frames are not on disk; expected them as PNG: make them", shown
        )


def _path(frame: Frame) -> str:
    if frame.path is None:
        raise ValueError("a frame without a file cannot be looked at")
    return frame.path


def _find(path: str) -> tuple[blob.Blob, ...]:
    return tuple(blob.find(blob.read_image(Path(path))))


def _option(item: Item, abnormal: bool) -> str:
    """The first option that fits: one that names normality when nothing was seen, else one that does not."""
    ordered = sorted(item.options) or ["A"]
    fitting = [x for x in ordered if _names_normal(item.options.get(x, "")) != abnormal]
    return (fitting or ordered)[0]


def _names_normal(text: str) -> bool:
    return f"{text.lower()} ".startswith(NORMAL_WORDS)


def _sentence(model: BaselineModel, item: Item, found: Sequence[Box]) -> str:
    if not found:
        return "No focal signal abnormality is seen."
    noun = "abnormality" if len(found) == 1 else "abnormalities"
    count = f"There {'is' if len(found) == 1 else 'are'} {len(found)} focal signal {noun}"
    if item.level == "image":
        return f"{count} in this image."
    frames = sorted({box.frame or 0 for box in found})
    return f"{count} in this volume, on {', '.join(wording.frame_name(model, f) for f in frames)}."
