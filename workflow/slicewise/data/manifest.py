"""The manifest of frames: which PNG file came from which slice of which HDF5 file, with size and checksum."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from dataclasses import dataclass, fields
from pathlib import Path

from slicewise import artifacts
from slicewise.errors import UserError

NAME = "manifest.csv"


@dataclass(frozen=True, slots=True, order=True)
class Entry:
    """One frame.

    Attributes:
        volume_id: The volume; the HDF5 file's stem.
        frame: 1-based frame number, as in the PNG's name.
        array_index: 0-based index into ``reconstruction_rss``; always ``frame - 1``.
        hdf5: HDF5 file below the fastMRI folder, with forward slashes.
        path: PNG file below the manifest's folder, with forward slashes.
        width: Pixels.
        height: Pixels.
        sha256: Of the PNG's bytes.
    """

    volume_id: str
    frame: int
    array_index: int
    hdf5: str
    path: str
    width: int
    height: int
    sha256: str


COLUMNS = tuple(f.name for f in fields(Entry))
_NUMBERS = ("frame", "array_index", "width", "height")


def write(path: Path, entries: Iterable[Entry]) -> None:
    """Write a manifest atomically, sorted by volume and frame."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows([getattr(entry, name) for name in COLUMNS] for entry in sorted(entries))
    artifacts.write_text(path, text.getvalue())


def read(path: Path) -> list[Entry]:
    """Read a manifest.

    Raises:
        UserError: The file is missing or is no manifest.
    """
    try:
        with path.open(newline="", encoding="utf-8") as handle:
            reader = csv.DictReader(handle)
            if tuple(reader.fieldnames or ()) != COLUMNS:
                raise UserError(f"{path}: has columns {reader.fieldnames}, expected {list(COLUMNS)}.")
            return [_entry(row) for row in reader]
    except FileNotFoundError as error:
        raise UserError(
            f"{path}: not found; expected the manifest of `slicewise data frames`: run it first."
        ) from error
    except (ValueError, TypeError) as error:
        raise UserError(f"{path}: is damaged ({error}); delete it and run `slicewise data frames` again.") from error


def _entry(row: dict[str, str]) -> Entry:
    numbers = {name: int(row[name]) for name in _NUMBERS}
    texts = {name: row[name] for name in COLUMNS if name not in _NUMBERS}
    return Entry(**numbers, **texts)  # type: ignore[arg-type]
