"""How far a judge can be trusted: does it repeat itself, do judges agree, do length and order sway it.

Every question is asked through the response store, on a fixed seeded subset of the items: a second run buys nothing
and gives the same table.
"""

from __future__ import annotations

import dataclasses
import hashlib
from collections.abc import Iterator, Sequence
from itertools import permutations
from pathlib import Path
from statistics import fmean, pstdev
from typing import NamedTuple

from slicewise.errors import UserError
from slicewise.jobs import ScoreJob
from slicewise.judges import LlmJudge
from slicewise.outcome import Outcome
from slicewise.score.judge import DIMENSIONS, JudgeItem, Verdict
from slicewise.score.judge_llm import Asking, CardJudge, declared, members_of
from slicewise.score.paths import Paths
from slicewise.score.texts import card_texts

DECIMALS = 6
Ratings = list[float | None]  # one judge's value of each item; None where it gave none


class Measure(NamedTuple):
    """One number of the table.

    Attributes:
        judge: The judge, or the panel for what is between judges.
        name: What is measured.
        value: The number; ``None`` where it is not defined, such as a correlation with a constant.
        n: Items that it rests on.
        meaning: How to read it.
    """

    judge: str
    name: str
    value: float | None
    n: int
    meaning: str


def measure(
    job: ScoreJob, models: Sequence[str], root: Path, store: Path, *, items: int, repeats: int, seed: int
) -> list[Measure]:
    """Measure every language model behind the job's judge.

    Args:
        job: The settings of metric ``judge``.
        models: Models whose answers are rated.
        root: Folder that holds ``results/``.
        store: Folder of the response store.
        items: Size of the subset.
        repeats: Further judgements of each item.
        seed: Chooses the subset.

    Raises:
        UserError: The judge is no language model under the card's rubric, or there is nothing to rate.
    """
    if job.judge is None or job.judge.kind == "proxy":
        raise UserError("judge-quality: the suite's judge is no language model; expected one of kind 'llm' or 'panel'.")
    chosen = subset(_candidates(job, models, root), items, seed)
    if not chosen:
        raise UserError(f"judge-quality: no answer of {list(models)} can be rated on '{job.benchmark}'.")
    judge = declared(job, store)
    found: list[Measure] = []
    first: dict[str, Ratings] = {}
    for name, member, settings in members_of(judge):
        if not isinstance(member, CardJudge):
            raise UserError(f"judge-quality: '{name}' has the released rubric; expected the card's.")
        made = _Member(name, settings, member.asking, chosen)
        first[name] = made.base
        found += made.measures(repeats)
    if len(first) > 1:
        columns = list(first.values())
        n = sum(all(value is not None for value in unit) for unit in zip(*columns, strict=True))
        found.append(Measure(judge.name, "agreement_alpha", alpha(columns), n, "Krippendorff's alpha between judges"))
    return found


def subset(items: Sequence[JudgeItem], size: int, seed: int) -> list[JudgeItem]:
    """A fixed choice by content: it does not depend on the order of the items, and adding some moves few."""

    def place(item: JudgeItem) -> str:
        return hashlib.sha256(f"{seed}|{item.sample_id}|{item.candidate}".encode("utf-8", "surrogatepass")).hexdigest()

    return sorted({(i.question, i.reference, i.candidate): i for i in items}.values(), key=place)[:size]


def alpha(raters: Sequence[Ratings]) -> float | None:
    """Krippendorff's alpha for interval data; missing ratings are allowed, ``None`` when nothing varies.

    Source: K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011).
    """
    units = [[value for value in unit if value is not None] for unit in zip(*raters, strict=True)]
    units = [unit for unit in units if len(unit) > 1]
    values = [value for unit in units for value in unit]
    n = len(values)
    expected = n * sum(v * v for v in values) - sum(values) ** 2  # half the sum over all ordered pairs
    if n < 2 or expected <= 1e-12:
        return None
    observed: float = sum(sum((a - b) ** 2 for a, b in permutations(unit, 2)) / (len(unit) - 1) for unit in units)
    return float(1.0 - (n - 1) * observed / (2.0 * expected))


def spearman(xs: Sequence[float], ys: Sequence[float]) -> float | None:
    """Spearman's rank correlation; ``None`` when either side is constant or there are fewer than three pairs."""
    from scipy import stats

    if len(xs) < 3 or len(set(xs)) < 2 or len(set(ys)) < 2:
        return None
    ranks = [stats.rankdata(values) for values in (xs, ys)]
    return float(stats.pearsonr(*ranks).statistic)


class _Member:
    """One judge and its first judgement of the subset."""

    def __init__(self, name: str, settings: LlmJudge, asking: Asking, items: Sequence[JudgeItem]) -> None:
        self.name, self.settings, self.asking, self.items = name, settings, asking, items
        self.first = CardJudge(name, settings, asking).rate(items)
        self.base = [verdict.value for verdict in self.first]

    def measures(self, repeats: int) -> Iterator[Measure]:
        """The rows of this judge."""
        again = [
            CardJudge(self.name, self.settings, self.asking, judgement=number).rate(self.items)
            for number in range(1, repeats + 1)
        ]
        yield self._row("verdicts", fmean(v is not None for v in self.base), len(self.base), "share with a verdict")
        yield from self._repeatability([self.first, *again])
        swapped = CardJudge(self.name, self.settings, self.asking, order="candidate_first").rate(self.items)
        yield self._shift("order_shift", swapped, "mean change when the answer is shown before the reference")
        doubled = [dataclasses.replace(i, candidate=f"{i.candidate}\n{i.candidate}") for i in self.items]
        longer = CardJudge(self.name, self.settings, self.asking).rate(doubled)
        yield self._shift("length_shift", longer, "mean change when the answer is written twice")
        rated = [(len(i.candidate.split()), v) for i, v in zip(self.items, self.base, strict=True) if v is not None]
        rho = spearman([float(words) for words, _ in rated], [value for _, value in rated])
        yield self._row("length_rho", rho, len(rated), "Spearman's correlation of value and words of the answer")

    def _repeatability(self, judgements: Sequence[Sequence[Verdict]]) -> Iterator[Measure]:
        units = [unit for unit in zip(*judgements, strict=True) if all(v.value is not None for v in unit)]
        same: float | None = None
        spread: float | None = None
        if units:
            same = fmean(len({tuple(getattr(v, name) for name in DIMENSIONS) for v in unit}) == 1 for unit in units)
            spread = fmean(pstdev([v.value or 0.0 for v in unit]) for unit in units)
        yield self._row("repeat_identical", same, len(units), f"share rated alike in {len(judgements)} judgements")
        yield self._row("repeat_sd", spread, len(units), "mean standard deviation of an item's value")
        values = [[v.value for v in judgement] for judgement in judgements]
        yield self._row("repeat_alpha", alpha(values), len(units), "Krippendorff's alpha between its judgements")

    def _shift(self, name: str, other: Sequence[Verdict], meaning: str) -> Measure:
        pairs = [(a, b.value) for a, b in zip(self.base, other, strict=True) if a is not None and b.value is not None]
        return self._row(name, fmean(b - a for a, b in pairs) if pairs else None, len(pairs), meaning)

    def _row(self, name: str, value: float | None, n: int, meaning: str) -> Measure:
        return Measure(self.name, name, None if value is None else round(value, DECIMALS) + 0.0, n, meaning)


def _candidates(job: ScoreJob, models: Sequence[str], root: Path) -> list[JudgeItem]:
    return [
        JudgeItem(item.sample_id, item.question, item.pair[1], item.pair[0])
        for model in models
        for batch in card_texts(job, Paths(root, job.benchmark, model))
        for item in batch
        if item.outcome is Outcome.OK and item.pair[0].strip()
    ]
