"""Score plain answers (``id,text``) on a benchmark: coverage, both protocols side by side, blind baselines, intervals.

Everything lands in one folder: ``table.md``, ``table.tex``, ``summary.json`` and, laid out like the results of a run,
the answers, readings and scores as Parquet (``card/`` and ``reference/``).
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from slicewise import artifacts, jobs, layout, params
from slicewise.benchmarks import ct, sgmri
from slicewise.cli import score_card, side_by_side
from slicewise.errors import UserError
from slicewise.geometry import Convention
from slicewise.infer import run as infer_run
from slicewise.params import BaselineModel, FileModel, Params
from slicewise.report import collect
from slicewise.score import rows, schemas

ANSWERS = "answers"
BLIND = ("always-yes", "majority", "random", "prior-box")
PROTOCOLS = ("card", "reference")


def run(
    file: Path, params_file: Path, benchmark: str, declared: score_card.Declared, out: Path, *, ar: bool, threads: int
) -> None:
    """Score a file of answers and print the table.

    Raises:
        UserError: The benchmark is unknown or cannot be built, or the file does not fit it.
    """
    settings = params.load(params_file)
    if ct.is_ct(benchmark):
        raise UserError(
            f"score FILE: benchmark '{benchmark}' is on CT, whose answers are scored in a run only: declare them in "
            "params.yaml as a model with backend 'file', name it in the suite, and run `snakemake`."
        )
    sgmri.benchmark(benchmark)
    roots = {protocol: out / protocol for protocol in PROTOCOLS}
    samples = _samples(settings, benchmark, roots["card"])
    models = _models(settings, file, declared)
    for model in models:
        job = jobs.InferJob(benchmark=benchmark, model=model)
        infer_run.answer(job, samples, roots["card"] / layout.answers(benchmark, model.name))
    names = [model.name for model in models]
    score_card.score(settings, benchmark, names, declared, roots["card"], ar=ar, threads=threads)
    _reference(settings, benchmark, names, roots, ar=ar, threads=threads)
    for root in roots.values():
        _without_ar(root, benchmark, [] if ar else names)
    reports = {protocol: _report_job(settings, benchmark, models, protocol) for protocol in roots}
    found = {protocol: side_by_side.cells(reports[protocol], root) for protocol, root in roots.items()}
    proxies = collect.stand_ins(reports["card"])
    table = side_by_side.table(benchmark, file.name, found, ar=ar, proxies=proxies)
    artifacts.write_text(out / "table.md", table.markdown)
    artifacts.write_text(out / "table.tex", table.latex)
    artifacts.write_json(out / "summary.json", {"declared": declared.parts, "scores": side_by_side.summary(found)})
    click.echo(table.markdown)
    click.echo(f"Written: {out / 'table.md'}, {out / 'table.tex'}, {out / 'summary.json'}")


def _samples(settings: Params, benchmark: str, root: Path) -> Path:
    """The benchmark's items under the root: those of the last run, else built now."""
    path = root / layout.samples(benchmark)
    built = layout.samples(benchmark)
    if built.is_file():
        artifacts.write_table(path, artifacts.read_table(built, artifacts.SAMPLES), artifacts.SAMPLES)
        return path
    from slicewise.data import run as data_run

    data_run.build(jobs.data_job(settings, benchmark), path, root / layout.data_summary(benchmark))
    return path


def _models(settings: Params, file: Path, declared: score_card.Declared) -> list[FileModel | BaselineModel]:
    # With the seeds of the settings, a baseline has the same numbers here as in the run's tables.
    seeds: dict[str, dict[str, int]] = {
        model.baseline: {"seed": model.seed} for model in settings.models if isinstance(model, BaselineModel)
    }
    convention = Convention(declared.convention)
    shared: dict[str, Any] = {"bbox_convention": convention, "frame_base": declared.frame_base}
    own = FileModel(name=ANSWERS, title=file.name, backend="file", path=str(file), **shared)
    blind = [
        BaselineModel.model_validate({"name": n, "backend": "baseline", "baseline": n, **seeds.get(n, {}), **shared})
        for n in BLIND
    ]
    return [own, *blind]


def _reference(
    settings: Params, benchmark: str, names: Sequence[str], roots: dict[str, Path], *, ar: bool, threads: int
) -> None:
    """The same answers through the released scorer's behaviour."""
    places = [layout.samples(benchmark), *(layout.answers(benchmark, name) for name in names)]
    for place in places:
        (roots["reference"] / place).parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(roots["card"] / place, roots["reference"] / place)
    for metric in ("answer", "grounding", *(("bertscore", "judge", "reasoning") if ar else ())):
        job = score_card.metric_job(settings, benchmark, metric, "reference")
        score_card.compute(job, list(names), roots["reference"], threads, {})


def _without_ar(root: Path, benchmark: str, names: Sequence[str]) -> None:
    """An AR file without rows says that AR was not computed."""
    for name in names:
        rows.write(root / layout.score(benchmark, name, "reasoning"), [], schemas.schema("reasoning"))


def _report_job(
    settings: Params, benchmark: str, models: Sequence[FileModel | BaselineModel], protocol: str
) -> jobs.ReportJob:
    return jobs.report_job(settings).model_copy(
        update={
            "benchmarks": [benchmark],
            "models": [
                jobs.ReportModel(
                    name=model.name,
                    title=model.title or model.name,
                    backend=model.backend,
                    baseline=getattr(model, "baseline", None),
                )
                for model in models
            ],
            "protocol": protocol,
        }
    )
