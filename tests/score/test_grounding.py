"""V-Score and its diagnostics: cases by hand, a brute-force oracle, and properties."""

from __future__ import annotations

import itertools
import random
import time
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slicewise.geometry import Box, iou
from slicewise.outcome import Outcome
from slicewise.score import grounding
from slicewise.score.grounding import THRESHOLDS, Counts, Level, score_boxes

# Few distinct corners, so that ties, duplicates and zero areas happen all the time.
corner = st.sampled_from([0.0, 10.0, 20.0, 25.0, 30.0])
frame = st.sampled_from([None, 0, 1, 2])
label = st.sampled_from([None, "Edema", "edema", "Nonspecific lesion"])
span = st.tuples(corner, corner).map(sorted)
box = st.builds(lambda f, x, y, name: Box(f, x[0], y[0], x[1], y[1], name), frame, span, span, label)
boxes = st.lists(box, max_size=5)
levels = st.sampled_from(["image", "volume"])


def square(frame: int | None, x: float = 0.0, side: float = 10.0, label: str | None = None) -> Box:
    return Box(frame, x, 0.0, x + side, side, label)


# --- oracle ---------------------------------------------------------------------------------------------------------


def usable(a: Box, b: Box, level: Level) -> float:
    if level == "volume" and (a.frame is None or b.frame is None or a.frame != b.frame):
        return 0.0
    return iou(a, b)


def brute_force(gold: Sequence[Box], predicted: Sequence[Box], level: Level) -> tuple[float, list[int], int, int]:
    """Try every assignment: largest sum of IoU, most hits per threshold, and the numbers of distinct boxes."""
    golds = list({(b.key if level == "volume" else b.key[1:]): b for b in gold if b.area > 0}.values())
    found = list({(b.key if level == "volume" else b.key[1:]): b for b in predicted}.values())
    padded: list[Box | None] = [*found, *[None] * len(golds)]
    best, hits = 0.0, [0] * len(THRESHOLDS)
    for chosen in itertools.permutations(padded, len(golds)):
        values = [usable(g, p, level) if p is not None else 0.0 for g, p in zip(golds, chosen, strict=True)]
        best = max(best, sum(values))
        hits = [max(n, sum(v >= t for v in values)) for n, t in zip(hits, THRESHOLDS, strict=True)]
    return best, hits, len(golds), len(found)


small = st.lists(box, max_size=3)


@settings(max_examples=300, deadline=None)
@given(small, small, levels)
def test_equals_brute_force(gold: list[Box], predicted: list[Box], level: Level) -> None:
    result = score_boxes(gold, predicted, level=level)
    best, hits, n_gold, n_predicted = brute_force(gold, predicted, level)
    assert (result.n_gold, result.n_predicted) == (n_gold, n_predicted)
    assert result.iou_sum == pytest.approx(best, abs=1e-12)
    assert [counts.hits for counts in result.at] == hits
    if n_gold:
        assert result.v == pytest.approx(best / n_gold, abs=1e-12)
        assert result.v_precision_aware == pytest.approx(best / max(n_gold, n_predicted), abs=1e-12)
    else:
        assert result.v is result.v_precision_aware is None


# --- properties -----------------------------------------------------------------------------------------------------


@settings(max_examples=200, deadline=None)
@given(boxes, boxes, levels, st.randoms(use_true_random=False))
def test_order_never_matters(gold: list[Box], predicted: list[Box], level: Level, rng: random.Random) -> None:
    expected = score_boxes(gold, predicted, level=level)
    shuffled = [rng.sample(side, len(side)) for side in (gold, predicted)]
    assert score_boxes(shuffled[0], shuffled[1], level=level) == expected


@settings(max_examples=100, deadline=None)
@given(boxes, boxes, levels)
def test_duplicates_count_once_but_are_seen(gold: list[Box], predicted: list[Box], level: Level) -> None:
    once, twice = (score_boxes(gold * n, predicted * n, level=level) for n in (1, 2))
    assert (twice.v, twice.at, twice.frames, twice.matches) == (once.v, once.at, once.frames, once.matches)
    assert twice.n_emitted == 2 * once.n_emitted
    assert twice.n_predicted_duplicate == once.n_predicted_duplicate + len(predicted)


@given(boxes, levels)
def test_the_gold_itself_is_perfect(gold: list[Box], level: Level) -> None:
    gold = [b for b in gold if b.area > 0 and b.frame is not None]
    result = score_boxes(gold, gold, level=level)
    if gold:
        assert result.v == result.v_precision_aware == 1.0
        assert all(counts.f1 == 1.0 for counts in result.at)
        assert set(result.frame_offsets) <= {0}
    else:
        assert (result.outcome, result.false_positives) == (Outcome.NO_REFERENCE, 0)


@settings(deadline=None)
@given(boxes, boxes, levels)
def test_spam_never_helps_the_precision_aware_score(gold: list[Box], predicted: list[Box], level: Level) -> None:
    junk = [Box(0, 500.0 + i, 500.0, 501.0 + i, 501.0) for i in range(50)]
    clean, spam = (score_boxes(gold, side, level=level) for side in (predicted, predicted + junk))
    assert spam.v == clean.v
    assert (spam.v_precision_aware or 0.0) <= (clean.v_precision_aware or 0.0)


@settings(max_examples=50, deadline=None)
@given(st.lists(box, min_size=9, max_size=14), st.lists(box, min_size=9, max_size=14))
def test_matrix_and_plain_iou_are_the_same_bits(gold: list[Box], predicted: list[Box]) -> None:
    matrix = grounding.iou_matrix(gold, predicted)
    assert matrix.tolist() == [[iou(a, b) for b in predicted] for a in gold]
    assert grounding._overlaps(gold, predicted) == [
        {i: value for i, value in enumerate(row) if value > 0} for row in matrix.tolist()
    ]


# --- cases ----------------------------------------------------------------------------------------------------------


def test_the_sum_beats_the_greedy_choice() -> None:
    gold = [Box(0, 0, 0, 10, 10), Box(0, 4, 0, 14, 10)]
    predicted = [Box(0, 2, 0, 12, 10), Box(0, 9, 0, 19, 10)]
    result = score_boxes(gold, predicted, level="volume")
    assert [(m.gold, m.predicted) for m in result.matches] == list(zip(gold, predicted, strict=True))
    assert result.v == pytest.approx((80 / 120 + 50 / 150) / 2)


def test_each_threshold_has_its_own_assignment() -> None:
    # V gives the first gold box its best match (0.82) and leaves the second without: the only other choice is worth
    # less in sum, yet at 0.1 it hits both.
    gold = [Box(0, 0, 0, 10, 10), Box(0, 8, 0, 18, 10)]
    predicted = [Box(0, 1, 0, 11, 10), Box(0, -7, 0, 3, 10)]
    result = score_boxes(gold, predicted, level="image")
    assert [m.iou for m in result.matches] == [pytest.approx(90 / 110)]
    assert [c.hits for c in result.at] == [2, 1, 1]


def test_one_right_and_49_junk_boxes() -> None:
    predicted = [square(3), *(square(3, x=100.0 + 20 * i) for i in range(49))]
    result = score_boxes([square(3)], predicted, level="volume")
    assert (result.v, result.v_precision_aware, result.n_emitted) == (1.0, 1 / 50, 50)
    assert result.at[2] == Counts(1, 50, 1)
    assert result.at[2].precision == 1 / 50


@pytest.mark.parametrize(
    ("gold", "predicted", "outcome", "v", "false_positives"),
    [
        ([], [], Outcome.NO_REFERENCE, None, 0),  # torchmetrics#1096, #794
        ([], [square(0)], Outcome.NO_REFERENCE, None, 1),
        ([square(0)], [], Outcome.OK, 0.0, None),
        ([square(0, side=0.0)], [square(0)], Outcome.NO_REFERENCE, None, None),  # abnormal, but nothing to compare
    ],
)
def test_nothing_on_a_side(
    gold: list[Box], predicted: list[Box], outcome: Outcome, v: float | None, false_positives: int | None
) -> None:
    result = score_boxes(gold, predicted, level="volume")
    assert (result.outcome, result.v, result.false_positives) == (outcome, v, false_positives)


def test_ratios_are_null_where_they_are_undefined() -> None:
    nothing, found, wanted = Counts(0, 0, 0), Counts(0, 2, 0), Counts(0, 0, 2)
    assert (nothing.precision, nothing.recall, nothing.f1) == (None, None, None)
    assert (found.precision, found.recall, found.f1) == (0.0, None, 0.0)
    assert (wanted.precision, wanted.recall, wanted.f1) == (None, 0.0, 0.0)


def test_zero_areas() -> None:  # talmolab/sleap-nn#491, roboflow/rf-detr#784
    result = score_boxes([square(0), square(1, side=0.0)], [square(0), square(0, x=5.0, side=0.0)], level="volume")
    assert (result.v, result.n_gold, result.n_gold_zero_area) == (1.0, 1, 1)
    assert (result.v_precision_aware, result.n_predicted, result.n_predicted_zero_area) == (0.5, 2, 1)
    assert result.flags == ("gold_zero_area", "predicted_zero_area")


@pytest.mark.parametrize(("level", "v"), [("volume", 0.0), ("image", 1.0)])
def test_a_box_without_a_frame(level: Level, v: float) -> None:
    result = score_boxes([square(0)], [square(None)], level=level)
    assert result.v == v
    assert result.n_predicted_without_frame == (1 if level == "volume" else 0)


def test_frame_zero_is_a_frame_and_other_frames_do_not_match() -> None:
    assert score_boxes([square(0)], [square(0)], level="volume").v == 1.0
    assert score_boxes([square(0)], [square(1)], level="volume").v == 0.0


def test_one_box_on_several_frames_is_no_duplicate_on_a_volume() -> None:
    frames = [square(f) for f in (3, 4, 5)]
    assert score_boxes(frames, frames, level="volume").n_gold == 3
    assert score_boxes(frames, frames, level="image").n_gold == 1


def test_frames_and_offsets() -> None:
    gold = [square(4, label="edema"), square(10, label="cyst")]
    predicted = [square(5, label="Edema"), square(6, label="CYST"), square(7, label="mass"), square(None), square(7)]
    result = score_boxes(gold, predicted, level="volume")
    assert result.frame_offsets == (1, -4, 3)  # 7 lies 3 behind 4 and 3 before 10: the earlier counts
    assert result.frames == Counts(0, 3, 2)
    assert score_boxes(gold, predicted, level="image").frames is None
    assert score_boxes([], predicted, level="volume").frame_offsets == ()


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_coordinates_must_be_finite(bad: float) -> None:
    with pytest.raises(ValueError, match="finite"):
        score_boxes([square(0)], [Box(0, bad, 0, 1, 1)], level="image")


def test_huge_coordinates_do_not_crash() -> None:
    huge = Box(0, 0.0, 0.0, 1e300, 1e300)
    assert score_boxes([huge], [huge, square(0)], level="volume").v is not None


# --- cost -----------------------------------------------------------------------------------------------------------


def spread(count: int, frames: int, seed: int) -> list[Box]:
    rng = random.Random(seed)  # noqa: S311
    return [
        Box(rng.randrange(frames), x := rng.uniform(0, 200), y := rng.uniform(0, 200), x + 40, y + 40)
        for _ in range(count)
    ]


@pytest.mark.parametrize("frames", [1, 40])
def test_a_thousand_boxes_do_not_stall(frames: int) -> None:
    start = time.process_time()
    result = score_boxes(spread(1000, frames, 1), spread(1000, frames, 2), level="volume")
    assert time.process_time() - start < 5
    assert 0 < (result.v or 0) < 1


def test_the_cost_of_an_item_is_constant() -> None:
    items = [(spread(2, 12, i), spread(3, 12, -i)) for i in range(2000)]
    start = time.process_time()
    for gold, predicted in items:
        score_boxes(gold, predicted, level="volume")
    assert (time.process_time() - start) / len(items) < 5e-4  # about 3e-5 in practice
