# ruff: noqa: E501 - tables of cases
"""Conventions by hand-computed numbers, round trips, and the rules for boxes that leave the image."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.geometry import (
    BINNED,
    BadBox,
    Box,
    Convention,
    arity,
    decode,
    encode,
    extent,
    iou,
    render,
    settle,
    span,
)

C = Convention
# convention, numbers, sent, native, corners: each worked out by hand from the source named.
DECODED = [
    (C.ABS_XYXY_ORIGINAL, (10, 20, 30, 40), None, (320, 320), (10, 20, 30, 40), "PASCAL-like corners"),
    (C.ABS_XYXY_RESIZED, (252, 175, 504, 350), (1008, 700), (1000, 700), (250, 175, 500, 350), "QwenLM/Qwen3-VL#676"),
    (C.ABS_XYXY_RESIZED, (10, 20, 30, 40), None, (320, 320), (10, 20, 30, 40), "sent at its native size"),
    (C.ABS_XYWH_ORIGINAL, (10, 20, 30, 40), None, (320, 320), (10, 20, 40, 60), "cocodataset/cocoapi#5"),
    (C.ABS_CXCYWH_ORIGINAL, (180, 140, 120, 100), None, (512, 512), (120, 90, 240, 190), "eren23/openflipbook#127"),
    (C.REL_XYXY_0_1000, (125, 250, 375, 750), None, (640, 480), (80, 120, 240, 360), "QwenLM/Qwen3-VL#866"),
    (C.REL_XYXY_0_999, (333, 333, 666, 999), None, (999, 333), (333, 111, 666, 333), "deepseek-ai/DeepSeek-VL2#100"),
    (C.REL_YXYX_0_1000, (250, 125, 750, 375), None, (640, 480), (80, 120, 240, 360), "simular-ai/Agent-S#91"),
    (C.REL_XYXY_0_1, (0.12, 0.30, 0.48, 0.66), None, (500, 400), (60, 120, 240, 264), "X-PLUG/mPLUG-Owl#199"),
    (C.REL_XYXY_PERCENT, (25, 30, 50, 60), None, (200, 100), (50, 30, 100, 60), "lzw-lzw/GroundingGPT#11"),
    (C.REL_XYXY_0_1_SQUARE_PAD, (0.25, 0.25, 0.75, 0.75), None, (640, 480), (160, 80, 480, 400), "haotian-liu/LLaVA#606"),
    (C.REL_XYXY_0_999_SQUARE_PAD, (333, 333, 666, 666), None, (480, 640), (133.3333, 213.3333, 346.6667, 426.6667), "OpenGVLab/all-seeing#10"),
    (C.REL_XYWH_0_1, (0.5, 0.5, 0.2, 0.1), None, (400, 300), (200, 150, 280, 180), "eren23/openflipbook#127"),
    (C.REL_CXCYWH_0_1, (0.5, 0.5, 0.2, 0.1), None, (400, 300), (160, 135, 240, 165), "eren23/openflipbook#127"),
    (C.LOC1024_YXYX, (256, 128, 768, 384), None, (640, 480), (80, 120, 240, 360), "ariG23498/gemma3-object-detection#39"),
    (C.LOC1000_XYXY_BIN_CENTRE, (124, 249, 374, 749), None, (640, 480), (79.68, 119.76, 239.68, 359.76), "Florence-2"),
    (C.KOSMOS_PATCH32, (198, 630), None, (320, 640), (65, 130, 225, 390), "Kosmos-2: cell centres"),
    (C.KOSMOS_PATCH32, (100, 100), None, (320, 320), (40, 30, 50, 40), "Kosmos-2: one cell, its edges"),
    (C.KOSMOS_PATCH32, (32, 35), None, (320, 320), (0, 10, 40, 20), "Kosmos-2: one row, cell edges"),
]  # fmt: skip


@pytest.mark.parametrize(("convention", "numbers", "sent", "native", "corners", "source"), DECODED)
def test_decode(convention: Any, numbers: Any, sent: Any, native: Any, corners: Any, source: Any) -> None:
    assert decode(numbers, convention, sent=sent, native=native) == pytest.approx(corners, abs=1e-3), source


def test_every_convention_is_covered() -> None:
    assert {row[0] for row in DECODED} == set(Convention)


@pytest.mark.parametrize("convention", list(Convention))
@pytest.mark.parametrize("numbers", [(), (1.0,), (1, 2, 3), (1, 2, 3, 4, 5), (math.nan, 1, 2, 3), (1, 2, math.inf, 3)])
def test_anything_but_finite_numbers_of_the_right_count_is_refused(convention: Any, numbers: Any) -> None:
    with pytest.raises(BadBox):
        decode(numbers, convention, sent=None, native=(320, 320))


@pytest.mark.parametrize("numbers", [(0.5, 3), (-1, 3), (0, 1024)])
def test_a_patch_index_is_a_cell(numbers: Any) -> None:
    with pytest.raises(BadBox, match="no_patch_index"):
        decode(numbers, C.KOSMOS_PATCH32, sent=None, native=(320, 320))


sizes = st.tuples(st.integers(1, 4000), st.integers(1, 4000))


@st.composite
def corners_in(draw: Any) -> Any:
    width, height = draw(sizes)
    share = st.floats(0, 1, allow_nan=False)
    xs = sorted(draw(st.tuples(share, share)))
    ys = sorted(draw(st.tuples(share, share)))
    return (width, height), (xs[0] * width, ys[0] * height, xs[1] * width, ys[1] * height)


@given(corners_in(), sizes, st.sampled_from(sorted(set(Convention) - BINNED)))
def test_encode_is_the_inverse_of_decode(frame: Any, sent: Any, convention: Any) -> None:
    native, corners = frame
    numbers = encode(corners, convention, sent=sent, native=native)
    assert decode(numbers, convention, sent=sent, native=native) == pytest.approx(corners, abs=1e-6)


@given(corners_in())
def test_location_bins_are_exact_to_half_a_bin_and_one_at_the_far_edge(frame: Any) -> None:
    native, corners = frame
    for convention, bins in ((C.LOC1024_YXYX, 1024), (C.LOC1000_XYXY_BIN_CENTRE, 1000)):
        back = decode(encode(corners, convention, sent=None, native=native), convention, sent=None, native=native)
        for i, (a, b) in enumerate(zip(back, corners, strict=True)):
            assert abs(a - b) <= 1.01 * native[i % 2] / bins


@given(corners_in())
def test_patches_are_exact_to_one_cell(frame: Any) -> None:
    native, corners = frame
    back = decode(
        encode(corners, C.KOSMOS_PATCH32, sent=None, native=native), C.KOSMOS_PATCH32, sent=None, native=native
    )
    for i, (a, b) in enumerate(zip(back, corners, strict=True)):
        assert abs(a - b) <= 1.01 * native[i % 2] / 32


def test_render_writes_the_surface_of_the_family() -> None:
    box = (32.0, 64.0, 96.0, 128.0)
    assert render(box, C.ABS_XYWH_ORIGINAL, sent=None, native=(320, 320)) == "<bbx>[32, 64, 64, 64]</bbx>"
    assert render(box, C.REL_XYXY_0_1, sent=None, native=(320, 320)) == "<bbx>[0.1, 0.2, 0.3, 0.4]</bbx>"
    assert render(box, C.LOC1024_YXYX, sent=None, native=(320, 320)) == "<loc0205><loc0102><loc0410><loc0307>"
    assert render(box, C.LOC1000_XYXY_BIN_CENTRE, sent=None, native=(320, 320)).startswith("<loc_100><loc_200>")
    assert render(box, C.KOSMOS_PATCH32, sent=None, native=(320, 320)).startswith("<object><patch_index_0195>")


SETTLED = [
    ((10, 20, 30, 40), (10, 20, 30, 40), ()),
    ((30, 40, 10, 20), (10, 20, 30, 40), ("inverted_repaired",)),
    ((-3, 20, 30, 40), (0, 20, 30, 40), ("clipped",)),
    ((10, 20, 105, 40), (10, 20, 100, 40), ("clipped",)),  # exactly 5 %
    ((10, 20, 106, 40), None, ("outside_image",)),
    ((10, -6, 30, 40), None, ("outside_image",)),
    ((101, 20, 103, 40), None, ("no_overlap",)),  # within 5 %, but nothing of it is in the image
    ((-3, 20, -1, 40), None, ("no_overlap",)),
    ((10, 20, 30, 20), (10, 20, 30, 20), ("zero_area",)),
    ((100, 20, 100, 40), (100, 20, 100, 40), ("zero_area",)),
    ((10, 20, 100 + 1e-8, 40), (10, 20, 100, 40), ()),  # rounding is no overshoot
]


@pytest.mark.parametrize(("corners", "inside", "flags"), SETTLED)
def test_settle(corners: Any, inside: Any, flags: Any) -> None:
    settled = settle(corners, native=(100, 100))
    assert settled.corners == inside
    assert settled.flags == flags
    assert (settled.reason is None) == (inside is not None)


def test_the_padding_is_legal_on_a_padded_grid() -> None:
    covered = extent(C.REL_XYXY_0_1_SQUARE_PAD, (640, 480))
    assert covered == (0, -80, 640, 560)
    assert settle((0, -80, 640, 560), native=(640, 480), covered=covered).corners == (0, 0, 640, 480)
    assert settle((0, -80, 640, -10), native=(640, 480), covered=covered).reason == "no_overlap"


def test_span_and_arity() -> None:
    assert span(C.REL_XYXY_0_999) == 999
    assert span(C.ABS_XYXY_ORIGINAL) is None
    assert arity(C.KOSMOS_PATCH32) == 2
    assert arity(C.ABS_XYXY_ORIGINAL) == 4


@given(corners_in(), corners_in())
def test_iou_is_symmetric_and_in_range(a: Any, b: Any) -> None:
    left, right = Box(0, *a[1]), Box(0, *b[1])
    assert 0 <= iou(left, right) <= 1 + 1e-12
    assert iou(left, right) == iou(right, left)


@pytest.mark.parametrize(
    ("box", "expected"), [((0, 0, 10, 10), 1), ((5, 0, 15, 10), 1 / 3), ((10, 0, 20, 10), 0), ((5, 5, 5, 5), 0)]
)
def test_iou_by_hand(box: Any, expected: Any) -> None:
    assert iou(Box(0, 0, 0, 10, 10), Box(0, *box)) == pytest.approx(expected)
