"""Cells of the tables: mean, n, coverage, outcome counts, intervals and bounds."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa
from scipy import stats

from slicewise import artifacts
from slicewise.benchmarks import sgmri
from slicewise.jobs import ReportJob
from slicewise.outcome import MACHINE_FAILURES, Outcome
from slicewise.report import collect
from slicewise.report import statistics as st

DECIMALS = 6  # of every interval: the sums behind them may differ in the last bits between processors
_MACHINE = [outcome.value for outcome in MACHINE_FAILURES]
_KEY: list[tuple[str, pa.DataType, bool]] = [
    ("benchmark", pa.string(), False),
    ("model", pa.string(), False),
    ("column", pa.string(), False),
]
STATISTICS: list[tuple[str, pa.DataType, bool]] = [
    ("value", pa.float64(), True),  # in [0, 1]; null when no item has a value
    ("n", pa.int64(), False),  # items in the mean
    ("n_ok", pa.int64(), False),  # items with a reading
    ("coverage", pa.float64(), True),  # n_ok over the items with a reference
    ("clusters", pa.int64(), False),  # volumes
    ("effective_clusters", pa.float64(), True),  # Kish's: fewer than volumes when some hold most items
    ("se", pa.float64(), True),  # CR1
    ("t_low", pa.float64(), True),
    ("t_high", pa.float64(), True),
    ("incomplete", pa.bool_(), False),
    ("worst", pa.float64(), True),  # the mean if every item lost by the machinery had scored 0
    ("best", pa.float64(), True),  # ... or 1; both null when nothing was lost
    *((outcome, pa.int64(), False) for outcome in collect.OUTCOMES),
]
CELLS = artifacts.table_schema(
    "cells",
    [
        ("position", pa.int64(), False),
        *_KEY,
        *STATISTICS,
        ("low", pa.float64(), True),  # cluster bootstrap
        ("high", pa.float64(), True),
        ("proxy", pa.bool_(), False),
        ("comparable", pa.bool_(), False),  # with the published tables
    ],
    ["position"],
)


def summarize(items: pd.DataFrame, by: list[str], confidence: float) -> pd.DataFrame:
    """Mean, n, coverage, outcome counts, CR1 interval and bounds per group, in the order of first appearance.

    Args:
        items: Item scores as :func:`slicewise.report.collect.items` gives them.
        by: Columns that make a group.
        confidence: Of the Student-t interval, such as 0.95.

    Returns:
        ``by`` and the columns of ``STATISTICS``; NaN where undefined.
    """
    counts = items.groupby([*by, "outcome"], sort=False, dropna=False).size().unstack("outcome", fill_value=0)
    table = counts.reindex(columns=list(collect.OUTCOMES), fill_value=0)
    order = items.drop_duplicates(by).set_index(by).index
    table = table.reindex(order).astype(np.int64)
    table = table.join(_moments(items, by, table.index))
    lost = table[_MACHINE].sum(axis=1)
    table["n_ok"] = table[Outcome.OK.value]
    with np.errstate(invalid="ignore"):
        table["value"] = table["total"] / table["n"]
        table["coverage"] = table["n_ok"] / (table["n"] + lost)
        half = stats.t.ppf((1 + confidence) / 2, np.maximum(table["effective_clusters"] - 1, 1)) * table["se"]
    table["incomplete"] = lost > 0
    table["worst"] = (table["total"] / (table["n"] + lost)).where(lost > 0).round(DECIMALS)
    table["best"] = ((table["total"] + lost) / (table["n"] + lost)).where(lost > 0).round(DECIMALS)
    table["t_low"] = (table["value"] - half).round(DECIMALS)
    table["t_high"] = (table["value"] + half).round(DECIMALS)
    table["se"] = table["se"].round(DECIMALS)
    return table[[name for name, _, _ in STATISTICS]].reset_index()


def _moments(items: pd.DataFrame, by: list[str], index: pd.Index) -> pd.DataFrame:
    """Total, n, number of clusters and CR1 standard error per group."""
    counted = items[items["counted"]]
    parts = counted.groupby([*by, "volume_id"], dropna=False)["x"].agg(["sum", "count"])
    keys = list(range(len(by)))
    whole = parts.groupby(level=keys, dropna=False).agg(
        total=("sum", "sum"), n=("count", "sum"), clusters=("sum", "size")
    )
    groups = parts.groupby(level=keys, dropna=False)
    total = groups["sum"].transform("sum").to_numpy(dtype=np.float64)
    n = groups["count"].transform("sum").to_numpy(dtype=np.float64)
    pull = (parts["sum"].to_numpy() - total / n * parts["count"].to_numpy()) / n
    squares = pd.Series(pull**2, index=parts.index).groupby(level=keys, dropna=False).sum()
    many = whole["clusters"].where(whole["clusters"] > 1)
    whole["se"] = np.sqrt(many / (many - 1) * squares)
    sizes = (parts["count"] ** 2).groupby(level=keys, dropna=False).sum()
    whole["effective_clusters"] = (whole["n"] ** 2 / sizes).round(DECIMALS)
    whole = whole.reindex(index)
    return whole.fillna({"total": 0.0}).assign(
        n=whole["n"].fillna(0).astype(np.int64), clusters=whole["clusters"].fillna(0).astype(np.int64)
    )


def cells(items: pd.DataFrame, job: ReportJob) -> pd.DataFrame:
    """Every cell of every table, Avg. included, with cluster-bootstrap intervals.

    All columns of a benchmark are resampled by the same draws of volumes, so the interval of Avg. respects that its
    columns share volumes.

    Returns:
        The columns of ``CELLS``, ordered by benchmark, model and column as declared.
    """
    base = summarize(items, ["benchmark", "model", "column"], job.report.confidence)
    parts = []
    for benchmark in job.benchmarks:
        mine = items[(items["benchmark"] == benchmark) & items["counted"]]
        volumes = np.unique(items.loc[items["benchmark"] == benchmark, "volume_id"].to_numpy(dtype=str))
        weights = st.resample(len(volumes), job.report.bootstrap_draws, job.report.seed)
        for model in job.models:
            rows = base[(base["benchmark"] == benchmark) & (base["model"] == model.name)]
            sums, counts = totals(mine[mine["model"] == model.name], volumes, list(rows["column"]))
            parts.append(_model_cells(rows, sums, counts, weights, job.report.confidence))
    table = pd.concat(parts, ignore_index=True)
    table["position"] = np.arange(len(table))
    table["proxy"] = [collect.is_proxy(job, column) for column in table["column"]]
    released = table["benchmark"].map(lambda name: sgmri.benchmark(name).source == "released")
    table["comparable"] = released & (job.protocol == "reference") & ~table["proxy"] & ~table["incomplete"]
    return table[list(CELLS.names)]


def totals(
    items: pd.DataFrame, volumes: npt.NDArray[np.str_], columns: list[str]
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    """Sums and counts of the counted items, both of shape (volumes, columns)."""
    row = np.searchsorted(volumes, items["volume_id"].to_numpy(dtype=str))
    place = row * len(columns) + pd.Index(columns).get_indexer(pd.Index(items["column"]))
    shape = (len(volumes), len(columns))
    size = len(volumes) * len(columns)
    sums = (
        np.bincount(place, weights=items["x"].to_numpy(dtype=np.float64), minlength=size)
        .astype(np.float64)
        .reshape(shape)
    )
    counts = np.bincount(place, minlength=size).astype(np.float64).reshape(shape)
    return sums, counts


def _model_cells(
    rows: pd.DataFrame,
    sums: npt.NDArray[np.float64],
    counts: npt.NDArray[np.float64],
    weights: npt.NDArray[np.int64],
    confidence: float,
) -> pd.DataFrame:
    means = st.bootstrap_means(sums, counts, weights)
    ends = [
        st.percentile_interval(means[:, k], st.effective_clusters(counts[:, k]), confidence)
        if counts[:, k].any()
        else None
        for k in range(means.shape[1])
    ]
    average = _average(rows, sums, counts, confidence)
    effective = average["effective_clusters"]
    ends.append(None if np.isnan(effective) else st.percentile_interval(means.mean(axis=1), effective, confidence))
    table = pd.concat([rows, pd.DataFrame([average])], ignore_index=True)
    table["low"] = [np.nan if end is None else round(end.low, DECIMALS) for end in ends]
    table["high"] = [np.nan if end is None else round(end.high, DECIMALS) for end in ends]
    return table


def _average(
    rows: pd.DataFrame, sums: npt.NDArray[np.float64], counts: npt.NDArray[np.float64], confidence: float
) -> dict[str, Any]:
    """The Avg. cell: plain mean of the columns, undefined when one of them is."""
    value = float(rows["value"].mean(skipna=False))
    clusters = int((counts.sum(axis=1) > 0).sum())
    complete = bool((counts.sum(axis=0) > 0).all())
    se: float | None = None
    effective = math.nan
    if complete:
        effective = st.effective_clusters((counts / counts.sum(axis=0)).mean(axis=1))
        pull = np.mean([st.influence(sums[:, k], counts[:, k]) for k in range(sums.shape[1])], axis=0)
        se = st.cr1_from_influence(pull, clusters)
    ends = st.t_interval(value, se, effective, confidence)
    bounds = {name: rows[name].fillna(rows["value"]).mean() for name in ("worst", "best")}
    incomplete = bool(rows["incomplete"].any())
    summed = {name: int(rows[name].sum()) for name in ("n", "n_ok", *collect.OUTCOMES)}
    expected = summed["n"] + sum(summed[name] for name in _MACHINE)
    return {
        "benchmark": rows["benchmark"].iloc[0],
        "model": rows["model"].iloc[0],
        "column": sgmri.AVERAGE,
        **summed,
        "value": value,
        "coverage": summed["n_ok"] / expected if expected else np.nan,
        "clusters": clusters,
        "effective_clusters": round(effective, DECIMALS),
        "se": np.nan if se is None else round(se, DECIMALS),
        "t_low": np.nan if ends is None else round(ends.low, DECIMALS),
        "t_high": np.nan if ends is None else round(ends.high, DECIMALS),
        "incomplete": incomplete,
        **{name: round(float(bound), DECIMALS) if incomplete else np.nan for name, bound in bounds.items()},
    }
