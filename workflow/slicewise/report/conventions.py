"""The convention alarm: right findings, but boxes that hit nothing.

A model that names the right finding and whose V-Score is near zero very likely writes its boxes in another convention
than the declared one (QwenLM/Qwen3-VL#957). The alarm shows, on the side, what V would be under each other convention.
It never enters a score, and nothing is chosen by it: a person changes ``bbox_convention`` in ``params.yaml``, or not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from slicewise import artifacts, layout
from slicewise.benchmarks import sgmri
from slicewise.geometry import Convention
from slicewise.jobs import ParseJob, ReportJob, ReportModel
from slicewise.outcome import Outcome
from slicewise.params import ParseSettings
from slicewise.parse.run import parse_row
from slicewise.score import keywords
from slicewise.score.grounding_rows import grounding_row

MIN_ITEMS = 10
NEAR_ZERO = 0.05
RIGHT_LABELS = 0.5

CONVENTIONS = artifacts.table_schema(
    "conventions",
    [
        ("position", pa.int64(), False),
        ("benchmark", pa.string(), False),
        ("model", pa.string(), False),
        ("n", pa.int64(), False),  # localization items with a gold box and an emitted box
        ("named", pa.float64(), False),  # share of them whose text or box labels name a gold label
        ("convention", pa.string(), False),
        ("declared", pa.bool_(), False),
        ("v", pa.float64(), False),  # mean over the n items; an item without a legal box counts 0
    ],
    ["position"],
)
Row = Mapping[str, Any]


def alarms(job: ReportJob, root: Path) -> list[dict[str, Any]]:
    """One row per convention for each benchmark and model that raises the alarm; none for the others.

    Args:
        job: The report's settings.
        root: The project's root; samples, answers, readings and scores are read below it.
    """
    rows: list[dict[str, Any]] = []
    for benchmark in job.benchmarks:
        samples = _localization(root, benchmark)
        for model in job.models:
            if model.bbox_convention is not None:
                rows += _model(root, benchmark, model, samples)
    return [{"position": position, **row} for position, row in enumerate(rows)]


def _localization(root: Path, benchmark: str) -> dict[str, Row]:
    rows = artifacts.read_rows(root / layout.samples(benchmark), artifacts.SAMPLES)
    return {row["sample_id"]: row for row in rows if row["task"] in sgmri.V_TASKS and row["boxes"]}


def _model(root: Path, benchmark: str, model: ReportModel, samples: Mapping[str, Row]) -> list[dict[str, Any]]:
    scores = artifacts.read_rows(
        root / layout.score(benchmark, model.name, "grounding"), columns=["sample_id", "value", "outcome", "n_emitted"]
    )
    hits = {row["sample_id"]: row["value"] or 0.0 for row in scores if row["n_emitted"] and row["sample_id"] in samples}
    if len(hits) < MIN_ITEMS or sum(hits.values()) / len(hits) >= NEAR_ZERO:
        return []
    readings = artifacts.read_rows(
        root / layout.parsed(benchmark, model.name), columns=["sample_id", "text", "boxes", "rejected"]
    )
    named = [_names_a_label(samples[row["sample_id"]], row) for row in readings if row["sample_id"] in hits]
    share = sum(named) / len(named)
    if share < RIGHT_LABELS:
        return []
    answers = artifacts.read_rows(root / layout.answers(benchmark, model.name), artifacts.ANSWERS)
    asked = [(samples[row["sample_id"]], row) for row in answers if row["sample_id"] in hits]
    common = {"benchmark": benchmark, "model": model.name, "n": len(hits), "named": round(share, 6)}
    return [
        {
            **common,
            "convention": convention.value,
            "declared": convention == model.bbox_convention,
            "v": round(_v(benchmark, model, convention, asked), 6),
        }
        for convention in Convention
    ]


def _names_a_label(sample: Row, reading: Row) -> bool:
    """Whether the visible text or the label of a box holds every word of one gold label."""
    said = " ; ".join([reading["text"] or "", *(box["label"] or "" for box in reading["boxes"] or [])])
    labels = {box["label"] for box in sample["boxes"] if box["label"]} | set(sample["labels"])
    return any(keywords.recall(said, keywords.keywords([label], "")) for label in labels)


def _v(benchmark: str, model: ReportModel, convention: Convention, asked: Sequence[tuple[Row, Row]]) -> float:
    """Mean V of the answers, re-read under a convention."""
    job = ParseJob(
        benchmark=benchmark,
        model=model.name,
        bbox_convention=convention,
        frame_base=model.frame_base,
        parse=ParseSettings(),
    )
    total = 0.0
    for sample, answer in asked:
        scored = grounding_row(sample, parse_row(job, sample, answer), "all")
        total += scored["value"] if scored["outcome"] == Outcome.OK.value else 0.0
    return total / len(asked)


def sentences(rows: Sequence[Row], benchmark: str) -> list[str]:
    """One warning per model that raises the alarm, for people."""
    said: list[str] = []
    for model in dict.fromkeys(row["model"] for row in rows if row["benchmark"] == benchmark):
        mine = [row for row in rows if (row["benchmark"], row["model"]) == (benchmark, model)]
        declared = next(row for row in mine if row["declared"])
        best = max(mine, key=lambda row: (row["v"], row["declared"]))
        said.append(
            f"{model}: convention warning: {100 * declared['named']:.0f} % of {declared['n']} answers with boxes name "
            f"a right finding, but V is {100 * declared['v']:.2f} under the declared {declared['convention']}; "
            f"read as {best['convention']} it would be {100 * best['v']:.2f}. "
            "No score uses this: check how the model writes boxes."
        )
    return said
