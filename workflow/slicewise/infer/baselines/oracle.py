"""The gold, written as a model would write it. Its 1.0 proves the whole way back from text to score."""

from __future__ import annotations

from slicewise.infer.baselines import gold, wording
from slicewise.infer.baselines.base import Rule
from slicewise.infer.items import Item


class OracleRule(Rule):
    """Writes the gold answer; localization as the gold's words and the gold boxes in the declared convention.

    Gold boxes without area are left out: they are excluded from V, and a model that writes one invents a finding.
    """

    def text(self, item: Item) -> str:
        """The gold as text."""
        if item.task == "localization":
            boxes = wording.boxes(self.model, item, (box for box in item.boxes if box.area > 0))
            return wording.located(gold.words(item), boxes)
        if gold.kind(item) in ("single_choice", "multiple_choice"):
            return wording.choice(item, gold.letters(item)) or item.answer
        return item.answer
