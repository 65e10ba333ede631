"""The chain of one item, from the question to the cell."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
from slicewise import artifacts, layout
from slicewise.cli import explain_item
from slicewise.errors import UserError
from slicewise.jobs import ReportJob

BENCHMARK = "sgmri-demo-volume"


@pytest.fixture(scope="module")
def root(reported: tuple[ReportJob, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reported run with the oracle's answers."""
    folder = tmp_path_factory.mktemp("explain")
    shutil.copytree(reported[1] / "results", folder / "results")
    empty: dict[str, Any] = {**dict.fromkeys(artifacts.ANSWERS.names), "benchmark": BENCHMARK, "model": "oracle"}
    samples = artifacts.read_rows(folder / layout.samples(BENCHMARK))
    rows = [
        {**empty, "sample_id": s["sample_id"], "text": f"It is {s['answer']}", "outcome": "ok", "frames": []}
        for s in samples
    ]
    artifacts.write_rows(folder / layout.answers(BENCHMARK, "oracle"), rows, artifacts.ANSWERS)
    return folder


def test_the_chain_goes_from_the_question_to_the_cell(root: Path) -> None:
    text = explain_item.chain(root, "knee-volume-v00-localization")
    steps = (
        f"{BENCHMARK} / knee-volume-v00-localization", "task: localization", "question: ?", "gold box: ", "\noracle\n",
        "wrote:", "text: It is 1", "read:", "scored, reasoning:", "cell: Localization AR", "scored, grounding:",
        "cell: Localization V of sgmri-demo-volume = 100.00, interval 100.00 to 100.00, n 10",
    )  # fmt: skip
    places = [text.find(step) for step in steps]
    assert -1 not in places
    assert places == sorted(places)


def test_without_a_report_the_column_is_named(root: Path, tmp_path: Path) -> None:
    shutil.copytree(root / "results", tmp_path / "results")
    shutil.rmtree(tmp_path / "results/report")
    text = explain_item.chain(tmp_path, "knee-volume-v00-counting")
    assert "cell: Counting A of sgmri-demo-volume\n" in text


def test_an_unknown_item_is_refused_with_the_nearest(root: Path) -> None:
    with pytest.raises(UserError, match=r"has the item 'knee-volume-v00-localisation'.*knee-volume-v00-localization"):
        explain_item.chain(root, "knee-volume-v00-localisation")
