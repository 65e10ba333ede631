"""Stage ``score``: one metric, one file per model.

Cheap metrics run one job per model. The neural ones (``similarity``, ``bertscore``, ``judge``) run one job over all
models: one encoder load, distinct texts encoded once, results of pairs kept by content between runs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from slicewise import artifacts
from slicewise.benchmarks import ct
from slicewise.benchmarks.sgmri import A_TASKS, AR_WEIGHTS, NEURAL_METRICS, V_TASKS
from slicewise.errors import UserError
from slicewise.jobs import ScoreJob
from slicewise.outcome import Outcome
from slicewise.reference import ar_score
from slicewise.reference.locations import strip_localization_text
from slicewise.reference.run import score_item
from slicewise.score import answer_rows, grounding_rows, reasoning, reference_rows, schemas, text
from slicewise.score.paths import Paths
from slicewise.score.reasoning import Part, Texts
from slicewise.score.released_hook import released_hook
from slicewise.score.rows import Row, parser_version, side_by_side, write
from slicewise.score.signature import signature
from slicewise.score.texts import card_texts, text_signature

Pairs = Sequence[tuple[str, str]]


def score_model(job: ScoreJob, model: str, root: Path, declared: Mapping[str, str] | None = None) -> None:
    """Compute one cheap metric of one model and write its file.

    Args:
        job: The metric, the benchmark and the settings that can change a value.
        model: Name of the model, as in the results folder.
        root: Folder that holds ``results/``.
        declared: What else the readings depend on, for the signature; a run has it in its settings.

    Raises:
        UserError: A file of an earlier stage is missing or does not fit, or the metric is a neural one.
    """
    if job.metric not in PER_MODEL:
        raise UserError(
            f"metric '{job.metric}' is computed for all models at once; expected one of {sorted(PER_MODEL)} with one "
            "model: give every --model of the run in one command."
        )
    paths = Paths(root, job.benchmark, model, declared or {})
    rules = PER_MODEL if job.protocol == "card" else {**PER_MODEL, **REFERENCE}
    write(paths.score(job.metric), rules[job.metric](job, paths), schemas.schema(job.metric))


def score_models(
    job: ScoreJob, models: Sequence[str], root: Path, threads: int, declared: Mapping[str, str] | None = None
) -> None:
    """Compute one neural metric of all models and write one file per model.

    Args:
        job: The metric, the benchmark and the settings that can change a value.
        models: Names of the models.
        root: Folder that holds ``results/``; its pair cache keeps new results between runs.
        threads: Threads of the encoder.
        declared: As for :func:`score_model`.

    Raises:
        UserError: A file of an earlier stage is missing or does not fit, the encoder cannot be loaded, or the metric
            is no neural one.
    """
    if job.metric not in NEURAL_METRICS:
        raise UserError(f"metric '{job.metric}' is no neural metric; expected one of {list(NEURAL_METRICS)}.")
    from slicewise.score import neural

    paths = [Paths(root, job.benchmark, model, declared or {}) for model in models]
    neural.score(job, paths, root, threads, _texts)


def _texts(job: ScoreJob, paths: Paths) -> Iterator[list[Texts]]:
    """The texts that AR compares, by protocol; on CT the boxed answers of the open tasks."""
    if ct.is_ct(job.benchmark):
        from slicewise.score import ct_text

        return ct_text.answers(paths)
    return card_texts(job, paths) if job.protocol == "card" else reference_rows.texts(paths, strip_localization_text)


def _answer(job: ScoreJob, paths: Paths) -> Iterator[list[Row]]:
    cosines = answer_rows.read_cosines(paths.score("similarity"))
    parts = {"parser": parser_version(paths.parsed), "similarity": cosines.signature, **paths.declared}
    constant = signature(job.metric, job.protocol, parts)
    batches = side_by_side(
        paths.samples,
        paths.parsed,
        tasks=A_TASKS,
        sample_columns=answer_rows.SAMPLE_COLUMNS,
        parsed_columns=answer_rows.PARSED_COLUMNS,
    )
    for batch in batches:
        yield [
            {**paths.ids(sample), **answer_rows.answer_row(sample, parsed, cosines), "signature": constant}
            for sample, parsed in batch
        ]


def _grounding(job: ScoreJob, paths: Paths) -> Iterator[list[Row]]:
    parts = {"parser": parser_version(paths.parsed), "gold": job.v_gold, **paths.declared}
    constant = signature(job.metric, job.protocol, parts)
    batches = side_by_side(
        paths.samples,
        paths.parsed,
        tasks=V_TASKS,
        sample_columns=grounding_rows.SAMPLE_COLUMNS,
        parsed_columns=grounding_rows.PARSED_COLUMNS,
    )
    for batch in batches:
        yield [
            {**paths.ids(sample), **grounding_rows.grounding_row(sample, parsed, job.v_gold), "signature": constant}
            for sample, parsed in batch
        ]


# --- AR and its cheap parts -----------------------------------------------------------------------------------------

BLEU_ENGINE = "nltk-method1-lower-whitespace"
ROUGE_ENGINE = "rouge-score-stemmer"


def _bleu(job: ScoreJob, paths: Paths) -> Iterator[list[Row]]:
    return _text(text.bleu, text.pair_flags, BLEU_ENGINE, job, paths)


def _rouge_l(job: ScoreJob, paths: Paths) -> Iterator[list[Row]]:
    return _text(text.rouge_l, text.rouge_flags, ROUGE_ENGINE, job, paths)


def _text(
    metric: Callable[[Pairs], list[float | None]],
    flags: Callable[[str, str], tuple[str, ...]],
    engine: str,
    job: ScoreJob,
    paths: Paths,
) -> Iterator[list[Row]]:
    constant = text_signature(job, paths, {"engine": engine})
    for batch in _texts(job, paths):
        values = iter(metric([item.pair for item in batch if item.outcome is Outcome.OK]))
        yield [
            {
                **paths.ids({"sample_id": item.sample_id}),
                "value": next(values) if item.outcome is Outcome.OK else None,
                "outcome": str(item.outcome),
                "flags": _flags(item, flags),
                "signature": constant,
            }
            for item in batch
        ]


def _flags(item: Texts, flags: Callable[[str, str], tuple[str, ...]]) -> list[str]:
    own = flags(*item.pair) if item.outcome is Outcome.OK else ()
    return list(dict.fromkeys((*item.flags, *own)))


def _reasoning(job: ScoreJob, paths: Paths) -> Iterator[list[Row]]:
    parts = {name: _part_rows(paths, name) for name in AR_WEIGHTS}
    signatures = {name: next((row["signature"] for row in rows.values()), None) for name, rows in parts.items()}
    constant = signature(job.metric, job.protocol, {name: _inner(signatures[name]) for name in AR_WEIGHTS})
    ids = sorted(set().union(*parts.values()))
    yield [
        _reasoning_row(paths, sample_id, {n: rows.get(sample_id) for n, rows in parts.items()}, constant)
        for sample_id in ids
    ]


def _part_rows(paths: Paths, metric: str) -> dict[str, Row]:
    columns = ["sample_id", "value", "outcome", "flags", "signature", *(["proxy"] if metric == "judge" else [])]
    return {row["sample_id"]: row for row in artifacts.read_rows(paths.score(metric), columns=columns)}


def _inner(constant: str | None) -> str | None:
    return None if constant is None else f"({constant})"


def _reasoning_row(paths: Paths, sample_id: str, rows: dict[str, Row | None], constant: str) -> Row:
    parts = {name: Part(row["value"], Outcome(row["outcome"])) if row else None for name, row in rows.items()}
    combined = reasoning.combine(parts)
    noticed = (flag for row in rows.values() if row for flag in row["flags"])
    return {
        **paths.ids({"sample_id": sample_id}),
        "value": combined.value,
        "outcome": str(combined.outcome),
        "flags": list(dict.fromkeys((*noticed, *combined.flags))),
        **{name: part.value if part else None for name, part in parts.items()},
        "proxy": bool((rows["judge"] or {}).get("proxy", False)),
        "signature": constant,
    }


# --- CT: the same under every protocol ---------------------------------------------------------------------------


def _choice(job: ScoreJob, paths: Paths) -> Iterator[list[Row]]:
    from slicewise.score import ct_rows

    return ct_rows.rows(job.protocol, paths)


def _ct_text(job: ScoreJob, paths: Paths) -> Iterator[list[Row]]:
    from slicewise.score import ct_text

    return ct_text.rows(job.protocol, paths)


def _tool_use(job: ScoreJob, paths: Paths) -> Iterator[list[Row]]:
    from slicewise.score import tool_use

    return tool_use.rows(job.protocol, paths)


# --- protocol reference ---------------------------------------------------------------------------------------------


def _reference_answer(job: ScoreJob, paths: Paths) -> Iterator[list[Row]]:
    del job
    return reference_rows.answer_rows(paths, score_item)


def _reference_grounding(job: ScoreJob, paths: Paths) -> Iterator[list[Row]]:
    del job
    return reference_rows.grounding_rows(paths, score_item)


def _reference_reasoning(job: ScoreJob, paths: Paths) -> Iterator[list[Row]]:
    del job
    return reference_rows.reasoning_rows(paths, strip_localization_text, _released_ar)


def _released_ar(candidate: str, reference: str, bert_f1: float | None, verdict: Row | None) -> Mapping[str, Any]:
    judge = None
    if verdict is not None:
        judge = released_hook(candidate, reference, verdict["reply"], verdict["self_reply"])
    return ar_score.ar_score(candidate, reference, ar_score.ArHooks(judge=judge, bert_f1=lambda *_: bert_f1))


REFERENCE: dict[str, Callable[[ScoreJob, Paths], Iterator[list[Row]]]] = {
    "answer": _reference_answer,
    "reasoning": _reference_reasoning,
    "grounding": _reference_grounding,
}
PER_MODEL: dict[str, Callable[[ScoreJob, Paths], Iterator[list[Row]]]] = {
    "answer": _answer,
    "bleu": _bleu,
    "rouge_l": _rouge_l,
    "reasoning": _reasoning,
    "grounding": _grounding,
    "choice": _choice,
    "ct_text": _ct_text,
    "tool_use": _tool_use,
}
