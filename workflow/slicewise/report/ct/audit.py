"""The arithmetic audit of the published tables as a page: every finding is computed from the printed numbers."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from slicewise import artifacts
from slicewise.report.ct import audit_ctflow, audit_sgmri
from slicewise.report.ct.finding import Finding
from slicewise.report.render import csv_text, grid

PAGE = "audit.md"
TABLE = "audit.csv"


def findings() -> list[Finding]:
    """Every finding of both papers, in the order of the page."""
    return [*audit_sgmri.findings(), *audit_ctflow.findings()]


def markdown() -> str:
    """The page."""
    return "".join(_parts(findings()))


def _parts(found: list[Finding]) -> Iterator[str]:
    bad = sum(one.verdict == "contradiction" for one in found)
    yield "# Audit of the published numbers\n\n"
    yield (
        f"{len(found)} checks, {bad} contradictions. Every number is computed from the printed tables; the claims are "
        "the papers' own, in our words. A contradiction says that two printed things do not fit, not which one is "
        "wrong.\n"
    )
    for number, one in enumerate(found, start=1):
        yield f"\n## {number}. {one.title}\n\n{one.paper}: **{one.verdict}**. {one.text}\n"
        if one.rows:
            yield f"\n{grid(one.headers, one.rows)}"


def write(folder: Path) -> None:
    """Write ``audit.md`` and ``audit.csv`` (one line a finding) into a folder."""
    artifacts.write_text(folder / PAGE, markdown())
    columns = ("number", "paper", "verdict", "title", "text")
    rows = [
        {"number": n, "paper": one.paper, "verdict": one.verdict, "title": one.title, "text": one.text}
        for n, one in enumerate(findings(), start=1)
    ]
    artifacts.write_text(folder / TABLE, csv_text(columns, rows))
