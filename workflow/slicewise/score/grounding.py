"""V-Score of one item: how well predicted boxes cover the gold boxes, and what the number hides.

V is the mean over the gold boxes of the IoU with the box matched to each, 0 for a gold box that none matches. Matching
is per frame, one to one, and maximises the sum of IoU; boxes without overlap are never matched (evaluation card,
V-Score: Hungarian matching on a frame-aware IoU matrix). V does not punish superfluous boxes, so beside it stand a
precision-aware V, precision, recall and F1 at three thresholds, and the number of boxes emitted. There is no mean
average precision: it needs confidences, and without them depends on the order of the boxes (cocoapi#678).

Rules: on a volume a box without a frame matches nothing; at image level there is one frame, and frame numbers are not
looked at. Exact duplicates of (frame, corners) count once, on both sides. A gold box without area is left out, a
predicted one stays as a false positive (talmolab/sleap-nn#491: a zero area must not break the assignment).

Boxes are sorted before they are matched and sums are rounded once, so nothing depends on the order of the input.
"""

from __future__ import annotations

import math
from bisect import bisect_left
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from slicewise.geometry import Box, iou
from slicewise.outcome import Outcome

Level = Literal["image", "volume"]
Matrix = NDArray[np.float64]
Row = dict[int, float]

THRESHOLDS = (0.1, 0.25, 0.5)
_SMALL = 64  # cells of an IoU matrix below which plain Python beats NumPy's overhead
_CELLS = 1 << 20  # cells of an IoU matrix held at a time


class Flag(StrEnum):
    """What was noticed about the boxes of an item."""

    GOLD_DUPLICATE = "gold_duplicate"
    GOLD_ZERO_AREA = "gold_zero_area"
    PREDICTED_DUPLICATE = "predicted_duplicate"
    PREDICTED_ZERO_AREA = "predicted_zero_area"
    PREDICTED_WITHOUT_FRAME = "predicted_without_frame"


@dataclass(frozen=True, slots=True)
class Counts:
    """True positives among predicted and gold things; sums over items stay meaningful.

    Attributes:
        hits: Number of gold things found.
        predicted: Number of predicted things.
        gold: Number of gold things.
    """

    hits: int
    predicted: int
    gold: int

    @property
    def precision(self) -> float | None:
        """Share of the predicted that is right; ``None`` when nothing was predicted."""
        return self.hits / self.predicted if self.predicted else None

    @property
    def recall(self) -> float | None:
        """Share of the gold that was found; ``None`` when there is no gold."""
        return self.hits / self.gold if self.gold else None

    @property
    def f1(self) -> float | None:
        """Harmonic mean of precision and recall, 0 without hits; ``None`` when there is nothing on either side."""
        total = self.predicted + self.gold
        return 2 * self.hits / total if total else None


@dataclass(frozen=True, slots=True)
class Match:
    """A gold box and the predicted box assigned to it, with their IoU in (0, 1]."""

    gold: Box
    predicted: Box
    iou: float


@dataclass(frozen=True, slots=True)
class GroundingResult:
    """Sufficient statistics of one item.

    Attributes:
        outcome: ``ok``, or ``no_reference`` when no gold box with an area is left.
        v: Mean matched IoU over the gold boxes, in [0, 1]; ``None`` without a reference.
        v_precision_aware: Sum of matched IoU over max(gold, predicted), in [0, 1]; ``None`` without a reference.
        iou_sum: Sum of matched IoU.
        n_gold: Gold boxes that count: distinct, with an area.
        n_predicted: Distinct predicted boxes.
        n_emitted: Predicted boxes as they came, duplicates included.
        n_gold_duplicate: Gold boxes left out as duplicates.
        n_gold_zero_area: Gold boxes left out for want of an area.
        n_predicted_duplicate: Predicted boxes left out as duplicates.
        n_predicted_zero_area: Predicted boxes without an area, duplicates counted once.
        n_predicted_without_frame: Predicted boxes without a frame on a volume, duplicates counted once.
        at: One :class:`Counts` of boxes per threshold of :data:`THRESHOLDS`. For each threshold on its own the
            assignment is the one with the most pairs whose IoU reaches it.
        frames: Counts of the frames that hold a box; ``None`` at image level.
        false_positives: Predicted boxes on an item that is normal (no gold boxes at all); ``None`` on others.
        frame_offsets: Per predicted box with a frame, in sorted order: its frame minus the nearest gold frame that
            bears its label, or, when no gold box does, minus the nearest gold frame; of two equally near the earlier
            counts. Empty at image level.
        matches: The matches of V, in the order of the gold boxes.
        flags: Of :class:`Flag`.
    """

    outcome: Outcome
    v: float | None
    v_precision_aware: float | None
    iou_sum: float
    n_gold: int
    n_predicted: int
    n_emitted: int
    n_gold_duplicate: int
    n_gold_zero_area: int
    n_predicted_duplicate: int
    n_predicted_zero_area: int
    n_predicted_without_frame: int
    at: tuple[Counts, ...]
    frames: Counts | None
    false_positives: int | None
    frame_offsets: tuple[int, ...]
    matches: tuple[Match, ...]
    flags: tuple[str, ...]


def score_boxes(gold: Sequence[Box], predicted: Sequence[Box], *, level: Level) -> GroundingResult:
    """Score the predicted boxes of one item.

    Args:
        gold: Gold boxes in native pixels of their frames.
        predicted: Predicted boxes in native pixels, as parsed.
        level: ``image`` (one frame) or ``volume``.

    Raises:
        ValueError: A coordinate is not finite.
    """
    _check_finite(gold, predicted)
    by_frame = level == "volume"
    kept_gold = _distinct((box for box in gold if box.area > 0), by_frame)
    kept = _distinct(predicted, by_frame)
    pairs, hits = _match_all(_per_frame(kept_gold, by_frame), _per_frame(kept, by_frame))
    iou_sum = math.fsum(pair.iou for pair in pairs)
    n_gold, n_predicted = len(kept_gold), len(kept)
    n_zero_area = sum(box.area <= 0 for box in gold)
    counts = {
        Flag.GOLD_DUPLICATE: len(gold) - n_zero_area - n_gold,
        Flag.GOLD_ZERO_AREA: n_zero_area,
        Flag.PREDICTED_DUPLICATE: len(predicted) - n_predicted,
        Flag.PREDICTED_ZERO_AREA: sum(box.area <= 0 for box in kept),
        Flag.PREDICTED_WITHOUT_FRAME: sum(box.frame is None for box in kept) if by_frame else 0,
    }
    return GroundingResult(
        outcome=Outcome.OK if n_gold else Outcome.NO_REFERENCE,
        v=iou_sum / n_gold if n_gold else None,
        v_precision_aware=iou_sum / max(n_gold, n_predicted) if n_gold else None,
        iou_sum=iou_sum,
        n_gold=n_gold,
        n_predicted=n_predicted,
        n_emitted=len(predicted),
        n_gold_duplicate=counts[Flag.GOLD_DUPLICATE],
        n_gold_zero_area=counts[Flag.GOLD_ZERO_AREA],
        n_predicted_duplicate=counts[Flag.PREDICTED_DUPLICATE],
        n_predicted_zero_area=counts[Flag.PREDICTED_ZERO_AREA],
        n_predicted_without_frame=counts[Flag.PREDICTED_WITHOUT_FRAME],
        at=tuple(Counts(found, n_predicted, n_gold) for found in hits),
        frames=_frame_counts(kept_gold, kept) if by_frame else None,
        false_positives=None if gold else n_predicted,
        frame_offsets=_frame_offsets(kept_gold, kept) if by_frame else (),
        matches=tuple(pairs),
        flags=tuple(flag.value for flag, count in counts.items() if count),
    )


def _check_finite(*sides: Sequence[Box]) -> None:
    for box in (box for side in sides for box in side):
        if not math.isfinite(box.x0 + box.y0 + box.x1 + box.y1):
            raise ValueError(f"a box needs four finite coordinates, got {box}")


def _order(box: Box) -> tuple[bool, int, float, float, float, float, str]:
    return (box.frame is None, box.frame or 0, box.x0, box.y0, box.x1, box.y1, box.label or "")


def _distinct(boxes: Iterable[Box], by_frame: bool) -> list[Box]:
    """Sorted boxes, exact duplicates once; at image level duplicates are those with the same corners."""
    kept: dict[tuple[float | None, ...], Box] = {}
    for box in sorted(boxes, key=_order):
        kept.setdefault(box.key if by_frame else box.key[1:], box)
    return list(kept.values())


def _per_frame(boxes: Iterable[Box], by_frame: bool) -> dict[int, list[Box]]:
    """Boxes that can be matched, by frame; at image level all of them are on one frame."""
    frames: dict[int, list[Box]] = {}
    for box in boxes:
        if not by_frame:
            frames.setdefault(0, []).append(box)
        elif box.frame is not None:
            frames.setdefault(box.frame, []).append(box)
    return frames


def _match_all(gold: dict[int, list[Box]], predicted: dict[int, list[Box]]) -> tuple[list[Match], tuple[int, ...]]:
    """Match frame by frame, which is exact since boxes of different frames never overlap."""
    matches: list[Match] = []
    hits = [0] * len(THRESHOLDS)
    for frame, boxes in gold.items():
        others = predicted.get(frame)
        if not others:
            continue
        overlaps = _overlaps(boxes, others)
        found = _assign(overlaps)
        if not found:
            continue
        matches.extend(Match(boxes[g], others[p], overlaps[g][p]) for g, p in found)
        for i, threshold in enumerate(THRESHOLDS):
            hits[i] += _most_pairs(overlaps, found, threshold)
    return matches, tuple(hits)


def _overlaps(gold: Sequence[Box], predicted: Sequence[Box]) -> list[Row]:
    """Per gold box the predicted boxes that overlap it, index to IoU."""
    if len(gold) * len(predicted) <= _SMALL:
        return [{p: value for p, other in enumerate(predicted) if (value := iou(box, other)) > 0} for box in gold]
    rows: list[Row] = []
    step = max(1, _CELLS // len(predicted))
    for start in range(0, len(gold), step):
        for values in iou_matrix(gold[start : start + step], predicted):
            hit = np.nonzero(values)[0]
            rows.append(dict(zip(hit.tolist(), values[hit].tolist(), strict=True)))
    return rows


def iou_matrix(gold: Sequence[Box], predicted: Sequence[Box]) -> Matrix:
    """IoU of every gold box with every predicted box, shape (gold, predicted); frames are not compared."""
    a, b = (np.array([(x.x0, x.y0, x.x1, x.y1) for x in side]).reshape(-1, 4) for side in (gold, predicted))
    low = np.maximum(a[:, None, :2], b[None, :, :2])
    high = np.minimum(a[:, None, 2:], b[None, :, 2:])
    shared = np.clip(high - low, 0, None).prod(axis=2)
    area_a, area_b = (np.clip(side[:, 2:] - side[:, :2], 0, None).prod(axis=1) for side in (a, b))
    union = area_a[:, None] + area_b[None, :] - shared
    result: Matrix = np.divide(shared, union, out=np.zeros_like(shared), where=union > 0)
    return result


def _assign(overlaps: Sequence[Row]) -> list[tuple[int, int]]:
    """Pairs (gold, predicted) of the one-to-one assignment with the largest sum of IoU, by gold index."""
    rows = [g for g, row in enumerate(overlaps) if row]
    favourites = [max(overlaps[g], key=overlaps[g].__getitem__) for g in rows]
    if len(set(favourites)) == len(rows):  # everyone gets the best: no assignment has a larger sum
        return list(zip(rows, favourites, strict=True))
    from scipy.optimize import linear_sum_assignment

    columns = sorted({p for g in rows for p in overlaps[g]})
    place = {p: i for i, p in enumerate(columns)}
    matrix = np.zeros((len(rows), len(columns)))
    for i, g in enumerate(rows):
        for p, value in overlaps[g].items():
            matrix[i, place[p]] = value
    taken = zip(*(axis.tolist() for axis in linear_sum_assignment(matrix, maximize=True)), strict=True)
    return [(rows[i], columns[j]) for i, j in taken if matrix[i, j] > 0]


def _most_pairs(overlaps: Sequence[Row], found: Sequence[tuple[int, int]], threshold: float) -> int:
    """Largest number of disjoint pairs whose IoU reaches the threshold."""
    reached = sum(overlaps[g][p] >= threshold for g, p in found)
    if reached == len(overlaps):
        return reached
    edges = [(g, p) for g, row in enumerate(overlaps) for p, value in row.items() if value >= threshold]
    if len(edges) == reached:
        return reached
    rows, columns = sorted({g for g, _ in edges}), sorted({p for _, p in edges})
    if reached == min(len(rows), len(columns)):  # the assignment of V already has as many as there can be
        return reached
    from scipy.sparse import csr_array
    from scipy.sparse.csgraph import maximum_bipartite_matching

    row_of, column_of = ({name: i for i, name in enumerate(names)} for names in (rows, columns))
    place = ([row_of[g] for g, _ in edges], [column_of[p] for _, p in edges])
    graph = csr_array((np.ones(len(edges), dtype=np.int8), place), shape=(len(rows), len(columns)))
    return int((maximum_bipartite_matching(graph, perm_type="column") >= 0).sum())


def _frame_counts(gold: Iterable[Box], predicted: Iterable[Box]) -> Counts:
    expected = {box.frame for box in gold if box.frame is not None}
    named = {box.frame for box in predicted if box.frame is not None}
    return Counts(len(expected & named), len(named), len(expected))


def _frame_offsets(gold: Sequence[Box], predicted: Sequence[Box]) -> tuple[int, ...]:
    frames: dict[str | None, set[int]] = {}
    for box in gold:
        if box.frame is not None:
            frames.setdefault(None, set()).add(box.frame)
            if box.label is not None:
                frames.setdefault(box.label.casefold(), set()).add(box.frame)
    if not frames:
        return ()
    ordered = {label: sorted(of_label) for label, of_label in frames.items()}
    return tuple(
        box.frame - _nearest(box.frame, ordered.get(_label(box)) or ordered[None])
        for box in predicted
        if box.frame is not None
    )


def _label(box: Box) -> str | None:
    return None if box.label is None else box.label.casefold()


def _nearest(frame: int, frames: Sequence[int]) -> int:
    """The nearest of sorted frames; the earlier of two equally near."""
    at = bisect_left(frames, frame)
    return min(frames[max(at - 1, 0) : at + 1], key=lambda other: (abs(frame - other), other))
