"""A whole evaluation run of the released scorer, from an inference file to aggregates and breakdowns.

Which metric an item gets, what is dropped and what counts is as released: A for ids with ``_qa_`` that are
neither open-ended nor localization, AR for ids with ``_qa_`` in captioning and localization, V for localization
with gold boxes; questions that start with "Locate the bounding box" are dropped; failed calls are scored by
their ``[ERROR: …]`` text; a missing result shrinks the denominator.

Source: recorded behaviour of the released evaluator (see ``docs/reference-protocol.md``).
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from . import ReferenceInputError
from .a_score import a_score
from .answers import final_answer, strip_thinking
from .ar_score import ArHooks, ArParts, ar_score
from .boxes import RefBox, boxes
from .locations import strip_localization_text
from .v_score import VScore, v_score

#: Image width and height by dataset, as the released code assumes them (brain images are mostly 320x320).
IMAGE_SIZES: dict[str, tuple[int, int]] = {"brain": (256, 256), "knee": (320, 320)}
#: A localization question that starts so is a twin of another one and is dropped.
DROPPED_PREFIX = "Locate the bounding box"
GROUPS = ("dataset", "level", "qa_type", "task")
METRICS = ("a_score", "ar_score", "v_score", "map")

_AR_TASKS = frozenset({"captioning", "localization"})


@dataclass(frozen=True, slots=True)
class ItemScore:
    """Everything the released scorer makes of one result.

    Attributes:
        sample_id: Id of the result.
        groups: Value of each breakdown key.
        scores: Metric name to value, in the order a_score, ar_score, v_score, map; a metric that does not apply
            is absent, and ``map`` is None when no box was read.
        answer: The text that A was computed on, or None without A.
        pred_boxes: Boxes that V was computed on; a missing frame or frame 0 is 1.
        gold_boxes: Gold boxes of V.
        grounding: The whole result of V, or None without V.
        ar: The parts of AR, or None without AR.
    """

    sample_id: str
    groups: dict[str, str]
    scores: dict[str, float | None]
    answer: str | None = None
    pred_boxes: list[RefBox] = field(default_factory=list)
    gold_boxes: list[Mapping[str, Any]] = field(default_factory=list)
    grounding: VScore | None = None
    ar: ArParts | None = None


def load_inference(path: str | Path) -> dict[str, Any]:
    """Read an inference file in the released format.

    Args:
        path: JSON file: an object with a list ``results`` of objects.

    Returns:
        The object.

    Raises:
        ReferenceInputError: When the file is missing, is not JSON, or has another shape.
    """
    try:
        inference = json.loads(Path(path).read_text(encoding="utf-8"))
    except OSError as error:
        raise ReferenceInputError(f"{path}: cannot be read ({error.strerror}); give an inference JSON file.") from error
    except UnicodeDecodeError as error:
        raise ReferenceInputError(f"{path}: is not UTF-8 text at byte {error.start}; save it as UTF-8.") from error
    except (json.JSONDecodeError, RecursionError) as error:
        raise ReferenceInputError(f"{path}: is not valid JSON ({error}); a cut-off file must be rebuilt.") from error
    try:
        _results(inference)
    except ReferenceInputError as error:
        raise ReferenceInputError(f"{path}: {error}") from error
    return dict(inference)


def score_run(inference: Mapping[str, Any], *, ar: ArHooks | None = None) -> dict[str, Any]:
    """Score an inference file.

    Args:
        inference: As :func:`load_inference` gives it.
        ar: Judge and encoder; None leaves AR out.

    Returns:
        ``aggregates``, ``breakdowns``, ``total_samples`` (after the drop) and ``per_sample``, in the order and
        with the keys that the released evaluation file has.

    Raises:
        ReferenceInputError: When the shape is wrong, or an item stops the released code (a null output or box, a
            gold answer that is not text, a NaN coordinate); the sentence names the item.
    """
    items = score_items(_results(inference), ar=ar)
    per_sample = [{"sample_id": item.sample_id, **item.scores} for item in items]
    return {**summarise(items), "total_samples": len(items), "per_sample": per_sample}


def score_items(results: Iterable[Mapping[str, Any]], *, ar: ArHooks | None = None) -> list[ItemScore]:
    """Score results one by one, without those that are dropped.

    Args:
        results: Result objects of an inference file.
        ar: Judge and encoder, or None.

    Returns:
        One entry per result kept, in order.

    Raises:
        ReferenceInputError: As :func:`score_run`.
    """
    items = []
    for index, result in enumerate(results):
        sample_id = result.get("sample_id")
        if not isinstance(sample_id, str):
            raise ReferenceInputError(
                f"results[{index}]: sample_id is {sample_id!r}, expected text; every result needs its sample_id."
            )
        try:
            if is_dropped(result):
                continue
            item = score_item(result)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ReferenceInputError(
                f"results[{index}] ({sample_id}): the released scorer stops here with "
                f"{type(error).__name__}: {error}; correct the item or remove it."
            ) from error
        items.append(_with_ar(item, result, ar) if ar else item)
    return items


def is_dropped(result: Mapping[str, Any]) -> bool:
    """Tell whether a result is dropped before scoring, by the first words of its question.

    Args:
        result: One result object.

    Returns:
        True for localization questions that start with :data:`DROPPED_PREFIX`.
    """
    return result.get("task") == "localization" and str(result.get("question", "")).startswith(DROPPED_PREFIX)


def score_item(result: Mapping[str, Any]) -> ItemScore:
    """Score A and V of one result.

    Args:
        result: One result object of an inference file.

    Returns:
        Its scores and the readings they came from.

    Raises:
        AttributeError: As the released code, for null boxes and gold answers that are not text.
        TypeError: As the released code, for an output that is not text.
        ValueError: As the released code, for NaN coordinates.
        KeyError: When a gold box lacks a coordinate.
    """
    output = result.get("model_output", "")
    visible = strip_thinking(output)
    sample_id = str(result["sample_id"])
    groups = {key: str(result.get(key) or _GROUP_DEFAULTS.get(key, "unknown")) for key in GROUPS}
    item = ItemScore(sample_id, groups, {})
    if groups["task"] == "localization":
        return _with_v(item, result, visible)
    if groups["qa_type"] == "open_ended" or "_qa_" not in sample_id:
        return item
    answer = final_answer(output, groups["qa_type"]) if "_video_" in sample_id else output
    value = a_score(answer, result.get("gt_answer", ""), groups["qa_type"])
    return ItemScore(sample_id, groups, {"a_score": value}, answer=answer)


def summarise(items: Sequence[ItemScore]) -> dict[str, Any]:
    """Average item scores the released way: pooled over samples, over what is there.

    Args:
        items: Scored items.

    Returns:
        ``aggregates`` (a_score, ar_score, v_score and map as mean and count, detection as bare means; a metric
        nobody has is absent) and ``breakdowns`` by dataset, level, qa_type and task.
    """
    pooled = _means(items)
    aggregates: dict[str, Any] = {metric: pooled[metric] for metric in METRICS if metric in pooled}
    detections = [
        item.grounding["detection"] for item in items if item.grounding and item.grounding["detection"] is not None
    ]
    if detections:
        aggregates["detection"] = {key: sum(d[key] for d in detections) / len(detections) for key in detections[0]}
    breakdowns: dict[str, Any] = {}
    for key in GROUPS:
        members: dict[str, list[ItemScore]] = {}
        for item in items:
            if any(value is not None for value in item.scores.values()):
                members.setdefault(item.groups[key], []).append(item)
        breakdowns[key] = {group: _means(of_group) for group, of_group in members.items()}
    return {"aggregates": aggregates, "breakdowns": breakdowns}


_GROUP_DEFAULTS = {"qa_type": "open_ended"}


def _results(inference: Any) -> list[Mapping[str, Any]]:
    results = inference.get("results") if isinstance(inference, Mapping) else None
    if not isinstance(results, list):
        found = "an object without it" if isinstance(inference, Mapping) else type(inference).__name__
        raise ReferenceInputError(
            f"found {found}, expected an object with a list 'results', as the released inference files have."
        )
    for index, result in enumerate(results):
        if not isinstance(result, Mapping):
            raise ReferenceInputError(f"results[{index}] is {type(result).__name__}, expected an object.")
    return results


def _with_v(item: ItemScore, result: Mapping[str, Any], visible: str) -> ItemScore:
    width, height = IMAGE_SIZES.get(item.groups["dataset"], (None, None))
    gold: list[Mapping[str, Any]] = list(result.get("bboxes") or ())
    if not gold:
        read = boxes(str(result.get("gt_answer", "")), width, height)
        gold = [dict(zip(("x", "y", "width", "height"), b["xywh"], strict=True), frame=b["frame"] or 1) for b in read]
    if not gold:
        return item
    # A whole run has no wildcard: a prediction without a frame, or on frame 0, is on frame 1.
    pred: list[RefBox] = [{"frame": b["frame"] or 1, "xywh": b["xywh"]} for b in boxes(visible, width, height)]
    grounding = v_score(visible, gold, pred_boxes=pred)
    scores = {"v_score": grounding["v_score"], "map": grounding["map"]}
    return ItemScore(item.sample_id, item.groups, scores, pred_boxes=pred, gold_boxes=gold, grounding=grounding)


def _with_ar(item: ItemScore, result: Mapping[str, Any], hooks: ArHooks) -> ItemScore:
    if item.groups["task"] not in _AR_TASKS or "_qa_" not in item.sample_id:
        return item
    gold = result.get("gt_answer", "")
    if not isinstance(gold, str):
        raise ReferenceInputError(f"{item.sample_id}: gt_answer is {gold!r}, expected text; AR compares texts.")
    output = str(result.get("model_output", ""))
    if item.groups["task"] == "localization":
        output, gold = strip_localization_text(output), strip_localization_text(gold)
    parts = ar_score(output, gold, hooks)
    return ItemScore(
        item.sample_id,
        item.groups,
        {"ar_score": parts["ar"], **item.scores},
        item.answer,
        item.pred_boxes,
        item.gold_boxes,
        item.grounding,
        parts,
    )


def _means(items: Iterable[ItemScore]) -> dict[str, dict[str, float | int]]:
    """Mean and count per metric, metrics in the order in which items first have them; sums run left to right."""
    values: dict[str, list[float]] = {}
    for item in items:
        for metric, value in item.scores.items():
            if value is not None:
                values.setdefault(metric, []).append(value)
    return {
        metric: {"mean": sum(of_metric) / len(of_metric), "count": len(of_metric)}
        for metric, of_metric in values.items()
    }
