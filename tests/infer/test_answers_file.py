"""Answers made elsewhere: every shape, every fault."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, ClassVar

import pytest
from slicewise.errors import UserError
from slicewise.infer import answers_file, released
from slicewise.infer.items import Answer, Item, item
from slicewise.outcome import Outcome


def make(sample_id: str, **changes: Any) -> Item:
    row: dict[str, Any] = {
        "sample_id": sample_id,
        "benchmark": "b",
        "level": "image",
        "domain": "knee",
        "volume_id": "file1",
        "modality": None,
        "task": "detection",
        "question_type": "closed_ended",
        "question": "Is there an abnormality?",
        "options": None,
        "answer": "Yes",
        "reasoning": None,
        "labels": [],
        "boxes": [],
        "frames": [{"number": 7, "path": None, "width": 320, "height": 320, "sha256": None}],
        "n_frames": 1,
        "flags": [],
    }
    return item({**row, **changes})


ITEMS = [make("a"), make("b"), make("c")]


def answers(path: Path, items: list[Item] = ITEMS) -> dict[str, Answer]:
    return {a.sample_id: a for a in answers_file.FileBackend(path).answer_all(items)}


def written(folder: Path, name: str, content: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8", "surrogatepass"))
    return path


class TestTexts:
    @pytest.mark.parametrize(
        ("name", "content"),
        [
            ("x.csv", 'id,text\na,"Yes, it is"\nb,No\n'),
            ("x.csv", '\ufeffsample_id,model_output\r\na,"Yes, it is"\r\nb,No\r\n'),
            ("x.csv", 'text,note,id\n"Yes, it is",1,a\nNo,2,b\n'),
            ("x.jsonl", '{"id": "a", "text": "Yes, it is"}\n\n{"id": "b", "text": "No"}'),
            ("x.ndjson", '{"question_id": "a", "response": "Yes, it is"}\n{"question_id": "b", "response": "No"}\n'),
            ("x.json", '[{"id": "a", "text": "Yes, it is"}, {"id": "b", "text": "No"}]'),
        ],
    )
    def test_shapes(self, tmp_path: Path, name: str, content: str) -> None:
        found = answers(written(tmp_path, name, content))
        assert found["a"].text == "Yes, it is"
        assert found["b"].text == "No"
        assert (found["c"].text, found["c"].outcome) == (None, Outcome.NOT_RUN)

    @pytest.mark.parametrize("text", ["NA", "None", "nan", "null", "N/A", "", " ", "1", "007", "1e5", "True"])
    def test_csv_cells_stay_texts(self, tmp_path: Path, text: str) -> None:
        assert answers(written(tmp_path, "x.csv", f'id,text\na,"{text}"\n'))["a"].text == text

    def test_line_separators_do_not_end_a_json_line(self, tmp_path: Path) -> None:
        line = json.dumps({"id": "a", "text": "one\u2028two\x85three\nfour"}, ensure_ascii=False)
        assert answers(written(tmp_path, "x.jsonl", line))["a"].text == "one\u2028two\x85three\nfour"

    def test_a_megabyte_in_one_cell(self, tmp_path: Path) -> None:
        text = "x" * 1_000_000
        assert answers(written(tmp_path, "x.csv", f"id,text\na,{text}\n"))["a"].text == text

    def test_nul_and_lone_surrogates_are_replaced(self, tmp_path: Path) -> None:
        found = answers(written(tmp_path, "x.jsonl", '{"id": "a", "text": "n\\u0000o \\ud83d \\ud83d\\ude00"}'))
        assert found["a"].text == "n\N{REPLACEMENT CHARACTER}o \N{REPLACEMENT CHARACTER} \N{GRINNING FACE}"

    def test_null_text_is_not_run_and_empty_text_is_an_answer(self, tmp_path: Path) -> None:
        found = answers(written(tmp_path, "x.jsonl", '{"id": "a", "text": null}\n{"id": "b", "text": ""}'))
        assert found["a"].outcome is Outcome.NOT_RUN
        assert (found["b"].text, found["b"].outcome) == ("", Outcome.OK)

    @pytest.mark.parametrize(
        "row",
        [
            {"text": None, "error": "429"},
            {"text": "[ERROR: 429]"},
            {"text": "half", "error": "429"},
            {"text": " [ERROR] x"},
        ],
    )
    def test_errors_are_failures_of_the_machinery(self, tmp_path: Path, row: dict[str, Any]) -> None:
        found = answers(written(tmp_path, "x.jsonl", json.dumps({"id": "a", **row})))["a"]
        assert (found.text, found.outcome) == (None, Outcome.API_ERROR)
        assert found.error

    def test_an_answer_that_only_mentions_an_error_is_an_answer(self, tmp_path: Path) -> None:
        text = "The [ERROR: ...] overlay is an artifact. No."
        assert answers(written(tmp_path, "x.jsonl", json.dumps({"id": "a", "text": text})))["a"].text == text

    def test_key_changes_with_the_reply_and_the_item_only(self, tmp_path: Path) -> None:
        first = answers(written(tmp_path, "x.csv", "id,text\na,Yes\nb,No\n"))
        second = answers(written(tmp_path, "y.csv", "id,text\nb,Yes\na,Yes\n"))
        assert first["a"].request_key == second["a"].request_key
        assert first["b"].request_key != second["b"].request_key
        assert len({a.request_key for a in first.values()}) == 3


class TestFaults:
    @pytest.mark.parametrize(
        ("name", "content", "message"),
        [
            ("x.csv", "id,text\nz,Yes\na,No\n", r"1 id\(s\) are not in the benchmark.*\n.*line 2: 'z'"),
            ("x.csv", "id,text\na,Yes\na,No\n", r"answered more than once.*\n.*'a' is answered 2 times"),
            ("x.csv", "id,answer_text\na,Yes\n", r"no column of texts; found \['answer_text', 'id'\]"),
            ("x.csv", "key,text\na,Yes\n", "no column of ids"),
            ("x.csv", "id,text,output\na,Yes,No\n", "several columns of texts"),
            ("x.csv", "id,text\na,Yes, it is\n", "line 2 has more cells"),
            ("x.csv", "id,text,note\na,Yes\n", "line 2 has fewer cells"),
            ("x.csv", 'id,text\na,"Yes\n', "not valid CSV"),
            ("x.csv", "", "holds no answers"),
            ("x.csv", b"id,text\na,\xff\n", "not UTF-8"),
            ("x.jsonl", '{"id": "a", "text": 6}', r"line 1: 'text' is int 6, expected a string"),
            ("x.jsonl", '{"id": 1, "text": "x"}', r"'id' is int 1"),
            ("x.jsonl", '{"id": "a", "text": ["x"]}', r"'text' is list"),
            ("x.jsonl", '{"id": "a"', "line 1: is not valid JSON"),
            ("x.jsonl", "[1]", "line 1: found list"),
            ("x.json", "3", "found int"),
            ("x.json", "[" * 100_000, "not valid JSON"),
            ("x.xlsx", "", "found suffix '.xlsx'"),
        ],
    )
    def test_one_clear_sentence(self, tmp_path: Path, name: str, content: str | bytes, message: str) -> None:
        with pytest.raises(UserError, match=message) as error:
            answers(written(tmp_path, name, content))
        assert str(tmp_path / name) in str(error.value)

    def test_missing_file(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="not found"):
            answers(tmp_path / "none.csv")

    def test_long_lists_are_cut(self, tmp_path: Path) -> None:
        rows = "".join(f"z{i},Yes\n" for i in range(500))
        with pytest.raises(UserError, match=r"(?s)500 id.*and 490 more") as error:
            answers(written(tmp_path, "x.csv", "id,text\n" + rows))
        assert len(str(error.value).splitlines()) < 15


# The released inference file: ids of its own, no slice field (dataset, level, volume_id, task, question are there).
def result(sample_id: str, **changes: Any) -> dict[str, Any]:
    base = {
        "sample_id": sample_id,
        "dataset": "knee",
        "level": "image_level",
        "volume_id": "file1",
        "task": "detection",
        "question": "Is there an abnormality?",
        "gt_answer": "Yes",
        "model_output": f"output of {sample_id}",
    }
    return {**base, **changes}


def run_file(folder: Path, *results: dict[str, Any]) -> Path:
    return written(folder, "run.json", json.dumps({"model_key": "m", "results": list(results)}))


class TestReleased:
    slices: ClassVar = [
        make("s7"),
        make("s8", frames=[{"number": 8, "path": None, "width": 320, "height": 320, "sha256": None}]),
        make("vol", level="volume", question="Any tear?"),
    ]

    def test_matched_by_content_and_slice(self, tmp_path: Path) -> None:
        path = run_file(
            tmp_path,
            result("knee_image_qa_file1_8_detection_00001"),
            result("knee_image_qa_file1_s007_detection_0"),
            result("knee_video_qa_file1_detection_2", level="volume_level", question=" Any tear?"),
            result("knee_image_ground_file1_s007", question=f"{released.METADATA_QUESTION} of x"),
        )
        found = answers(path, self.slices)
        assert found["s8"].text == "output of knee_image_qa_file1_8_detection_00001"
        assert found["s7"].text == "output of knee_image_qa_file1_s007_detection_0"
        assert found["vol"].text == "output of knee_video_qa_file1_detection_2"

    def test_matched_by_our_id(self, tmp_path: Path) -> None:
        found = answers(run_file(tmp_path, result("s8", volume_id="other")), self.slices)
        assert found["s8"].text == "output of s8"

    def test_gold_answer_tells_twins_apart(self, tmp_path: Path) -> None:
        twins = [make("x"), make("y", answer="No")]
        found = answers(run_file(tmp_path, result("1", gt_answer="No"), result("2")), twins)
        assert (found["x"].text, found["y"].text) == ("output of 2", "output of 1")

    def test_error_results(self, tmp_path: Path) -> None:
        path = run_file(
            tmp_path, result("s7", model_output=None, error="quota"), result("s8", model_output="[ERROR: x]")
        )
        found = answers(path, self.slices)
        assert [found[i].outcome for i in ("s7", "s8", "vol")] == [
            Outcome.API_ERROR,
            Outcome.API_ERROR,
            Outcome.NOT_RUN,
        ]

    def test_what_fits_no_item_or_two_is_refused(self, tmp_path: Path) -> None:
        twins = [make("x"), make("y")]
        with pytest.raises(UserError, match=r"(?s)2 result.*'1' fits 2 item.*'2' fits no item"):
            answers(run_file(tmp_path, result("1"), result("2", question="?")), twins)

    def test_answered_twice_is_refused(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="answered more than once"):
            answers(run_file(tmp_path, result("s7"), result("file1_7_")), self.slices)
