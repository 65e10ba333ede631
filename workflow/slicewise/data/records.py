"""One released SGMRI-VQA record, read field by field.

The released files were written by a language model and several clean-up scripts, so types vary: numbers come as text
and text as numbers, ``choices`` is often absent, labels carry trailing blanks. What has one possible meaning is read
and flagged; what has none is a fault that names file, index, field, what was found and what was expected.
"""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slicewise.benchmarks.sgmri import DOMAINS, LEVELS, QUESTION_TYPES, TASKS, Level
from slicewise.data.fields import Fault, Reader, number_text, show

_LEVEL_NAMES: dict[str, Level] = {
    "slice": "image",
    "image": "image",
    "image_level": "image",
    "volume": "volume",
    "volume_level": "volume",
    "video": "volume",
}
# Names of the same type in the generators, the released scorer and the evaluation card.
_TYPE_ALIASES = {"multi_choice": "multiple_choice", "yes_no": "closed_ended", "chain_of_thought": "open_ended"}
_SLICE_IN_PATH = re.compile(r"_slice_0*(\d+)\.\w+$")
_LETTER = re.compile(r"[(\[]?\s*([A-Za-z])\s*[)\].:]?")
_BOX_FIELDS = ("x", "y", "width", "height")


@dataclass(frozen=True, slots=True)
class RawBox:
    """A box as released: top left corner and size in pixels; ``frame`` is the number that the record wrote, if any."""

    x: float
    y: float
    width: float
    height: float
    label: str | None = None
    frame: int | None = None


@dataclass(frozen=True, slots=True)
class Record:
    """A released record with every field in its declared type.

    Attributes:
        file: Path of its file below the data folder, with forward slashes.
        index: 0-based position in the file; for messages only, never part of an id.
        slice_num: Number of the slice as released (1-based PNG number); image level only.
        num_slices: Number of slices as released; volume level only, ``None`` when absent.
        choices: Letter to text from the ``choices`` field, ``None`` when absent.
        labels: Finding labels, blanks collapsed, repeats removed, in the order released.
        boxes: Boxes of ``ground_truth``; volume records usually have none there.
        flags: What was read although it was irregular.
    """

    file: str
    index: int
    domain: str
    level: Level
    volume_id: str
    slice_num: int | None
    num_slices: int | None
    modality: str | None
    task: str
    question_type: str
    question: str
    answer: str
    reasoning: str | None
    choices: dict[str, str] | None
    labels: tuple[str, ...]
    boxes: tuple[RawBox, ...]
    flags: tuple[str, ...]

    @property
    def content(self) -> Any:
        """What tells this record from others of the same volume, slice and task; the basis of its id."""
        boxes = [[b.x, b.y, b.width, b.height, b.label, b.frame] for b in self.boxes]
        texts = [self.question_type, self.question, self.answer, self.reasoning]
        return [*texts, self.choices, list(self.labels), boxes]


def read_record(raw: Any, file: str, index: int, domain: str, level: Level) -> Record | list[Fault]:
    """Read one element of a released file.

    Args:
        raw: The JSON value.
        file: The file as messages name it.
        index: 0-based position in the file.
        domain: ``brain`` or ``knee``, from the file's path.
        level: ``image`` or ``volume``, from the file's path.

    Returns:
        The record, or everything that is wrong with it.
    """
    if not isinstance(raw, dict):
        return [Fault(file, index, "(record)", show(raw), "a JSON object")]
    reader = Reader(raw, file, index)
    _same_as_path(reader, "domain", domain, {name: name for name in DOMAINS})
    _same_as_path(reader, "level", level, dict(_LEVEL_NAMES))
    truth = _ground_truth(reader)
    slice_num = _slice_number(reader) if level == "image" else None
    record = Record(
        file=file,
        index=index,
        domain=domain,
        level=level,
        volume_id=reader.text("volume_id"),
        slice_num=slice_num,
        num_slices=_num_slices(reader) if level == "volume" else None,
        modality=reader.optional_text("modality"),
        task=reader.word("task", TASKS[level], {}),
        question_type=reader.word("type", QUESTION_TYPES, _TYPE_ALIASES),
        question=reader.text("question"),
        answer=_answer(reader),
        reasoning=reader.optional_text("reasoning"),
        choices=_choices(reader),
        labels=_labels(reader, truth, level),
        boxes=_boxes(reader, truth, slice_num),
        flags=tuple(dict.fromkeys(reader.flags)),
    )
    return reader.faults or record


def _same_as_path(reader: Reader, name: str, from_path: str, names: Mapping[str, str]) -> None:
    value = reader.raw.get(name)
    if value is None:
        return
    if not isinstance(value, str) or names.get(value.strip().lower()) != from_path:
        known = sorted(DOMAINS if name == "domain" else LEVELS)
        reader.fault(name, value, f"'{from_path}' as the file's path says (of {known}), or nothing")


def _slice_number(reader: Reader) -> int | None:
    path = reader.raw.get("image_path")
    match = _SLICE_IN_PATH.search(path) if isinstance(path, str) else None
    from_path = int(match.group(1)) if match else None
    value = reader.raw.get("slice_num")
    if value is None and from_path is not None:
        reader.flags.append("slice_num_from_path")
        return from_path
    number = reader.integer("slice_num", value, minimum=1)
    if None not in (number, from_path) and number != from_path:
        reader.flags.append("slice_num_contradicts_path")
    return number


def _num_slices(reader: Reader) -> int | None:
    value = reader.raw.get("num_slices")
    return None if value is None else reader.integer("num_slices", value, minimum=1)


def _answer(reader: Reader) -> str:
    """The gold answer; a list of texts (several letters) is joined, true and false are Yes and No, both flagged."""
    value = reader.raw.get("answer")
    if isinstance(value, bool):
        reader.flags.append("answer_not_text")
        return "Yes" if value else "No"
    if isinstance(value, list) and value and all(isinstance(part, str) and part.strip() for part in value):
        reader.flags.append("answer_not_text")
        return ", ".join(part.strip() for part in value)
    return reader.text("answer")


def _choices(reader: Reader) -> dict[str, str] | None:
    value = reader.raw.get("choices")
    if value is None or value in ({}, []):
        return None
    if isinstance(value, list):
        reader.flags.append("choices_as_list")
        value = {chr(ord("A") + i): text for i, text in enumerate(value[:26])}
    if not isinstance(value, dict):
        reader.fault("choices", value, "an object of letter and text")
        return None
    choices: dict[str, str] = {}
    for key, text in value.items():
        letter = _LETTER.fullmatch(key.strip())
        if letter is None or not isinstance(text, str | int | float) or isinstance(text, bool):
            reader.fault(f"choices.{key}", text, "a letter with a text")
            continue
        choices[letter.group(1).upper()] = " ".join((text if isinstance(text, str) else number_text(text)).split())
    return dict(sorted(choices.items()))


def _ground_truth(reader: Reader) -> Mapping[str, Any]:
    value = reader.raw.get("ground_truth")
    if isinstance(value, dict):
        return value
    reader.fault("ground_truth", value, "an object with the labels of the item")
    return {}


def _labels(reader: Reader, truth: Mapping[str, Any], level: Level) -> tuple[str, ...]:
    names = ("labels", "diagnosis", "final_diagnosis") if level == "image" else ("final_diagnosis", "labels")
    for name in names:
        value = truth.get(name)
        if value is None:
            continue
        values = [value] if isinstance(value, str) else value
        if not isinstance(values, list) or not all(isinstance(label, str) for label in values):
            reader.fault(f"ground_truth.{name}", value, "a list of texts")
            return ()
        return tuple(dict.fromkeys(label for label in (" ".join(v.split()) for v in values) if label))
    if truth:
        reader.flags.append("no_labels")
    return ()


def _boxes(reader: Reader, truth: Mapping[str, Any], slice_num: int | None) -> tuple[RawBox, ...]:
    value = truth.get("bboxes")
    if value is None:
        return ()
    if not isinstance(value, list):
        reader.fault("ground_truth.bboxes", value, "a list of boxes")
        return ()
    boxes = (_box(reader, raw, f"ground_truth.bboxes[{i}]", slice_num) for i, raw in enumerate(value))
    return tuple(box for box in boxes if box is not None)


def _box(reader: Reader, raw: Any, name: str, slice_num: int | None) -> RawBox | None:
    if not isinstance(raw, dict):
        reader.fault(name, raw, "an object with x, y, width and height")
        return None
    numbers = [_pixel(reader, raw.get(part), f"{name}.{part}") for part in _BOX_FIELDS]
    label = raw.get("label")
    if label is not None and not isinstance(label, str):
        reader.fault(f"{name}.label", label, "a text or nothing")
    x, y, width, height = numbers
    if x is None or y is None or width is None or height is None:
        return None
    name_of_label = " ".join(label.split()) if isinstance(label, str) else None
    return RawBox(x, y, width, height, name_of_label or None, _box_frame(reader, raw, name, slice_num))


def _pixel(reader: Reader, value: Any, name: str) -> float | None:
    number: float | None = None
    if isinstance(value, int | float) and not isinstance(value, bool):
        number = float(value)
    elif isinstance(value, str):
        try:
            number = float(value)
        except ValueError:
            number = None
        else:
            reader.flags.append("box_number_as_text")
    if number is None or not math.isfinite(number):
        reader.fault(name, value, "a number of pixels")
        return None
    return number


def _box_frame(reader: Reader, raw: Mapping[str, Any], name: str, slice_num: int | None) -> int | None:
    """The frame that a box names; on an image item only its own slice, or 1 (the one image shown), makes sense."""
    part = "frame" if raw.get("frame") is not None else "slice_num"
    if raw.get(part) is None:
        return None
    frame = reader.integer(f"{name}.{part}", raw[part], minimum=0)
    if frame is not None and slice_num is not None and frame not in (slice_num, 1):
        reader.fault(f"{name}.{part}", raw[part], f"the record's own slice {slice_num}")
    return frame
