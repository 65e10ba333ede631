# ruff: noqa: E501 - tables of cases
"""Properties that hold for any text."""

from __future__ import annotations

import json
from itertools import permutations
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slicewise.geometry import BINNED, Convention, render
from slicewise.outcome import Outcome
from slicewise.parse import answers, jsonish
from slicewise.parse.boxes import BoxContext, read_boxes, reread
from slicewise.parse.clean import clean, visible
from slicewise.parse.gold import gold_boxes, gold_letters, kind_of
from slicewise.parse.locations import strip_location
from slicewise.parse.options import parse_options
from slicewise.parse.verdicts import read_verdict

OPTIONS = {"A": "simple cyst", "B": "pyogenic abscess", "C": "metastasis", "D": "haemangioma"}
PIECES = [
    "yes", "No", "A", "(B)", "C.", "Answer:", "the answer is", "not", "or", "and", "frame 3", "Frames 3-5:", "[10, 20, 30, 40]",
    "(1,2),(3,4)", "<bbx>", "</bbx>", "<think>", "</think>", "<|im_end|>", "<|box_start|>", "{", "}", "[", "]", '"bbox_2d":', ":",
    "\\boxed{", "**", "```json", "```", "\n", "\n\n", ".", ",", ";", "7", "2 lesions", "total = 6", "3.5 cm", "sorry, I cannot help",
    "maybe", "<loc0001>", "<loc_5>", "<patch_index_0001>", "x1=3", "|", "是", "Ａ", "\ud800", "\x00", "◁think▷", "<answer>", "</answer>",
    "analysis", "assistantfinal", "None", "slice", "10/10", "score", "NaN", "1e999", "'", '"',
]  # fmt: skip
texts = st.one_of(
    st.text(max_size=200),
    st.text(alphabet=st.characters(codec=None), max_size=60),
    st.lists(st.sampled_from(PIECES), max_size=25).map(" ".join),
    st.lists(st.sampled_from(PIECES), max_size=25).map("".join),
)
CONTEXTS = [
    BoxContext(convention, ((320, 240),) * count, frame_base=base)
    for convention, count, base in [(c, n, b) for c in Convention for n, b in ((1, 1), (12, 0))]
]


@settings(max_examples=300)
@given(texts, st.sampled_from(CONTEXTS))
def test_reading_never_raises(text: Any, context: Any) -> None:
    cleaned = clean(text)
    for reading in (
        answers.read_yes_no(cleaned, "Is there a mass?"),
        answers.read_choice(cleaned, OPTIONS),
        answers.read_choice(cleaned),
        answers.read_count(cleaned, "How many lesions are there?"),
        answers.read_short_text(cleaned),
        visible(text),
    ):
        assert (reading.value is None) == (reading.outcome is not Outcome.OK)
    chosen = answers.read_choices(cleaned, OPTIONS)
    assert chosen.value is None or (chosen.value == sorted(set(chosen.value)) and set(chosen.value) & set(OPTIONS))
    found = read_boxes(cleaned, context)
    for box in found.reading.value or []:
        assert 0 <= box.x0 <= box.x1 <= 320
        assert 0 <= box.y0 <= box.y1 <= 240
        assert box.frame is None or 0 <= box.frame < len(context.sizes)
    assert found.emitted >= len(found.reading.value or [])
    verdict = read_verdict(cleaned, ["accuracy", "relevance"], (1, 10))
    assert all(value is None or 1 <= value <= 10 for value in verdict.values.values())
    json.dumps(strip_location(text)).encode()
    parse_options(text)
    gold_boxes(text)
    gold_letters(text, OPTIONS)
    assert kind_of("detection", "closed_ended", text)


@settings(max_examples=200)
@given(texts)
def test_cleaning_is_idempotent(text: Any) -> None:
    once = visible(text).value
    if once is not None:
        assert visible(once).value == once


@settings(max_examples=200)
@given(texts, st.sampled_from(CONTEXTS))
def test_reading_a_cleaned_text_gives_the_same(text: Any, context: Any) -> None:
    cleaned = clean(text)
    if cleaned.outcome is Outcome.OK and clean(cleaned.text).text == cleaned.text:
        again = clean(cleaned.text)
        assert answers.read_yes_no(again).value == answers.read_yes_no(cleaned).value
        assert answers.read_choices(again, OPTIONS).value == answers.read_choices(cleaned, OPTIONS).value
        assert answers.read_count(again).value == answers.read_count(cleaned).value
        assert read_boxes(again, context).reading.value == read_boxes(cleaned, context).reading.value


@settings(max_examples=150)
@given(texts)
def test_stripping_is_idempotent(text: Any) -> None:
    once = strip_location(text)
    assert strip_location(once) == once


@st.composite
def placed_boxes(draw: Any) -> Any:
    width, height, count = draw(st.integers(8, 2000)), draw(st.integers(8, 2000)), draw(st.integers(1, 6))
    share = st.floats(0, 1, allow_nan=False)
    out = []
    for _ in range(draw(st.integers(1, 5))):
        xs = sorted(draw(st.tuples(share, share)))
        ys = sorted(draw(st.tuples(share, share)))
        out.append((draw(st.integers(0, count - 1)), (xs[0] * width, ys[0] * height, xs[1] * width, ys[1] * height)))
    return (width, height), count, out


WORDINGS = ["Frame {n}: {b}", "**Frame {n}:** {b}", "slice {n} {b}", "{b} on frame {n}", "Image-{n}: mass {b}"]


@settings(max_examples=200)
@given(placed_boxes(), st.sampled_from(sorted(set(Convention) - BINNED)), st.sampled_from(WORDINGS), st.integers(0, 1))
def test_boxes_survive_every_convention(placed: Any, convention: Any, wording: Any, base: Any) -> None:
    native, count, boxes = placed
    sent = (native[0] * 2 + 3, native[1] + 7)
    written = [wording.format(n=place + base, b=render(c, convention, sent=sent, native=native)) for place, c in boxes]
    context = BoxContext(convention, (native,) * count, (sent,) * count, frame_base=base)
    found = read_boxes("; ".join(written), context)
    got = [(box.frame, box.x0, box.y0, box.x1, box.y1) for box in found.reading.value or []]
    want = list(dict.fromkeys((place, *corners) for place, corners in boxes))
    assert found.emitted == len(boxes)
    for place, *corners in want:
        assert any(g[0] == place and g[1:] == pytest.approx(tuple(corners), abs=1e-6) for g in got)


@settings(max_examples=100)
@given(placed_boxes(), st.sampled_from(sorted(BINNED)))
def test_binned_boxes_survive_to_a_bin(placed: Any, convention: Any) -> None:
    native, count, boxes = placed
    written = [f"Frame {p + 1}: {render(c, convention, sent=None, native=native)}" for p, c in boxes]
    found = read_boxes("\n".join(written), BoxContext(convention, (native,) * count))
    assert found.emitted == len(boxes)
    cell = 32 if convention is Convention.KOSMOS_PATCH32 else 1000
    for place, corners in boxes:
        assert any(
            b.frame == place
            and all(
                abs(p - q) <= 1.01 * native[i % 2] / cell
                for i, (p, q) in enumerate(zip((b.x0, b.y0, b.x1, b.y1), corners, strict=True))
            )
            for b in found.reading.value or []
        )


FILLERS = ["The marrow signal is preserved.", "Image quality is adequate.", "The patient was scanned at 3 T."]
STATEMENTS = [
    (answers.read_yes_no, "Answer: yes.", "yes"),
    (lambda text: answers.read_choice(text, OPTIONS), "The answer is (C).", "C"),
    (lambda text: answers.read_choices(text, OPTIONS), "The correct options are A and D.", ["A", "D"]),
    (answers.read_count, "Total = 4.", 4),
]


@pytest.mark.parametrize(("read", "statement", "value"), STATEMENTS)
def test_unrelated_sentences_change_nothing_in_any_order(read: Any, statement: Any, value: Any) -> None:
    for order in permutations([statement, *FILLERS]):
        assert read(" ".join(order)).value == value, order


def test_boxes_do_not_depend_on_the_order_of_sentences() -> None:
    context = BoxContext(Convention.ABS_XYXY_ORIGINAL, ((320, 320),) * 9)
    sentences = ["Frame 3: [10, 20, 30, 40].", "Frame 5: [50, 60, 70, 80].", *FILLERS]
    expected = {(2, 10.0), (4, 50.0)}
    for order in permutations(sentences):
        assert {(b.frame, b.x0) for b in read_boxes(" ".join(order), context).reading.value or []} == expected, order


json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-999, 999) | st.text("ab\"'\\{}[],: \n", max_size=6),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=12,
)


@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), json_values, min_size=1, max_size=3), st.integers(0, 2))
def test_valid_json_is_read_as_json_reads_it(value: Any, indent: Any) -> None:
    text = json.dumps(value, indent=indent or None)
    found = jsonish.find(f"see {text} end")
    assert [v.value for v in found] == [value]
    assert found[0].repairs == {}


def test_reread_changes_only_the_convention() -> None:
    context = BoxContext(Convention.REL_XYXY_0_1000, ((500, 500),))
    text = "[100, 200, 300, 400]"
    assert read_boxes(text, context).reading.value[0].x0 == 50
    assert reread(text, context, Convention.ABS_XYXY_ORIGINAL).reading.value[0].x0 == 100
    assert reread(text, context, Convention.REL_YXYX_0_1000).reading.value[0].x0 == 100
