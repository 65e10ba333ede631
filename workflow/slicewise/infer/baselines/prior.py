"""Rules that answer with what is most frequent: of the whole benchmark, or of all other volumes."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from typing import Any

from slicewise.geometry import Box
from slicewise.infer.baselines import gold, wording
from slicewise.infer.baselines.base import Rule, digest
from slicewise.infer.items import Item
from slicewise.params import BaselineModel

Group = tuple[str, str, str, str]
NOTHING_KNOWN = "No findings."


class _Counts:
    """How often each gold text occurs per group, and per group and volume."""

    def __init__(self, items: Iterable[Item]) -> None:
        self.total: dict[Group, Counter[str]] = defaultdict(Counter)
        self.by_volume: dict[tuple[Group, str], Counter[str]] = defaultdict(Counter)
        self._elsewhere: dict[tuple[Group, str], str] = {}
        for item in items:
            text = _plain(item)
            self.total[item.group][text] += 1
            self.by_volume[item.group, item.volume_id][text] += 1

    def mode(self, group: Group) -> str:
        """The most frequent text of the group; among equals the alphabetically first."""
        return _mode(self.total[group])

    def mode_elsewhere(self, group: Group, volume_id: str) -> str:
        """The same without one volume."""
        if (group, volume_id) not in self._elsewhere:
            self._elsewhere[group, volume_id] = _mode(self.total[group] - self.by_volume[group, volume_id])
        return self._elsewhere[group, volume_id]


def _mode(counts: Counter[str]) -> str:
    return min(counts, key=lambda text: (-counts[text], text), default=NOTHING_KNOWN)


def _plain(item: Item) -> str:
    """The gold as one blind rule can repeat it: letters without the option text, words without boxes."""
    if gold.kind(item) in ("single_choice", "multiple_choice"):
        return ", ".join(f"({letter})" for letter in gold.letters(item)) or item.answer.strip()
    return wording.located(gold.words(item), "")


class MajorityRule(Rule):
    """The most frequent gold per level, anatomy, task and type. No boxes: there is no most frequent one."""

    def __init__(self, model: BaselineModel, items: Sequence[Item]) -> None:
        super().__init__(model, items)
        self._counts = _Counts(items)
        self._digest = digest(items)

    @property
    def depends_on(self) -> Any:
        """The benchmark, whose gold it counts."""
        return self._digest

    def text(self, item: Item) -> str:
        """The most frequent gold of the item's group."""
        return self._counts.mode(item.group)


class PriorBoxRule(Rule):
    """What is most frequent in all other volumes, and their mean box on their most frequent frame.

    The mean is taken per level and anatomy over gold boxes with area, edge by edge, and clipped to the frame. On
    volumes the box is written on the most frequent frame, by its number, or on the last one of a shorter volume. With
    no other volume there is no box.
    """

    def __init__(self, model: BaselineModel, items: Sequence[Item]) -> None:
        super().__init__(model, items)
        self._counts = _Counts(items)
        self._digest = digest(items)
        self._boxes: dict[tuple[str, str], dict[str, _BoxSum]] = defaultdict(lambda: defaultdict(_BoxSum))
        for item in items:
            if item.task == "localization":
                self._boxes[item.level, item.domain][item.volume_id].add(item.boxes)
        self._whole = {place: _sum(volumes.values()) for place, volumes in self._boxes.items()}

    @property
    def depends_on(self) -> Any:
        """The benchmark, whose boxes it averages."""
        return self._digest

    def text(self, item: Item) -> str:
        """The most frequent words of the other volumes, for localization with their mean box."""
        words = self._counts.mode_elsewhere(item.group, item.volume_id)
        if item.task != "localization":
            return words
        place = (item.level, item.domain)
        box = self._whole[place].without(self._boxes[place][item.volume_id]).mean(item)
        return wording.located(words, wording.boxes(self.model, item, [box] if box else []))


class _BoxSum:
    """Running sums over boxes: their number, their corners and the frames that they lie on."""

    def __init__(self) -> None:
        self.count = 0
        self.corners = [0.0, 0.0, 0.0, 0.0]
        self.frames: Counter[int] = Counter()

    def add(self, boxes: Iterable[Box]) -> None:
        for box in boxes:
            if box.area > 0:
                self.count += 1
                self.corners = [a + b for a, b in zip(self.corners, (box.x0, box.y0, box.x1, box.y1), strict=True)]
                self.frames[box.frame or 0] += 1

    def without(self, part: _BoxSum) -> _BoxSum:
        rest = _BoxSum()
        rest.count = self.count - part.count
        rest.corners = [a - b for a, b in zip(self.corners, part.corners, strict=True)]
        rest.frames = self.frames - part.frames
        return rest

    def mean(self, item: Item) -> Box | None:
        """The mean box, to a hundredth of a pixel (sums in another order differ in the last bit)."""
        if not self.count:
            return None
        commonest = min(self.frames, key=lambda frame: (-self.frames[frame], frame))
        position = min(commonest, len(item.frames) - 1)
        frame = item.frames[position]
        x0, y0, x1, y1 = (round(total / self.count, 2) for total in self.corners)
        return Box(position, max(x0, 0.0), max(y0, 0.0), min(x1, float(frame.width)), min(y1, float(frame.height)))


def _sum(parts: Iterable[_BoxSum]) -> _BoxSum:
    whole = _BoxSum()
    for part in parts:
        whole.count += part.count
        whole.corners = [a + b for a, b in zip(whole.corners, part.corners, strict=True)]
        whole.frames += part.frames
    return whole
