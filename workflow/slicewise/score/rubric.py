"""The card judge's rubric: template files with a hash, and a fence that the text to be rated cannot close.

The evaluation card names three dimensions and leaves rubric and scale open; the wording here is ours, the scale is
that of the released scorer.
"""

from __future__ import annotations

import hashlib
from functools import cache
from pathlib import Path
from typing import Any, Literal

from slicewise.llm.request import Message
from slicewise.score.judge import DIMENSIONS, SCALE, JudgeItem

FOLDER = Path(__file__).parent / "rubrics"
MARK_DIGITS = 20

Order = Literal["reference_first", "candidate_first"]

# An enumeration is the one range of integers that every structured-output engine enforces.
SCHEMA: dict[str, Any] = {
    "title": "verdict",
    "type": "object",
    "properties": {name: {"type": "integer", "enum": list(range(SCALE[0], SCALE[1] + 1))} for name in DIMENSIONS},
    "required": list(DIMENSIONS),
    "additionalProperties": False,
}


@cache
def rubric_hash() -> str:
    """SHA-256 of the two template files."""
    digest = hashlib.sha256()
    for part in ("system", "user"):
        digest.update((FOLDER / f"card_{part}.jinja").read_bytes())
    return digest.hexdigest()


def mark(item: JudgeItem) -> str:
    """The mark of the fence: a hash over all texts, so that no text among them can hold it."""
    texts = "\x00".join((item.question, item.reference, item.candidate))
    return hashlib.sha256(texts.encode("utf-8", "surrogatepass")).hexdigest()[:MARK_DIGITS]


def messages(item: JudgeItem, order: Order = "reference_first") -> tuple[Message, ...]:
    """The conversation that asks for a verdict; ``order`` is turned round only to measure its effect."""
    values = {
        "mark": mark(item),
        "question": item.question,
        "reference": item.reference,
        "candidate": item.candidate,
        "order": order,
    }
    system, user = (_template(part).render(values) for part in ("system", "user"))
    return (Message("system", (system.strip(),)), Message("user", (user.strip(),)))


@cache
def _template(part: str) -> Any:
    import jinja2

    environment = jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        undefined=jinja2.StrictUndefined,
        autoescape=False,  # noqa: S701 - plain text, not HTML
    )
    return environment.get_template(f"card_{part}.jinja")
