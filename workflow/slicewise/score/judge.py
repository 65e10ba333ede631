"""Judges: something that rates how well a text says what a reference says.

A judge rates all items in one call, so that one which asks a language model may run requests concurrently, store and
resume. Those live in :mod:`slicewise.score.judge_llm`. The judge here is a proxy: it is marked in every row that it
makes and in the signature, and its numbers are never compared with published ones.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from slicewise.outcome import Outcome

if TYPE_CHECKING:
    from slicewise.params import Encoder
    from slicewise.score.pair_cache import PairCache

DIMENSIONS = ("accuracy", "relevance", "helpfulness")
SCALE = (1, 10)


@dataclass(frozen=True, slots=True)
class JudgeItem:
    """What a judge sees of one item."""

    sample_id: str
    question: str
    reference: str
    candidate: str


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge says of one item.

    Attributes:
        value: In [0, 1]: the mean of the three dimensions over 10; ``None`` exactly when ``outcome`` is not ``ok``.
        outcome: ``ok``, or ``judge_error`` when the reply stayed unreadable or off the scale after one retry.
        accuracy: 1 to 10, as ``relevance`` and ``helpfulness``; ``None`` for a proxy.
        reply: What a language model wrote.
        self_reply: What it wrote of the reference itself (released judge).
        request_key: Key of the call in the response store.
        members: What each judge of a panel says, by name.
    """

    value: float | None
    outcome: Outcome = Outcome.OK
    accuracy: float | None = None
    relevance: float | None = None
    helpfulness: float | None = None
    flags: tuple[str, ...] = ()
    reply: str | None = None
    self_reply: str | None = None
    request_key: str | None = None
    members: tuple[tuple[str, Verdict], ...] = ()


class Judge(Protocol):
    """What rates texts.

    Attributes:
        name: The judge's name in rows and signature.
        proxy: Whether it only stands in for a judge.
    """

    @property
    def name(self) -> str:
        """The judge's name in rows and signature."""
        ...

    @property
    def proxy(self) -> bool:
        """Whether it only stands in for a judge."""
        ...

    @property
    def signature(self) -> str:
        """Everything that can change a verdict, on one line."""
        ...

    def rate(self, items: Sequence[JudgeItem]) -> list[Verdict]:
        """One verdict per item, in order; a failed request is a verdict with an outcome, never an exception."""
        ...


def mean_rating(accuracy: float, relevance: float, helpfulness: float) -> float:
    """The mean of three ratings from 1 to 10, over 10, so in [0.1, 1].

    The evaluation card fixes neither rubric nor scale; these are those of the released scorer.
    """
    return (accuracy + relevance + helpfulness) / (len(DIMENSIONS) * SCALE[1])


class ProxyJudge:
    """The cosine of the sentence embeddings of candidate and reference, negative ones as 0.

    It measures likeness of wording and topic, not truth: it hardly notices a dropped "no" or a swapped side. It sees
    neither the question nor an image, and rates no dimension.
    """

    name = "proxy"
    proxy = True

    def __init__(self, encoder: Encoder, threads: int, cache: PairCache | None) -> None:
        self._encoder = encoder
        self._threads = threads
        self._cache = cache

    @property
    def signature(self) -> str:
        """The encoder's signature, marked as a proxy."""
        from slicewise.score import similarity

        return f"proxy({similarity.signature(self._encoder)})"

    def rate(self, items: Sequence[JudgeItem]) -> list[Verdict]:
        """The clipped cosine of each item; an empty candidate gets 0."""
        from slicewise.score import similarity

        pairs = [(item.candidate, item.reference) for item in items]
        cosines = similarity.cosine_pairs(pairs, encoder=self._encoder, threads=self._threads, cache=self._cache)
        return [_verdict(cosine) for cosine in cosines]


def _verdict(cosine: float | None) -> Verdict:
    if cosine is None:
        return Verdict(None, Outcome.NO_REFERENCE)
    return Verdict(min(max(cosine, 0.0), 1.0), flags=("proxy",))
