"""The stage itself: one answer per item, the table on disk, the command."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from slicewise import artifacts
from slicewise.cli import cli
from slicewise.errors import UserError
from slicewise.infer import run
from slicewise.infer.items import Answer, Item
from slicewise.jobs import InferJob
from slicewise.outcome import Outcome
from slicewise.params import BaselineModel

B = "sgmri-demo-image"
FRAME = {"number": 7, "path": None, "width": 320, "height": 256, "sha256": None}


def sample(sample_id: str, benchmark: str = B) -> dict[str, Any]:
    return {
        "sample_id": sample_id, "benchmark": benchmark, "level": "image", "domain": "knee", "volume_id": "file1",
        "modality": None, "task": "detection", "question_type": "closed_ended", "question": "Abnormal?",
        "options": None, "answer": "Yes", "reasoning": None, "labels": [], "boxes": [], "frames": [FRAME],
        "n_frames": 1, "flags": [],
    }  # fmt: skip


@pytest.fixture
def samples(tmp_path: Path) -> Path:
    path = tmp_path / "samples.parquet"
    artifacts.write_rows(path, [sample(name) for name in ("c", "a", "b")], artifacts.SAMPLES)
    return path


def job(baseline: str = "oracle") -> InferJob:
    model = BaselineModel.model_validate({"name": "me", "backend": "baseline", "baseline": baseline})
    return InferJob(benchmark=B, model=model)


def test_one_row_per_item(samples: Path, tmp_path: Path) -> None:
    run.answer(job(), samples, tmp_path / "answers.parquet")
    rows = artifacts.read_rows(tmp_path / "answers.parquet", artifacts.ANSWERS)
    assert [(row["sample_id"], row["text"], row["outcome"], row["model"]) for row in rows] == [
        (name, "Yes", "ok", "me") for name in "abc"
    ]
    assert len({row["request_key"] for row in rows}) == 3


def test_same_bytes_twice(samples: Path, tmp_path: Path) -> None:
    for name in ("one", "two"):
        run.answer(job("random"), samples, tmp_path / name)
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_another_benchmark_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "samples.parquet"
    artifacts.write_rows(path, [sample("a", "sgmri-image")], artifacts.SAMPLES)
    with pytest.raises(UserError, match=r"'sgmri-image'.*expected 'sgmri-demo-image'"):
        run.answer(job(), path, tmp_path / "answers.parquet")


@pytest.mark.parametrize("names", [("a", "b"), ("a", "b", "c", "c"), ("a", "b", "d")])
def test_a_backend_that_loses_or_repeats_an_item_is_a_fault(
    samples: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, names: tuple[str, ...]
) -> None:
    class Careless:
        def answer_all(self, items: Sequence[Item]) -> Iterator[Answer]:
            del items
            yield from (Answer(name, "Yes", "key") for name in names)

    backends: dict[str, Callable[[InferJob], run.Backend]] = {"baseline": lambda _: Careless()}
    monkeypatch.setattr(run, "BACKENDS", backends)
    with pytest.raises(RuntimeError, match="answers to 3 items"):
        run.answer(job(), samples, tmp_path / "answers.parquet")
    assert not (tmp_path / "answers.parquet").exists()


def test_a_text_and_a_failure_exclude_each_other() -> None:
    with pytest.raises(ValueError, match="exactly when"):
        Answer("a", "Yes", "key", Outcome.API_ERROR)
    with pytest.raises(ValueError, match="exactly when"):
        Answer("a", None, "key")


def test_the_command_takes_the_jobs_settings(samples: Path, tmp_path: Path) -> None:
    settings = job("blank").model_dump_json()
    out = tmp_path / "answers.parquet"
    arguments = ["infer", "--benchmark", B, "--samples", str(samples), "--out", str(out), "--settings", settings]
    done = CliRunner().invoke(cli, [*arguments, "--model", "me"], catch_exceptions=False)
    assert done.exit_code == 0
    assert {row["text"] for row in artifacts.read_rows(out)} == {""}
    with pytest.raises(UserError, match="is for model 'me', expected 'you'"):
        CliRunner().invoke(cli, [*arguments, "--model", "you"], catch_exceptions=False)
    broken = json.dumps({**json.loads(settings), "benchmrk": "x"})
    with pytest.raises(UserError, match="unknown setting 'benchmrk'"):
        CliRunner().invoke(cli, [*arguments[:-1], broken, "--model", "me"], catch_exceptions=False)
