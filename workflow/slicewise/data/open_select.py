"""Which volumes and slices the rebuilt questions are asked about.

The released test set has 742 brain and 750 knee slices, of which 38 per anatomy were planned to be normal, and 213
brain and 155 knee volumes. The knee volumes are known. The brain volumes are not; they are drawn by seed from the
reviewed volumes with at least one label, in the proportions that are known: 120 of 213 with boxes, and FLAIR to T1 as
107 to 140. Smaller settings keep the proportions.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

from slicewise.data.fastmri import Annotations
from slicewise.data.open_volume import diseases, is_normal
from slicewise.data.questions import Draw, Finding, Volume
from slicewise.errors import UserError

BRAIN_FRAMES = 16  # assumed: fastMRI brain volumes have at most 16 slices, and fastMRI+ does not give the number
NATIVE_SIZE = 320  # pixels; assumed for the brain, whose boxes reach 320
BOXED_BRAIN_VOLUMES = Fraction(120, 213)
FLAIR_SHARE = Fraction(107, 247)
NORMAL_IMAGES = {"brain": Fraction(38, 742), "knee": Fraction(38, 750)}
UNLOCALIZED_IMAGES = Fraction(7, 1492)  # 1,492 images have 1,485 localization questions
YES_VOLUMES = Fraction(260, 368)  # what always-Yes earns on the released volume detection


@dataclass(frozen=True, slots=True)
class Slice:
    """A slice of a volume by its 0-based number in the source."""

    volume_id: str
    index: int


def modality(volume_id: str) -> str:
    """``FLAIR`` or ``T1`` from the name of a brain volume, as the released files have it (T1 holds AXT1POST too).

    Raises:
        UserError: The name tells neither.
    """
    for mark, name in (("AXFLAIR", "FLAIR"), ("AXT1", "T1")):
        if mark in volume_id:
            return name
    raise UserError(
        f"brain.csv: field 'file' is {volume_id!r}, expected a name with AXFLAIR, AXT1 or AXT1POST: correct the row."
    )


def brain_volumes(annotations: Annotations, n: int, draw: Draw) -> list[Volume]:
    """Draw ``n`` brain volumes, sorted by name, with boxes on frames counted from 1.

    Raises:
        UserError: There are fewer volumes of a kind than asked for.
    """
    n_boxed = round(n * BOXED_BRAIN_VOLUMES)
    chosen: list[str] = []
    for boxed, of_kind in ((True, n_boxed), (False, n - n_boxed)):
        kind = "with boxes" if boxed else "without boxes"
        pool = [v for v in annotations.volumes if (v in annotations.marks) == boxed]
        flair = round(of_kind * FLAIR_SHARE)
        for name, wanted in (("FLAIR", flair), ("T1", of_kind - flair)):
            candidates = draw.order([v for v in pool if modality(v) == name], "brain volumes")
            chosen += _take(candidates, wanted, f"{name} brain volumes {kind}", "data.open.brain_volumes")
    return [_volume(annotations, v, modality(v), BRAIN_FRAMES, _BRAIN_FLAGS) for v in sorted(chosen)]


_BRAIN_FLAGS = ("n_frames_assumed", "size_assumed")


def knee_volumes(annotations: Annotations, volumes: Iterable[tuple[str, int]]) -> list[Volume]:
    """The knee test volumes, sorted by name, with boxes on frames counted from 1."""
    return [_volume(annotations, v, "knee", n, ()) for v, n in sorted(volumes)]


def _volume(annotations: Annotations, name: str, modality_: str, n_frames: int, flags: tuple[str, ...]) -> Volume:
    findings = tuple(
        Finding(m.slice + 1, m.x, m.y, m.width, m.height, m.label) for m in annotations.marks.get(name, ())
    )
    beyond = [finding.frame - 1 for finding in findings if finding.frame > n_frames]
    if beyond:
        raise UserError(
            f"{annotations.anatomy}.csv: volume {name!r} has a box on slice {beyond[0]}, expected 0 to {n_frames - 1}: "
            "the volume has fewer slices; correct the row."
        )
    study_labels = annotations.study_labels.get(name, ())
    return Volume(
        annotations.anatomy, name, modality_, n_frames, NATIVE_SIZE, NATIVE_SIZE, findings, study_labels, flags=flags
    )


def renumbered(volume: Volume) -> Volume:
    """The volume with every frame number one lower, as the released knee files have it."""
    moved = tuple(replace(finding, frame=finding.frame - 1) for finding in volume.findings)
    if any(finding.frame < 1 for finding in moved):
        raise UserError(
            f"{volume.domain}.csv: volume {volume.volume_id!r} has a box on slice 0, which no frame holds when knee "
            "frames are numbered as released: use the corrected benchmark, or correct the row."
        )
    return replace(volume, findings=moved, slice_base=0)


def images(volumes: Sequence[Volume], n: int, draw: Draw) -> list[Slice]:
    """Draw ``n`` slices of the volumes, 38 of 742 or 750 of them normal, sorted.

    A slice with a box is a candidate as it is. A normal slice has no box on itself or a neighbour, so that it is
    normal under either numbering, and lies in a volume without disease of the whole study; brain volumes give normal
    slices only when they have no box at all.

    Raises:
        UserError: There are fewer slices of a kind than asked for.
    """
    domain = volumes[0].domain
    n_normal = round(n * NORMAL_IMAGES[domain])
    chosen: list[Slice] = []
    kinds: tuple[tuple[str, int, Callable[[Volume], Iterable[int]]], ...] = (
        ("with boxes", n - n_normal, _boxed),
        ("without boxes", n_normal, _normal),
    )
    for kind, wanted, candidates in kinds:
        pool = {f"{v.volume_id}/{index}": Slice(v.volume_id, index) for v in volumes for index in candidates(v)}
        order = draw.order(pool, "images", kind)
        taken = _take(order, wanted, f"{domain} slices {kind}", f"data.open.{domain}_images")
        chosen += [pool[name] for name in taken]
    return sorted(chosen, key=lambda s: (s.volume_id, s.index))


def _boxed(volume: Volume) -> list[int]:
    return sorted({finding.frame - 1 for finding in volume.findings})


def _normal(volume: Volume) -> list[int]:
    if diseases(volume) or (volume.domain == "brain" and volume.findings):
        return []
    near = {index + step for index in _boxed(volume) for step in (-1, 0, 1)}
    return [index for index in range(1, volume.n_frames) if index not in near]


def _take(candidates: list[str], wanted: int, what: str, setting: str) -> list[str]:
    if len(candidates) < wanted:
        raise UserError(
            f"{setting}: asks for {wanted} {what}, expected at most the {len(candidates)} that the fastMRI+ files "
            "have: lower the setting, or check the files."
        )
    return candidates[:wanted]


def without_localization(slices: Sequence[Slice], volumes: Sequence[Volume], draw: Draw) -> frozenset[Slice]:
    """The few normal slices that get no localization question, as seven of the released 1,492 have none."""
    boxed = {Slice(volume.volume_id, index) for volume in volumes for index in _boxed(volume)}
    normal = {f"{s.volume_id}/{s.index}": s for s in slices if s not in boxed}
    names = draw.order(normal, "no localization")[: round(len(slices) * UNLOCALIZED_IMAGES)]
    return frozenset(normal[name] for name in names)


def asked_with_yes(volumes: Sequence[Volume], draw: Draw) -> frozenset[str]:
    """Ids of the volumes whose detection question names a label that they have: 260 of 368, or all that have any."""
    ill = [volume.volume_id for volume in volumes if not is_normal(volume)]
    return frozenset(draw.order(ill, "asked with yes")[: round(len(volumes) * YES_VOLUMES)])
