"""Rows of the A-Score: one parsed answer beside one gold answer."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slicewise import artifacts
from slicewise.outcome import Outcome
from slicewise.parse.gold import gold_count, gold_letters, gold_yes_no
from slicewise.score import answer
from slicewise.score.answer import AnswerScore, Open

SAMPLE_COLUMNS = ("question_type", "options", "answer", "labels")
PARSED_COLUMNS = ("kind", "answer", "letters", "count", "answer_outcome", "answer_flags")
GOLD_UNREADABLE = "gold_unreadable"


@dataclass(frozen=True, slots=True)
class Cosines:
    """Similarity scores by sample.

    Attributes:
        values: ``sample_id`` to value and outcome.
        signature: How they were made; ``None`` without any.
    """

    values: Mapping[str, tuple[float | None, Outcome]] = field(default_factory=dict)
    signature: str | None = None

    def of(self, sample_id: str) -> tuple[float | None, Outcome]:
        """The cosine, or why there is none."""
        return self.values.get(sample_id, (None, Outcome.NOT_RUN))


def read_cosines(path: Path) -> Cosines:
    """The similarity file of a model.

    Raises:
        UserError: The file is missing.
    """
    rows = artifacts.read_rows(path, columns=["sample_id", "value", "outcome", "signature"])
    values = {row["sample_id"]: (row["value"], Outcome(row["outcome"])) for row in rows}
    return Cosines(values, rows[0]["signature"] if rows else None)


@dataclass(frozen=True, slots=True)
class Gold:
    """What an answer is compared with.

    Attributes:
        value: ``yes`` or ``no``, a letter, a list of letters, a count or a text; ``None`` when it cannot be read.
        canonical: The same as one string.
    """

    value: str | list[str] | int | None
    canonical: str | None


def read_gold(kind: str, text: str, options: Mapping[str, str]) -> Gold:
    """The gold answer as the kind of answer that the item asks for."""
    if kind in ("single_choice", "multiple_choice"):
        letters = gold_letters(text, dict(options) or None)
        if kind == "single_choice":
            (letter,) = letters if len(letters) == 1 else (None,)
            return Gold(letter, letter)
        # An empty set is a gold that cannot be read: a question with no right option writes no letter at all.
        return Gold(letters or None, ", ".join(letters) or None)
    value = {"yes_no": gold_yes_no, "count": gold_count}.get(kind, _text)(text)
    return Gold(value, None if value is None else str(value))


def _text(text: str) -> str | None:
    return text.strip() or None


def answer_row(sample: Mapping[str, Any], parsed: Mapping[str, Any], cosines: Cosines) -> dict[str, Any]:
    """The columns of one item's A-Score, without ids and signature."""
    gold = read_gold(parsed["kind"], sample["answer"], sample["options"] or {})
    scored = _score(sample, parsed, gold, cosines)
    return {
        "value": scored.value,
        "outcome": str(scored.outcome),
        "flags": list(dict.fromkeys((*parsed["answer_flags"], *scored.flags))),
        "kind": parsed["kind"],
        "reading": parsed["answer"],
        "gold": gold.canonical,
        "keyword_recall": scored.keyword_recall,
        "similarity": scored.similarity,
    }


def _score(sample: Mapping[str, Any], parsed: Mapping[str, Any], gold: Gold, cosines: Cosines) -> AnswerScore:
    outcome = Outcome(parsed["answer_outcome"])
    if outcome is not Outcome.OK:
        return AnswerScore(None, outcome)
    if gold.value is None:
        return AnswerScore(None, Outcome.NO_REFERENCE, (GOLD_UNREADABLE,))
    if parsed["kind"] == "open_text":
        similarity, why = cosines.of(sample["sample_id"])
        return answer.open_ended(parsed["answer"], Open(sample["answer"], sample["labels"], similarity, why))
    return AnswerScore(RULES[parsed["kind"]](parsed, gold.value), Outcome.OK)


def _multiple(parsed: Mapping[str, Any], gold: Any) -> float:
    return answer.letter_sets(parsed["letters"] or (), gold)


RULES: dict[str, Callable[[Mapping[str, Any], Any], float]] = {
    "yes_no": lambda parsed, gold: answer.exact(parsed["answer"], gold),
    "single_choice": lambda parsed, gold: answer.exact(parsed["answer"], gold),
    "multiple_choice": _multiple,
    "count": lambda parsed, gold: answer.exact(parsed["count"], gold),
    "short_text": lambda parsed, gold: answer.short_text(parsed["answer"], gold),
}
