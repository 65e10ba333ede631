"""Rows of the V-Score: the boxes read from one answer beside the gold boxes of its item."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slicewise.geometry import Box, settle
from slicewise.outcome import Outcome
from slicewise.score import grounding, keywords
from slicewise.score.grounding import Counts, GroundingResult, Level
from slicewise.score.schemas import IOU_THRESHOLDS

SAMPLE_COLUMNS = ("level", "question", "boxes", "frames")
PARSED_COLUMNS = ("boxes", "boxes_outcome", "boxes_flags", "boxes_emitted")
NAMED = "named"
GOLD_CLIPPED = "gold_clipped"
GOLD_OUTSIDE = "gold_outside_frame"
NO_LABEL_NAMED = "no_label_named"


def grounding_row(sample: Mapping[str, Any], parsed: Mapping[str, Any], which: str | None) -> dict[str, Any]:
    """The columns of one item's V-Score, without ids and signature.

    Args:
        sample: Row of the samples table.
        parsed: Row of the parsed table.
        which: ``all`` gold boxes, or those whose label the question names (``named``; all when it names none).

    An item without a gold box has no V, whatever became of the answer; its boxes count as false positives.
    """
    gold, flags = _gold(sample, which)
    outcome = Outcome(parsed["boxes_outcome"])
    predicted = [Box(**box) for box in parsed["boxes"] or ()]
    level: Level = "volume" if sample["level"] == "volume" else "image"
    found = grounding.score_boxes(gold, predicted, level=level)
    if found.outcome is Outcome.NO_REFERENCE:
        outcome = Outcome.NO_REFERENCE
    scored = outcome is Outcome.OK
    return {
        "value": found.v if scored else None,
        "outcome": str(outcome),
        "flags": list(dict.fromkeys((*parsed["boxes_flags"], *flags, *found.flags))),
        **_statistics(found, scored),
        "n_emitted": parsed["boxes_emitted"],
        "false_positives_on_normal": found.false_positives or 0,
    }


def _statistics(found: GroundingResult, scored: bool) -> dict[str, Any]:
    """Ratios are null where there is no V; counts always stand."""
    frames = found.frames if scored else None
    columns: dict[str, Any] = {
        "n_gold": found.n_gold,
        "n_gold_excluded": found.n_gold_zero_area,
        "n_pred": found.n_predicted,
        "n_matched": len(found.matches),
        "iou_sum": found.iou_sum,
        "ious": [match.iou for match in found.matches] + [0.0] * (found.n_gold - len(found.matches)),
        "v_precision_aware": found.v_precision_aware if scored else None,
        "frame_precision": frames.precision if frames else None,
        "frame_recall": frames.recall if frames else None,
        "frame_f1": frames.f1 if frames else None,
        "frame_offsets": list(found.frame_offsets),
    }
    for suffix, counts in zip(IOU_THRESHOLDS, found.at, strict=True):
        columns |= _detection(suffix, counts, scored)
    return columns


def _detection(suffix: str, counts: Counts, scored: bool) -> dict[str, Any]:
    return {
        f"tp_{suffix}": counts.hits,
        f"p_{suffix}": counts.precision if scored else None,
        f"r_{suffix}": counts.recall if scored else None,
        f"f1_{suffix}": counts.f1 if scored else None,
    }


def _gold(sample: Mapping[str, Any], which: str | None) -> tuple[list[Box], list[str]]:
    """Gold boxes inside their frames: like a prediction, one that leaves the frame is clipped to it, and flagged."""
    flags: list[str] = []
    boxes: list[Box] = []
    for raw in sample["boxes"]:
        if raw["x1"] <= raw["x0"] or raw["y1"] <= raw["y0"]:
            boxes.append(Box(**raw))  # a degenerate annotation is excluded and counted, never repaired
            continue
        frame = sample["frames"][raw["frame"] or 0]
        settled = settle((raw["x0"], raw["y0"], raw["x1"], raw["y1"]), native=(frame["width"], frame["height"]))
        if settled.corners is None:
            flags.append(GOLD_OUTSIDE)
            continue
        if "clipped" in settled.flags:
            flags.append(GOLD_CLIPPED)
        boxes.append(Box(raw["frame"], *settled.corners, raw["label"]))
    if which != NAMED:
        return boxes, flags
    named = _named(boxes, sample["question"])
    return (named, flags) if named else (boxes, [*flags, NO_LABEL_NAMED] if boxes else flags)


def _named(boxes: Sequence[Box], question: str) -> list[Box]:
    """The boxes whose label the question contains as whole words."""
    asked = f" {' '.join(keywords.words(question))} "
    phrases = {box.label: keywords.words(box.label) for box in boxes if box.label}
    return [box for box in boxes if box.label and phrases[box.label] and f" {' '.join(phrases[box.label])} " in asked]
