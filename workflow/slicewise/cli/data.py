"""``slicewise data``: build, fetch, convert and check the inputs."""

from __future__ import annotations

import importlib
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicewise import artifacts, jobs, layout, params
from slicewise.cli import common
from slicewise.errors import ManyErrors, UserError
from slicewise.jobs import DataJob

if TYPE_CHECKING:
    from slicewise.data.fetch import HubSource
    from slicewise.data.frames import Split
    from slicewise.data.sgmri import Loaded

# Loaded by name: an edit of the tools on CT must not make Snakemake build MRI benchmarks again.
_CHEST = "slicewise.data.ctflowbench.chest"
_FILE = click.Path(path_type=Path)
_PARAMS = click.option(
    "--params",
    "params_file",
    type=_FILE,
    default=params.PARAMS_FILE,
    show_default=True,
    help="Settings of the run.",
)


@click.group()
def data() -> None:
    """Build, fetch, convert and check the inputs."""


@data.command()
@click.argument("benchmark")
@click.option("--out", type=_FILE, help="Parquet file to write.  [default: results/data/BENCHMARK/samples.parquet]")
@click.option("--summary", type=_FILE, help="JSON file to write.  [default: results/data/BENCHMARK/summary.json]")
@common.settings_options
def build(benchmark: str, out: Path | None, summary: Path | None, settings_json: str | None, params_file: Path) -> None:
    """Build the samples of BENCHMARK."""
    from slicewise.data import run

    job = _job(benchmark, settings_json, params_file)
    run.build(job, out or layout.samples(benchmark), summary or layout.data_summary(benchmark))


def _job(benchmark: str, settings_json: str | None, params_file: Path) -> DataJob:
    job = common.job(DataJob, settings_json, params_file, lambda p: jobs.data_job(p, benchmark))
    if job.benchmark != benchmark:
        raise UserError(f"--settings: are for benchmark '{job.benchmark}', expected '{benchmark}'.")
    return job


@data.command()
@click.option("--out", type=_FILE, help="Folder to write.  [default: data.demo.path of the settings]")
@click.option("--settings", "settings_json", metavar="JSON", help="The demo's settings; default: from --params.")
@_PARAMS
def demo(out: Path | None, settings_json: str | None, params_file: Path) -> None:
    """Make the synthetic phantoms of the demo, in the released file layout with frames."""
    from slicewise.data import phantom

    settings = common.job(params.DemoSettings, settings_json, params_file, lambda p: p.data.demo)
    phantom.make(settings, out or settings.path)


@data.command()
@click.option("--out", type=_FILE, help="Folder to write.  [default: data.chest.path of the settings]")
@click.option("--settings", "settings_json", metavar="JSON", help="The phantoms' settings; default: from --params.")
@_PARAMS
def chest(out: Path | None, settings_json: str | None, params_file: Path) -> None:
    """Make the chest phantoms of CT-FlowBench: volumes, marked regions, slices and reports."""
    phantoms = importlib.import_module(_CHEST)
    settings = common.job(params.ChestSettings, settings_json, params_file, lambda p: p.data.chest)
    phantoms.make(settings, out or settings.path)


@data.command()
@click.argument("benchmark")
@_PARAMS
def slices(benchmark: str, params_file: Path) -> None:
    """Make the slices that a model without tools sees of the CT volumes of BENCHMARK, by the frozen rule."""
    from slicewise.benchmarks.ct import places
    from slicewise.data import run

    settings = params.load(params_file)
    root = settings.data.ct_rate.path
    made, missing = importlib.import_module(_CHEST).slices_of_volumes(
        root, run.volume_ids(jobs.data_job(settings, benchmark)), places
    )
    click.echo(f"{root / 'slices'}: slices of {made} volumes; {missing} volumes are not there")


@data.group()
def fetch() -> None:
    """Download data sets at pinned versions, resumed where they broke off."""


@fetch.command("sgmri")
@click.option("--out", type=_FILE, help="Folder to write.  [default: data.sgmri.path of the settings]")
@click.option("--repo", help="Dataset repository on the Hub.  [default: data.sgmri.repo]")
@click.option("--revision", help="Branch, tag or commit.  [default: data.sgmri.revision]")
@_PARAMS
def fetch_sgmri(out: Path | None, repo: str | None, revision: str | None, params_file: Path) -> None:
    """Download the SGMRI-VQA questions from the Hugging Face Hub (HF_TOKEN and HF_ENDPOINT are respected)."""
    from slicewise.data import fetch as fetching

    settings = params.load(params_file).data.sgmri
    target = out or settings.path
    source = fetching.HubSource(
        repo or settings.repo, revision or settings.revision, "data.sgmri", fetching.SGMRI_PATTERNS
    )
    _fetched(source, target)


@fetch.command("rad3d")
@click.option("--out", type=_FILE, help="Folder to write.  [default: data.rad3d.path of the settings]")
@click.option("--images", is_flag=True, help="Also the archive of preprocessed test volumes.")
@_PARAMS
def fetch_rad3d(out: Path | None, images: bool, params_file: Path) -> None:
    """Download the questions of 3D-RAD from the Hugging Face Hub."""
    from slicewise.data import fetch as fetching

    settings = params.load(params_file).data.rad3d
    patterns = ("*.csv", "*.md", "LICENSE*", *(("*.zip",) if images else ()))
    _fetched(fetching.HubSource(settings.repo, settings.revision, "data.rad3d", patterns), out or settings.path)


@fetch.command("ct-rate")
@click.option("--out", type=_FILE, help="Folder to write.  [default: data.ct_rate.path of the settings]")
@click.option(
    "--volumes",
    metavar="FILE",
    type=_FILE,
    help="Also these volumes: a samples.parquet, or a text file with one name per line, such as valid_1_a_1.",
)
@_PARAMS
def fetch_ct_rate(out: Path | None, volumes: Path | None, params_file: Path) -> None:
    """Download the reports, labels and metadata of CT-RATE, and volumes by name (gated: HF_TOKEN must have access)."""
    from slicewise.data import fetch as fetching

    settings = params.load(params_file).data.ct_rate
    named = () if volumes is None else tuple(f"*/{name}.nii.gz" for name in _volume_names(volumes))
    patterns = ("dataset/*.csv", "*.md", "LICENSE*", *named)
    _fetched(fetching.HubSource(settings.repo, settings.revision, "data.ct_rate", patterns), out or settings.path)


def _volume_names(path: Path) -> list[str]:
    if path.suffix == ".parquet":
        return sorted({row["volume_id"] for row in artifacts.read_rows(path, columns=["volume_id"])})
    if not path.is_file():
        raise UserError(f"--volumes: '{path}' does not exist; expected a samples.parquet or a text file of names.")
    return sorted({line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()})


def _fetched(source: HubSource, target: Path) -> None:
    from slicewise.data import fetch as fetching

    lock = fetching.from_hub(source, target)
    size = sum(file.size for file in lock.files)
    click.echo(f"{target}: {len(lock.files)} files, {size:,} bytes of {lock.repo} at commit {lock.commit}")
    if lock.revision != lock.commit:
        click.echo(f"To pin this version set {source.setting}.revision: {lock.commit}")


@fetch.command("fastmri-plus")
@click.option("--out", type=_FILE, help="Folder to write.  [default: data/fastmri_plus]")
@click.option("--commit", help="Commit of the fastMRI+ repository.  [default: data.fastmri_plus_commit]")
@_PARAMS
def fetch_fastmri_plus(out: Path | None, commit: str | None, params_file: Path) -> None:
    """Download the fastMRI+ annotations (brain.csv, knee.csv) at the pinned commit."""
    from slicewise.data import fetch as fetching

    commit = commit or params.load(params_file).data.fastmri_plus_commit
    target = fetching.fastmri_plus(commit, out or fetching.FASTMRI_PLUS_FOLDER)
    click.echo(f"{target}: brain.csv and knee.csv of fastMRI+ at commit {commit}")


@data.command()
@click.option("--hdf5", type=_FILE, help="Folder with the fastMRI HDF5 files.  [default: data.sgmri.fastmri_root]")
@click.option("--out", type=_FILE, help="Folder of the frames.  [default: data.sgmri.frames_root]")
@click.option(
    "--volumes-from",
    metavar="BENCHMARK|FILE",
    help="Convert only the volumes of a benchmark, of a samples.parquet, or of a text file with one id per line.",
)
@click.option(
    "--split",
    type=click.Choice(["val", "train"]),
    default="val",
    show_default=True,
    help="The fastMRI part, as the folder names carry it; val is the benchmark's test split.",
)
@click.option("--check", "only_check", is_flag=True, help="Check written frames; with --hdf5 also every pixel.")
@_PARAMS
def frames(
    hdf5: Path | None, out: Path | None, volumes_from: str | None, split: Split, only_check: bool, params_file: Path
) -> None:
    """Turn fastMRI HDF5 files into PNG frames with a manifest of checksums."""
    from slicewise.data import frames as converting

    settings = params.load(params_file).data
    target = out or settings.sgmri.frames_root
    if only_check:
        faults = converting.verify(target, hdf5)
        if faults:
            raise ManyErrors(f"{target}: {len(faults)} fault(s) in the frames; convert the volumes again", faults)
        click.echo(f"{target}: all frames are as the manifest says")
        return
    source = hdf5 or settings.sgmri.fastmri_root
    if source is None:
        raise UserError("--hdf5: is not given and 'data.sgmri.fastmri_root' is null; expected the fastMRI folder.")
    volumes = None if volumes_from is None else _volumes(volumes_from, params_file)
    entries = converting.convert(source, target, volumes, split)
    click.echo(f"{target}: {len({e.volume_id for e in entries}):,} volumes, {len(entries):,} frames")


def _volumes(name: str, params_file: Path) -> list[str]:
    """Volume ids of a benchmark, a Parquet file or a text file."""
    path = Path(name)
    if path.suffix == ".parquet":
        rows = artifacts.read_rows(path, columns=["volume_id"])
        return sorted({row["volume_id"] for row in rows})
    if path.is_file():
        return [line.strip() for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    from slicewise.data import run

    return run.volume_ids(jobs.data_job(params.load(params_file), name))


@data.command()
@click.argument("source", metavar="BENCHMARK|FILE")
@click.option(
    "--train",
    type=_FILE,
    help="Training split to compare volumes with: a data folder or a samples.parquet; default: beside the benchmark.",
)
@click.option("--all", "show_all", is_flag=True, help="List every suspicious item.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
@_PARAMS
def check(source: str, train: Path | None, show_all: bool, as_json: bool, params_file: Path) -> None:
    """Print the fingerprint, the counts and the suspicious gold items of a benchmark or a samples.parquet."""
    from slicewise.data import check as checking
    from slicewise.data import suspicion

    loaded = _load(source, params_file)
    counts = checking.summary(loaded.rows, loaded.skipped)
    found = suspicion.find(loaded.rows)
    split = train or _released_train(source, params_file)
    shared = None if split is None else checking.overlap(loaded.rows, checking.train_volumes(split))
    if as_json:
        listed = [{"sample_id": s.sample_id, "kind": s.kind, "detail": s.detail} for s in found]
        click.echo(_json({**counts, "suspicious_items": listed, "train_overlap": shared}))
        return
    click.echo(checking.render(counts, found, None if show_all else 5))
    if shared is not None:
        listed_volumes = f": {', '.join(shared)}" if shared else ""
        click.echo(f"\nvolumes shared with the training split: {len(shared)}{listed_volumes}")


def _load(source: str, params_file: Path) -> Loaded:
    """Rows of a Parquet file, else of a benchmark, built afresh from its source."""
    from slicewise.data import run
    from slicewise.data.sgmri import Loaded

    if source.endswith(".parquet") or Path(source).is_file():
        return Loaded(artifacts.read_rows(Path(source), artifacts.SAMPLES))
    return run.samples(jobs.data_job(params.load(params_file), source))


def _released_train(source: str, params_file: Path) -> Path | None:
    """The data folder of a released benchmark when its training split lies there too."""
    from slicewise.benchmarks import sgmri
    from slicewise.data import files

    declared = sgmri.BENCHMARKS.get(source)
    if declared is None or declared.source != "released":
        return None
    folder = params.load(params_file).data.sgmri.path
    return folder if any(files.present(folder, "train", level) for level in sgmri.LEVELS) else None


def _json(value: Any) -> str:
    import json

    return json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False)
