"""The phantoms' questions as records of the released file layout.

One flat JSON array per anatomy and level, field for field as the released generators write it: slice records carry
their boxes, volume records have them in the answer's text only, the knee never has ``choices``.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from slicewise.data import open_image, open_volume, wording
from slicewise.data.questions import Draw, Finding, Item, Volume

Record = dict[str, Any]
IMAGES_WITH = 3  # slices asked about in a volume with findings, and as many in a normal one
ABSENT_EVERY = 3  # every third volume with findings is asked about one that it has not


def image_records(volumes: Sequence[Volume], draw: Draw, vocabulary: Sequence[str]) -> list[Record]:
    """Slice records of the volumes of one anatomy, in order of volume and slice."""
    return [
        _image_record(volume, frame, item)
        for place, volume in enumerate(volumes)
        for frame in frames_asked(volume, with_normal=place % 2 == 0)
        for item in open_image.items(volume, frame, draw, vocabulary, "centre")
    ]


def volume_records(volumes: Sequence[Volume], draw: Draw, vocabulary: Sequence[str]) -> list[Record]:
    """Volume records of one anatomy, in order of volume."""
    records = []
    for place, volume in enumerate(volumes):
        present = bool(volume.findings) and place % ABSENT_EVERY != 1
        records += [
            _volume_record(volume, item) for item in open_volume.items(volume, draw, vocabulary, "centre", present)
        ]
    return records


def frames_asked(volume: Volume, with_normal: bool) -> list[int]:
    """Numbers of the slices asked about: spread over those with findings, and one without when wanted."""
    ill = sorted({finding.frame for finding in volume.findings})
    well = [frame for frame in range(2, volume.n_frames) if frame not in ill]
    if not ill:
        return _spread(well, IMAGES_WITH)
    return sorted([*_spread(ill, IMAGES_WITH), *(_spread(well, 1) if with_normal else [])])


def _spread(frames: Sequence[int], n: int) -> list[int]:
    if n >= len(frames):
        return list(frames)
    return [frames[(2 * i + 1) * len(frames) // (2 * n)] for i in range(n)]


def _image_record(volume: Volume, frame: int, item: Item) -> Record:
    findings = volume.on(frame)
    labels = list(wording.by_label(findings))
    truth = {
        "labels": labels or [wording.NORMAL],
        "diagnosis": labels or [_normal(volume)],
        "bboxes": [_box(finding) for finding in findings],
    }
    name = f"{volume.volume_id}_slice_{frame:03d}.png"
    where = {"slice_num": frame, "image_path": f"frames/{volume.volume_id}/{name}", "level": "slice"}
    return {**_common(volume, item), **where, "ground_truth": truth}


def _volume_record(volume: Volume, item: Item) -> Record:
    labels = sorted(wording.by_label(volume.findings)) or [_normal(volume)]
    where = {"num_slices": volume.n_frames, "level": "volume", "step": 0}
    return {**_common(volume, item), **where, "ground_truth": {"final_diagnosis": labels}}


def _normal(volume: Volume) -> str:
    return "Normal for age" if volume.domain == "brain" else wording.NORMAL


def _common(volume: Volume, item: Item) -> Record:
    record: Record = {
        "volume_id": volume.volume_id,
        "modality": volume.modality,
        "task": item.task,
        "type": item.question_type,
        "question": item.question,
        "answer": item.answer,
        "reasoning": item.reasoning,
    }
    if item.options and volume.domain == "brain":
        record["choices"] = dict(item.options)
    return record


def _box(finding: Finding) -> Record:
    return {
        "x": finding.x,
        "y": finding.y,
        "width": finding.width,
        "height": finding.height,
        "label": finding.label,
    }
