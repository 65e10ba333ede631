from __future__ import annotations

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk
from slicewise.imaging import load as loading
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Grid
from slicewise.imaging.limits import Limits
from slicewise.imaging.load import load, load_mask, save

from .conftest import WriteSeries

SPACING = (3.0, 1.5, 0.75)  # z, y, x
GRID = Grid((6, 8, 10), SPACING, (-12.5, -40.0, 7.0))


def scan(shape: tuple[int, int, int] = (6, 8, 10), seed: int = 0) -> np.ndarray[Any, Any]:
    """Air with a block of tissue that is different in every octant."""
    hu = np.full(shape, -1000, dtype=np.int16)
    hu[1:-1, 2:-2, 2:-2] = np.random.default_rng(seed).integers(
        -90, 90, tuple(n - m for n, m in zip(shape, (2, 4, 4), strict=True))
    )
    return hu


def code_of(error: pytest.ExceptionInfo[ImagingError]) -> Code:
    assert str(error.value).startswith(f"{error.value.code}: ")
    return error.value.code


@pytest.mark.parametrize("suffix", [".nii.gz", ".nii", ".nrrd"])
def test_files_give_back_values_and_place(tmp_path: Path, suffix: str) -> None:
    save(tmp_path / f"ct{suffix}", scan(), GRID)
    found = load(tmp_path / f"ct{suffix}")
    assert np.array_equal(found.hu, scan())
    assert found.grid == GRID
    assert found.is_hu
    assert (found.check.air_peak, found.check.suspect) == (-1000, False)
    assert not found.hu.flags.writeable


@pytest.mark.parametrize("code", ["LPS", "RAS", "RPI", "ASL", "SLP", "PIR"])
def test_any_orientation_becomes_canonical(tmp_path: Path, code: str) -> None:
    image = loading.to_image(scan(), GRID)
    # ITK names an orientation by where axes grow to, as we do since ITK 5.4.
    turned = sitk.DICOMOrient(image, code)
    sitk.WriteImage(turned, str(tmp_path / "turned.nrrd"))
    found = load(tmp_path / "turned.nrrd")
    assert np.array_equal(found.hu, scan())
    assert found.grid.mismatch(GRID) is None
    assert found.orientation_in == code


def test_a_voxel_and_its_position_are_inverse() -> None:
    grid = Grid((5, 6, 7), SPACING, (1.0, 2.0, 3.0), ((0.96, -0.28, 0.0), (0.28, 0.96, 0.0), (0.0, 0.0, 1.0)))
    assert grid.lps((0, 0, 0)) == (1.0, 2.0, 3.0)
    assert grid.lps((0, 0, 2)) == pytest.approx((1.0 + 2 * 0.75 * 0.96, 2.0 + 2 * 0.75 * 0.28, 3.0))
    assert grid.voxel(grid.lps((1.5, 2.25, 3.0))) == pytest.approx((1.5, 2.25, 3.0))


@pytest.mark.parametrize("reverse_numbers", [False, True])
def test_dicom_slices_are_ordered_by_position_and_rescaled_once(
    write_series: WriteSeries, reverse_numbers: bool
) -> None:
    folder = write_series(scan(), reverse_numbers=reverse_numbers)
    found = load(folder)
    assert np.array_equal(found.hu, scan())
    assert found.grid.spacing == (3.0, 1.5, 1.5)
    assert found.grid.origin == (-10.0, -20.0, 5.0)
    assert found.gaps_mm is None


def test_no_personal_data_is_kept(write_series: WriteSeries) -> None:
    secret = {
        "0010|0010": "DOE^JANE", "0010|0020": "MRN-4711", "0010|0030": "19700101", "0008|0090": "DR WHO",
        "0008|1030": "CHEST OF JANE", "0018|1210": "B30f/../../JANE^DOE-BORN-19700101", "0018|0010": "IOHEXOL FOR JANE",
    }  # fmt: skip
    facts = load(write_series(scan(), tags=secret)).facts
    assert facts["kernel"] == "B30f....JANEDOE-"
    assert facts["contrast"] is True
    assert set(facts) <= {
        "modality", "slice_thickness_mm", "kernel", "kvp", "reconstruction_diameter_mm", "contrast",
    }  # fmt: skip
    assert not any(word in str(facts) for word in ("4711", "1970", "WHO", "IOHEXOL", "CHEST"))


def test_uneven_slices_warn_and_a_missing_slice_is_an_error(write_series: WriteSeries) -> None:
    uneven = [(0.0, 0.0, z) for z in (0.0, 3.0, 6.2, 9.0, 12.0, 15.0)]
    found = load(write_series(scan(), positions=uneven))
    assert found.gaps_mm == pytest.approx((2.8, 3.2))
    assert "apart" in found.warnings[0]
    with pytest.raises(ImagingError, match=r"a slice is missing: 6\.00 mm between slices 2 and 3") as error:
        load(write_series(scan(), name="missing", skip=(3,)))
    assert code_of(error) is Code.FORMAT


def test_tilt_warns(write_series: WriteSeries) -> None:
    sheared = [(0.0, 1.0 * z, 3.0 * z) for z in range(6)]
    (warning,) = load(write_series(scan(), positions=sheared)).warnings
    assert warning.startswith("gantry tilt of 18.4 degrees")


def test_several_series_need_a_choice(write_series: WriteSeries) -> None:
    write_series(scan(seed=1), uid="1.2.3.5")
    folder = write_series(scan(seed=2), uid="1.2.3.6")
    with pytest.raises(ImagingError, match="2 series") as error:
        load(folder)
    assert code_of(error) is Code.FORMAT
    uids = sitk.ImageSeriesReader.GetGDCMSeriesIDs(str(folder))
    found = [load(folder, series_uid=uid).hu for uid in uids]
    assert {one.tobytes() for one in found} == {scan(seed=1).tobytes(), scan(seed=2).tobytes()}
    with pytest.raises(ImagingError) as error:
        load(folder, series_uid="9.9")
    assert code_of(error) is Code.NOT_FOUND


def test_doubled_positions_and_colour_are_refused(write_series: WriteSeries, tmp_path: Path) -> None:
    twice = [(0.0, 0.0, 3.0 * (z // 2)) for z in range(6)]
    with pytest.raises(ImagingError, match="same position"):
        load(write_series(scan(), positions=twice))
    colour = sitk.GetImageFromArray(np.random.default_rng(0).integers(0, 255, (8, 8, 3), dtype=np.uint8), isVector=True)
    (tmp_path / "rgb").mkdir()
    sitk.WriteImage(colour, str(tmp_path / "rgb" / "a.dcm"))
    with pytest.raises(ImagingError, match="colour") as error:
        load(tmp_path / "rgb")
    assert code_of(error) is Code.FORMAT


def test_padding_is_recognised_and_set_to_air(tmp_path: Path) -> None:
    hu = scan()
    hu[:, :, :2] = -3024
    save(tmp_path / "ct.nii", hu, GRID)
    found = load(tmp_path / "ct.nii")
    assert (found.check.padding_value, found.check.padding_voxels) == (-3024, int((hu == -3024).sum()))
    assert found.extremes[0] == -1024
    assert np.array_equal(found.hu, np.where(hu == -3024, -1024, hu))


@pytest.mark.parametrize(
    ("stored", "policy", "slope", "intercept", "is_hu", "expected"),
    [
        ("hu", "auto", None, None, True, "hu"),
        ("hu", "auto", 1.0, -1024.0, True, "hu"),  # given, but the file is in HU already: never twice
        ("raw", "auto", None, None, False, "raw"),
        ("raw", "auto", 1.0, -1024.0, True, "hu"),
        ("raw", "rescale", 1.0, -1024.0, True, "hu"),
        ("raw", "as_is", None, None, True, "raw"),
    ],
)
def test_slope_and_intercept_exactly_once(
    tmp_path: Path, stored: str, policy: Any, slope: float | None, intercept: float | None, is_hu: bool, expected: str
) -> None:
    arrays = {"hu": scan(), "raw": scan() + 1024}
    save(tmp_path / "ct.nii", arrays[stored], GRID)
    found = load(tmp_path / "ct.nii", policy=policy, slope=slope, intercept=intercept)
    assert np.array_equal(found.hu, arrays[expected])
    assert found.is_hu is is_hu
    assert found.check.suspect is (stored == "raw" and expected == "raw")


def test_rescaling_hu_again_is_refused(tmp_path: Path) -> None:
    save(tmp_path / "ct.nii", scan(), GRID)
    with pytest.raises(ImagingError, match="HU already") as error:
        load(tmp_path / "ct.nii", policy="rescale", slope=1.0, intercept=-1024.0)
    assert code_of(error) is Code.HU_SUSPECT


def test_values_of_a_double_rescale_are_suspect(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    save(tmp_path / "ct.nii", scan() - 1024 + rng.integers(-5, 5, (6, 8, 10)).astype(np.int16), GRID)
    found = load(tmp_path / "ct.nii")
    assert found.check.suspect
    assert found.check.padding_value is None
    assert "rescaled twice" in found.check.reason


def test_headers_with_a_slope_give_whole_hu(tmp_path: Path) -> None:
    path = tmp_path / "ct.nii"
    save(path, scan() + 1024, GRID)
    raw = bytearray(path.read_bytes())
    raw[112:120] = struct.pack("<2f", 1.0, -1024.0)  # scl_slope, scl_inter
    path.write_bytes(raw)
    assert np.array_equal(load(path).hu, scan())


def test_arrays_without_spacing_can_be_seen_but_not_measured(tmp_path: Path) -> None:
    np.save(tmp_path / "ct.npy", scan())
    found = load(tmp_path / "ct.npy")
    assert found.is_hu
    with pytest.raises(ImagingError, match="no spacing") as error:
        _ = found.grid.mm
    assert code_of(error) is Code.FORMAT
    np.save(tmp_path / "unit.npy", (scan() + 1000) / 1100)
    unit = load(tmp_path / "unit.npy")
    assert not unit.is_hu
    assert unit.extremes == (0, 4095)


def test_a_folder_of_pictures_is_a_volume_in_natural_order(tmp_path: Path) -> None:
    from PIL import Image

    for number in range(12):
        Image.fromarray(np.full((4, 5), number + np.arange(5), dtype=np.uint8)).save(tmp_path / f"s{number}.png")
    found = load(tmp_path)
    assert found.hu[:, 0, 0].tolist() == list(range(12))
    assert not found.is_hu
    assert found.grid.spacing is None


def nifti(**fields: Any) -> bytes:
    """A NIfTI-1 header of a 4 x 4 x 4 int16 volume with some fields replaced, and its data."""
    head = bytearray(352)
    dims = fields.get("dims", (3, 4, 4, 4, 1, 1, 1, 1))
    head[0:4] = struct.pack("<i", 348)
    head[40:56] = struct.pack("<8h", *dims)
    head[70:74] = struct.pack("<2h", fields.get("datatype", 4), 16)
    head[76:108] = struct.pack("<8f", *fields.get("pixdim", (1, 1, 1, 1, 1, 1, 1, 1)))
    head[108:112] = struct.pack("<f", 352.0)
    head[344:348] = fields.get("magic", b"n+1\0")
    return bytes(head) + fields.get("data", np.arange(64, dtype=np.int16).tobytes())


BOMB = nifti(dims=(3, 1024, 1024, 1000, 1, 1, 1, 1), data=bytes(10**6))  # says 2 GB


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("4d.nii", nifti(dims=(4, 4, 4, 4, 3, 1, 1, 1)), Code.FORMAT),
        ("2d.nii", nifti(dims=(2, 4, 4, 1, 1, 1, 1, 1)), Code.FORMAT),
        ("huge.nii", nifti(dims=(3, 2000, 2000, 2000, 1, 1, 1, 1)), Code.LIMIT),
        ("negative.nii", nifti(dims=(3, -4, 4, 4, 1, 1, 1, 1)), Code.FORMAT),
        ("nan.nii", nifti(pixdim=(1, float("nan"), 1, 1, 1, 1, 1, 1)), Code.FORMAT),
        ("zero.nii", nifti(pixdim=(1, 0, 1, 1, 1, 1, 1, 1)), Code.FORMAT),
        ("rgb.nii", nifti(datatype=128), Code.FORMAT),
        ("pair.nii", nifti(magic=b"ni1\0"), Code.FORMAT),
        ("short.nii", nifti(data=b"\0" * 10), Code.FORMAT),
        ("head.nii", nifti()[:100], Code.FORMAT),
        ("text.nii", b"hello", Code.FORMAT),
        ("constant.nii", nifti(data=b"\0" * 128), Code.FORMAT),
        ("not.nii.gz", b"hello", Code.FORMAT),
        ("cut.nii.gz", gzip.compress(nifti(), mtime=0)[:60], Code.FORMAT),
        ("bomb.nii.gz", gzip.compress(BOMB, mtime=0), Code.LIMIT),
        ("text.nrrd", b"hello", Code.FORMAT),
        ("out.nrrd", b"NRRD0004\ntype: short\ndimension: 3\nsizes: 4 4 4\ndata file: ../x.raw\n\n", Code.FORMAT),
        ("huge.nrrd", b"NRRD0004\ntype: short\ndimension: 3\nsizes: 1000 1000 1000\nencoding: gzip\n\n", Code.LIMIT),
        ("nan.nrrd", b"NRRD0004\ntype: short\ndimension: 3\nsizes: 4 4 4\nspacings: nan 1 1\n\n", Code.FORMAT),
        ("short.nrrd", b"NRRD0004\ntype: short\ndimension: 3\nsizes: 4 4 4\nencoding: raw\n\n", Code.FORMAT),
        ("pickle.npy", b"\x93NUMPY\x01\x00v\x00{'descr': '|O', 'fortran_order': False, 'shape': (1,)}", Code.FORMAT),
        ("empty.npy", b"", Code.FORMAT),
        ("ct.mha", b"x", Code.FORMAT),
        ("bad.dcm", b"x" * 200, Code.FORMAT),
    ],
)  # fmt: skip
def test_bad_files_give_a_stable_error(tmp_path: Path, name: str, content: bytes, expected: Code) -> None:
    (tmp_path / name).write_bytes(content)
    with pytest.raises(ImagingError) as error:
        load(tmp_path / name)
    assert code_of(error) is expected
    assert str(tmp_path) not in str(error.value)


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_values_that_are_no_numbers_are_refused(tmp_path: Path, value: float) -> None:
    hu = scan().astype(np.float32)
    hu[0, 0, 0] = value
    np.save(tmp_path / "ct.npy", hu)
    with pytest.raises(ImagingError, match="NaN or infinite"):
        load(tmp_path / "ct.npy")


def test_a_missing_file_and_an_empty_folder(tmp_path: Path) -> None:
    for path in (tmp_path / "no.nii", tmp_path):
        with pytest.raises(ImagingError) as error:
            load(path)
        assert code_of(error) is Code.NOT_FOUND


def test_files_and_volumes_are_bounded(tmp_path: Path) -> None:
    save(tmp_path / "ct.nii", scan(), GRID)
    for limits in (Limits(max_voxels=479), Limits(max_file_bytes=100)):
        with pytest.raises(ImagingError) as error:
            load(tmp_path / "ct.nii", limits=limits)
        assert code_of(error) is Code.LIMIT
    assert load(tmp_path / "ct.nii", limits=Limits(max_voxels=480)).hu.size == 480


def test_a_mask_must_lie_on_the_volume(tmp_path: Path) -> None:
    labels = np.zeros((6, 8, 10), dtype=np.uint8)
    labels[2:4, 3:5, 4:7] = 3
    save(tmp_path / "on.nii.gz", labels, GRID)
    mask, matched = load_mask(tmp_path / "on.nii.gz", GRID)
    assert matched
    assert mask.counts == {3: 12}

    flipped = sitk.Flip(loading.to_image(labels, GRID), (False, False, True))
    flipped.SetDirection((1, 0, 0, 0, 1, 0, 0, 0, 1))
    sitk.WriteImage(flipped, str(tmp_path / "off.nii"))
    with pytest.raises(ImagingError) as error:
        load_mask(tmp_path / "off.nii", GRID)
    assert code_of(error) is Code.GEOMETRY_MISMATCH

    fine = sitk.Resample(
        loading.to_image(labels, GRID), (20, 16, 12), sitk.Transform(), sitk.sitkNearestNeighbor,
        (GRID.origin[0] - 0.1875, GRID.origin[1] - 0.375, GRID.origin[2] - 0.75), (0.375, 0.75, 1.5),
    )  # fmt: skip
    sitk.WriteImage(fine, str(tmp_path / "fine.nii"))
    back, matched = load_mask(tmp_path / "fine.nii", GRID, resample="nearest")
    assert not matched
    assert back.grid == GRID
    assert abs(back.counts[3] - 12) <= 6


def test_masks_without_labels_or_with_fractions_are_refused(tmp_path: Path) -> None:
    for name, values, expected in (
        ("empty", np.zeros((6, 8, 10), np.uint8), Code.EMPTY_MASK),
        ("half", np.full((6, 8, 10), 0.5, np.float32), Code.FORMAT),
        ("minus", np.full((6, 8, 10), -1, np.int16), Code.FORMAT),
    ):
        save(tmp_path / f"{name}.nii", values, GRID)
        with pytest.raises(ImagingError) as error:
            load_mask(tmp_path / f"{name}.nii", GRID)
        assert code_of(error) is expected
