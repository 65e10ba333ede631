"""Tables beside the scores: what accuracy hides in detection and counting, and how boxes fail."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa

from slicewise import artifacts
from slicewise.benchmarks import sgmri
from slicewise.jobs import ReportJob
from slicewise.outcome import MACHINE_FAILURES, Outcome
from slicewise.report import collect
from slicewise.report import statistics as st

_MACHINE = [outcome.value for outcome in MACHINE_FAILURES]
_CUTS = (10, 25, 50)  # IoU thresholds in percent
_HEAD: list[tuple[str, pa.DataType, bool]] = [
    ("position", pa.int64(), False),
    ("benchmark", pa.string(), False),
    ("model", pa.string(), False),
]
DETECTION = artifacts.table_schema(
    "detection",
    [
        *_HEAD,
        ("domain", pa.string(), False),
        *((name, pa.int64(), False) for name in ("n", "tp", "fn", "tn", "fp", "unread")),
        *(
            (name, pa.float64(), True)
            for name in ("accuracy", "balanced_accuracy", "sensitivity", "specificity", "mcc")
        ),
    ],
    ["position"],
)
COUNTING = artifacts.table_schema(
    "counting",
    [
        *_HEAD,
        ("n", pa.int64(), False),
        ("unread", pa.int64(), False),
        *((name, pa.float64(), True) for name in ("mean_absolute", "median_absolute", "bias", "within_one")),
    ],
    ["position"],
)
GROUNDING = artifacts.table_schema(
    "grounding",
    [
        *_HEAD,
        ("n", pa.int64(), False),  # items with a gold box in the mean
        ("v", pa.float64(), True),
        ("v_precision_aware", pa.float64(), True),
        *((f"{part}_{cut}", pa.float64(), True) for cut in _CUTS for part in ("p", "r", "f1")),  # pooled over boxes
        ("frame_precision", pa.float64(), True),  # means over items; null at image level, where there is one frame
        ("frame_recall", pa.float64(), True),
        ("frame_f1", pa.float64(), True),
        ("boxes_gold", pa.int64(), False),
        ("boxes_gold_excluded", pa.int64(), False),  # without area
        ("boxes_emitted", pa.int64(), False),
        ("boxes_per_item", pa.float64(), True),
        ("normals", pa.int64(), False),  # localization items without a gold box
        ("false_positives_on_normal", pa.int64(), False),
    ],
    ["position"],
)


def detection(job: ReportJob, root: Path) -> list[dict[str, Any]]:
    """Yes/no detection per model and domain; a failed answer counts as the wrong one, a lost item not at all."""
    rows: list[dict[str, Any]] = []
    for benchmark, model, frame in _answers(job, root, "detection"):
        frame = frame[frame["gold"].str.strip().str.lower().isin(["yes", "no"])]
        for domain in ["all", *sorted(set(frame["domain"]))]:
            part = frame if domain == "all" else frame[frame["domain"] == domain]
            made = st.confusion(
                [gold.strip().lower() == "yes" for gold in part["gold"]],
                [_yes_no(reading) for reading in part["reading"]],
            )
            values = {name: getattr(made, name) for name in DETECTION.names[4:]}
            rows.append({"benchmark": benchmark, "model": model, "domain": domain, **values})
    return _numbered(rows)


def counting(job: ReportJob, root: Path) -> list[dict[str, Any]]:
    """Counting errors per model, over the answers that could be read."""
    rows: list[dict[str, Any]] = []
    for benchmark, model, frame in _answers(job, root, "counting"):
        gold = [_integer(text) for text in frame["gold"]]
        known = [(g, _integer(text)) for g, text in zip(gold, frame["reading"], strict=True) if g is not None]
        made = st.count_error([g for g, _ in known], [r for _, r in known])
        rows.append(
            {"benchmark": benchmark, "model": model, **{name: getattr(made, name) for name in COUNTING.names[3:]}}
        )
    return _numbered(rows)


def _answers(job: ReportJob, root: Path, task: str) -> Iterator[tuple[str, str, pd.DataFrame]]:
    """(benchmark, model, answers of a task that the machinery did not lose), for benchmarks with that task."""
    columns = ["sample_id", "value", "outcome", "reading", "gold"]
    for benchmark in job.benchmarks:
        if task not in sgmri.TASKS[sgmri.benchmark(benchmark).level]:
            continue
        asked = collect.samples(root, benchmark)
        asked = asked.loc[asked["task"] == task, ["sample_id", "domain"]]
        for model in job.models:
            frame = asked.merge(collect.score(root, benchmark, model.name, "answer", columns), on="sample_id")
            yield benchmark, model.name, frame[~frame["outcome"].isin([*_MACHINE, Outcome.NO_REFERENCE.value])]


def _yes_no(reading: object) -> bool | None:
    text = reading.strip().lower() if isinstance(reading, str) else ""
    return {"yes": True, "no": False}.get(text)


def _integer(text: object) -> int | None:
    return int(text) if isinstance(text, str) and re.fullmatch(r"\s*\d+\s*", text, re.ASCII) else None


def grounding(job: ReportJob, root: Path) -> list[dict[str, Any]]:
    """Grounding diagnostics per model."""
    rows: list[dict[str, Any]] = []
    for benchmark in job.benchmarks:
        by_frame = sgmri.benchmark(benchmark).level == "volume"
        for model in job.models:
            made = _boxes(grounding_items(job, root, benchmark, model.name), by_frame)
            rows.append({"benchmark": benchmark, "model": model.name, **made})
    return _numbered(rows)


def grounding_items(job: ReportJob, root: Path, benchmark: str, model: str) -> pd.DataFrame:
    """A model's grounding scores of the items that the machinery did not lose."""
    frame = collect.score(root, benchmark, model, "grounding")
    return frame[~frame["outcome"].isin(_MACHINE)]


def _boxes(frame: pd.DataFrame, by_frame: bool) -> dict[str, Any]:
    asked = frame[frame["outcome"] != Outcome.NO_REFERENCE]
    normal = frame[frame["n_gold"] == 0]
    frames = ("frame_precision", "frame_recall", "frame_f1")
    gold, emitted = int(asked["n_gold"].sum()), int(frame["n_emitted"].fillna(0).sum())
    return {
        "n": len(asked),
        "v": _mean(asked, "value"),
        "v_precision_aware": _mean(asked, "v_precision_aware"),
        **{name: _mean(asked, name) if by_frame else None for name in frames},
        **_pooled(asked, gold),
        "boxes_gold": gold,
        "boxes_gold_excluded": int(frame["n_gold_excluded"].fillna(0).sum()),
        "boxes_emitted": emitted,
        "boxes_per_item": emitted / len(frame) if len(frame) else None,
        "normals": len(normal),
        "false_positives_on_normal": int(normal["false_positives_on_normal"].fillna(0).sum()),
    }


def _mean(frame: pd.DataFrame, column: str) -> float | None:
    """Mean with the model's own failures as 0; a statistic that a scored item does not have is left out."""
    scored = frame["outcome"] == Outcome.OK
    values = frame[column].where(scored, 0.0).dropna()
    return round(float(values.mean()), 6) if len(values) else None


def _pooled(frame: pd.DataFrame, gold: int) -> dict[str, float | None]:
    predicted = int(frame["n_pred"].fillna(0).sum())
    made: dict[str, float | None] = {}
    for cut in _CUTS:
        hits = int(frame[f"tp_{cut}"].fillna(0).sum())
        made[f"p_{cut}"] = round(hits / predicted, 6) if predicted else None
        made[f"r_{cut}"] = round(hits / gold, 6) if gold else None
        made[f"f1_{cut}"] = round(2 * hits / (predicted + gold), 6) if predicted + gold else None
    return made


def _numbered(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [{"position": position, **row} for position, row in enumerate(rows)]
