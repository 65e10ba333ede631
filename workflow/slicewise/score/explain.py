"""Why an item scores differently under the two protocols: one reason of a small closed list.

Every reason names a mechanism of the released scorer or a rule of ``card``; there is no "other". The reasons are told
apart by what the two protocols read, not by the scores.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slicewise.outcome import MACHINE_FAILURES, MODEL_FAILURES, Outcome
from slicewise.reference import answers as released
from slicewise.reference.run import ItemScore
from slicewise.score.attribution import Pair

REASONS: dict[str, str] = {
    "failure_scored": "a failed call, a refusal or an empty answer gets points from the released scorer",
    "guess_rewarded": "nothing can be read for certain; the released scorer guesses, and is right",
    "open_ended_unscored": "the released scorer never scores open-ended items",
    "short_text_never_right": "the released scorer has no rule for closed answers other than yes, no or a number",
    "substring_no": "the released scorer finds 'no' or 'yes' inside another word",
    "article_a": "the released scorer takes the article 'a' for the letter A",
    "letters_a_to_d": "the released scorer knows only the letters A to D",
    "every_letter": "the released scorer collects letters that the answer only mentions, and takes the first",
    "final_answer_cut": "the released scorer keeps one letter of a final answer that names several",
    "last_number": "the released scorer takes the last number, whatever it counts",
    "verdict_order": "both read a verdict: card the last explicit one, the released scorer the first or any",
    "answer_unread": "card reads an answer that the released scorer cannot read",
    "boxes_unread": "card reads boxes in a syntax that the released scorer does not know",
    "box_count": "the two read another number of boxes, by syntax or by a rule that rejects or collapses boxes",
    "unit_guess": "the released scorer guesses unit or order of the coordinates",
    "frame_default": "the released scorer puts boxes without a frame, and frame 0, on frame 1",
    "gold_rules": "the gold is read differently: its letters, its boxes without area, or its duplicates",
    "denominator": "another number of items is in the mean",
}


@dataclass(frozen=True, slots=True)
class Item:
    """One item with what both protocols made of it.

    Attributes:
        text: The output; ``None`` when there is none.
        parsed: Row of the parsed table.
        card: Row of the card's score file; ``None`` when the metric does not apply.
        reference: The released scorer's result; ``None`` when it has none.
        value: The released scorer's value of the metric; ``None`` when it gives none.
    """

    sample_id: str
    level: str
    text: str | None
    parsed: Mapping[str, Any]
    card: Mapping[str, Any] | None
    reference: ItemScore | None
    value: float | None

    @property
    def outcome(self) -> Outcome:
        """Outcome under ``card``."""
        return Outcome(self.card["outcome"]) if self.card else Outcome.NO_REFERENCE

    @property
    def card_value(self) -> float | None:
        """The value in the mean of ``card``: 0 for a failure of the model, ``None`` outside of the mean."""
        if self.card is None or self.outcome.counts_in_no_mean:
            return None
        return float(self.card["value"] or 0.0)


def pair(metric: str, item: Item) -> Pair:
    """Both values of an item, and why they differ."""
    differ = item.card_value != item.value
    return Pair(item.sample_id, item.card_value, item.value, REASON_OF[metric](item) if differ else None)


def _failed(item: Item) -> str | None:
    """The reasons that need no reading: something failed, or one side has no score."""
    if item.outcome in MACHINE_FAILURES:
        return "failure_scored"
    if item.outcome in MODEL_FAILURES:
        sure = item.outcome in (Outcome.REFUSED, Outcome.EMPTY)
        return "failure_scored" if sure else "guess_rewarded"
    return None


def answer_reason(item: Item) -> str:
    """Why the A-Score differs."""
    failed = _failed(item)
    if failed:
        return failed
    if item.card_value is None:
        return "gold_rules"
    kind = str(item.parsed["kind"])
    if item.value is None or item.reference is None or kind == "open_text":
        return "open_ended_unscored"
    if kind == "short_text":
        return "short_text_never_right"
    return _READINGS[kind](item, item.reference.answer or "")


def _yes_no(item: Item, text: str) -> str:
    read = released.yes_no(text)
    if read is None:
        return "answer_unread"
    word = "yes" if read else "no"
    if item.parsed["answer"] == word:
        return "gold_rules"
    return "verdict_order" if re.search(rf"\b{word}\b", text, re.IGNORECASE) else "substring_no"


def _letters(item: Item, text: str) -> str:
    """For one letter and for several: what the released scorer collected beside what card read."""
    read = set(released.choice_letters(text))
    ours = set(item.parsed["letters"] or ())
    if not read:
        return "letters_a_to_d" if ours - set("ABCD") else "answer_unread"
    if ours - set("ABCD"):
        return "letters_a_to_d"
    if "A" in read - ours and not re.search(r"\bA\b", text):
        return "article_a"
    if read < ours and item.level == "volume" and text != (item.text or ""):
        return "final_answer_cut"
    if ours < read:
        return "every_letter"
    return "gold_rules" if read == ours else "verdict_order"


def _count(item: Item, text: str) -> str:
    read = released.number(text)
    if read is None:
        return "answer_unread"
    return "gold_rules" if read == item.parsed["count"] else "last_number"


_READINGS: dict[str, Callable[[Item, str], str]] = {
    "yes_no": _yes_no,
    "single_choice": _letters,
    "multiple_choice": _letters,
    "count": _count,
}


def grounding_reason(item: Item) -> str:
    """Why the V-Score differs."""
    failed = _failed(item)
    if failed:
        return failed
    if item.card_value is None or item.value is None or item.reference is None:
        return "gold_rules"
    ours = sorted((b["frame"], b["x0"], b["y0"], b["x1"], b["y1"]) for b in _framed(item))
    theirs = sorted((b["frame"], *_corners(b["xywh"])) for b in item.reference.pred_boxes)
    if len(ours) != len(theirs):
        return "box_count" if theirs else "boxes_unread"
    if not _same([b[1:] for b in ours], [b[1:] for b in theirs]):
        return "unit_guess"
    if item.level == "volume" and [b[0] for b in ours] != [b[0] for b in theirs]:
        return "frame_default"
    return "gold_rules"


def _framed(item: Item) -> list[dict[str, Any]]:
    """Card's boxes with frames as the text writes them, 1 for the first; 0 where there is none."""
    boxes = item.parsed["boxes"] or ()
    return [{**box, "frame": 0 if box["frame"] is None else box["frame"] + 1} for box in boxes]


def _corners(xywh: Sequence[float]) -> tuple[float, float, float, float]:
    x, y, width, height = xywh
    return (x, y, x + width, y + height)


def _same(ours: Sequence[tuple[float, ...]], theirs: Sequence[tuple[float, ...]]) -> bool:
    pairs = zip(sorted(ours), sorted(theirs), strict=True)
    return all(abs(a - b) < 1e-6 for one, other in pairs for a, b in zip(one, other, strict=True))


REASON_OF: dict[str, Callable[[Item], str]] = {"answer": answer_reason, "grounding": grounding_reason}
