"""Published cells beside ours: reproduced, differs, or not comparable and why."""

from __future__ import annotations

from pathlib import Path
from random import Random
from typing import Any

import pytest
from slicewise import artifacts, jobs, layout, params
from slicewise.benchmarks.published import published
from slicewise.cli import cli
from slicewise.errors import UserError
from slicewise.jobs import ReportJob, ReportModel
from slicewise.params import ReportSettings
from slicewise.report import cells, collect, reproduce, run

OURS = "Ours (Qwen3-VL-8B-SGMRIVQA)"
ICL = ReportModel(name="answers", title=OURS, backend="openai", prompt="icl")
Tree = tuple[ReportJob, Path]


def paper(**changes: Any) -> ReportJob:
    """The settings of a run that is comparable with the published tables."""
    values: dict[str, Any] = {
        "suite": "paper",
        "benchmarks": ["sgmri-image"],
        "models": [ReportModel(name="answers", title=OURS, backend="file")],
        "protocol": "reference",
        "judge": "released",
        "judge_is_proxy": False,
        "judge_model": "gpt-4o",
        "frames": "none",
        "split": "test",
        "bertscore_encoder": "roberta-large",
        "bertscore_rescale": True,
        "report": ReportSettings(bootstrap_draws=200),
    }
    return ReportJob(**{**values, **changes})


def detections(root: Path, make: Any, right: int, n: int = 1492, lost: int = 0) -> None:
    """A scored image benchmark with nothing but detection questions, ``right`` of ``n`` answered right."""
    order = Random(4).sample(range(n), n)  # noqa: S311 - a shuffle, no secret
    (template,) = make.samples(root, "sgmri-image", False)[:1]
    ids = [f"brain-image-v{i // 4:03d}-detection-{i:04d}" for i in range(n)]
    items = [{**template, "sample_id": key, "volume_id": key[12:16], "boxes": []} for key in ids]
    artifacts.write_rows(root / layout.samples("sgmri-image"), items, artifacts.SAMPLES)
    for metric, schema in make.schemas.items():
        empty = dict.fromkeys(schema.names)
        rows: list[dict[str, Any]] = [
            {
                **empty,
                "sample_id": key,
                "benchmark": "sgmri-image",
                "model": "answers",
                "value": None if i < lost else float(order[i] < right),
                "outcome": "api_error" if i < lost else "ok",
                "flags": [],
                "kind": "yes_no",
                "signature": "A|protocol:reference",
            }
            for i, key in enumerate(ids)
        ]
        artifacts.write_rows(
            root / layout.score("sgmri-image", "answers", metric), rows if metric == "answer" else [], schema
        )


def rows_of(root: Path, job: ReportJob, same: dict[str, str] | None = None) -> dict[tuple[str, str], dict[str, Any]]:
    rows = reproduce.reproduce(cells.cells(collect.items(job, root), job), job, same)
    return {(row["published_model"], row["column"]): row for row in rows}


def test_answers_that_must_reproduce_a_published_cell(tmp_path: Path, make: Any) -> None:
    """1,419 of 1,492 right is the published 95.11."""
    detections(tmp_path, make, 1419)
    row = rows_of(tmp_path, paper())[OURS, "detection"]
    assert (row["verdict"], row["to_the_digit"], row["n"], row["because"]) == ("reproduced", True, 1492, "")
    assert row["published"] == 95.11
    assert row["ours"] == pytest.approx(100 * 1419 / 1492, abs=1e-6)
    assert row["low"] < 95.11 < row["high"]


def test_near_is_reproduced_and_far_differs(tmp_path: Path, make: Any) -> None:
    detections(tmp_path, make, 1410)
    near = rows_of(tmp_path, paper())[OURS, "detection"]
    assert (near["verdict"], near["to_the_digit"]) == ("reproduced", False)
    detections(tmp_path, make, 1300)
    far = rows_of(tmp_path, paper())[OURS, "detection"]
    assert far["verdict"] == "differs"
    assert not far["low"] <= 95.11 <= far["high"]


@pytest.mark.parametrize(
    ("changes", "column", "phrase"),
    [
        ({"protocol": "card"}, "detection", "protocol: card"),
        ({"frames": "corrected"}, "detection", "frames: corrected"),
        ({"split": "train"}, "detection", "split: train"),
        ({"judge_is_proxy": True}, "captioning", "judge: the proxy"),
        ({"judge_model": "gpt-4o-mini"}, "captioning", "judge: gpt-4o-mini, published gpt-4o"),
        ({"bertscore_encoder": "minilm"}, "captioning", "encoder: minilm"),
        ({"bertscore_rescale": False}, "captioning", "encoder: roberta-large without rescaling"),
        ({"models": [ICL]}, "detection", "prompts: icl"),
        ({"models": [ReportModel(name="answers", title="mine", backend="file")]}, "detection", "model: none"),
    ],
)  # fmt: skip
def test_each_setting_that_differs_is_named(
    tmp_path: Path, make: Any, changes: dict[str, Any], column: str, phrase: str
) -> None:
    detections(tmp_path, make, 1419)
    row = rows_of(tmp_path, paper(**changes))[OURS, column]
    assert row["verdict"] == "not comparable"
    assert phrase in row["because"]


def test_the_judge_has_no_part_in_detection(tmp_path: Path, make: Any) -> None:
    detections(tmp_path, make, 1419)
    assert rows_of(tmp_path, paper(judge_is_proxy=True))[OURS, "detection"]["verdict"] == "reproduced"


def test_lost_items_and_empty_columns_are_named(tmp_path: Path, make: Any) -> None:
    detections(tmp_path, make, 1419, lost=3)
    found = rows_of(tmp_path, paper())
    assert "coverage: 3 of 1492 items have no result" in found[OURS, "detection"]["because"]
    assert found[OURS, "captioning"]["because"] == "coverage: no item has a result"
    assert found[OURS, "avg"]["because"] == "coverage: no item has a result"


def test_a_model_may_be_said_to_stand_for_a_row(tmp_path: Path, make: Any) -> None:
    detections(tmp_path, make, 757)  # 757 of 1,492 is the published 50.74 of GPT-4o
    job = paper(models=[ReportModel(name="answers", title="mine", backend="file")])
    assert rows_of(tmp_path, job, {"answers": "GPT-4o"})["GPT-4o", "detection"]["verdict"] == "reproduced"
    with pytest.raises(UserError, match=r"no published row is 'GPT4o'.*GPT-4o"):
        rows_of(tmp_path, job, {"answers": "GPT4o"})


def test_the_demo_is_not_comparable_and_says_why(reported: Tree) -> None:
    job, root = reported
    rows = artifacts.read_rows(root / layout.table("reproduce", "parquet"), reproduce.CELLS)
    assert len(rows) == sum(7 * len(published(level)) for level in ("image", "volume"))
    assert {row["verdict"] for row in rows} == {"not comparable"}
    text = (root / layout.table("reproduce", "md")).read_text()
    for phrase in ("asks other questions", "protocol: card", "judge: the proxy", "encoder: minilm", "model: none"):
        assert phrase in text
    page = (root / run.PAGE).read_text()
    assert "Not comparable, protocol: card" in page
    assert reproduce.verdicts(rows) == {"reproduced": 0, "differs": 0, "not comparable": len(rows)}
    assert job.suite == "demo"


def test_settings_of_the_suites_reach_the_verdict() -> None:
    settings = params.load(Path(__file__).parents[2] / "params.yaml")
    demo = jobs.report_job(settings)
    assert (demo.judge_model, demo.frames, demo.split) == (None, None, None)
    changed = settings.model_copy(
        update={"suite": "paper", "score": settings.score.model_copy(update={"protocol": "reference"})}
    )
    job = jobs.report_job(changed)
    assert (job.judge_model, job.frames, job.split) == ("gpt-4o", "none", "test")
    titles = {model.title for model in job.models}
    assert len(titles & {row.model for row in published("image")}) >= 10


def test_command_line(tmp_path: Path, make: Any, capsys: pytest.CaptureFixture[str]) -> None:
    detections(tmp_path, make, 1300)
    options = ["--settings", paper().model_dump_json(), "--root", str(tmp_path), "--out", str(tmp_path / "out")]
    with pytest.raises(SystemExit) as stop:
        cli(["reproduce", "image", *options, "--strict"])
    assert stop.value.code == 1
    said = capsys.readouterr().out
    assert "| Ours (Qwen3-VL-8B-SGMRIVQA) | Detection A | answers | differs | 95.11 | 87.13 |" in said
    assert "of 91 published cells 0 reproduced, 1 differs, 90 not comparable" in said
    assert (tmp_path / "out/reproduce-sgmri-image.pdf").stat().st_size > 3_000
    with pytest.raises(UserError, match="no table 'videos'"):
        cli(["reproduce", "videos", *options], standalone_mode=False)
