"""The three jobs of a CT suite's report: tables, figures, the page."""

from __future__ import annotations

from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd
import pyarrow as pa

import slicewise
from slicewise import artifacts, layout
from slicewise.jobs import ReportJob
from slicewise.report import metrics as numbers
from slicewise.report import provenance
from slicewise.report import site as mri_site
from slicewise.report.collect import records as cell_records
from slicewise.report.ct import audit, collect, figures, files, tables
from slicewise.report.grids import Grid, page
from slicewise.report.render import csv_text


def write_tables(job: ReportJob, root: Path) -> None:
    """Write the published tables with ours beside, the cells behind them, and the audit.

    Raises:
        UserError: A score file is missing or wrong.
    """
    cells = collect.make(collect.items(job, root), job)
    _artifact(root, "ct-cells", _records(cells, collect.CELLS), collect.CELLS)
    tools = collect.tools(job, root)
    _artifact(root, "ct-tools", tools, collect.TOOLS)
    _artifact(root, "ct-text", collect.text_details(job, root), collect.TEXT)
    for name, grids in grids_of(job, root).items():
        artifacts.write_text(root / layout.table(name, "csv"), csv_text(grids[0].headers, _named(grids[0])))
        artifacts.write_text(root / layout.table(name, "md"), page(grids[0].caption, tables.notes(job), grids))
    audit.write(root / layout.stage("report") / "tables")
    artifacts.write_json(root / numbers.METRICS, numbers.metrics(cells))
    shown = [row for row in cell_records(cells) if not pd.isna(row["value"])]
    columns = numbers.PLOT_COLUMNS["scores"]
    artifacts.write_text(root / numbers.plot_path("scores"), csv_text(columns, shown))


def _records(frame: pd.DataFrame, schema: pa.Schema) -> list[dict[str, Any]]:
    """Rows of a pandas table with null for NaN."""
    rows: list[dict[str, Any]] = pa.Table.from_pandas(frame, schema=schema, preserve_index=False).to_pylist()
    return rows


def _artifact(root: Path, name: str, rows: list[dict[str, Any]], schema: pa.Schema) -> None:
    table = artifacts.write_rows(root / layout.table(name, "parquet"), rows, schema)
    columns = [column for column in schema.names if column != "position"]
    artifacts.write_text(root / layout.table(name, "csv"), csv_text(columns, table.to_pylist()))


def _named(grid: Grid) -> list[dict[str, str]]:
    return [dict(zip(grid.headers, row, strict=True)) for row in grid.rows]


def grids_of(job: ReportJob, root: Path) -> dict[str, list[Grid]]:
    """The grids of each table's page, from the cells that were written before; the table itself first."""
    cells = artifacts.read_table(root / layout.table("ct-cells", "parquet")).to_pandas()
    rows = artifacts.read_rows(root / layout.table("ct-tools", "parquet"))
    tools = [row for row in rows if row["task"] == collect.ALL]
    text = artifacts.read_rows(root / layout.table("ct-text", "parquet"))
    book = tables.Book(cells, job)
    return {
        "table1": [tables.table1(book), tables.intervals(cells, job)],
        "table2": [tables.table2(tools, job), tables.violations(tools, job)],
        "table4": [tables.table4(book), *([tables.text(text, job)] if text else [])],
        "table5": [tables.table5(book)],
    }


def write_figures(job: ReportJob, root: Path) -> None:
    """Draw the figures from the tables."""
    figures.draw(job, root)


def write_site(job: ReportJob, root: Path) -> None:
    """Write the page.

    Raises:
        UserError: The tables are missing.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("slicewise.report.ct", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    css = resources.files(mri_site).joinpath("style.css").read_text(encoding="utf-8")
    text = environment.get_template("page.html.jinja").render(
        job=job,
        css=css,
        version=slicewise.__version__,
        grids=grids_of(job, root),
        notes=tables.notes(job),
        figures=[(name, files.FIGURES[name]) for name in figures.NAMES],
        findings=audit.findings(),
        signature=provenance.signature(job),
    )
    artifacts.write_text(root / files.PAGE, text)
