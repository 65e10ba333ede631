"""The table of one file of answers: both protocols, intervals and blind baselines, in Markdown and LaTeX."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pandas as pd

from slicewise.benchmarks import sgmri
from slicewise.jobs import ReportJob
from slicewise.outcome import Outcome
from slicewise.report import cells as report_cells
from slicewise.report import collect, render, tables

Cells = list[dict[str, Any]]
AR_COLUMNS = ("localization_ar", "captioning")


@dataclass(frozen=True, slots=True)
class Table:
    """The table, rendered twice."""

    markdown: str
    latex: str


def cells(job: ReportJob, root: Path) -> Cells:
    """Means, intervals, n, coverage and outcome counts per model and column; ``title`` is the printed name."""
    titles = {model.name: model.title for model in job.models}
    found = report_cells.cells(collect.items(job, root), job)
    return [{**row, "title": titles[row["model"]]} for row in collect.records(found)]


def table(benchmark: str, name: str, found: Mapping[str, Cells], *, ar: bool, proxies: Sequence[str]) -> Table:
    """Rows: the answers and the blind baselines under each protocol. Cells: score x 100 and its interval.

    Args:
        benchmark: Benchmark id.
        name: Name of the file, for the caption.
        found: Protocol to cells.
        ar: Whether AR was computed; without it its columns, and the average over all six, are left out.
        proxies: Why the AR columns are stand-ins, one sentence each.
    """
    titles = collect.column_titles(benchmark)
    asked = {row["column"] for row in found["card"]}  # a small benchmark may ask nothing for a column
    columns = [key for key in titles if key in asked and (ar or key not in (*AR_COLUMNS, sgmri.AVERAGE))]
    headers = ["Model", "Protocol", *(titles[key] for key in columns), "Coverage %"]
    rows = list(_rows(found, columns))
    level = "95 %"
    notes = [
        f"Scores x 100 with {level} intervals from resampling whole volumes. card: readers that never guess; "
        "reference: the released scorer's behaviour. Coverage: share of items whose answer could be read.",
        *_outcomes(found["card"]),
        *_marks(found, columns, proxies),
        *([] if ar else ["AR was not computed; add --ar."]),
    ]
    caption = f"{name} on {benchmark}"
    markdown = f"# {caption}\n\n{render.grid(headers, rows, 2)}\n" + "".join(f"- {note}\n" for note in notes)
    return Table(markdown, _latex(caption, headers, rows, notes))


def _rows(found: Mapping[str, Cells], columns: Sequence[str]) -> Iterator[list[str]]:
    models = list(dict.fromkeys((row["model"], row["title"]) for row in found["card"]))
    for model, title in models:
        for protocol, rows in found.items():
            mine = {row["column"]: row for row in rows if row["model"] == model}
            yield [title, protocol, *(_cell(mine[key]) for key in columns), _coverage([mine[key] for key in columns])]


def _marks(found: Mapping[str, Cells], columns: Sequence[str], proxies: Sequence[str]) -> Iterator[str]:
    """What the marks in the table mean, as far as they occur."""
    shown = [row for rows in found.values() for row in rows if row["column"] in columns]
    if any(row["proxy"] for row in shown):
        yield f"{tables.PROXY} Proxy: {'; '.join(proxies)}. Not comparable with published numbers."
    if any(row["incomplete"] for row in shown):
        yield f"{tables.INCOMPLETE} Incomplete: the mean is over the items that were answered."


def _cell(row: Mapping[str, Any]) -> str:
    if row["value"] is None or pd.isna(row["value"]):
        return tables.MISSING
    score = (
        render.percent(row["value"]) + tables.PROXY * bool(row["proxy"]) + tables.INCOMPLETE * bool(row["incomplete"])
    )
    if row["low"] is None or pd.isna(row["low"]):
        return score
    return f"{score} [{render.percent(row['low'], 1)}, {render.percent(row['high'], 1)}]"


def _coverage(rows: Sequence[Mapping[str, Any]]) -> str:
    """Readable answers over items with a reference, over the columns shown."""
    single = [row for row in rows if row["column"] != sgmri.AVERAGE]
    asked = sum(sum(row[o.value] for o in Outcome) - row[Outcome.NO_REFERENCE.value] for row in single)
    return render.percent(sum(row["n_ok"] for row in single) / asked if asked else None, 1)


def _outcomes(rows: Cells) -> Iterator[str]:
    """One line per outcome other than ok that occurs among the answers, counted over items of the columns."""
    model = rows[0]["model"]
    mine = [row for row in rows if row["model"] == model and row["column"] not in (sgmri.AVERAGE, *AR_COLUMNS)]
    counts = {o.value: sum(row[o.value] for row in mine) for o in Outcome if o is not Outcome.OK}
    seen = ", ".join(f"{name} {count}" for name, count in counts.items() if count)
    if seen:
        yield f"Not ok among the answers: {seen}."


def _latex(caption: str, headers: Sequence[str], rows: Sequence[Sequence[str]], notes: Sequence[str]) -> str:
    lines = [
        "\\begin{table*}",
        "\\centering",
        f"\\caption{{{render.escape(caption)}. {render.escape(' '.join(notes))}}}",
        f"\\begin{{tabular}}{{ll{'r' * (len(headers) - 2)}}}",
        "\\toprule",
        " & ".join(map(render.escape, headers)) + " \\\\",
        "\\midrule",
        *(" & ".join(map(render.escape, row)) + " \\\\" for row in rows),
        "\\bottomrule",
        "\\end{tabular}",
        "\\end{table*}",
    ]
    return "\n".join(lines) + "\n"


def summary(found: Mapping[str, Cells]) -> dict[str, Any]:
    """``{protocol: {model: {column: {value, low, high, n, coverage, outcomes}}}}``; no number where there is none."""
    made: dict[str, Any] = {}
    for protocol, rows in found.items():
        for row in rows:
            numbers = {key: _number(row[key]) for key in ("value", "low", "high", "coverage")}
            outcomes = {o.value: int(row[o.value]) for o in Outcome if row[o.value]}
            column = {**numbers, "n": int(row["n"]), "outcomes": outcomes}
            made.setdefault(protocol, {}).setdefault(row["model"], {})[row["column"]] = column
    return made


def _number(value: Any) -> float | None:
    return None if value is None or pd.isna(value) else float(value)
