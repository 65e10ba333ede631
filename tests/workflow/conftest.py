"""A project that looks finished: every file is there and Snakemake has a record of how it was made."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from slicewise import params
from slicewise.pipeline import targets

LARGE_FILE = "results/data/sgmri-demo-image/samples.parquet"
LARGE = 3_000_000  # bytes; more than Snakemake compares by content unless it is told to


@pytest.fixture(scope="session")
def finished(make_project: Callable[..., Any]) -> Any:
    """A finished project. Tests read it; those that change it take a copy from ``finished_copy``."""
    project = make_project(data__demo__brain_volumes=5, data__demo__knee_volumes=6)
    settings = params.load(project.root / "params.yaml")
    for path in targets.everything(settings):
        file = project.root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        text = path.as_posix()
        file.write_text(text.ljust(LARGE, "x") if text == LARGE_FILE else text)
    project.run("snakemake", "--touch", "--forceall", "--cores", "1")
    return project


@pytest.fixture
def finished_copy(finished: Any, tmp_path: Path) -> Any:
    """A finished project that the test may change."""
    root = tmp_path / "project"
    shutil.copytree(finished.root, root)
    return type(finished)(root)
