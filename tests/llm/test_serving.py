"""A served model as a service beside its consumers: the real rule file, with the tests' server in the model's place."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from slicewise import artifacts, layout
from slicewise.errors import UserError
from slicewise.llm import serving
from slicewise.llm.store import Store

ROOT = Path(__file__).parents[2]
BENCHMARK = "sgmri-demo-image"
MODEL = "qwen3-vl-8b"


def test_every_recipe_is_a_served_model_of_the_settings() -> None:
    recipes = yaml.safe_load((ROOT / "workflow/rules/serve.yaml").read_text())["recipes"]
    models = {m["name"]: m for m in yaml.safe_load((ROOT / "params.yaml").read_text())["models"]}
    for name, recipe in recipes.items():
        endpoint = models[name]["endpoint"]
        assert f" {endpoint['model']} " in recipe["command"]
        assert endpoint["base_url"].startswith("$")
        assert f"--max-model-len {endpoint['context_window']}" in recipe["command"]
        for key in ("min_pixels", "max_pixels", "max_dynamic_patch"):
            if key in endpoint["engine"]:
                assert f'"{key}":{endpoint["engine"][key]}' in recipe["command"]


def test_a_server_that_ends_before_it_answers_is_said(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="ended with 3 before it answered"):
        serving.serve([sys.executable, "-c", "raise SystemExit(3)"], tmp_path / "url")
    assert not (tmp_path / "url").exists()


def test_the_rule_serves_asks_and_leaves_the_replies_in_the_store(helpers: Any, tmp_path: Path) -> None:
    many = helpers("many")
    project = tmp_path / "project"
    (project / "workflow/rules").mkdir(parents=True)
    shutil.copy(ROOT / "workflow/rules/serve.smk", project / "workflow/rules")
    command = f"{sys.executable} {Path(__file__).with_name('fake_server.py')} --port {{port}}"
    (project / "workflow/rules/serve.yaml").write_text(yaml.safe_dump({"recipes": {MODEL: {"command": command}}}))
    settings = yaml.safe_load((ROOT / "params.yaml").read_text())
    (model,) = [m for m in settings["models"] if m["name"] == MODEL]
    settings["models"] = [{**model, "view": "text_only"}]
    settings["suites"] = {"demo": {**settings["suites"]["demo"], "benchmarks": [BENCHMARK], "models": [MODEL]}}
    (project / "params.yaml").write_text(yaml.safe_dump(settings))
    rows = artifacts.read_rows(many.write_samples(tmp_path, 0, ["one", "two"]), artifacts.SAMPLES)
    artifacts.write_rows(
        project / layout.samples(BENCHMARK), [{**row, "benchmark": BENCHMARK} for row in rows], artifacts.SAMPLES
    )
    bin_folder = str(Path(sys.executable).parent)
    done = subprocess.run(
        [
            sys.executable,
            "-m",
            "snakemake",
            "-s",
            "workflow/rules/serve.smk",
            "--cores",
            "4",
            "--config",
            f"serve={MODEL}",
        ],
        cwd=project,
        env={**os.environ, "PATH": os.pathsep.join((bin_folder, os.environ["PATH"]))},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    answers = artifacts.read_rows(project / "served" / BENCHMARK / f"{MODEL}.parquet", artifacts.ANSWERS)
    assert [row["outcome"] for row in answers] == ["ok", "ok"]
    with Store(project / layout.STORE) as store:
        assert {record.key for record in store.records()} == {row["request_key"] for row in answers}
