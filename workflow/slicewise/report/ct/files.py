"""Every file of a CT suite's report, known before it is made."""

from __future__ import annotations

from pathlib import Path

from slicewise import layout

PAGE = layout.stage("report") / "index.html"
TABLES = ("table1", "table2", "table4", "table5")
ARTIFACTS = ("ct-cells", "ct-text", "ct-tools")
FIGURES = {
    "figure3": "Figure 3: average accuracy with slices and with CT-Flow; hatched bars are the printed numbers.",
    "figure4": "Figure 4: accuracy per scenario with classes of tools switched off, with intervals over patients.",
}


def tables() -> list[Path]:
    """What the tables job writes."""
    report = layout.stage("report")
    return [
        *(layout.table(name, suffix) for name in TABLES for suffix in ("csv", "md")),
        *(layout.table(name, suffix) for name in ARTIFACTS for suffix in ("parquet", "csv")),
        *(layout.table("audit", suffix) for suffix in ("csv", "md")),
        report / "metrics.json",
        report / "plots" / "scores.csv",
    ]


def figures() -> list[Path]:
    """What the figures job writes."""
    return [layout.figure(name, suffix) for name in FIGURES for suffix in ("pdf", "png")]


def site() -> list[Path]:
    """What the page's job writes."""
    return [PAGE]
