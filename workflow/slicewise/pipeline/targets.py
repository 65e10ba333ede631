"""Every file that a run makes, from its settings alone.

The workflow asks for exactly these, and whatever else lies in a stage's folder belongs to other settings (see
:mod:`slicewise.pipeline.prune`).
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from slicewise import jobs, layout
from slicewise.benchmarks import ct, sgmri
from slicewise.data import files
from slicewise.data.rad3d import files as rad3d_files
from slicewise.errors import UserError
from slicewise.params import AgentModel, FileModel, Frames, Params
from slicewise.report import run

DEMO_MANIFEST = "manifest.json"
FASTMRI_PLUS = Path("data/fastmri_plus")  # where the annotations are fetched to, unless the settings name a folder
FASTMRI_PLUS_FILES = ("brain.csv", "knee.csv")


def data(params: Params) -> list[Path]:
    """The items of every benchmark, and the phantoms that some are made from."""
    paths = [path(b) for b in params.active.benchmarks for path in (layout.samples, layout.data_summary)]
    return [*demo(params), *chest(params), *paths]


def demo(params: Params) -> list[Path]:
    """The manifest of the phantoms, when a benchmark of the suite is made from them."""
    asked = (sgmri.benchmark(name) for name in params.active.benchmarks if not ct.is_ct(name))
    uses = any(benchmark.source == "demo" for benchmark in asked)
    return [params.data.demo.path / DEMO_MANIFEST] if uses else []


def chest(params: Params) -> list[Path]:
    """The manifest of the chest phantoms, likewise."""
    asked = (ct.ct_benchmark(name) for name in params.active.benchmarks if ct.is_ct(name))
    uses = any(benchmark.source == "phantom" for benchmark in asked)
    return [params.data.chest.path / DEMO_MANIFEST] if uses else []


def infer(params: Params) -> list[Path]:
    """The answers of every model on every benchmark, and the trajectories of agents."""
    pairs = [(b, m) for b in params.active.benchmarks for m in params.active.models]
    return [path for b, m in pairs for path in (layout.answers(b, m), *trajectories(params, b, m))]


def trajectories(params: Params, benchmark: str, model: str) -> list[Path]:
    """What an agent leaves beside its answers; nothing for other models."""
    if not isinstance(params.model(model), AgentModel):
        return []
    return [layout.trajectories(benchmark, model), layout.pictures(benchmark, model)]


def agents(params: Params) -> list[str]:
    """The models of the suite that are agents."""
    return [name for name in params.active.models if isinstance(params.model(name), AgentModel)]


def metrics(benchmark: str) -> tuple[str, ...]:
    """The metrics of a benchmark."""
    return ct.ct_benchmark(benchmark).metrics if ct.is_ct(benchmark) else sgmri.METRICS


def parse(params: Params) -> list[Path]:
    """What was read from the answers."""
    return [layout.parsed(b, m) for b in params.active.benchmarks for m in params.active.models]


def score(params: Params) -> list[Path]:
    """Every metric of every model on every benchmark."""
    suite = params.active
    return [layout.score(b, m, metric) for b in suite.benchmarks for m in suite.models for metric in metrics(b)]


def report(params: Params) -> list[Path]:
    """Tables, figures and the page."""
    job = jobs.report_job(params)
    return [*run.table_outputs(job), *run.figure_outputs(job), *run.site_outputs(job)]


STAGES = {"data": data, "infer": infer, "parse": parse, "score": score, "report": report}


def stage(name: str, params: Params) -> list[Path]:
    """The files of one stage."""
    return STAGES[name](params)


def everything(params: Params) -> list[Path]:
    """The files of all stages, in their order."""
    return [path for name in layout.STAGES for path in stage(name, params)]


def sources(params: Params, benchmark: str) -> list[Path]:
    """The files that a benchmark's items are made from.

    Raises:
        UserError: A file that the user has to provide is missing.
    """
    if ct.is_ct(benchmark):
        return _ct_sources(params, benchmark)
    declared = sgmri.benchmark(benchmark)
    if declared.source == "demo":
        return demo(params)
    if declared.source == "open":
        return _annotations(params.data.fastmri_plus)
    settings = params.data.sgmri
    found = [file.path for file in files.discover(settings.path, settings.split, declared.level)]
    if settings.frames is not Frames.NONE:
        found.append(
            _provided(settings.frames_root / "manifest.csv", "data.sgmri.frames_root", "slicewise data frames")
        )
    return found


def _ct_sources(params: Params, benchmark: str) -> list[Path]:
    source = ct.ct_benchmark(benchmark).source
    if source == "phantom":
        return chest(params)
    if source == "ct-rate":
        return [_provided(params.data.ct_rate.reports, "data.ct_rate.reports", "slicewise data fetch ct-rate")]
    files_ = rad3d_files(params.data.rad3d.path)
    if not files_:
        raise UserError(
            f"params.yaml: data.rad3d.path: '{params.data.rad3d.path}' has no test CSV; set it to the released folder, "
            "or run `slicewise data fetch rad3d`."
        )
    return files_


def _annotations(folder: Path | None) -> list[Path]:
    if folder is None:
        return [FASTMRI_PLUS / name for name in FASTMRI_PLUS_FILES]
    return [
        _provided(folder / name, "data.fastmri_plus", "slicewise data fetch fastmri-plus")
        for name in FASTMRI_PLUS_FILES
    ]


def _provided(path: Path, key: str, command: str) -> Path:
    if not path.is_file():
        raise UserError(f"params.yaml: {key}: '{path}' does not exist; set {key} to its folder, or run `{command}`.")
    return path


def answers_source(params: Params, benchmark: str, model: str) -> list[Path]:
    """The file that a model of the ``file`` backend reads its answers from, or none.

    Raises:
        UserError: The file is missing.
    """
    declared = params.model(model)
    if not isinstance(declared, FileModel):
        return []
    path = Path(declared.path.replace("{benchmark}", benchmark))
    if not path.exists():
        raise UserError(f"params.yaml: models: '{model}': path: '{path}' does not exist; expected its answers there.")
    return [path]


def check_sources(params: Params) -> None:
    """Look for every file that the user provides, before any job starts.

    Raises:
        UserError: One is missing.
    """
    for benchmark in params.active.benchmarks:
        sources(params, benchmark)
        for model in params.active.models:
            answers_source(params, benchmark, model)


def strings(paths: Iterable[Path]) -> list[str]:
    """Paths as Snakemake and DVC write them."""
    return [path.as_posix() for path in paths]
