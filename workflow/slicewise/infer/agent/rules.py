"""Rules of the system prompt that a turn can break without breaking its format; counted apart as protocol violations.

The checks are fixed word lists and patterns on purpose: they are the same for every model and can be read here. They
look at what is written, so they miss a claim in unusual words; what they count, they count alike for everybody.
"""

from __future__ import annotations

import re
from typing import Literal

from slicewise.infer.agent.protocol import Turn

Break = Literal["claim_before_load", "picture_not_interpreted", "raw_coordinates", "missing_unit"]
BREAKS: tuple[Break, ...] = ("claim_before_load", "picture_not_interpreted", "raw_coordinates", "missing_unit")

# A finding that is said to be seen, in a thought before anything was loaded.
_CLAIM = re.compile(
    r"\b(?:the (?:image|scan|slice|picture|ct|view|volume) (?:shows?|demonstrates?|reveals?|displays?|depicts?)"
    r"|(?:i|we) (?:can )?(?:see|observe|identify|note)\b"
    r"|there (?:is|are) (?:an? |the )?(?:\w+ ){0,3}(?:nodules?|mass(?:es)?|effusions?|opacit(?:y|ies)|consolidations?"
    r"|lesions?|calcifications?|fractures?|lymph nodes?)"
    r"|(?:is|are) (?:clearly )?visible\b)",
    re.IGNORECASE,
)
_WORDS = re.compile(r"[^\W\d_]{2,}")
_LEAST_WORDS = 4  # an interpretation of a picture has at least so many words
_NUMBER = r"-?\d+(?:\.\d+)?"
_COORDINATES = re.compile(
    rf"[\[(]\s*{_NUMBER}\s*,\s*{_NUMBER}\s*,\s*{_NUMBER}\s*[\])]"
    rf"|\b[xyz]\s*[=:]\s*{_NUMBER}\s*[,;]?\s*(?:and\s*)?[xyz]\s*[=:]\s*{_NUMBER}",
    re.IGNORECASE,
)
_BARE_NUMBER = re.compile(rf"\A[~≈<>]?\s*{_NUMBER}\Z")
_COUNTING = re.compile(r"\b(?:how many|number of|count)\b", re.IGNORECASE)


def breaks(turn: Turn, *, loaded: bool, picture_shown: bool, question: str) -> tuple[Break, ...]:
    """The rules that a turn breaks.

    Args:
        turn: The turn as read.
        loaded: Whether a volume was loaded before it.
        picture_shown: Whether the observation just before it held a picture.
        question: The question; a count needs no unit.
    """
    found: list[Break] = []
    if not loaded and _CLAIM.search(turn.analysis or turn.thought):
        found.append("claim_before_load")
    if picture_shown and len(_WORDS.findall(turn.analysis)) < _LEAST_WORDS:
        found.append("picture_not_interpreted")
    if turn.kind == "final":
        if _COORDINATES.search(turn.answer):
            found.append("raw_coordinates")
        if turn.boxed and _BARE_NUMBER.match(turn.boxed) and not _COUNTING.search(question):
            found.append("missing_unit")
    return tuple(found)
