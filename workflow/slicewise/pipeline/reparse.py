"""Stored answers read again by the code and the settings that are here now: nothing is asked of a model again."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from slicewise import artifacts, jobs, layout, params
from slicewise.benchmarks.sgmri import METRICS, NEURAL_METRICS
from slicewise.errors import UserError
from slicewise.params import PARAMS_FILE, Params
from slicewise.parse import run as parsing
from slicewise.pipeline import rules
from slicewise.report import sides
from slicewise.report.sides import Side
from slicewise.score import run as scoring
from slicewise.score import schemas

NAME = "this parser"


@contextmanager
def side(stored: Side) -> Iterator[Side]:
    """The side whose readings are made now from the answers of a stored one.

    Scores follow the new readings. Numbers that need an encoder or a judge are kept where the text that they rate is
    the same, and are ``not_run`` where it is not: no encoder is loaded and no call is made.

    Args:
        stored: A side with settings and answers.

    Yields:
        The new side; its files are removed afterwards.

    Raises:
        UserError: The stored side has no settings or no answers.
    """
    if not (stored.root / PARAMS_FILE).is_file():
        raise UserError(f"{stored.name}: has no {PARAMS_FILE}; expected the settings that its answers are read with.")
    settings = params.load(stored.root / PARAMS_FILE)
    with TemporaryDirectory(prefix="slicewise-") as temporary:
        root = Path(temporary)
        os.symlink((stored.root / PARAMS_FILE).resolve(), root / PARAMS_FILE)
        for stage in ("data", "infer"):
            (root / layout.stage(stage)).parent.mkdir(parents=True, exist_ok=True)
            os.symlink((stored.root / layout.stage(stage)).resolve(), root / layout.stage(stage))
        for benchmark in settings.active.benchmarks:
            for model in settings.active.models:
                _again(settings, stored.root, root, benchmark, model)
        yield sides.load(NAME, root, {**stored.code, **_code(settings)})


def _code(settings: Params) -> dict[str, str]:
    """The digests of the code that has just run."""
    cheap = [metric for metric in METRICS if metric not in NEURAL_METRICS]
    scores = {f"score.{metric}": rules.code("score", metric, settings.score.protocol) for metric in cheap}
    return {"parse": rules.code("parse"), **scores}


def _again(settings: Params, stored: Path, root: Path, benchmark: str, model: str) -> None:
    """Read and score one model again."""
    out = layout.parsed(benchmark, model)
    job = jobs.parse_job(settings, benchmark, model)
    parsing.parse_file(job, root / layout.samples(benchmark), root / layout.answers(benchmark, model), root / out)
    old, new = (_texts(folder / out) for folder in (stored, root))
    same = {key for key, row in new.items() if row == old.get(key)}
    for metric in METRICS:
        if metric in NEURAL_METRICS:
            _keep(stored, root, layout.score(benchmark, model, metric), metric, same)
    for metric in METRICS:
        if metric not in NEURAL_METRICS:
            scoring.score_model(jobs.score_job(settings, benchmark, metric), model, root)


def _texts(path: Path) -> dict[str, Any]:
    """What the neural metrics rate of each answer."""
    columns = ["sample_id", "kind", "answer", "answer_outcome", "text", "text_outcome"]
    return {row.pop("sample_id"): row for row in artifacts.read_rows(path, columns=columns)}


def _keep(stored: Path, root: Path, path: Path, metric: str, same: set[str]) -> None:
    """A neural metric's rows, those of changed texts as ``not_run``."""
    schema = schemas.schema(metric)
    empty: dict[str, Any] = {name: None for name, _, nullable in schemas.EXTRA[metric] if nullable}
    rows = [
        row if row["sample_id"] in same else {**row, **empty, "value": None, "outcome": "not_run"}
        for row in artifacts.read_rows(stored / path, schema)
    ]
    artifacts.write_rows(root / path, rows, schema)
