"""The report's three jobs: tables, then figures, then the page. Each names its outputs before it runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from slicewise import artifacts, layout
from slicewise.benchmarks import ct
from slicewise.jobs import ReportJob
from slicewise.report.ct import files as ct_files

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

PLAIN = ("parquet", "csv", "md")
BREAKDOWNS = ("domain", "task", "label", "question-type", "modality")
DIAGNOSTICS = ("blind", "detection", "counting", "grounding", "conventions", "reproduce")
FIGURES = ("scores", "boxes", "outcomes", "iou", "offsets", "examples", "reproduce")
PAGE = layout.stage("report") / "index.html"


def is_ct(job: ReportJob) -> bool:
    """Whether the suite is one of CT benchmarks, whose report has other tables and figures."""
    return all(ct.is_ct(name) for name in job.benchmarks)


def table_outputs(job: ReportJob) -> list[Path]:
    """Every file that :func:`tables` writes, relative to the project's root."""
    if is_ct(job):
        return ct_files.tables()
    report = layout.stage("report")
    names = [*DIAGNOSTICS, *(f"breakdown-{name}" for name in BREAKDOWNS)]
    return [
        *(layout.table(name, suffix) for name in job.benchmarks for suffix in (*PLAIN, "tex")),
        *(layout.table(f"{name}-cells", "md") for name in job.benchmarks),
        *(layout.table("cells", suffix) for suffix in ("parquet", "csv")),
        *(layout.table(name, suffix) for name in names for suffix in PLAIN),
        report / "metrics.json",
        *(report / "plots" / f"{name}.csv" for name in ("scores", "outcomes", "grounding")),
    ]


def figure_names(job: ReportJob) -> list[str]:
    """Names of the figures: each kind once per benchmark, such as ``scores-sgmri-image``."""
    return [f"{kind}-{benchmark}" for benchmark in job.benchmarks for kind in FIGURES]


def figure_outputs(job: ReportJob) -> list[Path]:
    """Every file that :func:`figures` writes, relative to the project's root."""
    if is_ct(job):
        return ct_files.figures()
    return [layout.figure(name, suffix) for name in figure_names(job) for suffix in ("pdf", "png")]


def site_outputs(job: ReportJob) -> list[Path]:
    """Every file that :func:`site` writes, relative to the project's root."""
    return [PAGE]


def _write(
    root: Path, name: str, rows: Iterable[Mapping[str, Any]], schema: pa.Schema, decimals: int | None = None
) -> list[dict[str, Any]]:
    """Write a table as Parquet and CSV (floats with fixed decimals if asked); returns its rows as written."""
    from slicewise.report.render import csv_text

    table = artifacts.write_rows(root / layout.table(name, "parquet"), rows, schema)
    written: list[dict[str, Any]] = table.to_pylist()
    columns = [column for column in schema.names if column != "position"]
    artifacts.write_text(root / layout.table(name, "csv"), csv_text(columns, written, decimals))
    return written


def _records(frame: pd.DataFrame, schema: pa.Schema) -> list[dict[str, Any]]:
    """Rows of a pandas table with null for NaN."""
    import pyarrow as pa

    rows: list[dict[str, Any]] = pa.Table.from_pandas(frame, schema=schema, preserve_index=False).to_pylist()
    return rows


def tables(job: ReportJob, root: Path) -> None:
    """Write all tables, ``metrics.json`` and the numbers of the plots.

    Args:
        job: The report's settings.
        root: The project's root; scores are read and results written below it.

    Raises:
        UserError: A score file is missing or wrong.
    """
    if is_ct(job):
        from slicewise.report.ct import run as ct_run

        ct_run.write_tables(job, root)
        return
    from slicewise.report import cells as cells_module
    from slicewise.report import collect, diagnostics, grids, metrics

    items = collect.items(job, root)
    cells = cells_module.cells(items, job)
    _write(root, "cells", _records(cells, cells_module.CELLS), cells_module.CELLS)
    for benchmark in job.benchmarks:
        _layout_table(job, root, benchmark, cells)
    grounding = _write(root, "grounding", diagnostics.grounding(job, root), diagnostics.GROUNDING)
    detection = _write(root, "detection", diagnostics.detection(job, root), diagnostics.DETECTION)
    counting = _write(root, "counting", diagnostics.counting(job, root), diagnostics.COUNTING)
    for name, title, rows, grid in (
        ("grounding", "Grounding diagnostics", grounding, grids.grounding),
        ("detection", "Detection diagnostics", detection, grids.detection),
        ("counting", "Counting diagnostics", counting, grids.counting),
    ):
        made = [grid(rows, benchmark, job) for benchmark in job.benchmarks]
        text = grids.page(title, (), [g for g in made if g.rows])
        artifacts.write_text(root / layout.table(name, "md"), text)
    _blind(job, root, items, cells)
    _conventions(job, root)
    _reproduce(job, root, cells)
    for name in BREAKDOWNS:
        _breakdown(job, root, items, name)
    metrics.write(root, cells, grounding)


def _layout_table(job: ReportJob, root: Path, benchmark: str, cells: pd.DataFrame) -> None:
    from slicewise.report import grids, render
    from slicewise.report import tables as layouts

    table = layouts.build(benchmark, cells, job)
    _write(root, benchmark, layouts.records(table), layouts.schema(table), decimals=2)
    artifacts.write_text(root / layout.table(benchmark, "md"), render.markdown(table))
    artifacts.write_text(root / layout.table(benchmark, "tex"), render.latex(table))
    companion = grids.page(benchmark, table.notes, [grids.companion(cells, benchmark, job)])
    artifacts.write_text(root / layout.table(f"{benchmark}-cells", "md"), companion)


def _blind(job: ReportJob, root: Path, items: pd.DataFrame, cells: pd.DataFrame) -> None:
    from slicewise.report import blind, grids

    table = blind.compare(items, cells, job)
    _write(root, "blind", _records(table, blind.BLIND), blind.BLIND)
    said = blind.lines(table, job)
    notes = [f"{benchmark}: {line}" for benchmark in job.benchmarks for line in said[benchmark]]
    made = [grids.blind(table, benchmark, job) for benchmark in job.benchmarks]
    text = grids.page("Better than blind?", notes, [g for g in made if g.rows])
    artifacts.write_text(root / layout.table("blind", "md"), text)


def _conventions(job: ReportJob, root: Path) -> None:
    from slicewise.report import conventions, grids

    rows = _write(root, "conventions", conventions.alarms(job, root), conventions.CONVENTIONS)
    said = [line for benchmark in job.benchmarks for line in conventions.sentences(rows, benchmark)]
    made = [grids.conventions(rows, benchmark) for benchmark in job.benchmarks]
    notes = said or ["No model names right findings while its boxes hit nothing."]
    text = grids.page("Box conventions: warnings", notes, [g for g in made if g.rows])
    artifacts.write_text(root / layout.table("conventions", "md"), text)


def _reproduce(job: ReportJob, root: Path, cells: pd.DataFrame) -> None:
    from slicewise.report import grids, reproduce

    rows = reproduce.reproduce(cells, job)
    _write(root, "reproduce", rows, reproduce.CELLS)
    said = [line for benchmark in job.benchmarks for line in reproduce.sentences(rows, benchmark)]
    text = grids.page("Published tables", said, [grids.reproduce(rows, benchmark) for benchmark in job.benchmarks])
    artifacts.write_text(root / layout.table("reproduce", "md"), text)


def _breakdown(job: ReportJob, root: Path, items: pd.DataFrame, name: str) -> None:
    from slicewise.report import breakdowns, collect, grids

    table = breakdowns.breakdown(items, name, job)
    _write(root, f"breakdown-{name}", _records(table, breakdowns.SCHEMA), breakdowns.SCHEMA)
    made = [
        grids.breakdown(table, name, benchmark, column, job)
        for benchmark in job.benchmarks
        for column in collect.columns(benchmark)[:-1]
    ]
    text = grids.page(f"Scores by {name.replace('-', ' ')}", (), made)
    artifacts.write_text(root / layout.table(f"breakdown-{name}", "md"), text)


def figures(job: ReportJob, root: Path) -> None:
    """Draw all figures from the tables and the scores.

    Args:
        job: The report's settings.
        root: The project's root.

    Raises:
        UserError: The tables are missing, or a frame cannot be read.
    """
    if is_ct(job):
        from slicewise.report.ct import run as ct_run

        ct_run.write_figures(job, root)
        return
    from slicewise.report import figures as drawings

    drawings.draw(job, root)


def site(job: ReportJob, root: Path) -> None:
    """Write the page ``results/report/index.html``.

    Args:
        job: The report's settings.
        root: The project's root.

    Raises:
        UserError: The tables are missing.
    """
    if is_ct(job):
        from slicewise.report.ct import run as ct_run

        ct_run.write_site(job, root)
        return
    from slicewise.report.site import build

    artifacts.write_text(root / PAGE, build.render(job, root))
