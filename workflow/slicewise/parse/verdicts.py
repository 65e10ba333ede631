"""Verdicts of a judge: one number per dimension within a declared scale, or none. No default, no rescaling."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

from slicewise.outcome import Outcome
from slicewise.parse import jsonish, markers, signals
from slicewise.parse.clean import Clean, clean
from slicewise.parse.lexicon import NUMBER_WORD, number_of

_NUM = r"[-+−]?(?:\d{1,12}(?:\.\d{1,12})?|\.\d{1,12})(?:[eE][-+]?\d{1,3})?"
_SCORE = re.compile(
    rf"(?P<n>{_NUM}|\b{NUMBER_WORD}\b)(?:\s{{0,3}}(?:/|out of|of(?= \d)|von"
    rf"|sur)\s{{0,3}}(?P<of>\d{{1,4}}(?:\.\d{{1,4}})?))?(?P<pct>\s?%)?"
    r"(?P<range>\s{0,2}(?:-|–|to)\s{0,2}\d)?(?![\w]|\.\d|,\d{3})|(?P<cn>\d{1,4}(?:\.\d{1,3})?)\s?(?:分|점|点)",
    re.IGNORECASE,
)
_LINK = (
    r"[\s*_\"'`)\]>]{0,6}(?:\([^()\n]{0,30}\)\s{0,3}[*_]{0,3})?"
    r"(?:of (?:the |this )?[a-z]{3,15}(?: [a-z]{3,15})?\s{0,2}(?=[:=]))?(?:(?:score|rating)\s{0,3})?"
    r"(?:,?\s?(?:i|we)(?:'d| would)? (?:give|assign|rate|score|award)(?: it)?(?: an?)?|is|=|:|->|→|=>"
    r"|-(?!\d)|–|—|of|\||:=|was|gets|earns|receives|scores?|scored|rated|at)?[\s*_\"'`\[({|:]{0,8}"
)
_BRACKET = re.compile(rf"\[\[\s{{0,3}}({_NUM})\s{{0,3}}(?:/\s?(\d{{1,4}})\s{{0,3}})?\]\]")
_WORDS = re.compile(
    r"(?:(?:final|overall|total|my|the)\s{1,2}){0,3}(?:scores?|ratings?|grades?|marks?|verdict|points"
    r"|evaluation|得分|评分|分数|점수)\b|\b(?:rate|rated|give|gave|giving|assign(?:ed)?|award(?:ed)?|score[ds]?"
    r"|deserves?|earns?|merits?|grade)"
    r"(?:\s(?:it|this|the|that|an?|of|overall|answer|response|candidate|report|prediction|solidly|about"
    r"|score|rating)){0,6}\b|(?<=[\u3040-\u9fff]):",
    re.IGNORECASE,
)
_FILLER = re.compile(
    r"[\s*_\"'`)\]]{0,4}(?:(?:is|=|:|->|→|=>|-(?!\d)|–|—|of|a|an|at|was|to|be|would|it|this|\||the answer|答案"
    r"|为|是)\s{0,2}){0,5}[\s*_\"'`\[({|]{0,6}",
    re.IGNORECASE,
)
_SCALE = re.compile(
    rf"(?:\b(?:on|in|using)\s)?(?:\ba\s|\bthe\s)?\b(?:scale|range)\s?(?:of|from|is|:"
    rf"|=)?\s?\(?\[?{_NUM}\s?(?:to|-|–|,|and|\.\.)\s?{_NUM}\]?\)?|\bout of a (?:possible|maximum"
    rf"|total of)\s\d+"
    rf"|\(\s?{_NUM}\s?(?:to|-|–)\s?{_NUM}\s?\)|\bfrom\s{_NUM}\sto\s{_NUM}\b",
    re.IGNORECASE,
)
_OPENED = re.compile(r"[\s*_\"'`]{0,4}[(\[]\s{0,2}")
_TITLE = re.compile(
    r"\A\W*(?:(?:final|my|the|overall) )?(?:scores?|ratings?|marks?|grades?|verdict|answer|evaluation)"
    r"(?: (?:are|is))?\s?[:=]?(?=[\s\[(])",
    re.IGNORECASE,
)
_QUOTED = re.compile(r"\"[^\"\n]{1,400}\"|“[^”\n]{1,400}”|‘[^’\n]{1,400}’|«[^»\n]{1,400}»|`[^`\n]{1,400}`")


@dataclass(frozen=True, slots=True)
class Verdict:
    """What a judge said.

    Attributes:
        values: Dimension to number, or ``None`` where nothing within the scale could be read.
        outcome: ``ok`` when every dimension has a number, else why not.
        stage: The rung that decided.
        flags: ``out_of_scale``, ``scale_mismatch``, ``refusal``, and those of the cleaner.
    """

    values: dict[str, float | None]
    outcome: Outcome
    stage: str
    flags: tuple[str, ...] = ()


def read_verdict(
    text: str | Clean | None,
    dimensions: Sequence[str],
    scale: tuple[float, float],
    aliases: Mapping[str, str] | None = None,
) -> Verdict:
    """Read a judge's numbers.

    Args:
        text: The judge's text, cleaned or not.
        dimensions: Names of the ratings in the order asked for.
        scale: Least and greatest legal number; anything else is missing, never clipped or rescaled.
        aliases: Other names of the dimensions, such as their translations.
    """
    cleaned = text if isinstance(text, Clean) else clean(text)
    reader = _Judge(dimensions, scale, aliases or {})
    if cleaned.outcome is not Outcome.OK:
        return Verdict(reader.empty(), cleaned.outcome, cleaned.stage, cleaned.flags)
    values, stage = reader.read(cleaned.text)
    flags = dict.fromkeys([*cleaned.flags, *reader.flags])
    if all(value is not None for value in values.values()):
        return Verdict(values, Outcome.OK, stage, tuple(flags))
    if all(value is None for value in values.values()) and signals.refuses(cleaned.text):
        return Verdict(values, Outcome.REFUSED, "refusal", (*flags, "refusal"))
    cut = "truncated" in flags or (not reader.flags and signals.looks_cut(cleaned.text))
    return Verdict(values, Outcome.TRUNCATED if cut else Outcome.UNPARSED, stage, tuple(flags))


class _Judge:
    """Reads the numbers of one verdict; one method per rung."""

    def __init__(self, dimensions: Sequence[str], scale: tuple[float, float], aliases: Mapping[str, str]) -> None:
        self.dimensions, self.scale = tuple(dimensions), scale
        self.names: dict[str, str] = {}
        for dimension in self.dimensions:
            self.names[_key(dimension)] = dimension
        for alias, dimension in aliases.items():
            if dimension in self.dimensions:
                self.names[_key(alias)] = dimension
        self.written = sorted(
            {*self.dimensions, *(a for a, d in aliases.items() if d in self.dimensions)}, key=len, reverse=True
        )
        self.flags: list[str] = []

    def empty(self) -> dict[str, float | None]:
        return dict.fromkeys(self.dimensions)

    def read(self, body: str) -> tuple[dict[str, float | None], str]:
        found = self.json(body)
        if found is not None:
            return found, "json"
        clear = _SCALE.sub(lambda m: " " * len(m[0]), signals.ends(body))
        if len(self.dimensions) == 1:
            return self.single(clear)
        table = self.header(clear)
        if table is not None:
            return table, "table"
        named = self.named(clear)
        if any(value is not None for value in named.values()) or self.flags:
            return named, "named"
        return self.in_order(clear), "in_order"

    def check(self, value: float | None, of: str | None = None, pct: str | None = None) -> float | None:
        """The value if it lies on the scale and a stated denominator is the scale's end."""
        low, high = self.scale
        if value is None or not math.isfinite(value):
            return None
        if (of is not None and float(of) != high) or (pct is not None and high != 100):
            self.note("scale_mismatch")
            return None
        if not low <= value <= high:
            self.note("out_of_scale")
            return None
        return int(value) if value == int(value) else value

    def note(self, flag: str) -> None:
        if flag not in self.flags:
            self.flags.append(flag)

    def of_match(self, match: re.Match[str] | None) -> float | None:
        if match is None:
            return None
        if match["cn"]:
            return self.check(float(match["cn"]))
        if match["range"]:
            self.note("range")
            return None
        word = number_of(match["n"])
        value = float(word) if word is not None else float(match["n"].replace("−", "-"))
        return self.check(value, match["of"], match["pct"])

    def scalar(self, value: Any) -> float | None:
        if isinstance(value, bool) or value is None:
            return None
        if isinstance(value, (int, float)):
            return self.check(_float(value))
        if isinstance(value, str):
            return self.of_match(_SCORE.fullmatch(markers.unwrap(value).strip(" .")))
        if isinstance(value, dict):
            inner = {_key(name): item for name, item in value.items()}
            return next((self.scalar(inner[k]) for k in ("score", "rating", "value", "grade") if k in inner), None)
        if isinstance(value, list) and len(value) == 1:
            return self.scalar(value[0])
        return None

    def json(self, body: str) -> dict[str, float | None] | None:
        if "{" not in body and '":' not in body:
            return None
        whole = jsonish.strict(body)
        for value in reversed([whole] if whole is not None else jsonish.find(body)):
            found = self.object(value.value)
            if found is not None:
                return found
        return None

    def object(self, value: Any) -> dict[str, float | None] | None:
        """The ratings of an object, one level of nesting allowed, or ``None`` when it names no dimension."""
        nodes = value if isinstance(value, list) else [value]
        out: dict[str, float | None] = {}
        for node in nodes[:100]:
            if not isinstance(node, dict):
                continue
            layers = [node, *(inner for inner in node.values() if isinstance(inner, dict))]
            for layer in layers:
                for name, item in layer.items():
                    dimension = self.names.get(_key(name)) or self.single_name(_key(name))
                    if dimension is not None and dimension not in out:
                        out[dimension] = self.scalar(item)
            named = {_key(str(name)): item for name, item in node.items()}
            label = next(
                (named[k] for k in ("name", "dimension", "criterion", "metric") if isinstance(named.get(k), str)), None
            )
            if label is not None and _key(label) in self.names:
                out[self.names[_key(label)]] = self.scalar(node)
        return {d: out.get(d) for d in self.dimensions} if out else None

    def single_name(self, key: str) -> str | None:
        """With one dimension, the usual names of a rating mean it."""
        usual = ("score", "rating", "grade", "finalscore", "overallscore", "overall", "verdict", "finalrating")
        return self.dimensions[0] if len(self.dimensions) == 1 and key in usual else None

    def named(self, clear: str) -> dict[str, float | None]:
        """Each dimension's last number after its name, in prose, lists and tables."""
        out = self.empty()
        names = "|".join(re.escape(name) + (r"(?![^\W_])" if name[-1:].isascii() else "") for name in self.written)
        pattern = re.compile(rf"(?<![^\W_])(?P<name>{names}){_LINK}", re.IGNORECASE)
        for match in pattern.finditer(clear):
            number = _SCORE.match(clear, match.end())
            if number is None:  # "Accuracy (8): fine"
                opened = _OPENED.match(clear, match.end("name"))
                number = _SCORE.match(clear, opened.end()) if opened else None
                number = number if number and clear[number.end() :].lstrip()[:1] in (")", "]") else None
            if number is not None:
                value = self.of_match(number)
                out[self.names[_key(match["name"])]] = value
        return out

    def header(self, clear: str) -> dict[str, float | None] | None:
        """A table with a column per dimension: the first row under its header."""
        lines = [line for line in clear.split("\n")[:200] if "|" in line and not set(line) <= set("|-: \t")]
        for head, row in pairwise(lines):
            names = [_key(cell.strip(" *_`")) for cell in head.strip(" |").split("|")]
            cells = [cell.strip(" *_`") for cell in row.strip(" |").split("|")]
            if len(names) == len(cells) and all(
                dimension in map(self.names.get, names) for dimension in self.dimensions
            ):
                read = {self.names[name]: cell for name, cell in zip(names, cells, strict=True) if name in self.names}
                return {d: self.of_match(_SCORE.fullmatch(read[d])) for d in self.dimensions}
        return None

    def in_order(self, clear: str) -> dict[str, float | None]:
        """Nothing but numbers, exactly one per dimension, in the order asked for."""
        plain = _TITLE.sub("", markers.look_through(clear))
        if re.search(r"[^\W_]", _SCORE.sub(" ", plain)):
            return self.empty()
        numbers = list(_SCORE.finditer(plain))
        if len(numbers) != len(self.dimensions):
            self.note("wrong_count")
            return self.empty()
        return {d: self.of_match(m) for d, m in zip(self.dimensions, numbers, strict=True)}

    def single(self, clear: str) -> tuple[dict[str, float | None], str]:
        dimension = self.dimensions[0]
        brackets = list(_BRACKET.finditer(clear))
        if brackets:
            last = brackets[-1]
            return {dimension: self.check(float(last[1]), last[2])}, "bracket"
        boxes = markers.boxed(clear)
        if boxes:
            return {dimension: self.of_match(_SCORE.fullmatch(boxes[-1][1]))}, "boxed"
        unquoted = _QUOTED.sub(lambda m: " " * len(m[0]), clear)
        told = [(unquoted, "marker")]
        if not re.search(r"\w", unquoted):  # the whole reply stands in quotes; a quotation inside it is no verdict
            told.append((clear, "marker_quoted"))
        for body, stage in told:
            found, value = self.marked(body)
            if found:
                return {dimension: value}, stage
        return {dimension: self.alone(unquoted)}, "only_number"

    def marked(self, body: str) -> tuple[bool, float | None]:
        """The number after the last rating word or the dimension's own name."""
        own = "|".join(re.escape(name) for name in self.written)
        spots = [m.end() for m in _WORDS.finditer(body)]
        spots += [m.end() for m in re.finditer(rf"(?<![^\W_])(?:{own})(?![^\W_])", body, re.IGNORECASE)]
        for end in sorted(set(spots), reverse=True):
            filler = _FILLER.match(body, end)
            number = _SCORE.match(body, filler.end() if filler else end)
            if number is not None:
                return True, self.of_match(number)
        fractions = [m for m in _SCORE.finditer(body) if m["of"] is not None]
        fractions = [m for m in fractions if float(m["of"]) == self.scale[1]] or fractions  # not "3/4 of the findings"
        if fractions:
            return True, self.of_match(fractions[-1])
        return False, None

    def alone(self, body: str) -> float | None:
        """The text is one number, or its first line is, or it holds no other."""
        lines = [line.strip(" *_#`\"':[](){}").rstrip(".") for line in body.strip().split("\n") if line.strip()]
        for line in lines[:1] + lines[-1:]:
            match = _SCORE.fullmatch(line)
            if match is not None:
                return self.of_match(match)
        numbers = list(_SCORE.finditer(body))
        digits = [m for m in numbers if m["cn"] or not m["n"][0].isalpha()]
        if (
            len(digits) == 1
            and len(body) <= 60
            and not re.search(r"\b(?:error|limit|http|status|code|timeout)\b", body, re.I)
        ):
            return self.of_match(digits[0])
        return None


def _key(name: str) -> str:
    return re.sub(r"[\s_\-]+", "", name.casefold()).rstrip("\0")


def _float(value: float) -> float | None:
    try:
        return float(value)
    except OverflowError:
        return None
