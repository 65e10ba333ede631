"""Chest phantoms as a small CT-RATE: volumes, marked regions, slices, and reports that are true to the voxel."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import os
import shutil
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image

from slicewise import artifacts
from slicewise.data.phantom import chest as phantom
from slicewise.errors import UserError
from slicewise.params import ChestSettings

MANIFEST = "manifest.json"
REPORTS = "reports.csv"
REGIONS = "regions.json"
MARKER = ".chest-phantoms"
PARTS = ("volumes", "labels", "slices", REPORTS, REGIONS)
LARGE_MM = 20.0  # from here the reports write "suspicious" and advise to follow up
LESIONS = ("nodule", "effusion", "calcification")
# The frozen rule of what a model without tools sees: so many axial slices, evenly spread from feet to head, with the
# lung, soft tissue and bone window as red, green and blue.
SLICES = 16
WINDOWS = ((1500.0, -600.0), (400.0, 40.0), (2000.0, 500.0))


@dataclass(frozen=True, slots=True)
class Region:
    """A marked region of a phantom.

    Attributes:
        label: Its number in the label file.
        kind: ``nodule``, ``effusion`` or ``calcification``.
        side: Side of the patient, or ``None``.
        zone: Third of the lungs' height, or ``None``.
        diameter_mm: Longest diameter in an axial plane; for an effusion the depth of the layer.
        volume_ml: Volume of its voxels.
        hu: Density it was painted with.
        centre_mm: Centre of its voxels in mm, ``(z, y, x)`` from the first voxel.
    """

    label: int
    kind: str
    side: str | None
    zone: str | None
    diameter_mm: float
    volume_ml: float
    hu: float
    centre_mm: tuple[float, float, float]


def make(settings: ChestSettings, out: Path) -> None:
    """Write ``volumes/``, ``labels/``, ``slices/``, ``reports.csv``, ``regions.json`` and last ``manifest.json``.

    The same settings give the same bytes. What an earlier call left there is replaced once the new files are whole.

    Raises:
        UserError: The folder holds something else, or cannot be written.
    """
    out = Path(out)
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise UserError(
            f"{out}: holds files that are no phantoms (there is no {MARKER}), expected an empty or a new folder: "
            "choose another one by --out or 'data.chest.path'."
        )
    artifacts.write_text(out / MARKER, "Written by `slicewise data chest`, which replaces this folder's content.\n")
    temporary = out / f".{os.getpid()}.tmp"
    try:
        (out / MANIFEST).unlink(missing_ok=True)
        for left_over in out.glob(".*.tmp"):
            shutil.rmtree(left_over, ignore_errors=True)
        _write(settings, temporary)
        files = {p.relative_to(temporary).as_posix(): _sha256(p) for p in sorted(temporary.rglob("*")) if p.is_file()}
        for part in PARTS:
            if (out / part).is_dir():
                shutil.rmtree(out / part)
            os.replace(temporary / part, out / part)
        declared = settings.model_dump(mode="json", exclude={"path"})
        artifacts.write_json(out / MANIFEST, {"settings": declared, "files": files})
    except OSError as error:
        raise UserError(
            f"{out}: cannot be written ({error.strerror or error}); check its permissions and the free space."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


def _sha256(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def _write(settings: ChestSettings, out: Path) -> None:
    from slicewise.imaging.load import save

    for folder in ("volumes", "labels", "slices"):
        (out / folder).mkdir(parents=True)
    reports, regions = [], {}
    for number in range(1, settings.volumes + 1):
        name = f"chest_{number:04d}_a_1"
        seed = settings.seed * 1000 + number
        made = phantom.make_chest(seed, nodules=1 + seed % 3, noise_hu=settings.noise_hu)
        found, labels = mark(made, np.random.default_rng(seed))
        grid = phantom.chest_grid(made)
        save(out / "volumes" / f"{name}.nii.gz", made.hu, grid)
        save(out / "labels" / f"{name}.nii.gz", labels, grid)
        slices(made.hu, out / "slices" / name)
        findings, impression = report(found)
        reports.append([f"{name}.nii.gz", findings, impression])
        regions[name] = [_plain(region) for region in found]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows([["VolumeName", "Findings_EN", "Impressions_EN"], *reports])
    artifacts.write_text(out / REPORTS, text.getvalue())
    artifacts.write_json(out / REGIONS, regions)


def mark(chest: phantom.Chest, rng: np.random.Generator) -> tuple[list[Region], npt.NDArray[np.uint8]]:
    """The findings of a phantom as regions with shuffled numbers, and their label map."""
    lesions = [fact for fact in chest.facts if fact.kind in LESIONS]
    numbers = rng.permutation(len(lesions)) + 1
    labels = np.zeros(chest.hu.shape, dtype=np.uint8)
    found = []
    for fact, number in zip(lesions, numbers.tolist(), strict=True):
        mask = chest.masks[fact.mask]
        labels[mask] = number
        centre = np.argwhere(mask).mean(axis=0) * np.asarray(chest.spacing)
        found.append(
            Region(
                label=number,
                kind=fact.kind,
                side=fact.side,
                zone=fact.zone,
                diameter_mm=round(float(fact.diameter_mm or 0.0), 1),
                volume_ml=round(fact.volume_ml, 2),
                hu=float(fact.hu),
                centre_mm=(float(centre[0]), float(centre[1]), float(centre[2])),
            )
        )
    return sorted(found, key=lambda region: region.label), labels


def _plain(region: Region) -> dict[str, Any]:
    centre = [round(number, 3) for number in region.centre_mm]
    return {name: getattr(region, name) for name in Region.__slots__ if name != "centre_mm"} | {"centre_mm": centre}


def read_regions(folder: Path) -> dict[str, list[Region]]:
    """Regions by volume, as :func:`make` wrote them.

    Raises:
        UserError: The file is missing.
    """
    path = folder / REGIONS
    if not path.is_file():
        raise UserError(f"{path}: not found; expected the chest phantoms: run `slicewise data chest`.")
    raw = json.loads(path.read_text(encoding="utf-8"))
    return {
        name: [Region(**{**entry, "centre_mm": tuple(entry["centre_mm"])}) for entry in entries]
        for name, entries in raw.items()
    }


def report(regions: list[Region]) -> tuple[str, str]:
    """Findings and impression of a phantom; nothing in them is invented."""
    sentences = list(_findings(regions))
    large = [region for region in regions if region.kind == "nodule" and region.diameter_mm >= LARGE_MM]
    if large:
        impression = "Solid pulmonary nodules, the largest suspicious; follow-up CT is recommended."
    elif any(region.kind == "nodule" for region in regions):
        impression = "Small solid pulmonary nodules."
    else:
        impression = "Findings as described."
    return " ".join(sentences), impression


def _findings(regions: list[Region]) -> Iterator[str]:
    for region in regions:
        size, volume, hu = f"{region.diameter_mm:.1f} mm", f"{region.volume_ml:.2f} mL", f"{region.hu:.0f} HU"
        if region.kind == "nodule":
            yield (
                f"A solid nodule of {size} long axis and {volume} lies in the {region.zone} third of the {region.side} "
                f"lung, mean attenuation {hu}."
            )
        elif region.kind == "effusion":
            yield (
                f"A {region.side} pleural effusion with a depth of {size} and a volume of {volume} layers posteriorly, "
                f"attenuation {hu}."
            )
        else:
            yield f"A calcification of {size} and {volume} lies in the wall of the descending aorta, attenuation {hu}."
    if not any(region.kind == "effusion" for region in regions):
        yield "No pleural effusion."


def slices(hu: npt.NDArray[np.int16], folder: Path) -> None:
    """Write the axial slices of the frozen rule as PNG, head last, named by their index."""
    folder.mkdir(parents=True)
    for index in slice_indices(hu.shape[0]):
        image = np.stack([_window(hu[index], width, level) for width, level in WINDOWS], axis=-1)
        Image.fromarray(image).save(folder / f"{index:04d}.png", compress_level=6)


def slices_of_volumes(root: Path, volumes: Iterable[str], find: Callable[[str], Iterable[str]]) -> tuple[int, int]:
    """Write the slices of the frozen rule of real volumes to ``slices/<volume>/`` below the root.

    Args:
        root: Folder of the volumes.
        volumes: Their names.
        find: Where a volume may lie below the root.

    Returns:
        How many volumes have slices now, and how many were not found.
    """
    from slicewise.imaging.load import load

    made = missing = 0
    for name in volumes:
        target = root / "slices" / name
        source = next((root / place for place in find(name) if (root / place).is_file()), None)
        if source is None:
            missing += 1
            continue
        made += 1
        if not target.is_dir():
            temporary = target.with_name(f".{name}.{os.getpid()}.tmp")
            shutil.rmtree(temporary, ignore_errors=True)
            slices(load(source).hu, temporary)
            os.replace(temporary, target)
    return made, missing


def slice_indices(count: int, shown: int = SLICES) -> list[int]:
    """The slices of the frozen rule: the middles of ``shown`` equal parts of the volume, each once."""
    return sorted({int((place + 0.5) * count / shown) for place in range(shown)})


def _window(plane: npt.NDArray[np.int16], width: float, level: float) -> npt.NDArray[np.uint8]:
    scaled = (plane.astype(np.float32) - (level - width / 2)) / width
    grey: npt.NDArray[np.uint8] = np.rint(np.clip(scaled, 0, 1) * 255).astype(np.uint8)
    return grey
