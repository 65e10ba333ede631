"""JSON as models write it: fenced, cut, without commas, with single quotes, several values in a row.

Strict JSON is tried first. Otherwise one pass with an explicit stack reads what is there: it never raises, never
recurses and never looks at a character more than a fixed number of times. What had to be repaired is recorded.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass, field
from typing import Any

_SPACE = re.compile(r"\s*")
_NUMBER = re.compile(r"[-+]?(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][-+]?\d{1,4})?(?![\w%.])")
_WORD = re.compile(r"[^\W\d][\w.\-]{0,60}")
_KEY = re.compile(r"[\w][\w .\-#]{0,60}?(?=\s{0,20}(?::|=>|=))")
_RAW = re.compile(r"[^,;\]\[{}()\n]{1,2000}")
_QUOTES = {'"': '"', "'": "'", "“": "”", "”": "”", "‘": "’", "`": "`"}
_STRING_STOP = {quote: re.compile(rf"\\[\s\S]|{re.escape(end)}") for quote, end in _QUOTES.items()}
_AFTER_STRING = re.compile(r"\s*(?:[,:;}\])]|=>|\Z|[\"'“{\[]|\n)")
_ESCAPE = re.compile(r"\\(u[0-9a-fA-F]{4}|b(?!oxed)|f(?!rac)|t(?!ext)|[nr\"'\\/])")
_ESCAPED = {"b": "\b", "f": "\f", "t": "\t", "n": "\n", "r": "\r", '"': '"', "'": "'", "\\": "\\", "/": "/"}
_LITERALS: dict[str, Any] = {
    "true": True, "false": False, "null": None, "none": None, "nan": math.nan, "infinity": math.inf, "undefined": None,
}  # fmt: skip
_PYTHON = frozenset({"True", "False", "None"})
_CLOSES = {"{": "}", "[": "]", "(": ")"}
_OPENS_OBJECT = re.compile(r"\{\s{0,200}(?:[\"'“‘`]|[A-Za-z_][\w ]{0,30}\s{0,20}[:=]|\d{1,6}\s{0,20}:|\})")
_OPENS_ARRAY = re.compile(r"\[\s{0,200}\{\s{0,200}[\"'“‘`A-Za-z_]")
_START = re.compile(r"[{\[]")
_BARE_KEY = re.compile(r"(?:\A|\n)\s{0,40}\"[\w ]{1,40}\"\s{0,10}:")


class CutList(list[Any]):
    """A list whose end was cut off: its last item may be incomplete."""


class CutDict(dict[str, Any]):
    """An object whose end was cut off: keys may be missing."""


@dataclass(slots=True)
class Value:
    """A JSON value found in a text.

    Attributes:
        value: Lists, dictionaries and scalars; a repeated key gets trailing NULs so that no value is lost.
        start: Where it begins.
        end: Where it ends.
        repairs: What was not strict JSON, in the order noticed.
    """

    value: Any
    start: int
    end: int
    repairs: dict[str, None] = field(default_factory=dict)


@dataclass(slots=True)
class _Open:
    node: Any
    close: str
    key: str | None = None
    filled: bool = False  # a comma is due before the next item


def strict(text: str) -> Value | None:
    """The whole text as strict JSON that is an object or a list, or ``None``."""
    body = text.strip()
    if not body or body[0] not in "{[":
        return None
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return Value(value, 0, len(text))


def find(text: str) -> list[Value]:
    """The objects and lists of objects in a text, from left to right, each text position in at most one of them.

    Lists of plain numbers are left to the readers of boxes: prose is full of them.
    """
    found: list[Value] = []
    at = 0
    bare = _BARE_KEY.match(text)
    if bare and "{" not in text[: bare.end()]:  # the opening brace was dropped
        value = _parse(text, 0, _Open({}, "}"))
        value.repairs["missing_bracket"] = None
        found.append(value)
        at = max(value.end, 1)
    while (start := _START.search(text, at)) is not None:
        at = start.start()
        opening = _OPENS_OBJECT if text[at] == "{" else _OPENS_ARRAY
        if opening.match(text, at):
            value = _parse(text, at + 1, _new(text[at]))
            value.start = at
            found.append(value)
            at = max(value.end, at + 1)
        else:
            at += 1
    return found


def _new(opener: str) -> _Open:
    return _Open({} if opener == "{" else [], _CLOSES[opener])


class _Reader:
    """State of one pass over a text."""

    def __init__(self, text: str, at: int, root: _Open) -> None:
        self.text = text
        self.at = at
        self.stack = [root]
        self.root: Any = root.node
        self.repairs: dict[str, None] = {}

    def repair(self, name: str) -> None:
        self.repairs[name] = None

    def put(self, item: Any) -> None:
        top = self.stack[-1]
        if isinstance(top.node, dict):
            key = top.key or ""
            while key in top.node:
                key += "\0"
            top.node[key] = item
            top.key = None
        else:
            if top.filled:
                self.repair("missing_comma")
            top.node.append(item)
        top.filled = True

    def push(self, opener: str) -> None:
        fresh = _new(opener)
        self.put(fresh.node)
        self.stack.append(fresh)

    def pop(self) -> None:
        closed = self.stack.pop()
        if isinstance(closed.node, dict) and closed.key is not None:
            closed.node[closed.key] = None

    def run(self) -> None:
        while self.stack:
            self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
            if self.at >= len(self.text):
                self.cut()
                return
            if not self.step():
                self.repair("broken")
                return

    def step(self) -> bool:
        """Read one token; ``False`` when the text stops being JSON."""
        top, c = self.stack[-1], self.text[self.at]
        if c in "}])":
            return self.close(c)
        if c in ",;":
            self.at += 1
            top.filled = False
            if top.key is not None:
                top.node[top.key] = None
                top.key = None
            return True
        if isinstance(top.node, dict) and top.key is None:
            return self.read_key(c)
        return self.read_value(c)

    def close(self, c: str) -> bool:
        if self.stack[-1].close != c:
            if not any(entry.close == c for entry in self.stack[-4:]):
                return len(self.stack) > 1 and self._skip_stray()
            self.repair("missing_bracket")
            while self.stack[-1].close != c:
                self.pop()
        self.pop()
        self.at += 1
        return True

    def _skip_stray(self) -> bool:
        self.repair("stray_bracket")
        self.at += 1
        return True

    def read_key(self, c: str) -> bool:
        top = self.stack[-1]
        if top.filled:
            self.repair("missing_comma")
        if c in _QUOTES:
            key = self.read_string(c)
            if key is None:
                return False
        else:
            match = _KEY.match(self.text, self.at)
            if match is None:
                return False
            self.repair("unquoted_key")
            key, self.at = match[0].strip(), match.end()
        self.at = _SPACE.match(self.text, self.at).end()  # type: ignore[union-attr]
        for mark in (":", "=>", "="):
            if self.text.startswith(mark, self.at):
                self.at += len(mark)
                top.key = key
                return True
        if self.at >= len(self.text):
            return True
        if self.text[self.at] in ",}":
            self.put_keyless(key)
            return True
        return False

    def put_keyless(self, key: str) -> None:
        self.stack[-1].key = ""
        self.put(key)

    def read_value(self, c: str) -> bool:
        if c in _CLOSES:
            self.at += 1
            if c == "(":
                self.repair("python_literal")
            self.push(c)
            return True
        if c in _QUOTES:
            text = self.read_string(c)
            if text is None:
                return False
            self.put(text)
            return True
        return self.read_bare()

    def read_bare(self) -> bool:
        number = _NUMBER.match(self.text, self.at)
        if number and number.end() < len(self.text):
            self.at = number.end()
            self.put(_number(number[0]))
            return True
        word = _WORD.match(self.text, self.at)
        raw = _RAW.match(self.text, self.at)
        if raw is None:
            return False
        if raw.end() >= len(self.text):  # an unfinished scalar at the end is no item
            self.at = len(self.text)
            return True
        piece = raw[0].strip()
        self.at = raw.end()
        if word and word[0] == piece and piece.lower() in _LITERALS:
            if piece in _PYTHON:
                self.repair("python_literal")
            self.put(_LITERALS[piece.lower()])
        else:
            self.repair("unquoted_value")
            self.put(piece)
        return True

    def read_string(self, quote: str) -> str | None:
        """The string that opens here; ``None`` when the text ends inside it."""
        if quote != '"':
            self.repair("python_literal")
        start = self.at + 1
        for stop in _STRING_STOP[quote].finditer(self.text, start):
            if stop[0][0] == "\\":
                continue
            if _AFTER_STRING.match(self.text, stop.end()):
                self.at = stop.end()
                return _unescape(self.text[start : stop.start()])
            self.repair("inner_quote")
        self.repair("truncated")
        self.cut()
        self.stack.clear()
        self.at = len(self.text)
        return None

    def cut(self) -> None:
        """The text ended: mark the open containers as cut."""
        if not self.stack:
            return
        self.repair("truncated")
        above: Any = None
        for entry in reversed(self.stack):
            marked: Any = CutDict(entry.node) if isinstance(entry.node, dict) else CutList(entry.node)
            if above is not None:
                _replace_last(marked, above)
            above = marked
        self.root = above
        self.stack.clear()


def _replace_last(node: Any, item: Any) -> None:
    if isinstance(node, dict):
        node[next(reversed(node))] = item
    else:
        node[-1] = item


def _parse(text: str, at: int, root: _Open) -> Value:
    reader = _Reader(text, at, root)
    reader.run()
    return Value(reader.root, at, reader.at, reader.repairs)


def _number(text: str) -> float | int:
    if text.isdigit() and len(text) <= 15:
        return int(text)
    return float(text)


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(lambda m: chr(int(m[1][1:], 16)) if m[1][0] == "u" else _ESCAPED[m[1]], text)
