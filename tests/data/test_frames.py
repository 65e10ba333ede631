"""Frames from HDF5: pixels against an independent computation, damage, resuming, and the manifest."""

from __future__ import annotations

import csv
import hashlib
import json
from pathlib import Path

import h5py
import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.typing import NDArray
from PIL import Image
from slicewise.cli import cli
from slicewise.data import frames, manifest, sgmri
from slicewise.errors import ManyErrors, UserError
from slicewise.geometry import Box
from slicewise.params import Frames

BRAIN, KNEE = "file_brain_AXT1POST_201_6002665", "file1000005"
BRAIN_FOLDER = f"brain/val_labeled_raw_by_modality/T1/{BRAIN}"
KNEE_FOLDER = f"knee/knee_val_labeled_raw/{KNEE}"


def write_hdf5(path: Path, array: NDArray[np.float32], key: str = frames.KEY) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with h5py.File(path, "w") as file:
        file[key] = array


def volume(seed: int, shape: tuple[int, int, int] = (3, 20, 16)) -> NDArray[np.float32]:
    return np.random.default_rng(seed).gamma(2.0, 1e-5, shape).astype(np.float32)


@pytest.fixture
def hdf5(tmp_path: Path) -> Path:
    write_hdf5(tmp_path / "h5" / "multicoil_val" / f"{BRAIN}.h5", volume(1))
    write_hdf5(tmp_path / "h5" / "knee" / f"{KNEE}.h5", volume(2, (4, 10, 12)))
    return tmp_path / "h5"


def pixels_by_hand(values: NDArray[np.float32]) -> list[list[int]]:
    """The definition, pixel by pixel in plain Python: bottom row first, cut at 0, scaled by the slice's maximum."""
    rows = [[max(float(v), 0.0) for v in row] for row in values.tolist()][::-1]
    peak = max(max(row) for row in rows)
    return [[int(v / peak * 255) if peak > 0 else 0 for v in row] for row in rows]


def test_frames_in_the_released_shape(hdf5: Path, tmp_path: Path) -> None:
    out = tmp_path / "frames"
    entries = frames.convert(hdf5, out, None)
    names = sorted(p.relative_to(out).as_posix() for p in out.rglob("*.png"))
    assert names == sorted(
        [f"{BRAIN_FOLDER}/{BRAIN}_slice_00{k}.png" for k in (1, 2, 3)]
        + [f"{KNEE_FOLDER}/{KNEE}_slice_00{k}.png" for k in (1, 2, 3, 4)]
    )
    with Image.open(out / f"{BRAIN_FOLDER}/{BRAIN}_slice_002.png") as image:
        assert (image.mode, image.size, image.format) == ("L", (16, 20), "PNG")
        assert np.asarray(image).tolist() == pixels_by_hand(volume(1)[1])
    assert [(e.volume_id, e.frame, e.array_index, e.width, e.height) for e in entries] == [
        *((KNEE, k, k - 1, 12, 10) for k in (1, 2, 3, 4)),
        *((BRAIN, k, k - 1, 16, 20) for k in (1, 2, 3)),
    ]


def test_the_manifest_can_be_read_by_anybody(hdf5: Path, tmp_path: Path) -> None:
    frames.convert(hdf5, tmp_path / "f", None)
    with (tmp_path / "f" / "manifest.csv").open(newline="") as handle:
        rows = list(csv.DictReader(handle))
    assert rows[-1]["hdf5"] == f"multicoil_val/{BRAIN}.h5"
    for row in rows:
        assert hashlib.sha256((tmp_path / "f" / row["path"]).read_bytes()).hexdigest() == row["sha256"]


def test_bytes_are_the_same_every_time(hdf5: Path, tmp_path: Path) -> None:
    for name in "ab":
        frames.convert(hdf5, tmp_path / name, None)
    a, b = ({p.relative_to(tmp_path / n): p.read_bytes() for p in (tmp_path / n).rglob("*.*")} for n in "ab")
    assert a == b


def test_only_the_volumes_asked_for(hdf5: Path, tmp_path: Path) -> None:
    entries = frames.convert(hdf5, tmp_path / "f", [KNEE])
    assert {e.volume_id for e in entries} == {KNEE}
    both = frames.convert(hdf5, tmp_path / "f", [BRAIN])  # the manifest keeps the first
    assert {e.volume_id for e in both} == {KNEE, BRAIN}
    assert frames.verify(tmp_path / "f", hdf5) == []


def test_a_missing_volume_is_listed_before_any_work(hdf5: Path, tmp_path: Path) -> None:
    with pytest.raises(ManyErrors) as error:
        frames.convert(hdf5, tmp_path / "f", [KNEE, "file_b", "file_a"])
    assert error.value.faults == ("file_a.h5: missing", "file_b.h5: missing")
    assert not (tmp_path / "f").exists()


def test_a_volume_that_lies_there_twice(hdf5: Path, tmp_path: Path) -> None:
    write_hdf5(hdf5 / "again" / f"{KNEE}.h5", volume(3))
    with pytest.raises(ManyErrors, match=f"{KNEE}.h5: found 2 times"):
        frames.convert(hdf5, tmp_path / "f", None)


def test_a_folder_without_hdf5(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="holds no HDF5 file"):
        frames.convert(tmp_path, tmp_path / "f", None)
    with pytest.raises(UserError, match="no such folder"):
        frames.convert(tmp_path / "no", tmp_path / "f", None)


def test_every_bad_file_is_named_and_the_good_ones_are_written(hdf5: Path, tmp_path: Path) -> None:
    write_hdf5(hdf5 / "file_key.h5", volume(1), key="kspace")
    write_hdf5(hdf5 / "file_flat.h5", volume(1)[0])
    write_hdf5(hdf5 / "file_empty.h5", np.zeros((0, 4, 4), np.float32))
    write_hdf5(hdf5 / "file_nan.h5", np.full((2, 4, 4), np.nan, np.float32))
    (hdf5 / "file_text.h5").write_text("no HDF5 at all")
    whole = (hdf5 / "knee" / f"{KNEE}.h5").read_bytes()
    (hdf5 / "file_cut.h5").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ManyErrors) as error:
        frames.convert(hdf5, tmp_path / "f", None)
    faults = "\n".join(error.value.faults)
    assert len(error.value.faults) == 6
    assert "file_key.h5: has no array 'reconstruction_rss', found ['kspace']" in faults
    assert "file_flat.h5: 'reconstruction_rss' is (20, 16) of float32" in faults
    assert "file_empty.h5: 'reconstruction_rss' is (0, 4, 4)" in faults
    assert "file_nan.h5: slice 0 holds values that are no numbers" in faults
    assert "file_text.h5: cannot be read as HDF5" in faults
    assert "file_cut.h5: cannot be read as HDF5" in faults
    assert len(list((tmp_path / "f" / KNEE_FOLDER).iterdir())) == 4
    assert not (tmp_path / "f" / manifest.NAME).exists()
    assert not [p for p in (tmp_path / "f").rglob("*") if p.name.startswith(".")]


def test_an_interrupted_run_goes_on(hdf5: Path, tmp_path: Path) -> None:
    out = tmp_path / "f"
    frames.convert(hdf5, out, None)
    listing = (out / manifest.NAME).read_bytes()
    (out / manifest.NAME).unlink()
    (out / BRAIN_FOLDER / f"{BRAIN}_slice_003.png").unlink()
    kept = out / KNEE_FOLDER / f"{KNEE}_slice_001.png"
    before = kept.stat().st_mtime_ns
    frames.convert(hdf5, out, None)
    assert kept.stat().st_mtime_ns == before
    assert (out / manifest.NAME).read_bytes() == listing


@pytest.mark.parametrize(
    ("damage", "message"),
    [
        (lambda p: p.unlink(), "slice_002.png: missing"),
        (lambda p: p.write_bytes(b"x"), "slice_002.png: changed since the manifest was written"),
        (lambda p: p.with_name(f"{KNEE}_slice_009.png").write_bytes(b"x"), "slice_009.png: not in the manifest"),
    ],
)
def test_verify_finds_damage(hdf5: Path, tmp_path: Path, damage: object, message: str) -> None:
    frames.convert(hdf5, tmp_path / "f", None)
    assert callable(damage)
    damage(tmp_path / "f" / KNEE_FOLDER / f"{KNEE}_slice_002.png")
    faults = frames.verify(tmp_path / "f")
    assert len(faults) == 1
    assert message in faults[0]


def test_verify_compares_pixels_with_the_arrays(hdf5: Path, tmp_path: Path) -> None:
    frames.convert(hdf5, tmp_path / "f", None)
    changed = volume(2, (4, 10, 12))
    changed[2] = changed[2][::-1]
    write_hdf5(hdf5 / "knee" / f"{KNEE}.h5", changed)
    assert frames.verify(tmp_path / "f") == []
    faults = frames.verify(tmp_path / "f", hdf5)
    assert len(faults) == 1
    assert f"{KNEE}_slice_003.png: differs from slice 2 of" in faults[0]


def test_verify_finds_a_wrong_map(hdf5: Path, tmp_path: Path) -> None:
    frames.convert(hdf5, tmp_path / "f", [KNEE])
    listing = tmp_path / "f" / manifest.NAME
    listing.write_text(listing.read_text().replace(f"{KNEE},2,1,", f"{KNEE},2,2,"))
    assert any("is frame 2 of array index 2, expected 1" in fault for fault in frames.verify(tmp_path / "f"))


@pytest.mark.parametrize(
    ("values", "expected"),
    [
        (np.zeros((2, 2)), [[0, 0], [0, 0]]),
        (np.full((2, 2), 7.5), [[255, 255], [255, 255]]),
        (np.full((2, 2), -3.0), [[0, 0], [0, 0]]),
        (np.array([[-1.0, 0.0], [1.0, 2.0]]), [[127, 255], [0, 0]]),
        (np.array([[1, 2], [4, 0]], np.int16), [[255, 0], [63, 127]]),
    ],
    ids=["black", "constant", "negative", "cut at zero and flipped", "integers"],
)
def test_single_slices(values: NDArray[np.float64], expected: list[list[int]]) -> None:
    assert frames.render(values).tolist() == expected


@given(
    arrays.arrays(
        np.float32,
        arrays.array_shapes(min_dims=2, max_dims=2, max_side=6),
        elements=st.floats(-10, 10, width=32, allow_subnormal=False),
    )
)
def test_rendering_is_the_definition(values: NDArray[np.float32]) -> None:
    assert frames.render(values).tolist() == pixels_by_hand(values)


FOLDERS = [
    ("file_brain_AXFLAIR_200_6002548", "brain/train_labeled_raw_by_modality/FLAIR"),
    ("file_brain_AXT1_202_2020517", "brain/train_labeled_raw_by_modality/T1"),
    (BRAIN, "brain/train_labeled_raw_by_modality/T1"),
    ("file_brain_AXT2_200_1", "brain/train_labeled_raw_by_modality/T2"),
    (KNEE, "knee/knee_train_labeled_raw"),
]


@pytest.mark.parametrize(("volume_id", "parent"), FOLDERS)
def test_folders(volume_id: str, parent: str) -> None:
    assert frames.folder(volume_id, "train").as_posix() == f"{parent}/{volume_id}"


def test_the_command(hdf5: Path, tmp_path: Path) -> None:
    params = str(Path(__file__).parents[2] / "params.yaml")
    wanted = tmp_path / "volumes.txt"
    wanted.write_text(f"{KNEE}\n\n")
    base = ["data", "frames", "--out", str(tmp_path / "f"), "--params", params]
    made = CliRunner().invoke(cli, [*base, "--hdf5", str(hdf5), "--volumes-from", str(wanted)])
    assert made.exit_code == 0, made.output
    assert "1 volumes, 4 frames" in made.output
    checked = CliRunner().invoke(cli, [*base, "--check", "--hdf5", str(hdf5)])
    assert "all frames are as the manifest says" in checked.output
    missing = CliRunner().invoke(cli, base)
    assert isinstance(missing.exception, UserError)
    assert "--hdf5" in str(missing.exception)


def test_a_corrected_knee_box_lies_on_its_finding(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The whole way from an array to a sample: fastMRI+ row ``file1000005,21,No,108,168,15,10`` (0-based slice 21)."""
    monkeypatch.chdir(tmp_path)
    array = np.full((24, 320, 320), 0.1, np.float32)
    array[21, 320 - 178 : 320 - 168, 108:123] = 1.0  # rows 168 to 178 once flipped
    write_hdf5(tmp_path / "h5" / f"{KNEE}.h5", array)
    record = {
        "volume_id": KNEE,
        "slice_num": 21,  # as released: the 0-based slice, taken for a frame number
        "task": "localization",
        "type": "closed_ended",
        "question": "Where is the cartilage defect located?",
        "answer": "In the medial compartment, <bbx>[108,168,15,10]</bbx>",
        "ground_truth": {"labels": ["Defect"], "bboxes": [{"x": 108, "y": 168, "width": 15, "height": 10}]},
    }
    questions = tmp_path / "data" / "knee" / "test" / "image_qa"
    questions.mkdir(parents=True)
    (questions / "questions.json").write_text(json.dumps([record]))
    frames.convert(tmp_path / "h5", Path("frames"), [KNEE])
    brightness = {}
    for choice in (Frames.AS_RELEASED, Frames.CORRECTED):
        source = sgmri.Source(Path("data"), "test", "image", choice, Path("frames"), "b", domains=("knee",))
        row = sgmri.load(source).rows[0]
        with Image.open(row["frames"][0]["path"]) as image:
            pixels = np.asarray(image).astype(float)
        box = Box(**row["boxes"][0])
        inside = pixels[int(box.y0) : int(box.y1), int(box.x0) : int(box.x1)]
        brightness[choice] = (inside.min(), pixels.sum() - inside.sum())
    assert brightness[Frames.CORRECTED] == (255, 25 * (320 * 320 - 150))  # all of the finding, and nothing else
    assert brightness[Frames.AS_RELEASED][0] == 255  # an even slice: its own maximum everywhere
    assert brightness[Frames.AS_RELEASED][1] == 255 * (320 * 320 - 150)
