"""``slicewise infer``: run one model over one benchmark."""

from __future__ import annotations

from pathlib import Path

import click

from slicewise import jobs
from slicewise.cli import common


@click.command(short_help="Run a model over the items of a benchmark.")
@click.option("--benchmark", required=True, help="Id of the benchmark, such as sgmri-demo-image.")
@click.option("--model", required=True, help="Name of a model in the settings.")
@click.option("--samples", required=True, type=click.Path(path_type=Path), help="The benchmark's samples.parquet.")
@click.option("--out", required=True, type=click.Path(path_type=Path), help="Where to write answers.parquet.")
@common.settings_options
def infer(benchmark: str, model: str, samples: Path, out: Path, settings_json: str | None, params_file: Path) -> None:
    """Run MODEL over the items of BENCHMARK and write its answers, one row per item."""
    job = common.job(jobs.InferJob, settings_json, params_file, lambda params: jobs.infer_job(params, benchmark, model))
    common.check_named(benchmark=(benchmark, job.benchmark), model=(model, job.model.name))
    from slicewise.infer import run

    run.answer(job, samples, out)
