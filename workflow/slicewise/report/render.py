"""Tables as CSV, Markdown and LaTeX text: the same bytes for the same table."""

from __future__ import annotations

import csv
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from slicewise.report.tables import INCOMPLETE, PROXY, Cell, Row, Table

BLOCK_TITLES = {"ours": "This run", "published": "Published"}
_LATEX = {
    "\\": r"\textbackslash{}",
    "&": r"\&",
    "%": r"\%",
    "$": r"\$",
    "#": r"\#",
    "_": r"\_",
    "{": r"\{",
    "}": r"\}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    PROXY: r"\textsuperscript{\dag}",
    INCOMPLETE: r"\textsuperscript{\ddag}",
    "–": "--",
}


def csv_text(names: Sequence[str], rows: Iterable[Mapping[str, Any]], decimals: int | None = None) -> str:
    """Rows as CSV with line feeds; a missing value is an empty field.

    Args:
        names: Columns to write.
        rows: The rows.
        decimals: Fixed decimals of floats; by default at most 6, without trailing zeros.
    """
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(names)
    for row in rows:
        writer.writerow([_csv_value(row[name], decimals) for name in names])
    return out.getvalue()


def _csv_value(value: Any, decimals: int | None) -> str:
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if not isinstance(value, float):
        return str(value)
    return f"{value:.6f}".rstrip("0").rstrip(".") if decimals is None else f"{value:.{decimals}f}"


def grid(headers: Sequence[str], rows: Iterable[Sequence[str]], text_columns: int = 1) -> str:
    """A Markdown table; the first ``text_columns`` are left-aligned, the others right-aligned."""
    lines = [headers, ["---" if i < text_columns else "---:" for i in range(len(headers))], *rows]
    return "".join(f"| {' | '.join(_markdown(cell) for cell in line)} |\n" for line in lines)


def _markdown(text: str) -> str:
    return text.replace("|", "\\|").replace("\n", " ")


def markdown(table: Table) -> str:
    """The published layout in Markdown: best bold, second underlined, our block and the published one apart."""
    parts = [f"# {table.caption}\n"]
    for block, title in BLOCK_TITLES.items():
        rows = [[row.model, *map(_markdown_cell, row.cells)] for row in table.rows if row.block == block]
        parts += [f"\n## {title}\n\n", grid(("Model", *table.headers), rows)]
    parts += ["\n", *(f"- {note}\n" for note in table.notes)]
    return "".join(parts)


def _markdown_cell(cell: Cell) -> str:
    wrapped = {1: f"**{cell.printed}**", 2: f"<ins>{cell.printed}</ins>"}.get(cell.rank or 0, cell.printed)
    return wrapped + cell.marks


def latex(table: Table) -> str:
    """The published layout as a LaTeX ``table*`` with booktabs; needs no other package."""
    width = len(table.headers) + 1
    head = " & ".join(escape(text) for text in ("Model", *table.headers))
    lines = [
        "% needs \\usepackage{booktabs}",
        "\\begin{table*}[t]",
        "\\centering",
        f"\\caption{{{escape(table.caption)}.}}",
        f"\\label{{tab:{table.benchmark}}}",
        f"\\begin{{tabular}}{{l{'r' * len(table.headers)}}}",
        "\\toprule",
        f"{head} \\\\",
    ]
    for block, title in BLOCK_TITLES.items():
        lines += ["\\midrule", f"\\multicolumn{{{width}}}{{l}}{{\\emph{{{title}}}}} \\\\"]
        lines += [_latex_row(row) for row in table.rows if row.block == block]
    lines += ["\\bottomrule", "\\end{tabular}", "", "\\smallskip", "\\begin{minipage}{\\textwidth}\\footnotesize"]
    lines += [f"{escape(note)}\\par" for note in table.notes]
    return "\n".join([*lines, "\\end{minipage}", "\\end{table*}", ""])


def _latex_row(row: Row) -> str:
    return " & ".join([escape(row.model), *map(_latex_cell, row.cells)]) + " \\\\"


def _latex_cell(cell: Cell) -> str:
    printed = escape(cell.printed)
    wrapped = {1: f"\\textbf{{{printed}}}", 2: f"\\underline{{{printed}}}"}.get(cell.rank or 0, printed)
    return wrapped + escape(cell.marks)


def escape(text: str) -> str:
    """Text with LaTeX's special characters escaped and the footnote marks as superscripts."""
    return "".join(_LATEX.get(character, character) for character in text)


def percent(value: Any, digits: int = 2) -> str:
    """A share as a number x 100, a dash when undefined."""
    return "–" if value is None or math.isnan(value) else f"{100 * value:.{digits}f}"


def number(value: Any, digits: int = 2) -> str:
    """A number with fixed decimals, a dash when undefined."""
    return "–" if value is None or math.isnan(value) else f"{value:.{digits}f}"
