"""Figures about boxes: V against boxes emitted, IoU distribution, frame offsets."""

from __future__ import annotations

import textwrap
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D

from slicewise.outcome import Outcome
from slicewise.report import diagnostics, style
from slicewise.report.figures import Source, role

BINS = np.linspace(0, 1, 21)
FAR = 10  # frame offsets beyond this share the last bar


def boxes(source: Source) -> Any:
    """V (filled) and precision-aware V (hollow) against boxes emitted per item: what spam buys, and what it costs."""
    figure, axis = plt.subplots(figsize=(style.COLUMN, 2.3))
    rows = source.grounding.set_index("model")
    handles = []
    for i, model in enumerate(source.job.models):
        row = rows.loc[model.name]
        if pd.isna(row["v"]):
            continue
        look: dict[str, Any] = {
            "color": style.CYCLE[i % len(style.CYCLE)],
            "marker": style.MARKERS[i % len(style.MARKERS)],
            "markersize": max(3.5, 7 - 0.6 * i),  # smaller on top, so that equal points all show
        }
        x = [row["boxes_per_item"]] * 2
        axis.plot(x, [100 * row["v"], 100 * row["v_precision_aware"]], color=look["color"], linewidth=0.8)
        axis.plot(x[:1], [100 * row["v_precision_aware"]], **look, markerfacecolor="white", clip_on=False)
        axis.plot(x[:1], [100 * row["v"]], **look, clip_on=False)
        handles.append(Line2D([], [], **look, linestyle="none", label=model.title))
    gold = (rows["boxes_gold"] / (rows["n"] + rows["normals"])).max()
    if not np.isnan(gold):
        axis.axvline(gold, color=style.GREY, linestyle=":", linewidth=0.9, zorder=0)
        handles.append(Line2D([], [], color=style.GREY, linestyle=":", linewidth=0.9, label="gold boxes per item"))
    handles.append(
        Line2D([], [], color=style.BLACK, marker="o", markersize=4.5, markerfacecolor="white", linestyle="none",
               label="hollow: precision-aware V")
    )  # fmt: skip
    axis.set_xlim(left=0, right=max(1.0, 1.05 * axis.get_xlim()[1]))
    axis.set_ylim(-3, 103)
    axis.set_xlabel("boxes emitted per localization item")
    axis.set_ylabel("V-Score × 100")
    axis.grid()
    figure.legend(handles=handles, loc="outside upper center", ncols=2, handletextpad=0.4, columnspacing=1.2)
    return figure


def _frames(source: Source) -> dict[str, pd.DataFrame]:
    """Title -> grounding scores; the oracle is left out, its boxes are the gold ones."""
    return {
        model.title: diagnostics.grounding_items(source.job, source.root, source.benchmark, model.name)
        for model in source.job.models
        if model.baseline != "oracle"
    }


def iou(source: Source) -> Any:
    """IoU of the matched gold boxes, one panel per model; how many stay unmatched stands above it."""
    found = {}
    for title, frame in _frames(source).items():
        rows = frame[frame["outcome"] != Outcome.NO_REFERENCE]
        values = np.concatenate([np.empty(0), *rows["ious"].dropna()])
        found[title] = (values[values > 0], int(rows["n_gold"].sum()))
    shown = {title: pair for title, pair in found.items() if pair[0].size}
    if not shown:
        return style.message(source.benchmark, "No model's box overlaps a gold box.")
    figure, axes = style.panels(len(shown), 4, style.DOUBLE, 1.45, sharex=True, sharey=True)
    colours = {model.title: role(model)[1] for model in source.job.models}
    for axis, (title, (values, gold)) in zip(axes, shown.items(), strict=True):
        heights = 100 * np.histogram(values.clip(0, 1), BINS)[0] / gold
        axis.bar(BINS[:-1], heights, width=0.05, align="edge", color=colours[title], edgecolor="white", linewidth=0.3)
        axis.set_title(f"{title}\n{100 * (gold - values.size) / gold:.0f} % of {gold} unmatched")
        axis.grid(axis="y")
        axis.tick_params(labelbottom=True)
    axes[0].set_xlim(0, 1)
    axes[0].set_xticks([0, 0.5, 1], ["0", "0.5", "1"])
    _outer_labels(axes, "IoU with the match", "% of gold boxes")
    _left_out(figure, found, shown, "no box overlaps gold")
    return figure


def offsets(source: Source) -> Any:
    """How many frames a model's boxes lie beside the gold ones, one panel per model."""
    found = {
        title: np.concatenate([np.empty(0, dtype=int), *rows["frame_offsets"].dropna()])
        for title, rows in _frames(source).items()
    }
    shown = {title: values for title, values in found.items() if values.size}
    if source.benchmark.endswith("-image"):
        return style.message(source.benchmark, "One frame per item: there is no frame to miss.")
    if not shown:
        return style.message(source.benchmark, "No model placed a box on a frame.")
    figure, axes = style.panels(len(shown), 4, style.DOUBLE, 1.4, sharex=True, sharey=True)
    colours = {model.title: role(model)[1] for model in source.job.models}
    reach = int(min(FAR, max(1, *(np.abs(values).max() for values in shown.values()))))
    for axis, (title, values) in zip(axes, shown.items(), strict=True):
        places, counts = np.unique(values.clip(-reach, reach), return_counts=True)
        axis.bar(places, 100 * counts / values.size, width=0.8, color=colours[title])
        axis.set_title(f"{title} ({values.size} boxes)")
        axis.grid(axis="y")
        axis.set_xticks([-reach, 0, reach], _ends(reach))
        axis.tick_params(labelbottom=True)
    axes[0].set_xlim(-reach - 0.7, reach + 0.7)
    _outer_labels(axes, "frames from the nearest gold frame", "% of boxes")
    _left_out(figure, found, shown, "no box on a frame")
    return figure


def _ends(reach: int) -> list[str]:
    if reach < FAR:
        return [f"−{reach}", "0", f"+{reach}"]
    return [f"≤−{FAR}", "0", f"≥{FAR}"]


def _outer_labels(axes: list[Any], x: str, y: str) -> None:
    figure = axes[0].figure
    figure.supxlabel(x, fontsize=7.5)
    figure.supylabel(y, fontsize=7.5)


def _left_out(figure: Any, found: dict[str, Any], shown: dict[str, Any], why: str) -> None:
    missing = [title for title in found if title not in shown]
    if missing:
        text = f"not shown ({why}): {', '.join(missing)}"
        wrapped = textwrap.fill(text, int(15 * figure.get_figwidth()), break_on_hyphens=False)
        figure.suptitle(wrapped, fontsize=7, color=style.GREY)
