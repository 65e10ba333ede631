"""Gather what the page shows and render it."""

from __future__ import annotations

import json
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

import jinja2
import pandas as pd

import slicewise
from slicewise import artifacts, layout
from slicewise.benchmarks import sgmri
from slicewise.jobs import ReportJob
from slicewise.report import blind, collect, conventions, grids, provenance, reproduce
from slicewise.report import tables as layouts
from slicewise.report.grids import Grid
from slicewise.report.run import BREAKDOWNS, DIAGNOSTICS, FIGURES

CAPTIONS = {
    "scores": "Scores per task with intervals over volumes. Hollow: a stand-in judge or encoder has a part in it.",
    "boxes": "V-Score against boxes emitted. V does not punish extra boxes; the precision-aware V (hollow) does.",
    "iou": "IoU of the gold boxes that a model's box overlaps.",
    "offsets": "How far, in frames, the boxes lie from the nearest frame with a gold box.",
    "outcomes": "Outcomes per model. Failures of the model count 0; hatched ones are failures of the machinery and "
    "count in no mean.",
    "examples": "Example frames with gold and predicted boxes.",
    "reproduce": "Published scores against ours, with the identity line. Hollow: not comparable.",
}
WIDE = ("scores", "iou", "offsets", "examples")  # over the whole width of the page; the others stand side by side


@dataclass(frozen=True)
class Figure:
    """One figure of the page; paths are relative to the page."""

    png: str
    pdf: str
    caption: str
    alt: str
    wide: bool


@dataclass(frozen=True)
class Section:
    """One benchmark on the page."""

    benchmark: str
    summary: str
    table: layouts.Table
    sentences: list[str]
    grids: list[Grid]
    figures: list[Figure]


def _read(root: Path, name: str) -> pd.DataFrame:
    frame: pd.DataFrame = artifacts.read_table(root / layout.table(name, "parquet")).to_pandas()
    return frame


def _rows(root: Path, name: str) -> list[dict[str, Any]]:
    return artifacts.read_rows(root / layout.table(name, "parquet"))


def sections(job: ReportJob, root: Path) -> list[Section]:
    """The page's sections, one per benchmark, from the tables that were written before."""
    cells, against_blind, domains = _read(root, "cells"), _read(root, "blind"), _read(root, "breakdown-domain")
    detection, counting, grounding = (_rows(root, name) for name in ("detection", "counting", "grounding"))
    published, warned = _rows(root, "reproduce"), _rows(root, "conventions")
    shared = [row for row in published if row["model"] is not None]
    sentences = blind.lines(against_blind, job)
    made = []
    for benchmark in job.benchmarks:
        shown = [
            grids.companion(cells, benchmark, job),
            grids.blind(against_blind, benchmark, job),
            grids.detection(detection, benchmark, job),
            grids.counting(counting, benchmark, job),
            grids.grounding(grounding, benchmark, job),
            grids.conventions(warned, benchmark),
            grids.reproduce(shared, benchmark),
            *(grids.breakdown(domains, "domain", benchmark, column, job) for column in collect.columns(benchmark)[:-1]),
        ]
        made.append(
            Section(
                benchmark=benchmark,
                summary=_summary(root, benchmark),
                table=layouts.build(benchmark, cells, job),
                sentences=[
                    *conventions.sentences(warned, benchmark),
                    *sentences[benchmark],
                    *reproduce.sentences(published, benchmark),
                ],
                grids=[grid for grid in shown if grid.rows],
                figures=[_figure(benchmark, kind) for kind in FIGURES],
            )
        )
    return made


def _summary(root: Path, benchmark: str) -> str:
    asked = collect.samples(root, benchmark)
    tasks = ", ".join(
        f"{task} {int((asked['task'] == task).sum())}" for task in sgmri.TASKS[sgmri.benchmark(benchmark).level]
    )
    return f"{len(asked)} items on {asked['volume_id'].nunique()} volumes: {tasks}."


def _figure(benchmark: str, kind: str) -> Figure:
    png, pdf = (layout.figure(f"{kind}-{benchmark}", suffix) for suffix in ("png", "pdf"))
    page = layout.stage("report")
    return Figure(
        png=png.relative_to(page).as_posix(),
        pdf=pdf.relative_to(page).as_posix(),
        caption=CAPTIONS[kind],
        alt=f"{benchmark}, {kind}: {CAPTIONS[kind]} The numbers are in the tables of this section.",
        wide=kind in WIDE,
    )


def render(job: ReportJob, root: Path) -> str:
    """The page as HTML text.

    Raises:
        UserError: The tables are missing: ``slicewise report tables`` writes them.
    """
    environment = jinja2.Environment(
        loader=jinja2.PackageLoader("slicewise.report.site", package_path=""),
        autoescape=True,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    css = resources.files("slicewise.report.site").joinpath("style.css").read_text(encoding="utf-8")
    names = [*job.benchmarks, "cells", *DIAGNOSTICS, *(f"breakdown-{name}" for name in BREAKDOWNS)]
    return environment.get_template("page.html.jinja").render(
        job=job,
        css=css,
        version=slicewise.__version__,
        sections=sections(job, root),
        stand_ins=collect.stand_ins(job),
        signature=provenance.signature(job),
        settings=json.dumps(job.model_dump(mode="json"), indent=2, sort_keys=True),
        score_signatures=provenance.score_signatures(job, root),
        inputs=provenance.inputs(job, root),
        tables=[(name, layout.table(name, "x").parent.name + "/" + name) for name in names],
    )
