"""Whole runs: the recorded ones to the bit, and the rules around them."""

import json
from pathlib import Path
from typing import Any

import pytest
from slicewise.reference import ReferenceInputError
from slicewise.reference.ar_score import ArHooks
from slicewise.reference.run import load_inference, score_items, score_run

CASES = Path(__file__).parents[1] / "cases" / "reference_run"
BOX = "<bbx>[10,10,20,20]</bbx>"


@pytest.mark.parametrize("level", ["image_level", "video_level"])
def test_recorded_run_to_the_bit(level: str) -> None:
    wanted = (CASES / level / "expected.json").read_text(encoding="utf-8")
    got = score_run(load_inference(CASES / level / "sim_inference.json"))
    # The text form compares every bit of every float, and the order of every key.
    assert json.dumps(got) == json.dumps(json.loads(wanted))


def item(**fields: Any) -> dict[str, Any]:
    base = {"sample_id": "knee_image_qa_v_1", "dataset": "knee", "level": "image_level", "question": "Where?"}
    kind = {"task": "localization", "qa_type": "closed_ended", "gt_answer": f"Left, {BOX}", "model_output": BOX}
    return base | kind | fields


def per_sample(**fields: Any) -> dict[str, Any]:
    (entry,) = score_run({"results": [item(**fields)]})["per_sample"]
    return dict(entry)


@pytest.mark.parametrize(
    ("output", "gold", "score"),
    [
        (BOX, f"Frame 1: {BOX}", 1.0),
        (BOX, f"Frame 2: {BOX}", 0.0),
        (f"Frame 0: {BOX}", f"Frame 1: {BOX}", 1.0),
        (f"Frame 2: {BOX}", f"Frame 2: {BOX}", 1.0),
        (f"<think>{BOX}</think>{BOX}", f"Frame 1: {BOX}", 1.0),
        (f"<think>{BOX}</think>none", f"Frame 1: {BOX}", 0.0),
        ("[ERROR: 429]", BOX, 0.0),
    ],
)
def test_frames_of_a_whole_run(output: str, gold: str, score: float) -> None:
    assert per_sample(model_output=output, gt_answer=gold)["v_score"] == score


def test_gold_boxes_without_frame_match_any_frame() -> None:
    gold = [{"x": 10, "y": 10, "width": 20, "height": 20}]
    assert per_sample(model_output=f"Frame 7: {BOX}", bboxes=gold)["v_score"] == 1.0
    assert per_sample(model_output=f"Frame 7: {BOX}", bboxes=[gold[0] | {"frame": 3}])["v_score"] == 0.0
    assert per_sample(model_output=f"Frame 7: {BOX}", bboxes=[gold[0] | {"slice_num": 7}])["v_score"] == 1.0


def test_no_gold_box_no_score() -> None:
    assert per_sample(gt_answer="No findings to localize") == {"sample_id": "knee_image_qa_v_1"}


def test_no_box_read_leaves_map_out() -> None:
    assert per_sample(model_output="Left.") == {"sample_id": "knee_image_qa_v_1", "v_score": 0.0, "map": None}
    got = score_run({"results": [item(model_output="Left.")]})
    assert list(got["aggregates"]) == ["v_score"]


def test_empty_run() -> None:
    empty = {key: {} for key in ("dataset", "level", "qa_type", "task")}
    assert score_run({"results": []}) == {
        "aggregates": {},
        "breakdowns": empty,
        "total_samples": 0,
        "per_sample": [],
    }


def test_ar_joins_only_with_hooks() -> None:
    seen: list[tuple[str, str]] = []

    def bert(candidate: str, reference: str) -> float:
        seen.append((candidate, reference))
        return 1.0

    results = [
        item(),
        item(sample_id="knee_image_qa_v_2", task="captioning", qa_type="open_ended", gt_answer="Tear seen now here."),
        item(sample_id="knee_image_ground_v_3"),
        item(sample_id="knee_image_qa_v_4", task="detection", gt_answer="Yes", model_output="Yes"),
    ]
    got = score_run({"results": results}, ar=ArHooks(bert_f1=bert))
    assert seen == [("", "Left"), (BOX, "Tear seen now here.")]
    assert [list(entry) for entry in got["per_sample"]] == [
        ["sample_id", "ar_score", "v_score", "map"],
        ["sample_id", "ar_score"],
        ["sample_id", "v_score", "map"],
        ["sample_id", "a_score"],
    ]
    assert list(got["aggregates"]) == ["a_score", "ar_score", "v_score", "map", "detection"]
    assert got["aggregates"]["ar_score"] == {"mean": pytest.approx(1 / 3), "count": 2}
    without = score_run({"results": results})
    assert "ar_score" not in without["aggregates"]


def test_readings_are_kept_for_explanations() -> None:
    results = [
        item(model_output=f"Frame 0: {BOX}"),
        item(
            sample_id="knee_video_qa_v_2",
            task="counting",
            gt_answer="2",
            model_output="Seen. Therefore, the final answer is: 2",
        ),
    ]
    located, counted = score_items(results)
    assert located.pred_boxes == [{"frame": 1, "xywh": [10.0, 10.0, 20.0, 20.0]}]
    assert located.gold_boxes == [{"x": 10.0, "y": 10.0, "width": 20.0, "height": 20.0, "frame": 1}]
    assert (counted.answer, counted.scores) == ("2", {"a_score": 1.0})


@pytest.mark.parametrize(
    ("fields", "stop"),
    [
        ({"model_output": None}, "TypeError"),
        ({"bboxes": [None]}, "AttributeError"),
        ({"bboxes": [{"x": 1, "y": 2, "width": 3}]}, "KeyError"),
        ({"model_output": "<bbx>[nan, 20, 30, 40]</bbx>"}, "ValueError"),
        ({"task": "counting", "gt_answer": 6, "model_output": "6"}, "AttributeError"),
    ],
)
def test_what_stops_the_released_code_names_the_item(fields: dict[str, Any], stop: str) -> None:
    with pytest.raises(ReferenceInputError) as caught:
        score_run({"results": [item(sample_id="knee_image_qa_v_0"), item(**fields)]})
    assert str(caught.value).startswith(f"results[1] (knee_image_qa_v_1): the released scorer stops here with {stop}")


@pytest.mark.parametrize(
    ("content", "found"),
    [
        ("{", "is not valid JSON"),
        ("[]", "list 'results'"),
        ('{"results": {}}', "list 'results'"),
        ('{"results": [1]}', "results[0] is int"),
    ],
)
def test_bad_files_are_named(tmp_path: Path, content: str, found: str) -> None:
    path = tmp_path / "run.json"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(ReferenceInputError) as caught:
        load_inference(path)
    assert str(path) in str(caught.value)
    assert found in str(caught.value)


def test_missing_file_and_missing_id(tmp_path: Path) -> None:
    with pytest.raises(ReferenceInputError, match="cannot be read"):
        load_inference(tmp_path / "none.json")
    with pytest.raises(ReferenceInputError, match=r"results\[0\]: sample_id is None"):
        score_run({"results": [{"task": "detection"}]})
