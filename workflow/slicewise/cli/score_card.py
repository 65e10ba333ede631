"""Score a released inference file under protocol ``card``: parse it as declared, score it, sum it up."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click

from slicewise import artifacts, jobs, layout, params
from slicewise.benchmarks.sgmri import NEURAL_METRICS
from slicewise.errors import UserError
from slicewise.geometry import Convention
from slicewise.params import Params
from slicewise.parse import run as parse_run
from slicewise.score import released_file, summary
from slicewise.score import run as score_run

AR_PARTS = ("bleu", "rouge_l", "bertscore", "judge")


@dataclass(frozen=True, slots=True)
class Declared:
    """What a file of answers does not say about itself.

    Attributes:
        convention: How the model writes boxes.
        image_size: Native width and height of every image, in pixels; ``None`` where the benchmark knows the sizes.
        frame_base: The number that the texts give to the first frame.
    """

    convention: str
    image_size: tuple[int, int] | None
    frame_base: int

    @property
    def parts(self) -> dict[str, str]:
        """As parts of a signature."""
        size = {"image_size": "x".join(map(str, self.image_size))} if self.image_size else {}
        return {"convention": self.convention, **size, "frame_base": str(self.frame_base)}


def run(file: Path, params_file: Path, declared: Declared, out: Path, *, ar: bool, threads: int) -> None:
    """Write ``summary.json`` and, laid out like the results of a run, the scores as Parquet.

    Raises:
        UserError: The file cannot be read, or lacks what a result needs.
    """
    from slicewise.reference import ReferenceInputError
    from slicewise.reference import run as room

    settings = params.load(params_file)
    try:
        inference = room.load_inference(file)
    except ReferenceInputError as error:
        raise UserError(str(error)) from error
    results = released_file.results_of(file, inference)
    model = re.sub(r"[^A-Za-z0-9._-]+", "-", str(inference.get("model_key") or file.stem)).strip("-._") or "model"
    if declared.image_size is None:
        raise UserError("score FILE --protocol card: needs --image-size.")
    samples: list[dict[str, Any]] = []
    scores: dict[str, list[dict[str, Any]]] = {}
    for level in ("image", "volume"):
        benchmark = f"released-{level}"
        rows = released_file.sample_rows(file, results, level, declared.image_size, benchmark)
        if not rows:
            continue
        samples += rows
        artifacts.write_rows(out / layout.samples(benchmark), rows, artifacts.SAMPLES)
        answers = released_file.answer_rows(results, rows, model)
        artifacts.write_rows(out / layout.answers(benchmark, model), answers, artifacts.ANSWERS)
        score(settings, benchmark, [model], declared, out, ar=ar, threads=threads)
        for metric in summary.NAMES if ar else ("answer", "grounding"):
            scores.setdefault(metric, []).extend(artifacts.read_rows(out / layout.score(benchmark, model, metric)))
    artifacts.write_json(out / "summary.json", {**summary.summarise(samples, scores), "declared": declared.parts})
    click.echo(f"{len(samples)} items scored: {out / layout.stage('score')}, {out / 'summary.json'}")


def score(
    settings: Params, benchmark: str, models: list[str], declared: Declared, root: Path, *, ar: bool, threads: int
) -> None:
    """Parse the answers of models and compute their card scores under a root folder."""
    for model in models:
        job = jobs.ParseJob(
            benchmark=benchmark,
            model=model,
            bbox_convention=Convention(declared.convention),
            frame_base=declared.frame_base,
            parse=settings.parse,
        )
        parse_run.parse_file(
            job,
            root / layout.samples(benchmark),
            root / layout.answers(benchmark, model),
            root / layout.parsed(benchmark, model),
        )
    for metric in ("similarity", "answer", "grounding", *(AR_PARTS if ar else ()), *(("reasoning",) if ar else ())):
        compute(metric_job(settings, benchmark, metric, "card"), models, root, threads, declared.parts)


def metric_job(settings: Params, benchmark: str, metric: str, protocol: str) -> jobs.ScoreJob:
    """The settings of a metric under a protocol, whatever the run's own protocol is."""
    score = settings.score.model_copy(update={"protocol": protocol})
    return jobs.score_job(settings.model_copy(update={"score": score}), benchmark, metric)


def compute(job: jobs.ScoreJob, models: list[str], root: Path, threads: int, declared: dict[str, str]) -> None:
    """Compute one metric of several models."""
    if job.metric in NEURAL_METRICS:
        score_run.score_models(job, models, root, threads, declared)
        return
    for model in models:
        score_run.score_model(job, model, root, declared)
