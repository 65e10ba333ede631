"""What every baseline is: a rule from items to texts."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Any

from slicewise import artifacts
from slicewise.infer.items import Answer, Item
from slicewise.outcome import Outcome
from slicewise.params import BaselineModel


class Rule(ABC):
    """A rule that answers each item on its own, after it has seen the whole benchmark.

    Args:
        model: The model as declared: seed, box convention, frame base.
        items: The whole benchmark, for rules that draw on other items; a rule may not depend on their order.
    """

    def __init__(self, model: BaselineModel, items: Sequence[Item]) -> None:
        self.model = model
        self.items = items

    @property
    def depends_on(self) -> Any:
        """What besides the model and the item can change a reply, as JSON; ``None`` when nothing can."""
        return None

    def needs(self, item: Item) -> Outcome | None:
        """Why the item cannot be answered (``not_run``, ``missing_frames``), or ``None`` when it can."""
        del item
        return None

    @property
    def looks(self) -> bool:
        """Whether the rule reads the frames; their native sizes are then recorded as sent."""
        return False

    @abstractmethod
    def text(self, item: Item) -> str:
        """The reply."""


class BaselineBackend:
    """Runs one rule."""

    def __init__(self, model: BaselineModel, rule: type[Rule]) -> None:
        self.model = model
        self.rule = rule

    def answer_all(self, items: Sequence[Item]) -> Iterator[Answer]:
        """One answer per item, in order."""
        rule = self.rule(self.model, items)
        # The name, the title and so on cannot change a reply; these can.
        declared = {
            "backend": "baseline",
            "baseline": self.model.baseline,
            "seed": self.model.seed,
            "bbox_convention": str(self.model.bbox_convention),
            "frame_base": self.model.frame_base,
            "benchmark": rule.depends_on,
        }
        for item in items:
            key = artifacts.sha256_json({**declared, "item": item.content})
            hindrance = rule.needs(item)
            if hindrance is not None:
                yield Answer(item.sample_id, None, key, hindrance)
            else:
                yield Answer(item.sample_id, rule.text(item), key, frames=item.frames if rule.looks else ())


def digest(items: Sequence[Item]) -> str:
    """Digest of a whole benchmark, for rules that draw on other items."""
    return artifacts.sha256_json(sorted(i.content for i in items))
