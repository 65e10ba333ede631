from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image
from slicewise.imaging import charts, render, sheets, views, windows
from slicewise.imaging.faults import Code, ImagingError

from .conftest import volume_of

RNG = np.random.default_rng(5)
HU = RNG.integers(-1024, 1500, (12, 30, 40)).astype(np.int16)
VOLUME = volume_of(HU, (3.0, 1.0, 1.0))
PLANES: tuple[views.Plane, ...] = ("axial", "coronal", "sagittal")


@pytest.mark.parametrize("plane", PLANES)
def test_the_affine_leads_to_the_voxel_that_is_shown(plane: views.Plane) -> None:
    view = views.slice_view(VOLUME, plane, 7)
    matrix = np.asarray(view.affine)
    for row, column in ((0, 0), (3, 11), (view.values.shape[0] - 1, view.values.shape[1] - 1)):
        z, y, x = (int(at) for at in matrix @ (column, row, 1))
        assert HU[z, y, x] == view.values[row, column]
        assert view.pixel((z, y, x)) == (column, row)


def test_the_head_is_on_top_and_the_front_on_the_left() -> None:
    hu = np.full((12, 30, 40), -1000)
    hu[10, 2, 5] = 1000  # superior, anterior, right of the patient
    volume = volume_of(hu)
    for plane, index, spot in (("axial", 10, (2, 5)), ("coronal", 2, (1, 5)), ("sagittal", 5, (1, 2))):
        view = views.slice_view(volume, plane, index)  # type: ignore[arg-type]
        assert np.unravel_index(view.values.argmax(), view.values.shape) == spot
    assert views.MARKS["axial"] == ("R", "L", "A", "P")
    assert views.MARKS["coronal"] == ("R", "L", "S", "I")
    assert views.MARKS["sagittal"] == ("A", "P", "S", "I")


@pytest.mark.parametrize("plane", PLANES)
def test_projections_equal_numpy(plane: views.Plane) -> None:
    axis = views.AXIS[plane]
    part = HU.take(range(2, 9), axis=axis)
    for how, expected in (
        ("max", part.max(axis=axis)),
        ("min", part.min(axis=axis)),
        ("mean", np.rint(part.mean(axis=axis)).astype(np.int16)),
    ):
        found = views.project(VOLUME, plane, (2, 9), how)  # type: ignore[arg-type]
        assert np.array_equal(found.values, views.oriented(expected, plane))
        assert found.index == 5.0


@pytest.mark.parametrize("slab", [(0, 0), (5, 4), (-1, 3), (0, 13)])
def test_slabs_outside_are_refused(slab: tuple[int, int]) -> None:
    with pytest.raises(ImagingError) as error:
        views.project(VOLUME, "axial", slab, "max")
    assert error.value.code is Code.BAD_INDEX


@given(st.floats(1, 4000), st.floats(-2000, 2000), st.lists(st.integers(-32768, 32767), min_size=1, max_size=50))
def test_windowing_is_linear_clipped_and_rounded(width: float, level: float, values: list[int]) -> None:
    found = windows.apply(np.asarray(values, np.int16), windows.Window("w", width, level))
    expected = np.rint(np.clip((np.asarray(values) - (level - width / 2)) * (255 / width), 0, 255))
    assert found.tolist() == expected.tolist()


@pytest.mark.parametrize(
    ("preset", "width", "level"),
    [("lungs", None, None), (None, 0.0, 0.0), (None, float("nan"), 0.0), (None, 400.0, None), ("lung", None, 40.0)],
)
def test_bad_windows_are_refused(preset: str | None, width: float | None, level: float | None) -> None:
    with pytest.raises(ImagingError) as error:
        windows.choose(VOLUME, preset, width, level)
    assert error.value.code is Code.BAD_WINDOW


def test_explicit_numbers_win_over_the_preset() -> None:
    assert windows.choose(VOLUME, "lung", 100.0, 5.0) == windows.Window("custom", 100.0, 5.0)
    assert windows.choose(VOLUME, "lung", None, None).width == 1500


@given(st.integers(0, 50), st.integers(0, 300), st.integers(1, 36))
def test_montage_indices_are_spread_over_the_whole_range(low: int, more: int, n: int) -> None:
    found = views.spread(low, low + more, n)
    assert len(found) == min(n, more + 1)
    assert len(set(found)) == len(found)
    assert found == sorted(found)
    if len(found) > 1:
        assert (found[0], found[-1]) == (low, low + more)
        gaps = np.diff(found)
        assert gaps.max() - gaps.min() <= 1


def pixels(picture: render.Picture) -> np.ndarray[Any, Any]:
    image = Image.open(io.BytesIO(picture.png))
    assert image.format == "PNG"
    assert image.size == (picture.width, picture.height)
    return np.asarray(image)


@pytest.mark.parametrize("plane", PLANES)
def test_a_picture_has_the_proportions_of_the_patient(plane: views.Plane) -> None:
    view = views.slice_view(VOLUME, plane, 3)
    picture = render.Canvas(view, windows.PRESETS["bone"], 300).picture()
    tall, wide = view.values.shape[0] * view.mm[0], view.values.shape[1] * view.mm[1]
    assert max(picture.width, picture.height) == 300
    assert picture.width / picture.height == pytest.approx(wide / tall, rel=0.02)
    assert pixels(picture).ndim == 2  # gray


def test_the_affine_of_an_enlarged_picture_still_leads_to_the_voxel() -> None:
    picture = render.Canvas(views.slice_view(VOLUME, "coronal", 4), windows.PRESETS["bone"], 400).picture()
    matrix = np.asarray(picture.affine)
    assert matrix @ ((picture.width - 1) / 2, (picture.height - 1) / 2, 1) == pytest.approx([5.5, 4.0, 19.5])


def test_marks_bar_and_caption_are_drawn() -> None:
    hu = np.full((4, 200, 200), -1000)
    hu[0, 0, 0] = 0
    view = views.slice_view(volume_of(hu), "axial", 2)
    canvas = render.Canvas(view, windows.PRESETS["soft_tissue"], 200)
    canvas.annotate("axial 2")
    found = pixels(canvas.picture())
    bar = np.flatnonzero(found[191, 130:] == 255)
    assert np.ptp(bar) == 50  # 5 cm at 1 mm per pixel
    for part in (found[90:110, :15], found[90:110, -15:], found[:20, 90:110], found[-20:, 90:110], found[-20:, :40]):
        assert part.max() > 200


def test_overlays_and_lines_are_in_colour_and_in_place() -> None:
    hu = np.full((4, 50, 50), -1000)
    hu[0, 0, 0] = 0
    view = views.slice_view(volume_of(hu), "axial", 2)
    canvas = render.Canvas(view, windows.PRESETS["soft_tissue"], 100)
    labels = np.zeros((50, 50), np.uint8)
    labels[10:20, 30:40] = 1
    canvas.overlay(labels)
    found = pixels(canvas.picture())
    coloured = np.ptp(found, axis=2) > 0
    rows, columns = np.nonzero(coloured)
    assert (rows.min(), rows.max(), columns.min(), columns.max()) == (20, 39, 60, 79)


def test_the_digest_is_of_pixels_and_repeats() -> None:
    pictures = [sheets.montage(VOLUME, "axial", [0, 3, 6, 9], windows.PRESETS["lung"], 256) for _ in range(2)]
    assert pictures[0] == pictures[1]
    other = sheets.montage(VOLUME, "axial", [0, 3, 6, 10], windows.PRESETS["lung"], 256)
    assert other.sha256 != pictures[0].sha256


@pytest.mark.parametrize("side", [64, 333, 1024])
def test_sheets_stay_within_the_side(side: int) -> None:
    for picture in (
        sheets.montage(VOLUME, "coronal", list(range(0, 30, 3)), windows.PRESETS["lung"], side),
        sheets.ortho(VOLUME, (5, 10, 20), windows.PRESETS["lung"], side),
    ):
        assert max(picture.width, picture.height) <= side + 12  # rounding of each tile
        assert max(picture.width, picture.height) > 0.6 * side


@pytest.mark.parametrize("side", [0, 63, 1025, 10**9])
def test_the_size_of_a_picture_is_bounded(side: int) -> None:
    with pytest.raises(ImagingError) as error:
        render.check_side(side, 1024)
    assert error.value.code is Code.LIMIT


def test_charts_show_what_they_are_given() -> None:
    assert pixels(charts.histogram([0, 1, 2], [3, 5], "t")).shape == (360, 640, 3)
    assert pixels(charts.bars({"a": 1.0, "b": -3.0}, "t")).shape[1] == 640
    assert pixels(charts.radar({"a": 1.0, "b": 0.0, "c": 2.0}, "t")).shape == (560, 560, 3)
    for values, draw in (({}, charts.bars), ({"a": 1.0}, charts.radar)):
        with pytest.raises(ImagingError) as error:
            draw(values, "t")
        assert error.value.code is Code.LIMIT
