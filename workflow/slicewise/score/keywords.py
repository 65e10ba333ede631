"""Keyword recall of open-ended answers (evaluation card: half of the open-ended A-Score).

Keywords are the gold labels, each one phrase; without labels the content words of the gold answer. A keyword is found
when its words stand next to each other, whole and in order, in the answer; "mass" is not found in "massive", and
punctuation and case do not matter ("Cartilage - Partial Thickness loss/defect" is five words).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_WORD = re.compile(r"[a-z0-9]+")

# Words that carry no finding. Fixed: a change of this list is a change of the metric.
_STOP_LIST = (
    "a about above after again all also an and any are as at be because been before being below between both but "
    "by can could did do does doing down during each either few finding findings for from further had has have "
    "having here how i if image images in into is it its itself may might more most mri must my neither nor not "
    "of off on once one only or other our out over own patient present same scan see seen shall she he should "
    "shown shows slice so some such than that the their them then there these they this those through to too "
    "under until up upon very volume was we were what when where which while who whom why will with within would "
    "you your"
)
STOP_WORDS = frozenset(_STOP_LIST.split())


def words(text: str) -> list[str]:
    """The lower-cased runs of ``a-z`` and ``0-9``."""
    return _WORD.findall(text.lower())


def keywords(labels: Sequence[str], answer: str) -> list[tuple[str, ...]]:
    """The phrases to look for, without repeats, in order.

    Args:
        labels: Gold labels; each one that has words is one phrase.
        answer: Gold answer, used when no label has words: its content words, or all its words when every one of them
            is a stop word.
    """
    phrases = [tuple(words(label)) for label in labels]
    phrases = [phrase for phrase in phrases if phrase]
    if not phrases:
        found = words(answer)
        phrases = [(word,) for word in found if word not in STOP_WORDS] or [(word,) for word in found]
    return list(dict.fromkeys(phrases))


def recall(text: str, wanted: Sequence[tuple[str, ...]]) -> float | None:
    """The share of the phrases that the text contains, in [0, 1]; ``None`` when there is nothing to look for."""
    if not wanted:
        return None
    # Words joined by blanks, with one at either end, make "whole words in order" a plain search.
    haystack = f" {' '.join(words(text))} "
    return sum(f" {' '.join(phrase)} " in haystack for phrase in wanted) / len(wanted)
