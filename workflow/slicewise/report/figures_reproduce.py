"""Published against ours, with the identity line."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt
from matplotlib.lines import Line2D

from slicewise import artifacts, layout
from slicewise.report import collect, style
from slicewise.report.figures import Source
from slicewise.report.reproduce import DIFFERS, NOT_COMPARABLE, REPRODUCED

COLOURS = {REPRODUCED: style.GREEN, DIFFERS: style.VERMILLION, NOT_COMPARABLE: style.GREY}


def drawing(source: Source) -> Any:
    """The figure of one benchmark, from the table that was written before."""
    rows = artifacts.read_rows(source.root / layout.table("reproduce", "parquet"))
    return figure([row for row in rows if row["benchmark"] == source.benchmark], source.benchmark)


def figure(rows: Sequence[dict[str, Any]], benchmark: str) -> Any:
    """A mark per cell that we have: published across, ours with its interval up; the marker tells the column."""
    known = [row for row in rows if row["ours"] is not None]
    if not known:
        return style.message(f"{benchmark}: published against ours", "no model of this run has a published row")
    drawn, axis = plt.subplots(figsize=(style.COLUMN, style.COLUMN + 0.5))
    axis.plot([0, 100], [0, 100], color=style.BLACK, linewidth=0.6, zorder=0)
    columns = collect.column_titles(benchmark)
    markers = dict(zip(columns, style.MARKERS, strict=False))
    for row in known:
        colour = COLOURS[row["verdict"]]
        if row["low"] is not None:
            axis.plot([row["published"]] * 2, [row["low"], row["high"]], color=colour, linewidth=0.8)
        face = "white" if row["verdict"] == NOT_COMPARABLE else colour
        axis.plot(
            row["published"], row["ours"], markers[row["column"]], color=colour, markersize=4, markerfacecolor=face
        )
    axis.set_xlim(-3, 103)
    axis.set_ylim(-3, 103)
    axis.set_aspect("equal")
    axis.set_xlabel("published")
    axis.set_ylabel("ours, with its interval")
    handles = [Line2D([], [], color=colour, linewidth=2, label=name) for name, colour in COLOURS.items()]
    handles += [
        Line2D([], [], color="none", marker=markers[key], markeredgecolor=style.BLACK, markersize=4, label=title)
        for key, title in columns.items()
    ]
    drawn.legend(handles=handles, loc="outside lower center", ncols=3, columnspacing=1.0)
    return drawn
