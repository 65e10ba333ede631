"""The signature of a value: everything in the settings and the code that can change it, as one constant string.

Two values may be compared when their signatures are equal, and a reader sees at once when they are not. No clock, no
host and no path is in it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from slicewise import __version__

NAMES = {
    "answer": "A",
    "similarity": "cosine",
    "bleu": "BLEU",
    "rouge_l": "ROUGE-L",
    "bertscore": "BERTScore",
    "judge": "judge",
    "reasoning": "AR",
    "grounding": "V",
    "choice": "accuracy",
    "ct_text": "CT text",
    "tool_use": "tools",
}


def signature(metric: str, protocol: str, parts: Mapping[str, Any]) -> str:
    """``A|protocol:card|parser:1.0.0|version:0.1.0``; parts in the order given, absent (``None``) ones left out."""
    given = {"protocol": protocol, **parts, "version": __version__}
    return "|".join((NAMES[metric], *(f"{key}:{_word(value)}" for key, value in given.items() if value is not None)))


def _word(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value).replace("|", "/")
