"""Figures of a run: which there are, and the ones about scores and outcomes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from matplotlib.lines import Line2D
from matplotlib.patches import Patch
from tqdm import tqdm

from slicewise import artifacts, layout
from slicewise.jobs import ReportJob, ReportModel
from slicewise.report import collect, style

# Outcome -> colour and hatch; the machinery's failures are hatched.
OUTCOME_STYLE = {
    "ok": (style.GREEN, ""),
    "unparsed": (style.ORANGE, ""),
    "refused": (style.VERMILLION, ""),
    "empty": (style.YELLOW, ""),
    "truncated": (style.PURPLE, ""),
    "api_error": (style.BLUE, "////"),
    "judge_error": (style.SKY, "////"),
    "missing_frames": (style.BLACK, "////"),
    "not_run": (style.GREY, "////"),
    "no_reference": (style.LIGHT, ""),
}


@dataclass(frozen=True)
class Source:
    """What the figures of one benchmark are drawn from."""

    job: ReportJob
    root: Path
    benchmark: str
    cells: pd.DataFrame
    grounding: pd.DataFrame


Drawing = Callable[[Source], Any]


def load(job: ReportJob, root: Path, benchmark: str) -> Source:
    """The tables of a benchmark, as ``slicewise report tables`` wrote them."""
    cells = artifacts.read_table(root / layout.table("cells", "parquet")).to_pandas()
    grounding = artifacts.read_table(root / layout.table("grounding", "parquet")).to_pandas()
    return Source(
        job, root, benchmark, cells[cells["benchmark"] == benchmark], grounding[grounding["benchmark"] == benchmark]
    )


def role(model: ReportModel) -> tuple[str, str]:
    """What a model is to the reader, and its colour: oracle, blind baseline, or one that may look."""
    if model.baseline == "oracle":
        return "reads the gold", style.BLACK
    if collect.is_blind(model.baseline):
        return "blind baseline", style.GREY
    return "model", style.BLUE


def scores(source: Source) -> Any:
    """Score of every column with its bootstrap interval, one panel per column, models down."""
    models, keys = source.job.models, collect.columns(source.benchmark)
    titles = collect.column_titles(source.benchmark)
    figure, axes = style.panels(len(keys) + 1, 4, style.DOUBLE, 0.75 + 0.15 * len(models), sharex=True, sharey=True)
    for axis, key in zip(axes, keys, strict=False):
        rows = {row["model"]: row for row in collect.records(source.cells[source.cells["column"] == key])}
        for y, model in enumerate(models):
            _dot(axis, rows[model.name], y, role(model)[1])
        axis.set_title(titles[key] + (" (proxy)" if collect.is_proxy(source.job, key) else ""))
        axis.grid(axis="x")
        axis.tick_params(labelbottom=True)
    figure.supxlabel("score × 100", fontsize=7.5)
    axes[0].set_xlim(-4, 104)
    axes[0].set_ylim(len(models) - 0.5, -0.5)
    axes[0].set_yticks(range(len(models)), [model.title for model in models])
    _score_legend(axes[-1], source)
    return figure


def _dot(axis: Any, row: dict[str, Any], y: int, colour: str) -> None:
    if pd.isna(row["value"]):
        axis.text(2, y, "no result", va="center", fontsize=6.5, color=style.GREY)
        return
    face = "white" if row["proxy"] else colour
    if not pd.isna(row["low"]):
        axis.plot([100 * row["low"], 100 * row["high"]], [y, y], color=colour, linewidth=1.1)
    if row["incomplete"]:
        axis.plot([100 * row["worst"], 100 * row["best"]], [y + 0.28] * 2, color=style.VERMILLION, linewidth=1.1)
    axis.plot(100 * row["value"], y, "o", markersize=4, color=colour, markerfacecolor=face, clip_on=False)


def _score_legend(axis: Any, source: Source) -> None:
    """The key, in the place of the panel after the last."""
    seen = dict.fromkeys(role(model) for model in source.job.models)
    handles = [
        Line2D([], [], color=colour, marker="o", markersize=4, linewidth=1.1, label=name) for name, colour in seen
    ]
    if source.cells["proxy"].any():
        handles.append(
            Line2D([], [], color="none", marker="o", markeredgecolor=style.BLACK, markersize=4, label="proxy (hollow)")
        )
    if (source.cells["incomplete"] & source.cells["value"].notna()).any():
        handles.append(Line2D([], [], color=style.VERMILLION, linewidth=1.1, label="worst to best (incomplete)"))
    axis.axis("off")
    confidence = f"{100 * source.job.report.confidence:g} %"
    axis.legend(
        handles=handles, loc="center left", title=f"bars: {confidence} interval\nover volumes", alignment="left"
    )


def outcomes(source: Source) -> Any:
    """Share of every outcome per model, over all columns but Avg.; an item stands in each column that asks it."""
    cells = source.cells[source.cells["column"] != "avg"]
    counts = cells.groupby("model", sort=False)[list(collect.OUTCOMES)].sum()
    counts = counts.loc[[model.name for model in source.job.models]]
    share = 100 * counts.div(counts.sum(axis=1).replace(0, np.nan), axis=0).fillna(0)
    seen = [name for name in collect.OUTCOMES if counts[name].sum() > 0]
    figure, axis = plt.subplots(figsize=(style.COLUMN, 1.0 + 0.17 * len(counts) + 0.13 * -(-len(seen) // 3)))
    left = np.zeros(len(share))
    for name in seen:
        colour, hatch = OUTCOME_STYLE[name]
        axis.barh(
            range(len(share)), share[name], left=left, height=0.7, color=colour, hatch=hatch,
            edgecolor="white", linewidth=0.3,
        )  # fmt: skip
        left += share[name].to_numpy()
    axis.set_yticks(range(len(share)), [model.title for model in source.job.models])
    axis.invert_yaxis()
    axis.set_xlim(0, 100)
    axis.set_xlabel("share of items, %")
    axis.tick_params(axis="y", length=0)
    handles = [
        Patch(facecolor=OUTCOME_STYLE[n][0], hatch=OUTCOME_STYLE[n][1], edgecolor="white", linewidth=0, label=n)
        for n in seen
    ]
    figure.legend(handles=handles, loc="outside upper center", ncols=3, handlelength=1.2, columnspacing=1.2)
    return figure


def drawings() -> dict[str, Drawing]:
    """Kind of figure -> the function that draws it."""
    from slicewise.report import examples, figures_grounding, figures_reproduce

    return {
        "scores": scores,
        "boxes": figures_grounding.boxes,
        "iou": figures_grounding.iou,
        "offsets": figures_grounding.offsets,
        "outcomes": outcomes,
        "examples": examples.examples,
        "reproduce": figures_reproduce.drawing,
    }


def draw(job: ReportJob, root: Path) -> None:
    """Draw and save every figure of a run as PDF and PNG."""
    kinds = drawings()
    with style.styled(), tqdm(total=len(job.benchmarks) * len(kinds), desc="figures", disable=None) as bar:
        for benchmark in job.benchmarks:
            source = load(job, root, benchmark)
            for kind, drawing in kinds.items():
                style.save(drawing(source), root / layout.figure(f"{kind}-{benchmark}", "x").with_suffix(""))
                bar.update()
