"""Run the arms of a benchmark side by side: each repeat of each arm in a process of its own, arms taking turns.

A process of its own makes peak memory and start-up honest, and taking turns spreads a noisy neighbour over all arms.
CPU seconds are the process's own (all threads) and hardly feel other load; wall seconds do.
"""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

RESULTS = Path("results/bench")


@dataclass(frozen=True)
class Run:
    """One repeat of one arm: seconds, peak resident MiB of its process, and how many items it did."""

    cpu: float
    wall: float
    peak_mib: float
    items: int


class Timer:
    """Seconds of the part of a process that is measured."""

    cpu = 0.0
    wall = 0.0

    @contextmanager
    def measure(self) -> Iterator[None]:
        """Add the enclosed time."""
        cpu, wall = time.process_time(), time.perf_counter()
        yield
        self.cpu += time.process_time() - cpu
        self.wall += time.perf_counter() - wall


def report_run(timer: Timer, items: int) -> None:
    """Print a run on the last line of standard output, where :func:`interleave` reads it."""
    print(json.dumps(asdict(Run(timer.cpu, timer.wall, _peak_mib(), items))))


def _peak_mib() -> float:
    """Peak resident MiB of this process; getrusage would also report what the parent had before the fork."""
    status = Path("/proc/self/status")
    if status.is_file():
        (line,) = [line for line in status.read_text().splitlines() if line.startswith("VmHWM")]
        return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def interleave(
    module: str, arms: Sequence[str], repeats: int, options: Sequence[str], threads: int
) -> dict[str, list[Run]]:
    """Run every arm ``repeats`` times, arms taking turns, as ``python -m module --arm NAME options``."""
    limits = {name: str(threads) for name in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")}
    environment = {**os.environ, **limits, "HF_HUB_OFFLINE": "1", "TOKENIZERS_PARALLELISM": "false"}
    runs: dict[str, list[Run]] = {arm: [] for arm in arms}
    for repeat in range(repeats):
        for arm in arms:
            command = [sys.executable, "-m", module, "--arm", arm, *options]
            done = subprocess.run(command, env=environment, capture_output=True, text=True)
            if done.returncode:
                raise SystemExit(f"{module}: arm {arm} failed:\n{done.stderr[-3000:]}")
            runs[arm].append(Run(**json.loads(done.stdout.splitlines()[-1])))
            print(f"{repeat + 1}/{repeats} {arm}: {runs[arm][-1].cpu:.2f} CPU s", file=sys.stderr)
    return runs


def median(runs: Sequence[Run], field: str) -> float:
    """Median of one field over the repeats."""
    return statistics.median(float(getattr(run, field)) for run in runs)


def rows(runs: dict[str, list[Run]], titles: dict[str, str]) -> list[dict[str, Any]]:
    """One row per arm: medians, the spread of CPU seconds, and the cost of an item."""
    return [
        {
            "arm": titles[arm],
            "items": of_arm[0].items,
            "cpu_s": median(of_arm, "cpu"),
            "cpu_s_min": min(run.cpu for run in of_arm),
            "cpu_s_max": max(run.cpu for run in of_arm),
            "wall_s": median(of_arm, "wall"),
            "cpu_ms_per_item": 1000 * median(of_arm, "cpu") / of_arm[0].items,
            "peak_mib": median(of_arm, "peak_mib"),
        }
        for arm, of_arm in runs.items()
    ]


def machine(packages: Sequence[str]) -> dict[str, Any]:
    """What the numbers were measured on."""
    model = platform.processor()
    cpuinfo = Path("/proc/cpuinfo")
    if cpuinfo.is_file():
        names = [
            line.split(":", 1)[1].strip() for line in cpuinfo.read_text().splitlines() if line.startswith("model name")
        ]
        model = names[0] if names else model
    versions = {name: importlib.metadata.version(name) for name in packages}
    return {"cpu": model, "cores": os.cpu_count(), "python": platform.python_version(), **versions}


def write(
    name: str, title: str, tables: dict[str, list[dict[str, Any]]], notes: Sequence[str], about: dict[str, Any]
) -> Path:
    """Write ``results/bench/<name>.md`` and ``.json``, and print the former."""
    RESULTS.mkdir(parents=True, exist_ok=True)
    record = {"title": title, "about": about, "notes": list(notes), "tables": tables}
    (RESULTS / f"{name}.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    lines = [f"# {title}", "", ", ".join(f"{key} {value}" for key, value in about.items()), ""]
    for heading, table in tables.items():
        lines += [f"## {heading}", "", *_markdown(table), ""]
    lines += [f"- {note}" for note in notes]
    path = RESULTS / f"{name}.md"
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(path.read_text(encoding="utf-8"))
    return path


def _markdown(table: Sequence[dict[str, Any]]) -> list[str]:
    columns: dict[str, Callable[[dict[str, Any]], str]] = {
        "arm": lambda row: str(row["arm"]),
        "items": lambda row: f"{row['items']:,}",
        "CPU s (min to max)": lambda row: f"{row['cpu_s']:.2f} ({row['cpu_s_min']:.2f} to {row['cpu_s_max']:.2f})",
        "wall s": lambda row: f"{row['wall_s']:.2f}",
        "CPU ms per item": lambda row: f"{row['cpu_ms_per_item']:.3f}",
        "peak MiB": lambda row: f"{row['peak_mib']:.0f}",
    }
    head = ["| " + " | ".join(columns) + " |", "|---|" + "---:|" * (len(columns) - 1)]
    return head + ["| " + " | ".join(cell(row) for cell in columns.values()) + " |" for row in table]
