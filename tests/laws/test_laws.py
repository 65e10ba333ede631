"""The slow laws: real runs of the whole pipeline on a small demo, in folders and clones of their own."""

from __future__ import annotations

import json
import random
import re
import shutil
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

import pytest
from slicewise.pipeline import records

pytestmark = pytest.mark.laws


@pytest.fixture
def pulled(origin: Any, laws: Any, tmp_path: Path) -> Any:
    """A fresh clone with its results pulled."""
    project = laws.clone(origin, tmp_path / "clone")
    project.run("dvc", "pull")
    return project


# --- nothing to do --------------------------------------------------------------------------------------------------


def test_a_finished_and_committed_run_leaves_both_tools_clean(origin: Any, laws: Any) -> None:
    assert origin.would_run() == {}
    assert laws.clean(origin)
    assert origin.run("git", "status", "--porcelain").stdout == ""


def test_a_pulled_clone_has_nothing_to_do_whatever_the_times(pulled: Any, origin: Any, laws: Any) -> None:
    assert laws.digests(pulled) == laws.digests(origin)
    assert pulled.would_run() == {}
    laws.shuffle_times(pulled)
    assert pulled.would_run() == {}
    assert laws.clean(pulled)


def test_results_pulled_without_their_records_are_not_built_upon(origin: Any, laws: Any, tmp_path: Path) -> None:
    project = laws.clone(origin, tmp_path / "clone")
    project.run("dvc", "pull", "results/score", "results/parse", "results/infer", "results/data", "data/demo")
    project.change(score__v__gold="named")
    done = project.run("snakemake", "--cores", "2", check=False)
    assert done.returncode == 2
    assert "records how" in done.stderr


def test_a_damaged_object_of_the_remote_is_refused(origin: Any, laws: Any, tmp_path: Path) -> None:
    project = laws.clone(origin, tmp_path / "clone")
    remote = tmp_path / "remote"
    (source,) = re.findall(r"url = (.+)", (origin.root / ".dvc/config").read_text())
    shutil.copytree(source.strip(), remote)
    project.run("dvc", "remote", "modify", "--local", "storage", "url", str(remote))
    metrics = origin.root / "results/score/sgmri-demo-image/oracle/bleu.parquet"
    hidden = next(p for p in remote.rglob("*") if p.is_file() and p.read_bytes() == metrics.read_bytes())
    hidden.chmod(0o644)
    hidden.write_bytes(b"garbage")
    assert project.run("dvc", "pull", check=False).returncode != 0
    assert not (project.root / "results/score/sgmri-demo-image/oracle/bleu.parquet").exists()


# --- same bytes -----------------------------------------------------------------------------------------------------


def test_dvc_repro_in_a_fresh_clone_gives_the_same_bytes(origin: Any, laws: Any, tmp_path: Path) -> None:
    """The other door, in another folder, without the other's caches: same files, same lock, both tools clean."""
    project = laws.clone(origin, tmp_path / "clone")
    committed = laws.locked(project)
    project.run("dvc", "repro")
    assert laws.digests(project) == laws.digests(origin)
    assert laws.locked(project) == committed
    assert laws.clean(project)
    assert project.would_run() == {}


def test_a_run_killed_at_any_moment_ends_with_the_same_bytes(origin: Any, laws: Any, tmp_path: Path) -> None:
    """Three times the head alone is killed, at seeded moments; its jobs die with it, and the same command goes on."""
    project = laws.clone(origin, tmp_path / "clone")
    moments = random.Random(2604)  # noqa: S311 - a seeded choice, no secret
    in_a_job = locked = 0
    for _ in range(3):
        head = subprocess.Popen(
            project.command("snakemake", "--cores", "2"),
            cwd=project.root,
            env=project.environment(),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        time.sleep(moments.uniform(4, 12))
        assert head.poll() is None, "the run was over before it could be killed"
        head.send_signal(signal.SIGKILL)
        head.wait()
        in_a_job += bool(records.incomplete(project.root))
        locked += any((project.root / ".snakemake/locks").glob("*.lock"))
    assert in_a_job, "no moment fell into a job"
    assert locked, "Snakemake never left its own lock behind"
    done = project.run("slicewise", "commit", check=False)
    assert done.returncode == 2
    assert re.search("commit refused: .*(incomplete|do not exist)", done.stderr)
    project.run("snakemake", "--cores", "2")
    project.run("slicewise", "prune")
    assert laws.digests(project) == laws.digests(origin)
    assert project.would_run() == {}


# --- what runs again ------------------------------------------------------------------------------------------------


def test_a_new_model_and_a_changed_metric_run_only_themselves(pulled: Any, laws: Any) -> None:
    settings = pulled.settings()
    pulled.change(suites__demo__models=[*settings["suites"]["demo"]["models"], "always-yes"])
    before = times(pulled)
    pulled.run("snakemake", "--cores", "2")
    made = changed(pulled, before)
    per_model = {p.split("/")[3] for p in made if p.startswith(("results/infer", "results/parse"))}
    own_metrics = ("/bleu.parquet", "/rouge_l.parquet", "/grounding.parquet")
    per_model |= {p.split("/")[3] for p in made if p.startswith("results/score") and p.endswith(own_metrics)}
    assert per_model == {"always-yes"}
    assert pulled.would_run() == {}

    pulled.change(score__v__gold="named")
    before = times(pulled)
    pulled.run("snakemake", "--cores", "2")
    made = changed(pulled, before)
    assert {p.rpartition("/")[2] for p in made if p.startswith("results/score")} == {"grounding.parquet"}
    assert not [p for p in made if p.startswith(("results/data", "results/infer", "results/parse"))]

    pulled.change(suites__demo__models=["oracle", "blank"])
    pulled.run("snakemake", "--cores", "2")
    assert (
        "removed results/infer/sgmri-demo-image/always-yes/answers.parquet" in pulled.run("slicewise", "commit").stdout
    )
    assert laws.clean(pulled)
    assert pulled.would_run() == {}


def times(project: Any) -> dict[str, int]:
    return {
        path.relative_to(project.root).as_posix(): path.stat().st_mtime_ns
        for path in (project.root / "results").rglob("*")
        if path.is_file()
    }


def changed(project: Any, before: dict[str, int]) -> list[str]:
    return [name for name, when in times(project).items() if before.get(name) != when]


def test_a_failed_job_leaves_nothing_and_the_others_go_on(pulled: Any) -> None:
    (pulled.root / "mine.csv").write_text("nonsense\n")
    settings = pulled.settings()
    settings["models"].append({"name": "mine", "backend": "file", "path": "mine.csv"})
    settings["suites"]["demo"]["models"] += ["mine", "always-yes"]
    pulled.change(models=settings["models"], suites=settings["suites"])
    done = pulled.run("snakemake", "--cores", "2", check=False)
    assert done.returncode == 1
    assert "mine.csv" in done.stdout + done.stderr  # the job's own sentence is shown
    infer = pulled.root / "results/infer/sgmri-demo-image"
    assert not (infer / "mine/answers.parquet").exists()
    assert (infer / "always-yes/answers.parquet").is_file()
    assert (pulled.root / "results/score/sgmri-demo-image/always-yes/bleu.parquet").is_file()
    assert pulled.would_run()["infer_model"] == 2


# --- versions -------------------------------------------------------------------------------------------------------


def test_results_of_other_settings_are_not_committed(pulled: Any, laws: Any) -> None:
    settings = pulled.settings()
    settings["suites"]["other"] = {**settings["suites"]["demo"], "models": ["oracle"]}
    pulled.change(suites=settings["suites"])
    pulled.run("snakemake", "--cores", "2", "--config", "suite=other")
    done = pulled.run("slicewise", "commit", check=False)
    assert done.returncode == 2
    assert 'suite ran as "other", params.yaml says "demo"' in done.stderr
    pulled.run("snakemake", "--cores", "2")
    pulled.run("slicewise", "commit")
    assert laws.clean(pulled)


def test_experiments_are_run_shown_and_compared(pulled: Any, laws: Any) -> None:
    laws.commit(pulled, "before") if pulled.run("git", "status", "--porcelain").stdout else None
    setting = "score.ar.reference=answer+reasoning"
    pulled.run("dvc", "exp", "run", "--name", "longer", "--set-param", setting)
    shown = pulled.run("dvc", "exp", "show", "--csv", "--only-changed").stdout
    assert "longer" in shown
    assert "score.ar.reference" in shown.splitlines()[0]
    difference = json.loads(pulled.run("dvc", "metrics", "diff", "main", "longer", "--json").stdout)
    columns = {name.split(".")[-2] for name in difference["results/report/metrics.json"]}
    assert columns == {"localization_ar", "captioning", "avg"}
    pulled.run("dvc", "plots", "diff", "main", "longer", "--out", "plots")
    page = (pulled.root / "plots/index.html").read_text()
    assert page.count("vega-lite") >= 3
    assert "prior-box" in page
    assert laws.clean(pulled)
    assert pulled.would_run() == {}
