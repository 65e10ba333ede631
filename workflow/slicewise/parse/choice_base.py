"""What the readers of one letter and of a set of letters share."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from slicewise.outcome import Outcome, Reading, failed
from slicewise.parse import jsonish, letters, signals
from slicewise.parse.clean import Clean, clean
from slicewise.parse.lexicon import latinised

ALPHABET = tuple("ABCDEFGHIJKLMNOPQRSTUVWXYZ")
ITEM = re.compile(r"[ \t*_>#•-]{0,8}[(\[]?(?P<letter>[A-Za-z])(?:[)\].:]|\s?[-–—]\s)[*_]{0,3}[ \t]*(?P<text>[^\n]*)")
GLUED = re.compile(r"\W*([A-Z]{2,})\W*\Z")
_VERDICT_YES = (
    r"(?:yes|true|(?:most |very )?likely|best|present|correct|right|positive|applies|applicable|selected|visible"
    r"|seen|✓|✔|✅|√|☑|\[x\])"
)
_VERDICT_NO = (
    r"(?:no(?:t\b[^\n,;]{0,30})?|false|absent|unlikely|less likely|least likely|incorrect|wrong|negative"
    r"|excluded|does not apply|✗|✘|❌|×|☐|\[ \])"
)
_VERDICT = re.compile(
    rf"(?<![\w])[(\[]?(?P<letter>[A-Z])[)\]]?[.:]?[*_\s]{{0,4}}(?:(?!{_VERDICT_YES}"
    rf"|{_VERDICT_NO})[^\n,;:–—=]{{0,80}}?)\s?(?:[:=–—-]|\bis\b|->|→"
    rf"|\s)\s{{0,3}}[*_]{{0,3}}(?:(?P<yes>{_VERDICT_YES})|(?P<no>{_VERDICT_NO}))(?![\w])",
    re.IGNORECASE,
)
_CHECKED = re.compile(r"\[(?P<on>[xX✓ ]?)\]\s?[(]?(?P<letter>[A-Z])(?![\w'’])")
_MARKED = re.compile(r"(?:\A|(?<=\n))[ \t*-]{0,6}(?P<mark>[☑☒☐✅✔✓√❌✗✘])[ \t]*[(]?(?P<letter>[A-Z])(?![\w'’])")
_CONCLUDES = re.compile(
    r"(?:[.!?:\n]|\b(?:so|thus|therefore|hence|is|option|choice|answer|choose|select|pick)\b)[^\w\n]{0,4}\w\W*\Z",
    re.IGNORECASE,
)
_HAN_EDGE = re.compile(
    "(?<=[\u3040-\u9fff\uac00-\ud7af])(?=[A-Za-z0-9(])|(?<=[A-Za-z0-9)])(?=[\u3040-\u9fff\uac00-\ud7af])"
)


_TRUTH = {
    "true": True, "yes": True, "1": True, "present": True, "correct": True, "selected": True,
    "false": False, "no": False, "0": False, "absent": False, "incorrect": False, "not selected": False,
}  # fmt: skip


def _truth(value: Any) -> bool | None:
    """Whether a scalar of a JSON verdict confirms, rejects, or does neither."""
    return _TRUTH.get(str(value).strip(" .").lower()) if isinstance(value, (str, int, float)) else None


def prepare(text: str | Clean | None) -> tuple[Clean, str, list[str]] | Reading[str]:
    """The cleaned text, its body with Latin letters, and flags; or the reading when nothing is left to read."""
    cleaned = text if isinstance(text, Clean) else clean(text)
    if cleaned.outcome is not Outcome.OK:
        return failed(cleaned.outcome, cleaned.stage, *cleaned.flags)
    body, foreign = latinised(cleaned.text)
    if not body.isascii():
        body = _HAN_EDGE.sub(" ", body)
    flags = [*cleaned.flags, *(("homoglyph",) if foreign else ()), *(("loop",) if signals.loops(body) else ())]
    return cleaned, body, flags


def missing(text: str, flags: list[str]) -> Reading[str]:
    """The reading of a text in which no letter was found."""
    if signals.refuses(text):
        return failed(Outcome.REFUSED, "refusal", *flags, "refusal")
    if "multiple_candidates" not in flags and ("truncated" in flags or signals.looks_cut(text)):
        return failed(Outcome.TRUNCATED, "none", *flags, "truncated")
    return failed(Outcome.UNPARSED, "none", *flags, *(("hedge",) if signals.hedges(text) else ()))


class LetterReader:
    """What the readers of one letter and of a set share."""

    def __init__(self, options: Mapping[str, str], allowed: frozenset[str]) -> None:
        self.options, self.allowed = options, allowed
        self.flags: list[str] = []

    def flag(self, name: str) -> None:
        """Note something once."""
        if name not in self.flags:
            self.flags.append(name)

    def standing(self, text: str, *, strong: bool = False) -> list[str]:
        """Distinct letters that are named and neither rejected nor only considered."""
        cut = signals.looks_cut(text) and not _CONCLUDES.search(text[-24:])
        kept: dict[str, None] = {}
        rejected: set[str] = set()
        for mention in letters.mentions(text, self.allowed):
            said = text[mention.end : mention.end + 200].lstrip(" ).:,-")
            if mention.rejected or letters.rejects_own_text(said, self.options.get(mention.letter, "")):
                rejected.add(mention.letter)
            elif (
                not mention.tentative
                and (mention.strong or not strong)
                and not (cut and mention.end >= len(text.rstrip()))
            ):
                kept[mention.letter] = None
        return [letter for letter in kept if letter not in rejected]

    def items(self, text: str) -> list[tuple[str, str]]:
        """Lines that begin with a letter: the letter and the text after it."""
        found = []
        for line in text.split("\n")[:400]:
            match = ITEM.match(line)
            if (
                match
                and (match["letter"].isupper() or ")" in line[: match.start("text")])
                and match["letter"].upper() in self.allowed
            ):
                found.append((match["letter"].upper(), match["text"].strip()))
        return found

    def json_verdicts(self, node: Any) -> list[str] | None:
        """The options that an object such as ``{"A": true, "B": false}`` confirms, also one level down."""
        inner = [value for value in node.values() if isinstance(value, dict)] if isinstance(node, dict) else []
        for fields in (node, inner[0] if len(inner) == 1 else None):
            if not isinstance(fields, dict):
                continue
            names = {re.sub(r"\W|option|choice", "", name.lower()).upper(): value for name, value in fields.items()}
            if len(names) < 2 or not set(names) <= self.allowed:
                continue
            judged = {name: _truth(value) for name, value in names.items()}
            if None not in judged.values():
                return [name for name, truth in judged.items() if truth]
        return None

    def verdicts(self, clear: str) -> list[str] | None:
        """A verdict per option: "A: present, B: absent", check boxes, or a JSON object with a field per option."""
        for value in jsonish.find(clear) if "{" in clear else ():
            fields = self.json_verdicts(value.value)
            if fields is not None:
                return fields
        boxes = {m["letter"]: bool(m["on"].strip()) for m in _CHECKED.finditer(clear) if m["letter"] in self.allowed}
        for match in _MARKED.finditer(clear):
            if match["letter"] in self.allowed:
                boxes[match["letter"]] = match["mark"] in "☑☒✅✔✓√"
        if len(boxes) >= 2 and any(boxes.values()):
            return [letter for letter, on in boxes.items() if on]
        judged: dict[str, bool] = {}
        for match in _VERDICT.finditer(clear):
            if match["letter"].isupper() and match["letter"] in self.allowed:
                judged[match["letter"]] = match["yes"] is not None
        if len(judged) >= 2 and any(judged.values()) and len(judged) >= min(len(self.options) or 2, 3):
            return [letter for letter, yes in judged.items() if yes]
        return None
