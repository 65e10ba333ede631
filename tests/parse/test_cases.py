"""Every case file through the public door; ambiguous lines follow the policy written here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from slicewise.parse.cases import answer, matches, read_cases

FOLDER = Path(__file__).parents[1] / "cases"
FILES = ["model_outputs", "defect_values", "parse_boxes", "parse_answers", "parse_texts", "parse_verdicts"]
CASES = [case for name in FILES for case in read_cases(FOLDER / f"{name}.jsonl")]

# Ambiguous lines whose own policy asks a rule parser for null instead of the inference in ``expected``.
NULL_BY_POLICY = {"ct-019", "yn-002", "yn-024"}


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.id)
def test_case(case: Any) -> None:
    read = answer(case)
    expected = None if case.id in NULL_BY_POLICY else case.record["expected"]
    assert matches(case.kind, read["value"], expected), json.dumps(read, ensure_ascii=False)


FLAGS = {  # advisory flags of the case files that a parsed row must carry
    "bbox-012": "duplicates_removed:3", "bbox-034": "frame_out_of_range", "bbox-035": "frame_missing",
    "bbox-049": "frame_range_clipped", "bbox-057": "point_only", "bbox-058": "clipped", "bbox-077": "truncated",
    "bbox-084": "invalid_dropped:1", "bbox-086": "scale_suspect", "bbox-113": "empty_output",
    "bbox-131": "inverted_repaired", "bbox-143": "explicit_empty", "ct-002": "range:2-3", "ct-013": "vague",
    "ct-017": "approx", "ct-025": "range:1-2", "ct-032": "refusal", "jd-007": "out_of_scale", "jd-015": "refusal",
    "jd-033": "unclosed_think", "mc-023": "letter_range", "sc-032": "multiple_candidates", "sc-036": "refusal",
    "sc-042": "truncated", "sc-043": "loop", "sc-052": "letter_text_conflict", "sc-053": "homoglyph",
    "th-003": "unclosed_think", "th-012": "answer_in_think_only", "th-015": "loop", "yn-004": "contradiction",
    "yn-008": "hedge", "yn-011": "empty_output", "yn-025": "hedge", "yn-031": "loop",
}  # fmt: skip


@pytest.mark.parametrize("case", [case for case in CASES if case.id in FLAGS], ids=lambda case: case.id)
def test_flag(case: Any) -> None:
    assert FLAGS[case.id] in answer(case)["flags"]


@pytest.mark.parametrize(
    "case", [case for case in CASES if "expected_outcome" in case.record], ids=lambda case: case.id
)
def test_outcome(case: Any) -> None:
    assert answer(case)["outcome"] == case.record["expected_outcome"]


def test_ids_are_unique() -> None:
    assert len({case.id for case in CASES}) == len(CASES)
    assert len(CASES) > 900


def test_a_zero_area_box_stands_apart() -> None:
    case = next(case for case in CASES if case.id == "bbox-132")
    assert [box["reason"] for box in answer(case)["rejected"]] == ["zero_area"]


def test_matching_is_not_lenient() -> None:
    assert not matches("bbox", [], [{"frame": 0, "xyxy": [0, 0, 1, 1]}])
    assert not matches("bbox", [{"frame": None, "xyxy": [0, 0, 1, 1]}], [{"frame": 0, "xyxy": [0, 0, 1, 1]}])
    assert not matches("bbox", [{"frame": 0, "xyxy": [0, 0, 1, 1.02]}], [{"frame": 0, "xyxy": [0, 0, 1, 1]}])
    assert not matches("count", True, 1)
    assert not matches("yes_no", None, "no")
    assert not matches("strip", None, "")
