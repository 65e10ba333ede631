"""The published layout: our rows, then the published ones, six columns and Avg., with ranks, marks and notes."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from typing import Any, Literal

import pandas as pd
import pyarrow as pa

from slicewise import artifacts
from slicewise.benchmarks import sgmri
from slicewise.benchmarks.published import CITATION, PublishedRow, published
from slicewise.jobs import ReportJob, ReportModel
from slicewise.outcome import MACHINE_FAILURES
from slicewise.report import collect

Block = Literal["ours", "published"]
PROXY = "†"
INCOMPLETE = "‡"
MISSING = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """One printed number.

    Attributes:
        value: Score x 100, or ``None`` when no item has a value.
        proxy: A stand-in judge or encoder has a part in it.
        incomplete: The machinery lost items; ``worst`` and ``best`` bound the complete value.
        worst: Score x 100 if every lost item had scored 0.
        best: Score x 100 if every lost item had scored 1.
        rank: 1 for the best, 2 for the second of its column, else ``None``.
    """

    value: float | None
    proxy: bool = False
    incomplete: bool = False
    worst: float | None = None
    best: float | None = None
    rank: int | None = None

    @property
    def printed(self) -> str:
        """Two decimals, or a dash."""
        return MISSING if self.value is None else f"{self.value:.2f}"

    @property
    def marks(self) -> str:
        """The footnote marks."""
        return PROXY * self.proxy + INCOMPLETE * self.incomplete


@dataclass(frozen=True, slots=True)
class Row:
    """One model's row."""

    block: Block
    model: str
    cells: tuple[Cell, ...]
    ranked: bool = True
    source: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    """One benchmark's table in the published layout, ready to be rendered."""

    benchmark: str
    caption: str
    keys: tuple[str, ...]
    headers: tuple[str, ...]
    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    def block(self, name: Block) -> Iterator[Row]:
        """The rows of one block, in order."""
        return (row for row in self.rows if row.block == name)


def build(benchmark: str, cells: pd.DataFrame, job: ReportJob) -> Table:
    """The table of a benchmark.

    Args:
        benchmark: Benchmark id.
        cells: As :func:`slicewise.report.cells.cells` gives them.
        job: The report's settings.
    """
    level = sgmri.benchmark(benchmark).level
    titles = collect.column_titles(benchmark)
    mine = cells[cells["benchmark"] == benchmark]
    ours = [_our_row(mine[mine["model"] == model.name], model, list(titles)) for model in job.models]
    theirs = [_published_row(row, list(titles)) for row in published(level)]
    joint = [_is_joint(job, benchmark, key) for key in titles]
    return Table(
        benchmark=benchmark,
        caption=f"{level.capitalize()} level, {benchmark}: scores x 100, protocol {job.protocol}",
        keys=tuple(titles),
        headers=tuple(titles.values()),
        rows=tuple(_rank([*ours, *theirs], joint)),
        notes=tuple(_notes(benchmark, mine, job)),
    )


def _number(value: Any) -> float | None:
    return None if value is None or math.isnan(value) else 100 * float(value)


def _our_row(cells: pd.DataFrame, model: ReportModel, keys: list[str]) -> Row:
    by_column = {str(row["column"]): row for row in collect.records(cells)}
    made = tuple(
        Cell(
            value=_number(by_column[key]["value"]),
            proxy=bool(by_column[key]["proxy"]),
            incomplete=bool(by_column[key]["incomplete"]),
            worst=_number(by_column[key]["worst"]),
            best=_number(by_column[key]["best"]),
        )
        for key in keys
    )
    return Row("ours", model.title, made, ranked=model.baseline != "oracle")


def _published_row(row: PublishedRow, keys: list[str]) -> Row:
    values = {**row.values, sgmri.AVERAGE: row.avg_printed}
    return Row("published", row.model, tuple(Cell(float(values[key])) for key in keys), source=row.source)


def _is_joint(job: ReportJob, benchmark: str, column: str) -> bool:
    """Whether our numbers of a column may be ranked among the published ones."""
    released = sgmri.benchmark(benchmark).source == "released"
    return released and job.protocol == "reference" and not collect.is_proxy(job, column)


def _rank(rows: list[Row], joint: list[bool]) -> list[Row]:
    """Mark best and second of each column: among all rows where they are comparable, else within each block.

    Proxy and incomplete cells and the oracle (it reads the gold) are not ranked. Equal printed numbers share a rank,
    and a column whose numbers are all equal has none.
    """
    ranked = [list(row.cells) for row in rows]
    for column, together in enumerate(joint):
        groups: Iterable[tuple[Block, ...]] = [("ours", "published")] if together else [("ours",), ("published",)]
        for group in groups:
            members = [
                i for i, row in enumerate(rows) if row.block in group and row.ranked and _rankable(row.cells[column])
            ]
            places = sorted({rows[i].cells[column].printed for i in members}, key=float, reverse=True)
            for i in members if len(places) > 1 else []:
                place = places.index(rows[i].cells[column].printed) + 1
                if place <= 2:
                    ranked[i][column] = replace(ranked[i][column], rank=place)
    return [replace(row, cells=tuple(cells)) for row, cells in zip(rows, ranked, strict=True)]


def _rankable(cell: Cell) -> bool:
    return cell.value is not None and not cell.proxy and not cell.incomplete


# --- notes ----------------------------------------------------------------------------------------------------------


def _notes(benchmark: str, cells: pd.DataFrame, job: ReportJob) -> Iterator[str]:
    yield "Avg. is the plain mean of the six columns. Best in bold, second underlined."
    why = list(_why_apart(benchmark, job))
    if why:
        yield f"Published rows stand apart and are ranked among themselves: {'; '.join(why)}."
    if any(model.baseline == "oracle" for model in job.models):
        yield "oracle reads the gold answers: it checks the way from text to score and is not ranked."
    reasons = collect.stand_ins(job)
    if reasons:
        yield f"{PROXY} Proxy: {'; '.join(reasons)}. Not ranked, never compared with published numbers."
    yield from _incomplete_notes(cells, job, collect.column_titles(benchmark))
    yield f"Published numbers: {CITATION}, Avg. as printed."
    for row in published(sgmri.benchmark(benchmark).level):
        if row.avg_printed != row.avg_recomputed:
            yield f"{row.model}: the printed columns average to {row.avg_recomputed}, printed is {row.avg_printed}."
        if row.note:
            yield f"{row.model}: {row.note}."


def _why_apart(benchmark: str, job: ReportJob) -> Iterator[str]:
    """Reasons why our numbers are not the published kind of number."""
    if sgmri.benchmark(benchmark).source != "released":
        yield f"{benchmark} asks other questions than the released test set"
    if job.protocol != "reference":
        yield f"protocol {job.protocol} is not the released scorer's (protocol reference is)"
    if collect.stand_ins(job):
        yield "AR columns and Avg. are proxies"


def _incomplete_notes(cells: pd.DataFrame, job: ReportJob, titles: dict[str, str]) -> Iterator[str]:
    for model in job.models:
        rows = cells[(cells["model"] == model.name) & cells["incomplete"]]
        if rows.empty:
            continue
        if rows["n"].sum() == 0:
            yield f"{INCOMPLETE} {model.title}: no item has a result ({_causes(rows)})."
            continue
        bounds = ", ".join(
            f"{titles[row['column']]} {100 * row['worst']:.2f} to {100 * row['best']:.2f}"
            for row in collect.records(rows)
        )
        yield f"{INCOMPLETE} {model.title}: items were lost ({_causes(rows)}); complete values lie in {bounds}."


def _causes(rows: pd.DataFrame) -> str:
    each = rows[rows["column"] != sgmri.AVERAGE]
    lost = {outcome.value: int(each[outcome.value].sum()) for outcome in MACHINE_FAILURES}
    return ", ".join(f"{name} {count}" for name, count in sorted(lost.items()) if count)


# --- as an artifact -------------------------------------------------------------------------------------------------


def schema(table: Table) -> pa.Schema:
    """Arrow schema of a table in the published layout; numbers are scores x 100 rounded to two decimals."""
    return artifacts.table_schema(
        "published_layout",
        [
            ("position", pa.int64(), False),
            ("block", pa.string(), False),
            ("model", pa.string(), False),
            *((key, pa.float64(), True) for key in table.keys),
            ("avg_recomputed", pa.float64(), True),  # published rows: mean of the printed columns
            ("marks", pa.string(), False),  # column:proxy or column:incomplete, separated by spaces
            ("source", pa.string(), False),
        ],
        ["position"],
    )


def records(table: Table) -> list[dict[str, Any]]:
    """The table's rows for Parquet and CSV."""
    level = sgmri.benchmark(table.benchmark).level
    again = {row.model: float(row.avg_recomputed) for row in published(level)}
    return [
        {
            "position": position,
            "block": row.block,
            "model": row.model,
            **{key: _rounded(cell.value) for key, cell in zip(table.keys, row.cells, strict=True)},
            "avg_recomputed": again[row.model] if row.block == "published" else None,
            "marks": " ".join(_marks(table, row)),
            "source": row.source,
        }
        for position, row in enumerate(table.rows)
    ]


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 2)


def _marks(table: Table, row: Row) -> Iterator[str]:
    for key, cell in zip(table.keys, row.cells, strict=True):
        if cell.proxy:
            yield f"{key}:proxy"
        if cell.incomplete:
            yield f"{key}:incomplete"
