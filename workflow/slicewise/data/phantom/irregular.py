"""The irregularities of the released files, put into a fixed share of the phantoms' records.

The released text was written by a language model and cleaned by scripts: numbers are no text, letters carry their
option's words, labels end in blanks, ``choices`` is missing, a question names one of several findings. Each rule below
changes every so-many-th record that it fits, so the demo walks through all of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from slicewise.data import wording
from slicewise.data.questions import Finding

Record = dict[str, Any]
_OPTION = re.compile(r"^\(([A-D])\) (.*)$", re.MULTILINE)
_LETTER = re.compile(r"\(([A-D])\)")
_FRAME_BOXES = re.compile(r"Frame (\d+): ((?:<bbx>\[[^\]]*\]</bbx>(?:, )?)+)")


@dataclass(frozen=True, slots=True)
class Rule:
    """Which records a change is for.

    Attributes:
        change: Changes a record in place.
        task: The task that it is for.
        domain: The anatomy, or both when empty.
        level: ``slice``, ``volume``, or both when empty.
        type: The question type, or any when empty.
        every: Of the records that fit, every so-many-th is changed.
        first: The first that is changed, counted from 0.
    """

    change: Callable[[Record], None]
    task: str
    domain: str = ""
    level: str = ""
    type: str = ""
    every: int = 1
    first: int = 0


def roughen(records: Iterable[Record], domain: str) -> None:
    """Apply every rule, in order, to the records of one anatomy; they are changed in place."""
    records = list(records)
    for rule in RULES:
        if rule.domain in ("", domain):
            fitting = [record for record in records if _fits(record, rule)]
            for record in fitting[rule.first :: rule.every]:
                rule.change(record)


def _fits(record: Record, rule: Rule) -> bool:
    return record["task"] == rule.task and rule.level in ("", record["level"]) and rule.type in ("", record["type"])


def _options(record: Record) -> dict[str, str]:
    return dict(_OPTION.findall(record["question"]))


def _modality_question(record: Record) -> None:
    record.update(type="closed_ended", question="Which MRI sequence is this?", answer=record["modality"])
    record["reasoning"] = f"The contrast is that of {record['modality']}."
    record.pop("choices", None)


def _open_diagnosis(record: Record) -> None:
    # Every label is named, so that the gold answer holds all the keywords that an open answer is scored by.
    text = ", ".join(record["ground_truth"]["labels"])
    record.update(type="open_ended", question="What are the findings in this image?", answer=text)
    record["reasoning"] = f"The image shows {wording.phrase(text)}."
    record.pop("choices", None)


def _letters_with_text(record: Record) -> None:
    options = _options(record)
    record["answer"] = ", ".join(f"({letter}) {options[letter]}" for letter in _LETTER.findall(record["answer"]))


def _number(record: Record) -> None:
    record["answer"] = int(record["answer"])


def _full_stop(record: Record) -> None:
    record["answer"] = f"{record['answer']}."


def _without_choices(record: Record) -> None:
    record.pop("choices", None)


def _blank_after_labels(record: Record) -> None:
    truth = record["ground_truth"]
    for name in ("labels", "diagnosis", "final_diagnosis"):
        if name in truth:
            truth[name] = [f"{label} " for label in truth[name]]
    for box in truth.get("bboxes", []):
        box["label"] = f"{box['label']} "


def _boxes_alone(record: Record) -> None:
    parts = [f"Frame {frame}: {boxes.removesuffix(', ')}" for frame, boxes in _FRAME_BOXES.findall(record["answer"])]
    record["answer"] = ", ".join(parts) or record["answer"]


def _frame_range_first(record: Record) -> None:
    """``X on Frame 21 to 24: Frame 21: <bbx>..</bbx>, ...`` and, for one frame, ``X on Frame 21 (<bbx>..</bbx>)``."""
    sentences = []
    for sentence in record["answer"].split(". "):
        frames = [(number, boxes.removesuffix(", ")) for number, boxes in _FRAME_BOXES.findall(sentence)]
        if not frames:
            sentences.append(sentence.removesuffix("."))
            continue
        name = sentence.split(": Frame ")[0]
        if len(frames) == 1:
            sentences.append(f"{name} on Frame {frames[0][0]} ({frames[0][1]})")
        else:
            listed = ", ".join(f"Frame {number}: {boxes}" for number, boxes in frames)
            sentences.append(f"{name} on Frame {frames[0][0]} to {frames[-1][0]}: {listed}")
    record["answer"] = ". ".join(sentences) + "."


def _one_of_several(record: Record) -> None:
    """The question names one finding while ``bboxes`` keeps all of the slice, as released."""
    boxes = [Finding(record["slice_num"], **box) for box in record["ground_truth"]["bboxes"]]
    groups = wording.by_label(boxes)
    if len(groups) < 2:
        return
    label, named = next(iter(groups.items()))
    area = "is the" if len(named) == 1 else "are all areas of"
    record["question"] = f"Where {area} {wording.phrase(label)} located in this image?"
    place = record["answer"].split("; ")[0].removeprefix(wording.capital(wording.phrase(label))).strip()
    record["answer"] = wording.capital(place)


def _box_in_reasoning(record: Record) -> None:
    boxes = record["ground_truth"].get("bboxes", [])
    if boxes:
        numbers = ",".join(str(boxes[0][name]) for name in ("x", "y", "width", "height"))
        record["reasoning"] += f" The first lies at <bbx>[{numbers}]</bbx>."


def _domain_field(domain: str) -> Callable[[Record], None]:
    def change(record: Record) -> None:
        record["domain"] = domain

    return change


RULES = (
    Rule(_modality_question, "classification", "brain", "slice", "single_choice", every=4),
    Rule(_open_diagnosis, "diagnosis", level="slice", every=4, first=1),
    Rule(_letters_with_text, "diagnosis", level="slice", type="single_choice", every=5, first=2),
    Rule(_letters_with_text, "classification", type="multiple_choice", every=4, first=1),
    Rule(_without_choices, "diagnosis", "brain", "slice", every=3, first=2),
    Rule(_number, "counting", every=2),
    Rule(_full_stop, "detection", level="volume", every=4),
    Rule(_blank_after_labels, "captioning", level="slice", every=3),
    Rule(_blank_after_labels, "localization", "knee", "slice", every=2),
    Rule(_boxes_alone, "localization", "brain", "volume", every=5, first=1),
    Rule(_frame_range_first, "localization", "knee", "volume", every=2),
    Rule(_one_of_several, "localization", level="slice", every=3),
    Rule(_box_in_reasoning, "localization", level="slice", every=2),
    *(Rule(_domain_field(domain), "captioning", domain, every=2) for domain in ("brain", "knee")),
)
