from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from slicewise.imaging import firstorder, glcm, hounsfield, radiomics, shape
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Grid
from slicewise.imaging.limits import Limits
from slicewise.imaging.volume import Mask

from . import ibsi
from .conftest import volume_of

VALUES, INSIDE = ibsi.volume_and_region()
SIGNATURE = radiomics.signature(radiomics.Region(VALUES, INSIDE, ibsi.SPACING), bin_width_hu=1.0)


def test_every_feature_that_is_offered_has_a_reference_and_a_code() -> None:
    assert set(SIGNATURE.features) == set(ibsi.REFERENCE) == set(radiomics.IBSI_IDS)
    assert (SIGNATURE.n_voxels, SIGNATURE.n_bins) == (74, 6)


@pytest.mark.parametrize("name", ibsi.REFERENCE)
def test_equal_to_the_reference_within_its_tolerance(name: str) -> None:
    published, tolerance = ibsi.REFERENCE[name]
    found = SIGNATURE.features[name]
    assert found is not None
    # A tolerance of 0 means equal to the three significant digits that are published.
    assert abs(found - float(published)) <= tolerance or float(f"{found:.3g}") == float(published)


def brute_glcm(levels: np.ndarray[Any, Any], step: tuple[int, int, int]) -> np.ndarray[Any, Any]:
    """Voxel by voxel, as the definition says."""
    n = int(levels.max())
    counts = np.zeros((n, n))
    for spot in np.ndindex(levels.shape):
        other = tuple(a + b for a, b in zip(spot, step, strict=True))
        if all(0 <= a < size for a, size in zip(other, levels.shape, strict=True)):
            a, b = levels[spot], levels[other]
            if a and b:
                counts[a - 1, b - 1] += 1
                counts[b - 1, a - 1] += 1
    return counts


@given(arrays.arrays(np.int32, (2, 3, 4), elements=st.integers(0, 4)))
def test_matrices_equal_counting_voxel_by_voxel(levels: np.ndarray[Any, Any]) -> None:
    if levels.max() == 0:
        return
    expected = [brute_glcm(levels, step) for step in glcm.DIRECTIONS]
    expected = [counts / counts.sum() for counts in expected if counts.sum()]
    found = glcm.matrices(levels)
    assert len(found) == len(expected)
    for one, other in zip(found, expected, strict=True):
        assert np.allclose(one, other)


def test_features_of_a_flat_region_are_defined_or_null() -> None:
    flat = radiomics.Region(np.full((4, 4, 4), 30, np.int16), np.ones((4, 4, 4), bool), (1.0, 1.0, 1.0))
    found = radiomics.signature(flat)
    assert found.features["cm_corr"] is None
    assert found.features["stat_skew"] is None
    assert found.features["cm_contrast"] == 0
    assert found.features["ih_entropy"] == 0
    assert "only 1 grey levels" in found.warnings[0]


def test_a_single_voxel_has_no_texture() -> None:
    inside = np.zeros((3, 3, 3), bool)
    inside[1, 1, 1] = True
    found = radiomics.signature(radiomics.Region(np.zeros((3, 3, 3), np.int16), inside, (1.0, 1.0, 1.0)))
    assert found.features["cm_contrast"] is None
    assert found.features["morph_vol_approx"] == 1.0


def test_grey_levels_are_bounded_and_aligned() -> None:
    values = np.asarray([[[-30, 0, 24, 25, 49]]], dtype=np.int16)
    inside = np.ones(values.shape, bool)
    assert glcm.discretise(values, inside, 25.0).tolist() == [[[1, 3, 3, 4, 4]]]
    with pytest.raises(ImagingError) as error:
        glcm.discretise(np.asarray([[[-1000, 3000]]], np.int16), np.ones((1, 1, 2), bool), 1.0)
    assert error.value.code is Code.LIMIT


def ball(radius: float, spacing: tuple[float, float, float]) -> np.ndarray[Any, Any]:
    n = [math.ceil(radius / step) + 1 for step in spacing]
    z, y, x = np.ogrid[-n[0] : n[0] + 1, -n[1] : n[1] + 1, -n[2] : n[2] + 1]
    return (z * spacing[0]) ** 2 + (y * spacing[1]) ** 2 + (x * spacing[2]) ** 2 <= radius**2


@pytest.mark.parametrize("spacing", [(1.0, 1.0, 1.0), (2.0, 0.8, 0.8)])
def test_volume_and_axes_of_a_ball(spacing: tuple[float, float, float]) -> None:
    found = shape.features(ball(15, spacing), spacing)
    exact = 4 / 3 * math.pi * 15**3
    assert found["vol_approx"] == pytest.approx(exact, rel=0.02)
    assert found["volume"] == pytest.approx(exact, rel=0.02)
    assert found["diam"] == pytest.approx(30, abs=2 * max(spacing))
    # Four standard deviations of a ball are 4 r / sqrt(5).
    assert found["pca_least_axis"] == pytest.approx(4 * 15 / math.sqrt(5), rel=0.02)
    assert found["sphericity"] == pytest.approx(0.89, abs=0.03)  # the steps of the surface, by definition


def test_a_mask_must_lie_on_the_volume_and_not_be_too_large() -> None:
    volume = volume_of(np.zeros((4, 4, 4)))
    mask = Mask(np.ones((4, 4, 4), np.uint8), Grid((4, 4, 4), (2.0, 1.0, 1.1)))
    with pytest.raises(ImagingError) as error:
        radiomics.region_of(volume, mask, 1, Limits())
    assert error.value.code is Code.GEOMETRY_MISMATCH
    mask = Mask(np.ones((4, 4, 4), np.uint8), volume.grid)
    with pytest.raises(ImagingError) as error:
        radiomics.region_of(volume, mask, 1, Limits(max_roi_voxels=63))
    assert error.value.code is Code.LIMIT


def test_resampling_keeps_the_region() -> None:
    inside = np.zeros((10, 30, 30), np.uint8)
    inside[3:7, 8:20, 8:20] = 1
    volume = volume_of(np.where(inside, 100, -800), (3.0, 1.0, 1.0))
    region = radiomics.region_of(volume, Mask(inside, volume.grid), 1, Limits(), 1.5)
    exact = 4 * 3.0 * 12 * 12
    assert region.inside.sum() * 1.5**3 == pytest.approx(exact, rel=0.15)
    assert region.spacing == (1.5, 1.5, 1.5)


def test_core_rim_and_shell() -> None:
    inside = np.zeros((11, 21, 21), bool)
    inside[2:9, 4:17, 4:17] = True
    values = np.where(inside, 50, -800).astype(np.int16)
    values[4:7, 6:15, 6:15] = 10
    found = radiomics.texture(radiomics.Region(values, inside, (1.0, 1.0, 1.0)), shell_mm=2.0)
    assert found.core_hu == 10
    assert found.rim_hu == 50
    assert found.shell_hu == -800
    assert found.values["glcm_contrast"] is not None


@given(arrays.arrays(np.int16, st.integers(1, 200), elements=st.integers(-1024, 3071)))
def test_distribution_equals_numpy(values: np.ndarray[Any, Any]) -> None:
    found = hounsfield.distribution(values)
    assert found.n == values.size
    assert found.mean == pytest.approx(values.mean(dtype=np.float64))
    assert found.sd == pytest.approx(values.std(dtype=np.float64), abs=1e-6)
    assert (found.minimum, found.maximum) == (values.min(), values.max())
    assert found.percentiles[50] == np.percentile(values, 50, method="inverted_cdf")
    assert sum(found.fractions.values()) == pytest.approx(1)
    assert sum(found.counts) == values.size
    first = firstorder.features(values)
    assert first["mean"] == pytest.approx(found.mean)
    assert first["max"] == found.maximum
    assert all(value is None or math.isfinite(value) for value in first.values())


def test_modes_are_where_the_tissue_is() -> None:
    rng = np.random.default_rng(0)
    values = np.concatenate([rng.normal(-850, 20, 9000), rng.normal(45, 15, 4000)]).astype(np.int16)
    modes = hounsfield.distribution(values).modes
    assert modes[0] == pytest.approx(-850, abs=64)
    assert modes[1] == pytest.approx(45, abs=64)


@pytest.mark.parametrize(("bins", "span"), [(1, (0, 10)), (64, (10, 10)), (2000, (0, 10))])
def test_bad_histograms_are_refused(bins: int, span: tuple[int, int]) -> None:
    with pytest.raises(ImagingError) as error:
        hounsfield.distribution(np.zeros(3, np.int16), bins=bins, span=span)
    assert error.value.code is Code.BAD_WINDOW
