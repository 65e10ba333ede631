"""A-Score of the released scorer: one answer against its gold answer.

Source: recorded behaviour of the released evaluator (see ``docs/reference-protocol.md``).
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from .answers import choice_letters, number, yes_no

_OPEN_TYPES = frozenset({"open_ended", "chain_of_thought"})


def a_score(prediction: str, gold: str, qa_type: str, labels: Sequence[str] = ()) -> float:
    """Score one answer.

    - ``closed_ended``: when the gold reads as yes or no, equality with the prediction's yes/no; else when it
      reads as a count, equality of counts; else 0, whatever the prediction says.
    - ``single_choice``: the alphabetically first letters are equal.
    - ``multiple_choice`` (or ``multi_choice``): F1 of the letter sets, 0 when either is empty.
    - ``open_ended``, ``chain_of_thought``: see :func:`open_ended`. Whole runs never come here.

    Args:
        prediction: The model's answer; reasoning blocks are read like the rest.
        gold: The gold answer.
        qa_type: Question type.
        labels: Gold labels, for the open-ended types only.

    Returns:
        A score in [0, 1]; 0 for an unknown question type.

    Raises:
        AttributeError: When the gold of a closed-ended item is not a string, as in the released code.
        TypeError: When another text is not a string.
    """
    if qa_type in _OPEN_TYPES:
        return open_ended(prediction, gold, labels)
    score = _SCORERS.get(qa_type)
    return score(prediction, gold) if score else 0.0


def open_ended(prediction: str, gold: str, labels: Sequence[str] = ()) -> float:
    """Keyword recall of the labels as lower-cased substrings; without labels, word recall of the gold answer.

    The released function averages this with a sentence similarity when an encoder is installed; the recordings
    were made without one, and no whole run calls it, so the room has no encoder.

    Args:
        prediction: The model's answer.
        gold: The gold answer, used only when there are no labels.
        labels: Gold labels.

    Returns:
        A recall in [0, 1].
    """
    lowered = prediction.lower()
    if labels:
        return sum(label.lower() in lowered for label in labels) / len(labels)
    words = set(gold.lower().split())
    return len(words & set(lowered.split())) / len(words) if words else 0.0


def _closed_ended(prediction: str, gold: str) -> float:
    expected = yes_no(gold)
    if expected is not None:
        return 1.0 if yes_no(prediction) == expected else 0.0
    count = number(gold)
    if count is not None:
        return 1.0 if number(prediction) == count else 0.0
    return 0.0


def _single_choice(prediction: str, gold: str) -> float:
    read, expected = choice_letters(prediction), choice_letters(gold)
    return 1.0 if read and expected and read[0] == expected[0] else 0.0


def _multiple_choice(prediction: str, gold: str) -> float:
    read, expected = set(choice_letters(prediction)), set(choice_letters(gold))
    common = len(read & expected)
    if not common:
        return 0.0
    precision, recall = common / len(read), common / len(expected)
    return 2 * precision * recall / (precision + recall)


_SCORERS: dict[str, Callable[[str, str], float]] = {
    "closed_ended": _closed_ended,
    "single_choice": _single_choice,
    "multiple_choice": _multiple_choice,
    "multi_choice": _multiple_choice,
}
