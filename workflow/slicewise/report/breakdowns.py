"""Scores per domain, task, label, question type and modality."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from slicewise import artifacts
from slicewise.jobs import ReportJob
from slicewise.report import collect
from slicewise.report.cells import STATISTICS, summarize

MACRO = "(macro mean)"  # the plain mean over the groups
MICRO = "(all items)"  # every item once
NO_GROUP = "(none)"

# Breakdown -> the item's field that makes the groups.
FIELDS = {
    "domain": "domain",
    "task": "task",
    "label": "labels",
    "question-type": "question_type",
    "modality": "modality",
}
SCHEMA = artifacts.table_schema(
    "breakdown",
    [
        ("position", pa.int64(), False),
        ("benchmark", pa.string(), False),
        ("model", pa.string(), False),
        ("column", pa.string(), False),
        ("group", pa.string(), False),
        *STATISTICS,
        ("proxy", pa.bool_(), False),
    ],
    ["position"],
)


def breakdown(items: pd.DataFrame, name: str, job: ReportJob) -> pd.DataFrame:
    """One breakdown of all benchmarks, models and columns, with CR1 intervals.

    An item with several labels counts once in each of them; one without counts in ``(none)``. The macro row is the
    plain mean over the groups, the micro row the mean over the items.

    Args:
        items: Item scores.
        name: A key of ``FIELDS``.
        job: The report's settings.

    Returns:
        The columns of ``SCHEMA``, groups in alphabetical order.
    """
    by = ["benchmark", "model", "column"]
    grouped = _grouped(items, FIELDS[name])
    parts = summarize(grouped, [*by, "group"], job.report.confidence)
    order = {key: i for i, key in enumerate(items.drop_duplicates(by)[by].itertuples(index=False, name=None))}
    if name == "task":  # a column is one task's metric already: there is nothing to pool
        table = parts
    else:
        whole = summarize(items, by, job.report.confidence).assign(group=MICRO)
        table = pd.concat([parts, _macro(parts, by), whole], ignore_index=True)
    rank = [order[key] for key in table[by].itertuples(index=False, name=None)]
    table = table.assign(
        rank=rank, last=table["group"].isin([MACRO]) + 2 * table["group"].isin([MICRO]).astype(int)
    ).sort_values(["rank", "last", "group"], ignore_index=True)
    table["position"] = np.arange(len(table))
    table["proxy"] = [collect.is_proxy(job, column) for column in table["column"]]
    return table[list(SCHEMA.names)]


def _grouped(items: pd.DataFrame, field: str) -> pd.DataFrame:
    if field == "labels":
        names: list[Any] = [sorted(set(labels)) or [NO_GROUP] for labels in items["labels"]]
        return items.assign(group=pd.Series(names, index=items.index)).explode("group", ignore_index=True)
    return items.assign(group=items[field].fillna(NO_GROUP).astype(str))


def _macro(parts: pd.DataFrame, by: list[str]) -> pd.DataFrame:
    """The mean over groups that have a value; counts are sums over the groups."""
    rules: dict[str, Any] = {name: "sum" for name, kind, _ in STATISTICS if pa.types.is_integer(kind)}
    rules |= {"value": "mean", "coverage": "mean", "incomplete": "max", "clusters": "max"}
    return parts.groupby(by, sort=False, as_index=False).agg(rules).assign(group=MACRO)
