"""Removal of boxes and frame references before the released scorer compares localization texts.

Only integer ``<bbx>[…]</bbx>`` tags, lists of four integers, "Frame N:" and "on Frame(s) N, M" go, with that
capital F. Everything else survives: ``<bbox>`` tags, JSON keys, parenthesised pairs, "slice 4", "frames 3-5".

Source: recorded behaviour of the released evaluator (see ``docs/reference-protocol.md``).
"""

from __future__ import annotations

import re

_TAG = re.compile(r"<bbx>\s*\[[\d,\s]+\]\s*</bbx>\s*")
_LIST = re.compile(r"\[\s*\d+\s*,\s*\d+\s*,\s*\d+\s*,\s*\d+\s*\]")
_ON_FRAMES = re.compile(r"on Frames?\s+\d[\d,\s\-]*:?")
_FRAME = re.compile(r"Frame\s+\d+:\s*")
_SPACES = re.compile(r"\s{2,}")
_COMMAS = re.compile(r",(?:\s*,)+")
_BEFORE_STOP = re.compile(r"[,\s]+\.")


def strip_localization_text(text: str) -> str:
    """Strip locations from a localization answer, remnants included ("to 27:", "observed and 6").

    Args:
        text: Model output or gold answer.

    Returns:
        The text that the released scorer hands to the judge and the text metrics.

    Raises:
        TypeError: When ``text`` is not a string.
    """
    text = _LIST.sub("", _TAG.sub("", text))
    text = _FRAME.sub("", _without_on_frames(text))
    text = _BEFORE_STOP.sub(".", _COMMAS.sub(",", _SPACES.sub(" ", text)))
    return text.strip().rstrip(".,").strip()


def _without_on_frames(text: str) -> str:
    """Replace "on Frame 3, 4" and the white space before it by one blank.

    The white space is looked for backwards, because a pattern that starts with it is quadratic on long runs.
    """
    kept: list[str] = []
    position = 0
    for match in _ON_FRAMES.finditer(text):
        before = text[position : match.start()]
        if before and before[-1].isspace():
            kept += [before.rstrip(), " "]
            position = match.end()
    kept.append(text[position:])
    return "".join(kept)
