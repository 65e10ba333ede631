"""Hostile input of real size comes to an outcome: no crash, and no path whose work explodes.

Nothing here is timed; ``python -m benchmarks.parse`` measures how the work grows.
"""

from __future__ import annotations

import pytest
from slicewise.geometry import Convention
from slicewise.outcome import Outcome, Reading
from slicewise.parse import answers
from slicewise.parse.boxes import BoxContext, read_boxes
from slicewise.parse.clean import clean, see
from slicewise.parse.locations import strip_location
from slicewise.parse.verdicts import read_verdict

CONTEXT = BoxContext(Convention.ABS_XYWH_ORIGINAL, ((320, 320),) * 30)
UNITS = [
    "[", "{", "(", "<", "[1,", '{"a":', "{'a':'", "1 ", "\\boxed{", "<bbx>", "<think>", "Frame 1, ", "A, ", "Answer: ",
    "no ", " ", "\n", "*", "|", "1", "(1,2),", "[10,20,30,40] ", "Frame 3: <bbx>[1,2,3,4]</bbx>, ", "<loc0001>", "x=1 ",
    "is ", "\x00", "\ud800", "`", "slices ", "是", "not A. ", "5? no ", "accuracy: ", "| a | b |\n", "x=1, y=2 ",
]  # fmt: skip
SIZE = 8_000
OUTCOMES = set(Outcome)


def outcomes(text: str) -> list[Outcome]:
    """The outcome of every reader."""
    cleaned = clean(text)
    readings: list[Reading[object]] = [
        see(cleaned),
        answers.read_yes_no(cleaned, "Is there a mass in the left lobe?"),
        answers.read_choice(cleaned, {"A": "mass", "B": "edema", "C": "cyst"}),
        answers.read_choices(cleaned, {"A": "mass", "B": "edema", "C": "cyst"}),
        answers.read_count(cleaned, "How many types of lesions are there?"),
        answers.read_short_text(cleaned),
        read_boxes(cleaned, CONTEXT).reading,
    ]  # type: ignore[list-item]
    strip_location(text)
    judged = [read_verdict(cleaned, ["accuracy", "relevance"], (1, 10)), read_verdict(cleaned, ["score"], (1, 10))]
    return [*(reading.outcome for reading in readings), *(verdict.outcome for verdict in judged)]


@pytest.mark.parametrize("unit", UNITS)
def test_hostile_text_comes_to_an_outcome(unit: str) -> None:
    assert set(outcomes(unit * (SIZE // len(unit)))) <= OUTCOMES


@pytest.mark.parametrize("unit", UNITS)
def test_an_answer_before_hostile_text_does_not_crash(unit: str) -> None:
    tail = unit * (400 // len(unit))
    for text in (f"Answer: B\n{tail}", f"{tail}\nAnswer: B", f'{{"answer": "B"}}{tail}'):
        assert set(outcomes(text)) <= OUTCOMES


def test_half_a_million_brackets_give_an_outcome() -> None:
    found = read_boxes("[" * 500_000, CONTEXT)
    assert found.reading.value is None
    assert str(found.reading.outcome) == "truncated"


def test_a_megabyte_of_prose_keeps_its_last_box() -> None:
    text = "The knee is shown again. " * 40_000 + "Frame 3: <bbx>[10, 20, 30, 40]</bbx>"
    (box,) = read_boxes(text, CONTEXT).reading.value or []
    assert (box.frame, box.x0, box.y1) == (2, 10, 60)
