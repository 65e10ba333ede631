"""AR-Score (evaluation card): what the texts that it compares are, and how its parts make one number.

``AR = 0.4 judge + 0.2 BERTScore F1 + 0.2 BLEU + 0.2 ROUGE-L``, each in [0, 1]. A missing part makes AR null with that
part's outcome; the weights are never spread over the others.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from slicewise.benchmarks.sgmri import AR_WEIGHTS
from slicewise.outcome import MACHINE_FAILURES, Outcome

ANSWER_AND_REASONING = "answer+reasoning"

Strip = Callable[[str], str]


@dataclass(frozen=True, slots=True)
class Texts:
    """What a text metric compares for one item.

    Attributes:
        candidate: The visible output; ``None`` exactly when ``outcome`` is not ``ok``.
        reference: The gold text; ``None`` likewise.
        question: The question, for a judge.
        outcome: ``ok``, the outcome of reading the output, or ``no_reference``.
    """

    sample_id: str
    candidate: str | None
    reference: str | None
    question: str
    outcome: Outcome
    flags: tuple[str, ...] = ()

    @property
    def pair(self) -> tuple[str, str]:
        """Candidate and reference of an item that is ``ok``."""
        if self.candidate is None or self.reference is None:
            raise ValueError(f"{self.sample_id}: there is nothing to compare ({self.outcome})")
        return (self.candidate, self.reference)


def texts(sample: Mapping[str, Any], parsed: Mapping[str, Any], reference: str, strip: Strip) -> Texts:
    """The texts of one item.

    Args:
        sample: Row of the samples table.
        parsed: Row of the parsed table.
        reference: ``answer``, or ``answer+reasoning`` (the gold reasoning is appended).
        strip: Removes coordinates and frame references; used on both sides of localization items.

    A failure of the model or of the machinery wins over an empty reference, so that the counts of outcomes agree over
    all metrics. An output of which nothing is left after stripping stays an answer: it is compared as an empty text,
    scores 0, and is flagged.
    """
    outcome = Outcome(parsed["text_outcome"])
    gold = sample["answer"]
    if reference == ANSWER_AND_REASONING and sample["reasoning"]:
        gold = f"{gold} {sample['reasoning']}"
    if outcome is not Outcome.OK:
        return Texts(sample["sample_id"], None, None, sample["question"], outcome)
    candidate = parsed["text"]
    flags: list[str] = []
    if sample["task"] == "localization":
        stripped = strip(candidate)
        if candidate.strip() and not stripped.strip():
            flags.append("empty_after_stripping")
        candidate, gold = stripped, strip(gold)
    if not gold.strip():
        return Texts(sample["sample_id"], None, None, sample["question"], Outcome.NO_REFERENCE, tuple(flags))
    return Texts(sample["sample_id"], candidate, gold, sample["question"], Outcome.OK, tuple(flags))


@dataclass(frozen=True, slots=True)
class Part:
    """One part of AR for one item: its value, or why it has none."""

    value: float | None
    outcome: Outcome


@dataclass(frozen=True, slots=True)
class Combined:
    """AR of one item."""

    value: float | None
    outcome: Outcome
    flags: tuple[str, ...] = ()


def combine(parts: Mapping[str, Part | None]) -> Combined:
    """AR from its four parts.

    Args:
        parts: By the names of :data:`slicewise.benchmarks.sgmri.AR_WEIGHTS`; ``None`` where the part has no row.

    Returns:
        The weighted sum; null when any part is missing. The outcome is then that of a part that failed in the
        machinery if there is one (the item must leave the mean even if the model failed too), else that of the first
        missing part; the missing parts are named in the flags.
    """
    present = {name: parts.get(name) or Part(None, Outcome.NOT_RUN) for name in AR_WEIGHTS}
    missing = {name: part for name, part in present.items() if part.value is None}
    if missing:
        outcomes = [part.outcome for part in missing.values()]
        outcome = next((o for o in outcomes if o in MACHINE_FAILURES), outcomes[0])
        whole = len(missing) == len(present) and len(set(outcomes)) == 1
        return Combined(None, outcome, () if whole else tuple(f"missing:{name}" for name in missing))
    value = sum(weight * (present[name].value or 0.0) for name, weight in AR_WEIGHTS.items())
    return Combined(min(max(value, 0.0), 1.0), Outcome.OK)
