"""Snakemake's records, read back: their names are checked against Snakemake's own way of making them."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from slicewise.pipeline import records
from snakemake.persistence.file import FilePersistence

PATHS = ["results/data/b/samples.parquet", f"results/{'long-' * 60}name/{'x' * 200}.parquet"]


@pytest.fixture
def recorded(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    persistence = FilePersistence(path=tmp_path / ".snakemake")
    for path in PATHS:
        persistence._io_write(str(tmp_path / records.METADATA), {"rule": "x"}, path)
    persistence._io_write(str(tmp_path / records.INCOMPLETE), {}, "results/half.parquet")
    return tmp_path


def test_names_are_read_as_snakemake_writes_them(recorded: Path) -> None:
    assert records.traced(recorded) == set(PATHS)
    assert records.incomplete(recorded) == {"results/half.parquet"}


def test_removing_drops_records_and_marks(recorded: Path) -> None:
    records.remove([PATHS[1], "results/half.parquet"], recorded)
    assert records.traced(recorded) == {PATHS[0]}
    assert records.incomplete(recorded) == set()
    kept = [json.loads(path.read_text()) for _, path in records.files(recorded / records.METADATA)]
    assert kept == [{"rule": "x"}]


def test_untraced_are_finished_files_without_a_record(recorded: Path) -> None:
    wanted = ["results/half.parquet", "results/strange.parquet", "results/absent.parquet", PATHS[0]]
    for path in (wanted[0], wanted[1], PATHS[0]):
        (recorded / path).parent.mkdir(parents=True, exist_ok=True)
        (recorded / path).touch()
    assert records.untraced(wanted, recorded) == ["results/strange.parquet"]
