"""A released inference file as a benchmark of its own.

The file carries questions, gold and outputs together, so it can be scored without the benchmark; what it lacks (image
sizes, box convention, number of the first frame) is declared by whoever scores it and kept in the signatures.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from slicewise import artifacts
from slicewise.benchmarks.sgmri import Level
from slicewise.data.fields import Fault
from slicewise.data.records import Record, read_record
from slicewise.errors import ManyErrors, UserError
from slicewise.infer import answers_file
from slicewise.infer.items import Answer
from slicewise.infer.released import LEVELS, METADATA_QUESTION
from slicewise.parse.gold import gold_boxes
from slicewise.parse.options import parse_options

MAX_FRAMES = 50  # of the largest released volume; the file does not say how many frames were shown


def results_of(path: Path, inference: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The results to be scored: without the doubled questions of the volume metadata, ids checked.

    Raises:
        UserError: An id is missing or used twice.
    """
    kept = [
        result
        for result in inference["results"]
        if not (result.get("task") == "localization" and str(result.get("question", "")).startswith(METADATA_QUESTION))
    ]
    nameless = sum(not isinstance(result.get("sample_id"), str) for result in kept)
    if nameless:
        raise UserError(f"{path}: {nameless} result(s) have no 'sample_id'; expected a text in each of them.")
    twice = [name for name, count in Counter(result["sample_id"] for result in kept).items() if count > 1]
    if twice:
        raise UserError(f"{path}: sample_id '{twice[0]}' (and {len(twice) - 1} more) occurs twice; expected it once.")
    return kept


def sample_rows(
    path: Path, results: Sequence[Mapping[str, Any]], level: str, size: tuple[int, int], benchmark: str
) -> list[dict[str, Any]]:
    """Rows of the samples table for the results of one level, under the file's own ids.

    Gold boxes come from ``bboxes``, on volumes without any from the gold answer's text. An image item has one frame;
    a volume item has :data:`MAX_FRAMES`, because the file does not say how many were shown.

    Args:
        path: The file, for messages.
        results: As :func:`results_of` gives them.
        level: ``image`` or ``volume``; results of the other level are left out.
        size: Declared native width and height of every frame, in pixels.
        benchmark: Name of the benchmark in the rows.

    Raises:
        UserError: Results cannot be read; all of them are listed.
    """
    rows: list[dict[str, Any]] = []
    faults: list[Fault] = []
    for index, result in enumerate(results):
        if LEVELS.get(str(result.get("level"))) != level:
            continue
        record = _record(path, index, result, level)
        if isinstance(record, Record):
            rows.append(_row(result["sample_id"], record, size, benchmark))
        else:
            faults += record
    if faults:
        raise ManyErrors(f"{path}: {len(faults)} field(s) cannot be read", [str(fault) for fault in faults[:20]])
    return rows


def _record(path: Path, index: int, result: Mapping[str, Any], level: str) -> Record | list[Fault]:
    written = re.search(rf"{re.escape(str(result.get('volume_id')))}_s?0*(\d+)_", result["sample_id"])
    raw = {
        "volume_id": result.get("volume_id"),
        "slice_num": int(written.group(1)) if written and int(written.group(1)) > 0 else 1,
        "task": result.get("task"),
        "type": result.get("qa_type"),
        "question": result.get("question"),
        "answer": result.get("gt_answer"),
        "reasoning": result.get("gt_reasoning"),
        "ground_truth": {"labels": result.get("labels") or [], "bboxes": result.get("bboxes") or []},
    }
    known: Level = "image" if level == "image" else "volume"
    return read_record(raw, path.name, index, str(result.get("dataset")), known)


def _row(sample_id: str, record: Record, size: tuple[int, int], benchmark: str) -> dict[str, Any]:
    numbers = [record.slice_num or 1] if record.level == "image" else range(1, MAX_FRAMES + 1)
    width, height = size
    options = parse_options(record.question) if record.question_type in ("single_choice", "multiple_choice") else None
    return {
        "sample_id": sample_id,
        "benchmark": benchmark,
        "level": record.level,
        "domain": record.domain,
        "volume_id": record.volume_id,
        "modality": record.modality,
        "task": record.task,
        "question_type": record.question_type,
        "question": record.question,
        "options": dict(options) if options else record.choices,
        "answer": record.answer,
        "reasoning": record.reasoning,
        "labels": list(record.labels),
        "boxes": _gold(record),
        "frames": [{"number": n, "path": None, "width": width, "height": height, "sha256": None} for n in numbers],
        "n_frames": len(numbers),
        "flags": [*record.flags, "size_declared", *(["n_frames_assumed"] if record.level == "volume" else [])],
    }


def _gold(record: Record) -> list[dict[str, Any]]:
    if record.boxes:
        return [
            _box(
                0 if record.level == "image" else b.frame and b.frame - 1,
                b.x,
                b.y,
                b.x + b.width,
                b.y + b.height,
                b.label,
            )
            for b in record.boxes
        ]
    if record.level == "image" or record.task != "localization":
        return []
    return [_box(b.frame, b.x0, b.y0, b.x1, b.y1, b.label) for b in gold_boxes(record.answer)]


def _box(frame: int | None, x0: float, y0: float, x1: float, y1: float, label: str | None) -> dict[str, Any]:
    return {"frame": frame, "x0": x0, "y0": y0, "x1": x1, "y1": y1, "label": label}


def answer_rows(
    results: Sequence[Mapping[str, Any]], samples: Sequence[Mapping[str, Any]], model: str
) -> list[dict[str, Any]]:
    """Rows of the answers table for the samples made by :func:`sample_rows`."""
    by_id = {result["sample_id"]: result for result in results}
    return [_answer(by_id[row["sample_id"]], row["benchmark"], model) for row in samples]


def _answer(result: Mapping[str, Any], benchmark: str, model: str) -> dict[str, Any]:
    entry = answers_file.read_entry("", result, "sample_id", "model_output")
    key = artifacts.sha256_json({"backend": "file", "reply": [entry.text, entry.error]})
    return Answer(entry.id, entry.text, key, entry.outcome, error=entry.error).row(benchmark, model)
