"""The language of the agent: what is read, what is repaired, what is a format error; and the rules of a turn."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.infer.agent import protocol, rules

THOUGHT = "ANALYSIS: The series is a chest CT. NORMAL. PLAN: Measure it."
ACTION = {"type": "action", "thought": THOUGHT, "action": {"name": "view_slice", "arguments": {"index": 3}}}
FINAL = {"type": "final_answer", "thought": THOUGHT, "answer": r"It is small. \boxed{B}"}


def test_an_action_is_read() -> None:
    turn = protocol.read_turn(json.dumps(ACTION))
    assert (turn.kind, turn.tool, turn.arguments, turn.repaired) == ("action", "view_slice", {"index": 3}, False)
    assert turn.analysis == "The series is a chest CT. NORMAL."


def test_a_final_answer_is_read() -> None:
    turn = protocol.read_turn(json.dumps(FINAL))
    assert (turn.kind, turn.boxed, turn.repaired) == ("final", "B", False)


@pytest.mark.parametrize("wrap", ["```json\n{}\n```", "```\n{}\n```", "<think>hm</think>{}", "  {}\n"])
def test_a_fence_and_thinking_change_nothing(wrap: str) -> None:
    assert protocol.read_turn(wrap.replace("{}", json.dumps(FINAL))).boxed == "B"


@pytest.mark.parametrize(
    ("eaten", "boxed"),
    [
        (r"\boxed{14.5 cm}", "14.5 cm"),  # json.loads alone reads a backspace and "oxed{14.5 cm}"
        (r"\boxed{\text{left lung}}", r"\text{left lung}"),
        (r"\(x\) is \boxed{A}", "A"),
    ],
)
def test_a_backslash_that_json_eats_is_put_back_and_counted(eaten: str, boxed: str) -> None:
    written = json.dumps(FINAL).replace(r"\\boxed{B}", eaten)
    turn = protocol.read_turn(written)
    assert (turn.kind, turn.boxed, turn.repaired) == ("final", boxed, True)


def test_real_escapes_stay() -> None:
    turn = protocol.read_turn(json.dumps({**FINAL, "answer": 'line\n\ttab "q" \u00e9 \\boxed{C}'}))
    assert turn.answer == 'line\n\ttab "q" é \\boxed{C}'
    assert not turn.repaired


@pytest.mark.parametrize(
    ("text", "fault"),
    [
        ("I will load the volume.", "not_json"),
        ("", "not_json"),
        (json.dumps(ACTION) + json.dumps(ACTION), "not_json"),  # two steps at once
        ('{"type": NaN}', "not_json"),
        ("[" * 100_000, "not_json"),
        ("[1]", "not_an_object"),
        (json.dumps({**ACTION, "type": "tool"}), "wrong_type"),
        (json.dumps({**ACTION, "more": 1}), "wrong_keys"),
        (json.dumps({**ACTION, "action": "view_slice"}), "wrong_keys"),
        (json.dumps({**ACTION, "action": {"name": "view_slice"}}), "wrong_keys"),
        (json.dumps({**ACTION, "action": {"name": "view_slice", "arguments": []}}), "wrong_keys"),
        (json.dumps({**ACTION, "thought": None}), "wrong_keys"),
        (json.dumps({**ACTION, "thought": "I load it."}), "thought_without_parts"),
        (json.dumps({**FINAL, "thought": "PLAN: a. ANALYSIS: b."}), "thought_without_parts"),
        (json.dumps({**FINAL, "answer": 3}), "wrong_keys"),
        (json.dumps({**FINAL, "answer": "B"}), "answer_without_box"),
        (json.dumps({**FINAL, "answer": r"\boxed{}"}), "answer_without_box"),
        (json.dumps({**FINAL, "answer": r"\boxed{B"}), "answer_without_box"),
    ],
)
def test_format_errors(text: str, fault: str) -> None:
    turn = protocol.read_turn(text)
    assert (turn.kind, turn.fault) == ("fault", fault)


@given(st.text())
def test_no_text_raises(text: str) -> None:
    assert protocol.read_turn(text).kind in ("action", "final", "fault")


@given(st.text(), st.text(min_size=1), st.dictionaries(st.text(), st.integers()))
def test_what_is_written_is_read(thought: str, tool: str, arguments: dict[str, int]) -> None:
    written = protocol.action(f"ANALYSIS: a {thought.replace('PLAN', '')} PLAN: b", tool, arguments)
    turn = protocol.read_turn(written)
    assert (turn.kind, turn.tool, turn.arguments) == ("action", tool, arguments)


def _breaks(turn: dict[str, object], question: str = "How large?", **state: bool) -> tuple[str, ...]:
    known = {"loaded": True, "picture_shown": False, **state}
    return rules.breaks(protocol.read_turn(json.dumps(turn)), question=question, **known)


def test_a_claim_before_a_load() -> None:
    claim = {**ACTION, "thought": "ANALYSIS: There is a small nodule in the left lung. PLAN: Load."}
    assert _breaks(claim, loaded=False) == ("claim_before_load",)
    assert _breaks(claim, loaded=True) == ()
    assert _breaks(ACTION, loaded=False) == ()


def test_a_picture_must_be_interpreted_at_once() -> None:
    silent = {**ACTION, "thought": "ANALYSIS: Ok. PLAN: Measure."}
    assert _breaks(silent, picture_shown=True) == ("picture_not_interpreted",)
    assert _breaks(silent, picture_shown=False) == ()


@pytest.mark.parametrize("answer", ["at [12, 40.5, 33]", "at (1, 2, 3)", "x=12, y=40"])
def test_raw_coordinates_in_an_answer(answer: str) -> None:
    assert _breaks({**FINAL, "answer": rf"It lies {answer}. \boxed{{left lung}}"}) == ("raw_coordinates",)


def test_a_value_needs_a_unit_and_a_count_does_not() -> None:
    bare = {**FINAL, "answer": r"\boxed{14.5}"}
    assert _breaks(bare) == ("missing_unit",)
    assert _breaks(bare, question="How many nodules are there?") == ()
    assert _breaks({**FINAL, "answer": r"\boxed{14.5 mm}"}) == ()
