"""A small project with a git history, a DVC remote and a finished run, from which every law starts."""

from __future__ import annotations

import hashlib
import os
import random
import shutil
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
SMALL = {
    "data__demo__brain_volumes": 1,
    "data__demo__knee_volumes": 1,
    "report__bootstrap_draws": 100,
    "report__example_pages": 1,
    "suites__demo__models": ["oracle", "blank", "prior-box"],
}
# What may differ between two runs of the same settings: clocks in Snakemake's records, and replies of other days.
CLOCKED = (".snakemake/metadata", "data/store/shards")


class Laws:
    """What the laws do with a project."""

    @staticmethod
    def digests(project: Any) -> dict[str, str]:
        """SHA-256 of every file of every stage, and of the phantoms."""
        found = {}
        for folder in ("data/demo", "results"):
            for path in sorted((project.root / folder).rglob("*")):
                name = path.relative_to(project.root).as_posix()
                if path.is_file() and path.name != ".gitignore" and name != "results/provenance.json":
                    found[name] = hashlib.sha256(path.read_bytes()).hexdigest()
        return found

    @staticmethod
    def locked(project: Any) -> dict[str, str]:
        """Path and MD5 of every output in ``dvc.lock``, without those that a clock is part of."""
        stages = yaml.safe_load((project.root / "dvc.lock").read_text())["stages"].values()
        outs = {out["path"]: out["md5"] for stage in stages for out in stage["outs"]}
        return {path: md5 for path, md5 in outs.items() if path not in CLOCKED}

    @staticmethod
    def clone(project: Any, folder: Path) -> Any:
        """A fresh clone of a project's last commit."""
        subprocess.run(["git", "clone", "--quiet", str(project.root), str(folder)], check=True)
        return type(project)(folder)

    @staticmethod
    def commit(project: Any, message: str) -> None:
        """Commit everything that git does not ignore."""
        project.run("git", "add", "--all")
        project.run("git", "commit", "--quiet", "--message", message)

    @staticmethod
    def clean(project: Any) -> bool:
        """Whether DVC has nothing to say."""
        done = project.run("dvc", "status")
        return "Data and pipelines are up to date" in done.stdout

    @staticmethod
    def shuffle_times(project: Any) -> None:
        """Give every file a time of modification of its own, in no order."""
        order = random.Random(11)  # noqa: S311 - a shuffle, no secret
        for path in sorted(project.root.rglob("*")):
            if path.is_file() and ".git" not in path.parts:
                when = 1_600_000_000 + order.randrange(100_000_000)
                os.utime(path, (when, when))


@pytest.fixture(scope="session")
def laws() -> type[Laws]:
    """Helpers of the laws."""
    return Laws


@pytest.fixture(scope="session")
def origin(make_project: Callable[..., Any], laws: type[Laws], tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A project after ``snakemake``, ``slicewise commit``, ``git commit`` and ``dvc push``."""
    project = make_project(**SMALL)
    tracked = subprocess.run(
        ["git", "ls-files", "-z", "workflow", ".dvc", "data", "results"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    for name in filter(None, tracked.stdout.split("\0")):
        if (ROOT / name).is_file():
            (project.root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, project.root / name)
    project.run("git", "init", "--quiet", "--initial-branch", "main")
    remote = tmp_path_factory.mktemp("remote")
    project.run("dvc", "remote", "add", "--default", "storage", str(remote))
    project.run("dvc", "remote", "modify", "storage", "verify", "true")
    laws.commit(project, "workflow")
    project.run("snakemake", "--cores", "2")
    project.run("slicewise", "commit")
    laws.commit(project, "results")
    project.run("dvc", "push")
    return project
