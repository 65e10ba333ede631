"""Pruning: what the settings do not make goes, everything else stays."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from slicewise import params
from slicewise.errors import UserError
from slicewise.params import Params
from slicewise.pipeline import lock, prune, records, targets

ORPHANS = [
    "results/infer/sgmri-demo-image/dropped-model/answers.parquet",
    "results/parse/sgmri-demo-image/oracle/.parsed.parquet.123.tmp",
    "results/report/figures/old.pdf",
    "data/demo/.123.tmp/frames/volume/0001.png",
]
KEPT = [
    "data/store/shards/ab.jsonl",
    "data/demo/frames/volume/0001.png",
    "results/.gitignore",
    "results/infer/.gitignore",
]


@pytest.fixture
def settings(finished: Any) -> Params:
    return params.load(finished.root / "params.yaml")


@pytest.fixture
def root(finished_copy: Any) -> Path:
    for name in (*ORPHANS, *KEPT):
        path = finished_copy.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    found: Path = finished_copy.root
    return found


def files(root: Path) -> set[str]:
    return {
        p.relative_to(root).as_posix()
        for folder in ("results", "data")
        for p in (root / folder).rglob("*")
        if p.is_file()
    }


def test_prune_removes_exactly_what_the_settings_do_not_make(root: Path, settings: Params) -> None:
    before = files(root)
    removed = prune.prune(settings, root)
    assert [path.as_posix() for path in removed] == sorted(ORPHANS)
    assert before - files(root) == set(ORPHANS)
    assert not (root / "results/infer/sgmri-demo-image/dropped-model").exists()
    assert prune.prune(settings, root) == []


def test_prune_forgets_the_records_of_what_it_removes(root: Path, settings: Params) -> None:
    suites = {**settings.suites, "demo": settings.active.model_copy(update={"models": ["oracle", "blank"]})}
    smaller = settings.model_copy(update={"suites": suites})
    prune.prune(smaller, root)
    wanted = set(targets.strings(targets.everything(smaller)))
    assert records.traced(root) == wanted
    assert all((root / path).is_file() for path in wanted)


def test_a_dry_run_removes_nothing(root: Path, settings: Params) -> None:
    before = files(root)
    assert len(prune.prune(settings, root, dry_run=True)) == len(ORPHANS)
    assert files(root) == before


def test_stages_are_pruned_alone(root: Path, settings: Params) -> None:
    assert prune.prune(settings, root, stages=["infer"]) == [Path(ORPHANS[0])]


def test_another_suite_leaves_no_phantoms_and_the_store_stays(root: Path, settings: Params) -> None:
    other = settings.model_copy(update={"suite": "open"})
    prune.prune(other, root)
    left = {
        name for name in files(root) if not name.startswith("results/report/") and name != "results/provenance.json"
    }
    assert left == {"data/store/shards/ab.jsonl", "results/.gitignore", "results/infer/.gitignore"}
    assert (root / "data/demo").is_dir()  # tracked, so it must exist
    assert not [path for path in records.traced(root) if not path.startswith("results/report/")]


def test_prune_waits_for_no_run(root: Path, settings: Params) -> None:
    lock.enter(root)
    try:
        with pytest.raises(UserError, match="a run is going on"):
            prune.prune(settings, root)
    finally:
        lock.leave()
        lock._held.pop().close()
