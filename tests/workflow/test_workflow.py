"""The real Snakefile, by dry runs: what it would run, on which settings, and what it must notice."""

from __future__ import annotations

import os
import random
import re
import shutil
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from slicewise import params
from slicewise.benchmarks import sgmri
from slicewise.pipeline import targets
from slicewise.pipeline.digest import ROOT as PACKAGE_ROOT

ROOT = Path(__file__).parents[2]
REPORT = {"report_tables": 1, "report_figures": 1, "report_site": 1, "all": 1}
N_MODELS = 7  # of suite demo, on two benchmarks


def jobs(said: str) -> list[tuple[str, dict[str, str]]]:
    """Rule and wildcards of every job that a dry run lists."""
    blocks = re.split(r"^(?=(?:local)?rule \w+:$)", said, flags=re.MULTILINE)[1:]
    found = []
    for block in blocks:
        wildcards = re.search(r"^\s+wildcards: (.+)$", block, re.MULTILINE)
        pairs = re.findall(r"(\w+)=([^,]+)", wildcards.group(1)) if wildcards else []
        found.append((re.match(r"(?:local)?rule (\w+):", block).group(1), dict(pairs)))  # type: ignore[union-attr]
    return found


# --- the graph ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("suite", "benchmarks", "source"), [("demo", 2, "data_demo"), ("open", 4, "data_fetch")])
def test_jobs_of_a_suite(make_project: Any, suite: str, benchmarks: int, source: str) -> None:
    per_model = benchmarks * N_MODELS
    assert make_project(suite=suite).would_run() == {
        source: 1,
        "data_build": benchmarks,
        "infer_model": per_model,
        "parse_model": per_model,
        "score_model": per_model * 3,
        "score_models": benchmarks * 5,
        **REPORT,
    }


def test_released_files_and_answers_made_elsewhere_are_inputs(make_project: Any) -> None:
    project = make_project(suite="paper")
    settings = project.settings()
    settings["models"].append({"name": "mine", "backend": "file", "path": "mine/{benchmark}.csv"})
    settings["suites"]["paper"]["models"] = ["oracle", "mine"]
    project.change(**{key: settings[key] for key in ("models", "suites")})
    for level in ("image", "volume"):
        for domain in sgmri.DOMAINS:
            path = project.root / f"data/sgmri/{domain}/test/{level}_qa/questions.json"
            path.parent.mkdir(parents=True)
            path.write_text("[]")
    said = project.dry_run(check=False)
    assert "models: 'mine': path: 'mine/sgmri-image.csv' does not exist" in said
    (project.root / "mine").mkdir()
    for level in ("image", "volume"):
        (project.root / f"mine/sgmri-{level}.csv").write_text("id,text\n")
    said = project.dry_run()
    assert Counter(rule for rule, _ in jobs(said))["infer_model"] == 4
    assert "input: data/sgmri/brain/test/image_qa/questions.json, data/sgmri/knee/test/image_qa/questions.json" in said
    assert "input: mine/sgmri-volume.csv, results/data/sgmri-volume/samples.parquet" in said


def test_the_default_target_lists_every_file_of_every_job(make_project: Any) -> None:
    """A file that only another job asks for could go missing, or stay behind stale, without being noticed."""
    project = make_project()
    said = project.dry_run()
    made = {path for line in re.findall(r"^\s+output: (.+)$", said, re.MULTILINE) for path in line.split(", ")}
    assert made == set(targets.strings(targets.everything(params.load(project.root / "params.yaml"))))


@pytest.mark.parametrize("stage", ["data", "infer", "parse", "score", "report"])
def test_each_stage_is_a_target(make_project: Any, stage: str) -> None:
    prefixes = {rule.partition("_")[0] for rule in make_project().would_run("--", stage)}
    stages = ["data", "infer", "parse", "score", "report"]
    assert prefixes == set(stages[: stages.index(stage) + 1])


def test_rules_are_one_command_with_all_that_it_depends_on() -> None:
    included = re.findall(r'^include: "(.+)"$', (ROOT / "Snakefile").read_text(), re.MULTILINE)
    text = "\n".join((ROOT / name).read_text() for name in included)
    blocks = dict(re.findall(r"^rule (\w+):\n(.*?)(?=^\S|\Z)", text, re.MULTILINE | re.DOTALL))
    working = {name: block for name, block in blocks.items() if "output:" in block}
    assert len(working) >= 10
    for name, block in working.items():
        assert re.search(r'shell:\s+"slicewise \w+ ', block), name
        for directive in ("log", "benchmark", "resources"):
            assert f"    {directive}:" in block, (name, directive)
        assert re.search(r"\bcfg=.*?job\.\w+\(|\bcfg=PARAMS\.", block, re.DOTALL), name
        assert "code=" in block, name
        assert "{params.cfg:q}" in block, name
    assert not re.search(r"^\s+(script|run|notebook|wrapper):", text, re.MULTILINE)
    assert "config[" not in text


# --- settings -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("override", "said"),
    [
        ("suit=open", "unknown setting 'suit'; expected one of"),
        ("suite=opne", "suite: 'opne' is not one of"),
        ("report={bootstrap_draws: many}", "'report.bootstrap_draws': input should be a valid integer"),
        ("score={protocl: card}", "unknown setting 'score.protocl'"),
    ],
)
def test_a_wrong_setting_is_one_sentence_before_any_job(finished: Any, override: str, said: str) -> None:
    done = finished.run("snakemake", "--cores", "1", "--config", override, check=False)
    assert done.returncode == 2
    (line,) = [line for line in done.stderr.splitlines() if line.startswith("slicewise: error:")]
    assert said in line
    assert "Traceback" not in done.stderr


def test_the_settings_hold_no_reference_that_dvc_would_resolve() -> None:
    """``dvc exp run -S`` reads ``${...}`` as a reference to another setting and ends when there is none."""
    assert "${" not in (ROOT / "params.yaml").read_text()


def test_a_model_name_used_twice_is_refused(make_project: Any) -> None:
    project = make_project()
    models = project.settings()["models"]
    project.change(models=[*models, models[0]])
    done = project.run("snakemake", "--cores", "1", check=False)
    assert done.returncode == 2
    assert "models: the name 'oracle' is used twice" in done.stderr


def test_a_settings_file_that_is_no_yaml_says_where(make_project: Any) -> None:
    project = make_project()
    with (project.root / "params.yaml").open("a") as handle:
        handle.write("\nsuite: [")
    done = project.run("snakemake", "--cores", "1", check=False)
    assert done.returncode == 2
    assert re.search(r"params\.yaml: is not valid YAML: .* line \d+", done.stderr)


def test_a_missing_source_is_refused(make_project: Any) -> None:
    project = make_project(suite="open", data__fastmri_plus="nowhere")
    done = project.run("snakemake", "--cores", "1", check=False)
    assert done.returncode == 2
    assert "data.fastmri_plus: 'nowhere/brain.csv' does not exist" in done.stderr


def test_a_results_folder_that_cannot_be_written_is_refused(make_project: Any) -> None:
    """Permissions do not bind root, who runs these tests in a container; a file in the folder's place binds all."""
    project = make_project()
    (project.root / "results").touch()
    done = project.run("snakemake", "--cores", "1", check=False)
    assert done.returncode == 2
    assert "slicewise: error: results: cannot be written; expected a folder" in done.stderr


# --- nothing to do --------------------------------------------------------------------------------------------------


def test_nothing_to_do_after_a_finished_run_and_soon_said(finished: Any) -> None:
    before = os.times()
    said = finished.run("snakemake", "--dry-run")
    after = os.times()
    assert "Nothing to be done" in said.stdout + said.stderr
    # The command's own CPU seconds: a busy machine makes it wait, but no slower.
    assert after.children_user + after.children_system - before.children_user - before.children_system < 5


def test_nothing_to_do_after_a_checkout_shuffled_the_times(finished_copy: Any) -> None:
    files = sorted(path for path in finished_copy.root.rglob("*") if path.is_file())
    order = random.Random(7)  # noqa: S311 - a shuffle, no secret
    for path in files:
        when = 1_600_000_000 + order.randrange(100_000_000)
        os.utime(path, (when, when))
    assert finished_copy.would_run() == {}


def test_touching_the_code_re_runs_nothing(finished: Any, tmp_path: Path) -> None:
    package = copy_of_the_package(tmp_path)
    assert finished.run("snakemake", "-n", PYTHONPATH=str(package)).stdout.count("Nothing to be done") == 1


# --- what must be noticed -------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "expected"),
    [
        ({"score__v__gold": "named"}, {"score_model": 14}),
        ({"score__ar__reference": "answer+reasoning"}, {"score_model": 28, "score_models": 6}),
        ({"suites__demo__bertscore": {"encoder": "minilm", "rescale": True}}, {"score_models": 4}),
        ({"parse__fps": 2.0}, {"parse_model": 14, "score_model": 42, "score_models": 10}),
        ({"report__bootstrap_draws": 500}, {}),
        ({"report__seed": 500, "report__bootstrap_draws": 2604}, {}),
    ],
)
def test_a_changed_setting_re_runs_what_it_changes(
    finished_copy: Any, change: dict[str, Any], expected: dict[str, int]
) -> None:
    finished_copy.change(**change)
    assert finished_copy.would_run() == {**expected, **REPORT}


def test_two_settings_that_swap_their_values_are_noticed(finished_copy: Any) -> None:
    """Snakemake compares params as a set of values; as two params these would compare equal."""
    finished_copy.change(data__demo__brain_volumes=6, data__demo__knee_volumes=5)
    assert finished_copy.would_run()["data_demo"] == 1


def test_a_setting_of_another_suite_re_runs_nothing(finished_copy: Any) -> None:
    finished_copy.change(data__open__brain_volumes=10, suites__open__judge="proxy", data__sgmri__split="train")
    assert finished_copy.would_run() == {}


def test_a_new_model_starts_no_job_of_an_old_one(finished_copy: Any) -> None:
    settings = finished_copy.settings()
    new = {"name": "random-8", "backend": "baseline", "baseline": "random", "seed": 8}
    settings["models"].append(new)
    settings["suites"]["demo"]["models"].append("random-8")
    finished_copy.change(models=settings["models"], suites=settings["suites"])
    found = jobs(finished_copy.dry_run())
    assert {wildcards["model"] for _, wildcards in found if "model" in wildcards} == {"random-8"}
    counts = Counter(rule for rule, _ in found)
    assert counts == {"infer_model": 2, "parse_model": 2, "score_model": 6, "score_models": 10, **REPORT}


@pytest.mark.parametrize(
    "path",
    [
        "results/data/sgmri-demo-image/summary.json",
        "results/infer/sgmri-demo-image/blob/answers.parquet",
        "results/score/sgmri-demo-volume/oracle/bleu.parquet",
        "results/report/metrics.json",
        "data/demo/manifest.json",
    ],
)
def test_a_file_that_is_gone_is_made_again(finished_copy: Any, path: str) -> None:
    """As after a job that failed: Snakemake removes its old output, and everything behind it is newer and stale."""
    (finished_copy.root / path).unlink()
    assert finished_copy.would_run() != {}


def test_changed_bytes_re_run_what_reads_them(finished_copy: Any) -> None:
    with (finished_copy.root / "results/parse/sgmri-demo-image/blob/parsed.parquet").open("a") as handle:
        handle.write("changed")
    assert finished_copy.would_run() == {"score_model": 3, "score_models": 5, **REPORT}


def test_an_interrupted_file_is_made_again(finished_copy: Any) -> None:
    path = "results/parse/sgmri-demo-image/blob/parsed.parquet"
    mark_incomplete(finished_copy.root, path)
    assert finished_copy.would_run()["parse_model"] == 1


def test_results_without_records_are_refused(finished_copy: Any) -> None:
    """After a pull of the results alone, Snakemake would take them for those of any settings."""
    shutil.rmtree(finished_copy.root / ".snakemake/metadata")
    done = finished_copy.run("snakemake", "--cores", "1", check=False)
    assert done.returncode == 2
    assert "run `dvc pull` to get the records" in done.stderr


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("score/text.py", {"score_model": 28, "score_models": 10}),
        ("score/grounding.py", {"score_model": 14}),
        ("score/bert.py", {"score_models": 4}),
        ("report/site/__init__.py", {}),
        ("pipeline/prune.py", None),
    ],
)
def test_an_edited_module_re_runs_exactly_the_rules_that_use_it(
    finished: Any, tmp_path: Path, name: str, expected: dict[str, int] | None
) -> None:
    package = copy_of_the_package(tmp_path)
    with (package / "slicewise" / name).open("a") as handle:
        handle.write("\n# edited\n")
    done = finished.run("snakemake", "-n", "--quiet", "reason", PYTHONPATH=str(package))
    counts = Counter(rule for rule, _ in jobs(done.stdout + done.stderr))
    report = {"report_site": 1, "all": 1} if name.startswith("report/site") else REPORT
    assert counts == ({**expected, **report} if expected is not None else {})


def copy_of_the_package(folder: Path) -> Path:
    shutil.copytree(PACKAGE_ROOT / "slicewise", folder / "slicewise", ignore=shutil.ignore_patterns("__pycache__"))
    return folder


def mark_incomplete(root: Path, path: str) -> None:
    from snakemake.persistence.file import FilePersistence

    here = Path.cwd()
    os.chdir(root)
    try:
        FilePersistence(path=root / ".snakemake")._mark_incomplete(path, None)
    finally:
        os.chdir(here)
