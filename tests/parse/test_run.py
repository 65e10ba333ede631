# ruff: noqa: E501 - tables of cases
"""The stage: from answers to parsed rows, and the command line around it."""

from __future__ import annotations

import json
from typing import Any

import pytest
from click.testing import CliRunner
from slicewise import artifacts
from slicewise.cli.parse import parse
from slicewise.errors import UserError
from slicewise.geometry import Convention
from slicewise.jobs import ParseJob
from slicewise.params import ParseSettings
from slicewise.parse import PARSER_VERSION
from slicewise.parse.run import parse_file

JOB = ParseJob(
    benchmark="b", model="m", bbox_convention=Convention.ABS_XYXY_RESIZED, frame_base=1, parse=ParseSettings()
)


def frame(number: Any, size: Any = (320, 320)) -> Any:
    return {"number": number, "path": None, "width": size[0], "height": size[1], "sha256": None}


def sample(
    sample_id: Any,
    task: Any = "detection",
    kind: Any = "closed_ended",
    answer: Any = "Yes",
    frames: Any = (1,),
    question: Any = "Is there a tear?",
    options: Any = None,
) -> Any:
    return {
        "sample_id": sample_id, "benchmark": "b", "level": "volume", "domain": "knee", "volume_id": "v", "modality": None,
        "task": task, "question_type": kind, "question": question, "options": options, "answer": answer, "reasoning": None,
        "labels": [], "boxes": [], "frames": [frame(n) for n in frames], "n_frames": len(frames), "flags": [],
    }  # fmt: skip


def reply(sample_id: Any, text: Any, outcome: Any = "ok", finish: Any = None, frames: Any = ()) -> Any:
    return {
        "sample_id": sample_id, "benchmark": "b", "model": "m", "text": text, "finish_reason": finish, "outcome": outcome,
        "error": None, "request_key": None, "served_model": None, "prompt_tokens": None, "completion_tokens": None,
        "cost": None, "frames": [{"number": n, "sha256": None, "width": 640, "height": 640} for n in frames],
    }  # fmt: skip


@pytest.fixture
def stage(tmp_path: Any) -> Any:
    def run(samples: Any, answers: Any, job: Any = JOB) -> Any:
        artifacts.write_rows(tmp_path / "s.parquet", samples, artifacts.SAMPLES)
        artifacts.write_rows(tmp_path / "a.parquet", answers, artifacts.ANSWERS)
        parse_file(job, tmp_path / "s.parquet", tmp_path / "a.parquet", tmp_path / "p.parquet")
        return {row["sample_id"]: row for row in artifacts.read_rows(tmp_path / "p.parquet", artifacts.PARSED)}

    return run


INLINE = "Which?\n(A) tear\n(B) cyst"
KINDS = [
    (sample("x"), "No, no tear.", "yes_no", "no"),
    (sample("x", answer="6"), "There are 5 findings on 3 frames.", "count", "5"),
    (sample("x", answer="FLAIR"), "**FLAIR**", "short_text", "FLAIR"),
    (sample("x", kind="single_choice", answer="(A)", question=INLINE), "cyst", "single_choice", "B"),
    (
        sample("x", kind="single_choice", answer="(A)", options={"A": "tear", "B": "cyst"}),
        "(A) tear",
        "single_choice",
        "A",
    ),
    (sample("x", kind="multiple_choice", answer="(A), (B)", question=INLINE), "A and B", "multiple_choice", "A, B"),
    (sample("x", kind="open_ended", task="diagnosis"), "<think>a</think>An ACL sprain.", "open_text", "An ACL sprain."),
]


@pytest.mark.parametrize(("item", "text", "kind", "answer"), KINDS)
def test_every_kind_of_answer(stage: Any, item: Any, text: Any, kind: Any, answer: Any) -> None:
    row = stage([item], [reply("x", text)])["x"]
    assert (row["kind"], row["answer"], row["answer_outcome"]) == (kind, answer, "ok")
    assert row["count"] == (5 if kind == "count" else None)
    assert row["letters"] == (answer.split(", ") if "choice" in kind else None)
    assert (row["boxes"], row["boxes_outcome"]) == (None, "no_reference")
    assert row["parser"] == PARSER_VERSION


def test_localization_is_read_as_text_and_boxes(stage: Any) -> None:
    text = '{"answer": "In the left lobe", "bboxes": [{"frame": 2, "bbox": [20, 40, 60, 80]}, {"frame": 9, "bbox": [1, 2, 3, 4]}]}'
    item = sample("x", task="localization", answer="...", frames=(1, 2, 3))
    row = stage([item], [reply("x", text, frames=(1, 2, 3))])["x"]
    assert (row["kind"], row["answer"], row["answer_outcome"]) == ("none", None, "no_reference")
    assert row["text"] == "In the left lobe"
    assert row["boxes"] == [{"frame": 1, "x0": 10.0, "y0": 20.0, "x1": 30.0, "y1": 40.0, "label": None}]
    assert row["boxes_emitted"] == 2
    assert [r["reason"] for r in row["rejected"]] == ["frame_out_of_range"]


def test_positions_are_those_of_the_item_when_fewer_frames_were_sent(stage: Any) -> None:
    item = sample("x", task="localization", frames=(1, 2, 3, 4, 5, 6))
    rows = stage([item], [reply("x", "Frame 2: [20, 40, 60, 80]", frames=(2, 4, 6))])
    assert [box["frame"] for box in rows["x"]["boxes"]] == [3]  # the second frame sent is frame 4 of the item


def test_an_unknown_frame_number_is_an_error(stage: Any) -> None:
    with pytest.raises(UserError, match="number 9"):
        stage([sample("x", task="localization")], [reply("x", "[1, 2, 3, 4]", frames=(9,))])


def test_the_frame_that_the_question_names_is_inherited(stage: Any) -> None:
    item = sample("x", task="localization", frames=(1, 2, 3), question="Where is the tear on frame 3?")
    assert stage([item], [reply("x", "[20, 40, 60, 80]")])["x"]["boxes"][0]["frame"] == 2


@pytest.mark.parametrize("outcome", ["api_error", "not_run", "missing_frames"])
def test_failures_of_the_machinery_go_through_all_readings(stage: Any, outcome: Any) -> None:
    rows = stage(
        [sample("x", task="localization"), sample("y")], [reply("x", None, outcome), reply("y", None, outcome)]
    )
    assert rows["x"]["text_outcome"] == rows["x"]["boxes_outcome"] == rows["y"]["answer_outcome"] == outcome
    assert rows["x"]["boxes"] is None


EMPTY = [
    (None, "ok", None, "empty"),
    ("", "ok", None, "empty"),
    ("", "ok", "length", "truncated"),
    ("<think>never closed", "ok", "length", "truncated"),
    (None, "ok", "content_filter", "refused"),
    (None, "refused", None, "refused"),
    ("I'm sorry, but I can't help with that.", "ok", None, "refused"),
    ("[ERROR: 429 quota]", "ok", None, "api_error"),
    ("The knee is imaged in", "ok", "length", "truncated"),
    ("The knee.", "ok", None, "unparsed"),
]


@pytest.mark.parametrize(("text", "outcome", "finish", "expected"), EMPTY)
def test_why_there_is_no_answer(stage: Any, text: Any, outcome: Any, finish: Any, expected: Any) -> None:
    row = stage([sample("x")], [reply("x", text, outcome, finish)])["x"]
    assert (row["answer"], row["answer_outcome"]) == (None, expected)


def test_a_cut_text_with_a_readable_answer_is_a_flag(stage: Any) -> None:
    row = stage([sample("x")], [reply("x", "Yes, there is a tear in the", finish="length")])["x"]
    assert (row["answer"], row["answer_outcome"]) == ("yes", "ok")
    assert "truncated" in row["answer_flags"]


def test_hostile_bytes_reach_the_file(stage: Any) -> None:
    row = stage([sample("x", task="captioning")], [reply("x", "Tear\x00 \u200bof the ACL\ufeff.")])["x"]
    assert row["text"] == "Tear of the ACL."


def test_an_answer_to_no_item_is_an_error(stage: Any) -> None:
    with pytest.raises(UserError, match="sample_id 'z'"):
        stage([sample("x")], [reply("z", "Yes")])


def test_same_bytes_twice(stage: Any, tmp_path: Any) -> None:
    rows = [sample("x"), sample("y")]
    stage(rows, [reply("y", "No"), reply("x", "Yes")])
    first = (tmp_path / "p.parquet").read_bytes()
    stage(rows, [reply("x", "Yes"), reply("y", "No")])
    assert (tmp_path / "p.parquet").read_bytes() == first


# --- command line ----------------------------------------------------------------------------------------------------

CASE = {"id": "1", "kind": "yes_no", "text": "Yes.", "context": {}, "expected": "yes"}


def write(path: Any, *records: Any) -> Any:
    path.write_text("".join(f"{r if isinstance(r, str) else json.dumps(r)}\n" for r in records))
    return str(path)


def test_cases_writes_one_line_per_case(tmp_path: Any) -> None:
    box = {"id": "2", "kind": "bbox", "text": "[10, 10, 900, 20]", "context": {
        "image_width": 100, "image_height": 100, "n_frames": 1, "frame_base": 1, "declared_convention": "abs_xyxy_original"}}  # fmt: skip
    source, out = write(tmp_path / "in.jsonl", CASE, box), tmp_path / "out.jsonl"
    result = CliRunner().invoke(parse, ["--cases", source, "--out", str(out)])
    assert result.exit_code == 0, result.output
    first, second = map(json.loads, out.read_text().splitlines())
    assert first == {"id": "1", "value": "yes", "outcome": "ok", "stage": "leading", "flags": []}
    assert second["value"] == []
    assert second["rejected"] == [{"frame": 0, "text": "[10, 10, 900, 20]", "reason": "outside_image"}]


def test_check_counts_ambiguous_cases_apart(tmp_path: Any) -> None:
    wrong = {**CASE, "id": "2", "expected": "no"}
    doubtful = {**wrong, "id": "3", "ambiguous": True}
    result = CliRunner().invoke(parse, ["--check", write(tmp_path / "a.jsonl", CASE, doubtful)])
    assert (result.exit_code, result.output.splitlines()[-1]) == (0, "1 passed, 0 failed")
    assert "ambiguous: 0 as expected, 1 otherwise" in result.output
    result = CliRunner().invoke(parse, ["--check", write(tmp_path / "b.jsonl", CASE, wrong)])
    assert (result.exit_code, result.output.splitlines()[-1]) == (1, "1 passed, 1 failed")
    assert "mismatch: 2 (yes_no)" in result.output


BAD = [
    ("{", "b.jsonl:2: is not valid JSON"),
    ("[]", "b.jsonl:2: found list"),
    ({"id": "1", "kind": "yes_no"}, "b.jsonl:2: field 'text' is missing"),
    ({**CASE, "kind": "yesno"}, "Did you mean 'yes_no'"),
    ({**CASE, "text": 3}, "'text' must be a string or null"),
    ({**CASE, "kind": "bbox"}, "context.declared_convention"),
    ({**CASE, "kind": "bbox", "context": {"declared_convention": "rel_xyxy_0_1"}}, "context.image_width"),
    ({**CASE, "kind": "judge"}, "context.dims"),
    ({**CASE, "kind": "judge", "context": {"dims": ["a"]}}, "context.scale"),
    ({**CASE, "kind": "single_choice", "context": {"options": 3}}, "context.options"),
]


@pytest.mark.parametrize(("line", "message"), BAD)
def test_a_bad_line_is_one_sentence_with_file_and_line(tmp_path: Any, line: Any, message: Any) -> None:
    result = CliRunner().invoke(parse, ["--check", write(tmp_path / "b.jsonl", CASE, line)])
    assert isinstance(result.exception, UserError)
    assert message in str(result.exception)
    assert "\n" not in str(result.exception)


@pytest.mark.parametrize("arguments", [[], ["--cases", "x.jsonl"], ["--check", "missing.jsonl"]])
def test_what_is_missing_is_said(arguments: Any) -> None:
    assert isinstance(CliRunner().invoke(parse, arguments).exception, UserError)
