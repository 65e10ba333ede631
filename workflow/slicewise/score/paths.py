"""The files that the scores of one model on one benchmark are made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slicewise import layout


@dataclass(frozen=True, slots=True)
class Paths:
    """One model on one benchmark under a root folder."""

    root: Path
    benchmark: str
    model: str
    declared: Mapping[str, str] = field(default_factory=dict)  # what a file of answers was read with; in signatures

    @property
    def samples(self) -> Path:
        """The benchmark's items."""
        return self.root / layout.samples(self.benchmark)

    @property
    def answers(self) -> Path:
        """What the model wrote."""
        return self.root / layout.answers(self.benchmark, self.model)

    @property
    def parsed(self) -> Path:
        """What was read from it."""
        return self.root / layout.parsed(self.benchmark, self.model)

    def score(self, metric: str) -> Path:
        """One metric's file."""
        return self.root / layout.score(self.benchmark, self.model, metric)

    def ids(self, row: Mapping[str, Any]) -> dict[str, str]:
        """The first columns of a score row: those that say whose score it is."""
        return {"sample_id": row["sample_id"], "benchmark": self.benchmark, "model": self.model}
