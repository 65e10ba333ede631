# ruff: noqa: E501 - tables of cases
"""Work on hostile input grows with its length and no faster.

Processor time of one input against four times that input: linear work takes about four times as long, quadratic work
sixteen times. The bound lies between, with room for a busy machine; the best of three counts.
"""

from __future__ import annotations

import time
from typing import Any

import pytest
from slicewise.geometry import Convention
from slicewise.parse import answers
from slicewise.parse.boxes import BoxContext, read_boxes
from slicewise.parse.clean import clean, see
from slicewise.parse.locations import strip_location
from slicewise.parse.verdicts import read_verdict

CONTEXT = BoxContext(Convention.ABS_XYWH_ORIGINAL, ((320, 320),) * 30)
UNITS = [
    "[", "{", "(", "<", "[1,", "{\"a\":", "{'a':'", "1 ", "\\boxed{", "<bbx>", "<think>", "Frame 1, ", "A, ", "Answer: ", "no ", " ", "\n", "*",
    "|", "1", "(1,2),", "[10,20,30,40] ", "Frame 3: <bbx>[1,2,3,4]</bbx>, ", "<loc0001>", "x=1 ", "is ", "\x00", "\ud800", "`", "slices ", "是",
]  # fmt: skip
SMALL, FACTOR, SLACK = 4_000, 4, 9.0


def everything(text: str) -> None:
    cleaned = clean(text)
    see(cleaned)
    answers.read_yes_no(cleaned, "Is there a mass?")
    answers.read_choice(cleaned, {"A": "mass", "B": "edema"})
    answers.read_choices(cleaned, {"A": "mass", "B": "edema"})
    answers.read_count(cleaned, "How many?")
    answers.read_short_text(cleaned)
    read_boxes(cleaned, CONTEXT)
    read_verdict(cleaned, ["score"], (1, 10))
    strip_location(text)


def cost(text: str) -> float:
    start = time.process_time()
    everything(text)
    return time.process_time() - start


@pytest.mark.parametrize("unit", UNITS)
def test_work_is_linear(unit: Any) -> None:
    small, large = unit * (SMALL // len(unit)), unit * (FACTOR * SMALL // len(unit))
    for _ in range(3):
        base = max(cost(small), 0.02)
        if cost(large) <= SLACK * base:
            return
    pytest.fail(f"{unit!r}: four times the text took more than {SLACK} times as long, three times in a row")


def test_half_a_million_brackets_give_an_outcome() -> None:
    found = read_boxes("[" * 500_000, CONTEXT)
    assert found.reading.value is None
    assert str(found.reading.outcome) == "truncated"
