"""Gold items that contradict themselves.

Nothing is repaired and nothing is left out: a suspicious item gets a flag, is listed by ``slicewise data check``, and
can be left out by whoever reads the flags. The kinds of contradiction come from the released SGMRI-VQA files: sides
that were computed for images 256 wide, counts that differ from the boxes, boxes without area.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from slicewise.geometry import Box
from slicewise.parse.gold import gold_count, gold_letters, gold_yes_no

Row = Mapping[str, Any]

KINDS = {
    "laterality_contradicts_box": "the text names a side of the brain, the boxes lie on the other",
    "box_outside_frame": "a box reaches outside its frame",
    "zero_area_box": "a box has no area; scoring leaves it out",
    "duplicate_box": "two boxes are the same; scoring counts them once",
    "frame_out_of_range": "a box names a frame that the volume does not have",
    "box_without_frame": "a box of a volume names no frame",
    "count_contradicts_boxes": "the count is not the number of boxes (brain) or of distinct labels (knee)",
    "answer_not_in_options": "a gold letter is none of the options, or there is none",
    "answer_not_yes_no": "the gold of a closed detection question is neither Yes nor No",
    "localization_without_box": "a finding is named and no box is given",
}
_FROM_LOADER = ("frame_out_of_range", "box_without_frame")  # visible only while the released number is still there
_SIDE = re.compile(r"\b(left|right|bilateral|both)\b", re.IGNORECASE)
_TEXT_BOX = re.compile(r"\[\s*(-?\d+(?:\.\d+)?)\s*,[^,\]]+,\s*(\d+(?:\.\d+)?)\s*,[^,\]]+\]")  # x and width
_NORMAL = re.compile(r"normal|no (?:findings?|abnormalit(?:y|ies))", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Suspicion:
    """One contradiction in one item."""

    sample_id: str
    kind: str
    detail: str


def find(rows: Sequence[Row]) -> list[Suspicion]:
    """All contradictions in a benchmark's rows, sorted by kind and id."""
    expected = _expected_counts(rows)
    found = [s for row in rows for s in _of_row(row, expected)]
    order = list(KINDS)
    return sorted(found, key=lambda s: (order.index(s.kind), s.sample_id, s.detail))


def annotate(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The rows with the kinds of their contradictions added to ``flags``."""
    kinds: dict[str, list[str]] = defaultdict(list)
    for suspicion in find(rows):
        kinds[suspicion.sample_id].append(suspicion.kind)
    return [{**row, "flags": list(dict.fromkeys([*row["flags"], *kinds.get(row["sample_id"], [])]))} for row in rows]


def _of_row(row: Row, expected: Mapping[tuple[str, str], int]) -> Iterator[Suspicion]:
    name = row["sample_id"]
    for kind in _FROM_LOADER:
        if kind in row["flags"]:
            yield Suspicion(name, kind, "as flagged when the item was loaded")
    boxes = [Box(**box) for box in row["boxes"]]
    for kind, detail in _box_faults(row, boxes):
        yield Suspicion(name, kind, detail)
    if row["task"] == "localization":
        yield from (Suspicion(name, kind, detail) for kind, detail in _localization_faults(row, boxes))
    for kind, detail in _answer_faults(row, expected):
        yield Suspicion(name, kind, detail)


def _box_faults(row: Row, boxes: Sequence[Box]) -> Iterator[tuple[str, str]]:
    frames = row["frames"]
    for box in boxes:
        where = "" if box.frame is None or row["level"] == "image" else f" on frame {frames[box.frame]['number']}"
        corners = f"[{box.x0:g}, {box.y0:g}, {box.x1:g}, {box.y1:g}]{where}"
        if box.area <= 0:
            yield "zero_area_box", corners
        frame = frames[box.frame or 0] if frames else None
        if frame and (box.x0 < 0 or box.y0 < 0 or box.x1 > frame["width"] or box.y1 > frame["height"]):
            yield "box_outside_frame", f"{corners} in {frame['width']} x {frame['height']}"
    for key, count in Counter(box.key for box in boxes).items():
        if count > 1:
            yield "duplicate_box", f"{list(key[1:])} appears {count} times"


def _localization_faults(row: Row, boxes: Sequence[Box]) -> Iterator[tuple[str, str]]:
    if not boxes:
        labels = [label for label in row["labels"] if not _NORMAL.search(label)]
        if labels and not _NORMAL.search(row["answer"]):
            yield "localization_without_box", f"labels {labels}"
        return
    if row["domain"] == "brain":
        yield from (("laterality_contradicts_box", detail) for detail in _wrong_sides(row, boxes))


def _wrong_sides(row: Row, boxes: Sequence[Box]) -> Iterator[str]:
    """Where the text names a side and every box that follows, up to the next side named, lies on the other.

    A text without boxes is compared with all boxes of the item.
    """
    answer = row["answer"]
    names = list(_SIDE.finditer(answer))
    without = not _TEXT_BOX.search(answer)
    width = max((frame["width"] for frame in row["frames"]), default=0)
    for name, following in zip(names, [*names[1:], None], strict=False):
        text = answer[name.end() : following.start() if following else len(answer)]
        written = [(float(x), float(x) + float(w)) for x, w in _TEXT_BOX.findall(text)]
        spans = [(box.x0, box.x1) for box in boxes] if without and len(names) == 1 else written
        found = {_side(x0, x1, width) for x0, x1 in spans if x1 > x0}
        said = name.group(0).lower()
        if len(found) == 1 and None not in found and said not in found:
            yield f"text says {said}, {len(spans)} box(es) lie on the {found.pop()}"


def _side(x0: float, x1: float, width: int) -> str | None:
    """The patient's side on which a box lies wholly; the image's left half shows the patient's right."""
    middle = width / 2
    if x1 <= middle:
        return "right"
    return "left" if x0 >= middle else None


def _answer_faults(row: Row, expected: Mapping[tuple[str, str], int]) -> Iterator[tuple[str, str]]:
    """Gold answers that scoring could not read as what the item asks for."""
    answer, kind = row["answer"], row["question_type"]
    if kind in ("single_choice", "multiple_choice") and row["options"]:
        options = dict(row["options"])
        letters = gold_letters(answer, options)
        if not letters or not set(letters) <= set(options):
            yield "answer_not_in_options", f"answer '{answer[:60]}', options {sorted(options)}"
    if row["task"] == "detection" and kind == "closed_ended" and gold_yes_no(answer) is None:
        yield "answer_not_yes_no", f"answer '{answer[:60]}'"
    if row["task"] == "counting":
        count, truth = gold_count(answer), expected.get((row["domain"], row["volume_id"]))
        if count is not None and truth is not None and count != truth:
            yield "count_contradicts_boxes", f"count {count}, boxes give {truth}"


def _expected_counts(rows: Iterable[Row]) -> dict[tuple[str, str], int]:
    """What each volume's counting question should say, from its localization item.

    Brain: the number of boxes over all frames. Knee: the number of distinct labels of the item, or of its boxes where
    the item has none.
    """
    counts: dict[tuple[str, str], int] = {}
    for row in rows:
        if row["level"] != "volume" or row["task"] != "localization":
            continue
        if row["domain"] == "brain":
            counts[row["domain"], row["volume_id"]] = len(row["boxes"])
        else:
            named = set(row["labels"]) or {box["label"] for box in row["boxes"] if box["label"]}
            counts[row["domain"], row["volume_id"]] = len([n for n in named if not _NORMAL.search(n)])
    return counts
