"""Questions from the facts of a written report, where no region is marked: the place is named in words.

A report of one scan names few places twice; a fact whose place another fact shares is left out, because a question
about it would have two answers.
"""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Iterator

from slicewise.data.ctflowbench.questions import BAND_OVER, BANDS, CLEAR_MM, Draft, checked, numbers, shuffled
from slicewise.data.ctflowbench.reports import Fact, facts

_NATURE = {
    "nodule": "solid soft-tissue nodule",
    "effusion": "free fluid in the pleural space",
    "calcification": "calcification",
}
_OTHER = ("lesion of pure fat", "air-filled cavity")


def place_of(fact: Fact) -> str | None:
    """The place of a fact in words that name no pathology; ``None`` when it is not specific."""
    if fact.kind == "nodule" and fact.side and fact.zone:
        return f"{fact.zone} part of the {fact.side} lung"
    if fact.kind == "effusion" and fact.side:
        return f"{fact.side} pleural space"
    if fact.kind == "calcification" and "aorta" in fact.places:
        return "wall of the aorta"
    return None


def drafts(findings: str, draw: random.Random) -> Iterator[Draft]:
    """The questions that a report gives, each checked."""
    placed = [(place, fact) for fact in facts(findings) if (place := place_of(fact)) is not None]
    count = Counter(place for place, _ in placed)
    for place, fact in placed:
        if count[place] > 1:
            continue
        for draft in (_diameter(place, fact, draw), _band(place, fact), _nature(place, fact, draw), _where(fact, draw)):
            if draft is not None:
                yield checked(draft)


def _diameter(place: str, fact: Fact, draw: random.Random) -> Draft | None:
    if fact.length_mm is None or fact.kind == "effusion":
        return None
    options, right = numbers(fact.length_mm, "mm", draw, step=0.3 * fact.length_mm, decimals=1)
    text = f"What is the longest axial diameter of the focal structure in the {place}?"
    return Draft("qa", "diameter", fact.kind, text, options, right)


def _band(place: str, fact: Fact) -> Draft | None:
    edges = {low for low, _, _ in BANDS} | {high for _, high, _ in BANDS}
    if fact.kind != "nodule" or fact.length_mm is None:
        return None
    if min(abs(fact.length_mm - edge) for edge in edges) < CLEAR_MM:
        return None
    titles = (*(title for _, _, title in BANDS), BAND_OVER)
    length = fact.length_mm
    right = next((i for i, (low, high, _) in enumerate(BANDS) if low < length <= high), len(BANDS))
    text = f"Into which size band does the focal structure in the {place} fall, by its longest axial diameter?"
    return Draft("di", "band", fact.kind, text, titles, right)


def _nature(place: str, fact: Fact, draw: random.Random) -> Draft | None:
    if fact.kind not in _NATURE:
        return None
    right_text = _NATURE[fact.kind]
    options, right = shuffled(right_text, [t for t in (*_NATURE.values(), *_OTHER) if t != right_text], draw)
    text = f"By its attenuation and its place, what is the structure in the {place} most likely?"
    return Draft("di", "nature", fact.kind, text, options, right)


def _where(fact: Fact, draw: random.Random) -> Draft | None:
    if fact.kind != "nodule" or fact.side is None or fact.zone is None or fact.length_mm is None:
        return None
    places = [f"{zone} part of the {side} lung" for side in ("left", "right") for zone in ("upper", "middle", "lower")]
    right_text = f"{fact.zone} part of the {fact.side} lung"
    options, right = shuffled(right_text, [place for place in places if place != right_text], draw)
    text = f"Where in the lungs does the focal structure of {fact.length_mm:.0f} mm lie?"
    return Draft("sm", "place", fact.kind, text, options, right)
