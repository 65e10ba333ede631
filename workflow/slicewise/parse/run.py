"""The stage ``parse``: one parsed row per answer row, without inference, the gold answer seen only for its shape."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from slicewise import artifacts
from slicewise.errors import UserError
from slicewise.geometry import Box
from slicewise.jobs import ParseJob
from slicewise.outcome import MACHINE_FAILURES, Outcome, Reading, failed, ok
from slicewise.parse import PARSER_VERSION, answers, frames, markers
from slicewise.parse.boxes import BoxContext, BoxesReading, read_boxes
from slicewise.parse.clean import Clean, clean, see
from slicewise.parse.gold import kind_of
from slicewise.parse.options import parse_options

_CUT = frozenset({"length", "max_tokens", "MAX_TOKENS", "model_length"})
_BLOCKED = frozenset({"content_filter", "safety", "SAFETY", "refusal", "RECITATION", "PROHIBITED_CONTENT", "BLOCKLIST"})
_TEXT_KEYS = (
    "answer",
    "finalanswer",
    "report",
    "caption",
    "description",
    "findings",
    "summary",
    "text",
    "response",
    "impression",
)
_SAMPLE_COLUMNS = ("sample_id", "task", "question_type", "question", "options", "answer", "frames")


def parse_file(job: ParseJob, samples: Path, answers_file: Path, out: Path) -> None:
    """Read one model's answers to one benchmark.

    Args:
        job: Declared convention, numbering and settings of the model.
        samples: The benchmark's items.
        answers_file: What the model wrote.
        out: Where the parsed rows go, one per answer row.

    Raises:
        UserError: An answer belongs to no item of the benchmark.
    """
    items = {row["sample_id"]: row for row in artifacts.read_rows(samples, columns=list(_SAMPLE_COLUMNS))}
    rows = artifacts.read_rows(answers_file, artifacts.ANSWERS)
    artifacts.write_rows(out, _parsed(job, items, rows, answers_file), artifacts.PARSED)


def _parsed(
    job: ParseJob, items: Mapping[str, Mapping[str, Any]], rows: list[dict[str, Any]], source: Path
) -> Iterator[dict[str, Any]]:
    for row in rows:
        sample = items.get(row["sample_id"])
        if sample is None:
            raise UserError(
                f"{source}: sample_id '{row['sample_id']}' is no item of benchmark '{job.benchmark}'; "
                "expected ids of its samples: run the infer stage again."
            )
        yield parse_row(job, sample, row)


def parse_row(job: ParseJob, sample: Mapping[str, Any], row: Mapping[str, Any]) -> dict[str, Any]:
    """One parsed row (schema ``PARSED``) from an item and an answer."""
    kind = kind_of(sample["task"], sample["question_type"], sample["answer"])
    localizes = sample["task"] == "localization"
    outcome = Outcome(row["outcome"])
    if outcome in MACHINE_FAILURES or (row["text"] is None and outcome is not Outcome.OK):
        text: Reading[str] = failed(outcome, "infer")
        answer: Reading[Any] = failed(
            outcome if kind != "none" else Outcome.NO_REFERENCE, "infer" if kind != "none" else "not_asked"
        )
        boxes = BoxesReading(
            failed(outcome if localizes else Outcome.NO_REFERENCE, "infer" if localizes else "not_asked")
        )
    else:
        cleaned = _clean(sample, row)
        text = visible_text(cleaned)
        answer = read_answer(kind, cleaned, text, sample)
        boxes = (
            _boxes(job, sample, row, cleaned) if localizes else BoxesReading(failed(Outcome.NO_REFERENCE, "not_asked"))
        )
    return {
        "sample_id": row["sample_id"], "benchmark": row["benchmark"], "model": row["model"], "kind": kind,
        **_answer_columns(kind, answer), **_text_columns(text), **_box_columns(boxes), "parser": PARSER_VERSION,
    }  # fmt: skip


def _clean(sample: Mapping[str, Any], row: Mapping[str, Any]) -> Clean:
    reason = row["finish_reason"]
    cleaned = clean(row["text"], prompt=sample["question"], cut=reason in _CUT)
    if cleaned.outcome is Outcome.EMPTY and reason in _BLOCKED:
        return Clean("", Outcome.REFUSED, "finish_reason", (*cleaned.flags, "refusal"))
    return cleaned


def visible_text(cleaned: Clean) -> Reading[str]:
    """What AR reads: the visible text, or the answer field when the whole reply is a JSON object."""
    shown = see(cleaned)
    if shown.value is None or "{" not in shown.value[:1] + shown.value[-1:]:
        return shown
    if not shown.value.startswith(("{", "[{")):
        return shown
    fields = [
        value
        for value in markers.json_answers(shown.value, _TEXT_KEYS) or []
        if isinstance(value, str) and value.strip()
    ]
    if not fields:
        return shown
    return ok(fields[-1].strip(), "json", *shown.flags, "json_answer")


def read_answer(kind: str, cleaned: Clean, text: Reading[str], sample: Mapping[str, Any]) -> Reading[Any]:
    """The answer of one item by its kind; ``no_reference`` where the item asks for none."""
    question = sample["question"]
    if kind == "yes_no":
        return answers.read_yes_no(cleaned, question)
    if kind == "count":
        return answers.read_count(cleaned, question)
    if kind == "short_text":
        return answers.read_short_text(cleaned, question)
    if kind in ("single_choice", "multiple_choice"):
        options = sample["options"] or parse_options(question)
        return (
            answers.read_choice(cleaned, options) if kind == "single_choice" else answers.read_choices(cleaned, options)
        )
    return text if kind == "open_text" else failed(Outcome.NO_REFERENCE, "not_asked")


def _boxes(job: ParseJob, sample: Mapping[str, Any], row: Mapping[str, Any], cleaned: Clean) -> BoxesReading:
    """Boxes with ``frame`` as position in the item's own list of frames, also when fewer frames were sent."""
    positions, sent = _frames_sent(sample, row)
    if not positions:
        return BoxesReading(failed(Outcome.MISSING_FRAMES, "no_frames"))
    native = tuple((sample["frames"][p]["width"], sample["frames"][p]["height"]) for p in positions)
    shown = frames.Shown(len(positions), job.frame_base, job.parse.fps)
    asked = frames.only_number(sample["question"], shown)
    context = BoxContext(job.bbox_convention, native, sent, job.frame_base, job.parse.fps, question_frame=asked)
    found = read_boxes(cleaned, context)
    if positions == list(range(len(sample["frames"]))):
        return found
    moved = [replace(b, frame=positions[b.frame] if b.frame is not None else None) for b in found.reading.value or []]
    reading = ok(moved, found.reading.stage, *found.reading.flags) if found.reading.value is not None else found.reading
    rejected = tuple(replace(r, frame=positions[r.frame] if r.frame is not None else None) for r in found.rejected)
    return replace(found, reading=reading, rejected=rejected)


def _frames_sent(sample: Mapping[str, Any], row: Mapping[str, Any]) -> tuple[list[int], tuple[tuple[int, int], ...]]:
    """Positions of the frames sent in the item's list, and their sizes as sent (empty: native)."""
    numbers = {frame["number"]: i for i, frame in enumerate(sample["frames"])}
    if not row["frames"]:
        return list(range(len(sample["frames"]))), ()
    unknown = [frame["number"] for frame in row["frames"] if frame["number"] not in numbers]
    if unknown:
        raise UserError(
            f"answers of '{row['sample_id']}': frames has number {unknown[0]}, which the item does not have; "
            "expected numbers of its frames: run the infer stage again."
        )
    sent = tuple((frame["width"], frame["height"]) for frame in row["frames"])
    return [numbers[frame["number"]] for frame in row["frames"]], sent


def _answer_columns(kind: str, answer: Reading[Any]) -> dict[str, Any]:
    value = answer.value
    letters = value if kind == "multiple_choice" else [value] if kind == "single_choice" and value is not None else None
    written = ", ".join(value) if isinstance(value, list) else None if value is None else str(value)
    return {
        "answer": written, "letters": letters, "count": value if kind == "count" else None,
        "answer_outcome": str(answer.outcome), "answer_stage": answer.stage, "answer_flags": list(answer.flags),
    }  # fmt: skip


def _text_columns(text: Reading[str]) -> dict[str, Any]:
    return {
        "text": text.value, "text_outcome": str(text.outcome), "text_stage": text.stage, "text_flags": list(text.flags),
    }  # fmt: skip


def _box_columns(found: BoxesReading) -> dict[str, Any]:
    boxes = found.reading.value
    return {
        "boxes": None if boxes is None else [_box_row(box) for box in boxes],
        "boxes_outcome": str(found.reading.outcome), "boxes_stage": found.reading.stage,
        "boxes_flags": list(found.reading.flags), "boxes_emitted": found.emitted,
        "rejected": [{"frame": r.frame, "text": r.text, "reason": r.reason} for r in found.rejected],
    }  # fmt: skip


def _box_row(box: Box) -> dict[str, Any]:
    return {"frame": box.frame, "x0": box.x0, "y0": box.y0, "x1": box.x1, "y1": box.y1, "label": box.label}
