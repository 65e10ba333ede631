"""How much a table depends on what the papers leave open: stored answers re-scored under each choice, one at a time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from slicewise import artifacts, jobs
from slicewise.benchmarks import sgmri
from slicewise.jobs import ReportJob
from slicewise.outcome import MACHINE_FAILURES, Outcome
from slicewise.params import Params
from slicewise.report import collect, sides, variants
from slicewise.report.cells import DECIMALS
from slicewise.report.render import csv_text, grid, percent
from slicewise.report.variants import Option, Place, Unavailable

SENSITIVITY = artifacts.table_schema(
    "sensitivity",
    [
        ("position", pa.int64(), False),
        ("benchmark", pa.string(), False),
        ("model", pa.string(), False),
        ("column", pa.string(), False),
        ("choice", pa.string(), False),
        ("option", pa.string(), False),
        ("value", pa.float64(), True),
        ("base", pa.float64(), True),  # the run's own
        ("difference", pa.float64(), True),
        ("rank", pa.int64(), True),  # among the models but the oracle; equal printed scores share a rank
        ("base_rank", pa.int64(), True),
        ("ranking_changes", pa.bool_(), False),  # of any model in the column
        ("unavailable", pa.string(), True),  # why it could not be computed from what is stored
    ],
    ["position"],
)
Means = dict[tuple[str, str], float | None]  # (model, column) to mean


def sensitivity(settings: Params, root: Path) -> list[dict[str, Any]]:
    """Rows of ``SENSITIVITY``.

    Args:
        settings: The run's settings.
        root: Folder that holds ``results/``, the response store and the pair cache.

    Raises:
        UserError: A file of the run is missing.
    """
    job = jobs.report_job(settings)
    sides.only_sgmri("report sensitivity", job)
    rows: list[dict[str, Any]] = []
    for benchmark in job.benchmarks:
        one = job.model_copy(update={"benchmarks": [benchmark]})
        base = means(collect.items(one, root), one)
        for option in variants.options(settings, job):
            rows += _option(settings, one, root, option, base)
    return [{**row, "position": position} for position, row in enumerate(rows)]


def _option(settings: Params, job: ReportJob, root: Path, option: Option, base: Means) -> Iterator[dict[str, Any]]:
    (benchmark,) = job.benchmarks
    failed: dict[str, str] = {}
    with TemporaryDirectory(prefix="slicewise-") as temporary:
        folder = Path(temporary)
        for model in job.models:
            variants.overlay(root, folder, benchmark, model.name)
            try:
                option.apply(Place(settings, root, folder, benchmark, model.name))
            except Unavailable as error:
                failed[model.name] = str(error)
        found = _found(job, folder, option) if len(failed) < len(job.models) else {}
    if not option.one_model and failed:
        found = {}
    for model in job.models:
        for column in [*(c for c in collect.columns(benchmark) if c in option.columns), sgmri.AVERAGE]:
            key = (model.name, column)
            value = None if model.name in failed else found.get(key)
            changed = {**base, key: value} if option.one_model else {k: found.get(k) for k in base}
            usable = value is not None
            ranks, before = _both_ranks(changed if usable else {}, base, job, column)
            yield {
                "benchmark": benchmark,
                "model": model.name,
                "column": column,
                "choice": option.choice,
                "option": option.name,
                "value": value,
                "base": base[key],
                "difference": _difference(value, base[key]),
                "rank": ranks.get(model.name),
                "base_rank": before.get(model.name),
                "ranking_changes": ranks != before,
                "unavailable": failed.get(model.name) or (None if usable else _why(failed, base[key])),
            }


def _why(failed: Mapping[str, str], base: float | None) -> str | None:
    """Why a model that did not fail itself has no number."""
    if failed:
        return f"not for every model: {next(iter(failed.values()))}"
    return "no item has a result" if base is None else None


def _difference(value: float | None, base: float | None) -> float | None:
    return None if value is None or base is None else round(value - base, DECIMALS)


def _found(job: ReportJob, folder: Path, option: Option) -> Means:
    read = job.model_copy(update={"protocol": option.protocol}) if option.protocol else job
    items = collect.items(read, folder)
    if option.drop:
        items["counted"] = items["outcome"] == Outcome.OK.value
    if option.zero:
        lost = items["outcome"].isin([outcome.value for outcome in MACHINE_FAILURES])
        items = items.assign(counted=items["counted"] | lost, x=items["x"].where(~lost, 0.0))
    return means(items, read)


def means(items: pd.DataFrame, job: ReportJob) -> Means:
    """Mean of every model and column, Avg. included; ``None`` where no item counts."""
    counted = items[items["counted"]].groupby(["model", "column"])["x"].mean()
    columns = collect.columns(job.benchmarks[0])
    found: Means = {}
    for model in job.models:
        own = [counted.get((model.name, column)) for column in columns[:-1]]
        whole = (
            None if any(value is None for value in own) else float(np.mean([float(x) for x in own if x is not None]))
        )
        for column, value in zip(columns, [*own, whole], strict=True):
            found[model.name, column] = None if value is None else round(float(value), DECIMALS)
    return found


def _both_ranks(changed: Means, base: Means, job: ReportJob, column: str) -> tuple[dict[str, int], dict[str, int]]:
    """The ranks of the models that have a score either way; the oracle has none."""
    models = [m.name for m in job.models if m.baseline != "oracle"]
    shared = [name for name in models if None not in (changed.get((name, column)), base.get((name, column)))]
    return _ranks(changed, shared, column), _ranks(base, shared, column)


def _ranks(values: Means, models: Sequence[str], column: str) -> dict[str, int]:
    """1 for the best; equal printed scores share a rank."""
    printed = {name: f"{100 * (values[name, column] or 0.0):.2f}" for name in models}
    places = sorted(map(float, printed.values()), reverse=True)
    return {name: 1 + places.index(float(text)) for name, text in printed.items()}


# --- output ---------------------------------------------------------------------------------------------------------


def markdown(rows: Sequence[Mapping[str, Any]]) -> str:
    """Per benchmark: the range of every column per model, then what each option does to Avg. and to the ranking."""
    parts = ["# How much the scores depend on what is left open\n"]
    for benchmark in dict.fromkeys(row["benchmark"] for row in rows):
        mine = [row for row in rows if row["benchmark"] == benchmark]
        parts += [f"## {benchmark}: lowest to highest score x 100 over all options\n", _ranges(mine, benchmark)]
        parts += [f"## {benchmark}: every option, one at a time\n", _options(mine)]
    return "\n".join(parts)


def _ranges(rows: Sequence[Mapping[str, Any]], benchmark: str) -> str:
    titles = collect.column_titles(benchmark)
    models = list(dict.fromkeys(row["model"] for row in rows))
    made = [
        [model, *(_range([r for r in rows if r["model"] == model and r["column"] == c]) for c in titles)]
        for model in models
    ]
    return grid(["Model", *titles.values()], made)


def _range(rows: Sequence[Mapping[str, Any]]) -> str:
    values = [row[name] for row in rows for name in ("value", "base") if row[name] is not None]
    if not values:
        return "–"
    low, high = percent(min(values)), percent(max(values))
    return low if low == high else f"{low} to {high}"


def _options(rows: Sequence[Mapping[str, Any]]) -> str:
    made = []
    for choice, option in dict.fromkeys((row["choice"], row["option"]) for row in rows):
        mine = [row for row in rows if (row["choice"], row["option"]) == (choice, option)]
        known = [row for row in mine if row["difference"] is not None]
        if not known:
            why = next((row["unavailable"] for row in mine if row["unavailable"]), "no item has a result")
            made.append([choice, option, "–", "–", f"unavailable: {why}"])
            continue
        most = max(known, key=lambda row: abs(row["difference"]))
        moved = sorted({row["column"] for row in known if row["ranking_changes"]})
        what = "–" if not most["difference"] else f"{100 * most['difference']:+.2f} ({most['model']}, {most['column']})"
        shifts = len({(row["model"], row["column"]) for row in known if row["difference"]})
        made.append([choice, option, str(shifts), what, f"changes in {', '.join(moved)}" if moved else "the same"])
    return grid(["Choice", "Option", "Scores moved", "Largest", "Ranking"], made, 2)


def write(rows: Sequence[Mapping[str, Any]], folder: Path) -> list[Path]:
    """Write the table as Markdown, CSV and Parquet, and a figure of the ranges per benchmark.

    Returns:
        The files.
    """
    artifacts.write_text(folder / "sensitivity.md", markdown(rows))
    table = artifacts.write_rows(folder / "sensitivity.parquet", rows, SENSITIVITY)
    columns = [name for name in SENSITIVITY.names if name != "position"]
    artifacts.write_text(folder / "sensitivity.csv", csv_text(columns, table.to_pylist()))
    benchmarks = list(dict.fromkeys(row["benchmark"] for row in rows))
    for benchmark in benchmarks:
        _figure([row for row in rows if row["benchmark"] == benchmark], benchmark, folder / f"sensitivity-{benchmark}")
    figures = [folder / f"sensitivity-{name}.{suffix}" for name in benchmarks for suffix in ("pdf", "png")]
    return [*(folder / f"sensitivity.{suffix}" for suffix in ("md", "csv", "parquet")), *figures]


def _figure(rows: Sequence[Mapping[str, Any]], benchmark: str, stem: Path) -> None:
    """One panel per column: a bar from the lowest to the highest option per model, and the run's own score."""
    from slicewise.report import style

    titles = collect.column_titles(benchmark)
    models = list(dict.fromkeys(row["model"] for row in rows))
    with style.styled():
        figure, axes = style.panels(len(titles), 4, style.DOUBLE, 0.75 + 0.15 * len(models), sharex=True, sharey=True)
        for axis, (column, title) in zip(axes, titles.items(), strict=True):
            for y, model in enumerate(models):
                mine = [row for row in rows if row["model"] == model and row["column"] == column]
                values = [100 * row[name] for row in mine for name in ("value", "base") if row[name] is not None]
                if values:
                    axis.plot([min(values), max(values)], [y, y], color=style.SKY, linewidth=3, solid_capstyle="butt")
                if mine and mine[0]["base"] is not None:
                    axis.plot(100 * mine[0]["base"], y, "o", markersize=3.5, color=style.BLUE)
            axis.set_title(title)
            axis.grid(axis="x")
            axis.tick_params(labelbottom=True)
        figure.supxlabel("score × 100: the run (dot), lowest to highest option (bar)", fontsize=7.5)
        axes[0].set_xlim(-4, 104)
        axes[0].set_ylim(len(models) - 0.5, -0.5)
        axes[0].set_yticks(range(len(models)), models)
        style.save(figure, stem)
