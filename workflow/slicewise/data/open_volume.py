"""The five questions about one volume: detection, counting, classification, localization, captioning."""

from __future__ import annotations

from collections.abc import Sequence

from slicewise.data import wording
from slicewise.data.open_image import MOST_RIGHT, asked, choice
from slicewise.data.questions import Draw, Finding, Item, Laterality, Volume

MOST_NAMED = 3  # a question names this many labels; beyond, it asks for all findings


def items(volume: Volume, draw: Draw, vocabulary: Sequence[str], rule: Laterality, present: bool) -> list[Item]:
    """The five items of one volume.

    Args:
        volume: The volume with its boxes.
        draw: Seeded choices.
        vocabulary: Labels from which wrong options are drawn.
        rule: How texts name the side of a brain finding.
        present: Whether detection asks about a label that the volume has; else about one that it has not.
    """
    return [
        detection(volume, draw, vocabulary, present),
        counting(volume),
        classification(volume, draw, vocabulary),
        localization(volume, rule),
        captioning(volume, rule),
    ]


def is_normal(volume: Volume) -> bool:
    """Whether the volume shows no disease: no box, and no study-level label but normality or an artifact."""
    return not volume.findings and not diseases(volume)


def diseases(volume: Volume) -> list[str]:
    """Study-level labels that name a finding."""
    return [label for label in volume.study_labels if not _is_no_disease(label)]


def _is_no_disease(label: str) -> bool:
    return label.lower().startswith("normal") or "artifact" in label.lower()


def detection(volume: Volume, draw: Draw, vocabulary: Sequence[str], present: bool) -> Item:
    """Is a named finding there."""
    name = ("volume detection", volume.volume_id)
    absent = [label for label in vocabulary if label not in volume.labels]
    if present:
        label = draw.one([*wording.by_label(volume.findings), *diseases(volume)], *name)
        boxes = [finding for finding in volume.findings if finding.label == label]
        reasoning = f"It is annotated on {wording.frame_span(boxes)}." if boxes else "The whole study is so labelled."
    else:
        label = draw.one(absent, *name)
        reasoning = "No frame has such an annotation."
    question = f"Does this {volume.domain} MRI volume show {wording.phrase(label)}?"
    return Item("detection", "closed_ended", question, "Yes" if present else "No", reasoning)


def counting(volume: Volume) -> Item:
    """How many: boxes over all frames in the brain, distinct labels in the knee, as in the released files."""
    if volume.domain == "brain":
        question = "How many findings are marked in this volume, counting every frame on which one is seen?"
        total = len(volume.findings)
    else:
        question = "How many different types of finding does this volume show?"
        total = len(wording.by_label(volume.findings))
    return Item("counting", "closed_ended", question, str(total), f"{_summary(volume)} Total = {total}.")


def classification(volume: Volume, draw: Draw, vocabulary: Sequence[str]) -> Item:
    """Which findings: one option is right in the brain, any number in the knee, as in the released files."""
    labels = list(wording.by_label(volume.findings)) or diseases(volume) or [wording.NORMAL]
    name = ("volume", volume.volume_id)
    task = "classification"
    if volume.domain == "brain":
        right = [draw.one(labels, task, *name)]
        stem = "Which of these does this volume show?"
        return choice(task, "single_choice", stem, right, volume, draw, vocabulary, name)
    right = draw.order(labels, "shown", *name)[:MOST_RIGHT]
    stem = "Which of these does this volume show? (Select all that apply)"
    return choice(task, "multiple_choice", stem, right, volume, draw, vocabulary, name)


def localization(volume: Volume, rule: Laterality) -> Item:
    """Where, on which frames: closed-ended in the brain, open-ended in the knee, as in the released files."""
    question_type = "closed_ended" if volume.domain == "brain" else "open_ended"
    groups = wording.by_label(volume.findings)
    if not groups:
        question = "Where is any finding located in this volume?"
        return Item("localization", question_type, question, wording.NO_BOX, _summary(volume))
    if len(groups) > MOST_NAMED:
        question = "Where are all findings located in this volume, frame by frame?"
    else:
        question = f"Where {asked(groups, len(volume.findings))} located in this volume, frame by frame?"
    say = _brain_location if volume.domain == "brain" else _knee_location
    return Item("localization", question_type, question, say(groups, volume, rule), _summary(volume))


def _brain_location(groups: dict[str, list[Finding]], volume: Volume, rule: Laterality) -> str:
    parts = [
        (wording.phrase(label), f"located {wording.place(boxes, volume, rule)}, {wording.frame_boxes(boxes, ', ')}")
        for label, boxes in groups.items()
    ]
    if len(parts) == 1:
        return wording.capital(parts[0][1])
    return wording.capital("; ".join(f"{name} {where}" for name, where in parts))


def _knee_location(groups: dict[str, list[Finding]], volume: Volume, rule: Laterality) -> str:
    return " ".join(
        f"{wording.capital(wording.phrase(label))} {wording.place(boxes, volume, rule)}: "
        f"{wording.frame_boxes(boxes, '; ')}."
        for label, boxes in groups.items()
    )


def captioning(volume: Volume, rule: Laterality) -> Item:
    """Two to four sentences with counts and frames."""
    scan = f"{volume.modality} brain MRI volume" if volume.domain == "brain" else "knee MRI volume"
    opening = f"This {scan} has {volume.n_frames} frames."
    groups = sorted(wording.by_label(volume.findings).items(), key=lambda group: (-len(group[1]), group[0]))
    sentences = [
        f"{wording.capital(wording.phrase(label))} is seen {wording.place(boxes, volume, rule)} on "
        f"{wording.frame_span(boxes)}, with {wording.count(len(boxes), 'box')}."
        for label, boxes in groups[:2]
    ]
    if len(groups) > 2:
        others = [f"{wording.phrase(label)} on {wording.frame_span(boxes)}" for label, boxes in groups[2:]]
        sentences.append(f"It also shows {wording.joined(others)}.")
    if not groups:
        names = wording.joined([wording.phrase(label) for label in diseases(volume)])
        sentences.append(f"The study as a whole shows {names}." if names else "No frame shows a finding.")
    question = "Summarize the findings of this volume."
    return Item("captioning", "open_ended", question, " ".join([opening, *sentences]), _summary(volume))


def _summary(volume: Volume) -> str:
    groups = wording.by_label(volume.findings)
    if not groups:
        return "No frame has a box."
    return " ".join(
        f"{wording.capital(wording.phrase(label))}: {wording.count(len(boxes), 'box')} on {wording.frame_span(boxes)}."
        for label, boxes in groups.items()
    )
