"""Reading the fields of one JSON object: faults and flags are gathered, nothing stops at the first."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

_INTEGER = re.compile(r"[+-]?\d+")


@dataclass(frozen=True, slots=True)
class Fault:
    """One thing wrong with one field of one record."""

    file: str
    index: int
    field: str
    found: str
    expected: str

    def __str__(self) -> str:
        return f"{self.file}: record {self.index}: field '{self.field}': found {self.found}, expected {self.expected}"

    def as_dict(self) -> dict[str, Any]:
        """The fault as JSON."""
        return {name: getattr(self, name) for name in ("file", "index", "field", "found", "expected")}


@dataclass(slots=True)
class Reader:
    """Reads fields of one JSON object.

    Attributes:
        raw: The object.
        file: Its file, as messages name it.
        index: Its 0-based position in the file.
        faults: What is wrong so far; a method that notes a fault returns an empty value.
        flags: What was read although it was irregular.
    """

    raw: Mapping[str, Any]
    file: str
    index: int
    faults: list[Fault] = field(default_factory=list)
    flags: list[str] = field(default_factory=list)

    def fault(self, name: str, found: Any, expected: str) -> None:
        """Note a fault of a field."""
        self.faults.append(Fault(self.file, self.index, name, show(found), expected))

    def text(self, name: str) -> str:
        """A required text; a number is taken as its digits and flagged."""
        value = self.raw.get(name)
        if isinstance(value, str) and value.strip():
            return value.strip()
        if isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value):
            self.flags.append(f"{name}_not_text")
            return number_text(value)
        self.fault(name, value, "a text")
        return ""

    def optional_text(self, name: str) -> str | None:
        """A text that may be absent; blank counts as absent."""
        value = self.raw.get(name)
        if value is None or isinstance(value, str):
            return (value or "").strip() or None
        self.fault(name, value, "a text or nothing")
        return None

    def word(self, name: str, allowed: Iterable[str], aliases: Mapping[str, str]) -> str:
        """A required word of a closed list, read without regard to case, blanks and hyphens."""
        value = self.raw.get(name)
        allowed = list(allowed)
        if isinstance(value, str):
            key = re.sub(r"[\s-]+", "_", value.strip().lower())
            if key in aliases and key not in allowed:
                self.flags.append(f"{name}_alias")
            key = aliases.get(key, key)
            if key in allowed:
                return key
        self.fault(name, value, f"one of {allowed}")
        return ""

    def integer(self, name: str, value: Any, minimum: int) -> int | None:
        """A whole number; digits in a text or a float without a fraction are taken and flagged."""
        number = whole(value)
        if number is None or number < minimum:
            self.fault(name, value, f"a whole number of at least {minimum}")
            return None
        if not isinstance(value, int):
            self.flags.append(f"{name.split('[')[0]}_not_integer")
        return number


def whole(value: Any) -> int | None:
    """The whole number that a JSON value stands for, or ``None``; true and false are none."""
    if isinstance(value, bool):
        return None
    if isinstance(value, int):
        return value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _INTEGER.fullmatch(value.strip()):
        return int(value)
    return None


def number_text(value: float) -> str:
    """A JSON number as text, ``6.0`` as ``6``."""
    return str(int(value)) if float(value).is_integer() else repr(value)


def show(value: Any) -> str:
    """A found value in a message, short."""
    if value is None:
        return "nothing"
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:77]}..."
