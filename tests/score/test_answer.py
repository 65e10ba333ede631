"""The A-Score, rule by rule, against tables computed by hand from the evaluation card's definitions."""

from __future__ import annotations

import math
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.outcome import Outcome
from slicewise.score import answer, keywords
from slicewise.score.answer import Open

LETTERS = st.lists(st.sampled_from("ABCDEF"), max_size=6)


@pytest.mark.parametrize(
    ("reading", "gold", "value"), [("yes", "yes", 1), ("no", "yes", 0), ("B", "B", 1), (6, 6, 1), (6, 5, 0)]
)
def test_exact(reading: object, gold: object, value: float) -> None:
    assert answer.exact(reading, gold) == value


@pytest.mark.parametrize(
    ("reading", "gold", "value"),
    [
        ("AC", "AC", 1.0),
        ("CA", "AC", 1.0),
        ("A", "AC", 2 / 3),
        ("AB", "AC", 1 / 2),
        ("ABCD", "AC", 4 / 6),
        ("BD", "AC", 0.0),
        ("", "AC", 0.0),
        ("A", "", 0.0),
        ("", "", 0.0),  # the card's recipe: two empty sets agree on nothing
        ("AAC", "AC", 1.0),
        ("E", "EF", 2 / 3),
    ],
)
def test_letter_sets(reading: str, gold: str, value: float) -> None:
    assert answer.letter_sets(reading, gold) == pytest.approx(value, abs=1e-15)


@given(LETTERS, LETTERS)
def test_letter_sets_is_the_f1_of_the_sets(read: list[str], gold: list[str]) -> None:
    p, g = set(read), set(gold)
    shared = len(p & g)
    expected = 0.0
    if shared:
        precision, recall = shared / len(p), shared / len(g)
        expected = 2 * precision * recall / (precision + recall)
    assert math.isclose(answer.letter_sets(read, gold), expected, abs_tol=1e-12)
    assert answer.letter_sets(read, gold) == answer.letter_sets(gold, read)


@pytest.mark.parametrize(
    ("reading", "gold", "value"),
    [
        ("FLAIR", "FLAIR", 1),
        ("flair.", "FLAIR", 1),
        ("  T1   post ", "T1 post", 1),
        ("ＦＬＡＩＲ", "FLAIR", 1),
        ("**FLAIR**", "FLAIR", 1),
        ("T2 FLAIR", "FLAIR", 0),
        ("Abnormal", "Normal", 0),  # CE-01 of the released scorer's defects
        ("", "FLAIR", 0),
    ],
)
def test_short_text(reading: str, gold: str, value: float) -> None:
    assert answer.short_text(reading, gold) == value


class TestKeywords:
    @pytest.mark.parametrize(
        ("labels", "gold", "expected"),
        [
            (["Edema"], "whatever", [("edema",)]),
            (["Meniscus Tear ", "Meniscus tear"], "", [("meniscus", "tear")]),
            (
                ["Cartilage - Partial Thickness loss/defect"],
                "",
                [("cartilage", "partial", "thickness", "loss", "defect")],
            ),
            ([], "There is an edema in the left hemisphere.", [("edema",), ("left",), ("hemisphere",)]),
            (["", " - "], "Edema", [("edema",)]),
            ([], "It is not.", [("it",), ("is",), ("not",)]),  # nothing but stop words: all of them
            ([], "水肿", []),
        ],
    )
    def test_what_is_looked_for(self, labels: list[str], gold: str, expected: list[tuple[str, ...]]) -> None:
        assert keywords.keywords(labels, gold) == expected

    @pytest.mark.parametrize(
        ("text", "wanted", "value"),
        [
            ("A large MASS.", ["mass"], 1),
            ("massive edema", ["mass"], 0),
            ("meniscus: tear", ["meniscus tear"], 1),
            ("tear of the meniscus", ["meniscus tear"], 0),
            ("edema, no mass", ["edema", "mass", "cyst"], 2 / 3),
            ("T1-weighted", ["t1"], 1),
            ("", ["mass"], 0),
        ],
    )
    def test_recall(self, text: str, wanted: list[str], value: float) -> None:
        assert keywords.recall(text, [tuple(w.split()) for w in wanted]) == pytest.approx(value)

    def test_nothing_to_look_for_is_not_a_number(self) -> None:
        assert keywords.recall("text", []) is None

    @given(st.text(string.printable), st.lists(st.text(string.ascii_letters, min_size=1), min_size=1, max_size=4))
    def test_the_keywords_themselves_are_found(self, noise: str, labels: list[str]) -> None:
        wanted = keywords.keywords(labels, "")
        assert keywords.recall(f"{noise} | {' | '.join(labels)}", wanted) == 1.0


class TestOpenEnded:
    @pytest.mark.parametrize(
        ("text", "labels", "cosine", "value"),
        [
            ("edema", ["Edema"], 0.5, 0.75),
            ("edema", ["Edema", "Mass"], 0.5, 0.5),
            ("a mass", ["Edema"], -0.3, 0.0),  # a negative cosine is 0, not a debt
            ("edema", ["Edema"], -1.0, 0.5),
            ("edema", ["Edema"], 1.0000002, 1.0),
        ],
    )
    def test_half_and_half(self, text: str, labels: list[str], cosine: float, value: float) -> None:
        scored = answer.open_ended(text, Open("gold", labels, cosine))
        assert scored.value == pytest.approx(value, abs=1e-12)
        assert scored.similarity == cosine

    def test_a_missing_cosine_is_not_replaced(self) -> None:
        scored = answer.open_ended("edema", Open("edema", (), None, Outcome.NOT_RUN))
        assert (scored.value, scored.outcome, scored.keyword_recall) == (None, Outcome.NOT_RUN, 1.0)

    def test_no_keywords(self) -> None:
        scored = answer.open_ended("edema", Open("水肿", (), 0.5))
        assert (scored.value, scored.outcome) == (None, Outcome.NO_REFERENCE)
