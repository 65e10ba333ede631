"""Numbers for DVC: ``metrics.json`` for ``dvc metrics diff``, long CSV files for ``dvc plots``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd

from slicewise import artifacts, layout
from slicewise.report import collect
from slicewise.report.render import csv_text

METRICS = layout.stage("report") / "metrics.json"
PLOTS = layout.stage("report") / "plots"
PLOT_COLUMNS: dict[str, tuple[str, ...]] = {
    "scores": ("benchmark", "model", "column", "value", "low", "high"),
    "outcomes": ("benchmark", "model", "column", "outcome", "items"),
    "grounding": ("benchmark", "model", "boxes_per_item", "v", "v_precision_aware", "f1_50"),
}


def _rounded(value: Any) -> float | None:
    return None if pd.isna(value) else round(float(value), 6)


def metrics(cells: pd.DataFrame) -> dict[str, dict[str, dict[str, dict[str, float | int | None]]]]:
    """``{benchmark: {model: {column: {value, n, coverage}}}}``, values in [0, 1] to 6 decimals."""
    tree: dict[str, dict[str, dict[str, dict[str, float | int | None]]]] = {}
    for row in collect.records(cells):
        leaf = {"value": _rounded(row["value"]), "n": int(row["n"]), "coverage": _rounded(row["coverage"])}
        tree.setdefault(row["benchmark"], {}).setdefault(row["model"], {})[row["column"]] = leaf
    return tree


def plot_path(name: str) -> Path:
    """Where a plot's numbers lie, relative to the project's root."""
    return PLOTS / f"{name}.csv"


def write(root: Path, cells: pd.DataFrame, grounding: Sequence[Mapping[str, Any]]) -> None:
    """Write ``metrics.json`` and the CSV files of the plots."""
    artifacts.write_json(root / METRICS, metrics(cells))
    records = collect.records(cells)
    rows: dict[str, Sequence[Mapping[str, Any]]] = {
        "scores": [row for row in records if not pd.isna(row["value"])],
        "outcomes": [
            {**row, "outcome": outcome, "items": row[outcome]} for row in records for outcome in collect.OUTCOMES
        ],
        "grounding": [row for row in grounding if row["v"] is not None],
    }
    for name, names in PLOT_COLUMNS.items():
        artifacts.write_text(root / plot_path(name), csv_text(names, rows[name]))
