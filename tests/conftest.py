"""A copy of the project's workflow in a folder of its own, for tests that run the real Snakefile."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import settings as hypothesis_settings

ROOT = Path(__file__).parents[1]
# The same examples in every run, so that a failure is a change of ours; HYPOTHESIS_PROFILE=explore draws new ones.
hypothesis_settings.register_profile("pinned", derandomize=True)
hypothesis_settings.register_profile("explore", derandomize=False)
hypothesis_settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "pinned"))

WORKFLOW_FILES = ("Snakefile", "params.yaml", "dvc.yaml", ".dvcignore", ".gitignore")
WORKFLOW_FOLDERS = ("workflow/rules", "profiles", ".dvc/plots")


@dataclass(frozen=True)
class Project:
    """A working copy of the workflow around the installed package."""

    root: Path

    def settings(self) -> dict[str, Any]:
        """The settings as they stand."""
        found: dict[str, Any] = yaml.safe_load((self.root / "params.yaml").read_text(encoding="utf-8"))
        return found

    def change(self, **settings: Any) -> None:
        """Set settings by dotted name, written with ``__`` for the dots."""
        raw = self.settings()
        for name, value in settings.items():
            *parents, last = name.split("__")
            block = raw
            for key in parents:
                block = block[key]
            block[last] = value
        (self.root / "params.yaml").write_text(yaml.safe_dump(raw, sort_keys=False), encoding="utf-8")

    def run(self, *command: str, check: bool = True, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run a command of the environment that runs the tests, in the project's folder."""
        done = subprocess.run(
            self.command(*command),
            cwd=self.root,
            env={**self.environment(), **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        if check and done.returncode != 0:
            raise AssertionError(f"{command} ended with {done.returncode}:\n{done.stdout[-4000:]}{done.stderr[-8000:]}")
        return done

    @staticmethod
    def command(name: str, *arguments: str) -> list[str]:
        """The command as a list; ``git`` from the system, the others from the environment of the tests."""
        return [name if name == "git" else str(Path(sys.executable).parent / name), *arguments]

    @staticmethod
    def environment() -> dict[str, str]:
        """The environment of a user who activated the project's environment and has no settings of their own."""
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "DVC_", "SLICEWISE_", "PYTEST_"))}
        name, mail = "Test", "test@example.org"
        return {
            **kept,
            "PATH": os.pathsep.join((str(Path(sys.executable).parent), os.environ["PATH"])),
            "HF_HUB_OFFLINE": "1",
            "DVC_NO_ANALYTICS": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_AUTHOR_NAME": name,
            "GIT_AUTHOR_EMAIL": mail,
            "GIT_COMMITTER_NAME": name,
            "GIT_COMMITTER_EMAIL": mail,
        }

    def snakemake(self, *arguments: str) -> tuple[int, str]:
        """Exit status and words of the command ``snakemake``, run in a fork, which spares its second of imports."""
        from slicewise.pipeline import entry
        from snakemake import cli

        del entry  # imported for the fork
        with tempfile.TemporaryFile("w+") as said:
            pid = os.fork()
            if pid == 0:
                status = 1
                try:
                    for stream in (1, 2):
                        os.dup2(said.fileno(), stream)
                    sys.stdout = os.fdopen(1, "w", closefd=False)
                    sys.stderr = os.fdopen(2, "w", closefd=False)
                    os.chdir(self.root)
                    os.environ.update(self.environment())
                    sys.argv = ["snakemake", *arguments]
                    cli.main(sys.argv[1:])
                    status = 0
                except SystemExit as stop:
                    status = int(stop.code or 0)
                finally:
                    sys.stdout.flush()
                    sys.stderr.flush()
                    os._exit(status)
            _, waited = os.waitpid(pid, 0)
            said.seek(0)
            return os.waitstatus_to_exitcode(waited), said.read()

    def dry_run(self, *arguments: str, check: bool = True) -> str:
        """What a dry run says, on both streams."""
        status, said = self.snakemake("--dry-run", "--cores", "2", *arguments)
        if check and status != 0:
            raise AssertionError(f"a dry run ended with {status}:\n{said[-8000:]}")
        return said

    def would_run(self, *arguments: str) -> dict[str, int]:
        """How many jobs of each rule a dry run lists; empty when there is nothing to do."""
        said = self.dry_run("--quiet", "reason", *arguments)
        if "Nothing to be done" in said:
            return {}
        lines = said.split("Job stats:")[1].split("total")[0].splitlines()
        counts = (line.split() for line in lines)
        return {words[0]: int(words[1]) for words in counts if len(words) == 2 and words[1].isdigit()}


@pytest.fixture(scope="session")
def make_project(tmp_path_factory: pytest.TempPathFactory) -> Callable[..., Project]:
    """A function that copies the workflow into a new folder and returns the :class:`Project`."""

    def make(**settings: Any) -> Project:
        root = tmp_path_factory.mktemp("project")
        for name in WORKFLOW_FILES:
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        for name in WORKFLOW_FOLDERS:
            shutil.copytree(ROOT / name, root / name)
        project = Project(root)
        project.change(**settings)
        return project

    return make
