"""Laws of the room on any text, and plain patterns as oracles of its linear scans."""

import json
import math
import re
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slicewise.reference.a_score import a_score
from slicewise.reference.answers import choice_letters, final_answer, number, strip_thinking, yes_no
from slicewise.reference.boxes import boxes
from slicewise.reference.locations import strip_localization_text
from slicewise.reference.v_score import v_score

ANY_TEXT = st.text(max_size=120)
#: Texts made of what the patterns look for: these meet the corners that random characters never do.
PIECES = st.lists(
    st.sampled_from(
        [
            *("<think>", "</think>", "<bbx>", "</bbx>", "<bbox>", "[", "]", "{", "}", '"bbox_2d"', ":", '"x"', " "),
            *("[1,2,3,4]", "[300, 10, 400, 20]", "Frame 3: ", "on frame 5, ", "on Frame 4, 5", "Frames 3-6:", ",", "."),
            *("(1,2),(3,4)", "bbox(1,2,3,4)", "<|box_start|>(1,2),(3,4)<|box_end|>", "no", "abnormal", "none", "\n"),
            *(
                "yes",
                "(A)",
                "B",
                "it is not (C)",
                "the answer is",
                "Therefore, the final answer is: ",
                "7",
                "\ud800",
                "\0",
            ),
            *('{"x": 1, "y": 2, "width": 3, "height": 4}', '{"bbox_2d": [1, 2, 30, 40]}', "1.5", "nan", "a"),
        ]
    ),
    max_size=14,
).map("".join)
TEXTS = ANY_TEXT | PIECES


@given(TEXTS)
def test_readers_never_raise_and_keep_their_types(text: str) -> None:
    assert yes_no(text) in (True, False, None)
    assert set(choice_letters(text)) <= set("ABCD")
    count = number(text)
    assert count is None or count >= 0
    for qa_type in ("closed_ended", "single_choice", "multiple_choice", "open_ended"):
        assert isinstance(final_answer(text, qa_type), str)
    for size in ((None, None), (256, 256)):
        assert all(len(box["xywh"]) == 4 for box in boxes(text, *size))


@given(TEXTS, TEXTS, st.sampled_from(["closed_ended", "single_choice", "multiple_choice", "open_ended", "other"]))
def test_a_score_is_in_range(text: str, gold: str, qa_type: str) -> None:
    assert 0.0 <= a_score(text, gold, qa_type) <= 1.0


@given(TEXTS, st.lists(st.tuples(*[st.integers(0, 300)] * 4, st.none() | st.integers(0, 5)), min_size=1, max_size=4))
def test_v_score_is_in_range_or_refuses_nan(text: str, gold: list[tuple[int, int, int, int, int | None]]) -> None:
    raw = [dict(zip(("x", "y", "width", "height", "frame"), box, strict=True)) for box in gold]
    read = boxes(strip_thinking(text))
    if any(math.isnan(value) for box in read for value in box["xywh"]):
        return
    got = v_score(text, raw)
    assert got["pred_count"] == len(read)
    assert got["v_score"] is not None
    assert 0.0 <= got["v_score"] <= 1.0 + 1e-12
    assert (got["map"] is None) == (not read)


def test_nan_stops_the_assignment() -> None:
    with pytest.raises(ValueError, match="invalid numeric entries"):
        v_score("<bbx>[nan,1,2,3]</bbx>", [{"x": 1, "y": 1, "width": 2, "height": 2}])


@given(st.lists(st.tuples(*[st.integers(0, 60)] * 4), min_size=1, max_size=4), st.randoms(use_true_random=False))
def test_extra_boxes_never_cost(gold: list[tuple[int, int, int, int]], random: object) -> None:
    raw = [dict(zip(("x", "y", "width", "height"), box, strict=True)) for box in gold]
    text = "".join(f"<bbx>[{x},{y},{w + 1},{h + 1}]</bbx>" for x, y, w, h in gold)
    few, many = v_score(text, raw), v_score(text + "<bbx>[200,200,5,5]</bbx>" * 5, raw)
    assert few["v_score"] is not None
    assert many["v_score"] is not None
    assert many["v_score"] >= few["v_score"] - 1e-12


@given(TEXTS)
def test_strip_thinking_equals_its_pattern(text: str) -> None:
    assert strip_thinking(text) == re.sub(r"<think>.*?</think>", "", text, flags=re.DOTALL).strip()


@given(TEXTS)
def test_zero_rule_equals_its_pattern(text: str) -> None:
    lowered = text.lower()
    zero = re.search(r"\bnone\b|\bzero\b|\bno\b.*abnormal", lowered) is not None
    digits = re.findall(r"\b(\d+)\b", text)
    assert number(text) == (0 if zero else int(digits[-1]) if digits else None)


@given(TEXTS)
def test_frame_stripping_equals_its_pattern(text: str) -> None:
    text = re.sub(r"<bbx>\s*\[[\d,\s]+\]\s*</bbx>\s*", "", text)
    text = re.sub(r"\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]", "", text)
    plain = re.sub(r"\s+on Frames?\s+\d[\d,\s\-]*:?", " ", text)
    plain = re.sub(r"Frame\s+\d+:\s*", "", plain)
    plain = re.sub(r",(?:\s*,)+", ",", re.sub(r"\s{2,}", " ", plain))
    assert strip_localization_text(text) == re.sub(r"[,\s]+\.", ".", plain).strip().rstrip(".,").strip()


FRAME = r"(?:[Ff]rame\s+(\d+)(?:\s*[:,])?\s*)?"


@given(PIECES)
@settings(max_examples=300)
def test_tag_scan_equals_its_pattern(text: str) -> None:
    frame, wanted = None, []
    for match in re.finditer(FRAME + r"<bbo?x>\s*\[([^\]]*)\]\s*</bbo?x>", text):
        frame = frame if match[1] is None else int(match[1])
        try:
            values = [float(part) for part in match[2].split(",")]
        except ValueError:
            continue
        if len(values) == 4:
            wanted.append((frame, values))
    if wanted:
        assert repr([(box["frame"], box["xywh"]) for box in boxes(text)]) == repr(wanted)


@given(PIECES.filter(lambda text: "<bb" not in text and "<|box" not in text))
@settings(max_examples=300)
def test_bbox_2d_scan_equals_its_pattern(text: str) -> None:
    four = r"\[\s*" + r"\s*,\s*".join([r"(\d+(?:\.\d+)?)"] * 4) + r"\s*\]"
    frame, wanted = None, []
    for match in re.finditer(FRAME + r'\{[^}]*"bbox_2d"\s*:\s*' + four + r"[^}]*\}", text):
        frame = frame if match[1] is None else int(match[1])
        x1, y1, x2, y2 = map(float, match.groups()[1:])
        wanted.append({"frame": frame, "xywh": [x1, y1, x2 - x1, y2 - y1]})
    if wanted:
        assert boxes(text) == wanted


@pytest.mark.parametrize(
    "unit", ["{", "[", "<bbx>[", "<think>", "no ", ", ", " ", '{"x"', '{"bbox_2d": [1,2,3,4]', "\0"]
)
def test_long_input_is_read_in_linear_time(unit: str) -> None:
    text = unit * (400_000 // len(unit)) + "x"
    started = time.process_time()
    for read in (strip_thinking, yes_no, choice_letters, number, boxes, strip_localization_text):
        read(text)
    # Quadratic patterns need minutes here; the limit is loose because machines are shared.
    assert time.process_time() - started < 5


@given(st.integers(0, 400), st.integers(0, 400), st.integers(1, 400), st.integers(1, 400), st.integers(0, 30))
def test_tagged_boxes_round_trip(x: int, y: int, width: int, height: int, frame: int) -> None:
    text = f"Frame {frame}: <bbx>[{x},{y},{width},{height}]</bbx>"
    assert boxes(text, 256, 256) == [{"frame": frame, "xywh": [x, y, width, height]}]
    assert strip_localization_text(f"Left side, {text}") == "Left side"
    assert json.loads(json.dumps(boxes(text))) == boxes(text)
