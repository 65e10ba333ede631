"""Files that a newcomer gets wrong: one sentence, no traceback, nothing written."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner
from slicewise import params
from slicewise.artifacts import write_text
from slicewise.cli import cli
from slicewise.data.images import FrameStore
from slicewise.errors import UserError


def test_settings_that_are_a_folder(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"cannot be read \(Is a directory\); expected a file of settings"):
        params.read(tmp_path)


def test_settings_that_are_no_text(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_bytes(b"seed: \x80\n")
    with pytest.raises(UserError, match=r"params\.yaml: is not UTF-8 text at byte 6"):
        params.read(tmp_path / "params.yaml")


def test_a_folder_in_the_place_of_a_result(tmp_path: Path) -> None:
    (tmp_path / "out.json").mkdir()
    with pytest.raises(UserError, match=r"out\.json: cannot be written \(Is a directory\)"):
        write_text(tmp_path / "out.json", "{}")
    assert [path.name for path in tmp_path.iterdir()] == ["out.json"]


@pytest.mark.parametrize("words", [["parity"], ["parse", "--check"], ["parse", "--out", "out.jsonl", "--cases"]])
@pytest.mark.parametrize("content", ["", "\n \n"])
def test_an_empty_file_passes_nothing(tmp_path: Path, words: list[str], content: str) -> None:
    file = tmp_path / "empty.jsonl"
    file.write_text(content)
    shown = CliRunner().invoke(cli, [*words, str(file)])
    assert isinstance(shown.exception, UserError)
    assert str(shown.exception).startswith(f"{file}: holds no ")
    assert shown.output == ""


@pytest.mark.parametrize(("content", "found"), [("3", "int"), ("[]", "list"), ("{}", "an object without it")])
def test_a_file_that_is_no_released_run(tmp_path: Path, content: str, found: str) -> None:
    file = tmp_path / "run.json"
    file.write_text(content)
    shown = CliRunner().invoke(cli, ["score", str(file), "--protocol", "reference", "--out", str(tmp_path / "out")])
    assert f"{file}: found {found}, expected an object with a list 'results'" in str(shown.exception)


@pytest.mark.parametrize("block", ["seed: 1\nseed: 2\n", "a:\n  b: 1\n  c: 2\n  b: 3\n", "- {b: 1, b: 1}\n"])
def test_a_setting_written_twice(tmp_path: Path, block: str) -> None:
    (tmp_path / "params.yaml").write_text(block)
    with pytest.raises(UserError, match=r"is not valid YAML: '(seed|b)' stands in lines \d and \d; remove"):
        params.read(tmp_path / "params.yaml")


def test_a_merged_setting_may_be_replaced(tmp_path: Path) -> None:
    (tmp_path / "params.yaml").write_text("a: &a {x: 1, y: 2}\nb: {<<: *a, x: 3}\n")
    assert params.read(tmp_path / "params.yaml")["b"] == {"x": 3, "y": 2}


@pytest.mark.parametrize("words", [["stats"], ["verify"], ["export", "calls.parquet"]])
def test_a_store_that_is_not_there_is_not_made(tmp_path: Path, words: list[str]) -> None:
    shown = CliRunner().invoke(cli, ["store", "--root", str(tmp_path / "stroe"), *words])
    assert "stroe: no such folder" in str(shown.exception)
    assert not list(tmp_path.iterdir())


def test_an_unknown_benchmark_is_told_with_all_that_there_are() -> None:
    shown = CliRunner().invoke(cli, ["data", "build", "ctflowbench-dem"])
    assert "'rad3d-released'" in str(shown.exception)
    assert "Did you mean 'ctflowbench-demo'?" in str(shown.exception)


def test_a_frame_that_is_no_picture_is_told_without_internals(tmp_path: Path) -> None:
    images = FrameStore(tmp_path)
    (tmp_path / "x.png").write_bytes(b"no picture")
    assert images._frame(1, tmp_path / "x.png") is None
    assert images.faults == [f"{tmp_path / 'x.png'}: cannot be read as an image (of no known format)"]
