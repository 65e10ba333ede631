"""``slicewise commit`` refuses what is not finished or not made by params.yaml, each time in one sentence."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from slicewise import layout, params
from slicewise.errors import UserError
from slicewise.llm.request import Message, Reply, Request
from slicewise.llm.store import Store
from slicewise.pipeline import guard, lock, ran, records

PARSED = "results/parse/sgmri-demo-image/blob/parsed.parquet"


def test_a_finished_run_of_the_settings_passes(finished: Any) -> None:
    assert guard.check(finished.root).suite == "demo"


def test_settings_that_make_the_same_results_pass(finished_copy: Any) -> None:
    """The note of the last run explains a refusal; it is no reason for one, since a later run may have undone it."""
    settings = params.load(finished_copy.root / "params.yaml")
    ran.record(settings.model_copy(update={"suite": "open"}), finished_copy.root)
    guard.check(finished_copy.root)


def other_settings_ran(project: Any) -> None:
    """As ``snakemake --config suite=open`` leaves it: a report of other settings, and a note of what ran."""
    settings = params.load(project.root / "params.yaml")
    ran.record(settings.model_copy(update={"suite": "open"}), project.root)
    (project.root / "results/report/metrics.json").unlink()


def settings_edited_after_the_run(project: Any) -> None:
    ran.record(params.load(project.root / "params.yaml"), project.root)
    project.change(score__v__gold="named")


def settings_edited_after_a_pull(project: Any) -> None:
    (project.root / ran.FILE).unlink()
    project.change(score__v__gold="named")


def result_edited_by_hand(project: Any) -> None:
    (project.root / PARSED).write_text("other")


def run_cut_off(project: Any) -> None:
    name = next(record.name for path, record in records.files(project.root / records.METADATA) if path == PARSED)
    (project.root / records.INCOMPLETE / name).write_text("{}")


def result_missing(project: Any) -> None:
    (project.root / PARSED).unlink()


def records_missing(project: Any) -> None:
    shutil.rmtree(project.root / records.METADATA)


@pytest.mark.parametrize(
    ("spoil", "said"),
    [
        (other_settings_ran, r'not one of params\.yaml: suite ran as "open", params\.yaml says "demo"; put'),
        (settings_edited_after_the_run, r'score\.v\.gold ran as "all", params\.yaml says "named"'),
        (settings_edited_after_a_pull, r"out of date: rule \w+ would run \(.*; run `snakemake --cores all` first"),
        (result_edited_by_hand, r"out of date: rule \w+ would run \(Updated input files: .*parsed\.parquet"),
        (run_cut_off, rf"1 file\(s\) such as '{PARSED}' are incomplete"),
        (result_missing, rf"1 file\(s\) such as '{PARSED}' do not exist"),
        (records_missing, r"nothing in \.snakemake/metadata records how \d+ result\(s\) .* run `dvc pull`"),
    ],
)
def test_refusals(finished_copy: Any, spoil: Callable[[Any], None], said: str) -> None:
    spoil(finished_copy)
    with pytest.raises(UserError, match=f"^commit refused: .*{said}"):
        guard.check(finished_copy.root)


def test_refused_while_a_run_is_going_on(finished_copy: Any) -> None:
    lock.enter(finished_copy.root)
    try:
        with pytest.raises(UserError, match=r"^commit refused: a run is going on"):
            guard.check(finished_copy.root)
    finally:
        lock.leave()
        lock._held.pop().close()


def test_the_command_ends_with_status_2_and_one_sentence(finished_copy: Any) -> None:
    other_settings_ran(finished_copy)
    done = finished_copy.run("slicewise", "commit", check=False)
    assert done.returncode == 2
    assert len(done.stderr.strip().splitlines()) == 1
    assert not (Path(finished_copy.root) / "dvc.lock").exists()


def test_bought_replies_reach_the_layer_that_dvc_tracks(tmp_path: Path) -> None:
    guard.share_replies(tmp_path)
    assert not list(tmp_path.iterdir())  # no store, nothing to share
    request = Request({"provider": "test", "model": "m"}, (Message("user", ("Any finding?",)),), {})
    with Store(tmp_path / layout.STORE) as store:
        store.put(request, Reply("Yes, on frame 3."), seconds=0.1, attempts=1)
    guard.share_replies(tmp_path)
    (shard,) = (tmp_path / layout.STORE / "shards").glob("*.jsonl")
    assert "Yes, on frame 3." in shard.read_text()
