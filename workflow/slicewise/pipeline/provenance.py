"""Where and with what a run was made: clocks, versions and the git commit, kept out of the stages' results."""

from __future__ import annotations

import csv
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from slicewise import artifacts
from slicewise.params import Params
from slicewise.report import provenance

FILE = Path("results/provenance.json")
TIMINGS = Path("benchmarks_out")


def write(settings: Params, root: Path = Path()) -> Path:
    """Write the sidecar of the results that lie in ``root``; it is no output of a stage and in no version.

    Returns:
        The file.
    """
    path = root / FILE
    artifacts.write_json(path, collect(settings, root))
    return path


def collect(settings: Params, root: Path) -> dict[str, Any]:
    """Git commit, packages, machine, settings and the wall time and peak memory of each job."""
    lock = root / "dvc.lock"
    return {
        "made_with": provenance.collect(root),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
        "dvc_lock_sha256": artifacts.sha256_file(lock) if lock.is_file() else None,
        "params": settings.model_dump(mode="json"),
        "jobs": timings(root / TIMINGS),
    }


def timings(folder: Path) -> dict[str, dict[str, float]]:
    """``{job: {seconds, peak_mb}}`` from Snakemake's benchmark files; a figure it could not measure is left out."""
    found: dict[str, dict[str, float]] = {}
    for path in sorted(folder.rglob("*.tsv")):
        with path.open(newline="", encoding="utf-8") as handle:
            row = next(csv.DictReader(handle, delimiter="\t"), None)
        if row is not None:
            name = path.relative_to(folder).with_suffix("").as_posix()
            measured = {"seconds": row.get("s"), "peak_mb": row.get("max_rss")}
            found[name] = {key: float(v) for key, v in measured.items() if v not in (None, "NA", "-")}
    return found
