"""The convention alarm: a model that finds the right thing and declares the wrong way of writing boxes."""

from __future__ import annotations

from pathlib import Path

import pytest
from slicewise import artifacts, layout
from slicewise.geometry import Convention, render
from slicewise.jobs import ParseJob, ReportJob, ReportModel, ScoreJob
from slicewise.params import ParseSettings, ReportSettings
from slicewise.parse.run import parse_file
from slicewise.report import conventions
from slicewise.score.run import score_model

B = "sgmri-demo-image"
SIZE = (640, 400)


def sample(i: int) -> dict[str, object]:
    x, y = 60.0 + 30 * i, 40.0 + 20 * i
    box = {"frame": 0, "x0": x, "y0": y, "x1": x + 60, "y1": y + 40, "label": "Edema"}
    return {
        "sample_id": f"i{i:02d}", "benchmark": B, "level": "image", "domain": "brain", "volume_id": f"v{i}",
        "modality": "T1", "task": "localization", "question_type": "closed_ended", "question": "Where is the edema?",
        "options": None, "answer": "There", "reasoning": None, "labels": ["Edema"], "boxes": [box],
        "frames": [{"number": 1, "path": None, "width": SIZE[0], "height": SIZE[1], "sha256": None}],
        "n_frames": 1, "flags": [],
    }  # fmt: skip


def run(root: Path, written: Convention, declared: Convention, words: str) -> list[dict[str, object]]:
    samples = [sample(i) for i in range(12)]
    artifacts.write_rows(root / layout.samples(B), samples, artifacts.SAMPLES)
    answers = []
    for item in samples:
        gold = item["boxes"][0]  # type: ignore[index]
        corners = (gold["x0"], gold["y0"], gold["x1"], gold["y1"])
        answers.append(
            {
                "sample_id": item["sample_id"],
                "benchmark": B,
                "model": "m",
                "finish_reason": "stop",
                "outcome": "ok",
                "text": f"{words} {render(corners, written, sent=None, native=SIZE)}",
                "error": None,
                "request_key": None,
                "served_model": None,
                "prompt_tokens": None,
                "completion_tokens": None,
                "cost": None,
                "frames": [],
            }
        )
    artifacts.write_rows(root / layout.answers(B, "m"), answers, artifacts.ANSWERS)
    job = ParseJob(benchmark=B, model="m", bbox_convention=declared, frame_base=1, parse=ParseSettings())
    parse_file(job, root / layout.samples(B), root / layout.answers(B, "m"), root / layout.parsed(B, "m"))
    score_model(ScoreJob(metric="grounding", benchmark=B, protocol="card", v_gold="all"), "m", root)
    return conventions.alarms(report_job(declared), root)


def report_job(declared: Convention) -> ReportJob:
    return ReportJob(
        suite="demo",
        benchmarks=[B],
        models=[ReportModel(name="m", title="m", backend="file", bbox_convention=declared)],
        protocol="card",
        judge="proxy",
        judge_is_proxy=True,
        bertscore_encoder="minilm",
        bertscore_rescale=False,
        report=ReportSettings(),
    )


@pytest.mark.parametrize(
    ("written", "declared"),
    [
        (Convention.REL_YXYX_0_1000, Convention.ABS_XYWH_ORIGINAL),
        (Convention.REL_XYXY_0_1, Convention.ABS_XYXY_ORIGINAL),
    ],
)
def test_the_alarm_shows_the_convention_that_was_meant(
    tmp_path: Path, written: Convention, declared: Convention
) -> None:
    rows = run(tmp_path, written, declared, "The edema is here:")
    by_name = {row["convention"]: row for row in rows}
    assert set(by_name) == {c.value for c in Convention}
    assert by_name[written.value]["v"] == pytest.approx(1.0, abs=1e-6)
    assert by_name[declared.value]["declared"]
    assert by_name[declared.value]["v"] < conventions.NEAR_ZERO  # type: ignore[operator]
    (said,) = conventions.sentences(rows, B)
    assert f"read as {written.value} it would be 100.00" in said
    # On the side only: the score is still that of the declared convention.
    scored = artifacts.read_rows(tmp_path / layout.score(B, "m", "grounding"))
    assert max(row["value"] or 0.0 for row in scored) < 0.5


@pytest.mark.parametrize(
    ("written", "declared", "words"),
    [
        (Convention.ABS_XYWH_ORIGINAL, Convention.ABS_XYWH_ORIGINAL, "The edema is here:"),
        (Convention.REL_YXYX_0_1000, Convention.ABS_XYWH_ORIGINAL, "A cyst is here:"),
    ],
)
def test_no_alarm_for_boxes_that_hit_or_findings_that_are_wrong(
    tmp_path: Path, written: Convention, declared: Convention, words: str
) -> None:
    assert run(tmp_path, written, declared, words) == []
