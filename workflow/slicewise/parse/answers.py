"""Answers by kind: yes or no, one letter, a set of letters, a count, a short text."""

from __future__ import annotations

import re

from slicewise.outcome import Outcome, Reading, failed, ok
from slicewise.parse import markers, signals
from slicewise.parse.choice_sets import read_choices
from slicewise.parse.choices import read_choice
from slicewise.parse.clean import Clean, clean, see
from slicewise.parse.counts import read_count
from slicewise.parse.letters import bare
from slicewise.parse.yes_no import read_yes_no

__all__ = ["normalised", "read_choice", "read_choices", "read_count", "read_short_text", "read_yes_no"]

_STATEMENT = re.compile(
    r"\A\W*(?P<subject>(?:the|this|it|that|its|here|imaging|image|mri|scan|sequence"
    r"|modality)\b[^.\n]{0,80}?)\s(?:is|was|are|appears to be|seems to be)\s"
    r"(?:most likely |likely |probably |clearly |therefore )?(?:an?\s|the\s)?(?P<rest>[^.\n]{1,80}?)\W*\Z",
    re.IGNORECASE,
)
_LONGEST = 200


def normalised(text: str) -> str:
    """The form in which short texts are compared: case-folded, no punctuation at the edges, no leading article."""
    return bare(text)


def read_short_text(text: str | Clean | None, question: str | None = None) -> Reading[str]:
    """Read a short answer such as ``FLAIR``: a marked content, the whole short text, or "The ... is X".

    Args:
        text: The model's text, cleaned or not.
        question: Unused by the rules so far; kept so that all readers of answers are called alike.

    Returns:
        The text as written, without decoration; ``unparsed`` when the reply is longer and marks no answer.
    """
    del question
    cleaned = text if isinstance(text, Clean) else clean(text)
    if cleaned.outcome is not Outcome.OK:
        return failed(cleaned.outcome, cleaned.stage, *cleaned.flags)
    shown = see(cleaned)
    if shown.outcome is not Outcome.OK:
        return shown
    return _marked(cleaned.text, shown.flags) or _unmarked(shown)


def _marked(text: str, flags: tuple[str, ...]) -> Reading[str] | None:
    """The content of a JSON answer or of the last mark, or ``None`` when there is neither."""
    for value in reversed(markers.json_answers(text) or []):
        if isinstance(value, (str, int, float)) and not isinstance(value, bool):
            return _tidy(str(value), "json", flags)
    for mark in reversed(markers.find(signals.ends(text))):
        if mark.kind != "choose" and mark.line.strip():
            stage = {"tag": "answer_tag", "boxed": "boxed"}.get(mark.kind, "marker")
            line = mark.line if mark.kind != "phrase" else re.split(r"(?<=[^\d.])[.;](?=\s|\Z)", mark.line)[0]
            return _tidy(line, stage, flags)
    return None


def _unmarked(shown: Reading[str]) -> Reading[str]:
    """A statement, the whole of a short text, or a short first line."""
    body = markers.look_through(signals.ends(shown.value or "")).strip()
    first = body.split("\n")[0].strip()
    statement = _STATEMENT.match(body) if len(body) <= _LONGEST else None
    if statement:
        return _tidy(statement["rest"], "statement", shown.flags)
    if len(body) <= _LONGEST and "\n" not in body:
        return _tidy(body, "whole", shown.flags)
    if len(first) <= 40 and not first.endswith((":", ",")):
        return _tidy(first, "first_line", shown.flags)
    if "truncated" in shown.flags or signals.looks_cut(body):
        return failed(Outcome.TRUNCATED, "none", *shown.flags, "truncated")
    return failed(Outcome.UNPARSED, "none", *shown.flags)


def _tidy(text: str, stage: str, flags: tuple[str, ...]) -> Reading[str]:
    value = " ".join(markers.unwrap(text).split()).strip(" \t.,;:!*_\"'`")
    return ok(value, stage, *flags) if value else failed(Outcome.UNPARSED, stage, *flags)
