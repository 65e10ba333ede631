"""The neural metrics: all models of a benchmark in one pass, so that a text is encoded once however often it occurs.

Values are rounded to 6 decimals before they are written: the last digits of a network depend on the processor.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from slicewise import layout
from slicewise.artifacts import storable
from slicewise.benchmarks.sgmri import A_TASKS
from slicewise.errors import UserError
from slicewise.jobs import ScoreJob
from slicewise.outcome import Outcome
from slicewise.score import schemas
from slicewise.score.judge import Judge, JudgeItem, ProxyJudge, Verdict
from slicewise.score.pair_cache import PairCache
from slicewise.score.paths import Paths
from slicewise.score.reasoning import Texts
from slicewise.score.rows import Row, parser_version, side_by_side, write
from slicewise.score.signature import signature
from slicewise.score.texts import TextSource, text_signature

DECIMALS = 6


@dataclass(frozen=True, slots=True)
class Values:
    """What a metric computed for the items that are ``ok``.

    Attributes:
        rows: The columns of the metric, in the order of the items; ``value`` and ``outcome`` among them.
        signature: The engine's own, on one line.
    """

    rows: Sequence[Row]
    signature: str


def score(
    job: ScoreJob,
    models: Sequence[Paths],
    root: Path,
    threads: int,
    texts: TextSource,
    cache_type: type[PairCache] = PairCache,
) -> None:
    """Compute ``similarity``, ``bertscore`` or ``judge`` of all models and write one file each."""
    per_model = [_items(job, paths, texts) for paths in models]
    wanted = [item for items in per_model for item in items if item.outcome is Outcome.OK]
    with cache_type(root / layout.pair_cache()) as cache:
        engine = partial(_judge, store=root / layout.STORE) if job.metric == "judge" else ENGINES[job.metric]
        computed = engine(job, wanted, threads, cache)
    values = iter(computed.rows)
    for paths, items in zip(models, per_model, strict=True):
        constant = _signature(job, paths, computed.signature)
        rows = [_row(job, paths, item, values, constant) for item in items]
        write(paths.score(job.metric), [rows], schemas.schema(job.metric))


def _items(job: ScoreJob, paths: Paths, texts: TextSource) -> list[Texts]:
    if job.metric == "similarity":
        return list(open_answers(paths))
    return [item for batch in texts(job, paths) for item in batch]


def _signature(job: ScoreJob, paths: Paths, engine: str) -> str:
    if job.metric == "similarity":
        parts = {"parser": parser_version(paths.parsed), "engine": engine, **paths.declared}
        return signature(job.metric, job.protocol, parts)
    return text_signature(job, paths, {"engine": engine})


def _row(job: ScoreJob, paths: Paths, item: Texts, values: Iterator[Row], constant: str) -> Row:
    own = next(values) if item.outcome is Outcome.OK else _judge_columns(job)
    flags = list(dict.fromkeys((*item.flags, *own.get("flags", ()))))
    row = {"value": None, "outcome": str(item.outcome), **own, "flags": flags, "signature": constant}
    return {**paths.ids({"sample_id": item.sample_id}), **row}


def open_answers(paths: Paths) -> Iterable[Texts]:
    """Answer and gold answer of every open-ended item that the A-Score applies to."""
    batches = side_by_side(
        paths.samples,
        paths.parsed,
        tasks=A_TASKS,
        sample_columns=["question_type", "question", "answer"],
        parsed_columns=["text", "text_outcome"],
    )
    for batch in batches:
        for sample, parsed in batch:
            if sample["question_type"] == "open_ended":
                yield _open(sample, parsed)


def _open(sample: Row, parsed: Row) -> Texts:
    outcome = Outcome(parsed["text_outcome"])
    if outcome is Outcome.OK and not sample["answer"].strip():
        outcome = Outcome.NO_REFERENCE
    if outcome is not Outcome.OK:
        return Texts(sample["sample_id"], None, None, sample["question"], outcome)
    return Texts(sample["sample_id"], parsed["text"], sample["answer"], sample["question"], outcome)


# --- engines --------------------------------------------------------------------------------------------------------


def _similarity(job: ScoreJob, items: Sequence[Texts], threads: int, cache: PairCache) -> Values:
    from slicewise.score import similarity

    if job.encoder is None:
        raise UserError("metric 'similarity': the settings name no encoder; expected one under 'encoder'.")
    cosines = similarity.cosine_pairs([i.pair for i in items], encoder=job.encoder, threads=threads, cache=cache)
    return Values([_plain(cosine) for cosine in cosines], similarity.signature(job.encoder))


def _plain(value: float | None) -> Row:
    if value is None:
        return {"value": None, "outcome": str(Outcome.NO_REFERENCE)}
    return {"value": _rounded(value), "outcome": str(Outcome.OK)}


def _bertscore(job: ScoreJob, items: Sequence[Texts], threads: int, cache: PairCache) -> Values:
    from slicewise.score import bert

    if job.encoder is None or job.rescale is None:
        raise UserError("metric 'bertscore': the settings lack 'encoder' or 'rescale'; expected both.")
    found = bert.score_pairs(
        [i.pair for i in items],
        encoder=job.encoder,
        threads=threads,
        cache=cache,
        rescale=job.rescale,
        precision=job.precision or "fp32",
        engine=job.engine or "torch",
    )
    rescaled = found.f1_rescaled or [None] * len(items)
    columns = zip(found.precision, found.recall, found.f1_raw, rescaled, found.flags, strict=True)
    rows = [
        {
            **_plain(_unit(scaled if job.rescale else raw)),
            "precision": _rounded(precision),
            "recall": _rounded(recall),
            "f1_raw": _rounded(raw),
            "f1_rescaled": _rounded(scaled),
            "flags": flags,
        }
        for precision, recall, raw, scaled, flags in columns
    ]
    return Values(rows, found.signature)


def _unit(value: float | None) -> float | None:
    """Clipped to [0, 1]: the card demands AR in [0, 1], and a rescaled F1 can be negative."""
    return None if value is None else min(max(value, 0.0), 1.0)


def _rounded(value: float | None) -> float | None:
    # Adding 0.0 turns -0.0 into 0.0, which prints and hashes alike.
    return None if value is None else round(value, DECIMALS) + 0.0


def _judge(job: ScoreJob, items: Sequence[Texts], threads: int, cache: PairCache, store: Path) -> Values:
    judge = judge_of(job, threads, cache, store)
    verdicts = judge.rate([JudgeItem(i.sample_id, i.question, i.pair[1], i.pair[0]) for i in items])
    return Values([_verdict_row(judge, verdict) for verdict in verdicts], judge.signature)


def judge_of(job: ScoreJob, threads: int, cache: PairCache | None, store: Path) -> Judge:
    """The judge that the settings declare; ``store`` is the folder of the response store.

    Raises:
        UserError: They declare none.
    """
    if job.judge is not None and job.judge.kind != "proxy":
        from slicewise.score import judge_llm

        return judge_llm.declared(job, store)
    if job.judge is None or job.encoder is None:
        raise UserError("metric 'judge': the settings name no judge; expected one under 'judge'.")
    return ProxyJudge(job.encoder, threads, cache)


def _verdict_row(judge: Judge, verdict: Verdict) -> Row:
    members = [
        {"judge": name, "reply": said.reply, "request_key": said.request_key, **_ratings(said)}
        for name, said in verdict.members
    ]
    return {
        **_ratings(verdict),
        "judge": judge.name,
        "proxy": judge.proxy,
        "flags": verdict.flags,
        "reply": _stored(verdict.reply),
        "self_reply": _stored(verdict.self_reply),
        "request_key": verdict.request_key,
        "members": [{**member, "reply": _stored(member["reply"])} for member in members] or None,
    }


def _ratings(verdict: Verdict) -> Row:
    return {
        "value": _rounded(verdict.value),
        "outcome": str(verdict.outcome),
        "accuracy": _rounded(verdict.accuracy),
        "relevance": _rounded(verdict.relevance),
        "helpfulness": _rounded(verdict.helpfulness),
    }


def _stored(text: str | None) -> str | None:
    return None if text is None else storable(text)


def _judge_columns(job: ScoreJob) -> Row:
    """What a row says of the judge even when there was nothing to judge."""
    if job.judge is None:
        return {}
    proxy = job.judge.kind == "proxy"
    return {"judge": job.judge.kind if proxy or job.judge_name is None else job.judge_name, "proxy": proxy}


ENGINES: dict[str, Callable[[ScoreJob, Sequence[Texts], int, PairCache], Values]] = {
    "similarity": _similarity,
    "bertscore": _bertscore,
}
