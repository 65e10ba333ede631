"""The gold of an item as far as a baseline that writes it needs to know it."""

from __future__ import annotations

from slicewise.infer.items import Item
from slicewise.parse.gold import Kind, gold_letters, kind_of
from slicewise.parse.locations import strip_location


def kind(item: Item) -> Kind:
    """Which kind of answer the item asks for; ``none`` for localization and captioning, which ask for text."""
    return kind_of(item.task, item.question_type, item.answer)


def letters(item: Item) -> list[str]:
    """The letters of a choice item's gold answer, sorted; empty when it writes none."""
    return gold_letters(item.answer, item.options or None)


def words(item: Item) -> str:
    """The gold answer without coordinates and frame references, for localization; else as it is."""
    return strip_location(item.answer) if item.task == "localization" else item.answer
