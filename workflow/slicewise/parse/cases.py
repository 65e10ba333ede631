"""The public format of parser cases: one JSON object per line with ``id, kind, text, context`` and maybe ``expected``.

``slicewise parse --cases`` writes what was read; ``--check`` compares it with ``expected``. Lines marked ``ambiguous``
are counted apart: their expectation is one of several defensible ones, and our policy is in ``docs/parsing.md``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicewise.errors import UserError, did_you_mean
from slicewise.geometry import Convention
from slicewise.outcome import Outcome, Reading
from slicewise.parse import answers, frames
from slicewise.parse.boxes import BoxContext, BoxesReading, read_boxes
from slicewise.parse.clean import Clean, clean, see
from slicewise.parse.locations import strip_location
from slicewise.parse.options import parse_options
from slicewise.parse.verdicts import read_verdict

TOLERANCE = 0.01  # pixels


@dataclass(frozen=True, slots=True)
class Case:
    """One line of a case file, checked."""

    where: str
    id: str
    kind: str
    text: str | None
    context: Mapping[str, Any]
    record: Mapping[str, Any]


def read_cases(path: Path) -> Iterator[Case]:
    """The cases of a JSON Lines file, blank lines skipped.

    Raises:
        UserError: The file is missing or empty, or a line is no JSON object with ``id``, ``kind`` and ``text``.
    """
    try:
        lines = Path(path).read_text(encoding="utf-8", errors="surrogatepass").split("\n")
    except FileNotFoundError as error:
        raise UserError(f"{path}: not found; expected a JSON Lines file of cases.") from error
    except (UnicodeDecodeError, OSError) as error:
        raise UserError(
            f"{path}: cannot be read as UTF-8 text ({error}); expected a JSON Lines file of cases."
        ) from error
    if not any(line.strip() for line in lines):
        raise UserError(f"{path}: holds no case; expected one JSON object per line.")
    for number, line in enumerate(lines, 1):
        if line.strip():
            yield _case(f"{path}:{number}", line)


def _case(where: str, line: str) -> Case:
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise UserError(f"{where}: is not valid JSON ({error}); expected one object per line.") from error
    if not isinstance(record, dict):
        raise UserError(f"{where}: found {type(record).__name__}, expected an object with id, kind, text and context.")
    for name in ("id", "kind", "text"):
        if name not in record:
            raise UserError(f"{where}: field '{name}' is missing; expected an object with id, kind, text and context.")
    kind, text, context = record["kind"], record["text"], record.get("context") or {}
    if kind not in KINDS:
        raise UserError(
            f"{where}: kind {kind!r} is unknown; expected one of {sorted(KINDS)}.{did_you_mean(str(kind), KINDS)}"
        )
    if not isinstance(text, (str, type(None))) or not isinstance(context, dict):
        raise UserError(f"{where}: 'text' must be a string or null and 'context' an object.")
    return Case(where, str(record["id"]), kind, text, context, record)


def answer(case: Case) -> dict[str, Any]:
    """What the parsers read: ``id, value, outcome, stage, flags`` and, for boxes, ``rejected``."""
    cleaned = clean(
        case.text,
        prompt=_text_field(case, "prompt"),
        prefilled=case.context.get("declared_thinking") != "none",
        cut=case.context.get("finish_reason") in ("length", "max_tokens"),
    )
    out = KINDS[case.kind](case, cleaned)
    return {"id": case.id, **out}


def _plain(reading: Reading[Any]) -> dict[str, Any]:
    return {
        "value": reading.value,
        "outcome": str(reading.outcome),
        "stage": reading.stage,
        "flags": list(reading.flags),
    }


def _shown(case: Case, cleaned: Clean) -> dict[str, Any]:
    reading = see(cleaned)
    if reading.outcome is Outcome.REFUSED:  # what remains of a refusal is its text
        from slicewise.parse.clean import peel

        return {**_plain(reading), "value": peel(cleaned.text)}
    return {**_plain(reading), "value": reading.value or ""}


def _options(case: Case) -> dict[str, str] | None:
    options = case.context.get("options")
    if isinstance(options, list):
        options = {chr(ord("A") + i): text for i, text in enumerate(options)}
    if options is None:
        question = _text_field(case, "question")
        return parse_options(question) if question else None
    if not isinstance(options, dict) or not all(isinstance(text, str) for text in options.values()):
        raise UserError(f"{case.where}: 'context.options' must map letters to texts.")
    return {str(letter).upper(): text for letter, text in options.items()}


def _text_field(case: Case, name: str) -> str | None:
    value = case.context.get(name)
    if value is not None and not isinstance(value, str):
        raise UserError(f"{case.where}: 'context.{name}' is {type(value).__name__}, expected a string.")
    return value


def _whole(case: Case, name: str, default: int | None = None, least: int = 0) -> int:
    value = case.context.get(name, default)
    if isinstance(value, bool) or not isinstance(value, int) or value < least:
        raise UserError(f"{case.where}: 'context.{name}' is {value!r}, expected a whole number of at least {least}.")
    return value


def box_context(case: Case) -> BoxContext:
    """The context of a box case.

    Raises:
        UserError: The convention is unknown, or a size is missing or no whole number.
    """
    declared = case.context.get("declared_convention")
    names = [str(convention) for convention in Convention]
    if declared not in names:
        raise UserError(
            f"{case.where}: 'context.declared_convention' is {declared!r}, expected one of {names}."
            f"{did_you_mean(str(declared), names)}"
        )
    unknown = case.context.get("image_width") is None and case.context.get("image_height") is None
    if (unknown and not str(declared).startswith("abs_")) or (unknown and declared == "abs_xyxy_resized"):
        raise UserError(
            f"{case.where}: 'context.image_width' is missing; convention '{declared}' cannot be read without it."
        )
    size = None if unknown else (_whole(case, "image_width", least=1), _whole(case, "image_height", least=1))
    count = _whole(case, "n_frames", 1, least=1)
    sent: tuple[tuple[int, int], ...] = ()
    if "resized_width" in case.context:
        sent = ((_whole(case, "resized_width", least=1), _whole(case, "resized_height", least=1)),) * count
    base = _whole(case, "frame_base", 1)
    fps = case.context.get("fps")
    if fps is not None and (isinstance(fps, bool) or not isinstance(fps, (int, float)) or fps <= 0):
        raise UserError(f"{case.where}: 'context.fps' is {fps!r}, expected a positive number.")
    return BoxContext(
        Convention(declared), (size,) * count, sent, base, fps,
        question_frame=_question_frame(case, count, base), polygon=case.context.get("polygon_mode") == "enclosing_box",
    )  # fmt: skip


def _question_frame(case: Case, count: int, base: int) -> int | None:
    if case.context.get("question_frame") is not None:
        return _whole(case, "question_frame")
    question = _text_field(case, "question")
    return frames.only_number(question, frames.Shown(count, base)) if question else None


def _boxes(case: Case, cleaned: Clean) -> dict[str, Any]:
    found: BoxesReading = read_boxes(cleaned, box_context(case))
    boxes = found.reading.value or []
    rejected: list[dict[str, Any]] = [{"frame": r.frame, "text": r.text, "reason": r.reason} for r in found.rejected]
    rejected += [
        {"frame": b.frame, "xyxy": [b.x0, b.y0, b.x1, b.y1], "reason": "zero_area"} for b in boxes if b.area == 0
    ]
    value = [{"frame": b.frame, "xyxy": [b.x0, b.y0, b.x1, b.y1]} for b in boxes if b.area > 0]
    return {**_plain(found.reading), "value": value, "rejected": rejected, "emitted": found.emitted}


def _judge(case: Case, cleaned: Clean) -> dict[str, Any]:
    dims, scale, aliases = case.context.get("dims"), case.context.get("scale"), case.context.get("aliases")
    if not isinstance(dims, list) or not dims or not all(isinstance(d, str) for d in dims):
        raise UserError(f"{case.where}: 'context.dims' is {dims!r}, expected a list of names.")
    if not isinstance(scale, list) or len(scale) != 2 or not all(isinstance(s, (int, float)) for s in scale):
        raise UserError(f"{case.where}: 'context.scale' is {scale!r}, expected [least, greatest].")
    if aliases is not None and not isinstance(aliases, dict):
        raise UserError(f"{case.where}: 'context.aliases' is {aliases!r}, expected an object.")
    verdict = read_verdict(cleaned, dims, (scale[0], scale[1]), aliases)
    return {
        "value": verdict.values, "outcome": str(verdict.outcome), "stage": verdict.stage, "flags": list(verdict.flags),
    }  # fmt: skip


def _stripped(case: Case, cleaned: Clean) -> dict[str, Any]:
    reading = see(cleaned)
    return {**_plain(reading), "value": strip_location(reading.value) if reading.value else ""}


KINDS: dict[str, Callable[[Case, Clean], dict[str, Any]]] = {
    "yes_no": lambda case, cleaned: _plain(answers.read_yes_no(cleaned, _text_field(case, "question"))),
    "single_choice": lambda case, cleaned: _plain(answers.read_choice(cleaned, _options(case))),
    "multiple_choice": lambda case, cleaned: _plain(answers.read_choices(cleaned, _options(case))),
    "count": lambda case, cleaned: _plain(answers.read_count(cleaned, _text_field(case, "question"))),
    "short_text": lambda case, cleaned: _plain(answers.read_short_text(cleaned, _text_field(case, "question"))),
    "bbox": _boxes,
    "judge": _judge,
    "strip": _shown,
    "think": _shown,
    "strip_location": _stripped,
}


def matches(kind: str, value: Any, expected: Any) -> bool:
    """Whether a value is the expected one: exact, boxes in any order within 0.01 px."""
    if kind != "bbox" or not isinstance(expected, list) or not isinstance(value, list):
        return bool(value == expected) and isinstance(value, bool) == isinstance(expected, bool)
    if len(value) != len(expected):
        return False
    left = list(expected)
    for box in value:
        hit = next((other for other in left if _same_box(box, other)), None)
        if hit is None:
            return False
        left.remove(hit)
    return True


def _same_box(a: Mapping[str, Any], b: Mapping[str, Any]) -> bool:
    return bool(a["frame"] == b["frame"]) and all(
        abs(p - q) <= TOLERANCE + 1e-9 for p, q in zip(a["xyxy"], b["xyxy"], strict=True)
    )
