"""Items per second and peak memory of each stage, on a fresh run of a whole suite.

    python -m benchmarks.stages                                            suite open, annotations as params.yaml says
    python -m benchmarks.stages --fastmri-plus FOLDER                      annotations from a folder
    python -m benchmarks.stages --suite demo

The run happens in a temporary folder with empty caches, through the real Snakefile, so it measures what a user waits
for. Seconds are those of the jobs, start-up included, as Snakemake measured them; an item is one row of a job's
results. BERTScore has a row of its own, like every metric.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from slicewise import layout
from slicewise.benchmarks import sgmri
from slicewise.pipeline import provenance

from benchmarks.arms import RESULTS, machine

ROOT = Path(__file__).parents[1]
NEEDED = ("Snakefile", "params.yaml", "workflow/rules", "profiles/default")
PACKAGES = ("snakemake", "pyarrow", "torch", "sentence-transformers")


@dataclass
class Stage:
    """The jobs of one stage, or of one metric."""

    jobs: int = 0
    items: int = 0
    seconds: float = 0.0
    peak_mb: list[float] = field(default_factory=list)

    def row(self, name: str) -> dict[str, Any]:
        """The stage as a row of the table; a memory that no job lived long enough to show is ``None``."""
        return {
            "stage": name,
            "jobs": self.jobs,
            "items": self.items,
            "seconds": round(self.seconds, 1),
            "items_per_s": round(self.items / self.seconds, 1) if self.items and self.seconds else None,
            "peak_mb": round(max(self.peak_mb)) if self.peak_mb else None,
        }


def main() -> None:
    """Run the suite and print the table; ``results/bench/stages.md`` and ``.json`` keep it."""
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("--suite", default="open")
    options.add_argument("--fastmri-plus", type=Path, help="folder with brain.csv and knee.csv")
    options.add_argument("--cores", default="all")
    chosen = options.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        root = Path(folder)
        wall = run(root, chosen.suite, chosen.fastmri_plus, chosen.cores)
        write(chosen.suite, [stage.row(name) for name, stage in collect(root).items()], wall)


def run(root: Path, suite: str, fastmri_plus: Path | None, cores: str) -> float:
    """Run a suite in an empty folder; returns its wall seconds."""
    for name in NEEDED:
        copy = shutil.copytree if (ROOT / name).is_dir() else shutil.copy
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        copy(ROOT / name, root / name)
    config = [f"suite={suite}"]
    if fastmri_plus is not None:
        config.append(f"data={json.dumps({'fastmri_plus': str(fastmri_plus.resolve())})}")
    command = [sys.executable, "-m", "snakemake", "--cores", cores, "--quiet", "host", "reason", "rules"]
    began = time.monotonic()
    subprocess.run([*command, "--config", *config], cwd=root, env={**os.environ, "HF_HUB_OFFLINE": "1"}, check=True)
    return time.monotonic() - began


def collect(root: Path) -> dict[str, Stage]:
    """Jobs, items, seconds and memory by stage, and by metric within ``score``."""
    stages: dict[str, Stage] = defaultdict(Stage)
    for job, measured in provenance.timings(root / provenance.TIMINGS).items():
        parts = job.split("/")
        stage = stages[f"score {parts[-1]}" if parts[0] == "score" else parts[0]]
        stage.jobs += 1
        stage.items += sum(pq.read_metadata(path).num_rows for path in outputs(root, parts))
        stage.seconds += measured["seconds"]
        stage.peak_mb += [measured["peak_mb"]] if "peak_mb" in measured else []
    order = {name: i for i, name in enumerate((*layout.STAGES[:3], *(f"score {m}" for m in sgmri.METRICS), "report"))}
    return dict(sorted(stages.items(), key=lambda item: order[item[0]]))


def outputs(root: Path, job: list[str]) -> Iterator[Path]:
    """The Parquet files that a job wrote, from the parts of its name; the report's items are no rows of its own."""
    stage, *where = job
    folder = root / layout.stage(stage)
    if stage == "data" and (folder / where[0]).is_dir():
        yield from (folder / where[0]).glob("*.parquet")
    elif stage in ("infer", "parse"):
        yield from folder.joinpath(*where).glob("*.parquet")
    elif stage == "score":
        benchmark, metric = where[0], where[-1]
        yield from (folder / benchmark).glob(f"{where[1] if len(where) == 3 else '*'}/{metric}.parquet")


def write(suite: str, rows: list[dict[str, Any]], wall: float) -> None:
    """Print the table and keep it."""
    about = {"suite": suite, "wall_seconds": round(wall, 1), **machine(PACKAGES)}
    columns = list(rows[0])
    lines = [
        f"# Stages on suite {suite}",
        "",
        ", ".join(f"{key} {value}" for key, value in about.items()),
        "",
        "| " + " | ".join(columns) + " |",
        "|---|" + "---:|" * (len(columns) - 1),
        *(
            "| " + " | ".join("" if v is None else f"{v:,}" if v != row["stage"] else v for v in row.values()) + " |"
            for row in rows
        ),
    ]
    RESULTS.mkdir(parents=True, exist_ok=True)
    (RESULTS / "stages.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (RESULTS / "stages.json").write_text(
        json.dumps({"about": about, "stages": rows}, indent=1) + "\n", encoding="utf-8"
    )
    print("\n".join(lines))


if __name__ == "__main__":
    main()
