"""What the builder refuses: words that give the finding away, and questions that the scan cannot answer."""

from __future__ import annotations

import re
from collections.abc import Iterable

from slicewise.errors import UserError

# A question names a place, never what is there: the name is half of the answer.
PATHOLOGY = re.compile(
    r"\b(?:nodul\w*|mass(?:es)?|tumou?rs?|cancer\w*|carcinoma\w*|metasta\w*|malignan\w*|lesions?|effusions?"
    r"|pneumothora\w*|pneumonia\w*|consolidation\w*|opacit\w+|ground.?glass|atelecta\w*|emphysema\w*|bronchiecta\w*"
    r"|fibro\w+|calcif\w*|calcium|plaques?|aneurysm\w*|h?ernia\w*|cysts?|abscess\w*|h(?:a)?emorrhage\w*|edema|oedema"
    r"|fractures?|lymphadenopath\w*|cardiomegal\w*|thicken\w*|embol\w*|thromb\w*|infarct\w*|stenos[ie]s"
    r"|granuloma\w*|cavit\w+|fluid collections?)\b",
    re.IGNORECASE,
)

# A chest CT without contrast shows none of these, whatever a report says of them.
UNANSWERABLE: dict[str, re.Pattern[str]] = {
    name: re.compile(pattern, re.IGNORECASE)
    for name, pattern in {
        "enhancement": r"\b(?:non)?enhanc\w+|\bwash.?(?:in|out)\b|\b(?:arterial|venous|portal|delayed) phase\b",
        "flow": r"\bflow velocit\w+|\bperfusion\b|\bblood flow\b|\bpatency\b",
        "vessel wall contact": r"\bencase\w*|\bcleavage plane|\babutment\b|\bvascular invasion\b",
        "filling defect": r"\bfilling defects?\b|\bpulmonary embol\w*|\bthromb\w+",
        "outside the chest": r"\b(?:splenic vein|pancrea\w+|prostat\w+|uter\w+|ovar\w+|bladder|rectum|brain)\b",
        "metabolism": r"\bSUV\w*\b|\buptake\b|\bhypermetabolic\b",
        "histology": r"\bhistolog\w+|\bbiops\w+ (?:shows?|proven)|\bmutation\w*",
        "comparison": r"\b(?:compared (?:with|to)|since the prior|interval (?:growth|change|in|de)\w*|unchanged)\b",
    }.items()
}


def pathology_words(text: str) -> list[str]:
    """Words of a text that name a pathology, lower-cased, in order."""
    return [match[0].lower() for match in PATHOLOGY.finditer(text)]


def unanswerable(text: str) -> str | None:
    """Why one chest CT without contrast cannot answer a text, or ``None`` when it can."""
    return next((name for name, pattern in UNANSWERABLE.items() if pattern.search(text)), None)


def check_blind(question: str) -> None:
    """Refuse a question that names a pathology.

    Raises:
        UserError: It does; the message names the words.
    """
    words = pathology_words(question)
    if words:
        raise UserError(
            f"CT-FlowBench: the question '{question}' names {sorted(set(words))}; expected a place alone: a question "
            "refers to what is there by its place."
        )


def check_answerable(texts: Iterable[str]) -> None:
    """Refuse content that a chest CT without contrast cannot answer.

    Raises:
        UserError: One text asks for it; the message names why.
    """
    for text in texts:
        why = unanswerable(text)
        if why is not None:
            raise UserError(
                f"CT-FlowBench: '{text}' asks for {why}, which one chest CT without contrast does not show; expected "
                "size, density, place or what follows from them."
            )
