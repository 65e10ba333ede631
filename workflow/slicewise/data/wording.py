"""The words of the rebuilt questions and answers: names of findings, places, boxes.

All sentences are our own. The shapes of the answers are those of the released SGMRI-VQA files (``Yes``, ``(B)``,
``(A), (C)``, ``6``, ``In the right hemisphere, <bbx>[x,y,width,height]</bbx>``), so that one parser reads both.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slicewise.data.questions import Finding, Laterality, Volume

NORMAL = "Normal"
NO_BOX = "No findings to localize"
RELEASED_MIDLINE = 130  # the released texts call a box right-sided when its left edge is below this, in pixels

# fastMRI+ label -> how a sentence names it. Every word of the label stays, so a reader can tell which label a question
# names. Labels that are not here read well in lower case.
_PHRASES = {
    "Bone - Lesion": "bone lesion",
    "Bone- Subchondral edema": "subchondral bone edema",
    "Bone-Fracture/Contusion/dislocation": "bone fracture, contusion or dislocation",
    "Cartilage - Full Thickness loss/defect": "full thickness cartilage loss or defect",
    "Cartilage - Partial Thickness loss/defect": "partial thickness cartilage loss or defect",
    "Craniectomy with Cranioplasty": "craniectomy with cranioplasty",
    "LCL Complex - Low-Mod Grade Sprain": "low-mod grade sprain of the LCL complex",
    "LCL Complex- High Grade Sprain": "high grade sprain of the LCL complex",
    "Ligament - ACL High Grade Sprain": "high grade sprain of the ACL ligament",
    "Ligament - ACL Low Grade sprain": "low grade sprain of the ACL ligament",
    "Ligament - MCL High Grade sprain": "high grade sprain of the MCL ligament",
    "Ligament - MCL Low-Mod Grade Sprain": "low-mod grade sprain of the MCL ligament",
    "Ligament - PCL High Grade": "high grade injury of the PCL ligament",
    "Ligament - PCL Low-Mod grade sprain": "low-mod grade sprain of the PCL ligament",
    "Patellar Retinaculum - High grade sprain": "high grade sprain of the patellar retinaculum",
}
_GLOBAL_PREFIX = "Global label: "

# First word found in a knee label decides where the finding lies. fastMRI+ does not say which side is medial, and the
# released side file is not public, so sides are those of the image.
_KNEE_PLACES = (
    ("ACL", "at the ACL in the intercondylar region"),
    ("PCL", "at the PCL in the intercondylar region"),
    ("MCL", "along the medial collateral ligament"),
    ("LCL", "along the lateral collateral ligament complex"),
    ("Retinaculum", "at the patellar retinaculum"),
    ("Menisc", "at the meniscus"),
    ("Cartilage", "at the articular cartilage"),
    ("Subchondral", "in the subchondral bone"),
    ("Bone", "in the bone"),
    ("Effusion", "in the joint space"),
    ("Joint Bodies", "inside the joint"),
    ("cyst", "around the joint"),
    ("Soft Tissue", "in the soft tissue"),
    ("Muscle", "in the muscle"),
)
_NO_SIDE = ("ACL", "PCL", "MCL", "LCL")  # the place says it already


def phrase(label: str) -> str:
    """How a sentence names a label, such as ``low grade sprain of the ACL ligament``."""
    return _PHRASES.get(label) or label.removeprefix(_GLOBAL_PREFIX).lower()


def joined(words: Sequence[str]) -> str:
    """``a``, ``a and b``, ``a, b and c``."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} and {words[-1]}"


def capital(text: str) -> str:
    """The text with its first letter in upper case and the rest as it is."""
    return text[:1].upper() + text[1:]


def box(finding: Finding) -> str:
    """``<bbx>[x,y,width,height]</bbx>`` in native pixels."""
    return f"<bbx>[{finding.x},{finding.y},{finding.width},{finding.height}]</bbx>"


def is_right(finding: Finding, width: int, rule: Laterality) -> bool:
    """Whether the box lies on the patient's right, which is the left of the image.

    Args:
        finding: The box.
        width: Native width of the frame in pixels.
        rule: ``left_edge_130``, the released texts' rule (right when the left edge is below pixel 130, whatever the
            width), or ``centre`` (right when the centre is left of the middle of the frame).
    """
    if rule == "left_edge_130":
        return finding.x < RELEASED_MIDLINE
    return finding.x + finding.width / 2 < width / 2


def place(findings: Sequence[Finding], volume: Volume, rule: Laterality) -> str:
    """Where findings of one label lie, such as ``in the right hemisphere`` or ``at the ACL ...``."""
    label = findings[0].label
    if volume.domain == "brain":
        if "ventric" in label.lower():
            return "in the ventricles"
        sides = {is_right(finding, volume.width, rule) for finding in findings}
        if len(sides) == 2:
            return "in the bilateral hemispheres"
        return f"in the {'right' if sides.pop() else 'left'} hemisphere"
    words = next((words for key, words in _KNEE_PLACES if key in label), "in the knee")
    if any(key in label for key in _NO_SIDE):
        return words
    halves = {finding.x + finding.width / 2 < volume.width / 2 for finding in findings}
    if len(halves) == 2:
        return f"{words} on both sides of the image"
    return f"{words} on the {'left' if halves.pop() else 'right'} side of the image"


def by_label(findings: Iterable[Finding]) -> dict[str, list[Finding]]:
    """Findings grouped by label, labels in the order in which they first occur."""
    groups: dict[str, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(finding.label, []).append(finding)
    return groups


def frame_boxes(findings: Sequence[Finding], between: str) -> str:
    """``Frame 3: <bbx>..</bbx>, <bbx>..</bbx>`` for each frame in order, joined by ``between``."""
    frames: dict[int, list[str]] = {}
    for finding in sorted(findings, key=lambda f: f.frame):
        frames.setdefault(finding.frame, []).append(box(finding))
    return between.join(f"Frame {frame}: {', '.join(boxes)}" for frame, boxes in frames.items())


def frame_span(findings: Iterable[Finding]) -> str:
    """The frames of findings as ranges: ``frame 4``, ``frames 2 to 4 and 7``."""
    numbers = sorted({finding.frame for finding in findings})
    runs: list[list[int]] = []
    for number in numbers:
        if runs and number == runs[-1][1] + 1:
            runs[-1][1] = number
        else:
            runs.append([number, number])
    spans = [str(first) if first == last else f"{first} to {last}" for first, last in runs]
    return f"{'frame' if len(numbers) == 1 else 'frames'} {joined(spans)}"


def count(number: int, noun: str) -> str:
    """``one box``, ``3 boxes``."""
    if number == 1:
        return f"one {noun}"
    return f"{number} {noun}{'es' if noun.endswith('x') else 's'}"
