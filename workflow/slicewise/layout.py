"""Where every artifact lies. The Snakefile, the command line and the report ask here, so no path is built twice."""

from __future__ import annotations

from pathlib import Path

STAGES = ("data", "infer", "parse", "score", "report")
RESULTS = Path("results")
STORE = Path("data/store")  # the response store; its shards are what DVC tracks


def stage(name: str) -> Path:
    """Folder of a stage's results."""
    if name not in STAGES:
        raise ValueError(f"unknown stage '{name}', expected one of {STAGES}")
    return RESULTS / name


def samples(benchmark: str) -> Path:
    """The benchmark's items."""
    return stage("data") / benchmark / "samples.parquet"


def data_summary(benchmark: str) -> Path:
    """Fingerprint and counts of a benchmark, as JSON."""
    return stage("data") / benchmark / "summary.json"


def answers(benchmark: str, model: str) -> Path:
    """What the model wrote."""
    return stage("infer") / benchmark / model / "answers.parquet"


def trajectories(benchmark: str, model: str) -> Path:
    """Every turn of an agent."""
    return answers(benchmark, model).with_name("trajectories.parquet")


def pictures(benchmark: str, model: str) -> Path:
    """The pictures that an agent saw, by content."""
    return answers(benchmark, model).with_name("pictures.parquet")


def parsed(benchmark: str, model: str) -> Path:
    """What was read from it."""
    return stage("parse") / benchmark / model / "parsed.parquet"


def score(benchmark: str, model: str, metric: str) -> Path:
    """One metric's values."""
    return stage("score") / benchmark / model / f"{metric}.parquet"


def table(name: str, suffix: str) -> Path:
    """A table of the report, such as ``image.csv``."""
    return stage("report") / "tables" / f"{name}.{suffix}"


def figure(name: str, suffix: str) -> Path:
    """A figure of the report, such as ``scores.pdf``."""
    return stage("report") / "figures" / f"{name}.{suffix}"


def pair_cache() -> Path:
    """Results of pairs of texts, kept by content between runs; it changes no value and belongs to no stage."""
    return Path(".slicewise") / "pairs.sqlite"
