"""The companion tables as people read them: what Markdown and the page show beside the published layout."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pandas as pd

from slicewise.jobs import ReportJob
from slicewise.report import collect
from slicewise.report.breakdowns import MACRO, MICRO
from slicewise.report.render import grid, number, percent
from slicewise.report.tables import INCOMPLETE, MISSING, PROXY

Records = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, slots=True)
class Grid:
    """A plain table of printed cells; the first ``text_columns`` columns are words, the rest numbers."""

    caption: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    text_columns: int = 1

    def markdown(self) -> str:
        """Caption and table."""
        return f"## {self.caption}\n\n{grid(self.headers, self.rows, self.text_columns)}"


def page(title: str, notes: Iterable[str], grids: Iterable[Grid]) -> str:
    """A Markdown page of grids."""
    listed = "".join(f"- {note}\n" for note in notes)
    return "\n".join(part for part in (f"# {title}\n", listed, *(g.markdown() for g in grids)) if part)


def _titles(job: ReportJob) -> dict[str, str]:
    return {model.name: model.title for model in job.models}


def span(low: Any, high: Any) -> str:
    """An interval as ``[12.3, 14.5]`` in scores x 100, a dash when undefined."""
    if pd.isna(low) or pd.isna(high):
        return MISSING
    return f"[{percent(low, 1)}, {percent(high, 1)}]"


def companion(cells: pd.DataFrame, benchmark: str, job: ReportJob) -> Grid:
    """Interval, n, coverage and the count of every outcome that occurs, per model and column."""
    mine = cells[cells["benchmark"] == benchmark]
    seen = [name for name in collect.OUTCOMES if mine[name].sum() > 0]
    titles, columns = _titles(job), collect.column_titles(benchmark)
    rows = tuple(
        (
            titles[row["model"]],
            columns[row["column"]],
            percent(row["value"]) + PROXY * row["proxy"] + INCOMPLETE * row["incomplete"],
            span(row["low"], row["high"]),
            span(row["t_low"], row["t_high"]),
            str(row["n"]),
            str(row["clusters"]),
            percent(row["coverage"], 1),
            *(str(row[name]) for name in seen),
        )
        for row in collect.records(mine)
    )
    level = f"{100 * job.report.confidence:g} %"
    headers = ("Model", "Column", "Score", f"{level} bootstrap", f"{level} CR1 t", "n", "Volumes", "Coverage %", *seen)
    return Grid(f"{benchmark}: intervals, n, coverage and outcomes", headers, rows, 2)


def breakdown(table: pd.DataFrame, name: str, benchmark: str, column: str, job: ReportJob) -> Grid:
    """One column of a breakdown: groups down, models across, each cell score and n."""
    mine = table[(table["benchmark"] == benchmark) & (table["column"] == column)]
    groups = sorted(set(mine["group"]) - {MACRO, MICRO}) + [g for g in (MACRO, MICRO) if g in set(mine["group"])]
    by_key = {(row["model"], row["group"]): row for row in collect.records(mine)}
    rows = tuple((group, *(_scored(by_key.get((model.name, group))) for model in job.models)) for group in groups)
    title = collect.column_titles(benchmark)[column] + PROXY * collect.is_proxy(job, column)
    headers = (name.capitalize().replace("-", " "), *(model.title for model in job.models))
    return Grid(f"{benchmark}, {title} by {name.replace('-', ' ')}: score (n)", headers, rows)


def _scored(row: Mapping[str, Any] | None) -> str:
    if row is None or pd.isna(row["value"]):
        return MISSING
    return f"{percent(row['value'])}{INCOMPLETE * bool(row['incomplete'])} ({row['n']})"


def blind(table: pd.DataFrame, benchmark: str, job: ReportJob) -> Grid:
    """Every comparison with the best blind baseline."""
    titles, columns = _titles(job), collect.column_titles(benchmark)
    rows = tuple(
        (
            titles[row["model"]],
            columns[row["column"]] + PROXY * bool(row["proxy"]),
            titles.get(row["baseline"], MISSING),
            row["verdict"],
            percent(row["difference"]),
            span(row["low"], row["high"]),
            number(row["p"], 4),
            number(row["p_holm"], 4),
            number(row["effect_size"]),
            percent(row["detectable"]),
            str(row["n"]),
        )
        for row in collect.records(table[table["benchmark"] == benchmark])
    )
    headers = (
        "Model", "Column", "Best blind", "Verdict", "Difference", f"{100 * job.report.confidence:g} % CR1 t",
        "p", "p (Holm)", "d_z", "Detectable", "n",
    )  # fmt: skip
    return Grid(f"{benchmark}: better than blind?", headers, rows, 4)


def detection(rows: Records, benchmark: str, job: ReportJob) -> Grid:
    """Sensitivity and specificity beside accuracy."""
    titles = _titles(job)
    shares = ("accuracy", "balanced_accuracy", "sensitivity", "specificity")
    counts = ("n", "tp", "fn", "tn", "fp", "unread")
    made = tuple(
        (
            titles[row["model"]],
            row["domain"],
            *(percent(row[name]) for name in shares),
            number(row["mcc"], 3),
            *(str(row[name]) for name in counts),
        )
        for row in rows
        if row["benchmark"] == benchmark
    )
    headers = ("Model", "Domain", "Accuracy", "Balanced", "Sensitivity", "Specificity", "MCC", *counts)
    return Grid(f"{benchmark}: detection (an unread answer counts as wrong)", headers, made, 2)


def counting(rows: Records, benchmark: str, job: ReportJob) -> Grid:
    """Counting errors."""
    titles = _titles(job)
    made = tuple(
        (
            titles[row["model"]],
            number(row["mean_absolute"]),
            number(row["median_absolute"], 1),
            number(row["bias"]),
            percent(row["within_one"], 1),
            str(row["n"]),
            str(row["unread"]),
        )
        for row in rows
        if row["benchmark"] == benchmark
    )
    headers = ("Model", "Mean |error|", "Median |error|", "Bias", "Within 1 %", "n read", "unread")
    return Grid(f"{benchmark}: counting errors of the answers that could be read", headers, made)


def grounding(rows: Records, benchmark: str, job: ReportJob) -> Grid:
    """V beside what V cannot see: spam, wrong frames, boxes on normal images."""
    titles = _titles(job)
    shares = ("v", "v_precision_aware", "p_10", "r_10", "f1_10", "p_25", "r_25", "f1_25", "p_50", "r_50", "f1_50")
    frames = ("frame_precision", "frame_recall", "frame_f1")
    counts = ("boxes_gold", "boxes_gold_excluded", "boxes_emitted", "normals", "false_positives_on_normal", "n")
    made = tuple(
        (titles[row["model"]], *(percent(row[name], 1) for name in (*shares, *frames)), *(str(row[c]) for c in counts))
        for row in rows
        if row["benchmark"] == benchmark
    )
    headers = (
        "Model", "V", "V prec.-aware", "P@.1", "R@.1", "F1@.1", "P@.25", "R@.25", "F1@.25", "P@.5", "R@.5", "F1@.5",
        "Frame P", "Frame R", "Frame F1", "Gold boxes", "Gold excluded", "Boxes emitted", "Normals", "FP on normals",
        "n",
    )  # fmt: skip
    return Grid(f"{benchmark}: grounding diagnostics", headers, made)


def reproduce(rows: Records, benchmark: str) -> Grid:
    """Every published cell beside ours."""
    columns = collect.column_titles(benchmark)
    made = tuple(
        (
            row["published_model"],
            columns[row["column"]],
            row["model"] or MISSING,
            row["verdict"] + ", to the digit" * row["to_the_digit"],
            number(row["published"]),
            number(row["ours"]),
            MISSING if row["low"] is None else f"[{row['low']:.1f}, {row['high']:.1f}]",
            MISSING if row["n"] is None else str(row["n"]),
        )
        for row in rows
        if row["benchmark"] == benchmark
    )
    headers = ("Published row", "Column", "Our model", "Verdict", "Published", "Ours", "Interval", "n")
    return Grid(f"{benchmark}: is the published table reproduced?", headers, made, 4)


def conventions(rows: Records, benchmark: str) -> Grid:
    """What V would be under each convention, for the models that raise the alarm; never a score."""
    made = tuple(
        (row["model"], row["convention"] + " (declared)" * row["declared"], f"{100 * row['v']:.2f}", str(row["n"]))
        for row in rows
        if row["benchmark"] == benchmark
    )
    return Grid(f"{benchmark}: boxes re-read under other conventions", ("Model", "Convention", "V × 100", "n"), made, 2)
