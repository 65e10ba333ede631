from __future__ import annotations

import sys
import types
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slicewise.data.phantom.chest import Chest, chest_grid, make_chest
from slicewise.imaging import anatomy, segment, totalseg
from slicewise.imaging.anatomy import LABELS
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.hu import check
from slicewise.imaging.volume import Volume

from .conftest import volume_of


@pytest.fixture(scope="module")
def chest() -> Chest:
    return make_chest(2, shape=(64, 112, 112), spacing=(3.5, 3.0, 3.0), effusion="left", noise_hu=12.0)


@pytest.fixture(scope="module")
def volume(chest: Chest) -> Volume:
    return Volume(chest.hu, chest_grid(chest), True, check(chest.hu))


def dice(a: np.ndarray[Any, Any], b: np.ndarray[Any, Any]) -> float:
    return float(2 * np.count_nonzero(a & b) / (np.count_nonzero(a) + np.count_nonzero(b)))


@pytest.mark.parametrize(
    ("name", "least"), [("lung_left", 0.98), ("lung_right", 0.98), ("airway", 0.95), ("bone", 0.98), ("fat", 0.85)]
)
def test_tissues_of_the_phantom_are_found(chest: Chest, volume: Volume, name: str, least: float) -> None:
    mask = segment.heuristic(volume, [name])
    assert mask.backend == "heuristic"
    assert dice(mask.labels == LABELS[name], chest.masks[name]) > least


def test_the_body_alone_is_whole_and_beside_others_is_the_rest(chest: Chest, volume: Volume) -> None:
    alone = segment.heuristic(volume, ["body"])
    assert dice(alone.labels > 0, chest.masks["body"]) > 0.99
    both = segment.heuristic(volume, ["body", "lung_left"])
    assert both.counts[LABELS["body"]] + both.counts[LABELS["lung_left"]] == pytest.approx(
        alone.counts[LABELS["body"]], rel=0.01
    )


def test_fluid_and_nodules_are_not_lung(chest: Chest, volume: Volume) -> None:
    lungs = np.isin(segment.heuristic(volume).labels, [LABELS["lung_left"], LABELS["lung_right"]])
    assert (lungs & chest.masks["effusion"]).sum() < 0.1 * chest.masks["effusion"].sum()


def test_bowel_gas_is_no_airway_and_no_lung() -> None:
    hu = np.full((40, 80, 80), -1000)
    hu[:, 10:70, 10:70] = 40
    hu[3:9, 38:44, 38:44] = -990  # below
    hu[24:40, 20:60, 14:36] = -840
    hu[24:40, 20:60, 44:66] = -840
    mask = segment.heuristic(volume_of(hu, (4.0, 2.5, 2.5)))
    assert LABELS["airway"] not in mask.counts
    assert mask.labels[3:9, 38:44, 38:44].max() == 0
    # x grows to the patient's left.
    assert mask.labels[30, 40, 55] == LABELS["lung_left"]
    assert mask.labels[30, 40, 25] == LABELS["lung_right"]


def test_joined_lungs_are_divided() -> None:
    hu = np.full((20, 80, 80), -1000)
    hu[:, 10:70, 8:72] = 40
    hu[3:17, 20:60, 12:38] = -840
    hu[3:17, 20:60, 42:68] = -840
    hu[9:11, 30:34, 38:42] = -840  # a thin bridge
    labels = segment.heuristic(volume_of(hu, (4.0, 3.0, 3.0))).labels
    assert set(np.unique(labels[3:17, 20:60, 42:66])) == {LABELS["lung_left"]}
    assert set(np.unique(labels[3:17, 20:60, 14:38])) == {LABELS["lung_right"]}


def test_what_cannot_be_segmented_is_said() -> None:
    volume = volume_of(np.full((4, 20, 20), 40))
    for names, code in (
        (["liver"], Code.BACKEND_UNAVAILABLE),
        (["lungs"], Code.UNKNOWN_ANATOMY),
        (["lung_left"], Code.EMPTY_MASK),
    ):
        with pytest.raises(ImagingError) as error:
            segment.heuristic(volume, names)
        assert error.value.code is code


def test_names_are_found_by_words_and_likeness() -> None:
    assert len(anatomy.TOTAL) == len(set(anatomy.TOTAL)) == 117
    assert anatomy.search("Left Lung")[0].name == "lung_left"
    assert anatomy.search("oesophagus")[0].name == "esophagus"
    assert anatomy.search("kidny left", 3)[0].name == "kidney_left"
    assert len(anatomy.search("rib", 5)) == 5


def test_the_optional_backend_is_used_only_with_local_weights(
    volume: Volume, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv(totalseg.WEIGHTS, raising=False)
    with pytest.raises(ImagingError) as error:
        totalseg.segment(volume, ["liver"])
    assert error.value.code is Code.BACKEND_UNAVAILABLE
    settings: dict[str, Any] = {}
    package = _stand_in(settings, volume)
    for name, module in package.items():
        monkeypatch.setitem(sys.modules, name, module)
    monkeypatch.setenv(totalseg.WEIGHTS, str(tmp_path))
    mask = totalseg.segment(volume, ["liver"])
    assert mask.counts == {5: int(volume.grid.shape[1] * volume.grid.shape[2])}
    assert mask.labels[3].min() == 5  # a slice that was found in RAS comes back in place
    assert settings == {"send_usage_stats": False}
    with pytest.raises(ImagingError) as error:
        totalseg.segment(volume, ["nonsense"])
    assert error.value.code is Code.UNKNOWN_ANATOMY


class _Image:
    """As much of a NIfTI image as is needed: data with x first, and a RAS affine."""

    def __init__(self, data: Any, affine: Any) -> None:
        self.dataobj, self.affine = data, affine


def _stand_in(settings: dict[str, Any], volume: Volume) -> dict[str, types.ModuleType]:
    """Modules with the functions of TotalSegmentator that are called."""

    def run(image: Any, output: Any, *, fast: bool, roi_subset: Any, device: str, quiet: bool) -> _Image:
        assert image.affine[0, 0] < 0  # LPS to RAS
        assert np.array_equal(np.asarray(image.dataobj).T, volume.hu)
        labels = np.zeros(image.dataobj.shape, np.uint8)
        labels[:, :, 3] = 5
        return _Image(labels, image.affine)

    names = ("totalsegmentator", "totalsegmentator.config", "totalsegmentator.python_api",
             "totalsegmentator.map_to_binary", "nibabel")  # fmt: skip
    modules = {name: types.ModuleType(name) for name in names}
    modules["totalsegmentator"].__spec__ = types.SimpleNamespace()  # type: ignore[assignment]
    modules["totalsegmentator.config"].set_config_key = settings.__setitem__  # type: ignore[attr-defined]
    modules["totalsegmentator.python_api"].totalsegmentator = run  # type: ignore[attr-defined]
    modules["totalsegmentator.map_to_binary"].class_map = {"total": {5: "liver"}}  # type: ignore[attr-defined]
    modules["nibabel"].Nifti1Image = _Image  # type: ignore[attr-defined]
    return modules
