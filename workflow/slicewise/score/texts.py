"""The texts that AR's parts compare, batch by batch, and the signature that these parts share."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import Any

from slicewise.benchmarks.sgmri import AR_TASKS
from slicewise.jobs import ScoreJob
from slicewise.parse.locations import strip_location
from slicewise.score.paths import Paths
from slicewise.score.reasoning import Texts, texts
from slicewise.score.rows import parser_version, side_by_side
from slicewise.score.signature import signature

SAMPLE_COLUMNS = ("question", "answer", "reasoning")
PARSED_COLUMNS = ("text", "text_outcome")


TextSource = Callable[[ScoreJob, Paths], Iterator[list[Texts]]]


def card_texts(job: ScoreJob, paths: Paths) -> Iterator[list[Texts]]:
    """The texts of every item that AR applies to, under protocol ``card``.

    Raises:
        UserError: A file is missing or does not fit.
    """
    batches = side_by_side(
        paths.samples, paths.parsed, tasks=AR_TASKS, sample_columns=SAMPLE_COLUMNS, parsed_columns=PARSED_COLUMNS
    )
    for batch in batches:
        yield [texts(sample, parsed, job.ar_reference or "answer", strip_location) for sample, parsed in batch]


def text_signature(job: ScoreJob, paths: Paths, parts: Mapping[str, Any]) -> str:
    """The signature of a part of AR."""
    if job.protocol == "reference":
        return signature(job.metric, job.protocol, parts)
    shared = {"parser": parser_version(paths.parsed), "reference": job.ar_reference}
    return signature(job.metric, job.protocol, {**shared, **parts, **paths.declared})
