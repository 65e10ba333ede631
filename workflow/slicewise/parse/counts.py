"""How many: a mark or a total first; frame numbers, coordinates, sizes and levels of the spine are no counts."""

from __future__ import annotations

import re

from slicewise.outcome import Outcome, Reading, failed, ok
from slicewise.parse import frames, markers, signals
from slicewise.parse.box_forms import NUMBER, blanked
from slicewise.parse.clean import Clean, clean
from slicewise.parse.lexicon import FOREIGN, HAN_NUMBER, NUMBER_WORD, number_of, number_of_han

_DIGITS = r"(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d{1,9})(?:\.0{1,6})?(?![\d]|\.\d)"
_N = rf"(?:(?<![\w.,\-/])(?:{_DIGITS})(?![\w/%])|(?<![\w-])(?:{NUMBER_WORD})(?![\w-]))"
_VALUE = re.compile(_N, re.IGNORECASE)
_PLACE = re.compile(
    r"<(?P<t>[a-z_]{2,12})>[^<>]{0,200}</(?P=t)>|<\|[a-z_]{2,20}\|>[^<>]{0,200}<\|[a-z_]{2,20}\|>|<[a-z_]{1,16}\d{0,4}>"
    rf"|[\[({{]\s{{0,3}}{NUMBER}(?:\s{{0,3}}[,;]\s{{0,3}}{NUMBER}){{1,40}}\s{{0,3}}[\])}}]",
    re.IGNORECASE,
)
_IMAGES = (
    r"(?:frames?|slices?|images?|sections?|sequences?|planes?|views?|series|volumes?|times?|sides?|options?"
    r"|steps?|sentences?)"
)
_NAMED_LEVEL = (
    r"(?:grade|stage|type|segments?|zones?|levels?|class|category|series|phase|bi-?rads|pi-?rads|li-?rads"
    r"|score|step|option|question|table|"
    r"fig(?:ure)?|vertebra|rib|station|version|page|case|patient|part|scan|sequence|day|week|gcs|kl"
    r"|outerbridge|fazekas|icrs)"
)
_NOT_COUNT = re.compile(
    r"\b\d+(?:\.\d+)?\s?(?:x|×|\*|by)\s?\d+(?:\.\d+)?(?:\s?(?:x|×|by)\s?\d+(?:\.\d+)?)?(?:\s?(?:mm|cm|px|pixels?)\b)?"
    r"|\b\d+(?:\.\d+)?[\s-]?(?:mm|cm|px|pixels?|hu|%|percent|ms|sec(?:onds?)?|min(?:utes?)?|hours?|days?"
    r"|weeks?|months?|years?(?:[\s-]old)?|kg|mg|g|ml|mmhg"
    r"|tesla|t|degrees?|°|d)(?!\w)"
    r"|\b\d{1,4}(?:st|nd|rd|th)\b"
    rf"|\b{_NAMED_LEVEL}\s{{0,2}}[:#-]?\s{{0,2}}\d{{1,4}}(?:\s{{0,2}}(?:-|–|to|and|/|,)\s{{0,2}}\d{{1,4}})*(?!\w)"
    r"|\b(?:lesion|finding|nodule|mass|tear|box)\s?#?\d{1,2}\s?(?=[:(=–-])"
    r"|\b(?=[a-z]{0,3}\d)[a-z]{1,4}\d{1,3}(?:\s{0,2}[-/–]\s{0,2}[a-z]{0,2}\d{1,3})?\b"
    rf"|\b\d{{1,3}}\s?(?:/|of|out of)\s?(?:the\s)?\d{{1,3}}(?:\s{_IMAGES})?"
    r"|\b(?:19|20)\d\d[-/]\d{1,2}(?:[-/]\d{1,2})?\b"
    rf"|(?<![\w.])(?:\d{{1,3}}|{NUMBER_WORD})\s(?:(?:different|consecutive|adjacent|contiguous|separate"
    rf"|axial|coronal|sagittal|mri?|ct|mr|individual)\s){{0,2}}{_IMAGES}\b"
    r"|(?:\A|(?<=\n))[ \t]{0,8}(?:#{1,4}\s)?\d{1,3}[.)](?=\s)"
    r"|\bone (?:of|or more|another|can|may|might|could|should|would|side)\b|\bno one\b|\b(?:the|this|that"
    r"|which|each|any|every|another) one\b",
    re.IGNORECASE,
)
_TOTAL = re.compile(
    r"\b(?:grand |overall |final )?total(?:s|ing|led)?(?:\s(?:number|count))?(?:\s(?:of"
    r"|for)(?!\s{0,3}\d)(?:\s[a-z-]{1,20}){1,6}?)?"
    r"\s{0,3}(?:is|are|of|=|:|equals|was|comes to|to|therefore|then|→|->|–)?\s{0,3}(?:about |approximately "
    r"|~ ?)?(?=[\w])"
    r"|\b(?:altogether|overall|in all|all together|combined),?\s{0,3}(?:is|=|:|of|are|equals"
    r"|was)?\s{0,3}(?:there (?:are|is) )?(?=\w)"
    r"|\b(?:sum|count|number of [a-z -]{1,40}?)\s{0,3}(?:is|=|:|equals|was)\s{0,3}(?=\w)"
    r"|=\s{0,3}",
    re.IGNORECASE,
)
_TOTAL_AFTER = re.compile(
    r"\s(?:[a-z-]{1,20}\s){0,4}?(?:in total|overall|altogether|in all|total|combined|all together|together)\b",
    re.IGNORECASE,
)
_LEAD = re.compile(
    r"(?:\b(?:there|i|we)(?:'s| (?:is|are|was|were|count(?:ed)?|see|saw|identif(?:y|ied)|f(?:i|ou)nd"
    r"|detect(?:ed)?|observed?|can see|can identify|note[d]?|have))"
    r"|\b(?:shows?|contains?|reveals?|demonstrates?|has|have|identified|exhibits?|depicts?|presents?))\s(?:with )?"
    r"(?:a total of |exactly |approximately |about |around |roughly |only |just |at total |likely |probably )*\Z",
    re.IGNORECASE,
)
_APPROX = re.compile(
    r"(?:\b(?:approximately|approx\.?|about|around|roughly|nearly|almost|circa|an estimated)|~|≈)\s{0,3}\Z",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"(?:\b(?:at least|at most|more than|fewer than|less than|over|up to|under|no (?:more|fewer|less) than"
    r"|minimum of|maximum of|greater than|exceed\w*)|[<>≥≤])\s{0,3}\Z",
    re.IGNORECASE,
)
_BOUND_AFTER = re.compile(r"\s{0,2}(?:\+|or (?:more|fewer|less)|plus\b|and (?:more|above))", re.IGNORECASE)
_RANGE = re.compile(
    rf"(?:\bbetween\s)?(?P<a>{_N}|\b\d{{1,4}})\s{{0,2}}(?P<sep>-|–|—|~|\bto\b|\bor\b|\bbis\b"
    rf"|\bà\b)\s{{0,2}}(?P<b>\d{{1,4}}(?![\w.])|{NUMBER_WORD}\b)"
    rf"|\bbetween\s(?P<c>{_N})\sand\s(?P<d>{_N})",
    re.IGNORECASE,
)
_NONE = re.compile(
    r"\A\W*(?:(?:there (?:is|are|were)|i (?:see|found|count|identify|detect))\s)?(?:none|nil|zero"
    r"|no(?:thing)?(?!\s(?:doubt|question|more|less|fewer|longer|one|\d))(?:\s(?!is\b|was\b)[a-z-]+){0,5}?"
    r"(?:\s(?:findings?|lesions?|abnormalit(?:y|ies)|injur(?:y|ies)|nodules?|mass(?:es)?|fractures?|tears?"
    r"|types?|abnormal|detected|seen|present|visible|identified|noted|found|evidence))?)\b"
    r"|\b(?:there (?:is|are) no|no evidence of|absence of|without any)\s(?!doubt|question|more than|fewer"
    r"|less)[^.\n]{0,60}"
    r"\b(?:findings?|lesions?|abnormalit(?:y|ies)|injur(?:y|ies)|nodules?|mass(?:es)?|fractures?|tears?)\b"
    r"|没有|未见|無し|なし|keine\b",
    re.IGNORECASE,
)
_VAGUE = re.compile(
    r"\b(?:several|multiple|many|numerous|few|various|a number of|some|countless|innumerable|a couple|couple"
    r"|dozens|handful|scattered|plenty)\b|多个|多發|多发|若干|数个|mehrere|plusieurs|varios",
    re.IGNORECASE,
)
_SINGLE = re.compile(r"\b(?:a|an|only one|one) (?:single|solitary|sole)\b|\b(?:single|solitary|sole)\b", re.IGNORECASE)
_DOZEN = re.compile(r"\b(?:a|one|1)\sdozen\b", re.IGNORECASE)
_ASCENDING = re.compile(r"(?<![\d.])1(?:\s{0,2},\s{0,2}(?:and\s)?\d{1,2}){2,20}(?![\d.])")
_HAN_COUNT = re.compile(rf"(?P<n>\d{{1,4}}|{HAN_NUMBER})\s?(?:个|個|处|處|枚|颗|顆|块|塊|种|種|条|例|つ|개|本)")
_ITEMISED = re.compile(r"[^.\n\d:(;]{0,80}(?:[:(;–—]|\bincluding\b|\bnamely\b|\bconsisting\b)", re.IGNORECASE)
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
    if re.fullmatch(_DIGITS, text):
        return int(text.split(".")[0].replace(",", ""))
    return number_of(text)


class _Counter:
    """Reads a count; one method per rung."""

    def __init__(self, question: str | None) -> None:
        self.nouns = set(re.findall(r"[a-z]{4,}", (question or "").lower()))
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
        clear = self.without_places(markers.look_through(body))
        for rung, name in (
            (self.whole, "whole"),
            (self.ascending, "enumeration"),
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
        text = _PLACE.sub(lambda m: " " * len(m[0]), text)
        text = blanked(text, frames.spans(text), " ")
        return _NOT_COUNT.sub(lambda m: " " * len(m[0]), text)

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
        match = re.compile(rf"[\s:*~≈]*(?:(?:approximately|about|around|exactly|only|just)\s)?({_N})", re.I).match(
            clear
        )
        return self.take(clear, match.start(1), match.end(1)) if match else None

    def take(self, text: str, start: int, end: int) -> int | None:
        """The number at a place, unless it is one end of a range or a bound."""
        before, after = text[max(0, start - 30) : start], text[end : end + 30]
        if _BOUND.search(before) or _BOUND_AFTER.match(after):
            self.flag("bound")
            return None
        span = _RANGE.match(text, start) or _RANGE.match(text, max(0, start - 8))
        if span and span.start() <= start < span.end() and self.range_of(span):
            return None
        if re.search(r"(?<!\w)[-−]\Z", before):
            return None
        if _APPROX.search(before):
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
        for match in _TOTAL.finditer(clear):
            number = _VALUE.match(clear, match.end())
            if number:
                last = number.span()
        for number in _VALUE.finditer(clear):
            if (last is None or number.start() > last[0]) and _TOTAL_AFTER.match(clear, number.end()):
                last = number.span()
        return self.take(clear, *last) if last else None

    def ascending(self, clear: str) -> int | None:
        """Read "1, 2, 3, 4 lesions": counting aloud ends in the count."""
        run = _ASCENDING.search(clear)
        numbers = [int(n) for n in re.findall(r"\d+", run[0])] if run else []
        return numbers[-1] if numbers and numbers == list(range(1, len(numbers) + 1)) else None

    def leading(self, clear: str) -> int | None:
        """Read "10 findings (5 lesions in 2 places)": a number at the head whose parts follow."""
        match = re.compile(rf"\W*({_N})(?=\s[a-z])", re.I).match(clear)
        if match is None or not _ITEMISED.match(clear, match.end()):
            return None
        return self.take(clear, *match.span(1))

    def ranged(self, clear: str) -> int | None:
        for match in _RANGE.finditer(clear):
            if self.range_of(match):
                return None
        return None

    def stated(self, clear: str) -> int | None:
        """Read "There are 4 lesions", "I count three": the last statement, if all agree."""
        found: dict[int, None] = {}
        itemised = False
        for match in _VALUE.finditer(clear):
            if _LEAD.search(clear[max(0, match.start() - 60) : match.start()]):
                value = self.take(clear, *match.span())
                if self.flags and value is None:
                    return None
                if value is not None:
                    found[value] = None
                    itemised = itemised or _ITEMISED.match(clear, match.end()) is not None
        if len(found) > 1 or (len(found) == 1 and not itemised and self.parts(clear)):
            self.flag("multiple_candidates")
            return None
        return next(iter(found), None)

    def parts(self, clear: str) -> bool:
        """Whether a sentence gives several numbers side by side: parts of a sum that is not stated."""
        for sentence in re.split(r"(?<=[.!?\n])\s", clear)[:200]:
            numbers = [m for m in _VALUE.finditer(sentence)]
            if len(numbers) > 1 and re.search(
                r",|;|\band\b|\bplus\b|\+|/", sentence[numbers[0].end() : numbers[-1].start()]
            ):
                return True
        return False

    def none(self, clear: str) -> int | None:
        if _VALUE.search(clear) and not re.match(r"\A\W*(?:none|nil|zero|no)\b", clear, re.I):
            return None
        match = _NONE.search(clear)
        return 0 if match and not _VAGUE.search(clear[: match.end() + 40]) else None

    def foreign(self, clear: str) -> int | None:
        word = clear.strip(" \t\n.!:;()*'\"").lower()
        if word in FOREIGN:
            return FOREIGN[word]
        if not clear.isascii():
            counts = {m["n"] for m in _HAN_COUNT.finditer(clear)}
            if len(counts) == 1:
                text = counts.pop()
                return int(text) if text.isdecimal() else number_of_han(text)
            bare = re.fullmatch(rf"\W*({HAN_NUMBER})\W*", clear)
            if bare:
                return number_of_han(bare[1])
        return None

    def only(self, clear: str) -> int | None:
        """The only number of the text, or the only one in front of a noun of the question."""
        if _DOZEN.search(clear):
            return 12
        matches = list(_VALUE.finditer(clear))[:500]
        values = {whole_number(match[0]): match for match in matches}
        if len(values) > 1:
            near = {v: m for v, m in values.items() if self.before_noun(clear, m)}
            values = near if len(near) == 1 else values
        if len(values) == 1 and not (len(matches) > 1 and self.parts(clear)):
            match = next(iter(values.values()))
            return self.take(clear, *match.span())
        if len(matches) > 1:
            self.flag("multiple_candidates")
            return None
        if _VAGUE.search(clear):
            self.flag("vague")
            return None
        return 1 if _SINGLE.search(clear) else None

    def before_noun(self, clear: str, match: re.Match[str]) -> bool:
        words = re.findall(r"[a-z]{4,}", clear[match.end() : match.end() + 40].lower().split(".")[0])[:3]
        return any(word in self.nouns or word.rstrip("s") in self.nouns or word + "s" in self.nouns for word in words)
