"""PNG frames from the fastMRI HDF5 files, at their native size.

As the released SGMRI-VQA frames were made: the array ``reconstruction_rss`` (slices, height, width), rows flipped (the
fastMRI+ boxes are drawn on the flipped image), negative values cut to 0, each slice scaled by its own maximum to 0-255
and truncated to 8 bits, one channel. Frame ``k`` (1-based, ``<volume>_slice_<k>.png``) shows array index ``k - 1``.
The manifest beside the frames writes that down with every file's size and SHA-256.

The PNG settings are fixed, so the same array gives the same bytes with the same zlib; the pixels are the same with any.
"""

from __future__ import annotations

import hashlib
import os
import re
import shutil
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from tqdm import tqdm

from slicewise.data import manifest
from slicewise.data.manifest import Entry
from slicewise.errors import ManyErrors, UserError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

KEY = "reconstruction_rss"
COMPRESSION = 6
Split = Literal["train", "val"]
_SEQUENCE = re.compile(r"_AX(FLAIR|T1|T2)")


def convert(hdf5: Path, out: Path, volumes: Sequence[str] | None, split: Split = "val") -> list[Entry]:
    """Write the frames of volumes and the manifest.

    A volume appears in its folder only when it is whole. Volumes whose folder already holds as many frames as the
    array has slices are kept as they are, so an interrupted run goes on where it stopped; entries of other volumes
    stay in the manifest.

    Args:
        hdf5: Folder with the HDF5 files, at any depth.
        out: Folder of the frames, in the released folder shape (:func:`folder`).
        volumes: Volume ids; ``None`` takes every HDF5 file.
        split: The fastMRI part that the folder names carry; ``val`` is the benchmark's test split.

    Returns:
        All entries of the manifest.

    Raises:
        UserError: A volume has no file or two, or a file is unreadable, lacks the array or holds values that are no
            numbers; all are listed. Volumes without a fault are written, the manifest only when there is no fault.
    """
    sources = find(hdf5, volumes)
    listing = out / manifest.NAME
    entries = {e.path: e for e in manifest.read(listing)} if listing.is_file() else {}
    faults: list[str] = []
    for volume_id, path in tqdm(sorted(sources.items()), desc="volumes", unit="volume", disable=None):
        try:
            made = _volume(volume_id, path, hdf5, out, split)
        except UserError as fault:
            faults.append(str(fault))
            continue
        entries = {p: e for p, e in entries.items() if e.volume_id != volume_id} | {e.path: e for e in made}
    if faults:
        raise ManyErrors(
            f"{hdf5}: {len(faults)} of {len(sources)} volume(s) cannot be converted; the others are written, the "
            "manifest is not: replace the files and run the command again",
            faults,
        )
    manifest.write(listing, entries.values())
    return sorted(entries.values())


def find(hdf5: Path, volumes: Sequence[str] | None) -> dict[str, Path]:
    """The HDF5 file of each volume.

    Raises:
        UserError: The folder is missing or has no HDF5 file, or volumes have no file or more than one; all are listed.
    """
    if not hdf5.is_dir():
        raise UserError(f"{hdf5}: no such folder; expected the fastMRI HDF5 files: give it by --hdf5.")
    files: dict[str, list[Path]] = {}
    for path in sorted(hdf5.rglob("*.h5")):
        files.setdefault(path.stem, []).append(path)
    wanted = sorted(files) if volumes is None else sorted(set(volumes))
    if not wanted:
        raise UserError(f"{hdf5}: holds no HDF5 file (*.h5); expected the fastMRI files: give their folder by --hdf5.")
    faults = [f"{name}.h5: missing" for name in wanted if name not in files]
    faults += [f"{name}.h5: found {len(files[name])} times" for name in wanted if len(files.get(name, [])) > 1]
    if faults:
        raise ManyErrors(f"{hdf5}: {len(faults)} of {len(wanted)} volume(s) have not exactly one HDF5 file", faults)
    return {name: files[name][0] for name in wanted}


def folder(volume_id: str, split: Split) -> Path:
    """Folder of a volume's frames in the released shape, below the frames root."""
    if not volume_id.startswith("file_brain_"):
        return Path("knee", f"knee_{split}_labeled_raw", volume_id)
    sequence = _SEQUENCE.search(volume_id)
    modality = sequence.group(1) if sequence else "other"  # T1 holds AXT1 and AXT1POST
    return Path("brain", f"{split}_labeled_raw_by_modality", modality, volume_id)


def frame_name(volume_id: str, number: int) -> str:
    """File name of a frame; ``number`` counts from 1."""
    return f"{volume_id}_slice_{number:03d}.png"


def _volume(volume_id: str, source: Path, hdf5: Path, out: Path, split: Split) -> list[Entry]:
    target = out / folder(volume_id, split)
    with _Array(source) as array:
        count = array.shape[0]
        names = [frame_name(volume_id, i + 1) for i in range(count)]
        if not (target.is_dir() and sorted(p.name for p in target.iterdir()) == sorted(names)):
            _write_volume(target, names, (_slice(array, i, source) for i in range(count)))
        height, width = array.shape[1:]
    name = source.relative_to(hdf5).as_posix()
    return [
        Entry(
            volume_id, i + 1, i, name, (target / png).relative_to(out).as_posix(), width, height, _sha256(target / png)
        )
        for i, png in enumerate(names)
    ]


def _write_volume(target: Path, names: Sequence[str], images: Iterable[NDArray[np.uint8]]) -> None:
    from PIL import Image

    temporary = target.with_name(f".{target.name}.{os.getpid()}.tmp")
    try:
        temporary.mkdir(parents=True)
        for name, image in zip(names, images, strict=True):
            Image.fromarray(image).save(temporary / name, format="PNG", compress_level=COMPRESSION)
        if target.exists():
            shutil.rmtree(target)
        os.replace(temporary, target)
    except OSError as error:
        raise UserError(
            f"{target}: cannot be written ({error.strerror or error}); check permissions and space."
        ) from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


class _Array:
    """The open array of an HDF5 file, checked; every fault of the file is a :class:`UserError`."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __enter__(self) -> Any:
        import h5py

        try:
            self.file = h5py.File(self.path, "r")
        except OSError as error:
            raise UserError(f"{self.path}: cannot be read as HDF5 ({error}); fetch it again.") from error
        array = self.file.get(KEY)
        if not isinstance(array, h5py.Dataset):
            found = sorted(self.file)
            self.file.close()
            raise UserError(f"{self.path}: has no array '{KEY}', found {found}; expected a fastMRI reconstruction.")
        if array.ndim != 3 or 0 in array.shape or array.dtype.kind not in "fiu":
            shape, kind = array.shape, array.dtype
            self.file.close()
            raise UserError(f"{self.path}: '{KEY}' is {shape} of {kind}, expected numbers as (slices, height, width).")
        return array

    def __exit__(self, *_: object) -> None:
        self.file.close()


def _slice(array: Any, index: int, source: Path) -> NDArray[np.uint8]:
    try:
        values = array[index]
    except OSError as error:  # the file's end is missing
        raise UserError(f"{source}: slice {index} cannot be read ({error}); fetch the file again.") from error
    try:
        return render(values)
    except ValueError as error:
        raise UserError(f"{source}: slice {index} {error}; fetch the file again.") from error


def render(values: NDArray[Any]) -> NDArray[np.uint8]:
    """One slice as 8-bit grey, rows flipped, scaled by its own maximum.

    Args:
        values: (height, width) magnitudes; negative values count as 0, and a slice without a positive value is black.

    Returns:
        (height, width) from 0 to 255; the brightest pixel is 255.

    Raises:
        ValueError: A value is NaN or infinite.
    """
    import numpy as np

    if not np.isfinite(values).all():
        raise ValueError("holds values that are no numbers")
    positive = np.clip(values[::-1, :].astype(np.float64), 0, None)
    peak = positive.max()
    scaled = positive / peak * 255 if peak > 0 else positive
    return np.ascontiguousarray(scaled.astype(np.uint8))


def _sha256(path: Path) -> str:
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def verify(out: Path, hdf5: Path | None = None) -> list[str]:
    """What is wrong with written frames, one line each; empty when all is well.

    Every file of the manifest is there with its checksum, no other frame is, numbers run from 1 without a gap and name
    the array index below. With ``hdf5`` the pixels are computed again from the arrays and compared.

    Raises:
        UserError: There is no manifest.
    """
    entries = manifest.read(out / manifest.NAME)
    faults = [fault for entry in entries for fault in _entry_faults(entry, out)]
    listed = {entry.path for entry in entries}
    found = {p.relative_to(out).as_posix() for p in out.rglob("*_slice_*.png") if not _hidden(p, out)}
    faults += [f"{path}: not in the manifest" for path in sorted(found - listed)]
    faults += [f"{path}: in the manifest twice" for path, n in Counter(e.path for e in entries).items() if n > 1]
    by_volume: dict[str, list[Entry]] = {}
    for entry in entries:
        by_volume.setdefault(entry.volume_id, []).append(entry)
    for volume_id, own in by_volume.items():
        numbers = sorted(entry.frame for entry in own)
        if numbers != list(range(1, len(own) + 1)):
            faults.append(f"volume {volume_id}: frames {numbers}, expected 1 to {len(own)}")
    if hdf5 is not None and not faults:
        faults += _compare(by_volume, out, hdf5)
    return faults


def _hidden(path: Path, out: Path) -> bool:
    return any(part.startswith(".") for part in path.relative_to(out).parts)


def _entry_faults(entry: Entry, out: Path) -> Iterator[str]:
    path = out / entry.path
    if entry.array_index != entry.frame - 1 or path.name != frame_name(entry.volume_id, entry.frame):
        yield f"{entry.path}: is frame {entry.frame} of array index {entry.array_index}, expected {entry.frame - 1}"
    if not path.is_file():
        yield f"{entry.path}: missing"
    elif _sha256(path) != entry.sha256:
        yield f"{entry.path}: changed since the manifest was written"


def _compare(by_volume: Mapping[str, list[Entry]], out: Path, hdf5: Path) -> Iterator[str]:
    import numpy as np
    from PIL import Image

    for volume_id, entries in tqdm(sorted(by_volume.items()), desc="comparing", unit="volume", disable=None):
        source = hdf5 / entries[0].hdf5
        try:
            with _Array(source) as array:
                if array.shape[0] != len(entries):
                    yield f"volume {volume_id}: {len(entries)} frames, {array.shape[0]} slices in {source}"
                    continue
                for entry in entries:
                    with Image.open(out / entry.path) as image:
                        pixels = np.asarray(image)
                    if not np.array_equal(pixels, _slice(array, entry.array_index, source)):
                        yield f"{entry.path}: differs from slice {entry.array_index} of {source}"
        except UserError as fault:
            yield str(fault)
