"""Why an item scores differently under the two protocols: one reason of a small closed list.

Every reason names a mechanism of the released scorer or a rule of ``card``; there is no "other". The reasons are told
apart by what the two protocols read, not by the scores: a step of the released reader is to blame when the reader
without that step reads something else. Where several steps differ the first of the readers' own order is named.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slicewise.outcome import MACHINE_FAILURES, MODEL_FAILURES, Outcome
from slicewise.parse import reasoning
from slicewise.reference import answers as released
from slicewise.reference.boxes import boxes
from slicewise.reference.run import IMAGE_SIZES, ItemScore
from slicewise.score.attribution import Pair

REASONS: dict[str, str] = {
    "failure_scored": "a failed call, a refusal or an empty answer is read and scored by the released scorer",
    "thinking_read": "the released scorer reads the reasoning block, not only the answer after it",
    "guess_rewarded": "nothing can be read for certain; the released scorer takes a verdict all the same",
    "open_ended_unscored": "the released scorer never scores open-ended items",
    "closed_text": "the released scorer has no rule for closed answers other than yes, no or a number",
    "substring_no": "the released scorer finds 'no' or 'yes' inside another word",
    "article_a": "the released scorer takes the article 'a' for the letter A",
    "letters_a_to_d": "the released scorer knows only the letters A to D",
    "first_letter": "one letter is asked for, several are named: the released scorer takes the first of the alphabet",
    "every_letter": "the released scorer collects every letter that the answer mentions",
    "truncated_letters": "the released scorer keeps one letter of a final answer that names several",
    "last_number": "the released scorer takes the last number, whatever it counts",
    "zero_word": "the released scorer takes 'none', 'zero' or 'no ... abnormal' for the count 0, wherever it stands",
    "verdict_order": "both read a verdict: card the last explicit one, the released scorer the first or any",
    "answer_unread": "card reads an answer that the released scorer cannot read",
    "boxes_unread": "card reads boxes in a syntax that the released scorer does not know",
    "box_rejected": "card rejects boxes that leave the image as the declared convention reads them",
    "dedup": "card counts exact duplicates of a box once",
    "box_syntax": "the two find another number of boxes in the text",
    "unit_guess": "the released scorer guesses unit or order of the coordinates",
    "frame_default": "the released scorer puts boxes without a frame, and frame 0, on frame 1",
    "gold_rules": "the gold is read differently: its letters, its boxes without area, or its duplicates",
    "dropped": "the released scorer drops questions that ask for a location a second time",
    "last_bits": "the same number, added up in another order: the two differ by less than 1e-12",
    "rounding": "the same sum, rounded in another order (below 1e-12)",
    "denominator": "another number of items is in the mean",
}
LAST_BITS = 1e-12
_ARTICLE = re.compile(r"\ba(?= +[a-z])|(?<![^\s])A(?= +(?!(?:and|as|because|is|or|since|with)\b)[a-z])")


ROUNDING = 1e-12


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
    card, value = item.card_value, item.value
    if card == value:
        return Pair(item.sample_id, card, value, None)
    same = card is not None and value is not None and abs(card - value) < LAST_BITS
    return Pair(item.sample_id, card, value, "last_bits" if same else REASON_OF[metric](item))


def _unread(item: Item) -> str | None:
    """The reasons that need no reading: a call failed, or nothing was written."""
    failed = item.outcome in (*MACHINE_FAILURES, Outcome.REFUSED, Outcome.EMPTY)
    if failed and not reasoning.remove(item.text or "").trace:
        return "failure_scored"
    return "dropped" if item.reference is None else None


# --- A --------------------------------------------------------------------------------------------------------------


def answer_reason(item: Item) -> str:
    """Why the A-Score differs."""
    unread = _unread(item)
    if unread or item.reference is None:
        return unread or "dropped"
    kind = str(item.parsed["kind"])
    if item.value is None or kind == "open_text":
        return "open_ended_unscored"
    if item.card_value is None:
        return "gold_rules"
    if kind == "short_text":
        return "closed_text"
    return _of_reading(kind, item, item.reference.answer or "")


def _of_reading(kind: str, item: Item, text: str) -> str:
    """The step of the released reader that makes the difference: without it, it reads something else."""
    read = _RELEASED[kind](text)
    without = reasoning.remove(text)
    if without.trace and _RELEASED[kind](without.text) != read:
        return "thinking_read"
    if read is None or read == []:
        ours = set(item.parsed["letters"] or ())
        return "letters_a_to_d" if ours - set("ABCD") else "answer_unread"
    return _READINGS[kind](item, text, read)


def _yes_no(item: Item, text: str, read: bool) -> str:
    word = "yes" if read else "no"
    if item.parsed["answer"] == word:
        return "gold_rules"
    if not re.search(rf"\b{word}\b", text, re.IGNORECASE):
        return "substring_no"
    return "guess_rewarded" if item.outcome in MODEL_FAILURES else "verdict_order"


def _one_letter(item: Item, text: str, read: list[str]) -> str:
    ours = item.parsed["answer"]
    if ours == read[0]:
        return "gold_rules"
    if ours and ours not in "ABCD":
        return "letters_a_to_d"
    if read[0] == "A" and "A" not in released.choice_letters(_ARTICLE.sub("", text)):
        return "article_a"
    if len(read) > 1:
        return "first_letter"
    return "guess_rewarded" if item.outcome in MODEL_FAILURES else "verdict_order"


def _letters(item: Item, text: str, read: list[str]) -> str:
    found, ours = set(read), set(item.parsed["letters"] or ())
    if ours - set("ABCD"):
        return "letters_a_to_d"
    if "A" in found - ours and "A" not in released.choice_letters(_ARTICLE.sub("", text)):
        return "article_a"
    if found < ours and item.level == "volume" and text != (item.text or ""):
        return "truncated_letters"
    if ours < found:
        return "every_letter"
    return "gold_rules" if found == ours else "verdict_order"


def _count(item: Item, text: str, read: int) -> str:
    if read == item.parsed["count"]:
        return "gold_rules"
    # Without its word rules the released reader is left with the last run of digits.
    digits = re.findall(r"\b(\d+)\b", text)
    return "zero_word" if read == 0 and (not digits or int(digits[-1]) != 0) else "last_number"


_RELEASED: dict[str, Callable[[str], Any]] = {
    "yes_no": released.yes_no,
    "single_choice": released.choice_letters,
    "multiple_choice": released.choice_letters,
    "count": released.number,
}
_READINGS: dict[str, Callable[[Item, str, Any], str]] = {
    "yes_no": _yes_no,
    "single_choice": _one_letter,
    "multiple_choice": _letters,
    "count": _count,
}


# --- V --------------------------------------------------------------------------------------------------------------


def grounding_reason(item: Item) -> str:
    """Why the V-Score differs."""
    unread = _unread(item)
    if unread or item.reference is None:
        return unread or "dropped"
    if item.card_value is None or item.value is None:
        return "gold_rules"
    ours = sorted((b["frame"], b["x0"], b["y0"], b["x1"], b["y1"]) for b in _framed(item))
    theirs = sorted((b["frame"] or 0, *_corners(b["xywh"])) for b in item.reference.pred_boxes)
    without = reasoning.remove(item.text or "")
    if without.trace and len(_released_boxes(item, without.text)) != len(theirs):
        return "thinking_read"
    if len(ours) != len(theirs):
        return _number_of_boxes(item, len(ours), theirs)
    if not _same([b[1:] for b in ours], [b[1:] for b in theirs]):
        return "unit_guess"
    if item.level == "volume" and [b[0] for b in ours] != [b[0] for b in theirs]:
        return "frame_default"
    return "gold_rules"


def _number_of_boxes(item: Item, ours: int, theirs: Sequence[tuple[float, ...]]) -> str:
    if not theirs:
        return "boxes_unread"
    if ours + len(item.parsed["rejected"] or ()) == len(theirs):
        return "box_rejected"
    return "dedup" if ours == len(set(theirs)) else "box_syntax"


def _released_boxes(item: Item, text: str) -> list[Any]:
    """The boxes that the released scorer finds in a text of the item's data set."""
    dataset = item.reference.groups["dataset"] if item.reference else ""
    return list(boxes(released.strip_thinking(text), *IMAGE_SIZES.get(dataset, (None, None))))


def _framed(item: Item) -> list[dict[str, Any]]:
    """Card's boxes with frames as the text writes them, 1 for the first; 0 where there is none."""
    own = item.parsed["boxes"] or ()
    return [{**box, "frame": 0 if box["frame"] is None else box["frame"] + 1} for box in own]


def _corners(xywh: Sequence[float]) -> tuple[float, float, float, float]:
    x, y, width, height = xywh
    return (x, y, x + width, y + height)


def _same(ours: Sequence[tuple[float, ...]], theirs: Sequence[tuple[float, ...]]) -> bool:
    pairs = zip(sorted(ours), sorted(theirs), strict=True)
    return all(abs(a - b) < 1e-6 for one, other in pairs for a, b in zip(one, other, strict=True))


REASON_OF: dict[str, Callable[[Item], str]] = {"answer": answer_reason, "grounding": grounding_reason}
