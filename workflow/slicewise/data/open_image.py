"""The five questions about one slice: detection, localization, classification, diagnosis, captioning."""

from __future__ import annotations

from collections.abc import Sequence

from slicewise.data import wording
from slicewise.data.questions import Draw, Finding, Item, Laterality, Volume

MOST_RIGHT = 3  # right options at most, so that a wrong one is left among four
OPTIONS = 4


def items(volume: Volume, frame: int, draw: Draw, vocabulary: Sequence[str], rule: Laterality) -> list[Item]:
    """The five items of one slice.

    Args:
        volume: The volume with its boxes.
        frame: Number of the slice, counted from 1. A slice without boxes is asked about as normal.
        draw: Seeded choices.
        vocabulary: Labels from which wrong options are drawn; a label of the volume is never one.
        rule: How texts name the side of a brain finding.
    """
    findings = volume.on(frame)
    return [
        detection(volume, findings),
        localization(volume, findings, rule),
        classification(volume, frame, draw, vocabulary),
        diagnosis(volume, frame, draw, vocabulary),
        captioning(volume, findings, rule),
    ]


def detection(volume: Volume, findings: Sequence[Finding]) -> Item:
    """Is there anything to find: Yes when the slice has a box."""
    question = f"Is any finding visible in this {volume.domain} MRI image?"
    if not findings:
        return Item("detection", "closed_ended", question, "No", "No finding is annotated on this slice.")
    return Item("detection", "closed_ended", question, "Yes", f"{_annotated(findings)} Total = {len(findings)}.")


def localization(volume: Volume, findings: Sequence[Finding], rule: Laterality) -> Item:
    """Where: every label of the slice is named, so that all of its boxes are asked for."""
    task, kind = "localization", "closed_ended"
    if not findings:
        question = "Where is any finding located in this image?"
        return Item(task, kind, question, wording.NO_BOX, "No finding is annotated on this slice.")
    groups = wording.by_label(findings)
    question = f"Where {asked(groups, len(findings))} located in this image?"
    parts = [(label, wording.place(boxes, volume, rule), boxes) for label, boxes in groups.items()]
    if len(parts) == 1:
        _, place, boxes = parts[0]
        answer = f"{wording.capital(place)}, {_boxes(boxes)}"
    else:
        answer = wording.capital("; ".join(f"{wording.phrase(n)} {place}, {_boxes(b)}" for n, place, b in parts))
    return Item(task, kind, question, answer, f"{_annotated(findings)} Total = {len(findings)}.")


def classification(volume: Volume, frame: int, draw: Draw, vocabulary: Sequence[str]) -> Item:
    """Which findings: a single choice for one label, a multiple choice for several."""
    labels = list(wording.by_label(volume.on(frame))) or [wording.NORMAL]
    name = (volume.volume_id, frame - volume.slice_base)
    if len(labels) == 1:
        stem = f"Which of these describes this {volume.domain} MRI image?"
        return choice("classification", "single_choice", stem, labels, volume, draw, vocabulary, name)
    right = draw.order(labels, "shown", *name)[:MOST_RIGHT]
    stem = f"Which of these findings does this {volume.domain} MRI image show? Select all that apply."
    return choice("classification", "multiple_choice", stem, right, volume, draw, vocabulary, name)


def diagnosis(volume: Volume, frame: int, draw: Draw, vocabulary: Sequence[str]) -> Item:
    """The leading finding: the label whose boxes cover the largest area of the slice."""
    name = (volume.volume_id, frame - volume.slice_base)
    stem = "What is the most likely leading finding in this image?"
    right = [leading(volume.on(frame))]
    return choice("diagnosis", "single_choice", stem, right, volume, draw, vocabulary, name)


def captioning(volume: Volume, findings: Sequence[Finding], rule: Laterality) -> Item:
    """One or two sentences without boxes."""
    question = "Describe what this image shows."
    scan = f"{volume.modality} brain MRI" if volume.domain == "brain" else "knee MRI"
    if not findings:
        answer = f"This {scan} slice shows no finding."
        return Item("captioning", "open_ended", question, answer, "No finding is annotated on this slice.")
    places = [
        f"{wording.phrase(label)} {wording.place(boxes, volume, rule)}"
        for label, boxes in wording.by_label(findings).items()
    ]
    answer = f"This {scan} slice shows {wording.joined(places)}."
    if len(findings) > len(places):
        answer += f" There are {len(findings)} separate areas in all."
    return Item("captioning", "open_ended", question, answer, f"{_annotated(findings)} Total = {len(findings)}.")


def leading(findings: Sequence[Finding]) -> str:
    """The label with the largest summed box area, by name when equal; ``Normal`` without boxes."""
    areas: dict[str, int] = {}
    for finding in findings:
        areas[finding.label] = areas.get(finding.label, 0) + finding.width * finding.height
    return min(areas, key=lambda label: (-areas[label], label), default=wording.NORMAL)


def choice(
    task: str,
    question_type: str,
    stem: str,
    right: Sequence[str],
    volume: Volume,
    draw: Draw,
    vocabulary: Sequence[str],
    name: Sequence[object],
) -> Item:
    """A question with options (A) to (D), written into the question like the released ones.

    Wrong options are drawn from the vocabulary without any label of the volume: a finding two slices away, or a
    study-level one, is no safe distractor.
    """
    kind = f"{volume.domain} {task} {question_type}"
    others = [label for label in vocabulary if label not in volume.labels and label not in right]
    wrong = draw.order(others, kind, "distractors", *name)[: OPTIONS - len(right)]
    options, letters = draw.options(kind, right, wrong, *name)
    inline = "\n".join(f"({letter}) {text}" for letter, text in options.items())
    reasons = [f"It is {wording.joined([f'({letter}) {options[letter]}' for letter in letters])}."]
    reasons += [
        f"It is not ({letter}) {text} because no such finding is annotated."
        for letter, text in options.items()
        if letter not in letters
    ]
    answer = ", ".join(f"({letter})" for letter in letters)
    return Item(task, question_type, f"{stem}\n{inline}", answer, " ".join(reasons), options)


def asked(labels: Sequence[str] | dict[str, list[Finding]], n_boxes: int) -> str:
    """``is the edema`` for one box, ``are all areas of edema and mass`` for more."""
    names = wording.joined([wording.phrase(label) for label in labels])
    return f"is the {names}" if n_boxes == 1 else f"are all areas of {names}"


def _annotated(findings: Sequence[Finding]) -> str:
    counts = [
        f"{wording.count(len(boxes), 'box')} of {wording.phrase(label)}"
        for label, boxes in wording.by_label(findings).items()
    ]
    return f"The slice has {wording.joined(counts)}."


def _boxes(findings: Sequence[Finding]) -> str:
    return ", ".join(wording.box(finding) for finding in findings)
