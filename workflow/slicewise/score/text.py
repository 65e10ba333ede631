"""BLEU and ROUGE-L of text pairs, and the emptiness rules that every text metric shares.

A pair is ``(candidate, reference)``. A candidate without text scores 0.0; a reference without text leaves nothing to
compare with, so the score is ``None`` (``no_reference``), never a number. :func:`pair_flags` says which was the case.

BLEU is NLTK's own ``sentence_bleu`` with smoothing method 1 on lower-cased whitespace tokens. Known and kept: under
four tokens even identical texts score below 1 (``"edema"`` against itself: 0.178; nltk#1554, nltk#2498).

ROUGE-L is the F-measure of Google's ``rouge_score`` with its stemmer. That package fills an n x m table in Python and
stems every token again; here the stems are cached and the length of the longest common subsequence comes from
Hyyrö's bit-vector recurrence on Python integers, which is exact. The Rust port ``rouge-score-rs`` gives the same
numbers and is faster still, but it is a beta of one author with compiled wheels only, and would stand for thirty
lines that already vanish beside BLEU: the dependency is the dearer choice. Known and kept: the tokeniser drops
everything outside ``[a-z0-9]``, so a reference in another script has no tokens and scores 0.0; it is flagged.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache, lru_cache
from typing import Any

EMPTY_CANDIDATE = "empty_candidate"
EMPTY_REFERENCE = "empty_reference"
NO_ROUGE_TOKENS = "reference_without_rouge_tokens"

_ROUGE_TOKEN = re.compile(r"[a-z0-9]+")
_UNSTEMMED_LENGTH = 3  # rouge_score leaves words of up to three characters alone
_LONGEST_CACHED_WORD = 64
_LONGEST_CACHED_TEXT = 20_000


def pair_flags(candidate: str, reference: str) -> tuple[str, ...]:
    """Name what is missing from a pair: ``empty_candidate``, ``empty_reference``; whitespace is no text."""
    flags = []
    if not candidate.strip():
        flags.append(EMPTY_CANDIDATE)
    if not reference.strip():
        flags.append(EMPTY_REFERENCE)
    return tuple(flags)


def bleu(pairs: Iterable[tuple[str, str]]) -> list[float | None]:
    """Sentence BLEU-4 in [0, 1], NLTK smoothing method 1, lower-cased whitespace tokens.

    Args:
        pairs: ``(candidate, reference)`` texts.

    Returns:
        One value per pair, in order; 0.0 for an empty candidate, ``None`` for an empty reference.
    """
    with _bare_nltk():
        from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    smoothing = SmoothingFunction().method1

    def score(candidate: str, reference: str) -> float | None:
        if not reference.strip():
            return None
        hypothesis = candidate.lower().split()
        if not hypothesis:
            return 0.0
        return float(sentence_bleu([reference.lower().split()], hypothesis, smoothing_function=smoothing))

    return [score(candidate, reference) for candidate, reference in pairs]


def rouge_l(pairs: Iterable[tuple[str, str]]) -> list[float | None]:
    """ROUGE-L F-measure in [0, 1], equal to ``rouge_score`` with ``use_stemmer=True``.

    Args:
        pairs: ``(candidate, reference)`` texts.

    Returns:
        One value per pair, in order; 0.0 for an empty candidate, ``None`` for an empty reference.
    """
    return [_rouge_l(candidate, reference) if reference.strip() else None for candidate, reference in pairs]


def rouge_flags(candidate: str, reference: str) -> tuple[str, ...]:
    """:func:`pair_flags`, and ``reference_without_rouge_tokens`` where the tokeniser leaves nothing of a text."""
    flags = pair_flags(candidate, reference)
    if EMPTY_REFERENCE not in flags and not _ROUGE_TOKEN.search(reference.lower()):
        flags = (*flags, NO_ROUGE_TOKENS)
    return flags


def _rouge_l(candidate: str, reference: str) -> float:
    predicted, target = rouge_tokens(candidate), rouge_tokens(reference)
    if not predicted or not target:
        return 0.0
    common = lcs_length(predicted, target)
    if not common:
        return 0.0
    precision, recall = common / len(predicted), common / len(target)
    return 2 * precision * recall / (precision + recall)


def rouge_tokens(text: str) -> tuple[str, ...]:
    """Tokens as ``rouge_score`` makes them: lower-cased ``[a-z0-9]+``, words over three characters stemmed."""
    return _cached_tokens(text) if len(text) <= _LONGEST_CACHED_TEXT else _tokens(text)


@lru_cache(maxsize=4096)
def _cached_tokens(text: str) -> tuple[str, ...]:
    return _tokens(text)


def _tokens(text: str) -> tuple[str, ...]:
    words = _ROUGE_TOKEN.findall(text.lower())
    stems = (word if len(word) <= _UNSTEMMED_LENGTH else _stem(word) for word in words)
    return tuple(stem for stem in stems if stem)


def lcs_length(a: Sequence[str], b: Sequence[str]) -> int:
    """Length of the longest common subsequence (Hyyrö 2004, one addition per token on a bit vector).

    Bit i of the state is 0 where the i-th token of the shorter side ends a longer match; the carries of the addition
    move those ends to the right, so the zeros that remain count the matches.
    """
    short, long = sorted((a, b), key=len)
    positions: dict[str, int] = {}
    for index, token in enumerate(short):
        positions[token] = positions.get(token, 0) | 1 << index
    every = (1 << len(short)) - 1
    state = every
    for token in long:
        hit = state & positions.get(token, 0)
        if hit:
            state = ((state + hit) | (state - hit)) & every
    return len(short) - state.bit_count()


def _stem(word: str) -> str:
    return _cached_stem(word) if len(word) <= _LONGEST_CACHED_WORD else str(_stemmer().stem(word))


@lru_cache(maxsize=1 << 16)
def _cached_stem(word: str) -> str:
    return str(_stemmer().stem(word))


@cache
def _stemmer() -> Any:
    with _bare_nltk():
        from nltk.stem.porter import PorterStemmer

    return PorterStemmer()


@contextmanager
def _bare_nltk() -> Iterator[None]:
    """Import NLTK without the packages that it loads whenever they are installed.

    They cost every job more than its work, and neither BLEU nor the stemmer uses them.
    """
    absent = [name for name in ("matplotlib", "pandas", "scipy", "sklearn") if name not in sys.modules]
    sys.modules.update(dict.fromkeys(absent))  # type: ignore[arg-type]  # None makes an import fail
    try:
        yield
    finally:
        for name in absent:
            del sys.modules[name]
