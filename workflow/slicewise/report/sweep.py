"""Many versions of the results in one table and one figure, such as the experiments of a sweep over judges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from slicewise import artifacts
from slicewise.benchmarks import sgmri
from slicewise.errors import UserError
from slicewise.report import cells, collect, compare
from slicewise.report.grids import span
from slicewise.report.render import csv_text, grid, percent
from slicewise.report.sides import Side, differences
from slicewise.report.tables import INCOMPLETE, PROXY

SWEEP = artifacts.table_schema(
    "sweep",
    [
        ("position", pa.int64(), False),
        ("version", pa.string(), False),
        ("benchmark", pa.string(), False),
        ("model_b", pa.string(), False),
        ("column", pa.string(), False),
        ("value", pa.float64(), True),
        ("low", pa.float64(), True),  # cluster bootstrap
        ("high", pa.float64(), True),
        ("n", pa.int64(), False),
        ("difference", pa.float64(), True),  # from the first version, on the same items
        ("p", pa.float64(), True),
        ("p_holm", pa.float64(), True),  # over all comparisons of the sweep
        ("verdict", pa.string(), False),  # better | worse | not shown | same | not tested | base
        ("proxy", pa.bool_(), False),
        ("incomplete", pa.bool_(), False),
    ],
    ["position"],
)


@dataclass(frozen=True)
class Sweep:
    """A sweep.

    Attributes:
        sides: The versions; the first is the base.
        settings: Names of the settings that differ, to their value in each version.
        rows: Rows of ``SWEEP``.
    """

    sides: list[Side]
    settings: dict[str, list[Any]]
    rows: list[dict[str, Any]]


def sweep(sides: Sequence[Side]) -> Sweep:
    """Scores of every version, and their paired differences from the first.

    Raises:
        UserError: The versions share no benchmark or no model, or a name is given twice.
    """
    sides = list(sides)
    names = [side.name for side in sides]
    if len(set(names)) != len(names):
        raise UserError(f"compare --sweep: a version is named twice in {names}.")
    found = [(side, differences(sides[0], side)) for side in sides[1:]]
    words = dict.fromkeys(
        d.words for _, differ in found for d in differ if d.words[0] != "code" and d.words != ("models",)
    )
    settings = {".".join(w): [side.settings.get(w) for side in sides] for w in words}
    rows = _rows(sides)
    if not rows:
        raise UserError(f"compare --sweep: {names} share no benchmark and model; expected at least one in all.")
    return Sweep(sides, settings, _judged(rows, sides[0].name))


def _judged(rows: list[dict[str, Any]], base: str) -> list[dict[str, Any]]:
    """Holm's correction over all comparisons; the base has none."""
    split = sum(row["version"] == base for row in rows)
    own = [{**row, "p_holm": None, "verdict": "base"} for row in rows[:split]]
    made = [*own, *compare.judged(rows[split:])]
    return [{name: {**row, "position": i}[name] for name in SWEEP.names} for i, row in enumerate(made)]


def _rows(sides: Sequence[Side]) -> list[dict[str, Any]]:
    benchmarks = [b for b in sides[0].job.benchmarks if all(b in side.job.benchmarks for side in sides)]
    shared = [m.name for m in sides[0].job.models if all(m.name in _models(side) for side in sides)]
    if not benchmarks or not shared:
        return []
    base = compare.counted(sides[0], benchmarks)
    return [row for side in sides for row in _of_side(side, benchmarks, shared, base)]


def _models(side: Side) -> set[str]:
    return {model.name for model in side.job.models}


def _of_side(side: Side, benchmarks: list[str], models: list[str], base: pd.DataFrame) -> list[dict[str, Any]]:
    declared = [model for model in side.job.models if model.name in models]
    job = side.job.model_copy(update={"benchmarks": benchmarks, "models": declared})
    items = collect.items(job, side.root)
    counted = items[items["counted"]]
    rows = []
    for cell in collect.records(cells.cells(items, job)):
        benchmark, column = cell["benchmark"], cell["column"]
        members = collect.columns(benchmark)[:-1] if column == sgmri.AVERAGE else [column]
        mine, theirs = (
            frame[(frame["benchmark"] == benchmark) & (frame["model"] == cell["model"])] for frame in (base, counted)
        )
        volumes = np.unique(np.concatenate([mine["volume_id"].to_numpy(str), theirs["volume_id"].to_numpy(str)]))
        pair = compare.contrast(mine, theirs, volumes, members, side)
        named = {"version": side.name, "model_b": cell["model"], **{n: cell[n] for n in ("benchmark", "column", "n")}}
        numbers = {n: None if pd.isna(cell[n]) else float(cell[n]) for n in ("value", "low", "high")}
        marks = {n: bool(cell[n]) for n in ("proxy", "incomplete")}
        rows.append({**named, **numbers, **marks, **{n: pair[n] for n in ("difference", "p", "moved")}})
    return rows


# --- output ---------------------------------------------------------------------------------------------------------


def markdown(found: Sweep) -> str:
    """What differs between the versions, then one table per benchmark: versions down, columns across."""
    names = [side.name for side in found.sides]
    parts = [f"# {len(names)} versions, differences from {names[0]}\n"]
    if found.settings:
        rows = [[name, *(_word(value) for value in values)] for name, values in found.settings.items()]
        parts.append(grid(["Setting", *names], rows, len(names) + 1))
    for benchmark in dict.fromkeys(row["benchmark"] for row in found.rows):
        parts.append(f"## {benchmark}: score x 100, * differs from {names[0]} (Holm-corrected p < 0.05)\n")
        parts.append(_table(found, benchmark))
    return "\n".join(parts)


def _table(found: Sweep, benchmark: str) -> str:
    titles = collect.column_titles(benchmark)
    mine = [row for row in found.rows if row["benchmark"] == benchmark]
    by_key = {(row["model_b"], row["version"], row["column"]): row for row in mine}
    models = list(dict.fromkeys(row["model_b"] for row in mine))
    ordered = [(model, side.name) for model in models for side in found.sides]
    rows = [[*key, *(_cell(by_key[(*key, column)]) for column in titles)] for key in ordered]
    return grid(["Model", "Version", *titles.values()], rows, 2)


def _cell(row: dict[str, Any]) -> str:
    if row["value"] is None:
        return "–"
    marks = PROXY * row["proxy"] + INCOMPLETE * row["incomplete"] + "*" * (row["verdict"] in ("better", "worse"))
    return f"{percent(row['value'])}{marks} {span(row['low'], row['high'])}"


def _word(value: Any) -> str:
    return "none" if value is None else str(value)


def write(found: Sweep, folder: Path) -> list[Path]:
    """Write the table (Markdown, CSV, Parquet) and the figure (PDF, PNG).

    Returns:
        The files.
    """
    artifacts.write_text(folder / "sweep.md", markdown(found))
    table = artifacts.write_rows(folder / "sweep.parquet", found.rows, SWEEP)
    columns = [name for name in SWEEP.names if name != "position"]
    artifacts.write_text(folder / "sweep.csv", csv_text(columns, table.to_pylist()))
    _figure(found, folder / "sweep")
    return [folder / f"sweep.{suffix}" for suffix in ("md", "csv", "parquet", "pdf", "png")]


def _figure(found: Sweep, stem: Path) -> None:
    """One panel per benchmark and column: versions down, a mark with its interval per model."""
    from slicewise.report import style

    names = [side.name for side in found.sides]
    models = list(dict.fromkeys(row["model_b"] for row in found.rows))
    panels = list(dict.fromkeys((row["benchmark"], row["column"]) for row in found.rows))
    with style.styled():
        height = 0.75 + 0.06 * len(names) * (len(models) + 1)
        figure, axes = style.panels(len(panels) + 1, 4, style.DOUBLE, height, sharey=True)
        for axis, (benchmark, column) in zip(axes, panels, strict=False):
            mine = [row for row in found.rows if (row["benchmark"], row["column"]) == (benchmark, column)]
            for row in mine:
                if row["value"] is not None:
                    place = models.index(row["model_b"])
                    _mark(axis, row, names.index(row["version"]) + 0.7 * ((place + 0.5) / len(models) - 0.5), place)
            axis.set_title(f"{benchmark}\n{collect.column_titles(benchmark)[column]}", fontsize=6)
            axis.grid(axis="x")
        axes[0].set_yticks(range(len(names)), names)
        axes[0].set_ylim(len(names) - 0.5, -0.5)
        axes[-1].axis("off")
        axes[-1].legend(handles=_handles(models), loc="center left", title="score × 100", alignment="left")
        style.save(figure, stem)


def _look(place: int) -> tuple[str, str]:
    """Colour and marker of the model at a place."""
    from slicewise.report import style

    return style.CYCLE[place % len(style.CYCLE)], style.MARKERS[place % len(style.MARKERS)]


def _handles(models: Sequence[str]) -> list[Any]:
    from matplotlib.lines import Line2D

    looks = [(name, *_look(place)) for place, name in enumerate(models)]
    return [Line2D([], [], color=c, marker=m, markersize=3, linewidth=0.8, label=name) for name, c, m in looks]


def _mark(axis: Any, row: dict[str, Any], y: float, place: int) -> None:
    colour, marker = _look(place)
    if row["low"] is not None:
        axis.plot([100 * row["low"], 100 * row["high"]], [y, y], color=colour, linewidth=0.8)
    face = "white" if row["proxy"] else colour
    axis.plot(100 * row["value"], y, marker, markersize=3, color=colour, markerfacecolor=face)
