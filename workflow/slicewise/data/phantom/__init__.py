"""Synthetic brain and knee MRI with planted findings, in exactly the released SGMRI-VQA file layout.

The phantoms let the whole evaluation run offline on images whose findings are known to the pixel. They look like MRI
and are no anatomy atlas: nothing measured on them says anything about a patient or about how a model reads real scans.
"""

from __future__ import annotations

import hashlib
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from tqdm import tqdm

from slicewise import artifacts
from slicewise.data import manifest
from slicewise.data.phantom import irregular, records
from slicewise.data.questions import Draw, Volume
from slicewise.errors import UserError
from slicewise.params import DemoSettings

if TYPE_CHECKING:
    from slicewise.data.phantom.recipes import Subject

MARKER = ".phantoms"  # written first: says that the folder is ours to replace
MANIFEST = "manifest.json"  # written last: the settings, and the SHA-256 of every file
PARTS = ("brain", "knee", "frames")


def make(settings: DemoSettings, out: Path) -> None:
    """Write the demo's files: ``{brain,knee}/test/{image_qa,volume_qa}/*.json`` and ``frames/<volume>/*.png``.

    The same settings give the same bytes. What an earlier call left in the folder is replaced once the new files are
    whole. ``manifest.json`` comes last and lists them all.

    Args:
        settings: Number of volumes and seed; ``path`` is not used.
        out: Folder to write.

    Raises:
        UserError: The folder holds something else, or cannot be written.
    """
    out = Path(out)
    if out.is_dir() and any(out.iterdir()) and not (out / MARKER).is_file():
        raise UserError(
            f"{out}: holds files that are no phantoms (there is no {MARKER}), expected an empty or a new folder: "
            "choose another folder by --out or 'data.demo.path'."
        )
    artifacts.write_text(out / MARKER, "Written by `slicewise data demo`, which replaces this folder's content.\n")
    temporary = out / f".{os.getpid()}.tmp"
    try:
        (out / MANIFEST).unlink(missing_ok=True)
        for left_over in out.glob(".*.tmp"):  # of a killed call
            shutil.rmtree(left_over, ignore_errors=True)
        _write(settings, temporary)
        files = _digests(temporary)
        for part in PARTS:
            if (out / part).exists():
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


def _digests(folder: Path) -> dict[str, str]:
    """SHA-256 of every file below a folder by its path with forward slashes."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {path.relative_to(folder).as_posix(): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def _write(settings: DemoSettings, out: Path) -> None:
    from slicewise.data.phantom import recipes

    subjects = recipes.subjects(settings.brain_volumes, settings.knee_volumes, settings.seed)
    _write_frames(subjects, out / "frames")
    for (domain, level), made in questions([subject.volume() for subject in subjects], settings.seed).items():
        artifacts.write_json(out / domain / "test" / f"{level}_qa" / f"{domain}_test_{level}_qa.json", made)


def questions(volumes: Sequence[Volume], seed: int) -> dict[tuple[str, str], list[records.Record]]:
    """The released-layout records of every anatomy and level, with the irregularities of the released files."""
    made = {}
    for domain, vocabulary in VOCABULARY.items():
        own = [volume for volume in volumes if volume.domain == domain]
        draw = Draw(seed)
        made[domain, "image"] = records.image_records(own, draw, vocabulary)
        made[domain, "volume"] = records.volume_records(own, draw, vocabulary)
        for level in ("image", "volume"):
            irregular.roughen(made[domain, level], domain)
    return made


def _write_frames(subjects: Sequence[Subject], folder: Path) -> None:
    """Draw and write every frame, and the manifest of frames."""
    from slicewise.data.phantom import texture

    entries: list[manifest.Entry] = []
    with tqdm(total=sum(s.n_frames for s in subjects), desc="phantoms", unit="frame", disable=None) as bar:
        for subject in subjects:
            (folder / subject.volume_id).mkdir(parents=True)
            size = subject.scan.size
            for index in range(subject.n_frames):
                data = texture.png(subject.scan.pixels(index))
                name = f"{subject.volume_id}/{subject.volume_id}_slice_{index + 1:03d}.png"
                (folder / name).write_bytes(data)
                digest = hashlib.sha256(data).hexdigest()
                entries.append(manifest.Entry(subject.volume_id, index + 1, index, "", name, size, size, digest))
                bar.update()
    manifest.write(folder / manifest.NAME, entries)


# fastMRI+ labels that the phantoms plant, and some that they never show, for wrong options.
VOCABULARY: dict[str, Sequence[str]] = {
    "brain": (
        "Craniotomy",
        "Dural thickening",
        "Edema",
        "Encephalomalacia",
        "Enlarged ventricles",
        "Extra-axial mass",
        "Lacunar infarct",
        "Likely cysts",
        "Mass",
        "Nonspecific white matter lesion",
        "Paranasal sinus opacification",
        "Resection cavity",
    ),
    "knee": (
        "Bone- Subchondral edema",
        "Bone-Fracture/Contusion/dislocation",
        "Cartilage - Full Thickness loss/defect",
        "Cartilage - Partial Thickness loss/defect",
        "Displaced Meniscal Tissue",
        "Joint Bodies",
        "Joint Effusion",
        "Ligament - ACL High Grade Sprain",
        "Ligament - ACL Low Grade sprain",
        "Ligament - MCL Low-Mod Grade Sprain",
        "Ligament - PCL High Grade",
        "Meniscus Tear",
        "Muscle Strain",
        "Periarticular cysts",
    ),
}
