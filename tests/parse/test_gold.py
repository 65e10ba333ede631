# ruff: noqa: E501 - tables of cases
"""The benchmark's own answers: shapes of the released files (rebuilt wording, real coordinates)."""

from __future__ import annotations

from typing import Any

import pytest
from slicewise.parse.gold import gold_boxes, gold_count, gold_letters, gold_yes_no, kind_of
from slicewise.parse.options import parse_options

BOXES = [
    (
        "Cartilage defect in the medial compartment on Frame 21 to 24: Frame 21: <bbx>[108,168,15,10]</bbx>, "
        "Frame 22: <bbx>[106,167,17,14]</bbx>. MCL sprain on Frame 21 (<bbx>[37,123,20,60]</bbx>).",
        [(20, 108, 168, 123, 178, "Cartilage defect"), (21, 106, 167, 123, 181, "Cartilage defect"), (20, 37, 123, 57, 183, "MCL sprain")],
    ),
    (
        "Located in the right hemisphere, Frame 1: <bbx>[52,82,111,197]</bbx>, Frame 2: <bbx>[56,90,104,186]</bbx>",
        [(0, 52, 82, 163, 279, None), (1, 56, 90, 160, 276, None)],
    ),
    (
        "Meniscus Tear: Frame 3: <bbx>[1,2,3,4]</bbx>; Frame 4: <bbx>[1,2,3,5]</bbx>. Joint Effusion: Frame 5: <bbx>[9,9,9,9]</bbx>.",
        [(2, 1, 2, 4, 6, "Meniscus Tear"), (3, 1, 2, 4, 7, "Meniscus Tear"), (4, 9, 9, 18, 18, "Joint Effusion")],
    ),
    ("Frame 7: <bbx>[128,160,7,8]</bbx>", [(6, 128, 160, 135, 168, None)]),
    ("In the right hemisphere, <bbx>[52,82,111,197]</bbx>", [(None, 52, 82, 163, 279, None)]),
    ("Frames 3-5: <bbx>[10,20,30,40]</bbx>", [(2, 10, 20, 40, 60, None), (3, 10, 20, 40, 60, None), (4, 10, 20, 40, 60, None)]),
    ("Frame 1: <bbx>[1,2,3,4]</bbx>. In another slice: <bbx>[5,6,7,8]</bbx>", [(0, 1, 2, 4, 6, None), (None, 5, 6, 12, 14, None)]),
    ("No findings to localize", []),
    ("Frame 2: <bbx>[10,20,0,40]</bbx>", [(1, 10, 20, 10, 60, None)]),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "expected"), BOXES)
def test_gold_boxes(answer: Any, expected: Any) -> None:
    assert [(b.frame, b.x0, b.y0, b.x1, b.y1, b.label) for b in gold_boxes(answer)] == expected


OPTIONS = {"A": "Mass", "B": "Edema", "C": "Craniotomy"}


@pytest.mark.parametrize(
    ("answer", "letters"),
    [("(B)", ["B"]), ("(B) Edema", ["B"]), ("(A), (C)", ["A", "C"]), ("(A)+(B) text", ["A", "B"]), ("B", ["B"]), ("B. Edema", ["B"]),
     ("Craniotomy", ["C"]), ("C, A", ["A", "C"]), ("Stroke", []), ("An edema", ["B"])],
)  # fmt: skip
def test_gold_letters(answer: Any, letters: Any) -> None:
    assert gold_letters(answer, OPTIONS) == letters


def test_gold_yes_no_and_count() -> None:
    assert [gold_yes_no(a) for a in ("Yes", "Yes.", " no ", "Yes, it is", "6")] == ["yes", "yes", "no", None, None]
    assert [gold_count(a) for a in ("6", "6.0", "6.", "12", "six", "6 lesions", "-1")] == [
        6,
        6,
        6,
        12,
        None,
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("task", "kind", "answer", "expected"),
    [("detection", "closed_ended", "Yes.", "yes_no"), ("counting", "closed_ended", "6", "count"), ("classification", "closed_ended", "FLAIR", "short_text"),
     ("classification", "single_choice", "(A)", "single_choice"), ("classification", "multiple_choice", "(A), (C)", "multiple_choice"),
     ("diagnosis", "open_ended", "Edema", "open_text"), ("localization", "closed_ended", "Yes", "none"), ("captioning", "open_ended", "x", "none")],
)  # fmt: skip
def test_kind(task: Any, kind: Any, answer: Any, expected: Any) -> None:
    assert kind_of(task, kind, answer) == expected


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("Which?\n(A) Mass\n(B) Edema \n(C) Cyst", {"A": "Mass", "B": "Edema", "C": "Cyst"}),
        ("Which? (A) Mass (B) Edema", {"A": "Mass", "B": "Edema"}),
        ("Which?\nA. Mass\nB. Edema", {"A": "Mass", "B": "Edema"}),
        ("Which?\nA) Mass, large\nB) Edema", {"A": "Mass, large", "B": "Edema"}),
        ("Grade (A) or none?", None),
        ("Is there a tear?", None),
        ("\n".join(f"({chr(65 + i)}) option {i}" for i in range(9)), {chr(65 + i): f"option {i}" for i in range(9)}),
    ],
)
def test_options(question: Any, options: Any) -> None:
    assert parse_options(question) == options
