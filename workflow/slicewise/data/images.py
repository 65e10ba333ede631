"""Frames on disk: finding a volume's PNG files, their sizes and checksums.

A volume is a folder named like the volume that holds ``<volume>_slice_001.png`` and so on; the folders above it do
not matter, so the released folder shapes and a flat one are read alike. Overlay folders (``*_labeled_gt*``), which
have boxes drawn into the image, are never read.
"""

from __future__ import annotations

import hashlib
import io
import os
import re
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from slicewise.data import manifest
from slicewise.errors import ManyErrors, UserError

_FRAME_NAME = re.compile(r"(?P<volume>.+)_slice_(?P<number>\d+)\.png")
_OVERLAY = re.compile(r"_labeled_gt")
MAX_FAULTS = 200


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame of a volume.

    Attributes:
        number: 1-based number, as in the file's name.
        path: Path relative to the working folder where possible; ``None`` when the benchmark has no images.
        width: Native width in pixels.
        height: Native height in pixels.
        sha256: SHA-256 of the file's bytes; ``None`` without a file.
    """

    number: int
    path: str | None
    width: int
    height: int
    sha256: str | None

    def as_row(self) -> dict[str, object]:
        """The frame as a row of the ``samples`` schema."""
        return {name: getattr(self, name) for name in ("number", "path", "width", "height", "sha256")}


@dataclass(slots=True)
class FrameStore:
    """The frames below one folder, read once per volume.

    Faults are gathered while volumes are asked for; :meth:`raise_faults` reports them together.

    Attributes:
        root: The folder.
        faults: What is missing or unreadable so far, one line each.
    """

    root: Path
    faults: list[str] = field(default_factory=list)
    _folders: dict[str, list[Path]] = field(default_factory=dict)
    _volumes: dict[str, tuple[Frame, ...]] = field(default_factory=dict)
    _known: Mapping[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if not self.root.is_dir():
            raise UserError(
                f"{self.root}: no such folder; expected the PNG frames: make them with `slicewise data frames`, set "
                "'data.sgmri.frames_root', or set 'data.sgmri.frames: none' to score answers without any image."
            )
        self._folders = _volume_folders(self.root)
        listing = self.root / manifest.NAME
        self._known = {row.path: row.sha256 for row in manifest.read(listing)} if listing.is_file() else {}

    def volume(self, volume_id: str) -> tuple[Frame, ...]:
        """All frames of a volume in order; empty, with a fault noted, when it is not whole."""
        if volume_id not in self._volumes:
            self._volumes[volume_id] = self._read(volume_id)
        return self._volumes[volume_id]

    def _read(self, volume_id: str) -> tuple[Frame, ...]:
        folders = self._folders.get(volume_id, [])
        if len(folders) != 1:
            found = "no folder" if not folders else f"{len(folders)} folders {[str(f) for f in folders]}"
            self.faults.append(f"volume {volume_id}: found {found} of that name with frames, expected one")
            return ()
        files = _numbered(folders[0], volume_id)
        missing = sorted(set(range(1, max(files) + 1)) - set(files)) + [n for n in files if n < 1]
        if missing:
            self.faults.append(f"volume {volume_id}: frame(s) {missing} missing in {folders[0]}")
            return ()
        frames = [self._frame(number, files[number]) for number in sorted(files)]
        return tuple(f for f in frames if f is not None) if None not in frames else ()

    def _frame(self, number: int, path: Path) -> Frame | None:
        from PIL import Image, UnidentifiedImageError

        data = path.read_bytes()
        try:
            with Image.open(io.BytesIO(data)) as image:
                image.load()  # decodes the pixels, so a truncated file is found here and not in the middle of a run
                width, height = image.size
        except (OSError, SyntaxError) as error:  # Pillow reports a broken PNG chunk as a SyntaxError
            why = "of no known format" if isinstance(error, UnidentifiedImageError) else str(error)
            self.faults.append(f"{path}: cannot be read as an image ({why})")
            return None
        digest = hashlib.sha256(data).hexdigest()
        known = self._known.get(path.relative_to(self.root).as_posix(), digest)
        if known != digest:
            self.faults.append(f"{path}: has SHA-256 {digest[:12]}…, expected {known[:12]}… of {manifest.NAME}")
            return None
        return Frame(number, portable(path), width, height, digest)

    def raise_faults(self) -> None:
        """Report everything that was missing.

        Raises:
            UserError: A frame is missing or unreadable; every one is listed.
        """
        if self.faults:
            faults = list(dict.fromkeys(self.faults))
            hidden = len(faults) - MAX_FAULTS
            shown = faults[:MAX_FAULTS] + ([f"and {hidden} more"] if hidden > 0 else [])
            raise ManyErrors(
                f"{self.root}: {len(faults)} fault(s) in the frames; expected every frame of every volume: make them "
                "again with `slicewise data frames` (the demo's: `slicewise data demo`), or "
                "set 'data.sgmri.frames: none'",
                shown,
            )


def portable(path: Path) -> str:
    """The path relative to the working folder (the project's root), or as given when it lies elsewhere."""
    absolute = Path(os.path.abspath(path))
    here = Path.cwd()
    return absolute.relative_to(here).as_posix() if absolute.is_relative_to(here) else path.as_posix()


def _volume_folders(root: Path) -> dict[str, list[Path]]:
    folders: dict[str, list[Path]] = defaultdict(list)
    for folder, names, files in os.walk(root):
        names[:] = sorted(name for name in names if not name.startswith(".") and not _OVERLAY.search(name))
        own = Path(folder).name
        matches = (_FRAME_NAME.fullmatch(name) for name in files)
        if any(match is not None and match["volume"] == own for match in matches):
            folders[own].append(Path(folder))
    return folders


def _numbered(folder: Path, volume_id: str) -> dict[int, Path]:
    matches = ((_FRAME_NAME.fullmatch(path.name), path) for path in folder.iterdir())
    return {int(m["number"]): path for m, path in matches if m is not None and m["volume"] == volume_id}


def declared(numbers: Iterable[int], size: tuple[int, int]) -> tuple[Frame, ...]:
    """Frames without images, of a declared native size (width, height)."""
    return tuple(Frame(number, None, size[0], size[1], None) for number in numbers)
