"""Every difference between the protocols has one reason, found by a rule, and the reasons add up with no rest."""

from __future__ import annotations

import json
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from slicewise import artifacts
from slicewise.cli import explain_diff
from slicewise.cli.score_card import Declared
from slicewise.score.attribution import DENOMINATOR
from slicewise.score.explain import REASONS

ROOT = Path(__file__).parents[2]
RUNS = ROOT / "tests/cases/reference_run"
PARAMS = ROOT / "params.yaml"
DECLARED = Declared("abs_xywh_original", (320, 320), 1)
VOLUME = "video"
LOC, CLOSED, MANY = "localization", "closed_ended", "multiple_choice"
HOW_MANY = "How many findings?"
FINAL = "Therefore, the final answer is: "
OPTIONS = "Which finding?\n(A) Mass\n(B) Edema\n(C) Fracture\n(D) Cyst"
FIVE = f"{OPTIONS}\n(E) Gliosis"
HERE = ((10, 10, 40, 40),)


class Case(NamedTuple):
    """One item and the only reason why its scores may differ; ``None`` when they agree."""

    reason: str | None
    task: str
    qa_type: str
    gold: str
    output: str
    question: str = "Is there an abnormality in this MRI?"
    level: str = "image"
    boxes: Sequence[tuple[int, ...]] | None = None  # x, y, width, height and, on volumes, the frame


A: list[Case] = [
    Case(None, "detection", CLOSED, "Yes", "Yes"),
    Case("substring_no", "detection", CLOSED, "No", "An abnormality is present."),
    Case("verdict_order", "detection", CLOSED, "No", "Yes, at first sight. On review, the final answer: No"),
    Case("guess_rewarded", "detection", CLOSED, "No", "There may be no lesion or there may be one."),
    Case("thinking_read", "detection", CLOSED, "Yes", "<think>It could be no, it could be yes</think>Yes"),
    Case("failure_scored", "detection", CLOSED, "No", "[ERROR: 429 quota exceeded, not available]"),
    Case("failure_scored", "detection", CLOSED, "No", "I'm sorry, but I cannot help with medical images."),
    Case("closed_text", "detection", CLOSED, "FLAIR", "FLAIR", "Which sequence is this?"),
    Case("first_letter", "diagnosis", "single_choice", "(A)", "(A), (B)", OPTIONS),
    Case("article_a", "diagnosis", "single_choice", "(B)", "The answer is B, a clear case.", OPTIONS),
    Case("letters_a_to_d", "diagnosis", "single_choice", "(E)", "(E)", FIVE),
    Case("every_letter", "classification", MANY, "(B)", "Not (A), not (C). The answer is (B).", OPTIONS),
    Case("truncated_letters", "classification", MANY, "(B), (D)", f"{FINAL}B, D", OPTIONS, VOLUME),
    Case("last_number", "counting", CLOSED, "2", "2 findings on frames 5 to 9", HOW_MANY, VOLUME),
    Case("zero_word", "counting", CLOSED, "3", "3 in all; none of them enhances.", HOW_MANY, VOLUME),
    Case("answer_unread", "counting", CLOSED, "3", "There are three findings.", HOW_MANY, VOLUME),
]  # fmt: skip
V: list[Case] = [
    Case(None, LOC, CLOSED, "there", "<bbx>[10,10,40,40]</bbx>", boxes=HERE),
    Case("unit_guess", LOC, CLOSED, "there", "[10, 10, 50, 50]", boxes=HERE),
    Case("boxes_unread", LOC, CLOSED, "there", "x: 10, y: 10, width: 40, height: 40", boxes=HERE),
    Case("box_rejected", LOC, CLOSED, "there", '{"bbox_2d": [200, 200, 250, 250]}', boxes=((200, 200, 50, 50),)),
    Case("thinking_read", LOC, CLOSED, "there", "<think>[10, 10, 40, 40]", boxes=HERE),
    Case("frame_default", LOC, CLOSED, "1", "<bbx>[10,10,40,40]</bbx>", level=VOLUME, boxes=((10, 10, 40, 40, 1),)),
]  # fmt: skip


def result(case: Case, number: int) -> dict[str, Any]:
    boxes = [
        {
            "x": b[0],
            "y": b[1],
            "width": b[2],
            "height": b[3],
            "label": "Mass",
            **({"frame": b[4]} if len(b) > 4 else {}),
        }
        for b in case.boxes or ()
    ]
    return {
        "sample_id": f"knee_{case.level}_qa_file1000_7_{case.task}_{number:05d}",
        "dataset": "knee",
        "level": f"{'image' if case.level == 'image' else 'volume'}_level",
        "volume_id": "file1000",
        "task": case.task,
        "gt_reasoning": "",
        "labels": ["Mass"],
        "bboxes": boxes,
        "qa_type": case.qa_type,
        "question": "Where is the mass?" if case.task == "localization" else case.question,
        "gt_answer": case.gold,
        "model_output": case.output,
    }


def explained(folder: Path, cases: list[Case]) -> dict[int, str]:
    """Number of the case to the reason found."""
    inference = {"model_key": "m", "model_name": "M", "model_id": "m", "prompt_mode": "minimal"}
    results = [result(case, number) for number, case in enumerate(cases)]
    artifacts.write_json(folder / "run.json", {**inference, "total_samples": len(results), "results": results})
    explain_diff.run(folder / "run.json", PARAMS, DECLARED, folder / "out")
    rows = artifacts.read_rows(folder / "out/differences.parquet")
    return {int(row["sample_id"].rsplit("_", 1)[1]): row["reason"] for row in rows}


@pytest.mark.parametrize("level", ["image", "video"])
def test_each_mechanism_is_named(tmp_path: Path, level: str) -> None:
    cases = [case for case in (*A, *V) if case.level == level]
    found = explained(tmp_path, cases)
    got = [found.get(number) for number in range(len(cases))]
    assert list(zip(cases, got, strict=True)) == [(case, case.reason) for case in cases]


@pytest.mark.parametrize("level", ["image_level", "video_level"])
def test_a_whole_run_adds_up_with_no_rest(tmp_path: Path, level: str) -> None:
    """The means are those of the released scorer, and every difference is one of the listed reasons."""
    explain_diff.run(RUNS / level / "sim_inference.json", PARAMS, DECLARED, tmp_path)
    found = json.loads((tmp_path / "reasons.json").read_text())
    expected = json.loads((RUNS / level / "expected.json").read_text())["aggregates"]
    rows = artifacts.read_rows(tmp_path / "differences.parquet")
    for metric, name in explain_diff.METRICS.items():
        whole = found[metric]
        assert whole["reference"]["mean"] == pytest.approx(expected[name]["mean"], abs=1e-12)
        assert whole["reference"]["n"] == expected[name]["count"]
        parts = [Fraction(reason["exact"]) for reason in whole["reasons"]]
        assert sum(parts, Fraction()) == Fraction(whole["difference"]["exact"])
        assert whole["difference"]["value"] == pytest.approx(whole["card"]["mean"] - expected[name]["mean"], abs=1e-12)
        counts = {r["reason"]: r["items"] for r in whole["reasons"] if r["reason"] != DENOMINATOR}
        mine = [row["reason"] for row in rows if row["metric"] == metric]
        assert counts == {reason: mine.count(reason) for reason in mine}
        assert set(counts) <= set(REASONS)
        for row in rows:
            assert row["card"] != row["reference"]
    assert (tmp_path / "reasons.pdf").stat().st_size > 5_000
