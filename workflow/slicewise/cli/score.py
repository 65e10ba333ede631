"""``slicewise score``: one metric of a run, or a whole file of answers."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import Any

import click

from slicewise import jobs
from slicewise.benchmarks.ct import CT_METRICS
from slicewise.benchmarks.sgmri import METRICS, NEURAL_METRICS
from slicewise.cli import common
from slicewise.errors import UserError
from slicewise.geometry import Convention

# The doors for files are loaded by name: they compose the report too, and an edit of the report must not make
# Snakemake compute metrics again.
_FILE_DOOR = "slicewise.cli.score_file"


@click.command(short_help="Compute a metric of a run, or score a file of answers.")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option("--metric", type=click.Choice([*METRICS, *CT_METRICS]), help="Stage: the metric to compute.")
@click.option("--benchmark", help="Id of the benchmark.")
@click.option("--model", "models", multiple=True, help="Stage: name of a model; repeat it for several.")
@click.option("--root", type=click.Path(path_type=Path), default=Path(), help="Stage: folder that holds results/.")
@click.option("--threads", type=click.IntRange(min=1), default=1, show_default=True, help="Threads of an encoder.")
@click.option("--protocol", type=click.Choice(["card", "reference"]), help="FILE: how a released run is scored.")
@click.option(
    "--convention",
    type=click.Choice([c.value for c in Convention]),
    help="FILE: how the model writes boxes; plain answers: abs_xywh_original by default.",
)
@click.option("--image-size", metavar="WxH", help="FILE: native size of the images of a released run, in pixels.")
@click.option("--frame-base", type=click.Choice(["0", "1"]), help="FILE: number of the first frame in the texts.")
@click.option("--ar", is_flag=True, help="FILE: also compute AR (loads an encoder).")
@click.option("--out", type=click.Path(path_type=Path), help="FILE: folder for the scores and tables.")
@common.settings_options
def score(file: Path | None, settings_json: str | None, params_file: Path, **options: Any) -> None:
    """Compute a metric of a run (--metric), or score a FILE of answers.

    \b
    slicewise score --metric answer --benchmark B --model M     one stage, as the workflow runs it
    slicewise score ANSWERS.csv --benchmark B --out DIR         your own answers: id,text as CSV or JSON lines
    slicewise score RUN.json --protocol reference --out DIR     a released inference file, as the released scorer does
    slicewise score RUN.json --protocol card --convention C --image-size 320x320 --frame-base 1 --out DIR
    """  # noqa: D301 - click wants the character itself
    if (file is None) == (options["metric"] is None):
        raise UserError("score: give either --metric (a stage of a run) or a FILE of answers; see slicewise score -h.")
    if file is None:
        _stage(settings_json, params_file, options)
    else:
        importlib.import_module(_FILE_DOOR).run(file, params_file, options)


def _stage(settings_json: str | None, params_file: Path, options: dict[str, Any]) -> None:
    metric, benchmark, models = options["metric"], options["benchmark"], list(options["models"])
    if benchmark is None or not models:
        raise UserError("score --metric: needs --benchmark and at least one --model.")
    twice = sorted({name for name in models if models.count(name) > 1})
    if twice:
        raise UserError(f"score: --model {twice[0]} is given twice; expected each model once.")
    job = common.job(
        jobs.ScoreJob, settings_json, params_file, lambda params: jobs.score_job(params, benchmark, metric)
    )
    common.check_named(metric=(metric, job.metric), benchmark=(benchmark, job.benchmark))
    from slicewise.score import run

    if metric in NEURAL_METRICS:
        run.score_models(job, models, options["root"], options["threads"])
        return
    for model in models:
        run.score_model(job, model, options["root"])


@click.command(short_help="Replay recorded calls of the released scorer.")
@click.argument("file", type=click.Path(path_type=Path))
def parity(file: Path) -> None:
    """Replay recorded calls of the released scorer from FILE (JSON lines) and print every mismatch.

    Closes with "N passed, N failed"; the exit status is 0 only when none failed.
    """
    importlib.import_module(_FILE_DOOR).parity(file)
