from __future__ import annotations

import json
import math
from pathlib import Path

import numpy as np
import pytest
from slicewise.data.phantom.chest import HU, chest_grid, label_names, make_chest, write_chest
from slicewise.imaging.load import load, load_mask

SMALL = {"shape": (52, 104, 104), "spacing": (4.5, 3.2, 3.2)}


@pytest.mark.parametrize("seed", [0, 1, 2, 3])
def test_every_planted_fact_is_true(seed: int) -> None:
    chest = make_chest(seed, nodules=4, effusion="left", calcification=True, **SMALL)
    voxel = math.prod(chest.spacing)
    kinds = [fact.kind for fact in chest.facts]
    assert kinds.count("nodule") >= 3
    assert {"effusion", "calcification", "airway", "aorta", "lung", "heart"} <= set(kinds)
    for fact in chest.facts:
        inside = chest.masks[fact.mask]
        assert inside.any()
        assert set(np.unique(chest.hu[inside])) == {fact.hu}
        assert fact.volume_ml == pytest.approx(inside.sum() * voxel / 1000)
        where = np.argwhere(inside)
        if fact.kind == "nodule":
            assert math.dist(where.mean(axis=0), fact.centre_zyx) < 0.5
            radius, half = fact.diameter_mm / 2, fact.height_mm / 2
            exact = 4 / 3 * math.pi * radius**2 * half / 1000
            assert fact.volume_ml == pytest.approx(exact, rel=0.35 if exact < 1 else 0.2)  # 4.5 mm slices
            left = fact.centre_zyx[2] > (chest.hu.shape[2] - 1) / 2
            assert fact.side == ("left" if left else "right")
        if fact.kind == "effusion":
            assert np.ptp(where[:, 1] * chest.spacing[1]) <= fact.diameter_mm


def test_organs_do_not_overlap_and_lie_in_the_body() -> None:
    chest = make_chest(5, nodules=3, effusion="right", calcification=True, **SMALL)
    parts = [mask.astype(np.uint8) for name, mask in chest.masks.items() if name != "body"]
    assert np.sum(parts, axis=0).max() == 1
    assert not (np.sum(parts, axis=0).astype(bool) & ~chest.masks["body"]).any()
    assert (chest.hu[~chest.masks["body"]] == HU["outside"]).all()


def test_same_seed_same_bytes_and_other_seed_other_chest() -> None:
    one, same, other = (make_chest(seed, noise_hu=10.0, **SMALL) for seed in (7, 7, 8))
    assert one.hu.tobytes() == same.hu.tobytes()
    assert one.facts == same.facts
    assert one.facts != other.facts
    assert np.std(one.hu[one.masks["heart"]]) == pytest.approx(10, rel=0.05)


def test_options_decide_what_is_planted() -> None:
    plain = make_chest(0, nodules=0, effusion="none", calcification=False, **SMALL)
    assert {fact.kind for fact in plain.facts} == {"lung", "airway", "aorta", "heart"}
    tiny = {"shape": (34, 70, 70), "spacing": (6.0, 4.8, 4.8)}
    seeded = [{fact.kind for fact in make_chest(seed, nodules=0, **tiny).facts} for seed in range(14)]
    for kind in ("effusion", "calcification"):
        assert 0 < sum(kind in kinds for kinds in seeded) < 14
    with pytest.raises(ValueError, match="too small"):
        make_chest(0, shape=(10, 10, 10))


@pytest.mark.parametrize("suffix", [".nii.gz", ".nrrd"])
def test_written_files_are_read_back(tmp_path: Path, suffix: str) -> None:
    chest = make_chest(3, nodules=2, **SMALL)
    volume_path, labels_path, facts_path = write_chest(chest, tmp_path / "case", suffix=suffix)
    volume = load(volume_path)
    assert np.array_equal(volume.hu, chest.hu)
    assert volume.grid.mismatch(chest_grid(chest)) is None
    mask, matched = load_mask(labels_path, volume.grid)
    assert matched
    for number, name in label_names(chest).items():
        assert np.array_equal(mask.labels == number, chest.masks[name])
    facts = json.loads(facts_path.read_text())
    assert facts["labels"]["1"] == "fat"
    assert len(facts["facts"]) == len(chest.facts)
    # The patient's left lies at positive x.
    left = next(fact for fact in chest.facts if fact.mask == "lung_left")
    assert volume.grid.lps(left.centre_zyx)[0] > 0
