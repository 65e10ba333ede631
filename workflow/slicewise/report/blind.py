"""Better than blind? Each model against the best baseline that never sees an image, on the same items."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
import pandas as pd
import pyarrow as pa

from slicewise import artifacts
from slicewise.benchmarks import sgmri
from slicewise.jobs import ReportJob, ReportModel
from slicewise.report import collect
from slicewise.report import statistics as st
from slicewise.report.cells import DECIMALS, totals

Floats = npt.NDArray[np.float64]
ALPHA = 0.05
BLIND = artifacts.table_schema(
    "blind",
    [
        ("position", pa.int64(), False),
        ("benchmark", pa.string(), False),
        ("model", pa.string(), False),
        ("column", pa.string(), False),
        ("baseline", pa.string(), True),  # the blind baseline with the highest score in this column
        ("difference", pa.float64(), True),  # model - baseline, over the items that both have
        ("low", pa.float64(), True),  # CR1 and Student t
        ("high", pa.float64(), True),
        ("p", pa.float64(), True),  # sign-flip permutation by volume, two-sided
        ("p_holm", pa.float64(), True),  # over all comparisons of the benchmark
        ("effect_size", pa.float64(), True),  # d_z over volumes
        ("detectable", pa.float64(), True),  # smallest true difference found with 80 % power
        ("n", pa.int64(), False),
        ("clusters", pa.int64(), False),
        ("verdict", pa.string(), False),  # better | worse | not shown | not tested
        ("proxy", pa.bool_(), False),
    ],
    ["position"],
)


def compare(items: pd.DataFrame, cells: pd.DataFrame, job: ReportJob) -> pd.DataFrame:
    """Paired comparison of every model that is not blind with the best blind baseline, per column and for Avg.

    The best baseline is picked by the same scores, which can only make it harder to beat. Items that either side
    lost to the machinery are left out of both.

    Returns:
        The columns of ``BLIND``; no rows when the run has no blind baseline.
    """
    rows: list[dict[str, Any]] = []
    blind = [model.name for model in job.models if collect.is_blind(model.baseline)]
    for benchmark in job.benchmarks if blind else []:
        mine = items[(items["benchmark"] == benchmark) & items["counted"]]
        volumes = np.unique(mine["volume_id"].to_numpy(dtype=str))
        own = [
            _row(benchmark, model, column, _best(cells, benchmark, blind, column), mine, volumes, job)
            for model in job.models
            if model.name not in blind
            for column in collect.columns(benchmark)
        ]
        rows += _with_verdicts(own)
    return pd.DataFrame([{**row, "position": position} for position, row in enumerate(rows)], columns=list(BLIND.names))


def _best(cells: pd.DataFrame, benchmark: str, blind: list[str], column: str) -> str | None:
    pool = cells[(cells["benchmark"] == benchmark) & cells["model"].isin(blind) & (cells["column"] == column)]
    pool = pool.dropna(subset=["value"])
    return None if pool.empty else str(pool["model"].iloc[int(pool["value"].to_numpy().argmax())])


class Paired(NamedTuple):
    """Differences of two models on the same items, by volume.

    Attributes:
        parts: Contribution of each volume to the mean difference; they add up to it.
        pulls: Influence of each volume; they add up to 0.
        effective: Effective number of volumes.
        n: Number of pairs.
    """

    parts: Floats
    pulls: Floats
    effective: float
    n: int


def pair(a: pd.DataFrame, b: pd.DataFrame, volumes: npt.NDArray[np.str_], columns: list[str]) -> Paired | None:
    """Mean difference a - b per volume, for the plain mean over columns.

    Args:
        a: Counted items of one model, with ``sample_id, volume_id, column, x``.
        b: The same of the other.
        volumes: All volumes, sorted.
        columns: One column, or the six whose plain mean is compared.

    Returns:
        The paired differences by volume; ``None`` when a column has no pair.
    """
    pairs = a.merge(b[["sample_id", "column", "x"]], on=["sample_id", "column"], suffixes=("", "_b"))
    pairs = pairs.assign(x=pairs["x"] - pairs["x_b"])
    sums, counts = totals(pairs, volumes, columns)
    number = counts.sum(axis=0)
    if not (number > 0).all():
        return None
    held = counts.sum(axis=1) > 0
    parts = (sums / number).mean(axis=1)[held]
    pulls = np.mean([st.influence(sums[:, k], counts[:, k]) for k in range(len(columns))], axis=0)[held]
    weights = (counts / number).mean(axis=1)[held]
    return Paired(parts, pulls, st.effective_clusters(weights), int(number.sum()))


def _row(
    benchmark: str,
    model: ReportModel,
    column: str,
    baseline: str | None,
    items: pd.DataFrame,
    volumes: npt.NDArray[np.str_],
    job: ReportJob,
) -> dict[str, Any]:
    row: dict[str, Any] = {
        **dict.fromkeys(BLIND.names),
        "benchmark": benchmark,
        "model": model.name,
        "column": column,
        "baseline": baseline,
        "proxy": collect.is_proxy(job, column),
        "n": 0,
        "clusters": 0,
    }
    if baseline is None:
        return row
    members = collect.columns(benchmark)[:-1] if column == sgmri.AVERAGE else [column]
    asked = items[items["column"].isin(members)]
    paired = pair(asked[asked["model"] == model.name], asked[asked["model"] == baseline], volumes, members)
    if paired is None:
        return row
    return {**row, **contrast(paired, job), "n": paired.n, "clusters": paired.parts.size}


def contrast(paired: Paired, job: ReportJob) -> dict[str, float | None]:
    """Difference, CR1 t interval, d_z, detectable effect and sign-flip p of a paired comparison."""
    difference = float(paired.parts.sum())
    se = st.cr1_from_influence(paired.pulls, paired.parts.size)
    ends = st.t_interval(difference, se, paired.effective, job.report.confidence)
    values = {
        "difference": difference,
        "low": ends.low if ends else None,
        "high": ends.high if ends else None,
        "effect_size": st.effect_size(paired.parts),
        "detectable": st.minimal_detectable_effect(se, paired.effective),
        "p": st.sign_flip_p(paired.parts, seed=job.report.seed),
    }
    return {name: None if value is None else round(value, DECIMALS) for name, value in values.items()}


def _with_verdicts(rows: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    for row, p in zip(rows, st.holm([row["p"] for row in rows]), strict=True):
        yield {**row, "p_holm": None if p is None else round(p, DECIMALS), "verdict": _verdict(row["difference"], p)}


def _verdict(difference: float | None, p: float | None) -> str:
    if difference is None or p is None:
        return "not tested"
    if p >= ALPHA:
        return "not shown"
    return "better" if difference > 0 else "worse"


def lines(table: pd.DataFrame, job: ReportJob) -> dict[str, list[str]]:
    """Benchmark -> one sentence per model: better than blind, or not."""
    titles = {model.name: model.title for model in job.models}
    said: dict[str, list[str]] = {benchmark: [] for benchmark in job.benchmarks}
    for (benchmark, model), rows in table.groupby(["benchmark", "model"], sort=False):
        whole = rows[rows["column"] == sgmri.AVERAGE].iloc[0]
        columns = rows[rows["column"] != sgmri.AVERAGE]
        better = int((columns["verdict"] == "better").sum())
        said[str(benchmark)].append(
            f"{titles[str(model)]}: {_sentence(whole)}; better in {better} of {len(columns)} columns."
        )
    return said


def _sentence(whole: pd.Series) -> str:
    if whole["verdict"] == "not tested":
        return "Avg. not tested against blind baselines"
    opening = {"better": "better than blind", "worse": "worse than blind", "not shown": "not shown to beat blind"}
    return (
        f"{opening[whole['verdict']]} (Avg. {100 * whole['difference']:+.2f} against {whole['baseline']}, "
        f"Holm-corrected p = {whole['p_holm']:.4f}{', proxy' if whole['proxy'] else ''})"
    )
