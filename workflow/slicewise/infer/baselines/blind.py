"""Rules that see neither pixels nor gold of their own item."""

from __future__ import annotations

import hashlib
import random
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from slicewise.geometry import Box
from slicewise.infer.baselines import gold, wording
from slicewise.infer.baselines.base import Rule, digest
from slicewise.infer.items import Item
from slicewise.params import BaselineModel

FIXED_SENTENCE = "There is an abnormality."


class BlankRule(Rule):
    """Writes nothing: the floor of every score, and every item ``empty``."""

    def text(self, item: Item) -> str:
        """An empty text."""
        del item
        return ""


class AlwaysYesRule(Rule):
    """``Yes`` to yes-or-no questions; one fixed sentence to everything else, so that it claims nothing there."""

    def text(self, item: Item) -> str:
        """``Yes``, or the fixed sentence."""
        return "Yes" if gold.kind(item) == "yes_no" else FIXED_SENTENCE


class RandomRule(Rule):
    """Chance: every draw is seeded by the seed and the item's id, so neither order nor other draws matter.

    Yes or no and the item's own letters are uniform; a multiple choice is a uniform non-empty set; a count and a text
    are those of a uniformly chosen item of the same level, anatomy, task and type; a box has two uniform corners on a
    uniform frame.
    """

    def __init__(self, model: BaselineModel, items: Sequence[Item]) -> None:
        super().__init__(model, items)
        self._pool: dict[tuple[str, str, str, str], list[Item]] = defaultdict(list)
        for item in sorted(items, key=lambda i: i.sample_id):
            self._pool[item.group].append(item)
        self._digest = digest(items)

    @property
    def depends_on(self) -> Any:
        """The benchmark, whose counts and texts are drawn from."""
        return self._digest

    def text(self, item: Item) -> str:
        """A random answer of the item's kind."""
        seed = hashlib.sha256(f"{self.model.seed}:{item.sample_id}".encode()).digest()
        draw = random.Random(int.from_bytes(seed[:8], "big"))  # noqa: S311 - a baseline, not a secret
        kind = gold.kind(item)
        if kind == "yes_no":
            return draw.choice(("Yes", "No"))
        if kind == "single_choice" and item.options:
            return wording.choice(item, [draw.choice(sorted(item.options))])
        if kind == "multiple_choice" and item.options:
            return wording.choice(item, _subset(draw, sorted(item.options)))
        other = draw.choice(self._pool[item.group])
        if item.task != "localization":
            return other.answer
        return wording.located(gold.words(other), wording.boxes(self.model, item, [_box(draw, item)]))


def _subset(draw: random.Random, letters: list[str]) -> list[str]:
    """A uniform non-empty subset, sorted."""
    number = draw.randrange(1, 2 ** len(letters))
    return [letter for place, letter in enumerate(letters) if number >> place & 1]


def _box(draw: random.Random, item: Item) -> Box:
    position = draw.randrange(len(item.frames))
    frame = item.frames[position]
    xs = sorted(draw.sample(range(frame.width + 1), 2))
    ys = sorted(draw.sample(range(frame.height + 1), 2))
    return Box(position, float(xs[0]), float(ys[0]), float(xs[1]), float(ys[1]))
