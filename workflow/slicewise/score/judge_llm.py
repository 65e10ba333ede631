"""Judges that are language models, asked through the response store: one, the released one, or a panel.

A verdict that cannot be read, is off the scale, or was never given is asked for once more under a draw number of its
own; then the item is a ``judge_error``. A call that the budget stopped is ``not_run``.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

from slicewise.artifacts import sha256_json
from slicewise.endpoints import LlmSettings
from slicewise.jobs import ScoreJob
from slicewise.judges import LlmJudge
from slicewise.llm import wire
from slicewise.llm.client import Client
from slicewise.llm.progress import Bar
from slicewise.llm.request import Message, Request
from slicewise.llm.result import Result
from slicewise.llm.store import Store
from slicewise.outcome import Outcome
from slicewise.parse import verdicts
from slicewise.reference import ar_score
from slicewise.score import rubric
from slicewise.score.judge import DIMENSIONS, SCALE, Judge, JudgeItem, Verdict, mean_rating
from slicewise.score.released_hook import released_hook

RETRY_DRAW = 1
DRAWS_PER_JUDGEMENT = 2  # the first draw of a judgement and the retry


@dataclass(frozen=True)
class Asking:
    """Where and how a run asks its judges: the store's folder and the run's settings."""

    store: Path
    settings: LlmSettings

    def answers(self, declared: LlmJudge, requests: Sequence[Request], name: str) -> list[Result]:
        """The results of the requests, in order; new replies are shared even when the run is stopped."""
        if not requests:
            return []
        with Store(self.store) as store, Bar(len(requests), f"judge {name}") as bar:
            try:
                return Client(declared.endpoint, store, self.settings).answer_all(requests, bar.update)
            finally:
                store.share()


class CardJudge:
    """A language model under the card's rubric."""

    proxy = False

    def __init__(
        self,
        name: str,
        declared: LlmJudge,
        asking: Asking,
        *,
        judgement: int = 0,
        order: rubric.Order = "reference_first",
    ) -> None:
        """A judge of that name.

        Args:
            name: The judge's name in the settings.
            declared: Its declaration.
            asking: Where and how to ask.
            judgement: 0, or the number of a repeated judgement, which draws anew.
            order: Which text is shown first; turned round only to measure its effect.
        """
        self._name, self.declared, self.asking = name, declared, asking
        self._judgement, self._order = judgement, order

    @property
    def name(self) -> str:
        """The judge's name in the settings."""
        return self._name

    @property
    def signature(self) -> str:
        """Deployment, sampling, rubric and scale."""
        return f"{_signature(self.declared)};rubric:card@{rubric.rubric_hash()[:12]};scale:{SCALE[0]}-{SCALE[1]}"

    def request(self, item: JudgeItem, draw: int = 0) -> Request:
        """The request for a verdict."""
        endpoint = self.declared.endpoint
        return Request(
            deployment=endpoint.deployment,
            messages=rubric.messages(item, self._order),
            sampling=wire.sampling(endpoint),
            schema=rubric.SCHEMA,
            draw=self._judgement * DRAWS_PER_JUDGEMENT + draw,
            item=item.sample_id,
            structured=endpoint.structured,
        )

    def rate(self, items: Sequence[JudgeItem]) -> list[Verdict]:
        """One verdict per item, in order. An empty candidate is 0 without a call."""
        asked = [index for index, item in enumerate(items) if item.candidate.strip()]
        found = [Verdict(0.0, flags=("empty_candidate",)) for _ in items]
        for draw in (0, RETRY_DRAW):
            requests = [self.request(items[index], draw) for index in asked]
            results = self.asking.answers(self.declared, requests, self._name)
            for index, result in zip(asked, results, strict=True):
                found[index] = read_verdict(result, retried=draw > 0)
            asked = [index for index in asked if found[index].outcome is Outcome.JUDGE_ERROR]
        return found


def read_verdict(result: Result, *, retried: bool = False) -> Verdict:
    """What a judge's reply says; anything that is no full verdict on the scale is a ``judge_error``."""
    flags = ("judge_retried",) if retried else ()
    reply = result.reply
    if reply is None:
        outcome = Outcome.NOT_RUN if result.outcome is Outcome.NOT_RUN else Outcome.JUDGE_ERROR
        return Verdict(None, outcome, flags=(*flags, f"judge:{result.outcome}"), request_key=result.key)
    if result.outcome is not Outcome.OK:
        return Verdict(
            None,
            Outcome.JUDGE_ERROR,
            flags=(*flags, f"judge:{result.outcome}"),
            reply=reply.text,
            request_key=result.key,
        )
    said = verdicts.read_verdict(reply.text, DIMENSIONS, SCALE)
    accuracy, relevance, helpfulness = (said.values[name] for name in DIMENSIONS)
    if accuracy is None or relevance is None or helpfulness is None:
        told = (*flags, f"judge:{said.outcome}", *said.flags)
        return Verdict(None, Outcome.JUDGE_ERROR, flags=told, reply=reply.text, request_key=result.key)
    return Verdict(
        mean_rating(accuracy, relevance, helpfulness),
        Outcome.OK,
        accuracy,
        relevance,
        helpfulness,
        (*flags, *said.flags),
        reply=reply.text,
        request_key=result.key,
    )


class ReleasedJudge:
    """The judge of the released scorer: three numbers, divided by what it gives the reference itself.

    That second call depends on the reference alone, so it is bought once per reference, whatever the number of models.
    """

    proxy = False

    def __init__(self, name: str, declared: LlmJudge, asking: Asking) -> None:
        """A judge of that name, with its declaration and the way to ask it."""
        self._name, self.declared, self.asking = name, declared, asking

    @property
    def name(self) -> str:
        """The judge's name in the settings."""
        return self._name

    @property
    def signature(self) -> str:
        """Deployment, sampling and the released arithmetic."""
        return f"{_signature(self.declared)};rubric:released"

    def request(self, item: JudgeItem, *, own: bool = False) -> Request:
        """The request for the rating of the candidate, or (``own``) of the reference against itself."""
        endpoint = self.declared.endpoint
        prompt = ar_score.judge_prompt(item.reference if own else item.candidate, item.reference)
        return Request(endpoint.deployment, (Message("user", (prompt,)),), wire.sampling(endpoint), item=item.sample_id)

    def rate(self, items: Sequence[JudgeItem]) -> list[Verdict]:
        """One verdict per item, in order, by the released arithmetic: a failed call is 0, as released."""
        requests = [self.request(item, own=own) for item in items for own in (False, True)]
        results = self.asking.answers(self.declared, requests, self._name)
        return [self._verdict(item, *results[2 * i : 2 * i + 2]) for i, item in enumerate(items)]

    @staticmethod
    def _verdict(item: JudgeItem, rated: Result, own: Result) -> Verdict:
        if Outcome.NOT_RUN in (rated.outcome, own.outcome):
            return Verdict(None, Outcome.NOT_RUN, flags=("judge:not_run",), request_key=rated.key)
        texts = [None if result.reply is None else result.reply.text for result in (rated, own)]
        value = ar_score.gpt_score(
            item.candidate, item.reference, released_hook(item.candidate, item.reference, *texts)
        )
        kept: dict[str, Any] = {"reply": texts[0], "self_reply": texts[1], "request_key": rated.key}
        if value is None:
            return Verdict(None, Outcome.JUDGE_ERROR, flags=("judge_dropped_as_released",), **kept)
        return Verdict(value, flags=("judge_failure_counts_0_as_released",) if value == 0.0 else (), **kept)


class PanelJudge:
    """Several judges; their mean counts, and what each one says is kept."""

    proxy = False

    def __init__(self, name: str, members: Sequence[Judge]) -> None:
        """A panel of that name."""
        self._name, self.members = name, tuple(members)

    @property
    def name(self) -> str:
        """The panel's name in the settings."""
        return self._name

    @property
    def signature(self) -> str:
        """The signatures of the members."""
        return f"mean({','.join(member.signature for member in self.members)})"

    def rate(self, items: Sequence[JudgeItem]) -> list[Verdict]:
        """The mean of all members; null with the reason as soon as one of them has no verdict."""
        columns = {member.name: member.rate(items) for member in self.members}
        return [_mean({name: column[i] for name, column in columns.items()}) for i in range(len(items))]


def _mean(verdicts_of: Mapping[str, Verdict]) -> Verdict:
    members = tuple(verdicts_of.items())
    missing = [(name, verdict) for name, verdict in members if verdict.value is None]
    flags = tuple(dict.fromkeys(flag for _, verdict in members for flag in verdict.flags))
    if missing:
        told = tuple(f"missing:{name}" for name, _ in missing)
        return Verdict(None, missing[0][1].outcome, flags=(*told, *flags), members=members)
    accuracy, relevance, helpfulness = (_mean_of([v for _, v in members], name) for name in DIMENSIONS)
    value = fmean(verdict.value for _, verdict in members if verdict.value is not None)
    return Verdict(value, Outcome.OK, accuracy, relevance, helpfulness, flags, members=members)


def _mean_of(said: Sequence[Verdict], dimension: str) -> float | None:
    """The mean rating of a dimension; ``None`` when a member gave none, as for an empty candidate."""
    ratings = [getattr(verdict, dimension) for verdict in said]
    return None if None in ratings else fmean(ratings)


def declared(job: ScoreJob, store: Path) -> Judge:
    """The language model or panel that a job's settings declare; ``store`` is the folder of the response store."""
    asking = Asking(store, job.llm or LlmSettings())
    if isinstance(job.judge, LlmJudge):
        kind = ReleasedJudge if job.judge.rubric == "released" else CardJudge
        return kind(job.judge_name or job.judge.endpoint.model, job.judge, asking)
    members = [CardJudge(name, member, asking) for name, member in (job.judges or {}).items()]
    return PanelJudge(job.judge_name or "panel", members)


def members_of(judge: Judge) -> list[tuple[str, CardJudge | ReleasedJudge, LlmJudge]]:
    """The language models behind a judge: itself, or the members of a panel, each with its name and declaration."""
    members = judge.members if isinstance(judge, PanelJudge) else (judge,)
    return [(m.name, m, m.declared) for m in members if isinstance(m, CardJudge | ReleasedJudge)]


def _signature(declared: LlmJudge) -> str:
    endpoint = declared.endpoint
    revision = f"@{endpoint.revision}" if endpoint.revision else ""
    rest = sha256_json({"deployment": endpoint.deployment, "sampling": wire.sampling(endpoint)})[:8]
    return f"llm({endpoint.provider}/{endpoint.model}{revision};settings:{rest})"
