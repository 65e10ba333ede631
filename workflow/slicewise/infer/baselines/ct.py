"""Blind rules for the choices on CT: what a reader of the question alone can get right.

3D-RAD prints in its questions of task 6 which earlier scans had the finding, its options of tasks 5 and 6 stand in one
released order, and most findings of task 4 are absent. Where numbers are offered, the middle one is the best guess
against a maker of questions who puts wrong numbers on both sides of the right one.
"""

from __future__ import annotations

import re

from slicewise.infer.baselines import gold, wording
from slicewise.infer.baselines.base import Rule
from slicewise.infer.items import Item

_HISTORY = re.compile(r"\[\s*(?P<values>[01](?:\s*,\s*[01])*)\s*\]")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")
_ORDER = "released_order:"


class CtBlindRule(Rule):
    """``No`` in task 4, the released D in task 5, the printed history in task 6, else the middle number."""

    def text(self, item: Item) -> str:
        """The letter with its text; nothing for an open question."""
        if gold.kind(item) != "single_choice" or not item.options:
            return ""
        return wording.choice(item, [self._letter(item)])

    def _letter(self, item: Item) -> str:
        letters = sorted(item.options)
        order = next((flag.removeprefix(_ORDER) for flag in item.flags if flag.startswith(_ORDER)), "")
        wanted = {"t4": None, "t5": "D", "t6": _from_history(item.question)}.get(item.task)
        if wanted and wanted in order:
            return letters[order.index(wanted)]
        if item.task == "t4":
            return next((letter for letter in letters if item.options[letter].strip().lower() == "no"), letters[0])
        return _middle(item, letters)


def _from_history(question: str) -> str:
    """The released letter: the last scan had it (A), an earlier one had it (B), none had it (D)."""
    match = _HISTORY.search(question)
    values = [int(value) for value in match["values"].split(",")] if match else []
    if not any(values):
        return "D"
    return "A" if values[-1] else "B"


def _middle(item: Item, letters: list[str]) -> str:
    """The option with the second smallest number, or the first option when they are no numbers."""
    found = {letter: _NUMBER.match(item.options[letter]) for letter in letters}
    numbers = {letter: float(match[0]) for letter, match in found.items() if match}
    if len(numbers) < len(letters):
        return letters[0]
    ranked = sorted(letters, key=lambda letter: numbers[letter])
    return ranked[(len(ranked) - 1) // 2]
