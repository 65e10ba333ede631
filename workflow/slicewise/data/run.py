"""The data stage: build one benchmark's samples, whatever their source."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from slicewise import artifacts
from slicewise.benchmarks import ct
from slicewise.benchmarks.sgmri import Benchmark, benchmark
from slicewise.data import check, sgmri, suspicion
from slicewise.jobs import DataJob
from slicewise.params import DataSettings, Frames

DEMO_FRAMES = "frames"  # below the demo's folder


def build(job: DataJob, out: Path, summary: Path) -> None:
    """Write ``samples.parquet`` and ``summary.json`` of a benchmark.

    Raises:
        UserError: The benchmark is unknown, or its source is missing or malformed.
    """
    loaded = samples(job)
    artifacts.write_rows(out, loaded.rows, artifacts.SAMPLES)
    artifacts.write_json(summary, check.summary(loaded.rows, loaded.skipped))


def samples(job: DataJob) -> sgmri.Loaded:
    """The rows of a benchmark, with flags for what is suspicious, and what was left out. Raises as :func:`build`."""
    if ct.is_ct(job.benchmark):
        return sgmri.Loaded(_ct_rows(job))
    declared = benchmark(job.benchmark)
    if declared.source == "open":
        from slicewise.data import open as open_rebuild

        loaded = sgmri.Loaded(open_rebuild.build(job.data, declared))
    else:
        loaded = sgmri.load(source(job.data, declared))
    return sgmri.Loaded(suspicion.annotate(loaded.rows), loaded.skipped)


def _ct_rows(job: DataJob) -> list[dict[str, Any]]:
    declared = ct.ct_benchmark(job.benchmark)
    if declared.source == "rad3d":
        from slicewise.data import rad3d

        return rad3d.build(job.data.rad3d, declared, slices=job.data.ct_rate.path / "slices")
    from slicewise.data.ctflowbench import build as ctflowbench

    if declared.source == "phantom":
        return ctflowbench.phantoms(job.data.chest, declared.id)
    return ctflowbench.from_reports(job.data, declared.id)


def volume_ids(job: DataJob) -> list[str]:
    """Ids of a benchmark's volumes, sorted, read without any frame. Raises as :func:`build`."""
    if ct.is_ct(job.benchmark):
        return sorted({row["volume_id"] for row in _ct_rows(job)})
    declared = benchmark(job.benchmark)
    if declared.source == "open":
        return sorted({row["volume_id"] for row in samples(job).rows})
    where = source(job.data, declared)
    records, _ = sgmri.read(where.path, where.split, where.level, where.domains)
    return sorted({record.volume_id for record in records})


def source(settings: DataSettings, declared: Benchmark) -> sgmri.Source:
    """Where the files of a released or demo benchmark lie; the demo is read by the same loader."""
    if declared.source == "demo":
        return sgmri.Source(
            path=settings.demo.path,
            split="test",
            level=declared.level,
            frames=Frames.AS_RELEASED,  # the phantoms' files number every frame right: nothing to correct
            frames_root=settings.demo.path / DEMO_FRAMES,
            benchmark=declared.id,
            on_bad_record=settings.on_bad_record,
        )
    released = settings.sgmri
    return sgmri.Source(
        path=released.path,
        split=released.split,
        level=declared.level,
        frames=Frames(declared.frames or released.frames),
        frames_root=released.frames_root,
        benchmark=declared.id,
        on_bad_record=settings.on_bad_record,
    )
