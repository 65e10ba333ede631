"""Reports: their grade, and the facts in them that hard evidence supports.

The paper grades by three features whose weights it does not give. Here they are counts with fixed rules, so that a
grade can be checked by reading: doubt or advice to follow up makes type C (autonomous), whatever else there is; a
report with a single, measured fact is type A (atomic); the others are type B (logical).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from slicewise.data.ctflowbench.content import unanswerable

ReportType = Literal["A", "B", "C"]
_NUMBER = r"\d+(?:[.,]\d+)?"
_VALUE = re.compile(rf"(?<![\w.]){_NUMBER}(?:\s*[x×]\s*{_NUMBER})*\s*(?:mm|cm|ml|hu)\b", re.IGNORECASE)
_LENGTH = re.compile(rf"(?<![\w.])(?P<first>{_NUMBER})(?:\s*[x×]\s*{_NUMBER})*\s*(?P<unit>mm|cm)\b", re.IGNORECASE)
_VOLUME = re.compile(rf"(?<![\w.])(?P<value>{_NUMBER})\s*mL\b", re.IGNORECASE)
_DENSITY = re.compile(rf"(?P<value>-?{_NUMBER})\s*HU\b", re.IGNORECASE)
_SIDE = re.compile(r"\b(?P<side>left|right)\b", re.IGNORECASE)
_ZONE = re.compile(r"\b(?P<zone>upper|middle|lower)\b", re.IGNORECASE)
_DOUBT = re.compile(
    r"\b(?:possibl[ey]|probabl[ey]|likely|suspicious|suspected|suggestive|suggests?|may|might|could|cannot be excluded"
    r"|differential|indeterminate|questionable|versus)\b",
    re.IGNORECASE,
)
_FOLLOW_UP = re.compile(r"\b(?:follow.?up|recommend\w*|advis\w+|further (?:evaluation|work.?up)|correlat\w+)\b", re.I)
_NEGATED = re.compile(r"\b(?:no|without|absence of|not (?:seen|detected|observed|identified))\b", re.IGNORECASE)
_SENTENCE = re.compile(r"(?<=[.;!?])\s+(?=[A-Z])")
# What counts as a place of its own, by its first synonym.
ANATOMY = {
    "lung": r"lungs?|lobes?|lingula|pulmonary|parenchyma\w*",
    "pleura": r"pleura\w*|costophrenic|hemithorax",
    "airway": r"trachea\w*|bronch\w+|airways?|carina",
    "aorta": r"aort\w+",
    "heart": r"heart|cardiac|pericardi\w+|ventric\w+|atri\w+|coronar\w+",
    "mediastinum": r"mediastin\w+|hil(?:um|ar|a)\b|thym\w+|(?:o?e)sophag\w+",
    "bone": r"bones?|ribs?|vertebra\w*|sternum|spine|osseous",
    "chest wall": r"chest wall|axill\w+|breasts?|subcutaneous",
    "upper abdomen": r"liver|hepatic|spleen|kidney\w*|renal|adrenal\w*|gallbladder|abdom\w+",
}
_ANATOMY = {name: re.compile(rf"\b(?:{pattern})", re.IGNORECASE) for name, pattern in ANATOMY.items()}
KINDS = {
    "nodule": r"nodul\w*|mass(?:es)?\b",
    "effusion": r"effusions?|pleural fluid",
    "calcification": r"calcif\w+",
    "airway": r"trachea\w*",
}
_KINDS = {name: re.compile(rf"\b(?:{pattern})", re.IGNORECASE) for name, pattern in KINDS.items()}


@dataclass(frozen=True, slots=True)
class Grade:
    """A report's features and its type.

    Attributes:
        numbers: Measured values with a unit.
        places: Distinct places of :data:`ANATOMY`, sorted.
        doubts: Words of doubt and of advice to follow up.
        type: ``A``, ``B`` or ``C``.
    """

    numbers: int
    places: tuple[str, ...]
    doubts: int
    type: ReportType


@dataclass(frozen=True, slots=True)
class Fact:
    """A finding that is backed by a measurement, a specific place or a density.

    Attributes:
        kind: As in :data:`KINDS`.
        sentence: Where it stands.
        length_mm: First length.
        volume_ml: Volume.
        hu: Density.
        side: ``left`` or ``right``.
        zone: ``upper``, ``middle`` or ``lower``.
        places: As in :class:`Grade`.
    """

    kind: str
    sentence: str
    length_mm: float | None = None
    volume_ml: float | None = None
    hu: float | None = None
    side: str | None = None
    zone: str | None = None
    places: tuple[str, ...] = ()


def grade(findings: str, impression: str) -> Grade:
    """Grade a report."""
    text = f"{findings}\n{impression}"
    numbers = len(_VALUE.findall(text))
    places = tuple(sorted(name for name, pattern in _ANATOMY.items() if pattern.search(text)))
    doubts = len(_DOUBT.findall(text)) + len(_FOLLOW_UP.findall(text))
    kind: ReportType = "C" if doubts else "A" if numbers and len(facts(findings)) == 1 else "B"
    return Grade(numbers, places, doubts, kind)


def facts(findings: str) -> list[Fact]:
    """The facts that a report supports, sentence by sentence.

    A sentence that denies, that asks for what the scan cannot show, that names no known kind, or that has neither a
    value nor a specific place, gives none.
    """
    found = []
    for sentence in _SENTENCE.split(findings.strip()):
        kind = next((name for name, pattern in _KINDS.items() if pattern.search(sentence)), None)
        if kind is None or _NEGATED.search(sentence) or unanswerable(sentence):
            continue
        fact = _fact(kind, sentence)
        specific = fact.side is not None and (fact.zone is not None or bool(fact.places))
        if specific or any(value is not None for value in (fact.length_mm, fact.volume_ml, fact.hu)):
            found.append(fact)
    return found


def _fact(kind: str, sentence: str) -> Fact:
    length, volume, density = _LENGTH.search(sentence), _VOLUME.search(sentence), _DENSITY.search(sentence)
    side, zone = _SIDE.search(sentence), _ZONE.search(sentence)
    return Fact(
        kind,
        sentence,
        length_mm=None if length is None else _number(length["first"]) * (10 if length["unit"].lower() == "cm" else 1),
        volume_ml=None if volume is None else _number(volume["value"]),
        hu=None if density is None else _number(density["value"]),
        side=None if side is None else side["side"].lower(),
        zone=None if zone is None else zone["zone"].lower(),
        places=tuple(sorted(name for name, pattern in _ANATOMY.items() if pattern.search(sentence))),
    )


def _number(text: str) -> float:
    return float(text.replace(",", "."))
