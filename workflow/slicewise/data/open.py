"""The open rebuild: the ten kinds of SGMRI-VQA question made from the fastMRI+ annotations, without a language model.

The result is sized and distributed like the released test set, runs anywhere, and has two variants. ``as_released``
repeats two known defects of the released gold: knee frames are one too low, and brain texts call a box right-sided
when its left edge is below pixel 130. ``corrected`` numbers every frame as the source does (slice + 1) and takes the
side from the centre of the box and the true width. The variants share volumes, slices, questions and ids; they differ
in frame numbers and in the words for a side. docs/open-rebuild.md has the whole account.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicewise.benchmarks.sgmri import Benchmark
from slicewise.data import fastmri, ids, open_image, open_select, open_volume, wording
from slicewise.data.questions import Draw, Finding, Item, Laterality, Volume
from slicewise.params import DataSettings

Row = dict[str, Any]


def build(settings: DataSettings, benchmark: Benchmark) -> list[Row]:
    """Build the samples of one level and one variant.

    Args:
        settings: ``fastmri_plus`` is the folder of the CSVs, or ``None`` to fetch them at the pinned commit.
        benchmark: A benchmark whose source is ``open``.

    Returns:
        Rows of the ``samples`` schema. Frames have no path; 320x320 is declared, and for the brain assumed.

    Raises:
        UserError: A CSV is missing or malformed, or has fewer volumes or slices than the settings ask for.
    """
    return rebuild(settings, benchmark, source_folder(settings), fastmri.knee_test_volumes())


def source_folder(settings: DataSettings) -> Path:
    """The folder that holds ``brain.csv`` and ``knee.csv``; fetched and cached when the settings name none."""
    if settings.fastmri_plus is not None:
        return settings.fastmri_plus
    from slicewise.data import fetch

    return fetch.fastmri_plus(settings.fastmri_plus_commit)


def rebuild(settings: DataSettings, benchmark: Benchmark, folder: Path, knees: Sequence[tuple[str, int]]) -> list[Row]:
    """As :func:`build`, from given knee volumes (id, number of slices)."""
    draw = Draw(settings.open.seed)
    brain, knee = fastmri.read(folder, "brain"), fastmri.read(folder, "knee")
    parts = [
        _Part(open_select.brain_volumes(brain, settings.open.brain_volumes, draw), brain.vocabulary),
        _Part(open_select.knee_volumes(knee, knees), knee.vocabulary),
    ]
    released = benchmark.frames == "as_released"
    if benchmark.level == "volume":
        asked = _volume_items(parts, draw, released)
    else:
        asked = _image_items(parts, (settings.open.brain_images, settings.open.knee_images), draw, released)
    names = ids.assign([_identity(benchmark, one) for one in asked])
    return [_row(benchmark, one, name.id) for one, name in zip(asked, names, strict=True)]


@dataclass(frozen=True, slots=True)
class _Part:
    """The volumes of one anatomy, frames numbered from the source's slice + 1, and its labels."""

    volumes: list[Volume]
    vocabulary: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class _Asked:
    """One item with what it is asked about.

    Attributes:
        volume: The volume as the variant numbers it.
        index: 0-based slice of an image item; ``None`` for a volume.
    """

    volume: Volume
    index: int | None
    item: Item

    @property
    def findings(self) -> tuple[Finding, ...]:
        if self.index is None:
            return self.volume.findings
        return self.volume.on(self.index + self.volume.slice_base)


def _shown(volume: Volume, released: bool) -> Volume:
    return open_select.renumbered(volume) if released and volume.domain == "knee" else volume


def _rule(released: bool) -> Laterality:
    return "left_edge_130" if released else "centre"


def _volume_items(parts: Sequence[_Part], draw: Draw, released: bool) -> list[_Asked]:
    with_yes = open_select.asked_with_yes([volume for part in parts for volume in part.volumes], draw)
    asked = []
    for part in parts:
        for volume in part.volumes:
            shown = _shown(volume, released)
            items = open_volume.items(shown, draw, part.vocabulary, _rule(released), volume.volume_id in with_yes)
            asked += [_Asked(shown, None, item) for item in items]
    return asked


def _image_items(parts: Sequence[_Part], sizes: Sequence[int], draw: Draw, released: bool) -> list[_Asked]:
    slices = [open_select.images(part.volumes, n, draw) for part, n in zip(parts, sizes, strict=True)]
    volumes = [volume for part in parts for volume in part.volumes]
    unlocalized = open_select.without_localization([one for chosen in slices for one in chosen], volumes, draw)
    shown = {volume.volume_id: _shown(volume, released) for volume in volumes}
    asked = []
    for part, chosen in zip(parts, slices, strict=True):
        for one in chosen:
            volume = shown[one.volume_id]
            frame = one.index + volume.slice_base
            items = open_image.items(volume, frame, draw, part.vocabulary, _rule(released))
            kept = [item for item in items if item.task != "localization" or one not in unlocalized]
            asked += [_Asked(volume, one.index, item) for item in kept]
    return asked


def _identity(benchmark: Benchmark, asked: _Asked) -> ids.Identity:
    """The same in both variants: the released number of the slice, the question, and the boxes by source slice."""
    volume, item = asked.volume, asked.item
    boxes = [[f.frame - volume.slice_base, f.x, f.y, f.width, f.height, f.label] for f in asked.findings]
    number = None if asked.index is None else asked.index + (1 if volume.domain == "brain" else 0)
    content = [item.question_type, item.question, boxes]
    return ids.Identity(volume.domain, benchmark.level, volume.volume_id, number, item.task, content)


def _row(benchmark: Benchmark, asked: _Asked, name: str) -> Row:
    volume, item, findings = asked.volume, asked.item, asked.findings
    numbers = range(1, volume.n_frames + 1) if asked.index is None else [asked.index + volume.slice_base]
    labels = list(wording.by_label(findings)) or (open_volume.diseases(volume) if asked.index is None else [])
    return {
        "sample_id": name,
        "benchmark": benchmark.id,
        "level": benchmark.level,
        "domain": volume.domain,
        "volume_id": volume.volume_id,
        "modality": volume.modality,
        "task": item.task,
        "question_type": item.question_type,
        "question": item.question,
        "options": item.options,
        "answer": item.answer,
        "reasoning": item.reasoning,
        "labels": labels or [wording.NORMAL],
        "boxes": [_box(finding, numbers[0]) for finding in findings],
        "frames": [
            {"number": number, "path": None, "width": volume.width, "height": volume.height, "sha256": None}
            for number in numbers
        ],
        "n_frames": len(numbers),
        "flags": _flags(asked),
    }


def _box(finding: Finding, first: int) -> Row:
    return {
        "frame": finding.frame - first,
        "x0": float(finding.x),
        "y0": float(finding.y),
        "x1": float(finding.x + finding.width),
        "y1": float(finding.y + finding.height),
        "label": finding.label,
    }


def _flags(asked: _Asked) -> list[str]:
    """What is assumed of the item, and whether its frame numbers are those of the slice before; sorted.

    What is odd about single boxes (no area, outside, twice) is flagged for every benchmark alike, by
    :mod:`slicewise.data.suspicion`.
    """
    volume = asked.volume
    assumed = [flag for flag in volume.flags if asked.index is None or flag != "n_frames_assumed"]
    return sorted([*assumed, *(["frame_off_by_one"] if volume.slice_base == 0 else [])])
