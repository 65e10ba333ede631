"""Text metrics of 3D-RAD's open tasks: BLEU-4 and BLEU-1, ROUGE-L, and for computed values number and unit.

References have two or three words, so much hangs on details; these are fixed and printed with every table:

- BLEU: tokens of the WMT script ``mteval-v13a``, lower-cased. A corpus value is made from summed counts without
  smoothing; a sample's value uses effective order (orders that the shorter text has), without smoothing, so that a
  right answer of two words scores 1 and not 0.
- ROUGE-L: F-measure without stemmer, after numbers and units were brought to one form (``30x13 mm`` is ``30 x 13 mm``).
- An answer in a box is compared alone: the explanation around it is not part of the answer.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slicewise.benchmarks.ct import RAD3D_OPEN
from slicewise.outcome import Outcome
from slicewise.parse import markers
from slicewise.score.paths import Paths
from slicewise.score.reasoning import Texts
from slicewise.score.rows import Row, parser_version, side_by_side
from slicewise.score.signature import signature
from slicewise.score.text import lcs_length

ORDER = 4
ENGINE = "bleu-13a-lower-effective-order/rouge-l-no-stemmer"
_NUMBER = r"\d+(?:\.\d+)?"
_TIMES = re.compile(rf"(?<=\d)\s*[x×*]\s*(?={_NUMBER})", re.IGNORECASE)
_GLUED = re.compile(r"(?<=\d)(?=(?:mm|cm|m|ml|hu)\b)", re.IGNORECASE)
_SPLIT = re.compile(r"([\{-\~\[-\` -\&\(-\+\:-\@\/])")  # punctuation of the WMT script, without . , - '
_POINTS = ((re.compile(r"([^0-9])([.,])"), r"\1 \2 "), (re.compile(r"([.,])([^0-9])"), r" \1 \2"))
_DASH = re.compile(r"([0-9])(-)")
_VALUE = re.compile(
    rf"(?P<sign>less than|under|<|up to|greater than|more than|>)?\s*"
    rf"(?P<numbers>{_NUMBER}(?:\s*[x×*]\s*{_NUMBER})*)\s*(?P<unit>mm|cm|ml|hu)?\b",
    re.IGNORECASE,
)
_IN_MM = {"mm": 1.0, "cm": 10.0}
_SIGNS = {"less than": "<", "under": "<", "<": "<", "greater than": ">", "more than": ">", ">": ">"}
TOLERANCE = 0.05  # of the gold value


@dataclass(frozen=True, slots=True)
class Counts:
    """What a corpus value is made from, by order of the n-gram.

    Attributes:
        matched: n-grams shared with the reference.
        total: n-grams of the candidate.
        candidate: Tokens of the candidate.
        reference: Tokens of the reference.
    """

    matched: tuple[int, ...]
    total: tuple[int, ...]
    candidate: int
    reference: int


def tokens(text: str) -> list[str]:
    """Tokens of the WMT script, lower-cased."""
    out = f" {text.strip()} ".replace("&quot;", '"').replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">")
    out = _SPLIT.sub(r" \1 ", out)
    for pattern, put in _POINTS:
        out = pattern.sub(put, out)
    return _DASH.sub(r"\1 \2 ", out).lower().split()


def counts(candidate: str, reference: str) -> Counts:
    """n-gram counts of a pair for orders 1 to 4."""
    own, gold = tokens(candidate), tokens(reference)
    matched, total = [], []
    for order in range(1, ORDER + 1):
        mine, theirs = _grams(own, order), _grams(gold, order)
        matched.append(sum((mine & theirs).values()))
        total.append(max(0, len(own) - order + 1))
    return Counts(tuple(matched), tuple(total), len(own), len(gold))


def _grams(words: Sequence[str], order: int) -> Counter[tuple[str, ...]]:
    return Counter(tuple(words[i : i + order]) for i in range(len(words) - order + 1))


def bleu(found: Sequence[Counts], order: int = ORDER, *, effective: bool) -> float:
    """BLEU in [0, 1] of summed counts; 0 when an order has no match.

    Args:
        found: Counts of one sample or of a corpus.
        order: Highest order.
        effective: Leave out the orders of which the candidates have no n-gram at all.
    """
    matched = [sum(one.matched[n] for one in found) for n in range(order)]
    total = [sum(one.total[n] for one in found) for n in range(order)]
    if effective:
        order = max((n + 1 for n in range(order) if total[n]), default=0)
    if order == 0 or not all(matched[:order]):
        return 0.0
    precision = math.exp(sum(math.log(matched[n] / total[n]) for n in range(order)) / order)
    own, gold = sum(one.candidate for one in found), sum(one.reference for one in found)
    return precision * (1.0 if own >= gold else math.exp(1 - gold / own))


def rouge_l(candidate: str, reference: str) -> float:
    """ROUGE-L F-measure in [0, 1] without stemmer, of texts in one form."""
    own, gold = (re.findall(r"[a-z0-9]+", one_form(text).lower()) for text in (candidate, reference))
    common = lcs_length(own, gold)
    return 2 * common / (len(own) + len(gold)) if common else 0.0


def one_form(text: str) -> str:
    """Sizes in one form: ``30x13mm`` becomes ``30 x 13 mm``."""
    return _GLUED.sub(" ", _TIMES.sub(" x ", text))


@dataclass(frozen=True, slots=True)
class Value:
    """A computed value: its bound, its numbers in mm where it is a length, and its dimension."""

    sign: str
    numbers: tuple[float, ...]
    unit: str


def read_value(text: str) -> Value | None:
    """The first value of a text; ``None`` without a number."""
    match = _VALUE.search(text)
    if match is None:
        return None
    unit = (match["unit"] or "").lower()
    scale = _IN_MM.get(unit, 1.0)
    numbers = tuple(float(number) * scale for number in re.findall(_NUMBER, match["numbers"]))
    sign = _SIGNS.get((match["sign"] or "").lower(), "")
    return Value(sign, numbers, "mm" if unit in _IN_MM else unit)


def value_right(candidate: str, reference: str) -> bool | None:
    """Whether a value is right: same bound, same dimension, every number within 5 %; ``None`` without a gold value."""
    own, gold = read_value(candidate), read_value(reference)
    if gold is None:
        return None
    if own is None or own.unit != gold.unit or own.sign != gold.sign or len(own.numbers) != len(gold.numbers):
        return False
    pairs = zip(own.numbers, gold.numbers, strict=True)
    return all(abs(a - b) <= TOLERANCE * abs(b) + 1e-9 for a, b in pairs)


def answers(paths: Paths) -> Iterator[list[Texts]]:
    """Candidate and reference of every open item; a box stands for the whole answer.

    Raises:
        UserError: A file is missing or does not fit.
    """
    batches = side_by_side(
        paths.samples, paths.parsed, tasks=RAD3D_OPEN, sample_columns=("question", "answer"),
        parsed_columns=("text", "text_outcome"),
    )  # fmt: skip
    for batch in batches:
        yield [_texts(sample, parsed) for sample, parsed in batch]


def _texts(sample: Mapping[str, Any], parsed: Mapping[str, Any]) -> Texts:
    outcome = Outcome(parsed["text_outcome"])
    if outcome is not Outcome.OK:
        return Texts(sample["sample_id"], None, None, sample["question"], outcome)
    boxes = markers.boxed(parsed["text"])
    candidate = boxes[-1][1] if boxes and boxes[-1][1].strip() else parsed["text"]
    return Texts(sample["sample_id"], candidate, sample["answer"], sample["question"], Outcome.OK)


def rows(protocol: str, paths: Paths) -> Iterator[list[Row]]:
    """The rows of one model: ``value`` is the sample's BLEU-4."""
    parts = {"parser": parser_version(paths.parsed), "engine": ENGINE, **paths.declared}
    constant = signature("ct_text", protocol, parts)
    for batch in answers(paths):
        yield [{**paths.ids({"sample_id": t.sample_id}), **_row(t), "signature": constant} for t in batch]


def _row(item: Texts) -> Row:
    gold = item.reference
    if item.outcome is not Outcome.OK or gold is None:
        return {"value": None, "outcome": str(item.outcome), "flags": list(item.flags)}
    candidate = item.candidate or ""
    found, ceiling = counts(candidate, gold), counts(gold, gold)
    return {
        "value": bleu([found], effective=True),
        "outcome": str(Outcome.OK),
        "flags": list(item.flags),
        "bleu1": bleu([found], 1, effective=True),
        "bleu4_unsmoothed": bleu([found], effective=False),
        "ceiling": bleu([ceiling], effective=False),
        "rouge_l": rouge_l(candidate, gold),
        "value_right": value_right(candidate, gold),
        "matched": list(found.matched),
        "total": list(found.total),
        "candidate_tokens": found.candidate,
        "reference_tokens": found.reference,
    }
