"""The gold of an item as far as a baseline that writes it needs to know it."""

from __future__ import annotations

import re

from slicewise.infer.items import Item

_INTEGER = re.compile(r"\d+")
_LETTER = re.compile(r"\(([A-Z])\)|\b([A-Z])\b")


def kind(item: Item) -> str:
    """``yes_no``, ``count``, ``short_text``, ``single_choice``, ``multiple_choice`` or ``open_text``."""
    if item.task in ("localization", "captioning") or item.question_type == "open_ended":
        return "open_text"
    if item.question_type != "closed_ended":
        return item.question_type
    plain = item.answer.strip().rstrip(".").lower()
    if plain in ("yes", "no"):
        return "yes_no"
    return "count" if _INTEGER.fullmatch(plain) else "short_text"


def letters(item: Item) -> list[str]:
    """The letters of a choice item's gold answer, sorted; empty when it writes none."""
    found = {a or b for a, b in _LETTER.findall(item.answer)}
    return sorted(found & set(item.options)) if item.options else sorted(found)


def words(item: Item) -> str:
    """The gold answer without coordinates and frame references, for localization; else as it is."""
    if item.task != "localization":
        return item.answer
    from slicewise.parse.locations import strip_location

    return strip_location(item.answer)
