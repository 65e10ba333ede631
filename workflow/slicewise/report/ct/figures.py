"""Figure 3 (slices against CT-Flow) and Figure 4 (ablation of the tool classes), ours beside the printed numbers."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from matplotlib.patches import Patch

from slicewise import artifacts, layout
from slicewise.benchmarks import ct
from slicewise.benchmarks.published_ct import printed
from slicewise.jobs import ReportJob, ReportModel
from slicewise.report import style
from slicewise.report.ct.tables import mode_of

NAMES = ("figure3", "figure4")
ABLATIONS = ("CT-Flow", "CT-Flow w/o cls.2", "CT-Flow w/o cls.3", "CT-Flow w/o cls.4")
_COLOURS = (style.BLUE, style.SKY, style.ORANGE, style.VERMILLION)


def draw(job: ReportJob, root: Path) -> None:
    """Draw both figures from the tables."""
    cells = artifacts.read_table(root / layout.table("ct-cells", "parquet")).to_pandas()
    tools = artifacts.read_table(root / layout.table("ct-tools", "parquet")).to_pandas()
    with style.styled():
        for name, made in (("figure3", _figure3(cells, job)), ("figure4", _figure4(cells, tools, job))):
            style.save(made, root / layout.stage("report") / "figures" / name)


def _value(cells: pd.DataFrame, benchmark: str, model: str, column: str) -> float:
    found = cells[(cells["benchmark"] == benchmark) & (cells["model"] == model) & (cells["column"] == column)]["value"]
    return 100 * float(found.iloc[0]) if len(found) else float("nan")


def _pairs(job: ReportJob) -> list[tuple[ReportModel | None, ReportModel]]:
    """Each agent with all its tools, and the model that it wraps when that one is in the suite."""
    by_name = {model.name: model for model in job.models}
    whole = [model for model in job.models if mode_of(model) == "CT-Flow"]
    return [(by_name.get(model.of or ""), model) for model in whole]


def _figure3(cells: pd.DataFrame, job: ReportJob) -> Any:
    """Bars of the average accuracy, with slices and with tools; the printed ones in a paler block to the right."""
    panels = [("rad3d", "3D-RAD", "rad"), ("ctflowbench", "CT-FlowBench", "fb")]
    figure, axes = style.panels(2, 1, style.DOUBLE, 2.3)
    for axis, (family, title, prefix) in zip(axes, panels, strict=True):
        bars: list[tuple[str, float, float, bool]] = []
        for benchmark in (name for name in job.benchmarks if ct.ct_benchmark(name).family == family):
            for plain, agent in _pairs(job):
                slices = float("nan") if plain is None else _value(cells, benchmark, plain.name, "avg")
                bars.append((f"{agent.title}\n{benchmark}", slices, _value(cells, benchmark, agent.name, "avg"), True))
        for row in printed("fig3"):
            slices, agents = (float(row.values[f"{prefix}_{key}"]) for key in ("slice", "ctflow"))
            name = row.model.replace("-A22B-Instruct", "").replace("-Instruct", "").replace("-Preview", "")
            bars.append((name, slices, agents, False))
        _bars(axis, bars, title)
    legend = [Patch(color=style.GREY, label="slices"), Patch(color=style.BLUE, label="CT-Flow")]
    axes[0].legend(handles=[*legend, Patch(facecolor="white", edgecolor=style.GREY, hatch="///", label="printed")],
                   loc="upper left", ncols=3)  # fmt: skip
    return figure


def _bars(axis: Any, bars: Sequence[tuple[str, float, float, bool]], title: str) -> None:
    for place, (_, slices, agent, ours) in enumerate(bars):
        for shift, value, colour in ((-0.2, slices, style.GREY), (0.2, agent, style.BLUE)):
            if np.isnan(value):
                continue
            look = {"color": colour} if ours else {"facecolor": "white", "edgecolor": colour, "hatch": "///"}
            axis.bar(place + shift, value, 0.38, **look)
            axis.text(place + shift, value + 1, f"{value:.1f}", ha="center", va="bottom", fontsize=6)
    axis.set_xticks(range(len(bars)), [bar[0] for bar in bars], fontsize=6)
    axis.set_ylim(0, 112)
    axis.set_ylabel("accuracy, %")
    axis.set_title(title, loc="left")


def _figure4(cells: pd.DataFrame, tools: pd.DataFrame, job: ReportJob) -> Any:
    """Accuracy per scenario with classes of tools switched off; format errors as a line."""
    wanted = [name for name in job.benchmarks if ct.ct_benchmark(name).family == "ctflowbench"]
    by_mode = {mode_of(model): model for model in reversed(job.models) if model.backend == "agent"}
    shown = [mode for mode in ABLATIONS if mode in by_mode]
    if not wanted or len(shown) < 2:
        return style.message("Ablation of the tool classes", "no agent with a class of tools switched off in this run")
    benchmark = wanted[0]
    figure, (axis,) = style.panels(1, 1, style.DOUBLE, 2.6)
    width = 0.8 / len(shown)
    for place, mode in enumerate(shown):
        rows = cells[(cells["benchmark"] == benchmark) & (cells["model"] == by_mode[mode].name)].set_index("column")
        xs = np.arange(len(ct.SCENARIOS)) + (place - (len(shown) - 1) / 2) * width
        values = 100 * rows["value"].reindex(list(ct.SCENARIOS)).to_numpy(dtype=float)
        low, high = (100 * rows[name].reindex(list(ct.SCENARIOS)).to_numpy(dtype=float) for name in ("low", "high"))
        axis.bar(xs, values, width * 0.95, color=_COLOURS[place], label=mode)
        axis.errorbar(xs, values, [np.maximum(values - low, 0), np.maximum(high - values, 0)], fmt="none",
                      ecolor=style.BLACK, elinewidth=0.6)  # fmt: skip
    axis.set_xticks(range(len(ct.SCENARIOS)), [ct.SCENARIO_TITLES[key] for key in ct.SCENARIOS])
    axis.set_ylabel("accuracy, %")
    axis.set_ylim(0, 118)
    _format_errors(axis.twinx(), tools[tools["benchmark"] == benchmark], [by_mode[mode] for mode in shown], width)
    axis.legend(loc="upper left", ncols=4)
    axis.set_title(f"{benchmark} (the published bars carry no numbers)", loc="left")
    return figure


def _format_errors(axis: Any, tools: pd.DataFrame, models: Sequence[ReportModel], width: float) -> None:
    """Format errors per case above each bar, joined within a scenario."""
    errors = tools.set_index(["model", "task"])["format_errors"]
    offsets = (np.arange(len(models)) - (len(models) - 1) / 2) * width
    for place, scenario in enumerate(ct.SCENARIOS):
        values = [float(errors.get((model.name, scenario), np.nan)) for model in models]
        axis.plot(place + offsets, values, color=style.BLACK, marker="D", markersize=3, linewidth=0.8)
    axis.set_ylim(0, max(1.0, 1.2 * float(errors.max())))
    axis.set_ylabel("format errors per case (line)")
    axis.spines["right"].set_visible(True)
