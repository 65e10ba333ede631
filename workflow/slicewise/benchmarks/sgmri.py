"""SGMRI-VQA (arXiv 2604.15808): tasks, question types, the metric that applies to an item, and the table columns."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from slicewise.errors import UserError, did_you_mean

Level = Literal["image", "volume"]
LEVELS: tuple[Level, ...] = ("image", "volume")
DOMAINS = ("brain", "knee")

TASKS: dict[Level, tuple[str, ...]] = {
    "image": ("detection", "classification", "diagnosis", "localization", "captioning"),
    "volume": ("detection", "counting", "classification", "localization", "captioning"),
}
QUESTION_TYPES = ("closed_ended", "single_choice", "multiple_choice", "open_ended")

A_TASKS = frozenset({"detection", "counting", "classification", "diagnosis"})
AR_TASKS = frozenset({"captioning", "localization"})
V_TASKS = frozenset({"localization"})

# The metrics, each in a file of its own. The neural ones run in one job over all models.
METRICS = ("answer", "similarity", "bleu", "rouge_l", "bertscore", "judge", "reasoning", "grounding")
NEURAL_METRICS = ("similarity", "bertscore", "judge")
AR_WEIGHTS = {"judge": 0.4, "bertscore": 0.2, "bleu": 0.2, "rouge_l": 0.2}


@dataclass(frozen=True, slots=True)
class Column:
    """A column of the published table: the mean of one metric over one task."""

    key: str
    title: str
    task: str
    metric: Literal["answer", "reasoning", "grounding"]


_LOCALIZATION_V = Column("localization_v", "Localization V", "localization", "grounding")
_LOCALIZATION_AR = Column("localization_ar", "Localization AR", "localization", "reasoning")
_CAPTIONING = Column("captioning", "Captioning AR", "captioning", "reasoning")

COLUMNS: dict[Level, tuple[Column, ...]] = {
    "image": (
        Column("detection", "Detection A", "detection", "answer"),
        Column("classification", "Classification A", "classification", "answer"),
        Column("diagnosis", "Diagnosis A", "diagnosis", "answer"),
        _LOCALIZATION_V,
        _LOCALIZATION_AR,
        _CAPTIONING,
    ),
    "volume": (
        Column("detection", "Detection A", "detection", "answer"),
        Column("counting", "Counting A", "counting", "answer"),
        Column("classification", "Classification A", "classification", "answer"),
        _LOCALIZATION_V,
        _LOCALIZATION_AR,
        _CAPTIONING,
    ),
}
AVERAGE = "avg"  # the plain mean of the six columns


@dataclass(frozen=True, slots=True)
class Benchmark:
    """A benchmark id and what it stands for."""

    id: str
    source: Literal["released", "open", "demo"]
    level: Level
    frames: Literal["as_released", "corrected"] | None = None  # None: taken from the settings


BENCHMARKS: dict[str, Benchmark] = {
    b.id: b
    for level in LEVELS
    for b in (
        Benchmark(f"sgmri-{level}", "released", level),
        Benchmark(f"sgmri-open-released-{level}", "open", level, "as_released"),
        Benchmark(f"sgmri-open-corrected-{level}", "open", level, "corrected"),
        Benchmark(f"sgmri-demo-{level}", "demo", level, "corrected"),
    )
}


def benchmark(benchmark_id: str) -> Benchmark:
    """The benchmark of that id.

    Raises:
        UserError: No benchmark has the id.
    """
    if benchmark_id not in BENCHMARKS:
        raise UserError(
            f"benchmark '{benchmark_id}' is unknown; expected one of {sorted(BENCHMARKS)}."
            f"{did_you_mean(benchmark_id, BENCHMARKS)}"
        )
    return BENCHMARKS[benchmark_id]


def applies(metric: str, task: str, question_type: str, has_gold_boxes: bool) -> bool:
    """Whether a metric is computed for an item (evaluation card: A, AR and V by task and format).

    ``similarity`` is a part of the open-ended A-Score; ``bleu``, ``rouge_l``, ``bertscore`` and ``judge`` are the
    parts of AR. V needs a gold box; a localization item without one keeps its count of false positives.
    """
    if metric == "answer":
        return task in A_TASKS
    if metric == "similarity":
        return task in A_TASKS and question_type == "open_ended"
    if metric == "grounding":
        return task in V_TASKS
    if metric in ("reasoning", *AR_WEIGHTS):
        return task in AR_TASKS
    raise ValueError(f"unknown metric '{metric}', expected one of {METRICS}")
