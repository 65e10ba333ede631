"""Reading the fastMRI+ annotations (Zhao et al. 2022, github.com/microsoft/fastmri-plus).

One CSV per anatomy with the columns ``file, slice, study_level, x, y, width, height, label``. ``slice`` counts from 0.
A row with ``study_level`` No is one box: whole pixels, top-left corner and size, on the vertically flipped image. A
row with Yes is a label of the whole study: slice 0 and no box.

Rows are kept as they are: boxes without area, boxes that start at -1 and exact duplicates stay, because they are part
of the released annotations; only blanks around a field are dropped. What cannot be read is reported, all at once.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Literal

from slicewise.errors import ManyErrors, UserError

Anatomy = Literal["brain", "knee"]
COLUMNS = ("file", "slice", "study_level", "x", "y", "width", "height", "label")
BOX_COLUMNS = COLUMNS[3:7]
MAX_FAULTS = 50  # a wrong file has a fault per line; nobody reads ten thousand


@dataclass(frozen=True, slots=True)
class Mark:
    """One box row.

    Attributes:
        slice: 0-based slice of the volume.
        x: Left edge, native pixels of the vertically flipped image.
        y: Top edge.
        width: May be 0: such rows exist, and are no box to find.
        height: As ``width``.
        label: The finding, without the blanks that the file has around it.
    """

    slice: int
    x: int
    y: int
    width: int
    height: int
    label: str


@dataclass(frozen=True, slots=True)
class Annotations:
    """What fastMRI+ says of one anatomy.

    Attributes:
        marks: Box rows by volume, in file order; a volume with only study-level rows has none.
        study_labels: Distinct study-level labels by volume, in file order.
    """

    anatomy: Anatomy
    marks: Mapping[str, tuple[Mark, ...]]
    study_labels: Mapping[str, tuple[str, ...]]

    @property
    def vocabulary(self) -> tuple[str, ...]:
        """Distinct labels of boxes, sorted."""
        return tuple(sorted({mark.label for marks in self.marks.values() for mark in marks}))

    @property
    def volumes(self) -> tuple[str, ...]:
        """Every volume that has a row, sorted."""
        return tuple(sorted({*self.marks, *self.study_labels}))


def read(folder: Path, anatomy: Anatomy) -> Annotations:
    """Read ``<folder>/<anatomy>.csv``.

    Raises:
        UserError: The file is missing, is no UTF-8 text or has other columns; or rows are malformed, in which case
            every fault is listed with its line and field.
    """
    path = Path(folder) / f"{anatomy}.csv"
    marks: dict[str, list[Mark]] = {}
    study_labels: dict[str, list[str]] = {}
    faults: list[str] = []
    for line, row in _rows(path):
        found = [*_faults(row)]
        if found:
            faults.extend(f"line {line}: {fault}" for fault in found)
        elif row["study_level"] == "Yes":
            study_labels.setdefault(row["file"], []).append(row["label"])
        else:
            x, y, width, height = (int(row[name]) for name in BOX_COLUMNS)
            mark = Mark(int(row["slice"]), x, y, width, height, row["label"])
            marks.setdefault(row["file"], []).append(mark)
    if faults:
        hidden = len(faults) - MAX_FAULTS
        shown = faults[:MAX_FAULTS] + ([f"and {hidden} more"] if hidden > 0 else [])
        raise ManyErrors(
            f"{path}: {len(faults)} malformed field(s); expected the fastMRI+ annotations: correct the rows, or fetch "
            "the file again",
            shown,
        )
    return Annotations(
        anatomy,
        {volume: tuple(rows) for volume, rows in marks.items()},
        {volume: tuple(dict.fromkeys(labels)) for volume, labels in study_labels.items()},
    )


def _rows(path: Path) -> Iterable[tuple[int, dict[str, str]]]:
    """Line number and stripped fields of every row; a field that the row lacks is empty."""
    try:
        with path.open(newline="", encoding="utf-8-sig") as handle:
            reader = csv.DictReader(handle, restval="", restkey="")
            columns = tuple(name.strip() for name in reader.fieldnames or ())
            if columns != COLUMNS:
                raise UserError(
                    f"{path}: has the columns {list(columns)}, expected {list(COLUMNS)}: is this the fastMRI+ file?"
                )
            reader.fieldnames = list(COLUMNS)
            for row in reader:
                extra = row.pop("", None)
                fields = {name: value.strip() for name, value in row.items()}
                yield reader.line_num, {**fields, "extra": ",".join(extra or ())}
    except FileNotFoundError as error:
        raise UserError(
            f"{path}: not found; expected the fastMRI+ annotations: set 'data.fastmri_plus' to the folder that holds "
            "brain.csv and knee.csv, or to null to have them fetched."
        ) from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8 text (byte {error.start}); fetch the file again.") from error


def _faults(row: Mapping[str, str]) -> Iterable[str]:
    if row["extra"]:
        yield f"has more fields than the {len(COLUMNS)} columns: found {row['extra']!r} after the label"
    for name in ("file", "label"):
        if not row[name]:
            yield f"'{name}' is empty, expected a text"
    if not row["slice"].isdecimal():
        yield f"'slice' is {row['slice']!r}, expected a whole number counted from 0"
    if row["study_level"] == "Yes":
        for name in BOX_COLUMNS:
            if row[name]:
                yield f"'{name}' is {row[name]!r}, expected nothing in a study-level row"
    elif row["study_level"] == "No":
        yield from _box_faults(row)
    else:
        yield f"'study_level' is {row['study_level']!r}, expected Yes or No"


def _box_faults(row: Mapping[str, str]) -> Iterable[str]:
    for name in BOX_COLUMNS:
        text = row[name]
        signed = name in ("x", "y")
        if not (text.removeprefix("-") if signed else text).isdecimal():
            yield f"'{name}' is {text!r}, expected a whole number of pixels{'' if signed else ', 0 or more'}"


def knee_test_volumes() -> tuple[tuple[str, int], ...]:
    """The 155 knee volumes of the SGMRI-VQA test split, each with its number of slices.

    They are the labelled volumes of the official fastMRI ``knee_multicoil_val`` part; the counts are those of the
    HDF5 arrays.
    """
    text = resources.files("slicewise.data").joinpath("knee_test_volumes.csv").read_text(encoding="utf-8")
    return tuple((row["volume_id"], int(row["n_slices"])) for row in csv.DictReader(text.splitlines()))
