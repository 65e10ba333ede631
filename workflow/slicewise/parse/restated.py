"""Sentences that restate the question: "The spleen is enlarged." to "Is the spleen enlarged?".

Only the question's own words count, in their order, in a sentence that neither hedges nor turns: nothing is inferred.
"""

from __future__ import annotations

import re

_ASKED = re.compile(
    r"(?:\A|(?<=[.!?:\n]))\s*(?P<how>is there|are there|was there|were there|is|are|was|were|does|do|did|has|have"
    r"|can you see|do you see)\s+(?P<rest>[^?\n]{2,200})\?",
    re.IGNORECASE,
)
_WORD = re.compile(r"[a-z0-9]+(?:-[a-z0-9]+)*", re.IGNORECASE)
_DROPPED = frozenset([
    "a", "an", "the", "any", "some", "there", "is", "are", "was", "were", "do", "does", "did", "has", "have",
    "been", "be", "clearly", "indeed", "also", "definitely", "currently", "evidence", "sign", "signs", "of",
])  # fmt: skip
_SEEN = re.compile(
    r"\A(?:i|we) (?:can )?(?:see|note|observe|identify|find)\s"
    r"|\A(?:the|this) (?:\w+ ){0,2}?(?:image|mri|ct|scan|study|volume|slice|frame|knee|brain)s? (?:clearly )?"
    r"(?:shows?|demonstrates?|reveals?|contains?|depicts?)\s"
    r"|\b(?:present|seen|visible|identified|detected|found|observed|noted|evident)\b(?=\s*(?:\Z|\(|(?:in|on|at|within)\b))",
    re.IGNORECASE,
)
_WHERE = re.compile(r"\s(?:in|on|at|within|near|along|throughout|involving|across)\s.*\Z", re.IGNORECASE)
_ANYWHERE = re.compile(
    r"\s(?:in|on|of|within|from)\s(?:this|the|these|that)\s(?:(?:brain|knee|head|axial|sagittal|coronal|given|provided"
    r"|patient'?s?|mri?|ct)\s){0,4}(?:images?|scans?|volumes?|stud(?:y|ies)|slices?|frames?|mri|ct|exam\w*|series"
    r"|sequence|brain|knee|head|patient)\s*\Z",
    re.IGNORECASE,
)
_TURNS = re.compile(
    r"\b(?:not|no|n't|without|never|neither|nor|if|unless|may|might|could|would|should|possibl\w+|probabl\w+|perhaps"
    r"|maybe|likely|unlikely|suspected|suspicious|questionable|apparent|rule|excluded?|except|free|absent|absence|mimic\w*"
    r"|unclear|uncertain|whether|cannot|can't|versus|vs|or|but|however|although|though|former|prior|previous|old|history"
    r"|almost|nearly|barely|hardly|borderline|doubt\w*|question\w*|false|denied|negative)\b|n't\b",
    re.IGNORECASE,
)
_BREAK = re.compile(r"[.!;:\n](?=\s|\Z)|,\s|\s[-–—]\s|\(")
_OPPOSITE = (("normal", "abnormal"), ("intact", "torn"), ("symmetric", "asymmetric"))


def restated(text: str, question: str | None) -> str | None:
    """``"yes"`` or ``"no"`` when the first clause of a text is the question turned into a statement, else ``None``.

    Args:
        text: The text without decoration.
        question: The question; without one nothing can be a restatement.
    """
    asked = _ASKED.search(question) if question else None
    if asked is None:
        return None
    text = " ".join(text.split()).strip(" \"'*")
    first = _BREAK.split(text, maxsplit=1)[0].strip()
    if not first or "?" in text or len(first) > 200 or _TURNS.search(text[len(first) : 600]):
        return None
    denied = re.subn(r"\b(?:is|are|was|were|does|do) not\b|\b(?:is|are|was|were|does|do)n't\b", "is", first)
    rest = _ANYWHERE.sub("", f" {asked['rest'].strip()}")
    wanted = _words(rest)
    exists = "there" in asked["how"].lower() or "see" in asked["how"].lower()
    if not wanted or _TURNS.search(denied[0]):
        return None
    said = _said(denied[0], exists)
    if exists:
        return "yes" if not denied[1] and _covers(said, wanted, first) else None
    turned = said == _words(_opposite(asked["rest"]))
    if (said == wanted or turned) and len(wanted) > 1:
        return "no" if turned != bool(denied[1]) else "yes"
    return None


def _said(clause: str, exists: bool) -> list[str]:
    clause = _ANYWHERE.sub("", f" {clause.strip()}").strip()
    return _words(_SEEN.sub(" ", clause) if exists else clause)


def _covers(said: list[str], wanted: list[str], clause: str) -> bool:
    """Whether a clause names just what was asked for, maybe with a place that the question left open."""
    if said == wanted:
        return True
    place = _WHERE.search(_SEEN.sub(" ", clause).strip())
    stem = _words(_SEEN.sub(" ", clause.strip())[: place.start()]) if place else []
    return stem == wanted


def _words(text: str) -> list[str]:
    out = [word.lower() for word in _WORD.findall(text)]
    return [word.removesuffix("s") if len(word) > 3 else word for word in out if word not in _DROPPED]


def opposites(word: str) -> set[str]:
    """The predicates that say the opposite of one."""
    return {b if word == a else a for a, b in _OPPOSITE if word in (a, b)}


def _opposite(rest: str) -> str:
    """The question's words with a predicate replaced by its opposite, or nothing."""
    for a, b in _OPPOSITE:
        for old, new in ((a, b), (b, a)):
            if re.search(rf"\b{old}\b", rest, re.IGNORECASE):
                return re.sub(rf"\b{old}\b", new, rest, flags=re.IGNORECASE)
    return ""
