"""Every printed number follows from the item scores, and one that does not is named."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from slicewise import artifacts, layout
from slicewise.jobs import ReportJob
from slicewise.pipeline import prove_numbers
from slicewise.report import cells, collect
from slicewise.score import schemas

Tree = tuple[ReportJob, Path]


@pytest.fixture
def copy(reported: Tree, tmp_path: Path) -> Tree:
    job, root = reported
    shutil.copytree(root / "results", tmp_path / "results")
    return job, tmp_path


def test_every_number_of_a_run_holds(reported: Tree) -> None:
    job, root = reported
    checked = prove_numbers.check(job, root)
    assert checked.faults == []
    assert len(checked.numbers) == len(job.models) * sum(len(collect.columns(name)) for name in job.benchmarks)
    (one,) = (n for n in checked.numbers if (n["model"], n["column"], n["n"]) == ("oracle", "counting", 12))
    assert (one["printed"], one["value"], one["metric"]) == ("100.00", 1.0, "answer")


def test_a_score_that_moves_is_named(copy: Tree) -> None:
    job, root = copy
    path = root / layout.score("sgmri-demo-image", "oracle", "answer")
    rows = artifacts.read_rows(path)
    index = next(i for i, row in enumerate(rows) if "-detection" in row["sample_id"])
    rows[index]["value"] = 0.5
    artifacts.write_rows(path, rows, schemas.schema("answer"))
    subjects = {fault.subject for fault in prove_numbers.check(job, root).faults}
    where = layout.table("cells", "parquet").as_posix()
    assert subjects == {f"{where} sgmri-demo-image oracle {column}" for column in ("detection", "avg")}


def test_a_cell_and_a_printed_number_that_move_are_named(copy: Tree) -> None:
    job, root = copy
    path = root / layout.table("sgmri-demo-volume", "csv")
    text = path.read_text()
    line = next(line for line in text.splitlines() if line.startswith("ours,always-yes"))
    path.write_text(text.replace(line, line.replace("11.00,", "11.01,", 1)))
    (printed,) = prove_numbers.check(job, root).faults
    assert printed.subject == f"{layout.table('sgmri-demo-volume', 'csv').as_posix()} always-yes localization_ar"
    assert printed.detail == "prints 11.01, the cell is 11.00"
    path.write_text(text)
    kept = root / layout.table("cells", "parquet")
    rows = artifacts.read_rows(kept)
    artifacts.write_rows(kept, [row for row in rows if row["model"] != "absent"], cells.CELLS)
    assert {fault.detail for fault in prove_numbers.check(job, root).faults} == {"is missing"}


def test_a_file_that_is_gone_is_a_fault_and_no_crash(copy: Tree) -> None:
    job, root = copy
    path = layout.score("sgmri-demo-image", "oracle", "answer")
    (root / path).unlink()
    (fault,) = prove_numbers.check(job, root).faults
    assert path.as_posix() in fault.detail
