"""Item scores of CT benchmarks, and the cells of the tables: mean, n, outcomes, interval over patients."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from slicewise import artifacts, layout
from slicewise.benchmarks import ct
from slicewise.jobs import ReportJob
from slicewise.outcome import MODEL_FAILURES, Outcome
from slicewise.report import cells, collect
from slicewise.report import statistics as st
from slicewise.score.ct_text import Counts, bleu

CELLS = artifacts.table_schema(
    "ct_cells",
    [
        ("position", pa.int64(), False),
        ("benchmark", pa.string(), False),
        ("model", pa.string(), False),
        ("column", pa.string(), False),
        *cells.STATISTICS,
        ("low", pa.float64(), True),  # bootstrap over patients
        ("high", pa.float64(), True),
    ],
    ["position"],
)
TOOLS = artifacts.table_schema(
    "ct_tools",
    [
        ("position", pa.int64(), False),
        ("benchmark", pa.string(), False),
        ("model", pa.string(), False),
        ("task", pa.string(), False),  # a task of the benchmark, or `all`
        ("cases", pa.int64(), False),
        *(
            (name, pa.float64(), False)  # per case
            for name in (
                "calls", "name_errors", "argument_errors", "domain_errors", "format_errors", "repaired",
                "claim_before_load", "picture_not_interpreted", "raw_coordinates", "missing_unit", "tokens",
            )
        ),
        ("success", pa.float64(), True),  # 1 - (name + argument errors) / calls
        ("sop_agreement", pa.float64(), True),
        ("excess_calls", pa.float64(), True),
        ("order_violations", pa.float64(), True),
    ],
    ["position"],
)  # fmt: skip
TEXT = artifacts.table_schema(
    "ct_text",
    [
        ("position", pa.int64(), False),
        ("benchmark", pa.string(), False),
        ("model", pa.string(), False),
        ("task", pa.string(), False),
        ("n", pa.int64(), False),  # answers with a text
        ("corpus", pa.float64(), False),  # BLEU-4 of summed counts, without smoothing
        ("corpus_bleu1", pa.float64(), False),
        ("effective", pa.float64(), False),  # mean of the samples' BLEU-4 with effective order
        ("unsmoothed", pa.float64(), False),  # mean of the samples' BLEU-4 with all four orders
        ("ceiling", pa.float64(), False),  # the same of the references against themselves
    ],
    ["position"],
)
PER_CASE = tuple(TOOLS.names[5:16])
ALL = "all"
TEXT_VALUES = {"bleu4": "value", "bleu1": "bleu1", "rouge_l": "rouge_l"}


def columns(benchmark: str) -> list[str]:
    """Keys of a benchmark's choice columns, the average last."""
    family = ct.ct_benchmark(benchmark).family
    return [*(ct.SCENARIOS if family == "ctflowbench" else ct.RAD3D_CLOSED), "avg"]


def items(job: ReportJob, root: Path) -> pd.DataFrame:
    """Scores of every item: one row per benchmark, model, column and item, clustered by patient.

    Raises:
        UserError: A score file is missing or wrong.
    """
    parts: list[pd.DataFrame] = []
    for benchmark in job.benchmarks:
        asked = collect.samples(root, benchmark)[["sample_id", "volume_id", "task"]]
        asked["volume_id"] = asked["volume_id"].map(ct.patient_of)
        for model in job.models:
            parts += _of_model(root, benchmark, model.name, asked)
    frame = pd.concat(parts, ignore_index=True)
    ok = frame["outcome"] == Outcome.OK
    zero = frame["outcome"].isin([outcome.value for outcome in MODEL_FAILURES])
    return frame.assign(counted=ok | zero, x=np.where(ok, frame["value"], np.where(zero, 0.0, np.nan)))


def _of_model(root: Path, benchmark: str, model: str, asked: pd.DataFrame) -> list[pd.DataFrame]:
    choice = collect.score(root, benchmark, model, "choice", ["sample_id", "value", "outcome"])
    closed = asked[asked["task"].isin(columns(benchmark))]
    parts = [_join(closed, choice, benchmark, model, closed["task"])]
    if ct.ct_benchmark(benchmark).family != "rad3d":
        return parts
    opened = asked[asked["task"].isin(ct.RAD3D_OPEN)]
    text = collect.score(root, benchmark, model, "ct_text")
    for key, column in TEXT_VALUES.items():
        scores = text[["sample_id", "outcome"]].assign(value=text[column])
        parts.append(_join(opened, scores, benchmark, model, opened["task"] + f"_{key}"))
    right = text[text["value_right"].notna() | (text["outcome"] != Outcome.OK)]
    right = right[["sample_id", "outcome"]].assign(value=right["value_right"].astype(float))
    computed = opened[(opened["task"] == "t3") & opened["sample_id"].isin(right["sample_id"])]
    parts.append(_join(computed, right, benchmark, model, computed["task"] + "_value"))
    for metric in ("bertscore", "judge"):
        scores = collect.score(root, benchmark, model, metric, ["sample_id", "value", "outcome"])
        parts.append(_join(opened, scores, benchmark, model, opened["task"] + f"_{metric}"))
    return parts


def _join(asked: pd.DataFrame, scores: pd.DataFrame, benchmark: str, model: str, names: pd.Series) -> pd.DataFrame:
    joined = asked.assign(column=names).merge(scores, on="sample_id", how="left", validate="1:1")
    joined["outcome"] = joined["outcome"].fillna(Outcome.NOT_RUN.value)
    return joined.assign(benchmark=benchmark, model=model)


def make(scored: pd.DataFrame, job: ReportJob) -> pd.DataFrame:
    """Every cell, averages included; the columns of ``CELLS``."""
    base = cells.summarize(scored, ["benchmark", "model", "column"], job.report.confidence)
    ends = []
    for row in collect.records(base):
        mine = scored[
            (scored["benchmark"] == row["benchmark"])
            & (scored["model"] == row["model"])
            & (scored["column"] == row["column"])
            & scored["counted"]
        ]
        ends.append(_interval(mine, job))
    base["low"], base["high"] = [end[0] for end in ends], [end[1] for end in ends]
    table = pd.concat([base, _averages(base, job)], ignore_index=True)
    table["position"] = np.arange(len(table))
    return table[list(CELLS.names)]


def _interval(mine: pd.DataFrame, job: ReportJob) -> tuple[float, float]:
    """Percentile interval over resampled patients; NaN without any."""
    patients = np.unique(mine["volume_id"].to_numpy(dtype=str))
    if not len(patients):
        return np.nan, np.nan
    weights = st.resample(len(patients), job.report.bootstrap_draws, job.report.seed)
    sums, counts = cells.totals(mine, patients, [mine["column"].iloc[0]])
    means = st.bootstrap_means(sums, counts, weights)
    ends = st.percentile_interval(means[:, 0], st.effective_clusters(counts[:, 0]), job.report.confidence)
    return (np.nan, np.nan) if ends is None else (round(ends.low, 6), round(ends.high, 6))


def _averages(base: pd.DataFrame, job: ReportJob) -> pd.DataFrame:
    """Plain means of the choice columns, and of the open tasks' text columns; no interval."""
    made: list[dict[str, Any]] = []
    for benchmark in job.benchmarks:
        groups = {"avg": columns(benchmark)[:-1]}
        if ct.ct_benchmark(benchmark).family == "rad3d":
            for key in (*TEXT_VALUES, "bertscore", "judge"):
                groups[key] = [f"{task}_{key}" for task in ct.RAD3D_OPEN]
        for model in job.models:
            rows = base[(base["benchmark"] == benchmark) & (base["model"] == model.name)].set_index("column")
            made += [_average(rows.reindex(names), benchmark, model.name, key) for key, names in groups.items()]
    return pd.DataFrame(made)


def _average(rows: pd.DataFrame, benchmark: str, model: str, key: str) -> dict[str, Any]:
    counted = {name: int(rows[name].fillna(0).sum()) for name in ("n", "n_ok", "clusters", *collect.OUTCOMES)}
    expected = counted["n"] + sum(counted[name] for name in ("api_error", "judge_error", "missing_frames", "not_run"))
    return {
        "benchmark": benchmark,
        "model": model,
        "column": key,
        **counted,
        "value": float(rows["value"].mean(skipna=False)),
        "coverage": counted["n_ok"] / expected if expected else np.nan,
        "incomplete": bool((rows["incomplete"] == True).any()),  # noqa: E712 - reindexed rows hold NaN
    }


def tools(job: ReportJob, root: Path) -> list[dict[str, Any]]:
    """Tool statistics of every agent, per case, over all tasks and by task; rows of ``TOOLS``.

    Raises:
        UserError: A score file is missing.
    """
    made: list[dict[str, Any]] = []
    for benchmark in job.benchmarks:
        tasks = collect.samples(root, benchmark)[["sample_id", "task"]]
        for model in job.models:
            frame = artifacts.read_table(root / layout.score(benchmark, model.name, "tool_use")).to_pandas()
            if not len(frame):
                continue
            frame = frame.merge(tasks, on="sample_id", validate="1:1")
            parts = [(ALL, frame), *((str(task), part) for task, part in frame.groupby("task"))]
            for task, part in parts:
                named = {"position": len(made), "benchmark": benchmark, "model": model.name, "task": task}
                made.append({**named, **_tool_means(part)})
    return made


def _tool_means(frame: pd.DataFrame) -> dict[str, Any]:
    calls = int(frame["calls"].sum())
    wrong = int(frame["name_errors"].sum() + frame["argument_errors"].sum())
    gold = frame[frame["sop_agreement"].notna()]
    agreement = ("sop_agreement", "excess_calls", "order_violations")
    return {
        "cases": len(frame),
        **{name: float(frame[name].mean()) for name in PER_CASE},
        "success": 1 - wrong / calls if calls else None,
        **{name: float(gold[name].mean()) if len(gold) else None for name in agreement},
    }


def text_details(job: ReportJob, root: Path) -> list[dict[str, Any]]:
    """BLEU of the open tasks in every way that it is computed, on the answers that have a text; rows of ``TEXT``."""
    made: list[dict[str, Any]] = []
    for benchmark in (name for name in job.benchmarks if ct.ct_benchmark(name).family == "rad3d"):
        tasks = {row["sample_id"]: row["task"] for row in collect.records(collect.samples(root, benchmark))}
        for model in job.models:
            rows = artifacts.read_rows(root / layout.score(benchmark, model.name, "ct_text"))
            for task in ct.RAD3D_OPEN:
                mine = [row for row in rows if tasks[row["sample_id"]] == task and row["matched"] is not None]
                if mine:
                    named = {"benchmark": benchmark, "model": model.name, "task": task}
                    made.append({"position": len(made), **named, **_text_detail(mine)})
    return made


def _text_detail(rows: list[dict[str, Any]]) -> dict[str, Any]:
    found = [
        Counts(tuple(row["matched"]), tuple(row["total"]), row["candidate_tokens"], row["reference_tokens"])
        for row in rows
    ]

    def mean(name: str) -> float:
        return round(float(sum(row[name] for row in rows)) / len(rows), 6)

    return {
        "n": len(rows),
        "corpus": round(bleu(found, effective=False), 6),
        "corpus_bleu1": round(bleu(found, 1, effective=False), 6),
        "effective": mean("value"),
        "unsmoothed": mean("bleu4_unsmoothed"),
        "ceiling": mean("ceiling"),
    }
