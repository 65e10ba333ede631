"""Options that stand inside a question, as the benchmark writes them: stem, then ``(A) ...`` on lines of their own."""

from __future__ import annotations

import re

_STYLES = (
    re.compile(r"(?:\A|(?<=\n))[ \t]*\((?P<letter>[A-Z])\)[ \t]*(?P<text>[^\n]*)"),
    re.compile(r"(?:\A|(?<=\n))[ \t]*(?P<letter>[A-Z])[.):][ \t]+(?P<text>[^\n]*)"),
    re.compile(r"\((?P<letter>[A-Z])\)\s*(?P<text>.*?)(?=\s*[,;]?\s*\([A-Z]\)|\Z)", re.DOTALL),
    re.compile(r"(?<!\w)(?P<letter>[A-Z])[.):]\s+(?P<text>.*?)(?=\s*[,;]?\s*(?<!\w)[A-Z][.):]\s|\Z)", re.DOTALL),
)


def parse_options(question: str) -> dict[str, str] | None:
    """Letter to text of the options inside a question, or ``None`` when it has none.

    The letters must be the alphabet from A on, at least two of them; any number is read. Texts lose trailing blanks.
    """
    for style in _STYLES:
        found = list(style.finditer(question))
        runs = _from_a(found)
        if len(runs) >= 2:
            return {match["letter"]: " ".join(match["text"].split()) for match in runs}
    return None


def _from_a(found: list[re.Match[str]]) -> list[re.Match[str]]:
    """The last run A, B, C, ... among the matches."""
    run: list[re.Match[str]] = []
    best: list[re.Match[str]] = []
    for match in found:
        if match["letter"] == chr(ord("A") + len(run)):
            run.append(match)
        else:
            run = [match] if match["letter"] == "A" else []
        if len(run) >= len(best) and len(run) >= 2:
            best = list(run)
    return best
