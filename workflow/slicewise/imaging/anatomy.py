"""Names of anatomy: what can be segmented here, and by what."""

from __future__ import annotations

import difflib
from dataclasses import dataclass

HEURISTIC = ("body", "lung_left", "lung_right", "airway", "bone", "fat")
LABELS = {name: number for number, name in enumerate(HEURISTIC, start=1)}

_PLAIN = """spleen kidney_right kidney_left gallbladder liver stomach pancreas adrenal_gland_right adrenal_gland_left
lung_upper_lobe_left lung_lower_lobe_left lung_upper_lobe_right lung_middle_lobe_right lung_lower_lobe_right esophagus
trachea thyroid_gland small_bowel duodenum colon urinary_bladder prostate kidney_cyst_left kidney_cyst_right sacrum
heart aorta pulmonary_vein brachiocephalic_trunk subclavian_artery_right subclavian_artery_left
common_carotid_artery_right common_carotid_artery_left brachiocephalic_vein_left brachiocephalic_vein_right
atrial_appendage_left superior_vena_cava inferior_vena_cava portal_vein_and_splenic_vein iliac_artery_left
iliac_artery_right iliac_vena_left iliac_vena_right spinal_cord brain skull sternum costal_cartilages"""
_PAIRED = "humerus scapula clavicula femur hip gluteus_maximus gluteus_medius gluteus_minimus autochthon iliopsoas"


def _total() -> tuple[str, ...]:
    names = _PLAIN.split()
    names += ["vertebrae_S1"]
    names += [f"vertebrae_{part}{n}" for part, count in (("L", 5), ("T", 12), ("C", 7)) for n in range(count, 0, -1)]
    names += [f"{name}_{side}" for name in _PAIRED.split() for side in ("left", "right")]
    names += [f"rib_{side}_{n}" for side in ("left", "right") for n in range(1, 13)]
    return tuple(names)


# The classes of TotalSegmentator's task "total", version 2.
TOTAL = _total()
ALIASES = {
    "windpipe": "trachea",
    "gullet": "esophagus",
    "oesophagus": "esophagus",
    "left lung": "lung_left",
    "right lung": "lung_right",
    "lung": "lung_left",
    "bones": "bone",
    "collarbone": "clavicula_left",
    "shoulder blade": "scapula_left",
    "bladder": "urinary_bladder",
    "vena cava": "inferior_vena_cava",
    "svc": "superior_vena_cava",
    "ivc": "inferior_vena_cava",
}


@dataclass(frozen=True, slots=True)
class Match:
    """A name that fits a query.

    Attributes:
        name: The name to segment by.
        label_set: ``heuristic`` or ``total``.
        score: Likeness in [0, 1].
    """

    name: str
    label_set: str
    score: float


def search(query: str, limit: int = 10) -> list[Match]:
    """Names like a query, best first.

    A name scores by the likeness of its letters to the query, and 0.9 at least when it holds all words of the query.
    """
    wanted = " ".join(query.lower().replace("_", " ").split())
    wanted_name = ALIASES.get(wanted, wanted)
    found = [
        Match(name, label_set, round(_likeness(wanted_name.replace("_", " "), name.replace("_", " ").lower()), 3))
        for label_set, names in (("heuristic", HEURISTIC), ("total", TOTAL))
        for name in names
    ]
    good = [match for match in found if match.score >= 0.5]
    return sorted(good, key=lambda match: (-match.score, match.name))[:limit]


def _likeness(query: str, name: str) -> float:
    if query == name:
        return 1.0
    ratio = difflib.SequenceMatcher(a=query, b=name, autojunk=False).ratio()
    return max(ratio, 0.9) if query and set(query.split()) <= set(name.split()) else ratio
