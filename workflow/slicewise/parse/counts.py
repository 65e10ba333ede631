"""How many: a mark or a total first; frame numbers, coordinates, sizes and levels of the spine are no counts."""

from __future__ import annotations

import re

from slicewise.outcome import Outcome, Reading, failed, ok
from slicewise.parse import count_forms as forms
from slicewise.parse import frames, markers, signals
from slicewise.parse.box_forms import blanked
from slicewise.parse.clean import Clean, clean
from slicewise.parse.lexicon import FOREIGN, HAN_NUMBER, number_of, number_of_han

_KEYS = (
    "count",
    "total",
    "number",
    "num",
    "totalcount",
    "numberoflesions",
    "numberoffindings",
    "numlesions",
    "numfindings",
    "totalnumber",
    "n",
)


def read_count(text: str | Clean | None, question: str | None = None) -> Reading[int]:
    """Read a count.

    Args:
        text: The model's text, cleaned or not.
        question: The question; a number in front of one of its nouns is preferred to other numbers.

    Returns:
        A whole number, 0 included; ``unparsed`` with ``range:a-b``, ``bound``, ``vague`` or ``multiple_candidates``.
        Numbers are never added up or averaged.
    """
    cleaned = text if isinstance(text, Clean) else clean(text)
    if cleaned.outcome is not Outcome.OK:
        return failed(cleaned.outcome, cleaned.stage, *cleaned.flags)
    flags = list(cleaned.flags)
    body = cleaned.text
    if signals.loops(body):
        flags.append("loop")
    reader = _Counter(question)
    value, stage = reader.read(body)
    flags += reader.flags
    if value is not None:
        return ok(value, stage, *flags)
    if signals.refuses(body):
        return failed(Outcome.REFUSED, "refusal", *flags, "refusal")
    if not reader.flags and ("truncated" in flags or signals.looks_cut(body)):
        return failed(Outcome.TRUNCATED, "none", *flags, "truncated")
    return failed(Outcome.UNPARSED, "none", *flags, *(("hedge",) if signals.hedges(body) else ()))


def whole_number(text: str) -> int | None:
    """A whole number from digits (``12``, ``12.0``, ``1,024``) or an English word; ``None`` for anything else."""
    text = text.strip()
    if re.fullmatch(forms.DIGITS, text):
        return int(text.split(".")[0].replace(",", ""))
    return number_of(text)


class _Counter:
    """Reads a count; one method per rung."""

    def __init__(self, question: str | None) -> None:
        self.nouns = set(re.findall(r"[a-z]{4,}", (question or "").lower()))
        self.asks_images = forms.ASKED_IMAGES.search(question or "") is not None
        kind = forms.ASKED_KIND.search(question or "")
        self.kind = kind["noun"].rstrip("s").lower() if kind else None
        self.flags: list[str] = []

    def flag(self, name: str) -> None:
        if name not in self.flags:
            self.flags.append(name)

    def read(self, body: str) -> tuple[int | None, str]:
        value = self.json(body)
        if value is not None:
            return value, "json"
        body = signals.ends(body)
        value = self.marks(body)
        if value is not None or self.flags:
            return value, "marker"
        value = self.images(body) if self.asks_images else None
        if value is not None:
            return value, "statement"
        clear = self.without_places(markers.look_through(body))
        for rung, name in (
            (self.whole, "whole"),
            (self.ascending, "enumeration"),
            (self.kinds, "statement"),
            (self.total, "total"),
            (self.ranged, "range"),
            (self.leading, "leading"),
            (self.stated, "statement"),
            (self.none, "none"),
            (self.foreign, "foreign"),
            (self.only, "only_number"),
        ):
            value = rung(clear)
            if value is not None:
                return value, name
            if any(flag not in ("approx", "corrected") for flag in self.flags):
                break
        return None, "none"

    def without_places(self, text: str) -> str:
        """The text with coordinates, frame references, sizes and levels blanked."""
        text = forms.PLACE.sub(lambda m: " " * len(m[0]), text)
        text = blanked(text, frames.spans(text), " ")
        kept = forms.WITHDRAWN.sub(lambda m: " " * len(m[0]), text)
        text = kept if forms.VALUE.search(kept) else text
        return forms.NOT_COUNT.sub(lambda m: " " * len(m[0]), text)

    def images(self, body: str) -> int | None:
        """Read "on 7 frames" where frames are what is counted."""
        values = {whole_number(match["n"]) for match in forms.OF_IMAGES.finditer(markers.look_through(body))}
        return values.pop() if len(values) == 1 else None

    def kinds(self, clear: str) -> int | None:
        """Read "3 injuries of 2 distinct types" where types are what is counted."""
        if self.kind is None:
            return None
        pattern = re.compile(rf"({forms.N})\s(?:[a-z]{{2,12}}\s){{0,2}}?{self.kind.removesuffix('ie')}", re.IGNORECASE)
        spots = {whole_number(match[1]): match.span(1) for match in pattern.finditer(clear)}
        return self.take(clear, *next(iter(spots.values()))) if len(spots) == 1 else None

    def json(self, body: str) -> int | None:
        for value in reversed(markers.json_answers(body, _KEYS) or []):
            if isinstance(value, bool) or value is None:
                continue
            if isinstance(value, (int, float)):
                if value == value and abs(value) < 1e9 and value == int(value) and value >= 0:
                    return int(value)
            elif isinstance(value, str):
                read = self.short(value)
                if read is not None:
                    return read
            elif isinstance(value, list) and len(value) == 1 and isinstance(value[0], (str, int)):
                return whole_number(str(value[0]))
        return None

    def marks(self, body: str) -> int | None:
        """The last mark that states a number, a range or none."""
        for mark in reversed(markers.find(body)):
            if mark.kind == "choose":
                continue
            value = self.short(mark.line)
            if value is not None or self.flags:
                return value
        return None

    def short(self, content: str) -> int | None:
        """The number that a marked content states at its head, or the only one in it."""
        clear = self.without_places(markers.look_through(content))
        value = self.whole(clear)
        if value is not None or self.flags:
            return value
        for rung in (self.total, self.ranged, self.head, self.none, self.only):
            value = rung(clear)
            if value is not None or self.flags:
                return value
        return None

    def whole(self, clear: str) -> int | None:
        return whole_number(clear.strip(" \t\n.!:;()[]{}*'\"#=~"))

    def head(self, clear: str) -> int | None:
        match = re.compile(rf"[\s:*~≈]*(?:(?:approximately|about|around|exactly|only|just)\s)?({forms.N})", re.I).match(
            clear
        )
        return self.take(clear, match.start(1), match.end(1)) if match else None

    def take(self, text: str, start: int, end: int) -> int | None:
        """The number at a place, unless it is one end of a range or a bound."""
        before, after = text[max(0, start - 30) : start], text[end : end + 30]
        if forms.BOUND.search(before) or forms.BOUND_AFTER.match(after):
            self.flag("bound")
            return None
        span = forms.RANGE.match(text, start) or forms.RANGE.match(text, max(0, start - 8))
        if span and span.start() <= start < span.end() and self.range_of(span):
            return None
        if re.search(r"(?<!\w)[-−]\Z", before):
            return None
        if forms.EACH.match(after):
            self.flag("per_place")
            return None
        if forms.APPROX.search(before):
            self.flag("approx")
        return whole_number(text[start:end])

    def range_of(self, match: re.Match[str]) -> bool:
        ends = [whole_number(match[a]) for a in ("a", "b", "c", "d") if match[a] is not None]
        if len(ends) == 2 and ends[0] is not None and ends[1] is not None and ends[0] < ends[1]:
            self.flag(f"range:{ends[0]}-{ends[1]}")
            return True
        return False

    def total(self, clear: str) -> int | None:
        """The last stated total or the number after the last equals sign."""
        last: tuple[int, int] | None = None
        for match in forms.TOTAL.finditer(clear):
            number = forms.VALUE.match(clear, match.end())
            if number:
                last = number.span()
        for number in forms.VALUE.finditer(clear):
            if (last is None or number.start() > last[0]) and forms.TOTAL_AFTER.match(clear, number.end()):
                last = number.span()
        return self.take(clear, *last) if last else None

    def ascending(self, clear: str) -> int | None:
        """Read "1, 2, 3, 4 lesions": counting aloud ends in the count."""
        run = forms.ASCENDING.search(clear)
        numbers = [int(n) for n in re.findall(r"\d+", run[0])] if run else []
        return numbers[-1] if numbers and numbers == list(range(1, len(numbers) + 1)) else None

    def leading(self, clear: str) -> int | None:
        """Read "10 findings (5 lesions in 2 places)": a number at the head whose parts follow."""
        match = re.compile(rf"\W*({forms.N})(?=\s[a-z])", re.I).match(clear)
        if match is None or not forms.ITEMISED.match(clear, match.end()):
            return None
        return self.take(clear, *match.span(1))

    def ranged(self, clear: str) -> int | None:
        for match in forms.RANGE.finditer(clear):
            if self.range_of(match):
                return None
        return None

    def stated(self, clear: str) -> int | None:
        """Read "There are 4 lesions", "I count three": the last statement, if all agree."""
        found: dict[int, None] = {}
        itemised = False
        for match in forms.VALUE.finditer(clear):
            if forms.LEAD.search(clear[max(0, match.start() - 60) : match.start()]):
                value = self.take(clear, *match.span())
                if self.flags and value is None:
                    return None
                if value is not None:
                    found[value] = None
                    itemised = itemised or forms.ITEMISED.match(clear, match.end()) is not None
        if len(found) > 1 or (len(found) == 1 and not itemised and self.parts(clear)):
            self.flag("multiple_candidates")
            return None
        return next(iter(found), None)

    def parts(self, clear: str) -> bool:
        """Whether a sentence gives several numbers side by side: parts of a sum that is not stated."""
        for sentence in re.split(r"(?<=[.!?\n])\s", clear)[:200]:
            numbers = [m for m in forms.VALUE.finditer(sentence)]
            if len(numbers) > 1 and re.search(
                r",|;|\band\b|\bplus\b|\+|/", sentence[numbers[0].end() : numbers[-1].start()]
            ):
                return True
        return False

    def none(self, clear: str) -> int | None:
        if forms.VALUE.search(clear) and not re.match(r"\A\W*(?:none|nil|zero|no(?!,))\b", clear, re.I):
            return None
        match = forms.NONE.search(clear)
        return 0 if match and not forms.VAGUE.search(clear[: match.end() + 40]) else None

    def foreign(self, clear: str) -> int | None:
        word = clear.strip(" \t\n.!:;()*'\"").lower()
        if word in FOREIGN:
            return FOREIGN[word]
        if not clear.isascii():
            counts = {m["n"] for m in forms.HAN_COUNT.finditer(clear)}
            if len(counts) == 1:
                text = counts.pop()
                return int(text) if text.isdecimal() else number_of_han(text)
            bare = re.fullmatch(rf"\W*({HAN_NUMBER})\W*", clear)
            if bare:
                return number_of_han(bare[1])
        return None

    def only(self, clear: str) -> int | None:
        """The only number of the text, or the only one in front of a noun of the question."""
        for pattern, size in forms.GROUPS:
            if pattern.search(clear):
                return size
        matches = list(forms.VALUE.finditer(clear))[:500]
        values = {whole_number(match[0]): match for match in matches}
        if len(values) > 1:
            near = {v: m for v, m in values.items() if self.before_noun(clear, m)}
            if len(near) == 1 and all(re.match(rf"\s{forms.FINDING}", clear[m.end() :], re.I) for m in matches):
                return self.take(clear, *next(iter(near.values())).span())
            values = near if len(near) == 1 else values
        if len(values) == 1 and not (len(matches) > 1 and self.parts(clear)):
            match = next(iter(values.values()))
            return self.take(clear, *match.span())
        if len(matches) > 1:
            self.flag("multiple_candidates")
            return None
        if forms.VAGUE.search(clear):
            self.flag("vague")
            return None
        return 1 if forms.SINGLE.search(clear) else None

    def before_noun(self, clear: str, match: re.Match[str]) -> bool:
        words = re.findall(
            r"[a-z]{4,}", re.split(r"[.,;\d]|\band\b", clear[match.end() : match.end() + 40].lower())[0]
        )[:3]
        return any(word in self.nouns or word.rstrip("s") in self.nouns or word + "s" in self.nouns for word in words)
