"""V-Score of the released scorer: Hungarian matching on IoU, mean over gold boxes, extra boxes free.

Source: recorded behaviour of the released evaluator (see ``docs/reference-protocol.md``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

import numpy as np
import numpy.typing as npt

from .answers import strip_thinking
from .boxes import RefBox, boxes

THRESHOLDS = (0.1, 0.25, 0.5)

Floats = npt.NDArray[np.float64]


class VScore(TypedDict):
    """Result of :func:`v_score`; ``map`` is the mean of the three F1 values, not an average precision."""

    v_score: float | None
    map: float | None
    detection: dict[str, float] | None
    pred_count: int


def v_score(
    prediction: str,
    gold_boxes: Sequence[Mapping[str, Any]],
    image_width: float | None = None,
    image_height: float | None = None,
    pred_boxes: Sequence[RefBox] | None = None,
) -> VScore:
    """Score the boxes of one answer.

    Boxes with different frames never match; a box without a frame matches any frame, and a gold frame of 0
    counts as none. P, R and F1 at 0.1, 0.25 and 0.5 reuse the one assignment.

    Args:
        prediction: Model output; closed reasoning blocks are removed before boxes are read.
        gold_boxes: Mappings with ``x, y, width, height`` in pixels and optionally ``frame`` or ``slice_num``.
        image_width: Image width in pixels, for the unit guesses of the box parser.
        image_height: Image height in pixels.
        pred_boxes: Boxes read elsewhere, used instead of the prediction's.

    Returns:
        The mean IoU over gold boxes (0 without predictions, None without gold), "map" and detection values
        (None without predictions) and the number of boxes read.

    Raises:
        ValueError: When a NaN coordinate reaches the assignment, as in the released code.
        KeyError: When a gold box lacks a coordinate.
        AttributeError: When a gold box is null.
    """
    if pred_boxes is None:
        pred_boxes = boxes(strip_thinking(prediction), image_width, image_height)
    gold_frames = [box.get("frame") or box.get("slice_num") for box in gold_boxes]
    gold = [[float(box[key]) for key in ("x", "y", "width", "height")] for box in gold_boxes]
    count = len(pred_boxes)
    if not gold:
        return {"v_score": None, "map": None, "detection": None, "pred_count": count}
    if not count:
        return {"v_score": 0.0, "map": None, "detection": None, "pred_count": 0}
    overlaps = _overlaps(np.array([box["xywh"] for box in pred_boxes], float), np.array(gold, float))
    for row, box in enumerate(pred_boxes):
        frame = box["frame"]
        if frame is not None:
            overlaps[row, [named is not None and named != frame for named in gold_frames]] = 0.0
    per_gold = _assign(overlaps)
    detection, mean_f1 = _detection(per_gold, count)
    # NumPy's mean, not a running sum: it adds pairwise from eight values on, and the recorded bits show it.
    return {"v_score": float(per_gold.mean()), "map": mean_f1, "detection": detection, "pred_count": count}


def _overlaps(pred: Floats, gold: Floats) -> Floats:
    """IoU of every predicted with every gold box; areas from corners, because that is what the bits say."""
    px1, py1, px2, py2 = _columns(pred)
    gx1, gy1, gx2, gy2 = _columns(gold)
    with np.errstate(all="ignore"):
        width = np.maximum(0.0, np.minimum(px2, gx2.T) - np.maximum(px1, gx1.T))
        height = np.maximum(0.0, np.minimum(py2, gy2.T) - np.maximum(py1, gy1.T))
        inter = width * height
        union = (px2 - px1) * (py2 - py1) + ((gx2 - gx1) * (gy2 - gy1)).T - inter
        # NaN stays NaN here: the assignment then refuses the matrix, as it does in the released code.
        return np.asarray(np.where(union <= 0, 0.0, inter / union), float)


def _columns(xywh: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    x, y, width, height = (xywh[:, [column]] for column in range(4))
    return x, y, x + width, y + height


def _assign(overlaps: Floats) -> Floats:
    """IoU that each gold box gets from the best one-to-one assignment, 0 when it gets none."""
    from scipy.optimize import linear_sum_assignment

    rows, columns = linear_sum_assignment(-overlaps)
    per_gold = np.zeros(overlaps.shape[1])
    per_gold[columns] = overlaps[rows, columns]
    return per_gold


def _detection(per_gold: Floats, pred_count: int) -> tuple[dict[str, float], float]:
    values: dict[str, float] = {}
    f1s: list[float] = []
    for threshold in THRESHOLDS:
        hits = int(np.count_nonzero(per_gold >= threshold))
        precision, recall = hits / pred_count, hits / len(per_gold)
        f1 = 2 * precision * recall / (precision + recall) if hits else 0.0
        values |= {f"P@{threshold}": precision, f"R@{threshold}": recall, f"F1@{threshold}": f1}
        f1s.append(f1)
    return values, sum(f1s) / len(f1s)
