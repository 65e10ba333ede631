"""CT-FlowBench: grades, facts, refusals, questions, and phantoms whose every number is known."""

from __future__ import annotations

import json
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slicewise import artifacts
from slicewise.benchmarks.ct import read_sop
from slicewise.data.ctflowbench import build, chest, content, questions, rate, reports
from slicewise.data.ctflowbench.chest import Region
from slicewise.errors import UserError
from slicewise.imaging import load
from slicewise.params import ChestSettings, CtRateSettings, DataSettings


def _draw(seed: int) -> random.Random:
    return random.Random(seed)  # noqa: S311 - questions, not secrets


NODULE = "A solid nodule of 14.2 mm lies in the upper third of the right lung, mean attenuation 40 HU."


# --- reports --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("findings", "impression", "kind"),
    [
        (NODULE, "Solid nodule.", "A"),
        (f"{NODULE} A calcification of 8 mm lies in the wall of the aorta.", "As described.", "B"),
        ("The lungs are clear.", "Normal.", "B"),
        (NODULE, "Solid nodule, suspicious.", "C"),
        (NODULE, "Follow-up in 3 months is recommended.", "C"),  # advice wins over everything
    ],
)
def test_grades(findings: str, impression: str, kind: str) -> None:
    assert reports.grade(findings, impression).type == kind


def test_features_of_a_grade() -> None:
    grade = reports.grade(f"{NODULE} No pleural effusion.", "It may be benign.")
    assert (grade.numbers, grade.places, grade.doubts) == (2, ("lung", "pleura"), 1)


def test_a_fact_keeps_what_is_written() -> None:
    (fact,) = reports.facts(NODULE)
    assert (fact.kind, fact.length_mm, fact.hu, fact.side, fact.zone) == ("nodule", 14.2, 40.0, "right", "upper")
    assert reports.facts("A nodule of 1.5 x 1.2 cm in the left lower lobe.")[0].length_mm == 15.0


@pytest.mark.parametrize(
    "sentence",
    [
        "No nodule of more than 3 mm is seen.",  # denied
        "There is a nodule.",  # no evidence at all
        "The liver measures 15 cm.",  # no known kind
        "A nodule of 12 mm in the right upper lobe enhances after contrast.",  # the scan cannot show it
        "The nodule in the right upper lobe grew to 12 mm, an interval increase.",  # needs another scan
    ],
)
def test_sentences_without_hard_evidence_give_no_fact(sentence: str) -> None:
    assert reports.facts(sentence) == []


# --- refusals -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("word", ["nodule", "Nodular", "masses", "pleural effusion", "calcified", "ground-glass"])
def test_a_question_that_names_the_finding_is_refused(word: str) -> None:
    with pytest.raises(UserError, match="names"):
        content.check_blind(f"How large is the {word} in the left lung?")


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("Does it enhance in the arterial phase?", "enhancement"),
        ("What is the flow velocity in the aorta?", "flow"),
        ("By what angle is the vessel encased?", "vessel wall contact"),
        ("Is the splenic vein patent?", "flow|outside the chest"),
        ("Is there a filling defect?", "filling defect"),
        ("What is its SUVmax?", "metabolism"),
        ("Is it unchanged?", "comparison"),
    ],
)
def test_content_that_the_scan_cannot_show_is_refused(text: str, why: str) -> None:
    with pytest.raises(UserError, match=why):
        content.check_answerable([text])


def test_what_the_scan_shows_is_not_refused() -> None:
    content.check_answerable(["What is its longest diameter?", "free fluid in the pleural space", "12.4 mm", "40 HU"])


# --- questions ------------------------------------------------------------------------------------------------------


def _region(**changes: Any) -> Region:
    base: dict[str, Any] = {
        "label": 1, "kind": "nodule", "side": "left", "zone": "upper", "diameter_mm": 12.0, "volume_ml": 0.9,
        "hu": 40.0, "centre_mm": (100.0, 50.0, 60.0),
    }  # fmt: skip
    return Region(**{**base, **changes})


def test_every_draft_is_blind_and_has_one_right_option() -> None:
    kinds = ("nodule", "effusion", "calcification", "nodule")
    regions = [_region(label=n, kind=kind, centre_mm=(20.0 * n, 5.0, 6.0)) for n, kind in enumerate(kinds, 1)]
    for draft in questions.drafts(regions, _draw(1)):
        assert content.pathology_words(draft.text) == []
        assert len(set(draft.options)) == questions.OPTIONS
        assert draft.answer == f"({'ABCD'[draft.right]}) {draft.options[draft.right]}"


def test_the_rank_of_the_right_number_is_drawn_evenly() -> None:
    """Were it always in the middle, a blind reader would know it."""
    ranks = Counter(questions.numbers(12.0, "mm", _draw(n), step=3.6, decimals=1)[1] for n in range(400))
    assert set(ranks) == {0, 1, 2, 3}
    assert min(ranks.values()) > 70
    options, rank = questions.numbers(12.0, "mm", _draw(3), step=3.6, decimals=1)
    assert options[rank] == "12.0 mm"
    assert [float(o.split()[0]) for o in options] == sorted(float(o.split()[0]) for o in options)


def test_a_size_at_a_limit_is_not_asked_about() -> None:
    aspects = {d.aspect for d in questions.drafts([_region(diameter_mm=10.4)], _draw(1))}
    assert "measurable" not in aspects
    assert "measurable" in {d.aspect for d in questions.drafts([_region(diameter_mm=12.0)], _draw(1))}


# --- phantoms -------------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> ChestSettings:
    folder = tmp_path_factory.mktemp("chest") / "data"
    settings = ChestSettings(volumes=2, per_scenario=5, path=folder)
    chest.make(settings, folder)
    return settings


def test_same_settings_same_bytes(made: ChestSettings, tmp_path: Path) -> None:
    chest.make(made, tmp_path / "again")
    one, two = (json.loads((p / chest.MANIFEST).read_text()) for p in (made.path, tmp_path / "again"))
    assert one == two
    assert len(one["files"]) == 2 * (2 + chest.SLICES) + 2


def test_regions_are_what_the_label_file_holds(made: ChestSettings) -> None:
    for name, regions in chest.read_regions(made.path).items():
        volume = load.load(made.path / "volumes" / f"{name}.nii.gz")
        mask, matched = load.load_mask(made.path / "labels" / f"{name}.nii.gz", volume.grid)
        assert matched
        assert sorted(mask.counts) == [region.label for region in regions]
        assert volume.is_hu
        for region in regions:
            inside = mask.labels == region.label
            assert inside.sum() * volume.grid.voxel_ml == pytest.approx(region.volume_ml, abs=0.006)
            assert float(volume.hu[inside].mean()) == pytest.approx(region.hu, abs=4)
            centre = np.argwhere(inside).mean(axis=0) * np.asarray(volume.grid.spacing)
            assert centre == pytest.approx(np.asarray(region.centre_mm), abs=0.01)


def test_reports_support_the_facts_of_every_region(made: ChestSettings) -> None:
    for report in build.read_reports(made.path / chest.REPORTS):
        regions = chest.read_regions(made.path)[report.volume_id]
        facts = reports.facts(report.findings)
        assert [(f.kind, f.length_mm, f.hu) for f in facts] == [(r.kind, r.diameter_mm, r.hu) for r in regions]


def test_items_fit_the_schema_and_carry_a_gold_order(made: ChestSettings, tmp_path: Path) -> None:
    rows = build.phantoms(made, "ctflowbench-demo")
    artifacts.write_rows(tmp_path / "samples.parquet", rows, artifacts.SAMPLES)
    assert Counter(row["task"] for row in rows) == {"qa": 5, "sm": 5, "di": 5}
    for row in rows:
        assert read_sop(row["reasoning"])[:2] == ("load_data", "load_mask")
        assert row["options"][row["answer"][1]] == row["answer"][4:]
        assert len(row["frames"]) == chest.SLICES
        assert content.pathology_words(row["question"].split("\n")[0]) == []
    assert build.phantoms(made, "ctflowbench-demo") == rows


def test_foreign_files_are_not_overwritten(tmp_path: Path) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with pytest.raises(UserError, match="no phantoms"):
        chest.make(ChestSettings(volumes=1), tmp_path)


# --- CT-RATE's reports ----------------------------------------------------------------------------------------------


def test_reports_give_questions_by_place(tmp_path: Path) -> None:
    path = tmp_path / "reports.csv"
    path.write_text(
        "VolumeName,Findings_EN,Impressions_EN\n"
        f'valid_1_a_1.nii.gz,"{NODULE}","Nodule, follow-up."\n'
        'valid_2_a_1.nii.gz,"The lungs are clear.",Normal\n'
    )
    rows = build.from_reports(DataSettings(ct_rate=CtRateSettings(reports=path)), "ctflowbench")
    assert {row["volume_id"] for row in rows} == {"valid_1_a_1"}
    assert {row["task"] for row in rows} == {"qa", "sm", "di"}
    assert all("type C" in row["labels"] for row in rows)
    assert all(read_sop(row["reasoning"])[0] == "load_data" for row in rows)
    artifacts.to_table(rows, artifacts.SAMPLES)


def test_two_findings_at_one_place_give_no_question_about_it() -> None:
    assert list(rate.drafts(f"{NODULE} {NODULE.replace('14.2', '9.9')}", _draw(1))) == []
