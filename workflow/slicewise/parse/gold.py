"""The benchmark's own answers as values: which kind of answer an item asks for, and the boxes in its text."""

from __future__ import annotations

import re
from typing import Literal

from slicewise.geometry import Box, Convention
from slicewise.parse import frames
from slicewise.parse.boxes import BoxContext, locate
from slicewise.parse.counts import whole_number
from slicewise.parse.letters import same_text
from slicewise.parse.locations import strip_location

Kind = Literal["yes_no", "single_choice", "multiple_choice", "count", "short_text", "open_text", "none"]

_YES_NO = re.compile(r"\s*(yes|no)\s*[.!]?\s*", re.IGNORECASE)
_LETTER = re.compile(r"\(([A-Z])\)")
_BARE_LETTERS = re.compile(r"\s*([A-Z])(?:\s*[.,):]\s*|\s*\Z)")
_BOX = re.compile(r"<bbx>", re.IGNORECASE)
_HEAD_END = re.compile(
    r"\b(?:in|at|on|within|near|along|located|seen|involving|of the|is|are|affecting)\b|[:;(]", re.IGNORECASE
)
_NO_LABEL = re.compile(r"\A(?:in|at|on|located|within|the|there|no|and|it|they|frame\w*)\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[>\])\w])[.;]\s+(?=[A-Z])(?!Frames?\b|Slices?\b|Images?\b)")


def kind_of(task: str, question_type: str, answer: str) -> Kind:
    """Which kind of answer an item asks for, from its task, its type and the shape of its gold answer.

    Localization and captioning are read as text and boxes, never as an answer (``none``).
    """
    if task in ("localization", "captioning"):
        return "none"
    if question_type in ("single_choice", "multiple_choice"):
        return "single_choice" if question_type == "single_choice" else "multiple_choice"
    if question_type == "open_ended":
        return "open_text"
    if gold_yes_no(answer) is not None:
        return "yes_no"
    return "count" if gold_count(answer) is not None else "short_text"


def gold_yes_no(answer: str) -> str | None:
    """``yes`` or ``no`` from ``Yes``, ``Yes.`` or ``No``; ``None`` for anything else."""
    match = _YES_NO.fullmatch(answer)
    return match[1].lower() if match else None


def gold_count(answer: str) -> int | None:
    """The count of ``6``, ``6.`` or ``6.0``; ``None`` for anything else. Words are not read."""
    text = answer.strip().rstrip(".")
    return whole_number(text) if text[:1].isdigit() else None


def gold_letters(answer: str, options: dict[str, str] | None = None) -> list[str]:
    """The letters of ``(B)``, ``(B) Edema``, ``(A), (C)``, ``(A)+(B) text``, ``B``, or of an option's text; sorted."""
    letters = sorted(set(_LETTER.findall(answer)))
    if letters:
        return letters
    whole = re.fullmatch(r"\s*[A-Z](?:\s*[,;+&/]\s*[A-Z])*\s*\.?\s*", answer)
    if whole:
        return sorted(set(re.findall(r"[A-Z]", answer)))
    exact = same_text(answer.strip().rstrip("."), options or {})
    if exact is not None:
        return [exact]
    head = _BARE_LETTERS.match(answer)
    return [head[1]] if head and (options is None or head[1] in options) else []


def gold_boxes(answer: str, frame_base: int = 1, last_frame: int = 9_999) -> list[Box]:
    """Boxes that live only in a gold answer's text, such as ``Frame 21: <bbx>[108,168,15,10]</bbx>``.

    Args:
        answer: The gold answer; its boxes are x, y, width, height in native pixels.
        frame_base: The number of the first frame.
        last_frame: The highest legal frame number; a box beyond it keeps ``frame=None``.

    Returns:
        Boxes as written, not clipped and not deduplicated; ``frame`` is number minus ``frame_base``, ``None`` where the
        text names no frame; ``label`` is the finding that heads the sentence, if it names one.
    """
    if not _BOX.search(answer):
        return []
    count = max(last_frame - frame_base + 1, 2)
    context = BoxContext(Convention.ABS_XYWH_ORIGINAL, ((1, 1),) * min(count, 4096), frame_base=frame_base)
    found: list[Box] = []
    for candidate in locate(answer, context).candidates:
        if candidate.numbers is None or len(candidate.numbers) != 4:
            continue
        x, y, width, height = candidate.numbers
        places = candidate.frames.positions if candidate.frames is not None else ()
        label = candidate.label or _label(answer, candidate.start)
        found += [Box(place, x, y, x + width, y + height, label) for place in places or (None,)]
    return found


def _label(answer: str, at: int) -> str | None:
    """The finding at the head of the sentence that a box stands in."""
    start = 0
    for stop in _SENTENCE.finditer(answer, 0, at):
        start = stop.end()
    sentence = answer[start:at]
    first = min([s for s, _ in frames.spans(sentence)] + [len(sentence)])
    box = _BOX.search(sentence)
    head = sentence[: min(first, box.start() if box else len(sentence))]
    head = strip_location(head).strip(" .,;:-")
    if not head or _NO_LABEL.match(head):
        return None
    cut = _HEAD_END.search(head)
    label = head[: cut.start()] if cut else head
    return label.strip(" .,;:-") or None
