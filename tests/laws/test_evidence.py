"""The evidence laws, on real runs: what differs is named and nothing else, and a broken link of a proof is named."""

from __future__ import annotations

import csv
import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from slicewise import layout

pytestmark = pytest.mark.laws
ROOT = Path(__file__).parents[2]
BENCHMARK = "sgmri-demo-volume"
MODELS = ["oracle", "boxer", "vlm"]
# A server whose every answer has a box, and whose verdicts and words are a function of the request.
SERVER = """
import asyncio, importlib.util, sys
spec = importlib.util.spec_from_file_location("fake_server", sys.argv[1])
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)

def reply(body):
    text = module.answer(body)
    return text if body.get("response_format") else f"Frame 2: <bbx>[60, 80, 40, 30]</bbx> {text}"

async def main():
    print(await module.serve(module.FakeServer(reply=reply), 0), flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    """A language model on loopback whose reply is a function of the request."""
    command = [sys.executable, "-c", SERVER, str(ROOT / "tests/llm/fake_server.py")]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    yield f"http://127.0.0.1:{server.stdout.readline().strip()}/v1"
    server.terminate()
    server.wait()


@pytest.fixture(scope="module")
def project(make_project: Callable[..., Any], laws: Any, url: str) -> Any:
    """Two versions of one project: the second differs in one prompt, one parser rule and one judge."""
    project = make_project(
        data__demo__brain_volumes=1,
        data__demo__knee_volumes=1,
        report__bootstrap_draws=100,
        report__example_pages=0,
        suites__demo__benchmarks=[BENCHMARK],
        suites__demo__models=MODELS,
        suites__demo__judge="first-judge",
    )
    endpoint = {
        "provider": "vllm",
        "model": "test-model",
        "base_url": url,
        "api_key_env": None,
        "context_window": 32768,
    }
    raw = project.settings()
    judges = {
        name: {"kind": "llm", "endpoint": {**endpoint, "model": name}} for name in ("first-judge", "second-judge")
    }
    shared = {"backend": "openai", "view": "text_only", "prompt": "minimal", "endpoint": endpoint}
    models = [{"name": name, "bbox_convention": "abs_xywh_original", **shared} for name in ("vlm", "boxer")]
    project.change(models=[*raw["models"], *models], judges={**raw["judges"], **judges})
    for name in _tracked():
        (project.root / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / name, project.root / name)
    project.run("git", "init", "--quiet", "--initial-branch", "main")
    _version(project, laws, "first")
    shutil.copytree(project.root / "results", project.root.parent / "first/results")
    raw = project.settings()
    for model in raw["models"]:
        if model["name"] == "vlm":
            model["prompt"] = "icl"
        if model["name"] == "boxer":
            model["frame_base"] = 0
    project.change(models=raw["models"], suites__demo__judge="second-judge")
    _version(project, laws, "second")
    return project


def _tracked() -> list[str]:
    done = subprocess.run(
        ["git", "ls-files", "-z", "workflow", ".dvc", "data", "results"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return [name for name in done.stdout.split("\0") if name and (ROOT / name).is_file()]


def _version(project: Any, laws: Any, name: str) -> None:
    project.run("snakemake", "--cores", "2")
    project.run("slicewise", "commit")
    laws.commit(project, name)


# --- compare --------------------------------------------------------------------------------------------------------


def _scores(project: Any, metric: str) -> pd.DataFrame:
    """Both versions' values of a metric, by hand: one row per model and item."""
    sides = []
    for root in (project.root.parent / "first", project.root):
        rows = [pd.read_parquet(root / layout.score(BENCHMARK, model, metric)) for model in MODELS]
        sides.append(pd.concat(rows)[["model", "sample_id", "value", "outcome"]])
    return sides[0].merge(sides[1], on=["model", "sample_id"], suffixes=("_a", "_b"))


def _differ(frame: pd.DataFrame, name: str) -> pd.Series:
    a, b = frame[f"{name}_a"], frame[f"{name}_b"]
    return ~((a == b) | (a.isna() & b.isna()))


def _keys(frame: pd.DataFrame, model: str) -> set[tuple[str, str]]:
    return set(zip(frame[model], frame["sample_id"], strict=True))


def test_compare_names_what_differs_and_nothing_else(project: Any, tmp_path: Path) -> None:
    project.run("slicewise", "compare", "HEAD~1", "HEAD", "--out", str(tmp_path))
    settings = {
        row["setting"]: (row["concerns"], row["a"], row["b"])
        for row in csv.DictReader((tmp_path / "settings.csv").open())
    }
    assert settings == {
        "models.vlm.prompt": ("prompt", "minimal", "icl"),
        "models.boxer.frame_base": ("parser", "1", "0"),
        "judge.is": ("judge", "first-judge", "second-judge"),
        "judge.endpoint.model": ("judge", "first-judge", "second-judge"),
    }
    changes = pd.read_parquet(tmp_path / "changes.parquet")
    for metric, title in (("answer", "A"), ("grounding", "V"), ("reasoning", "AR")):
        pairs = _scores(project, metric)
        moved = pairs[_differ(pairs, "value") | _differ(pairs, "outcome")]
        listed = changes[changes["changed"].str.split(", ").map(lambda links, title=title: title in links)]
        assert _keys(listed, "model_a") == _keys(moved, "model"), title
    prompted = changes[changes["changed"].str.startswith("answer")]
    assert set(prompted["because"]) == {"models.vlm.prompt"}
    assert set(prompted["model_a"]) == {"vlm"}
    parsed = changes[changes["changed"].str.startswith("reading")]
    assert set(parsed["because"]) == {"models.boxer.frame_base"}
    assert set(parsed["model_a"]) == {"boxer"}
    judged = changes[changes["changed"] == "AR"]
    assert set(judged["because"]) == {"judge.endpoint.model, judge.is"}
    assert len(judged)


def test_compare_gives_the_numbers_of_a_computation_by_hand(project: Any, tmp_path: Path) -> None:
    project.run("slicewise", "compare", "HEAD~1", "HEAD", "--out", str(tmp_path))
    found = pd.read_parquet(tmp_path / "scores.parquet").set_index(["model_a", "column"])
    items = pd.read_parquet(project.root / layout.samples(BENCHMARK), columns=["sample_id", "task"])
    lost = ["api_error", "judge_error", "missing_frames", "not_run", "no_reference"]
    columns = [("counting", "answer", "counting"), ("captioning", "reasoning", "captioning")]
    for column, metric, task in [*columns, ("localization_v", "grounding", "localization")]:
        pairs = _scores(project, metric).merge(items[items["task"] == task], on="sample_id")
        pairs = pairs[~pairs["outcome_a"].isin(lost) & ~pairs["outcome_b"].isin(lost)].fillna(
            {"value_a": 0.0, "value_b": 0.0}
        )
        for model in MODELS:
            mine = pairs[pairs["model"] == model]
            row = found.loc[(model, column)]
            assert row["n"] == len(mine)
            assert row["difference"] == pytest.approx((mine["value_b"] - mine["value_a"]).mean(), abs=2e-6)


def test_a_version_against_the_folder_it_is_the_version_of(project: Any) -> None:
    said = project.run("slicewise", "compare", "HEAD").stdout
    assert "## Items that changed: 0" in said
    assert "None." in said


# --- prove ----------------------------------------------------------------------------------------------------------


def test_the_demo_is_proved(project: Any, tmp_path: Path) -> None:
    project.run("slicewise", "prove", "tables", "--out", str(tmp_path / "proof.json"))
    proof = json.loads((tmp_path / "proof.json").read_text())
    assert {link["state"] for link in proof["links"]} == {"holds"}
    assert len(proof["numbers"]) == len(MODELS) * 7
    (one,) = (n for n in proof["numbers"] if (n["model"], n["column"]) == ("vlm", "captioning"))
    assert len(one["store_keys"]) > 10
    assert one["files"][0]["file"] == layout.score(BENCHMARK, "vlm", "reasoning").as_posix()


def test_a_clone_without_raw_data_is_proved(project: Any, laws: Any, tmp_path: Path) -> None:
    clone = laws.clone(project, tmp_path / "clone")
    for folder in ("results", ".snakemake/metadata", "data/store/shards"):
        shutil.copytree(project.root / folder, clone.root / folder, dirs_exist_ok=True)
    said = clone.run("slicewise", "prove", "tables").stdout
    assert "not here  lock: data/demo" in said
    assert " 0 are broken" in said


def _flip(path: Path, at: int) -> None:
    content = bytearray(path.read_bytes())
    content[at] ^= 1
    path.write_bytes(bytes(content))


@pytest.mark.parametrize("which", ["score", "shard", "params", "lock", "table", "record"])
def test_one_byte_breaks_the_proof_at_its_link(project: Any, which: str) -> None:
    (shard, *_) = sorted((project.root / layout.STORE / "shards").glob("*.jsonl"))
    record = max(
        (project.root / ".snakemake/metadata").rglob("*"), key=lambda path: path.stat().st_size * path.is_file()
    )
    path = {
        "score": project.root / layout.score(BENCHMARK, "vlm", "answer"),
        "shard": shard,
        "params": project.root / "params.yaml",
        "lock": project.root / "dvc.lock",
        "table": project.root / layout.table(BENCHMARK, "csv"),
        "record": record,
    }[which]
    kept = path.read_bytes()
    try:
        _flip(path, len(kept) // 2 if which != "lock" else kept.rindex(b"md5: ") + 8)
        done = project.run("slicewise", "prove", "tables", check=False)
    finally:
        path.write_bytes(kept)
    said = done.stdout + done.stderr
    assert done.returncode in (1, 2), said
    assert path.relative_to(project.root).as_posix() in said
    if done.returncode == 1:
        assert any(line.startswith("broken") and path.name in line for line in said.splitlines()), said


# --- why ------------------------------------------------------------------------------------------------------------


def test_why_names_the_setting_and_the_calls(project: Any) -> None:
    assert "nothing would run" in project.run("slicewise", "why").stdout
    kept = (project.root / "params.yaml").read_bytes()
    try:
        project.change(score__v__gold="named", suites__demo__judge="first-judge")
        said = project.run("slicewise", "why").stdout
    finally:
        (project.root / "params.yaml").write_bytes(kept)
    assert "score_model: 3 job(s)" in said
    assert 'v_gold: "all" -> "named"' in said
    assert 'judge_name: "second-judge" -> "first-judge"' in said
    assert 'params.yaml: suites.demo.judge: "second-judge" -> "first-judge"' in said
    assert "score  sgmri-demo-volume" in said  # the calls of the judge, those in the store apart
