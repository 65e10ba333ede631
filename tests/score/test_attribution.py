"""The difference of two means, taken apart with no rest."""

from __future__ import annotations

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.score import attribution
from slicewise.score.attribution import DENOMINATOR, Pair

VALUES = st.one_of(st.none(), st.floats(0, 1), st.sampled_from([0.0, 1.0, 0.5]))


def pair(name: str, card: float | None, reference: float | None, reason: str = "x") -> Pair:
    return Pair(name, card, reference, reason if card != reference else None)


def test_by_hand() -> None:
    pairs = [
        pair("a", 1.0, 0.0, "article_a"),
        pair("b", 0.0, 1.0, "substring_no"),
        pair("c", 1.0, 1.0),
        pair("d", None, 1.0, "failure_scored"),
        pair("e", 0.5, None, "open_ended_unscored"),
    ]
    found = attribution.attribute(pairs)
    # card: 2.5 over 4 items; reference: 3 over 4; both means have 4 items, so there is no change of denominator.
    assert found.difference == Fraction(5, 8) - Fraction(3, 4)
    assert {share.reason: share.amount for share in found.shares} == {
        "article_a": Fraction(1, 4),
        "substring_no": Fraction(-1, 4),
        "failure_scored": Fraction(-1, 4),
        "open_ended_unscored": Fraction(1, 8),
    }


def test_another_number_of_items() -> None:
    found = attribution.attribute([pair("a", 1.0, 1.0), pair("b", None, 0.0, "failure_scored")])
    assert (found.card, found.reference) == (1, Fraction(1, 2))
    assert {share.reason: (share.items, share.amount) for share in found.shares} == {
        "failure_scored": (1, 0),
        DENOMINATOR: (0, Fraction(1, 2)),
    }


@given(st.lists(st.tuples(VALUES, VALUES, st.sampled_from("pqr")), max_size=30))
def test_no_rest(values: list[tuple[float | None, float | None, str]]) -> None:
    found = attribution.attribute(pair(str(i), c, r, reason) for i, (c, r, reason) in enumerate(values))
    assert sum((share.amount for share in found.shares), Fraction()) == found.difference
    assert found.n_card == sum(c is not None for c, _, _ in values)


def test_a_difference_needs_a_reason() -> None:
    with pytest.raises(ValueError, match="reason"):
        Pair("a", 1.0, 0.0, None)
    with pytest.raises(ValueError, match="reason"):
        Pair("a", 1.0, 1.0, "x")
