"""The published defects of the released scorer: here they are the right answer."""

import json
import math
from pathlib import Path
from typing import Any

import pytest
from slicewise.reference.a_score import a_score
from slicewise.reference.answers import choice_letters, final_answer, strip_thinking, yes_no
from slicewise.reference.ar_score import ArHooks, JudgeFailure, ar_score, bleu, gpt_score, judge_prompt, judge_ratings
from slicewise.reference.boxes import boxes
from slicewise.reference.locations import strip_localization_text
from slicewise.reference.run import IMAGE_SIZES, score_run
from slicewise.reference.v_score import v_score

CASES = Path(__file__).parents[1] / "cases" / "reference_defects.jsonl"
DEFECTS = {line["id"]: line for line in map(json.loads, CASES.read_text(encoding="utf-8").splitlines())}
TEXT_FUNCTIONS = {
    "metrics.utils.parse_yes_no": yes_no,
    "metrics.utils.parse_choice_letters": choice_letters,
    "run_evaluation._strip_bbox_text": strip_localization_text,
}


def of(*functions: str) -> list[Any]:
    return [pytest.param(line, id=key) for key, line in DEFECTS.items() if line["function"] in functions]


def raised(call: Any) -> Any:
    try:
        return call()
    except (AttributeError, TypeError) as error:
        return f"raises {type(error).__name__}: {error}"


@pytest.mark.parametrize("line", of(*TEXT_FUNCTIONS))
def test_text_functions(line: dict[str, Any]) -> None:
    assert TEXT_FUNCTIONS[line["function"]](line["input"]) == line["reference_output"]


@pytest.mark.parametrize("line", of("metrics.utils.extract_answer_text"))
def test_strip_thinking(line: dict[str, Any]) -> None:
    assert raised(lambda: strip_thinking(line["input"])) == line["reference_output"]


@pytest.mark.parametrize("line", of("run_evaluation._extract_video_answer"))
def test_final_answer(line: dict[str, Any]) -> None:
    given = line["input"]
    assert final_answer(given["prediction"], given["qa_type"]) == line["reference_output"]


@pytest.mark.parametrize("line", of("metrics.a_score.compute_a_score"))
def test_a_score(line: dict[str, Any]) -> None:
    given = line["input"]
    labels = given.get("gt_labels", ())
    got = raised(lambda: a_score(given["prediction"], given["gt_answer"], given["qa_type"], labels))
    assert got == line["reference_output"]


@pytest.mark.parametrize("line", of("metrics.utils.parse_bboxes_with_frames"))
def test_boxes(line: dict[str, Any]) -> None:
    given = line["input"]
    size = given["image_width"], given["image_height"]
    if "texts" in given:
        got: list[Any] = [[box["xywh"] for box in boxes(text, *size)] for text in given["texts"]]
    else:
        got = [[box["frame"], box["xywh"]] for box in boxes(given["text"], *size)]
    assert_close(got, line["reference_output"])


@pytest.mark.parametrize("line", of("metrics.v_score.compute_v_score"))
def test_v_score(line: dict[str, Any]) -> None:
    given = line["input"]
    parsed = given.get("pred_bboxes_parsed")
    pred = [{"frame": box["frame"], "xywh": box["bbox"]} for box in parsed] if parsed else None
    size = given.get("image_width"), given.get("image_height")
    got = v_score(given.get("prediction", ""), given["gt_bboxes_raw"], *size, pred_boxes=pred)  # type: ignore[arg-type]
    assert got["v_score"] == pytest.approx(line["reference_output"], abs=5e-5)


@pytest.mark.parametrize("line", of("metrics.ar_score._compute_bleu"))
def test_bleu(line: dict[str, Any]) -> None:
    assert bleu(**line["input"]) == pytest.approx(line["reference_output"], abs=5e-5)


def judge_with(replies: list[str]) -> Any:
    waiting = iter(replies)

    def judge(prompt: str) -> str:
        reply = next(waiting)
        if reply.startswith("429"):
            raise JudgeFailure(reply)
        return reply

    return judge


@pytest.mark.parametrize("line", [p for p in of("metrics.ar_score._compute_gpt_score") if p.id != "JU-12"])
def test_judge_arithmetic(line: dict[str, Any]) -> None:
    given = line["input"]
    judge = None if "key" in given else judge_with(given["judge_replies"])
    assert gpt_score("candidate", "reference", judge) == line["reference_output"]


def test_ju_12_question_is_not_in_the_prompt() -> None:
    prompt = judge_prompt("left side", "right side")
    assert "left side" in prompt
    assert "right side" in prompt
    assert "Question:" not in prompt
    assert DEFECTS["JU-12"]["reference_output"] is False


def test_ar_01_missing_bertscore_spreads_its_weight() -> None:
    given, wanted = DEFECTS["AR-01"]["input"], DEFECTS["AR-01"]["reference_output"]
    hooks = ArHooks(judge=judge_with([given["judge"], "10,10,10"]), bert_f1=lambda candidate, reference: None)
    got = ar_score(given["prediction"], given["gt_answer"], hooks)
    assert got["bert_score"] is None
    assert {key: got[key] for key in wanted} == pytest.approx(wanted)  # type: ignore[literal-required]


def test_ar_04_empty_reference_is_scored() -> None:
    given = DEFECTS["AR-04"]["input"]
    got = ar_score(given["prediction"], given["gt_answer"], ArHooks(judge=judge_with(["1,1,1", "10,10,10"])))
    assert got["ar"] == pytest.approx(DEFECTS["AR-04"]["reference_output"])


def test_ar_08_negative_bertscore_is_not_clipped() -> None:
    given = DEFECTS["AR-08"]["input"]
    value = given["bert_score_f1_rescaled"]
    hooks = ArHooks(judge=judge_with([given["judge"], "10,10,10"]), bert_f1=lambda candidate, reference: value)
    assert ar_score(given["prediction"], given["gt_answer"], hooks)["ar"] == pytest.approx(-0.06)


def test_without_judge_the_text_metrics_share_all() -> None:
    hooks = ArHooks(bert_f1=lambda candidate, reference: 0.4)
    got = ar_score("mass in the left hemisphere", "mass in the left hemisphere", hooks)
    assert got["gpt_score"] is None
    assert got["ar"] == pytest.approx((0.4 + 1 + 1) / 3)


@pytest.mark.parametrize(
    ("reply", "rating"),
    [
        ("7,8,6", 0.7),
        (" 7 , 8.5 , 6. \n", 21.5 / 30),
        ("7,8", None),
        ("9", None),
        ("7,8,6,9", None),
        ("-1,-1,-1", -0.1),
    ],
)
def test_judge_ratings(reply: str, rating: float | None) -> None:
    assert judge_ratings(reply) == (None if rating is None else pytest.approx(rating))


@pytest.mark.parametrize("reply", ["7;8;6", "", "Accuracy: 7, Relevance: 8, Helpfulness: 6"])
def test_unreadable_reply_scores_zero(reply: str) -> None:
    assert gpt_score("a", "b", judge_with([reply])) == 0.0
    assert gpt_score("a", "b", judge_with(["5,5,5", reply])) == 0.0


def test_only_a_judge_failure_counts_as_zero() -> None:
    def broken(prompt: str) -> str:
        raise RuntimeError("no such reply in the store")

    with pytest.raises(RuntimeError):
        gpt_score("a", "b", broken)


def test_self_rating_divides_and_caps() -> None:
    assert gpt_score("a", "b", judge_with(["4,4,4", "8,8,8"])) == pytest.approx(0.5)
    assert gpt_score("a", "b", judge_with(["8,8,8", "4,4,4"])) == 1.0
    assert gpt_score("a", "b", judge_with(["4,4,4", "8,8"])) == pytest.approx(0.4)


def run_one(**fields: Any) -> dict[str, Any]:
    base = {"sample_id": "brain_image_qa_v_1", "dataset": "brain", "level": "image_level", "question": "?"}
    (entry,) = score_run({"results": [base | fields]})["per_sample"]
    return dict(entry)


def test_ev_01_extraction_depends_on_the_id() -> None:
    text = DEFECTS["EV-01"]["input"]["image-level output"]
    common = {"task": "detection", "qa_type": "closed_ended", "gt_answer": "Yes", "model_output": text}
    got = {kind: run_one(sample_id=f"brain_{kind}_qa_v_1", **common)["a_score"] for kind in ("image", "video")}
    assert got == DEFECTS["EV-01"]["reference_output"]


def test_ev_02_other_ids_get_no_answer_score() -> None:
    fields = {"task": "detection", "qa_type": "closed_ended", "gt_answer": "Yes", "model_output": "Yes"}
    assert "a_score" not in run_one(sample_id="brain-0001", **fields)


def test_ev_03_missing_type_is_open_ended() -> None:
    assert "a_score" not in run_one(task="detection", gt_answer="Yes", model_output="Yes")


def test_ev_06_drop_does_not_look_for_a_twin() -> None:
    results = [
        {"sample_id": "a_qa_1", "task": "localization", "question": "Locate the bounding box of the mass."},
        {"sample_id": "a_qa_2", "task": "detection", "question": "Locate the bounding box?", "gt_answer": "No"},
    ]
    assert score_run({"results": results})["total_samples"] == DEFECTS["EV-06"]["reference_output"]


def test_ev_07_all_boxes_of_the_slice_are_expected() -> None:
    mass = {"x": 10, "y": 10, "width": 20, "height": 20, "label": "Mass"}
    other = {"x": 100, "y": 100, "width": 20, "height": 20, "label": "Edema"}
    gold = {"bboxes": [mass, other], "gt_answer": "Left, <bbx>[10,10,20,20]</bbx>"}
    got = run_one(task="localization", qa_type="closed_ended", model_output="<bbx>[10,10,20,20]</bbx>", **gold)
    assert got["v_score"] == DEFECTS["EV-07"]["reference_output"]


def test_ev_12_means_are_pooled_over_samples() -> None:
    outputs = [("detection", "Yes", "Yes"), ("detection", "Yes", "Yes"), ("counting", "4", "5")]
    results = [
        {"sample_id": f"a_qa_{i}", "task": task, "qa_type": "closed_ended", "gt_answer": gold, "model_output": text}
        for i, (task, gold, text) in enumerate(outputs)
    ]
    mean = score_run({"results": results})["aggregates"]["a_score"]["mean"]
    assert mean == pytest.approx(DEFECTS["EV-12"]["reference_output"], abs=5e-5)


def test_ev_13_assumed_brain_size() -> None:
    assert list(IMAGE_SIZES["brain"]) == DEFECTS["EV-13"]["reference_output"]


def assert_close(got: Any, wanted: Any) -> None:
    if isinstance(wanted, list):
        assert isinstance(got, list)
        assert len(got) == len(wanted)
        for one, other in zip(got, wanted, strict=True):
            assert_close(one, other)
    elif wanted == "nan":
        assert math.isnan(got)
    elif wanted is None:
        assert got is None
    else:
        assert got == pytest.approx(wanted, abs=1e-9)
