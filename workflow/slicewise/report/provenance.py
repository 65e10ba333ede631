"""Where numbers come from: fingerprints for the page, and what belongs in a sidecar beside the results."""

from __future__ import annotations

import platform
import subprocess
from importlib import metadata
from pathlib import Path
from typing import Any

import slicewise
from slicewise import artifacts, layout
from slicewise.jobs import ReportJob

METRICS = ("answer", "reasoning", "grounding")  # what the tables read
PACKAGES = (
    "bert-score", "matplotlib", "nltk", "numpy", "pandas", "pyarrow", "rouge-score", "scipy",
    "sentence-transformers", "torch", "transformers",
)  # fmt: skip


def signature(job: ReportJob) -> str:
    """SHA-256 of the report's settings."""
    return artifacts.sha256_json(job.model_dump(mode="json"))


def inputs(job: ReportJob, root: Path) -> dict[str, dict[str, str]]:
    """Benchmark -> file -> logical digest, of everything that the report read; no path outside the project.

    Raises:
        UserError: A file is missing or carries no digest.
    """
    found: dict[str, dict[str, str]] = {}
    for benchmark in job.benchmarks:
        paths = [layout.samples(benchmark)]
        paths += [layout.score(benchmark, model.name, metric) for model in job.models for metric in METRICS]
        found[benchmark] = {path.as_posix(): artifacts.stored_digest(root / path) for path in paths}
    return found


def score_signatures(job: ReportJob, root: Path) -> dict[str, list[str]]:
    """Metric -> the distinct signatures in its files: protocol, parser, encoder and judge that made the numbers."""
    found: dict[str, set[str]] = {metric: set() for metric in METRICS}
    for benchmark in job.benchmarks:
        for model in job.models:
            for metric in METRICS:
                path = root / layout.score(benchmark, model.name, metric)
                table = artifacts.read_table(path, columns=["signature"])
                found[metric] |= set(table.column("signature").unique().to_pylist())
    return {metric: sorted(signatures) for metric, signatures in found.items()}


def collect(root: Path) -> dict[str, Any]:
    """What was installed and checked out: for a sidecar, never for an output of a stage.

    Args:
        root: The project's root, where git is asked.

    Returns:
        ``slicewise``, ``git_commit`` (null outside a repository), ``git_dirty``, ``python``, ``machine`` and
        ``packages`` (null for one that is not installed).
    """
    status = _git(root, "status", "--porcelain", "--untracked-files=no")
    return {
        "slicewise": slicewise.__version__,
        "git_commit": _git(root, "rev-parse", "HEAD"),
        "git_dirty": None if status is None else bool(status),
        "python": platform.python_version(),
        "machine": platform.machine(),
        "packages": {name: _version(name) for name in PACKAGES},
    }


def _git(root: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
