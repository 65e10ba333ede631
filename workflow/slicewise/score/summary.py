"""The summary of one scored file, in the shape of the released evaluation file, with what its means leave unsaid."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slicewise.outcome import Outcome

NAMES = {"answer": "a_score", "reasoning": "ar_score", "grounding": "v_score"}
GROUPS = {"dataset": "domain", "level": "level", "qa_type": "question_type", "task": "task"}

Scores = Mapping[str, Sequence[Mapping[str, Any]]]


def mean(rows: Iterable[Mapping[str, Any]]) -> dict[str, Any]:
    """Mean, n, coverage and counts of outcomes of score rows.

    A failure of the model counts 0; one of the machinery, and an item without a reference, is in no mean. ``count`` is
    the number of items in the mean, ``coverage`` the share of readable ones among those with a reference.
    """
    rows = list(rows)
    outcomes = Counter(row["outcome"] for row in rows)
    counted = [row["value"] or 0.0 for row in rows if not Outcome(row["outcome"]).counts_in_no_mean]
    asked = len(rows) - outcomes[Outcome.NO_REFERENCE]
    return {
        "mean": math.fsum(counted) / len(counted) if counted else None,
        "count": len(counted),
        "coverage": outcomes[Outcome.OK] / asked if asked else None,
        "outcomes": dict(sorted(outcomes.items())),
    }


def summarise(samples: Sequence[Mapping[str, Any]], scores: Scores) -> dict[str, Any]:
    """``aggregates``, ``breakdowns``, ``total_samples`` and ``per_sample`` of one file.

    Args:
        samples: Rows of the samples table.
        scores: Rows of each metric of :data:`NAMES` that was computed.
    """
    traits = {sample["sample_id"]: sample for sample in samples}
    breakdowns: dict[str, Any] = {}
    for name, column in GROUPS.items():
        groups = sorted({str(sample[column]) for sample in samples})
        breakdowns[name] = {group: _means(scores, traits, column, group) for group in groups}
    per_sample: dict[str, dict[str, Any]] = {name: {"sample_id": name} for name in traits}
    for metric, rows in scores.items():
        for row in rows:
            per_sample[row["sample_id"]][NAMES[metric]] = row["value"]
    return {
        "aggregates": {NAMES[metric]: mean(rows) for metric, rows in scores.items()},
        "breakdowns": breakdowns,
        "total_samples": len(samples),
        "per_sample": [per_sample[name] for name in sorted(per_sample)],
    }


def _means(scores: Scores, traits: Mapping[str, Mapping[str, Any]], column: str, group: str) -> dict[str, Any]:
    found = {}
    for metric, rows in scores.items():
        inside = [row for row in rows if str(traits[row["sample_id"]][column]) == group]
        if inside:
            found[NAMES[metric]] = mean(inside)
    return found
