"""Tool statistics of a case, by hand-made turns."""

from __future__ import annotations

from typing import Any

import pytest
from slicewise.score.tool_use import agreement, case


def _step(status: str, tool: str | None = None, **changes: Any) -> dict[str, Any]:
    base: dict[str, Any] = {
        "status": status, "tool": tool, "breaks": [], "repaired": False, "answer": None, "prompt_tokens": None,
        "completion_tokens": None,
    }  # fmt: skip
    return {**base, **changes}


def test_a_case_is_counted_by_kind() -> None:
    steps = [
        _step("ok", "load_data", prompt_tokens=10, completion_tokens=5, breaks=["claim_before_load"]),
        _step("name_error", "load_dicom"),
        _step("argument_error", "view_slice"),
        _step("format_error"),
        _step("domain_error", "view_slice"),
        _step("ok", "view_slice", prompt_tokens=20),
        _step("final", answer=r"\boxed{A}", repaired=True, breaks=["raw_coordinates", "missing_unit"]),
    ]
    found = case(steps, ("load_data", "view_slice"))
    assert (found["calls"], found["turns"], found["tokens"], found["repaired"]) == (5, 7, 35, 1)
    kinds = ("name_errors", "argument_errors", "domain_errors", "format_errors")
    assert [found[kind] for kind in kinds] == [1, 1, 1, 1]
    assert found["value"] == pytest.approx(1 - 2 / 5)  # a domain error is no mistake of the call
    assert (found["claim_before_load"], found["raw_coordinates"], found["picture_not_interpreted"]) == (1, 1, 0)
    assert (found["sop_agreement"], found["excess_calls"], found["order_violations"]) == (1.0, 3, 0)
    assert found["flags"] == []


def test_a_case_without_a_call_has_no_success_rate() -> None:
    found = case([_step("final", answer=r"\boxed{A}")], ())
    assert (found["value"], found["outcome"], found["flags"]) == (None, "no_reference", ["no_calls"])
    assert found["sop_agreement"] is None


def test_a_case_without_an_answer_is_flagged() -> None:
    assert case([_step("ok", "load_data"), _step("limit")], ())["flags"] == ["ended_without_answer"]


@pytest.mark.parametrize(
    ("used", "sop", "calls", "expected"),
    [
        (["a", "b", "c"], ["a", "b", "c"], 3, (1.0, 0, 0)),
        (["a", "x", "b", "c"], ["a", "b", "c"], 5, (1.0, 2, 0)),
        (["b", "a", "c"], ["a", "b", "c"], 3, (2 / 3, 1, 1)),
        (["c", "b", "a"], ["a", "b", "c"], 3, (1 / 3, 2, 2)),
        ([], ["a", "b"], 0, (0.0, 0, 0)),
        (["a", "a"], ["a", "b", "a"], 2, (2 / 3, 0, 0)),
    ],
)
def test_agreement_minds_the_order(
    used: list[str], sop: list[str], calls: int, expected: tuple[float, int, int]
) -> None:
    found = agreement(used, sop, calls)
    assert (found["sop_agreement"], found["excess_calls"], found["order_violations"]) == pytest.approx(expected)
