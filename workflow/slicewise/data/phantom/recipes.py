"""Which volumes the demo has, and what is planted in each.

Recipes repeat in a fixed order, so a larger demo has more volumes of the same kinds; sides and places are moved by
seed. The third volume of every six is normal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slicewise.data.phantom.brain import FRAMES, Brain
from slicewise.data.phantom.brain import MIDDLE as BRAIN_MIDDLE
from slicewise.data.phantom.knee import MIDDLE as KNEE_MIDDLE
from slicewise.data.phantom.knee import Knee
from slicewise.data.phantom.lesions import Lesion
from slicewise.data.phantom.texture import generator
from slicewise.data.questions import Volume


@dataclass(frozen=True, slots=True)
class Subject:
    """One volume to make.

    Attributes:
        domain: ``brain`` or ``knee``.
        volume_id: Named like the fastMRI volumes.
        modality: As the released files have it: ``FLAIR``, ``T1`` or ``knee``.
        n_frames: Number of frames.
        scan: What draws the frames and knows the boxes.
    """

    domain: str
    volume_id: str
    modality: str
    n_frames: int
    scan: Brain | Knee

    def volume(self) -> Volume:
        """The volume with its boxes; frame numbers count from 1."""
        found = tuple(finding for frame in range(self.n_frames) for finding in self.scan.findings(frame))
        size = self.scan.size
        return Volume(self.domain, self.volume_id, self.modality, self.n_frames, size, size, found)


@dataclass(frozen=True, slots=True)
class _Plan:
    """A recipe: contrast, size, and findings as (label, look, y, offset from the middle, ry, rx, frame, reach)."""

    contrast: str
    findings: tuple[tuple[str, str, float, float, float, float, float, int], ...]
    size: int = 320
    ventricles: float = 1.0


# Offsets are toward the affected side; frames are 0-based.
_BRAIN = (
    _Plan(
        "FLAIR",
        (
            ("Nonspecific white matter lesion", "bright", 132, 48, 7, 6, 10, 1),
            ("Nonspecific white matter lesion", "bright", 188, 44, 6, 8, 10, 0),
            ("Nonspecific white matter lesion", "bright", 166, -46, 8, 7, 9, 1),
            ("Lacunar infarct", "cavity", 178, 52, 9, 10, 7, 1),
        ),
    ),
    _Plan("T1POST", (("Edema", "bright", 126, 54, 27, 24, 9, 2), ("Mass", "tumour", 124, 52, 15, 14, 9, 2))),
    _Plan("FLAIR", ()),
    _Plan(
        "T1",
        (
            ("Resection cavity", "cavity", 192, 52, 19, 16, 9, 2),
            ("Craniotomy", "flap", 188, 98, 30, 34, 9, 2),
        ),
    ),
    _Plan(
        "FLAIR",
        (("Edema", "bright", 186, 50, 19, 17, 10, 2), ("Extra-axial mass", "solid", 106, -70, 20, 18, 10, 1)),
        size=256,
    ),
    _Plan(
        "T1",
        (
            ("Enlarged ventricles", "ventricles", 160, 0, 1, 1, 7, 3),
            ("Encephalomalacia", "cavity", 120, 66, 18, 14, 9, 1),
        ),
        ventricles=2.1,
    ),
)

# Offsets are toward the lateral side (that of the fibula); frames are shares of the volume from front to back.
_KNEE = (
    _Plan(
        "PDFS",
        (
            ("Meniscus Tear", "fluid", 172, -70, 4.5, 7, 0.52, 2),
            ("Joint Effusion", "fluid", 118, 92, 32, 10, 0.40, 3),
        ),
    ),
    _Plan(
        "PDFS",
        (
            ("Bone-Fracture/Contusion/dislocation", "edema", 132, 44, 21, 18, 0.55, 3),
            ("Ligament - ACL Low Grade sprain", "ligament", 160, 8, 15, 7, 0.58, 1),
        ),
    ),
    _Plan("PD", ()),
    _Plan(
        "PD",
        (
            ("Cartilage - Full Thickness loss/defect", "fluid", 168, -44, 6, 13, 0.50, 2),
            ("Bone- Subchondral edema", "edema", 197, -48, 13, 18, 0.50, 2),
        ),
    ),
    _Plan(
        "PDFS",
        (
            ("Ligament - MCL Low-Mod Grade Sprain", "ligament", 166, -90, 34, 7, 0.50, 2),
            ("Periarticular cysts", "fluid", 196, 92, 10, 8, 0.62, 1),
            ("Cartilage - Partial Thickness loss/defect", "fluid", 166, 42, 4, 10, 0.45, 0),
        ),
    ),
    _Plan(
        "PDFS",
        (
            ("Ligament - ACL High Grade Sprain", "ligament", 158, 9, 18, 11, 0.56, 2),
            ("Bone-Fracture/Contusion/dislocation", "edema", 206, 42, 20, 26, 0.66, 2),
            ("Meniscus Tear", "fluid", 172, 68, 5, 8, 0.70, 1),
        ),
    ),
)


def subjects(brain_volumes: int, knee_volumes: int, seed: int) -> list[Subject]:
    """The volumes of the demo, brains first."""
    return [_brain(i, seed) for i in range(brain_volumes)] + [_knee(i, seed) for i in range(knee_volumes)]


def _own_seed(seed: int, domain: str, index: int) -> int:
    return int(generator(seed, domain, index).integers(1, 2**31))


def _brain(index: int, seed: int) -> Subject:
    plan, own = _BRAIN[index % len(_BRAIN)], _own_seed(seed, "brain", index)
    rng = generator(own, "plan")
    side = float(rng.choice([-1.0, 1.0]))
    lesions = tuple(
        Lesion(label, look, y + _nudge(rng), BRAIN_MIDDLE + side * (offset + _nudge(rng)), ry, rx, int(frame), reach)
        for label, look, y, offset, ry, rx, frame, reach in plan.findings
    )
    volume = Brain(plan.contrast, plan.size, own, plan.ventricles, lesions)
    name = f"file_brain_AX{plan.contrast}_phantom_{index + 1:03d}"
    modality = "FLAIR" if plan.contrast == "FLAIR" else "T1"
    return Subject("brain", name, modality, FRAMES, volume)


def _knee(index: int, seed: int) -> Subject:
    plan, own = _KNEE[index % len(_KNEE)], _own_seed(seed, "knee", index)
    rng = generator(own, "plan")
    lateral = float(rng.choice([-1.0, 1.0]))
    n_frames = int(rng.integers(27, 33))
    lesions = tuple(
        Lesion(label, look, y, KNEE_MIDDLE + lateral * offset, ry, rx, round(frame * (n_frames - 1)), reach)
        for label, look, y, offset, ry, rx, frame, reach in plan.findings
    )
    volume = Knee(plan.contrast, n_frames, plan.size, own, lateral, lesions)
    return Subject("knee", f"file_phantom_{index + 1:03d}", "knee", n_frames, volume)


def _nudge(rng: np.random.Generator) -> float:
    return float(rng.uniform(-3, 3))
