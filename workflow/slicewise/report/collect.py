"""One table of item scores over all benchmarks and models of a run: the only place where the report reads scores.

An item stands once in each column of the published table that asks for it. A column that should hold an item but has
no row for it counts it as ``not_run``: an item can be missing, but it cannot vanish.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.compute as pc

from slicewise import artifacts, layout
from slicewise.benchmarks import sgmri
from slicewise.errors import UserError
from slicewise.jobs import ReportJob
from slicewise.outcome import MODEL_FAILURES, Outcome

OUTCOMES = tuple(outcome.value for outcome in Outcome)
_ZERO = frozenset(outcome.value for outcome in MODEL_FAILURES)
SAMPLE_COLUMNS = ["sample_id", "volume_id", "domain", "modality", "task", "question_type", "labels"]


def samples(root: Path, benchmark: str) -> pd.DataFrame:
    """The items of a benchmark with what the report groups by, and ``n_gold`` (number of gold boxes), sorted by id."""
    table = artifacts.read_table(root / layout.samples(benchmark), columns=[*SAMPLE_COLUMNS, "boxes"])
    frame: pd.DataFrame = table.select(SAMPLE_COLUMNS).to_pandas()
    frame["n_gold"] = pc.list_value_length(table.column("boxes")).to_numpy(zero_copy_only=False)
    return frame.sort_values("sample_id", ignore_index=True)


def score(root: Path, benchmark: str, model: str, metric: str, columns: list[str] | None = None) -> pd.DataFrame:
    """One score file as a pandas table.

    Args:
        root: The project's root.
        benchmark: Benchmark id.
        model: Model name.
        metric: Metric name.
        columns: Columns to read; all by default.

    Raises:
        UserError: The file is missing or unreadable, lacks a column, names an unknown outcome, or marks an item
            ``ok`` that has no value.
    """
    path = root / layout.score(benchmark, model, metric)
    table = artifacts.read_table(path)
    missing = sorted(set(columns or []) - set(table.column_names))
    if missing:
        raise UserError(f"{path}: has no column {missing}, found {table.column_names}: run its stage again.")
    frame: pd.DataFrame = (table.select(columns) if columns else table).to_pandas()
    unknown = sorted(set(frame["outcome"]) - set(OUTCOMES))
    if unknown:
        raise UserError(f"{path}: field 'outcome' holds {unknown}, expected one of {list(OUTCOMES)}.")
    broken = frame[(frame["outcome"] == Outcome.OK) & frame["value"].isna()]
    if len(broken):
        raise UserError(
            f"{path}: {len(broken)} row(s) such as '{broken['sample_id'].iloc[0]}' are 'ok' without a value; "
            "expected a number: run its stage again."
        )
    return frame


def _asked(asked: pd.DataFrame, column: sgmri.Column, protocol: str) -> pd.DataFrame:
    """The items that a column holds; the released scorer gives open-ended items no A-Score."""
    mask = asked["task"] == column.task
    if protocol == "reference" and column.metric == "answer":
        mask &= asked["question_type"] != "open_ended"
    return asked[mask]


def _join(asked: pd.DataFrame, scores: pd.DataFrame, column: sgmri.Column) -> pd.DataFrame:
    joined = asked.merge(scores[["sample_id", "value", "outcome"]], on="sample_id", how="left", validate="1:1")
    joined["outcome"] = joined["outcome"].fillna(Outcome.NOT_RUN.value)
    if column.metric == "grounding":  # without a gold box there is no V, whatever became of the answer
        gold = joined["n_gold"] > 0
        joined["value"] = joined["value"].where(gold)
        joined["outcome"] = joined["outcome"].where(gold, Outcome.NO_REFERENCE.value)
    return joined.assign(column=column.key, metric=column.metric)


def items(job: ReportJob, root: Path) -> pd.DataFrame:
    """Item scores of all benchmarks and models.

    Returns:
        One row per (benchmark, model, column, item): ``value`` (NaN without one), ``outcome``, ``counted`` (enters
        the mean) and ``x`` (what enters it: the value, 0 for the model's own failures), beside the item's
        ``sample_id, volume_id, domain, modality, task, question_type, labels, n_gold``.

    Raises:
        UserError: A file is missing or wrong, or scores an item that the benchmark does not have.
    """
    parts: list[pd.DataFrame] = []
    for benchmark in job.benchmarks:
        asked = samples(root, benchmark)
        level = sgmri.benchmark(benchmark).level
        for model in job.models:
            parts += _model_items(job, root, benchmark, level, model.name, asked)
    frame = pd.concat(parts, ignore_index=True)
    ok = frame["outcome"] == Outcome.OK
    zero = frame["outcome"].isin(_ZERO)
    return frame.assign(counted=ok | zero, x=np.where(ok, frame["value"], np.where(zero, 0.0, np.nan)))


def _model_items(
    job: ReportJob, root: Path, benchmark: str, level: sgmri.Level, model: str, asked: pd.DataFrame
) -> list[pd.DataFrame]:
    scores = {metric: score(root, benchmark, model, metric) for metric in ("answer", "reasoning", "grounding")}
    for metric, frame in scores.items():
        strangers = set(frame["sample_id"]) - set(asked["sample_id"])
        if strangers:
            raise UserError(
                f"{layout.score(benchmark, model, metric)}: scores {len(strangers)} item(s) such as "
                f"'{min(strangers)}' that {layout.samples(benchmark)} does not have: run the earlier stages again."
            )
    if not job.judge_is_proxy and bool(scores["reasoning"]["proxy"].any()):
        raise UserError(
            f"{layout.score(benchmark, model, 'reasoning')}: holds verdicts of a proxy judge, but the settings name "
            f"the judge '{job.judge}', which is none: run the score stage again."
        )
    return [
        _join(_asked(asked, column, job.protocol), scores[column.metric], column).assign(
            benchmark=benchmark, model=model
        )
        for column in sgmri.COLUMNS[level]
    ]


def records(frame: pd.DataFrame) -> list[dict[str, Any]]:
    """Rows as dictionaries; NaN stays NaN."""
    return [{str(name): value for name, value in row.items()} for row in frame.to_dict("records")]


def columns(benchmark: str) -> list[str]:
    """Keys of a benchmark's table, Avg. last."""
    return [column.key for column in sgmri.COLUMNS[sgmri.benchmark(benchmark).level]] + [sgmri.AVERAGE]


def column_titles(benchmark: str) -> dict[str, str]:
    """Key -> printed title of a benchmark's table."""
    titles = {column.key: column.title for column in sgmri.COLUMNS[sgmri.benchmark(benchmark).level]}
    return {**titles, sgmri.AVERAGE: "Avg."}


def is_blind(baseline: str | None) -> bool:
    """Whether a baseline never looks at the images: what a model must beat to have read them."""
    return baseline in ("blank", "always-yes", "majority", "random", "prior-box")


def stand_ins(job: ReportJob) -> list[str]:
    """Why this run's AR columns are proxies, one sentence each; empty when judge and encoder are the real ones."""
    reasons = []
    if job.judge_is_proxy:
        reasons.append(f"the judge '{job.judge}' is a local stand-in, not a language model")
    if job.bertscore_encoder != "roberta-large":
        reasons.append(f"BERTScore reads with '{job.bertscore_encoder}' instead of roberta-large")
    elif not job.bertscore_rescale:
        reasons.append("BERTScore is not rescaled with its baseline")
    return reasons


def is_proxy(job: ReportJob, column: str) -> bool:
    """Whether a column's numbers are proxies in this run: the AR columns and Avg., when a part is a stand-in."""
    return column in ("localization_ar", "captioning", sgmri.AVERAGE) and bool(stand_ins(job))
