"""Loading the released SGMRI-VQA question files (arXiv 2604.15808) as samples.

Frame numbers. The released text counts frames from 1, as the PNG files do. For the brain that is right; every released
knee number is one too small, because the generator wrote the 0-based fastMRI+ slice where the PNG number was due.
``as_released`` takes the numbers as written, so each knee box lies on the frame before its finding, as in the
published scores; ``corrected`` adds one to every knee number. Only the pairing of boxes and images changes: texts and
ids stay as released. ``none`` reads the numbers as written and uses no image.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal

from tqdm import tqdm

from slicewise.benchmarks.sgmri import DOMAINS, Level
from slicewise.data import files, ids
from slicewise.data.fields import Fault
from slicewise.data.images import Frame, FrameStore, declared
from slicewise.data.records import RawBox, Record, read_record
from slicewise.errors import ManyErrors, UserError
from slicewise.geometry import Box
from slicewise.params import Frames
from slicewise.parse.gold import gold_boxes
from slicewise.parse.options import parse_options

NATIVE_SIZE = (320, 320)  # width, height; brain boxes reach 320, so the 256 of the released code cannot be right
OnBadRecord = Literal["error", "skip"]
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Loaded:
    """A loaded benchmark.

    Attributes:
        rows: One row of the ``samples`` schema per record.
        skipped: Faults of the records that were left out; empty unless ``on_bad_record`` is ``skip``.
    """

    rows: list[Row]
    skipped: tuple[Fault, ...] = ()


@dataclass(frozen=True, slots=True)
class Source:
    """What to load.

    Attributes:
        path: The data folder.
        split: ``test``, its synonym ``val``, or ``train``.
        level: ``image`` or ``volume``.
        frames: How released frame numbers are read, and whether there are images.
        frames_root: Folder of the PNG frames; not used with ``none``.
        benchmark: Benchmark id written into every row.
        on_bad_record: ``error``: any malformed record stops the load; ``skip``: it is left out and listed.
        domains: The anatomies that must be there.
    """

    path: Path
    split: str
    level: Level
    frames: Frames
    frames_root: Path
    benchmark: str
    on_bad_record: OnBadRecord = "error"
    domains: Sequence[str] = field(default=DOMAINS)


def load(source: Source) -> Loaded:
    """Load one split and level.

    Boxes come out as ``x0, y0, x1, y1`` in native pixels; ``frame`` is the 0-based position in ``frames``, or null
    for a box whose text named no frame or one outside the volume (both flagged).

    Raises:
        UserError: Files are missing or ambiguous; records are malformed and ``on_bad_record`` is ``error``; or frames
            are missing or unreadable. All faults of a kind are listed together.
    """
    records, faults = read(source.path, source.split, source.level, source.domains)
    if faults and source.on_bad_record == "error":
        raise ManyErrors(
            f"{source.path}: {len(faults)} malformed field(s) in {len(_places(faults))} record(s); correct them, or "
            "set 'data.on_bad_record: skip' to leave the records out",
            [str(fault) for fault in faults],
        )
    if not records:
        raise UserError(f"{source.path}: every record is malformed; expected the released SGMRI-VQA files.")
    store = None if source.frames is Frames.NONE else FrameStore(source.frames_root)
    counts = _frame_counts(records, source.frames) if store is None else {}
    named = ids.assign([_identity(record) for record in records])
    rows = []
    pairs = zip(records, named, strict=True)
    for record, name in tqdm(pairs, total=len(records), desc="items", unit="item", disable=None if store else True):
        frames, flags = _frames(record, store, counts, shift(record.domain, source.frames))
        rows.append(_row(record, name, frames, flags, source))
    if store is not None:
        store.raise_faults()
    return Loaded(rows, tuple(faults))


def read(path: Path, split: str, level: Level, domains: Sequence[str] = DOMAINS) -> tuple[list[Record], list[Fault]]:
    """All records of one split and level in file order, and the faults of those that could not be read."""
    records: list[Record] = []
    faults: list[Fault] = []
    for file in files.discover(path, split, level, domains):
        for index, raw in enumerate(files.read_array(file)):
            record = read_record(raw, file.name, index, file.domain, level)
            if isinstance(record, Record):
                records.append(record)
            else:
                faults.extend(record)
    return records, faults


def shift(domain: str, frames: Frames) -> int:
    """What is added to a released frame number to name the PNG that shows the finding."""
    return 1 if domain == "knee" and frames is Frames.CORRECTED else 0


def _places(faults: Iterable[Fault]) -> set[tuple[str, int]]:
    return {(fault.file, fault.index) for fault in faults}


def _identity(record: Record) -> ids.Identity:
    return ids.Identity(record.domain, record.level, record.volume_id, record.slice_num, record.task, record.content)


def _frame_counts(records: Iterable[Record], frames: Frames) -> dict[str, int]:
    """Number of frames of each volume when there are no images to count.

    The brain's released ``num_slices`` counts only sampled slices, so the largest frame that the gold names counts too.
    """
    counts: dict[str, int] = defaultdict(int)
    for record in records:
        if record.level == "volume":
            named = [number for number, _ in _numbered_boxes(record) if number is not None]
            counts[record.volume_id] = max(counts[record.volume_id], record.num_slices or 0, *named, 1)
    return counts


def _frames(
    record: Record, store: FrameStore | None, counts: dict[str, int], offset: int
) -> tuple[tuple[Frame, ...], list[str]]:
    """The frames that the item shows, with flags; empty, with a fault noted in the store, when any is missing."""
    if store is None:
        numbers = [record.slice_num or 1] if record.level == "image" else range(1, counts[record.volume_id] + 1)
        flags = ["size_assumed"]
        if record.level == "volume" and (record.num_slices or 0) < counts[record.volume_id]:
            flags.append("n_frames_from_gold")
        return declared(numbers, NATIVE_SIZE), flags
    volume = store.volume(record.volume_id)
    if not volume:
        return (), []
    if record.level == "image":
        number = (record.slice_num or 0) + offset
        if not 1 <= number <= len(volume):
            store.faults.append(f"volume {record.volume_id}: frame {number} missing, found 1 to {len(volume)}")
            return (), []
        return (volume[number - 1],), []
    expected = record.num_slices
    if expected is not None and expected > len(volume):
        store.faults.append(f"volume {record.volume_id}: found {len(volume)} frames, expected {expected}")
        return (), []
    return volume, ["num_slices_below_frames"] if expected is not None and expected < len(volume) else []


def _row(
    record: Record, name: ids.SampleId, frames: Sequence[Frame], frame_flags: Sequence[str], source: Source
) -> Row:
    boxes, box_flags = _boxes(record, len(frames), shift(record.domain, source.frames))
    options, option_flags = _options(record)
    duplicate = ["duplicate_record"] if name.duplicate_of else []
    flags = [*record.flags, *frame_flags, *box_flags, *option_flags, *duplicate]
    return {
        "sample_id": name.id,
        "benchmark": source.benchmark,
        "level": record.level,
        "domain": record.domain,
        "volume_id": record.volume_id,
        "modality": record.modality,
        "task": record.task,
        "question_type": record.question_type,
        "question": record.question,
        "options": options,
        "answer": record.answer,
        "reasoning": record.reasoning,
        "labels": list(record.labels),
        "boxes": boxes,
        "frames": [frame.as_row() for frame in frames],
        "n_frames": len(frames),
        "flags": list(dict.fromkeys(flags)),
    }


def _options(record: Record) -> tuple[dict[str, str] | None, list[str]]:
    """Letter to text. What the question itself shows comes first, because that is what a model reads."""
    inline = parse_options(record.question)
    choice = record.question_type in ("single_choice", "multiple_choice")
    if not choice:
        return None, []
    if inline and record.choices and dict(inline) != record.choices:
        return dict(inline), ["choices_differ_from_question"]
    if inline:
        return dict(inline), []
    return record.choices, ["options_not_in_question"] if record.choices else ["no_options"]


def _numbered_boxes(record: Record) -> list[tuple[int | None, RawBox]]:
    """Gold boxes with the frame number that the record wrote, if any.

    Volume records keep their boxes in the answer's text only; a field, where there is one, comes first.
    """
    if record.level == "image" or record.boxes:
        return [(box.frame, box) for box in record.boxes]
    if record.task != "localization":
        return []
    boxes = _written_boxes(record.answer)
    return [(b.frame, RawBox(b.x0, b.y0, b.x1 - b.x0, b.y1 - b.y0, b.label)) for b in boxes]


@lru_cache(maxsize=4096)  # asked for twice: how many frames there are, and which boxes
def _written_boxes(answer: str) -> tuple[Box, ...]:
    """Boxes of a gold text; base 0 makes ``frame`` the number as written, 0 included."""
    return tuple(gold_boxes(answer, frame_base=0))


def _boxes(record: Record, n_frames: int, offset: int) -> tuple[list[Row], list[str]]:
    flags = []
    rows = []
    for number, box in _numbered_boxes(record):
        frame: int | None = 0
        if record.level == "volume":
            frame = None if number is None else number - 1 + offset
            if frame is None:
                flags.append("box_without_frame")
            elif not 0 <= frame < n_frames:
                frame = None
                flags.append("frame_out_of_range")
        rows.append(_corners(box, frame))
    return rows, flags


def _corners(raw: RawBox, frame: int | None) -> Row:
    box = Box(frame, raw.x, raw.y, raw.x + raw.width, raw.y + raw.height, raw.label)
    return {name: getattr(box, name) for name in ("frame", "x0", "y0", "x1", "y1", "label")}
