"""What the rules pass to their commands: the job's settings as canonical JSON, and the digest of the code it runs.

Snakemake compares the params of a rule as a set of values, so each rule has exactly one value for its settings: two
settings that swap their values change it.
"""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

from slicewise import jobs
from slicewise.benchmarks import ct
from slicewise.params import Params
from slicewise.pipeline.digest import ROOT, code_digest
from slicewise.settings import Settings

# The modules that a command runs, beside those that their own imports lead to.
ENTRY: dict[str, tuple[str, ...]] = {
    "demo": ("slicewise.cli.data", "slicewise.data.phantom"),
    "chest": ("slicewise.cli.data", "slicewise.data.ctflowbench.chest"),
    "fetch": ("slicewise.cli.data", "slicewise.data.fetch"),
    "data": ("slicewise.cli.data", "slicewise.data.run"),
    "infer": ("slicewise.cli.infer", "slicewise.infer.run"),
    "parse": ("slicewise.cli.parse", "slicewise.parse.run"),
    "score": ("slicewise.cli.score", "slicewise.score.run"),
    "report": ("slicewise.cli.report", "slicewise.report.run"),
}
# Where a command chooses between modules, each job runs only its own: the modules that choose, and what they choose.
CHOOSERS: dict[str, tuple[str, ...]] = {
    **dict.fromkeys(("demo", "chest", "fetch", "data"), ("slicewise.data.run",)),  # one module of commands
    "infer": ("slicewise.infer.run",),
    "score": ("slicewise.score.run", "slicewise.score.neural"),
    "report": ("slicewise.report.run",),
}
_NEURAL = "slicewise.score.neural"
CHOICES: dict[str, dict[str, tuple[str, ...]]] = {
    "data": {
        "sgmri": (),
        "ctflowbench": ("slicewise.data.ctflowbench.build",),
        "rad3d": ("slicewise.data.rad3d",),
    },
    "infer": {
        "agent": ("slicewise.infer.agent.backend",),
        "baseline": ("slicewise.infer.baselines",),
        "file": ("slicewise.infer.answers_file",),
        "openai": ("slicewise.infer.language_model",),
    },
    "score": {
        "answer": ("slicewise.score.answer_rows",),
        "bleu": ("slicewise.score.text",),
        "rouge_l": ("slicewise.score.text",),
        "grounding": ("slicewise.score.grounding_rows",),
        "similarity": (_NEURAL, "slicewise.score.similarity"),
        "bertscore": (_NEURAL, "slicewise.score.bert"),
        "judge": (_NEURAL, "slicewise.score.judge", "slicewise.score.judge_llm"),
        "reasoning": (),
        "choice": ("slicewise.score.ct_rows",),
        "ct_text": ("slicewise.score.ct_text",),
        "tool_use": ("slicewise.score.tool_use",),
        "card": (),
        "reference": ("slicewise.score.reference_rows",),
    },
    "report": {
        "tables": tuple(
            f"slicewise.report.{name}"
            for name in (
                "blind",
                "breakdowns",
                "cells",
                "collect",
                "diagnostics",
                "grids",
                "metrics",
                "render",
                "reproduce",
                "tables",
            )
        ),
        "figures": ("slicewise.report.figures",),
        "site": ("slicewise.report.site", "slicewise.report.site.build"),
        "ct": ("slicewise.report.ct.run",),
    },
}
CHOICES |= dict.fromkeys(("demo", "chest", "fetch"), CHOICES["data"])
# Metrics that need other metrics of the same item first.
PARTS = {"answer": ("similarity",), "reasoning": ("bleu", "rouge_l", "bertscore", "judge")}
MODEL_METRICS = ("bleu", "rouge_l", "grounding", "choice", "ct_text", "tool_use")  # one job per model
SUITE_METRICS = ("similarity", "bertscore", "judge", "answer", "reasoning")  # one job over all models


@cache
def code(command: str, *chosen: str, root: Path = ROOT) -> str:
    """Digest of the code behind a command of :data:`ENTRY`, with what the job chooses of its :data:`CHOICES`."""
    choices = CHOICES.get(command, {})
    own = [module for name in chosen for module in choices.get(name, ())]
    edges = {
        (chooser, module) for chooser in CHOOSERS.get(command, ()) for modules in choices.values() for module in modules
    }
    return code_digest(*ENTRY[command], *own, without=frozenset(edges if chosen else ()), root=root)


def data_code(benchmark: str, root: Path = ROOT) -> str:
    """Digest of the code that makes a benchmark's items."""
    return code("data", ct.ct_benchmark(benchmark).family if ct.is_ct(benchmark) else "sgmri", root=root)


def report_code(params: Params, part: str, root: Path = ROOT) -> str:
    """Digest of the code behind ``tables``, ``figures`` or ``site``; a suite on CT has another one."""
    return code("report", "ct" if all(map(ct.is_ct, params.active.benchmarks)) else part, root=root)


def canonical(job: Settings) -> str:
    """The settings of a job as one line of JSON with sorted keys."""
    return json.dumps(job.model_dump(mode="json"), sort_keys=True, separators=(",", ":"))


def demo(params: Params) -> str:
    """Settings of the phantoms."""
    return canonical(params.data.demo)


def chest(params: Params) -> str:
    """Settings of the chest phantoms."""
    return canonical(params.data.chest)


def data(params: Params, benchmark: str) -> str:
    """Settings of a benchmark's items."""
    return canonical(jobs.data_job(params, benchmark))


def infer(params: Params, benchmark: str, model: str) -> str:
    """Settings of a model's answers."""
    return canonical(jobs.infer_job(params, benchmark, model))


def parse(params: Params, benchmark: str, model: str) -> str:
    """Settings of the reading of a model's answers."""
    return canonical(jobs.parse_job(params, benchmark, model))


def score(params: Params, benchmark: str, metric: str) -> str:
    """Settings of a metric."""
    return canonical(jobs.score_job(params, benchmark, metric))


def report(params: Params) -> str:
    """Settings of the report."""
    return canonical(jobs.report_job(params))
