"""Replies behind numbers: in a shard, sound, and the text that was used."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from slicewise import artifacts, layout
from slicewise.jobs import ReportJob, ReportModel
from slicewise.llm.request import Reply, key_of
from slicewise.llm.store import Store
from slicewise.params import ReportSettings
from slicewise.pipeline import prove_store

CANONICAL = '{"n":%d}'
ANSWERS = layout.answers("sgmri-demo-image", "vlm")


def job(backend: str = "openai") -> ReportJob:
    return ReportJob(
        suite="demo",
        benchmarks=["sgmri-demo-image"],
        models=[ReportModel(name="vlm", title="vlm", backend=backend)],
        protocol="card",
        judge="proxy",
        judge_is_proxy=True,
        bertscore_encoder="minilm",
        bertscore_rescale=False,
        report=ReportSettings(),
    )


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Three answers whose replies are in one shard."""
    keys = [key_of(CANONICAL % n) for n in range(3)]
    with Store(tmp_path / layout.STORE) as store:
        for n, key in enumerate(keys):
            store.put_call(key, CANONICAL % n, Reply(f"text {n}"), seconds=0.1, attempts=1)
        store.share()
    empty: dict[str, Any] = {
        **dict.fromkeys(artifacts.ANSWERS.names),
        "benchmark": "sgmri-demo-image",
        "model": "vlm",
        "frames": [],
    }
    rows = [
        {**empty, "sample_id": f"s{n}", "outcome": "ok", "text": f"text {n}", "request_key": key}
        for n, key in enumerate(keys)
    ]
    artifacts.write_rows(tmp_path / ANSWERS, rows, artifacts.ANSWERS)
    return tmp_path


def states(root: Path, backend: str = "openai") -> dict[str, tuple[str, str]]:
    return {subject: (state, detail) for subject, state, detail in prove_store.faults(job(backend), root)}


def test_sound_replies_hold(root: Path) -> None:
    found = states(root)
    assert {state for state, _ in found.values()} == {"holds"}
    assert found[ANSWERS.as_posix()][1] == "3 replies in the store"
    assert len(prove_store.keys(root, "sgmri-demo-image", job().models[0], ["answer"])) == 3
    assert prove_store.keys(root, "sgmri-demo-image", job("baseline").models[0], ["answer"]) == []


def test_one_byte_of_a_shard_is_named(root: Path) -> None:
    (shard,) = (root / layout.STORE / "shards").glob("*.jsonl")
    shard.write_bytes(shard.read_bytes().replace(b"text 1", b"text 7"))
    found = states(root)
    state, detail = found[(layout.STORE / "shards" / shard.name).as_posix()]
    assert state == "broken"
    assert "digest" in detail or "name" in detail
    assert found[ANSWERS.as_posix()][0] == "broken"  # that reply can no longer be used


def test_an_answer_that_is_not_the_stored_reply_is_named(root: Path) -> None:
    rows = artifacts.read_rows(root / ANSWERS)
    rows[1]["text"] = "better"
    artifacts.write_rows(root / ANSWERS, rows, artifacts.ANSWERS)
    state, detail = states(root)[ANSWERS.as_posix()]
    assert (state, "of s1 reads otherwise in the store" in detail) == ("broken", True)


def test_a_reply_in_no_shard_is_named(root: Path) -> None:
    for shard in (root / layout.STORE / "shards").glob("*.jsonl"):
        shard.unlink()
    state, detail = states(root)[ANSWERS.as_posix()]
    assert state == "broken"
    assert "is in no shard; run `slicewise store share`" in detail
    assert states(root, "file") == {}  # answers made elsewhere need no store
