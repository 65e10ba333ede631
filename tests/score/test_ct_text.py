"""Text metrics of 3D-RAD: BLEU by its definition, ROUGE-L against the package, values with their units."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st
from rouge_score import rouge_scorer
from slicewise.score import ct_text

WORDS = st.lists(st.sampled_from(["left", "lung", "nodule", "30", "x", "13", "mm", "no"]), min_size=1, max_size=8)


@pytest.mark.parametrize(
    ("text", "expected"),
    [  # the rules of mteval-v13a, lower-cased
        ("Left lung, 3.5 mm.", ["left", "lung", ",", "3.5", "mm", "."]),
        ("30x13 mm", ["30x13", "mm"]),
        ("T4-T5", ["t4", "-", "t5"]),
        ("4-5 cm", ["4", "-", "5", "cm"]),
        ("(right)/left", ["(", "right", ")", "/", "left"]),
        ("1,000 mm", ["1,000", "mm"]),
        ("", []),
    ],
)
def test_tokens(text: str, expected: list[str]) -> None:
    assert ct_text.tokens(text) == expected


def test_short_right_answers_score_one_only_with_effective_order() -> None:
    found = ct_text.counts("left lung", "left lung")
    assert ct_text.bleu([found], effective=True) == 1.0
    assert ct_text.bleu([found], effective=False) == 0.0  # no 3-gram, no 4-gram: the ceiling of a sample


def test_a_corpus_adds_counts() -> None:
    long = ct_text.counts("a nodule of the left lung", "a nodule of the left lung")
    short = ct_text.counts("left lung", "right lung")
    expected = math.exp(sum(math.log(p) for p in (7 / 8, 5 / 6, 4 / 4, 3 / 3)) / 4)
    assert ct_text.bleu([long, short], effective=False) == pytest.approx(expected)


def test_brevity() -> None:
    found = ct_text.counts("left", "left lung base")
    assert ct_text.bleu([found], 1, effective=True) == pytest.approx(math.exp(1 - 3))


@given(WORDS, WORDS)
def test_bleu_is_a_share_and_one_only_for_equal_texts(own: list[str], gold: list[str]) -> None:
    value = ct_text.bleu([ct_text.counts(" ".join(own), " ".join(gold))], effective=True)
    assert 0 <= value <= 1
    assert ct_text.bleu([ct_text.counts(" ".join(gold), " ".join(gold))], effective=True) == pytest.approx(1)


@given(WORDS, WORDS)
def test_rouge_l_is_that_of_the_package_without_stemmer(own: list[str], gold: list[str]) -> None:
    scorer = rouge_scorer.RougeScorer(["rougeL"], use_stemmer=False)
    one, two = (ct_text.one_form(" ".join(words)) for words in (own, gold))
    assert ct_text.rouge_l(" ".join(own), " ".join(gold)) == pytest.approx(scorer.score(two, one)["rougeL"].fmeasure)


def test_rouge_l_sees_sizes_in_one_form() -> None:
    assert ct_text.rouge_l("30x13mm", "30 x 13 mm") == 1.0


@pytest.mark.parametrize(
    ("own", "gold", "right"),
    [
        ("14 mm", "14 mm", True),
        ("1.4 cm", "14 mm", True),
        ("14.5 mm", "14 mm", True),  # within 5 %
        ("15 mm", "14 mm", False),
        ("14 cm", "14 mm", False),
        ("14", "14 mm", False),  # without a unit nothing is measured
        ("30x13 mm", "30 x 13 mm", True),
        ("13x30 mm", "30 x 13 mm", False),
        ("30 mm", "30 x 13 mm", False),
        ("less than 5 mm", "under 5 mm", True),
        ("5 mm", "less than 5 mm", False),
        ("none", "5 mm", False),
        ("5 mm", "normal size", None),
    ],
)
def test_values_need_number_unit_and_bound(own: str, gold: str, right: bool | None) -> None:
    assert ct_text.value_right(own, gold) is right
