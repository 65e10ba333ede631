"""Answer reading of the released scorer: yes/no, choice letters, counts, final answers, reasoning blocks.

Every function takes raw model text and never sees the item's own options. None of them removes reasoning
blocks first; :func:`strip_thinking` is a step of its own. A value that is not text raises ``AttributeError``
or ``TypeError``, as the released code does.

Source: recorded behaviour of the released evaluator (see ``docs/reference-protocol.md``).
"""

from __future__ import annotations

import re

_OPEN, _CLOSE = "<think>", "</think>"
_SAID = re.compile(r"(?:the|my)\s+answer\s+is[:\s]*(yes|no)\b")
_NEGATED_OPTION = re.compile(r"it is not \([A-D]\)", re.IGNORECASE)
_IN_PARENTHESES = re.compile(r"\(([A-D])\)")
_ALONE = re.compile(r"\b([A-D])\b")
_INTEGER = re.compile(r"\b(\d+)\b")
_ZERO_WORD = re.compile(r"\b(?:none|zero)\b")
_NO = re.compile(r"\bno\b")
_CONCLUSION = re.compile(r"therefore,?\s+the final answer is:\s*(.+)", re.IGNORECASE)
_LEADING_LETTER = re.compile(r"([A-D])\b")
_CHOICE_TYPES = frozenset({"single_choice", "multiple_choice", "multi_choice"})


def strip_thinking(text: str) -> str:
    """Remove closed ``<think>…</think>`` blocks and trim.

    Other tags, other casing and a block that is never closed stay. Nested blocks end at the first closing tag.

    Args:
        text: Raw model output.

    Returns:
        The text that remains.

    Raises:
        TypeError: When ``text`` is not a string (a null output stops the released code here).
    """
    if not isinstance(text, str):
        raise TypeError(f"expected string or bytes-like object, got {type(text).__name__!r}")
    kept: list[str] = []
    position = 0
    # A scan instead of a lazy pattern: same result, but linear when many blocks are never closed.
    while (start := text.find(_OPEN, position)) >= 0:
        end = text.find(_CLOSE, start + len(_OPEN))
        if end < 0:
            break
        kept.append(text[position:start])
        position = end + len(_CLOSE)
    kept.append(text[position:])
    return "".join(kept).strip()


def yes_no(text: str) -> bool | None:
    """Read yes or no.

    The first word decides when it is yes, no, y or n (without ``.,!:;`` around it); then "the answer is" or
    "my answer is"; then the bare substrings "yes" and "no", unless both occur. So "abnormal", "known" and
    "[ERROR: not found]" read as no, and "yesterday" as yes.

    Args:
        text: An answer, model's or gold.

    Returns:
        True, False, or None when neither or both substrings occur.
    """
    lowered = text.strip().lower()
    words = lowered.split(None, 1)
    first = words[0].strip(".,!:;") if words else ""
    if first in {"yes", "y"}:
        return True
    if first in {"no", "n"}:
        return False
    said = _SAID.search(lowered)
    if said:
        return said.group(1) == "yes"
    has_yes, has_no = "yes" in lowered, "no" in lowered
    if has_yes == has_no:
        return None
    return has_yes


def choice_letters(text: str) -> list[str]:
    """Read the letters A to D, sorted and without repeats.

    "It is not (X)" is cut out first. If any letter stands in parentheses, only those count; otherwise every
    letter that stands alone, in either case, so that the article "a" is option A. Letters from E on do not exist.

    Args:
        text: An answer, model's or gold.

    Returns:
        Capital letters in alphabetical order; empty when there are none.
    """
    upper = _NEGATED_OPTION.sub("", text).upper()
    found = _IN_PARENTHESES.findall(upper) or _ALONE.findall(upper)
    return sorted(set(found))


def number(text: str) -> int | None:
    """Read a count.

    "None", "zero", or a line with the word "no" and later "abnormal" give 0; otherwise the last run of digits
    that stands alone. "12.0" therefore gives 0, frame numbers and coordinates count, number words do not.

    Args:
        text: An answer, model's or gold.

    Returns:
        The count, or None without digits.

    Raises:
        ValueError: When the last number has more digits than Python converts.
    """
    lowered = text.lower()
    if _ZERO_WORD.search(lowered) or any(_denies_abnormality(line) for line in lowered.split("\n")):
        return 0
    digits = _INTEGER.findall(text)
    return int(digits[-1]) if digits else None


def final_answer(text: str, qa_type: str) -> str:
    """Cut out what follows "Therefore, the final answer is:" on its line.

    The full stop and the asterisks around it go. For the choice types a leading capital A to D that ends at a
    word boundary replaces the whole: "A, C" becomes "A", and so does "A meniscus tear".

    Args:
        text: Raw model output.
        qa_type: Question type of the item.

    Returns:
        The cut answer, or ``text`` unchanged when the phrase does not occur.
    """
    found = _CONCLUSION.search(text)
    if not found:
        return text
    answer = found.group(1).strip().rstrip(".").strip("*").strip()
    letter = _LEADING_LETTER.match(answer) if qa_type in _CHOICE_TYPES else None
    return letter.group(1) if letter else answer


def _denies_abnormality(line: str) -> bool:
    found = _NO.search(line)
    return found is not None and "abnormal" in line[found.end() :]
