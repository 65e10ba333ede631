"""Frame references in prose and in JSON fields: "Frame 7", "slices 3-5", "the last two images", "z = 18", "第7帧".

Numbers are those of the text; positions are 0-based in the list of frames shown. A reference outside the list is
never moved into it.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, replace
from typing import Any

from slicewise.parse.lexicon import NUMBER_WORD, ORDINALS, UNITS, number_of

NOUN = (
    r"(?:frames?|slices?|images?|imgs?|sections?|cuts?|layers?|schicht(?:en)?|bilde?r?|coupes?|cortes?|fotogramas?"
    r"|immagin[ei]|кадр[а-я]{0,3}|срез[а-я]{0,3}|スライス|フレーム|画像|슬라이스|프레임|帧|切片|图像)"
)
_N = r"\d{1,12}(?!\d)(?![%°]|\.\d|\s?(?:mm|cm|px|ms|hu|pixels?|years?)\b)(?!(?-i:[a-zA-Z]))"
_RANGE_WORD = r"(?:-{1,2}|–|—|~|\.\.\.?|…|to|through|thru|until|till|bis|à|至|到|and up to|up to and including|up to|→)"
_PREFIX = r"(?:key[\s-]?)?"
_SUFFIX = r"(?:[\s_-]{0,3}(?:numbers?|nos?\b\.?|nr\b\.?|n°|index(?:es)?|indices|idx|ids?|#)){0,2}"
_SEP = r"(?:[\s_#:=*.>\-\"'‘’“”]{0,5}|\s(?:is|was)\s(?:number\s)?)"
_ITEM = rf"(?:#\s?)?{_N}(?:\s{{0,3}}(?:/|of|out of)\s{{0,3}}(?:the\s)?{_N})?"
_MORE = (
    rf"(?:\s{{0,3}}(?:,\s{{0,3}}(?:and|or|&)?|and|or|&|\+|/|、|和|und|et|y"
    rf"|{_RANGE_WORD})\s{{0,3}}(?:{NOUN}\s{{0,3}})?{_ITEM})*"
)
_EXCEPT = (
    rf"(?:,?\s{{0,3}}\(?(?:except(?:\sfor)?|excluding|excl\.?|but not|without|other than"
    rf"|minus)\s{{1,3}}(?:for\s)?(?:{NOUN}\s{{0,3}})?{_ITEM}{_MORE}\)?)?"
)
_ORDINAL = "|".join(ORDINALS)
_WHICH = (
    rf"(?:(?:second|third|fourth|2nd|3rd|4th)[\s-]to[\s-]last|{_ORDINAL}|\d{{1,4}}(?:st|nd|rd|th)|last|final"
    rf"|middle|central|mid|mid-?dle|penultimate)"
)
_REFERENCE = re.compile(
    rf"(?<![^\W\d_])(?:from\s|between\s)?{_PREFIX}{NOUN}{_SUFFIX}{_SEP}(?P<list>{_ITEM}{_MORE}){_EXCEPT}"
    rf"|(?<![^\W_])(?:fr|sl|im|img)\.?\s?(?P<short>{_ITEM}{_MORE})(?=\s{{0,3}}[:)\]\-–—*])"
    rf"|(?<![^\W_])(?-i:[Ff])(?P<letter>{_N})(?=\s?:)"
    rf"|(?<![^\W\d_]){_PREFIX}{NOUN}{_SUFFIX}\s?\(\s?(?P<paren>{_N})\s?\)"
    rf"|(?<![^\W\d_])(?:frame|slice|image)\s{{1,3}}(?:number\s)?(?P<word>{NUMBER_WORD})(?![\w-])"
    rf"|(?<![^\W_])z(?:[\s-]?(?:index|slice|position|coordinate))?\s{{0,3}}(?:=|:|\bis\b)\s{{0,3}}(?P<z>{_ITEM}{_MORE})"
    rf"|第\s{{0,2}}(?P<han>{_ITEM}{_MORE})\s{{0,2}}(?:帧|层|張|张|幅|个?切片|片|号|枚|番目|コマ|スライス|slices?|frames?)"
    rf"|\b(?P<ord>{_WHICH})(?:\s{{0,3}}(?:(?:,\s?|and|&|to|through|-)\s{{0,3}})(?:the\s)?(?P<ord2>{_WHICH}))?"
    rf"\s{{1,3}}(?:(?P<many>\d{{1,3}}|{NUMBER_WORD})\s{{1,3}})?(?:MRI?\s|CT\s|axial\s|coronal\s|sagittal\s)?{NOUN}\b"
    rf"|\b(?P<all>(?:all|every|each)(?:\s(?:of\s)?(?:the\s)?)(?:\s?(?:\d{{1,3}}|{NUMBER_WORD})\s)?{NOUN}\b"
    rf"|throughout the (?:entire |whole )?(?:volume|stack|series))"
    rf"|\b(?P<other>(?:another|(?:an)?other|a different|different|some|the (?:next|previous|following"
    rf"|adjacent))\s{NOUN}\b)",
    re.IGNORECASE,
)
_QUICK = re.compile(
    r"fr|sl|im|section|cut|layer|\bz|F\d|schicht|bild|coupe|corte|fotogr|volume|stack|series|[^\x00-\x7f]", re.I
)
_ITEMS = re.compile(
    rf"(?P<dash>{_RANGE_WORD})?\s{{0,3}}(?:{NOUN}\s{{0,3}})?#?\s?(?P<n>\d{{1,12}})(?:\s{{0,3}}(?:/|of"
    rf"|out of)\s{{0,3}}(?:the\s)?\d{{1,6}})?",
    re.IGNORECASE,
)
_PLURAL = re.compile(r"s[\s_#:]{0,3}\Z", re.IGNORECASE)
_BETWEEN = re.compile(r"(\d{1,12})\s{1,3}and\s{1,3}(\d{1,12})")
_EXCLUDED = re.compile(r"except|excluding|excl|but not|without|other than|minus", re.IGNORECASE)
_CLOCK = re.compile(r"(?<![\d:.])(?:(?P<h>\d{1,2}):)?(?P<m>\d{1,2}):(?P<s>\d{2}(?:\.\d{1,6})?)(?!\d|:\d)")
_SECONDS = re.compile(r"(?<![\w.])(?P<s>\d{1,6}(?:\.\d{1,6})?)\s?(?:s|secs?|seconds?)\b", re.IGNORECASE)
JOINS = re.compile(r"\A\s{0,3}(?:,|and|&|\+|/|,\s?and|or|as well as)\s{0,3}\Z", re.IGNORECASE)
SPANS = re.compile(rf"\A\s{{0,3}}{_RANGE_WORD}\s{{0,3}}\Z", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Shown:
    """The list of frames that a text can name.

    Attributes:
        count: How many frames were shown.
        base: The number that the text gives to the first one.
        fps: Frames per second, only when declared.
    """

    count: int
    base: int = 1
    fps: float | None = None


@dataclass(frozen=True, slots=True)
class Named:
    """Frames that a text names.

    Attributes:
        positions: 0-based positions that exist, in the order named, without repeats.
        outside: Numbers named one by one that do not exist.
        flags: ``frame_range_clipped``, ``frame_out_of_range``, ``timestamp_without_fps``.
    """

    positions: tuple[int, ...] = ()
    outside: int = 0
    flags: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reference:
    """A :class:`Named` and where it stands in the text."""

    start: int
    end: int
    named: Named
    other: bool = False  # "another slice": some frame, not the one before


def find(text: str, shown: Shown) -> list[Reference]:
    """All frame references and clock times from left to right; seconds only when ``fps`` is declared."""
    found: list[Reference] = []
    if _QUICK.search(text):
        found = [_reference(match, shown) for match in _REFERENCE.finditer(text)]
    if ":" in text or "s" in text:
        found += [Reference(m.start(), m.end(), at_time(_time(m), shown)) for m in _CLOCK.finditer(text)]
        if shown.fps is not None:
            found += [Reference(m.start(), m.end(), at_time(_time(m), shown)) for m in _SECONDS.finditer(text)]
        found.sort(key=lambda r: r.start)
    return found


def spans(text: str, *, other: bool = True) -> list[tuple[int, int]]:
    """Where frame references stand, for those who strip or skip them; "another slice" only with ``other``."""
    if not _QUICK.search(text):
        return []
    return [
        (match.start(), match.start() + len(_written(match)))
        for match in _REFERENCE.finditer(text)
        if (other or not match["other"]) and not _product(match)
    ]


def _product(match: re.Match[str]) -> bool:
    """Whether "frames = 6" ends a sum such as "2 findings x 3 frames = 6"."""
    return (
        "=" in match[0] and re.search(r"\d\s?\Z", match.string[max(0, match.start() - 4) : match.start()]) is not None
    )


def _written(match: re.Match[str]) -> str:
    """The words of a reference, without a number that counts what follows: "slice 14, 2 nodules" names slice 14."""
    words = match[0]
    if match["list"] is None or not match.string[match.end() : match.end() + 1].isspace():
        return words
    noun = words[: match.start("list") - match.start()].rstrip(" _#:=*.-\"'").lower()
    if noun.endswith(("s", "n", "er")) or not _COUNTED.match(match.string, match.end()):
        return words
    tail = _LAST_ITEM.search(words)
    return words[: tail.start()] if tail else words


_WRITTEN = ("list", "short", "letter", "z", "han", "paren")
_COUNTED = re.compile(
    r"\s{1,3}(?:on|in|at)\s(?:the\s)?(?:frame|slice|image)s?\b|\s{1,3}(?!(?:and|or|to|through|until|except"
    r"|excluding|but|of|out|is|are|was|were|in|on|at|with|has|have|as|there|we|for|both|respectively"
    r"|show\w*|demonstrat\w*|contain\w*|reveal\w*|depict\w*|where|which|the|an?|near|within|from|box\w*"
    r"|bounding|coordinates?|only)\b)[a-z]{3,}",
    re.IGNORECASE,
)
_LAST_ITEM = re.compile(r"\s{0,3}(?:,\s?and|,|and|&)\s{0,3}#?\d{1,12}\Z", re.IGNORECASE)


def _reference(match: re.Match[str], shown: Shown) -> Reference:
    start, end = match.span()
    if match["other"]:
        return Reference(start, end, Named(), other=True)
    if match["all"]:
        return Reference(start, end, Named(tuple(range(shown.count))))
    if match["ord"]:
        return Reference(start, end, _ordinal(match, shown))
    words = _written(match)
    end = start + len(words)
    if match["list"] and _PLURAL.search(match[0][: match.start("list") - start]) and "/" in match["list"]:
        return Reference(start, end, of_numbers(match["list"].replace("/", ","), shown))
    if match["list"] and words[:7].lower() == "between" and (ends := _BETWEEN.fullmatch(match["list"])):
        return Reference(start, end, of_runs([(int(ends[1]), int(ends[2]))], shown))
    if match["word"]:
        number = number_of(match["word"]) or 0
        return Reference(start, end, of_runs([(number, number)], shown))
    written = next(match[group] for group in _WRITTEN if match[group])
    if len(words) < len(match[0]):
        written = words[match.start("list") - start :]
    named = of_numbers(written, shown)
    rest = words[words.find(written) + len(written) :]
    cut = _EXCLUDED.search(rest)
    if cut:
        without = set(of_numbers(rest[cut.end() :], shown).positions)
        named = replace(named, positions=tuple(p for p in named.positions if p not in without))
    return Reference(start, end, named)


def of_numbers(written: str, shown: Shown) -> Named:
    """Frames of a written list such as ``3, 5-8 and 12/30``."""
    runs: list[tuple[int, int]] = []
    for item in _ITEMS.finditer(written):
        number = int(item["n"])
        if item["dash"] and runs:
            runs[-1] = (runs[-1][0], number)
        else:
            runs.append((number, number))
    return of_runs(runs, shown)


def of_runs(runs: list[tuple[int, int]], shown: Shown) -> Named:
    """Frames of inclusive runs of numbers as written; a run is cut to the frames that exist before it is expanded."""
    positions: dict[int, None] = {}
    outside, flags = 0, []
    for first, last in runs:
        low, high = sorted((first - shown.base, last - shown.base))
        inside = range(max(low, 0), min(high, shown.count - 1) + 1)
        if not inside:
            outside += 1
            flags.append("frame_out_of_range")
        elif len(inside) <= high - low:
            flags.append("frame_range_clipped")
        positions.update(dict.fromkeys(inside))
    return Named(tuple(positions), outside, tuple(dict.fromkeys(flags)))


def _which(word: str, count: int) -> int | None:
    """Position of "third", "3rd", "last" or "middle"; the middle only of an odd number of frames."""
    word = word.lower()
    if word in ("last", "final"):
        return count - 1
    if word == "penultimate":
        return count - 2
    if word.endswith("last"):
        return count - {"s": 2, "2": 2, "t": 3, "3": 3, "f": 4, "4": 4}[word[0]]
    if word in ORDINALS:
        return ORDINALS[word] - 1
    if word[0].isdigit():
        return int(word[:-2]) - 1
    return count // 2 if count % 2 else None


def _ordinal(match: re.Match[str], shown: Shown) -> Named:
    at = _which(match["ord"], shown.count)
    if at is None:
        return Named()
    from_zero = replace(shown, base=0)
    if match["many"]:
        many = number_of(match["many"]) if match["many"].lower()[0] not in "0123456789" else int(match["many"])
        size = many or 1
        if match["ord"].lower() in ("last", "final"):
            return of_runs([(shown.count - size, shown.count - 1)], from_zero)
        return of_runs([(at, at + size - 1)], from_zero)
    if match["ord2"]:
        to = _which(match["ord2"], shown.count)
        runs = [(at, at)] if to is None else [(at, at), (to, to)]
        between = match[0][len(match["ord"]) : match[0].find(match["ord2"], len(match["ord"]))]
        if to is not None and re.search(r"to|through|-", between):
            runs = [(at, to)]
        return of_runs(runs, from_zero)
    return of_runs([(at, at)], from_zero)


def _time(match: re.Match[str]) -> float:
    parts = match.groupdict()
    return int(parts.get("h") or 0) * 3600.0 + int(parts.get("m") or 0) * 60.0 + float(parts["s"])


def at_time(seconds: float, shown: Shown) -> Named:
    """The frame shown at a time: ``floor(t * fps)``, only when ``fps`` is declared (QwenLM/Qwen3-VL#752)."""
    if shown.fps is None:
        return Named(flags=("timestamp_without_fps",))
    position = math.floor(seconds * shown.fps + 1e-6)
    return of_runs([(position, position)], replace(shown, base=0))


def of_time_field(value: Any, shown: Shown) -> Named | None:
    """Frames of a JSON field that holds a time: seconds, ``"2.5s"``, ``"00:04.00"``."""
    if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
        return at_time(float(value), shown)
    if isinstance(value, str):
        match = (
            _CLOCK.search(value) or _SECONDS.search(value) or re.match(r"\s*(?P<s>\d{1,6}(?:\.\d{1,6})?)\s*\Z", value)
        )
        if match:
            return at_time(_time(match), shown)
    return None


def of_field(value: Any, shown: Shown) -> Named | None:
    """Frames of a JSON field: ``3``, ``"3"``, ``"Frame 3"``, ``"12-15"``, ``[3, 4]``; ``None`` when it holds none."""
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, (int, float)):
        if not math.isfinite(value) or value != int(value) or abs(value) > 1e9:
            return None
        return of_runs([(int(value), int(value))], shown)
    if isinstance(value, str):
        return _of_text(value, shown)
    if isinstance(value, list):
        parts = [of_field(item, shown) for item in value[:10_000]]
        return _union([part for part in parts if part is not None]) if parts else None
    return None


def _of_text(value: str, shown: Shown) -> Named | None:
    text = value.strip()[:200]
    if text.lower() in ("all", "every", "all frames", "all slices"):
        return Named(tuple(range(shown.count)))
    if re.fullmatch(r"[#\s\d,;&+/~–—.to\-]*(?:and[\s\d]*)?", text, re.IGNORECASE) and re.search(r"\d", text):
        return of_numbers(text, shown) if not re.search(r"\d\.\d", text) else None
    references = find(text, shown)
    if references and not references[0].other:
        return _union([reference.named for reference in references])
    stem = re.search(r"(?<![\d.])0{0,5}(\d{1,5})(?:\.(?:png|jpe?g|dcm|bmp))\Z", text, re.IGNORECASE)
    return of_numbers(stem[1], shown) if stem else None


def _union(parts: list[Named]) -> Named | None:
    if not parts:
        return None
    positions = dict.fromkeys(p for part in parts for p in part.positions)
    flags = dict.fromkeys(f for part in parts for f in part.flags)
    return Named(tuple(positions), sum(part.outside for part in parts), tuple(flags))


def merge(a: Named, b: Named, *, as_range: bool) -> Named:
    """Two references that a text joins: the frames of both, or all from the first to the second."""
    if as_range and a.positions and b.positions:
        low, high = sorted((a.positions[0], b.positions[-1]))
        return Named(tuple(range(low, high + 1)), a.outside + b.outside, (*a.flags, *b.flags))
    return _union([a, b]) or Named()


COUNT_WORDS = frozenset(UNITS)


def only_number(question: str, shown: Shown) -> int | None:
    """The number of the one frame that a question names, or ``None`` when it names none or several."""
    named = [reference.named.positions for reference in find(question, shown) if not reference.other]
    positions = {p for group in named for p in group}
    return positions.pop() + shown.base if len(positions) == 1 else None
