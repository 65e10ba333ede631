"""Coordinates and frame references leave a text, so that AR compares what is said and not where.

Everything that :mod:`boxes` reads as a box and :mod:`frames` as a reference is removed together with the words that
only hang on it ("seen on", "at", "to"). Decimals and sizes ("3.5 × 2 cm") stay.
"""

from __future__ import annotations

import re
from typing import Any

from slicewise.geometry import Convention
from slicewise.parse import frames, jsonish
from slicewise.parse.box_forms import NUMBER, merged, plain
from slicewise.parse.box_json import BOX_KEYS, FRAME_KEYS, REASONING_KEYS, TIME_KEYS
from slicewise.parse.boxes import BoxContext, locate
from slicewise.parse.clean import normalise, peel

_ANY = BoxContext(Convention.ABS_XYXY_ORIGINAL, ((1000, 1000),))
_HANGING = re.compile(
    r"(?:[\s,;:=(\[{*_\-–—|、,。]|(?:位于|位於|见于|見於|在|于)|(?<![\w.])(?:spans?|covers?|occup(?:ies|ying))(?=\s)|(?<![\w.])(?:is|are|was|were)(?=\s)"
    r"|(?<![\w.])(?:(?:a|the|its|with)\s){0,2}(?:bounding[\s-]?box(?:es)?|bbox(?:es)?|bbx|box(?:es)?|coordinates?|coords|roi)"
    r"(?=[\s:=]|\Z)|(?<![\w.])(?:"
    r"(?:(?:also|best|most|clearly|mainly|primarily)\s{1,3})?(?:(?:is|are|was|were|being|be)\s{1,3})?"
    r"(?:(?:best\s|clearly\s|also\s|first\s|most\s(?:prominent|conspicuous)\s)?(?:seen|visible|located"
    r"|present|found|noted|identified|shown|appearing|observed|depicted|demonstrated|evident|"
    r"visuali[sz]ed|cent(?:er|re)d|bounded|marked|outlined|enclosed|locali[sz]ed)\s{1,3})?"
    r"(?:on|in|at|from|across|throughout|over|within|inside|of|for|by|with|around|near|to|through|and|as"
    r"|spanning|during|between|beginning|starting|ending)"
    r"(?:\s{1,3}(?:the|a|an|its|this|bounding|box(?:es)?|coordinates?|region|area|position|approximately"
    r"|about|roughly|key))*))*\Z",
    re.IGNORECASE,
)
_TIED = re.compile(
    r"[\s,;:.()\[\]{}*_\-–—|/]*(?:(?:and|to|or|&|through|with|box|bounding box|bbox|coordinates?|at|in"
    r"|on)[\s:,]*)?[\s,;:()\[\]*_\-–—|]*\Z",
    re.IGNORECASE,
)
_UNIT = re.compile(r"\s?(?:px|pixels?)\b", re.IGNORECASE)
_ONLY_MARKS = re.compile(r"[\W_]*\Z")
_MARK = re.compile(
    r"</?(?:ref|phrase|p|bbx|bbox|box|object|grounding|delimiter_of_multi_objects/?)>|<\|/?(?:ref|det"
    r"|object_ref_start|object_ref_end|box_start|box_end|begin_of_box|end_of_box|bbox)\|>"
    r"|</delimiter_of_multi_objects/?>|<seg\d{3}>",
    re.IGNORECASE,
)


def strip_location(text: str) -> str:
    """The text without coordinates and frame references of any supported syntax; without them it is normalised."""
    shown = peel(normalise(text))
    for _ in range(4):
        stripped = peel(_once(shown))
        if stripped == shown:
            break
        shown = stripped
    return shown


_TAGS = re.compile(r"</?(?:frame|slice|image)[\s_-]{0,2}\d{0,4}>", re.IGNORECASE)
_POINT = re.compile(
    rf"\b(?:at|around|near|about|to|pixel|point|(?:coordinates?|located|cent(?:er|re)d)(?: at| around)?)\s{{1,3}}"
    rf"(?P<at>\(\s?{NUMBER}\s?,\s?{NUMBER}\s?\))",
    re.IGNORECASE,
)


def _once(text: str) -> str:
    text = _TAGS.sub(" ", text).strip() if "<" in text else text
    if (
        not any(c.isdigit() for c in text)
        and "<" not in text
        and "{" not in text
        and "slice" not in text.lower()
        and "frame" not in text.lower()
    ):
        return text
    text = _without_json(text)
    text = _labels_kept(text)
    found = locate(text, _ANY)
    spans = [(c.start, c.end) for c in found.candidates] + found.claimed
    spans += frames.spans(text, other=False)
    spans += [match.span("at") for match in _POINT.finditer(text)]
    if not spans:
        return text
    return _cut(text, _joined(text, merged(spans)))


def _labels_kept(text: str) -> str:
    """Reference tags leave their label behind; box tags without coordinates leave nothing."""
    if "<" not in text:
        return text
    kept = re.sub(
        r"<\|?(?:ref|object_ref_start|phrase)\|?>([^<>]{0,300})<\|?/?(?:ref|object_ref_end|phrase)\|?>", r"\1 ", text
    )
    if kept == text and not locate(text, _ANY).claimed:
        return _MARK.sub(" ", text).strip() if _MARK.search(text) else text
    return kept


def _without_json(text: str) -> str:
    """JSON objects become the words that they hold, without keys, boxes and frames."""
    if "{" not in text:
        return text
    parts, at = [], 0
    for value in jsonish.find(text):
        parts += [text[at : value.start], " ".join(_words(value.value))]
        at = max(value.end, at)
    return "".join([*parts, text[at:]]) if parts else text


def _words(value: Any) -> list[str]:
    skip = BOX_KEYS | FRAME_KEYS | TIME_KEYS | REASONING_KEYS
    out: list[str] = []
    stack = [value]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            stack += [item for name, item in reversed(node.items()) if plain(name) not in skip]
        elif isinstance(node, list):
            stack += reversed(node)
        elif isinstance(node, str) and node.strip():
            out.append(node.strip())
    return out


def _joined(text: str, spans: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Spans with nothing but marks and small words between them are one."""
    out: list[tuple[int, int]] = []
    for start, end in spans:
        if out and start - out[-1][1] <= 40 and _TIED.match(text[out[-1][1] : start]):
            out[-1] = (out[-1][0], end)
        else:
            out.append((start, end))
    return out


def _cut(text: str, spans: list[tuple[int, int]]) -> str:
    pieces: list[str] = []
    at = 0
    for start, end in spans:
        before = text[at:start]
        hanging = _HANGING.search(before[-160:])
        keep = len(before) - (len(before[-160:]) - hanging.start()) if hanging else len(before)
        past = _past(text, end, text[at + keep : end])
        apart = ";" in before[keep:] and text[past : past + 1].isalnum()  # two clauses stay two
        pieces.append(before[:keep] + (";" if apart else ""))
        at = past
    tail = text[at:]
    out = ""
    for piece in [*pieces, tail]:
        out = _glue(out, piece)
    if _ONLY_MARKS.match(tail):
        out = out.rstrip(" .,;:–—-|*。、\n\t")
    return out.strip()


def _past(text: str, end: int, removed: str) -> int:
    """Where the text goes on: past marks that hang on what was removed, closing brackets only if it opened them."""
    unit = _UNIT.match(text, end)
    end = unit.end() if unit else end
    unclosed = removed.count("(") - removed.count(")")
    while end < len(text) and text[end] in " \t\n,:)]}*_|":
        if text[end] == ")":
            unclosed -= 1
            if unclosed < 0:
                break
        end += 1
    return end


def _glue(left: str, right: str) -> str:
    """Two kept pieces side by side, with one blank or the sentence's own stop between them."""
    if not left.strip():
        return right.lstrip(" .,;:])*|\n\t") if not right.startswith("(") else right
    if not right.strip():
        return left
    left = left.rstrip()
    if right[0] in ".!?" and left[-1] in ".!?":
        return left + right[1:]
    if right[0] in ".!?);。":
        return left + right
    return f"{left} {right.lstrip()}"
