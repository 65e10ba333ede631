from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from slicewise.data.phantom.chest_shapes import Point, Space, tube
from slicewise.imaging import edit, measure, morphology
from slicewise.imaging.centreline import centreline
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Grid
from slicewise.imaging.limits import Limits
from slicewise.imaging.volume import Mask

from .conftest import volume_of

ROTATED = ((0.6, -0.8, 0.0), (0.8, 0.6, 0.0), (0.0, 0.0, 1.0))
points = st.tuples(*(st.floats(0, size - 1) for size in (20, 30, 40)))
steps = st.floats(0.3, 5)


def mask_of(inside: Any, spacing: tuple[float, float, float] = (1.0, 1.0, 1.0), label: int = 1) -> Mask:
    labels = np.asarray(inside).astype(np.uint8) * label
    return Mask(labels, Grid((labels.shape[0], labels.shape[1], labels.shape[2]), spacing))


def ellipsoid(radii: tuple[float, float, float], spacing: tuple[float, float, float], shift: Any = (0, 0, 0)) -> Mask:
    """Radii in mm along z, y, x."""
    counts = [math.ceil(radius / step) + 2 for radius, step in zip(radii, spacing, strict=True)]
    axes = [(np.arange(-n, n + 1) - off) * step for n, step, off in zip(counts, spacing, shift, strict=True)]
    z, y, x = np.meshgrid(*axes, indexing="ij")
    return mask_of((z / radii[0]) ** 2 + (y / radii[1]) ** 2 + (x / radii[2]) ** 2 <= 1, spacing)


@given(points, points, steps, steps, steps)
def test_distance_is_euclidean_in_mm_and_does_not_depend_on_the_space(
    one: tuple[float, ...], two: tuple[float, ...], z: float, y: float, x: float
) -> None:
    grid = Grid((20, 30, 40), (z, y, x), (10.0, -5.0, 3.0), ROTATED)
    expected = math.dist([a * s for a, s in zip(one, (z, y, x), strict=True)],
                         [b * s for b, s in zip(two, (z, y, x), strict=True)])  # fmt: skip
    assert measure.distance(grid, one, two).mm == pytest.approx(expected, abs=1e-9)
    there = measure.distance(grid, grid.lps(one), grid.lps(two), space="lps_mm")
    assert there.mm == pytest.approx(expected, abs=1e-6)


def test_points_outside_are_refused() -> None:
    with pytest.raises(ImagingError, match="p2 lies") as error:
        measure.distance(Grid((5, 5, 5), (1, 1, 1)), (0, 0, 0), (0, 0, 5))
    assert error.value.code is Code.BAD_INDEX


@pytest.mark.parametrize("angle", [0, 20, 45, 77])
@pytest.mark.parametrize(("long", "short"), [(24.0, 24.0), (40.0, 22.0), (12.0, 9.0)])
def test_axial_axes_of_ellipses_are_within_a_pixel(long: float, short: float, angle: float) -> None:
    rng = np.random.default_rng(int(long + angle))
    errors = []
    for _ in range(6):
        cy, cx = 32 + rng.uniform(-0.5, 0.5, 2)
        y, x = np.mgrid[:64, :64]
        u = (y - cy) * math.cos(math.radians(angle)) + (x - cx) * math.sin(math.radians(angle))
        v = -(y - cy) * math.sin(math.radians(angle)) + (x - cx) * math.cos(math.radians(angle))
        plane = (u / (long / 1.6)) ** 2 + (v / (short / 1.6)) ** 2 <= 1  # 0.8 mm pixels
        found = measure.max_diameter(mask_of(plane[None], (5.0, 0.8, 0.8)), 1)
        assert found.short_mm is not None
        errors += [found.long_mm - long, found.short_mm - short]
        assert found.resolution_mm == 0.8
    assert max(map(abs, errors)) < 0.8
    assert abs(np.mean(errors)) < 0.3


def test_the_short_axis_is_perpendicular_and_both_lie_on_the_outline() -> None:
    found = measure.max_diameter(ellipsoid((9, 12, 20), (1.0, 1.0, 1.0)), 1)
    (a, b), (c, d) = np.asarray(found.long_ends), np.asarray(found.short_ends)
    assert abs(float((b - a) @ (d - c))) < 1e-6
    assert found.slice == 11
    assert found.long_mm == pytest.approx(40, abs=1)
    assert found.short_mm == pytest.approx(24, abs=1)


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (2.5, 0.7, 0.7), (5.0, 0.8, 0.8)])
def test_the_solid_diameter_is_short_by_at_most_one_voxel_at_each_end(spacing: tuple[float, float, float]) -> None:
    for shift in ((0, 0, 0), (0.4, 0.2, -0.3)):
        found = measure.max_diameter(ellipsoid((15, 10, 11), spacing, shift), 1, mode="3d")
        assert 30 - 2 * max(spacing) <= found.long_mm <= 30 + 1e-6
        assert found.resolution_mm == max(spacing)


@pytest.mark.parametrize("shape", [(1, 1, 1), (1, 1, 7), (1, 5, 1), (4, 1, 1), (1, 2, 2)])
def test_flat_and_tiny_regions_have_diameters(shape: tuple[int, int, int]) -> None:
    mask = mask_of(np.pad(np.ones(shape, bool), 2), (2.0, 1.0, 0.5))
    axial = measure.max_diameter(mask, 1)
    z, y, x = shape
    assert axial.long_mm == pytest.approx(max(y * 1.0, x * 0.5), rel=0.15)
    solid = measure.max_diameter(mask, 1, mode="3d")
    assert solid.long_mm == pytest.approx(math.dist((0, 0, 0), ((z - 1) * 2.0, (y - 1) * 1.0, (x - 1) * 0.5)))


def test_only_the_largest_part_counts_unless_all_are_asked_for() -> None:
    inside = np.zeros((3, 20, 40), bool)
    inside[1, 5:12, 3:10] = True
    inside[1, 8, 35] = True
    one = measure.max_diameter(mask_of(inside), 1)
    both = measure.max_diameter(mask_of(inside), 1, component="all")
    assert one.long_mm < 11
    assert both.long_mm > 30


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 10_000))
def test_the_farthest_points_equal_brute_force(seed: int) -> None:
    points = np.random.default_rng(seed).normal(size=(30, 3))
    expected = max(math.dist(a, b) for a in points for b in points)
    assert measure.farthest(points)[2] == pytest.approx(expected)
    assert measure._farthest_of_many(points)[2] == pytest.approx(expected)


def test_an_unknown_label_names_those_there_are() -> None:
    with pytest.raises(ImagingError, match="labels of this mask: 4") as error:
        measure.max_diameter(mask_of(np.ones((1, 2, 2)), label=4), 1)
    assert error.value.code is Code.EMPTY_MASK


def test_the_centre_of_a_ring_is_outside_it() -> None:
    inside = np.zeros((3, 11, 11), bool)
    inside[1, 2:9, 2:9] = True
    inside[1, 4:7, 4:7] = False
    found = measure.centre(mask_of(inside), 1)
    assert found.zyx == (1, 5, 5)
    assert not found.inside
    assert inside[found.nearest_inside]
    assert math.dist(found.nearest_inside, (1, 5, 5)) == 2


def length_of(path: list[Point]) -> float:
    return sum(math.dist(a, b) for a, b in pairwise(path))


TURNS = np.linspace(0, 4 * np.pi, 120)
HELIX = [(20 * math.cos(t), 20 * math.sin(t), 15 + 90 * t / (4 * np.pi)) for t in TURNS]
ARC = [(40 - 60 * math.cos(t), 0.0, 20 + 60 * math.sin(t)) for t in np.linspace(0, np.pi, 60)]


@pytest.mark.parametrize(
    ("path", "radius", "shape", "spacing"),
    [
        (HELIX, 5.0, (80, 75, 75), (1.5, 0.8, 0.8)),
        (HELIX, 5.0, (40, 60, 60), (3.0, 1.0, 1.0)),
        (ARC, 5.0, (60, 30, 140), (2.0, 1.5, 1.5)),
        ([(0.0, 0.0, 20.0), (0.0, 0.0, 140.0)], 5.0, (80, 40, 40), (2.0, 1.1, 1.1)),  # thinning would eat this one
        ([(-10.0, -5.0, 20.0), (12.0, 8.0, 140.0)], 5.0, (80, 60, 60), (2.0, 1.1, 1.1)),
    ],
)
def test_a_centreline_is_within_two_percent(
    path: list[Point], radius: float, shape: tuple[int, int, int], spacing: tuple[float, float, float]
) -> None:
    space = Space(shape, spacing)
    found = centreline(mask_of(tube(space, path, radius), spacing), 1)
    assert found.length_mm == pytest.approx(length_of(path), rel=0.02)
    assert found.radius_mm[1] == pytest.approx(radius, abs=max(spacing) / 2 + 0.2)
    fine = [
        tuple(np.asarray(a) + (np.asarray(b) - a) * share) for a, b in pairwise(path) for share in (0, 0.25, 0.5, 0.75)
    ]
    fine = fine if len(path) > 2 else [tuple(np.linspace(path[0], path[1], 200)[n]) for n in range(200)]
    middle = [space.voxel((float(x), float(y), float(z))) for x, y, z in fine]
    gaps = [min(math.dist(a, b) for b in middle) for a in found.voxels[5:-5:5].tolist()]
    assert max(gaps) < 1.6


def test_a_centreline_between_two_points_and_what_is_no_tube() -> None:
    space = Space((80, 40, 40), (2.0, 1.1, 1.1))
    mask = mask_of(tube(space, [(0.0, 0.0, 20.0), (0.0, 0.0, 140.0)], 5.0), space.spacing)
    start, end = space.voxel((0.0, 0.0, 40.0)), space.voxel((0.0, 0.0, 100.0))
    assert centreline(mask, 1, start=start, end=end).length_mm == pytest.approx(60, abs=2)
    with pytest.raises(ImagingError) as error:
        centreline(mask, 1, start=start)
    assert error.value.code is Code.BAD_INDEX
    with pytest.raises(ImagingError) as error:
        centreline(mask_of(np.ones((1, 1, 1))), 1)
    assert error.value.code is Code.EMPTY_MASK


def test_morphology_is_in_mm() -> None:
    point = np.zeros((9, 21, 21), bool)
    point[4, 10, 10] = True
    spacing = (4.0, 1.0, 1.0)
    grown = morphology.dilated(point, 5.0, spacing)
    z, y, x = np.argwhere(grown).T
    assert grown.sum() == sum(
        (4.0 * a) ** 2 + b**2 + c**2 <= 25 for a in range(-4, 5) for b in range(-9, 10) for c in range(-9, 10)
    )
    assert (np.ptp(z), np.ptp(y), np.ptp(x)) == (2, 10, 10)
    assert np.array_equal(morphology.eroded(grown, 5.0, spacing), point)
    assert np.array_equal(morphology.closed(grown, 3.0, spacing), grown)


def test_edits_make_new_things_and_keep_places() -> None:
    hu = np.random.default_rng(0).integers(-1000, 1000, (10, 20, 30))
    volume = volume_of(hu, (3.0, 1.0, 0.5))
    before = volume.hu.copy()
    part = edit.crop(volume, ((2, 5), (3, 9), (4, 30)))
    assert np.array_equal(part.hu, hu[2:5, 3:9, 4:30])
    assert part.grid.lps((0, 0, 0)) == volume.grid.lps((2, 3, 4))
    even = edit.resample_iso(volume, 1.0, Limits())
    assert even.grid.shape == (30, 20, 15)
    assert even.grid.spacing == (1.0, 1.0, 1.0)
    # Outer faces stay: the first voxel's centre moves in by half of the difference.
    assert even.grid.lps((-0.5, -0.5, -0.5)) == pytest.approx(volume.grid.lps((-0.5, -0.5, -0.5)))
    assert np.array_equal(edit.flip(volume, "y").hu, hu[:, ::-1])
    assert np.array_equal(volume.hu, before)
    with pytest.raises(ImagingError) as error:
        edit.resample_iso(volume, 0.001, Limits())
    assert error.value.code is Code.LIMIT
    with pytest.raises(ImagingError) as error:
        edit.resample_iso(volume, float("nan"), Limits())
    assert error.value.code is Code.LIMIT


def test_labels_never_take_voxels_of_each_other() -> None:
    labels = np.zeros((5, 20, 20), np.uint8)
    labels[2, 10, 5], labels[2, 10, 8] = 1, 2
    mask = Mask(labels, Grid((5, 20, 20), (1.0, 1.0, 1.0)))
    grown = edit.morph(mask, "dilate", 4.0)
    assert grown.labels[2, 10, 5] == 1
    assert grown.labels[2, 10, 8] == 2
    with pytest.raises(ImagingError) as error:
        edit.morph(mask, "erode", 1.0)
    assert error.value.code is Code.EMPTY_MASK


def test_the_body_box_holds_the_body() -> None:
    hu = np.full((6, 60, 80), -1000)
    hu[1:5, 20:41, 30:61] = 40
    hu[:, 55, :] = 100  # a table
    bounds = edit.body_bounds(volume_of(hu), margin_mm=3.0)
    for (low, high), (first, last), margin in zip(bounds, ((1, 5), (20, 41), (30, 61)), (2, 3, 3), strict=True):
        assert max(0, first - margin - 2) <= low <= first
        assert last <= high <= last + margin + 2
