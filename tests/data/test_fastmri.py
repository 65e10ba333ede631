"""Reading the fastMRI+ CSVs: what is kept, what is refused, and the real files when they are at hand."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from slicewise.data import fastmri
from slicewise.data.fastmri import Mark
from slicewise.errors import ManyErrors, UserError

HEADER = "file,slice,study_level,x,y,width,height,label"
REAL = os.environ.get("SLICEWISE_FASTMRI_PLUS")
needs_real = pytest.mark.skipif(REAL is None, reason="SLICEWISE_FASTMRI_PLUS does not point to the fastMRI+ CSVs")


def write(folder: Path, *rows: str, anatomy: str = "knee", header: str = HEADER) -> Path:
    (folder / f"{anatomy}.csv").write_text("\n".join([header, *rows]) + "\n", encoding="utf-8")
    return folder


def test_rows_are_kept_as_they_are(tmp_path: Path) -> None:
    write(
        tmp_path,
        "v1,14,No,90,173,35,10,Joint Effusion ",  # blank after the label, as in every such row of knee.csv
        "v1,14,No,90,173,35,10,Joint Effusion",  # exact duplicate
        "v1,15,No,93,-1,175,153,Meniscus Tear",  # one pixel above the image
        "v2,27,No,190,201,18,0,Meniscus Tear",  # no height
        "v3,0,Yes,,,,,artifact",
        "v3,0,Yes,,,,,artifact",
    )
    read = fastmri.read(tmp_path, "knee")
    effusion = Mark(14, 90, 173, 35, 10, "Joint Effusion")
    assert read.marks == {
        "v1": (effusion, effusion, Mark(15, 93, -1, 175, 153, "Meniscus Tear")),
        "v2": (Mark(27, 190, 201, 18, 0, "Meniscus Tear"),),
    }
    assert read.study_labels == {"v3": ("artifact",)}
    assert read.vocabulary == ("Joint Effusion", "Meniscus Tear")
    assert read.volumes == ("v1", "v2", "v3")


def test_byte_order_mark_and_carriage_returns(tmp_path: Path) -> None:
    text = f"{HEADER}\r\nv1,2,No,1,2,3,4,Mass\r\n"
    (tmp_path / "brain.csv").write_bytes(b"\xef\xbb\xbf" + text.encode())
    assert fastmri.read(tmp_path, "brain").marks == {"v1": (Mark(2, 1, 2, 3, 4, "Mass"),)}


@pytest.mark.parametrize(
    ("row", "named"),
    [
        (",2,No,1,2,3,4,Mass", "'file' is empty"),
        ("v1,2,No,1,2,3,4, ", "'label' is empty"),
        ("v1,-1,No,1,2,3,4,Mass", "'slice' is '-1'"),
        ("v1,two,No,1,2,3,4,Mass", "'slice' is 'two'"),
        ("v1,2,no,1,2,3,4,Mass", "'study_level' is 'no', expected Yes or No"),
        ("v1,2,No,1.5,2,3,4,Mass", "'x' is '1.5'"),
        ("v1,2,No,1,,3,4,Mass", "'y' is ''"),
        ("v1,2,No,1,2,-3,4,Mass", "'width' is '-3', expected a whole number of pixels, 0 or more"),
        ("v1,2,No,1,2,3", "'height' is ''"),
        ("v1,2,No,1,2,3,4,Mass,Edema", "more fields than the 8 columns: found 'Edema'"),
        ("v1,0,Yes,1,,,,Normal for age", "'x' is '1', expected nothing in a study-level row"),
    ],
)
def test_each_fault_names_line_and_field(tmp_path: Path, row: str, named: str) -> None:
    write(tmp_path, "v0,1,No,1,2,3,4,Mass", row, anatomy="brain")
    with pytest.raises(ManyErrors) as caught:
        fastmri.read(tmp_path, "brain")
    assert "brain.csv" in str(caught.value)
    assert any(fault.startswith("line 3: ") and named in fault for fault in caught.value.faults), caught.value.faults


def test_all_faults_come_together_and_a_flood_is_cut(tmp_path: Path) -> None:
    write(tmp_path, "v1,x,No,y,2,3,4,Mass", *["v1,1,No,1,2,3,4,"] * 100)
    with pytest.raises(ManyErrors) as caught:
        fastmri.read(tmp_path, "knee")
    assert "102 malformed field(s)" in str(caught.value)
    assert len(caught.value.faults) == fastmri.MAX_FAULTS + 1
    assert caught.value.faults[-1] == "and 52 more"


def test_missing_file_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"knee\.csv: not found.*data\.fastmri_plus"):
        fastmri.read(tmp_path, "knee")


def test_other_columns_are_refused(tmp_path: Path) -> None:
    write(tmp_path, header="filename,slice,x,y,w,h,label")
    with pytest.raises(UserError, match=r"has the columns \['filename'"):
        fastmri.read(tmp_path, "knee")


def test_text_in_another_encoding_is_refused(tmp_path: Path) -> None:
    (tmp_path / "knee.csv").write_bytes(f"{HEADER}\nv1,1,No,1,2,3,4,".encode() + b"\xff\n")
    with pytest.raises(UserError, match="is not UTF-8 text"):
        fastmri.read(tmp_path, "knee")


def test_knee_test_volumes() -> None:
    """155 volumes and 5,585 frames: the counts that the released preparation logs for the knee's test split."""
    volumes = fastmri.knee_test_volumes()
    assert len(volumes) == len(dict(volumes)) == 155
    assert sum(n for _, n in volumes) == 5585
    assert max(n for _, n in volumes) == 46
    assert dict(volumes)["file1000000"] == 35


@needs_real
@pytest.mark.parametrize(
    ("anatomy", "n_boxes", "n_volumes", "n_boxed", "n_slices", "n_labels", "n_flat"),
    [("brain", 7570, 997, 476, 3621, 21, 2), ("knee", 16154, 974, 969, 9581, 21, 1)],
)
def test_the_real_files(
    anatomy: fastmri.Anatomy, n_boxes: int, n_volumes: int, n_boxed: int, n_slices: int, n_labels: int, n_flat: int
) -> None:
    """Counts of the annotations at commit 67ed9a68, taken from the CSVs by other means."""
    read = fastmri.read(Path(str(REAL)), anatomy)
    marks = [mark for rows in read.marks.values() for mark in rows]
    assert len(marks) == n_boxes
    assert len(read.volumes) == n_volumes
    assert len(read.marks) == n_boxed
    assert len({(volume, mark.slice) for volume, rows in read.marks.items() for mark in rows}) == n_slices
    assert len(read.vocabulary) == n_labels
    assert sum(mark.width == 0 or mark.height == 0 for mark in marks) == n_flat


@needs_real
def test_real_knee_test_volumes_have_1524_slices_with_boxes() -> None:
    """1,524 slices and 154 volumes with boxes: the released loader's sample counts are made of these."""
    read = fastmri.read(Path(str(REAL)), "knee")
    boxed = {name: read.marks[name] for name, _ in fastmri.knee_test_volumes() if name in read.marks}
    assert len(boxed) == 154
    assert len({(name, mark.slice) for name, marks in boxed.items() for mark in marks}) == 1524
