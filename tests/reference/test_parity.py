"""Every recorded line of the released functions, and the replay itself."""

import json
from collections import Counter
from pathlib import Path

import pytest
from slicewise.reference import ReferenceInputError, parity

CASES = Path(__file__).parents[1] / "cases" / "reference_parity.jsonl"
LINES = list(parity.read_lines(CASES))


def test_oracle_is_whole() -> None:
    counts = Counter(line["function"] for line in LINES)
    assert counts == dict.fromkeys(parity.FUNCTIONS, 300)


@pytest.mark.parametrize("function", parity.FUNCTIONS)
def test_recorded_outputs(function: str) -> None:
    lines = [line for line in LINES if line["function"] == function]
    assert [str(mismatch) for mismatch in parity.replay(lines)] == []


def test_run_file_counts() -> None:
    passed, failed, mismatches = parity.run_file(CASES)
    assert (passed, failed, mismatches) == (3300, 0, [])


def test_a_wrong_line_is_reported() -> None:
    line = {"id": "p-1", "function": "number", "input": {"text": "7"}, "output": 8}
    (mismatch,) = parity.replay([line])
    assert (mismatch.id, mismatch.expected, mismatch.got) == ("p-1", 8, 7)
    assert str(mismatch) == "p-1 number: expected 8, got 7"


def test_a_mismatch_with_a_lone_surrogate_can_be_printed() -> None:
    line = {"id": "p-2", "function": "strip_thinking", "input": {"text": "\ud800"}, "output": "é"}
    (mismatch,) = parity.replay([line])
    assert str(mismatch).encode("utf-8").decode("utf-8").endswith('expected "é", got "\\ud800"')


@pytest.mark.parametrize(
    ("expected", "got", "agrees"),
    [
        (0.1, 0.1 + 9e-13, True),
        (0.1, 0.1 + 2e-12, False),
        (float("nan"), float("nan"), True),
        (float("nan"), 0.0, False),
        (0, 0.0, True),
        (True, 1, False),
        (None, 0, False),
        ([1, [None]], [1, [None]], True),
        ([1], [1, 2], False),
        ({"a": 1}, {"a": 1, "b": 1}, False),
        ({"raises": "TypeError"}, {"raises": "TypeError: text"}, True),
        ({"raises": "TypeError"}, {"raises": "ValueError: text"}, False),
        ({"raises": "TypeError"}, None, False),
    ],
)
def test_agree(expected: object, got: object, agrees: bool) -> None:
    assert parity.agree(expected, got) is agrees


def test_recorded_exceptions() -> None:
    lines = [
        {"id": "r-1", "function": "strip_thinking", "input": {"text": None}, "output": {"raises": "TypeError"}},
        {
            "id": "r-2",
            "function": "a_score",
            "input": {"prediction": "6", "gold": 6, "qa_type": "closed_ended"},
            "output": {"raises": "AttributeError: 'int' object has no attribute 'strip'"},
        },
    ]
    assert parity.replay(lines) == []


@pytest.mark.parametrize(
    ("line", "found"),
    [
        ("{", "is not valid JSON"),
        ("[]", "is list"),
        ('{"id": "x", "function": "number", "input": {"text": "1"}}', "lacks output"),
        ('{"id": "x", "function": "count", "input": {}, "output": 1}', "function is 'count'"),
        ('{"id": "x", "function": "number", "input": {"txt": "1"}, "output": 1}', "input does not fit number(text)"),
        ('{"id": "x", "function": "number", "input": [1], "output": 1}', "input does not fit number(text)"),
    ],
)
def test_malformed_line_is_named(tmp_path: Path, line: str, found: str) -> None:
    path = tmp_path / "lines.jsonl"
    good = {"id": "g", "function": "number", "input": {"text": "1"}, "output": 1}
    path.write_text(json.dumps(good) + "\n\n" + line + "\n", encoding="utf-8")
    with pytest.raises(ReferenceInputError) as caught:
        parity.run_file(path)
    assert "lines.jsonl line 3: " in str(caught.value)
    assert found in str(caught.value)


def test_unreadable_file(tmp_path: Path) -> None:
    with pytest.raises(ReferenceInputError, match="cannot be read"):
        parity.run_file(tmp_path / "none.jsonl")
    (tmp_path / "latin.jsonl").write_bytes(b"\xff\n")
    with pytest.raises(ReferenceInputError, match="is not UTF-8"):
        parity.run_file(tmp_path / "latin.jsonl")
