"""The first links: what a table prints is what its Parquet rows hold, and that is what the item scores make."""

from __future__ import annotations

import csv
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from slicewise import artifacts, layout
from slicewise.benchmarks import sgmri
from slicewise.errors import UserError
from slicewise.jobs import ReportJob
from slicewise.report import cells as cells_module
from slicewise.report import collect


@dataclass(frozen=True, slots=True)
class Fault:
    """A number that does not follow from what is below it."""

    subject: str
    detail: str


@dataclass(frozen=True)
class Checked:
    """Every number of the tables, and those that are wrong."""

    numbers: list[dict[str, Any]]
    faults: list[Fault]


def check(job: ReportJob, root: Path) -> Checked:
    """Compute every number of the tables again from the item scores.

    Returns:
        The numbers with their place, value and n; a file that cannot be read is a fault, not an exception.
    """
    try:
        written = artifacts.read_rows(root / layout.table("cells", "parquet"), cells_module.CELLS)
        again = collect.records(cells_module.cells(collect.items(job, root), job))
    except UserError as error:
        return Checked([], [Fault("tables", str(error))])
    made = {(row["benchmark"], row["model"], row["column"]): row for row in again}
    kept = {(row["benchmark"], row["model"], row["column"]): row for row in written}
    faults = list(_cells(made, kept))
    numbers: list[dict[str, Any]] = []
    for benchmark in job.benchmarks:
        mine = {key: row for key, row in kept.items() if key[0] == benchmark}
        printed = _printed(root, benchmark, job)
        faults += _table(benchmark, mine, printed)
        numbers += [_number(row, printed.get((row["model"], row["column"]))) for row in mine.values()]
    return Checked(numbers, faults)


def _cells(
    made: dict[tuple[str, str, str], dict[str, Any]], kept: dict[tuple[str, str, str], dict[str, Any]]
) -> Iterator[Fault]:
    """The cells that the score files make, beside those that were written."""
    where = layout.table("cells", "parquet").as_posix()
    for key in made.keys() | kept.keys():
        if key not in made or key not in kept:
            yield Fault(f"{where} {' '.join(key)}", "is not a cell of this run" if key in kept else "is missing")
            continue
        for name in ("value", "n", "low", "high"):
            if not _same(made[key][name], kept[key][name]):
                yield Fault(
                    f"{where} {' '.join(key)}",
                    f"{name} is {kept[key][name]}, but the item scores make {made[key][name]}",
                )


def _same(a: Any, b: Any) -> bool:
    if a is None or b is None or pd.isna(a) or pd.isna(b):
        return bool((a is None or pd.isna(a)) == (b is None or pd.isna(b)))
    return bool(a == b)


def _printed(root: Path, benchmark: str, job: ReportJob) -> dict[tuple[str, str], str]:
    """(Model, column) to what the CSV table prints in our block."""
    path = root / layout.table(benchmark, "csv")
    if not path.is_file():
        return {}
    titles = {model.title: model.name for model in job.models}
    found: dict[tuple[str, str], str] = {}
    with path.open(newline="", encoding="utf-8") as handle:
        for row in csv.DictReader(handle):
            if row.get("block") == "ours" and row.get("model") in titles:
                found |= {(titles[row["model"]], key): row[key] for key in collect.columns(benchmark) if key in row}
    return found


def _table(
    benchmark: str, mine: dict[tuple[str, str, str], dict[str, Any]], printed: dict[tuple[str, str], str]
) -> Iterator[Fault]:
    """What the table prints, beside the cells."""
    where = layout.table(benchmark, "csv").as_posix()
    for (_, model, column), row in mine.items():
        value = row["value"]
        wanted = "" if value is None or pd.isna(value) else f"{100 * value:.2f}"
        found = printed.get((model, column))
        if found is None:
            yield Fault(f"{where} {model} {column}", "is not in the table")
        elif found != wanted:
            yield Fault(f"{where} {model} {column}", f"prints {found or 'nothing'}, the cell is {wanted or 'empty'}")


def _number(row: dict[str, Any], printed: str | None) -> dict[str, Any]:
    value = None if row["value"] is None or pd.isna(row["value"]) else float(row["value"])
    named = {name: row[name] for name in ("benchmark", "model", "column")}
    metric = {c.key: c.metric for level in sgmri.LEVELS for c in sgmri.COLUMNS[level]}.get(row["column"], "all")
    return {**named, "metric": metric, "printed": printed, "value": value, "n": int(row["n"])}
