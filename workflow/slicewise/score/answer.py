"""A-Score (evaluation card): how right one answer is, in [0, 1].

Exact match for yes or no and for one letter; ``2 |p & g| / (|p| + |g|)`` for letter sets, 0 when both are empty;
equality of integers for counts; normalised exact match for other closed questions (``FLAIR``); half keyword recall
and half cosine, clipped at 0, for open questions. What was read, from the answer and from the gold, is decided by the
parsers; nothing is read here.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

from slicewise.outcome import Outcome
from slicewise.score import keywords

OPEN_WEIGHT_KEYWORDS = 0.5
OPEN_WEIGHT_SIMILARITY = 0.5


@dataclass(frozen=True, slots=True)
class AnswerScore:
    """The A-Score of one item and what it was made from.

    Attributes:
        value: In [0, 1]; ``None`` exactly when ``outcome`` is not ``ok``.
    """

    value: float | None
    outcome: Outcome
    flags: tuple[str, ...] = ()
    keyword_recall: float | None = None
    similarity: float | None = None


@dataclass(frozen=True, slots=True)
class Open:
    """What an open-ended answer is compared with.

    Attributes:
        labels: Gold labels; empty when the item has none.
        answer: Gold answer.
        similarity: Cosine between the answer and the gold answer in [-1, 1]; ``None`` when it was not computed.
        outcome: Why there is no cosine.
    """

    answer: str
    labels: Sequence[str] = field(default_factory=tuple)
    similarity: float | None = None
    outcome: Outcome = Outcome.OK


def exact(reading: object, gold: object) -> float:
    """1 when equal, else 0: yes or no, one letter, a count."""
    return float(reading == gold)


def letter_sets(reading: Collection[str], gold: Collection[str]) -> float:
    """Twice the shared letters over all letters, 0 when both sets are empty."""
    read, expected = set(reading), set(gold)
    total = len(read) + len(expected)
    return 2 * len(read & expected) / total if total else 0.0


def normalised(text: str) -> str:
    """Compatibility form, case folded, blanks collapsed, without the punctuation around it."""
    folded = " ".join(unicodedata.normalize("NFKC", text).casefold().split())
    return folded.strip(" .,;:!?\"'`*_()[]")


def short_text(reading: str, gold: str) -> float:
    """1 when the normalised texts are equal, else 0."""
    return exact(normalised(reading), normalised(gold))


def open_ended(reading: str, gold: Open) -> AnswerScore:
    """Half keyword recall and half cosine, clipped at 0; a missing cosine is never replaced by the other half."""
    found = keywords.recall(reading, keywords.keywords(gold.labels, gold.answer))
    if found is None:
        return AnswerScore(None, Outcome.NO_REFERENCE, ("no_keywords",), None, gold.similarity)
    if gold.similarity is None:
        return AnswerScore(None, gold.outcome, (), found, None)
    value = OPEN_WEIGHT_KEYWORDS * found + OPEN_WEIGHT_SIMILARITY * max(0.0, gold.similarity)
    return AnswerScore(min(value, 1.0), Outcome.OK, (), found, gold.similarity)
