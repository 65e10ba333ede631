"""Replay of recorded input/output pairs of the released scorer's functions.

A line is an object ``{id, function, input, output}``: ``input`` holds the arguments by name, ``output`` the exact
value, ``{"raises": "TypeError"}`` where the call raised. Floats agree within 1e-12, NaN equals NaN.
"""

from __future__ import annotations

import inspect
import json
import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from . import ReferenceInputError
from .a_score import a_score
from .answers import choice_letters, final_answer, number, strip_thinking, yes_no
from .ar_score import bleu, rouge_l
from .boxes import boxes
from .locations import strip_localization_text
from .v_score import v_score

TOLERANCE = 1e-12

#: The functions that can be replayed, by the name that lines use.
FUNCTIONS: dict[str, Callable[..., Any]] = {
    "yes_no": yes_no,
    "choice_letters": choice_letters,
    "number": number,
    "strip_thinking": strip_thinking,
    "strip_localization_text": strip_localization_text,
    "boxes": boxes,
    "final_answer": final_answer,
    "a_score": a_score,
    "v_score": v_score,
    "bleu": bleu,
    "rouge_l": rouge_l,
}


@dataclass(frozen=True, slots=True)
class Mismatch:
    """One line whose replay gives another value.

    Attributes:
        id: The line's id.
        function: The function replayed.
        input: Its arguments.
        expected: The recorded value.
        got: The value now, or ``{"raises": …}``.
    """

    id: str
    function: str
    input: dict[str, Any]
    expected: Any
    got: Any

    def __str__(self) -> str:
        return f"{self.id} {self.function}: expected {_shown(self.expected)}, got {_shown(self.got)}"


def run_file(path: str | Path) -> tuple[int, int, list[Mismatch]]:
    """Replay a JSONL file.

    Args:
        path: File of lines; blank lines are skipped.

    Returns:
        Lines passed, lines failed, and the mismatches.

    Raises:
        ReferenceInputError: When the file cannot be read or a line is malformed; the sentence names the line.
    """
    lines = list(read_lines(path))
    try:
        mismatches = replay(lines)
    except ReferenceInputError as error:
        raise ReferenceInputError(f"{path}: {error}") from error
    return len(lines) - len(mismatches), len(mismatches), mismatches


def read_lines(path: str | Path) -> Iterator[dict[str, Any]]:
    """Read the lines of a JSONL file.

    Args:
        path: File of lines; blank lines are skipped.

    Yields:
        One object per line, checked for shape.

    Raises:
        ReferenceInputError: When the file cannot be read or a line is malformed.
    """
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise ReferenceInputError(f"{path}: cannot be read ({error.strerror}); give a JSONL file.") from error
    except UnicodeDecodeError as error:
        raise ReferenceInputError(f"{path}: is not UTF-8 text at byte {error.start}; save it as UTF-8.") from error
    if not text.strip():
        raise ReferenceInputError(f"{path}: holds no recorded call; give a JSONL file.")
    for number_, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            continue
        try:
            yield _checked(json.loads(line))
        except (json.JSONDecodeError, RecursionError) as error:
            raise ReferenceInputError(f"{path} line {number_}: is not valid JSON ({error}).") from error
        except ReferenceInputError as error:
            raise ReferenceInputError(f"{path} line {number_}: {error}") from error


def replay(lines: Iterable[Mapping[str, Any]]) -> list[Mismatch]:
    """Replay lines and compare.

    Args:
        lines: Objects with ``id``, ``function``, ``input`` and ``output``.

    Returns:
        The lines that differ, in order.

    Raises:
        ReferenceInputError: When a line is malformed: an unknown function, missing keys, arguments that the
            function does not have.
    """
    mismatches = []
    for line in lines:
        checked = _checked(line)
        got = _call(checked["function"], checked["input"])
        if not agree(checked["output"], got):
            mismatches.append(
                Mismatch(str(checked["id"]), checked["function"], checked["input"], checked["output"], got)
            )
    return mismatches


def agree(expected: Any, got: Any) -> bool:
    """Compare two values: numbers within 1e-12, NaN equal to NaN, the rest exactly, containers item by item.

    Args:
        expected: Recorded value.
        got: Value now.

    Returns:
        Whether they agree. ``{"raises": "TypeError: text"}`` agrees by the name of the exception.
    """
    if isinstance(expected, Mapping) and isinstance(got, Mapping):
        if set(expected) == set(got) == {"raises"}:
            return _exception_name(expected["raises"]) == _exception_name(got["raises"])
        return set(expected) == set(got) and all(agree(expected[key], got[key]) for key in expected)
    if isinstance(expected, list) and isinstance(got, list):
        return len(expected) == len(got) and all(map(agree, expected, got))
    if _is_number(expected) and _is_number(got):
        return _close(expected, got)
    return type(expected) is type(got) and bool(expected == got)


def _checked(line: Any) -> dict[str, Any]:
    if not isinstance(line, Mapping):
        raise ReferenceInputError(f"is {type(line).__name__}, expected an object with id, function, input and output.")
    missing = [key for key in ("id", "function", "input", "output") if key not in line]
    if missing:
        raise ReferenceInputError(f"lacks {', '.join(missing)}; a line has id, function, input and output.")
    function, arguments = line["function"], line["input"]
    if function not in FUNCTIONS:
        raise ReferenceInputError(f"function is {function!r}, expected one of {', '.join(FUNCTIONS)}.")
    signature = inspect.signature(FUNCTIONS[function])
    try:
        signature.bind(**arguments)
    except TypeError as error:
        wanted = ", ".join(signature.parameters)
        raise ReferenceInputError(f"input does not fit {function}({wanted}): {error}.") from error
    return dict(line)


def _call(function: str, arguments: dict[str, Any]) -> Any:
    try:
        return FUNCTIONS[function](**arguments)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
        return {"raises": f"{type(error).__name__}: {error}"}


def _exception_name(raised: Any) -> str:
    return str(raised).partition(":")[0].partition("(")[0].strip()


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


def _close(expected: float, got: float) -> bool:
    if expected == got or (math.isnan(expected) and math.isnan(got)):
        return True
    return abs(expected - got) <= TOLERANCE


def _shown(value: Any) -> str:
    # A lone surrogate cannot be printed; it is shown by its number.
    text = json.dumps(value, ensure_ascii=False).encode("utf-8", "backslashreplace").decode("utf-8")
    return text if len(text) <= 300 else text[:300] + "…"
