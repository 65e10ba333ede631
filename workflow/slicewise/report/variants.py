"""The choices that the papers leave open, each as a set of options that re-score stored answers.

An option writes the score files that it changes into a folder of its own beside links to all others; nothing is asked
of a model again, no encoder is loaded and no verdict is bought. What would need that is *unavailable*, with the reason.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicewise import artifacts, jobs, layout
from slicewise.benchmarks import sgmri
from slicewise.benchmarks.sgmri import AR_WEIGHTS, METRICS
from slicewise.errors import UserError
from slicewise.geometry import Convention
from slicewise.jobs import ReportJob, ScoreJob
from slicewise.judges import LlmJudge
from slicewise.params import Params
from slicewise.parse import run as parsing
from slicewise.score import neural, schemas
from slicewise.score import run as scoring
from slicewise.score.pair_cache import PairCache, Value
from slicewise.score.paths import Paths
from slicewise.score.texts import card_texts

A, V, AR = (
    ("detection", "counting", "classification", "diagnosis"),
    ("localization_v",),
    ("localization_ar", "captioning"),
)
USUAL = (  # conventions that are taken for one another
    Convention.ABS_XYWH_ORIGINAL,
    Convention.ABS_XYXY_ORIGINAL,
    Convention.ABS_XYXY_RESIZED,
    Convention.REL_XYXY_0_1000,
    Convention.REL_YXYX_0_1000,
)


class Unavailable(Exception):
    """An option cannot be computed from what is stored; the message says why."""


class StoredPairs(PairCache):
    """The pair cache, and nothing but it."""

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Value]:
        """The values of the keys.

        Raises:
            Unavailable: One is not there.
        """
        found = super().get_many(keys)
        missing = len(set(keys)) - len(found)
        if missing:
            raise Unavailable(f"{missing} pairs of texts are not in the cache and would need the encoder")
        return found


@dataclass(frozen=True)
class Place:
    """Where an option writes.

    Attributes:
        settings: The run's settings.
        base: The project's root.
        root: The option's own folder.
        benchmark: Benchmark id.
        model: Model name.
    """

    settings: Params
    base: Path
    root: Path
    benchmark: str
    model: str

    def rows(self, metric: str) -> list[dict[str, Any]]:
        """The run's score rows of a metric."""
        return artifacts.read_rows(self.base / layout.score(self.benchmark, self.model, metric))

    def write(self, metric: str, rows: list[dict[str, Any]]) -> None:
        """Put a metric's rows in the place of the run's."""
        path = self.root / layout.score(self.benchmark, self.model, metric)
        path.unlink(missing_ok=True)
        artifacts.write_rows(path, rows, schemas.schema(metric))

    def score(self, metric: str, **changes: Any) -> None:
        """Compute a cheap metric with other settings."""
        job = jobs.score_job(self.settings, self.benchmark, metric).model_copy(update=changes)
        (self.root / layout.score(self.benchmark, self.model, metric)).unlink(missing_ok=True)
        scoring.score_model(job, self.model, self.root)

    def rate(self, metric: str, job: ScoreJob) -> None:
        """Compute ``bertscore`` or ``judge`` from stored results alone."""
        (self.root / layout.score(self.benchmark, self.model, metric)).unlink(missing_ok=True)
        paths = [Paths(self.root, self.benchmark, self.model)]
        try:
            neural.score(job, paths, self.root, 1, card_texts, StoredPairs)
        except UserError as error:
            raise Unavailable(str(error).partition(" (")[0]) from error

    def reason(self) -> None:
        """Put AR together again."""
        self.score("reasoning")


@dataclass(frozen=True)
class Option:
    """One option of one choice.

    Attributes:
        choice: What is chosen, such as ``V gold``.
        name: The option.
        columns: Keys of the columns that it can change.
        apply: Writes the files that it changes.
        one_model: It is a choice about one model, the others stay as they are.
        protocol: The protocol under which the report reads the scores, where it is another one.
        drop: Outcomes that leave the mean, beside those that are in none.
        zero: Whether what the machinery lost counts as 0.
    """

    choice: str
    name: str
    columns: Sequence[str]
    apply: Callable[[Place], None]
    one_model: bool = False
    protocol: str | None = None
    drop: bool = False
    zero: bool = False


def options(settings: Params, job: ReportJob) -> Iterator[Option]:
    """Every option that is not the run's own, choice by choice."""
    card = job.protocol == "card"
    yield from _bertscore(job)
    yield Option("judge scale", "1 to 10 as 0 to 1", AR, _judge_scale)
    for name, judge in settings.judges.items():
        if isinstance(judge, LlmJudge) and judge.rubric == "card" and name != job.judge:
            yield Option("judge", name, AR, _judge(name))
    other = "answer+reasoning" if settings.score.ar.reference == "answer" else "answer"
    yield Option("AR reference", other, AR, _ar_reference(other))
    gold = "named" if settings.score.v.gold == "all" else "all"
    yield Option("V gold", gold, V, lambda place: place.score("grounding", v_gold=gold))
    yield Option("V mean", "precision-aware", V, _precision_aware)
    protocol = "reference" if card else "card"
    yield Option("parser", f"protocol {protocol}", (*A, *V), _protocol(protocol), protocol=protocol)
    yield Option("missing", "model's failures excluded", (*A, *V, *AR), _nothing, drop=True)
    yield Option("missing", "lost items as 0", (*A, *V, *AR), _nothing, zero=True)
    yield Option("frames", "the other numbering of knees", V, _frames)
    for convention in USUAL:
        yield Option("box convention", convention.value, V, _convention(convention), one_model=True)
    yield Option("frame base", "the other", V, _frame_base, one_model=True)


def _nothing(place: Place) -> None:
    del place


# --- AR -------------------------------------------------------------------------------------------------------------


def _bertscore(job: ReportJob) -> Iterator[Option]:
    if job.bertscore_rescale:
        yield Option("BERTScore", "raw", AR, _bert_column("f1_raw", clip=True))
        yield Option("BERTScore", "rescaled, not clipped", AR, _bert_column("f1_rescaled", clip=False))
    else:
        yield Option("BERTScore", "rescaled", AR, _bert_column("f1_rescaled", clip=True))


def _bert_column(column: str, *, clip: bool) -> Callable[[Place], None]:
    def apply(place: Place) -> None:
        rows = place.rows("bertscore")
        if any(row["outcome"] == "ok" and row[column] is None for row in rows):
            raise Unavailable("the encoder has no baseline to rescale with, or the run did not rescale")
        for row in rows:
            if row["outcome"] == "ok":
                row["value"] = min(max(row[column], 0.0), 1.0) if clip else row[column]
        place.write("bertscore", rows)
        place.reason()

    return apply


def _judge_scale(place: Place) -> None:
    rows = place.rows("judge")
    if any(row["outcome"] == "ok" and row["accuracy"] is None and row["proxy"] for row in rows):
        raise Unavailable("the judge is a proxy, which gives no ratings from 1 to 10")
    for row in rows:
        if row["outcome"] == "ok" and row["accuracy"] is not None:
            row["value"] = ((row["accuracy"] + row["relevance"] + row["helpfulness"]) / 3 - 1) / 9
    place.write("judge", rows)
    place.reason()


def _judge(name: str) -> Callable[[Place], None]:
    def apply(place: Place) -> None:
        if not (place.base / layout.STORE / "shards").is_dir():
            raise Unavailable("there is no response store")
        job = jobs.score_job(place.settings, place.benchmark, "judge")
        replay = place.settings.llm.model_copy(update={"mode": "replay"})
        changes = {"judge": place.settings.judges[name], "judge_name": name, "judges": None, "encoder": None}
        place.rate("judge", job.model_copy(update={**changes, "llm": replay}))
        place.reason()

    return apply


def _ar_reference(reference: str) -> Callable[[Place], None]:
    def apply(place: Place) -> None:
        for metric in AR_WEIGHTS:
            job = jobs.score_job(place.settings, place.benchmark, metric).model_copy(update={"ar_reference": reference})
            if metric in ("bleu", "rouge_l"):
                place.score(metric, ar_reference=reference)
                continue
            replay = {"llm": place.settings.llm.model_copy(update={"mode": "replay"})} if job.llm else {}
            place.rate(metric, job.model_copy(update=replay))
        place.reason()

    return apply


# --- A and V --------------------------------------------------------------------------------------------------------


def _precision_aware(place: Place) -> None:
    rows = place.rows("grounding")
    if any(row["outcome"] == "ok" and row["v_precision_aware"] is None for row in rows):
        raise Unavailable("this protocol does not compute it")
    for row in rows:
        if row["outcome"] == "ok":
            row["value"] = row["v_precision_aware"]
    place.write("grounding", rows)


def _protocol(protocol: str) -> Callable[[Place], None]:
    def apply(place: Place) -> None:
        for metric in ("answer", "grounding"):
            place.score(metric, protocol=protocol)

    return apply


def _frames(place: Place) -> None:
    """Knee gold one frame later or earlier: as released, or corrected, whichever the run does not have."""
    declared = sgmri.benchmark(place.benchmark)
    if declared.level != "volume":
        raise Unavailable("an image question names one slice whatever its number is")
    corrected = (declared.frames or place.settings.data.sgmri.frames.value) == "corrected"
    step = -1 if corrected else 1
    path = layout.samples(place.benchmark)
    rows = artifacts.read_rows(place.base / path, artifacts.SAMPLES)
    for row in rows:
        if row["domain"] == "knee":
            row["boxes"] = [{**b, "frame": None if b["frame"] is None else b["frame"] + step} for b in row["boxes"]]
            # A box beyond the last frame shown can be matched by nothing; a frame to measure it by must exist.
            row["frames"] = [*row["frames"], *row["frames"][-1:]]
    (place.root / path).unlink()
    artifacts.write_rows(place.root / path, rows, artifacts.SAMPLES)
    place.score("grounding")


def _convention(convention: Convention) -> Callable[[Place], None]:
    def apply(place: Place) -> None:
        if place.settings.model(place.model).bbox_convention == convention:
            raise Unavailable("it is the model's declared convention")
        _read_again(place, bbox_convention=convention)

    return apply


def _frame_base(place: Place) -> None:
    if sgmri.benchmark(place.benchmark).level != "volume":
        raise Unavailable("an image question has one frame")
    _read_again(place, frame_base=1 - place.settings.model(place.model).frame_base)


def _read_again(place: Place, **changes: Any) -> None:
    job = jobs.parse_job(place.settings, place.benchmark, place.model).model_copy(update=changes)
    out = place.root / layout.parsed(place.benchmark, place.model)
    out.unlink(missing_ok=True)
    answers = place.root / layout.answers(place.benchmark, place.model)
    parsing.parse_file(job, place.root / layout.samples(place.benchmark), answers, out)
    place.score("grounding")


# --- folders --------------------------------------------------------------------------------------------------------


def overlay(base: Path, root: Path, benchmark: str, model: str) -> None:
    """Links below ``root`` to everything that a model's scores are made of; an option puts its own files in between."""
    paths = [layout.samples(benchmark), layout.answers(benchmark, model), layout.parsed(benchmark, model)]
    paths += [layout.score(benchmark, model, metric) for metric in METRICS]
    for path in [*paths, layout.STORE, layout.pair_cache()]:
        source, target = (base / path).resolve(), root / path
        if source.exists() and not target.is_symlink():
            target.parent.mkdir(parents=True, exist_ok=True)
            if not target.exists():
                os.symlink(source, target)
