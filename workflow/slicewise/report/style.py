"""One look for all figures, and one way to save them: the same bytes on every run, no clock, fonts embedded."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt

from slicewise import artifacts

COLUMN = 3.4  # inches: one column of a paper
DOUBLE = 7.0  # inches: both columns
DPI = 200

# Okabe and Ito's palette: told apart with any common colour vision.
BLACK, ORANGE, SKY, GREEN = "#000000", "#E69F00", "#56B4E9", "#009E73"
YELLOW, BLUE, VERMILLION, PURPLE = "#F0E442", "#0072B2", "#D55E00", "#CC79A7"
GREY, LIGHT = "#7F7F7F", "#D0D0D0"
CYCLE = (BLUE, VERMILLION, GREEN, PURPLE, ORANGE, SKY, BLACK, GREY)
MARKERS = "osD^vPX*<>"

_RC: dict[str, Any] = {
    "font.family": "DejaVu Sans",
    "font.size": 7.5,
    "axes.titlesize": 8,
    "axes.labelsize": 7.5,
    "xtick.labelsize": 7,
    "ytick.labelsize": 7,
    "legend.fontsize": 7,
    "legend.frameon": False,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.linewidth": 0.6,
    "xtick.major.width": 0.6,
    "ytick.major.width": 0.6,
    "axes.grid": False,
    "grid.color": "#E5E5E5",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "lines.linewidth": 1.2,
    "pdf.fonttype": 42,
    "svg.hashsalt": "slicewise",
    "text.parse_math": False,  # a name with a dollar or an underscore is a name
    "figure.constrained_layout.use": True,
}


@contextmanager
def styled() -> Iterator[None]:
    """The project's look, whatever the user's own matplotlibrc says."""
    with mpl.rc_context():
        mpl.rcdefaults()
        mpl.rcParams.update(_RC)
        yield


def save(figure: Any, stem: Path) -> None:
    """Write ``stem.pdf`` and ``stem.png`` atomically, then close the figure."""
    for suffix, metadata in (
        ("pdf", {"CreationDate": None, "Creator": None, "Producer": None}),
        ("png", {"Software": None}),
    ):
        buffer = io.BytesIO()
        figure.savefig(buffer, format=suffix, dpi=DPI, metadata=metadata)
        with artifacts.atomic(stem.with_name(f"{stem.name}.{suffix}")) as handle:
            handle.write(buffer.getvalue())
        figure.set_layout_engine("none")  # both files show one layout, computed once
    plt.close(figure)


def panels(number: int, columns: int, width: float, height: float, **kwargs: Any) -> tuple[Any, list[Any]]:
    """Small multiples: a figure and its first ``number`` axes; the others are left blank.

    Args:
        number: How many panels.
        columns: Panels per full row.
        width: Of the figure when a row is full, inches; fewer panels make a narrower figure.
        height: Of one panel, inches.
        **kwargs: For ``plt.subplots``, such as ``sharex``.
    """
    full, columns = columns, max(1, min(columns, number))
    width = max(COLUMN, width * columns / full)
    rows = -(-number // columns)
    figure, axes = plt.subplots(rows, columns, figsize=(width, rows * height), squeeze=False, **kwargs)
    flat = list(axes.flat)
    for spare in flat[number:]:
        spare.set_visible(False)
    return figure, flat[:number]


def message(title: str, text: str) -> Any:
    """A figure that says why there is nothing to show."""
    figure = plt.figure(figsize=(COLUMN, 1.1))
    figure.text(0.5, 0.68, title, ha="center", va="center", fontsize=8)
    figure.text(0.5, 0.34, text, ha="center", va="center", fontsize=7.5, color=GREY)
    return figure
