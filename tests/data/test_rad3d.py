"""3D-RAD: the released columns, both samplers, shuffled options, and what is refused."""

from __future__ import annotations

import csv
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from slicewise import artifacts
from slicewise.benchmarks.ct import ct_benchmark
from slicewise.data import rad3d
from slicewise.errors import UserError
from slicewise.infer.baselines.ct import CtBlindRule
from slicewise.infer.items import item
from slicewise.params import BaselineModel, Rad3dSettings

HEAD = [
    "Task", "Subtask", "VolumeName", "Question", "Answer", "QuestionType", "AnswerChoice", "Choice A", "Choice B",
    "Choice C", "Choice D",
]  # fmt: skip
PAST = ("Always present", "Appeared before, gone now", "New", "Never present")


def _write(path: Path, rows: list[list[str]]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", encoding="utf-8", newline="") as handle:
        csv.writer(handle).writerows([HEAD, *rows])


def _yes_no(n: int, answer: str, finding: str = "Emphysema") -> list[str]:
    letter = "A" if answer == "Yes" else "B"
    return ["Task4", finding, f"valid_{n}_a_1.nii.gz", f"Is there {finding}?", answer, "Close", letter,
            "Yes", "No", "-", "-"]  # fmt: skip


def _history(n: int, letter: str, values: str) -> list[str]:
    question, answer = f"History {values}. Which is it?", PAST["ABCD".index(letter)]
    return ["Task6", "", f"valid_{n}_b_2.nii.gz", question, answer, "Close", letter, *PAST]


@pytest.fixture
def released(tmp_path: Path) -> Path:
    """A small copy of the released layout: 90 % No in task 4, all letters in task 6, two open tasks."""
    root = tmp_path / "rad3d"
    rows = [_yes_no(n, "Yes" if n % 10 == 0 else "No", ("Emphysema", "Nodule")[n % 2]) for n in range(200)]
    _write(root / "task4_existence/test.csv", rows)
    _write(root / "task6_longitudinal/test.csv", [_history(n, "ABCD"[n % 4], f"[{n % 2}, 0]") for n in range(40)])
    _write(
        root / "task3_computation/test.csv",
        [["Task3", "size", f"valid_{n}_a_1", f"How large is it ({n})?", f"{n}x10 mm", "Open", "-", "-", "-", "-", "-"]
         for n in range(1, 31)],
    )  # fmt: skip
    _write(root / "task4_existence/train.csv", [_yes_no(999, "Yes")])
    return root


def _rows(root: Path, sampling: str = "released", **settings: Any) -> list[dict[str, Any]]:
    return rad3d.build(Rad3dSettings(path=root, **settings), ct_benchmark(f"rad3d-{sampling}"))


def test_only_the_split_that_was_asked_for(released: Path) -> None:
    names = [path.relative_to(released).as_posix() for path in rad3d.files(released)]
    assert names == ["task3_computation/test.csv", "task4_existence/test.csv", "task6_longitudinal/test.csv"]
    assert len(rad3d.files(released, "train")) == 1


def test_the_released_sampler_keeps_the_shares(released: Path) -> None:
    rows = [row for row in _rows(released, per_task=100) if row["task"] == "t4"]
    assert Counter(row["answer"][4:] for row in rows) == {"No": 90, "Yes": 10}
    assert Counter(row["labels"][0] for row in rows) == {"Emphysema": 50, "Nodule": 50}


def test_the_balanced_sampler_takes_equally_many_answers(released: Path) -> None:
    rows = [row for row in _rows(released, "balanced", per_task=40) if row["task"] == "t4"]
    assert Counter(row["answer"][4:] for row in rows) == {"No": 20, "Yes": 20}
    more = [row for row in _rows(released, "balanced", per_task=60) if row["task"] == "t4"]
    assert Counter(row["answer"][4:] for row in more) == {"No": 40, "Yes": 20}  # only 20 there are


def test_samples_are_seeded(released: Path) -> None:
    assert _rows(released, per_task=20) == _rows(released, per_task=20)
    assert _rows(released, per_task=20) != _rows(released, per_task=20, seed=1)


def test_options_are_shuffled_and_the_letter_follows(released: Path) -> None:
    rows = [row for row in _rows(released, per_task=40) if row["task"] == "t6"]
    orders = set()
    for row in rows:
        (flag,) = row["flags"]
        order = flag.removeprefix(rad3d.ORDER_FLAG)
        orders.add(order)
        assert [PAST["ABCD".index(letter)] for letter in order] == list(row["options"].values())
        letter, text = row["answer"][1], row["answer"][4:]
        assert row["options"][letter] == text
    assert len(orders) > 10


def test_open_questions_have_no_choices(released: Path) -> None:
    row = next(row for row in _rows(released, per_task=10) if row["task"] == "t3")
    assert (row["options"], row["question_type"]) == (None, "open_ended")  # "-" is no choice
    artifacts.to_table(_rows(released, per_task=10), artifacts.SAMPLES)


def test_blind_rules_read_the_printed_history(released: Path) -> None:
    table = artifacts.to_table(_rows(released, per_task=40), artifacts.SAMPLES).to_pylist(maps_as_pydicts="strict")
    items = [item(row) for row in table]
    rule = CtBlindRule(BaselineModel(name="b", backend="baseline", baseline="blind-rules"), items)
    for asked in items:
        said = rule.text(asked)
        if asked.task == "t4":
            assert said.endswith("No")
        elif asked.task == "t6":
            assert said.endswith("Appeared before, gone now" if "[1, 0]" in asked.question else "Never present")
        else:
            assert said == ""


def test_a_missing_column_is_named(tmp_path: Path) -> None:
    path = tmp_path / "task1/test.csv"
    path.parent.mkdir()
    path.write_text("Task,Question\nTask1,What?\n")
    with pytest.raises(UserError, match=r"has no column .*VolumeName"):
        _rows(tmp_path)


def test_a_letter_without_its_choice_is_refused(tmp_path: Path) -> None:
    _write(tmp_path / "task4/test.csv", [[*_yes_no(1, "No")[:6], "C", "Yes", "No", "-", "-"]])
    with pytest.raises(UserError, match="AnswerChoice is 'C'"):
        _rows(tmp_path)


def test_a_row_of_another_task_is_refused(tmp_path: Path) -> None:
    _write(tmp_path / "task5/test.csv", [_yes_no(1, "No")])
    with pytest.raises(UserError, match="column Task says 'Task4', but its folder is task 5"):
        _rows(tmp_path)


def test_no_files_say_what_to_do(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="slicewise data fetch rad3d"):
        _rows(tmp_path)
