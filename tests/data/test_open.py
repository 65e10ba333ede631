"""The open rebuild against its source rows, the released answer shapes and the released sizes."""

from __future__ import annotations

import csv
import os
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise import artifacts
from slicewise.benchmarks.sgmri import benchmark
from slicewise.data import open as rebuild
from slicewise.data import open_image, open_select, open_volume, wording
from slicewise.data.questions import LETTERS, Draw, Finding, Volume
from slicewise.errors import UserError
from slicewise.params import DataSettings

HEADER = ["file", "slice", "study_level", "x", "y", "width", "height", "label"]
BOX = re.compile(r"<bbx>\[(-?\d+),(-?\d+),(\d+),(\d+)\]</bbx>")
OPTION = re.compile(r"^\(([A-D])\) (.+)$", re.MULTILINE)
REAL = os.environ.get("SLICEWISE_FASTMRI_PLUS")
needs_real = pytest.mark.skipif(REAL is None, reason="SLICEWISE_FASTMRI_PLUS does not point to the fastMRI+ CSVs")
KNEES = [(f"file10000{i:02d}", 30) for i in range(8)]
VARIANTS = ("released", "corrected")
Row = dict[str, Any]


def brain_name(index: int) -> str:
    return f"file_brain_{('AXFLAIR', 'AXT1', 'AXT1POST')[index % 3]}_200_{index:04d}"


def source_rows() -> dict[str, list[list[Any]]]:
    """A small fastMRI+: 12 brain volumes with boxes and 12 without, 7 of 8 knees with boxes, and the odd rows."""
    brain: list[list[Any]] = []
    labels = [
        "Mass",
        "Edema",
        "Craniotomy",
        "Enlarged ventricles",
        "Nonspecific white matter lesion",
        "Lacunar infarct",
    ]
    for i in range(12):
        for s in range(3, 8):
            brain.append([brain_name(i), s, "No", 40 + 17 * i, 90 + s, 30, 20, labels[i % 6]])
            if s % 2:
                brain.append([brain_name(i), s, "No", 120, 60, 60, 25, labels[(i + 1) % 6]])
    brain.append([brain_name(0), 9, "No", 59, 133, 1, 0, "Possible artifact"])
    for i in range(12, 24):
        label = "Normal for age" if i % 4 else "Global label: Small vessel chronic white matter ischemic change"
        brain.append([brain_name(i), 0, "Yes", "", "", "", "", label])
    knee: list[list[Any]] = []
    names = [
        "Meniscus Tear",
        "Joint Effusion ",
        "Ligament - ACL Low Grade sprain",
        "Periarticular cysts",
        "Joint Bodies",
    ]
    for i in range(7):
        knee += [[KNEES[i][0], s, "No", 60 + 20 * i, 150, 21, 17, names[i % 5]] for s in range(10, 16)]
        knee.append([KNEES[i][0], 12, "No", 230, 160, 9, 8, names[(i + 2) % 5]])
    knee.append([KNEES[0][0], 15, "No", 60, 150, 21, 17, names[0]])  # exact duplicate
    knee.append([KNEES[1][0], 15, "No", 93, -1, 175, 153, names[1]])
    knee.append([KNEES[7][0], 0, "Yes", "", "", "", "", "artifact"])
    return {"brain": brain, "knee": knee}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("fastmri_plus")
    for anatomy, rows in source_rows().items():
        with (path / f"{anatomy}.csv").open("w", newline="") as handle:
            csv.writer(handle).writerows([HEADER, *rows])
    return path


def settings(**changes: int) -> DataSettings:
    sizes = {"brain_volumes": 18, "brain_images": 40, "knee_images": 30, "seed": 7, **changes}
    return DataSettings.model_validate({"open": sizes})


def build(folder: Path, variant: str, level: str, **changes: int) -> list[Row]:
    declared = benchmark(f"sgmri-open-{variant}-{level}")
    return rebuild.rebuild(settings(**changes), declared, folder, KNEES)


@pytest.fixture(scope="module")
def built(folder: Path) -> dict[tuple[str, str], list[Row]]:
    return {(v, level): build(folder, v, level) for v in VARIANTS for level in ("image", "volume")}


def expected_boxes(domain: str, volume_id: str, source_slice: int | None) -> Counter[tuple[Any, ...]]:
    """(slice, x0, y0, x1, y1, label) of the source rows, read without any of the package's code."""
    return Counter(
        (s, float(x), float(y), float(x + w), float(y + h), label.strip())
        for name, s, study, x, y, w, h, label in source_rows()[domain]
        if name == volume_id and study == "No" and source_slice in (None, s)
    )


@pytest.mark.parametrize("variant", VARIANTS)
def test_boxes_are_the_source_rows_and_frames_are_numbered_as_declared(
    built: dict[tuple[str, str], list[Row]], variant: str
) -> None:
    """Brain frame = slice + 1 in both variants; knee frame = slice as released, slice + 1 corrected."""
    for row in [*built[variant, "image"], *built[variant, "volume"]]:
        base = 0 if row["domain"] == "knee" and variant == "released" else 1
        numbers = [frame["number"] for frame in row["frames"]]
        single = numbers[0] - base if row["level"] == "image" else None
        found = Counter(
            (numbers[b["frame"]] - base, b["x0"], b["y0"], b["x1"], b["y1"], b["label"]) for b in row["boxes"]
        )
        assert found == expected_boxes(row["domain"], row["volume_id"], single)
        assert row["n_frames"] == len(numbers)
        if row["level"] == "volume":
            assert numbers == list(range(1, (30 if row["domain"] == "knee" else 16) + 1))


@pytest.mark.parametrize("level", ["image", "volume"])
def test_variants_share_ids_questions_and_choices(built: dict[tuple[str, str], list[Row]], level: str) -> None:
    released = {row["sample_id"]: row for row in built["released", level]}
    corrected = {row["sample_id"]: row for row in built["corrected", level]}
    assert released.keys() == corrected.keys()
    for name, row in released.items():
        other = corrected[name]
        for column in ("question", "options", "labels", "task", "question_type"):
            assert row[column] == other[column]
        if row["task"] not in ("localization", "captioning"):
            assert row["answer"] == other["answer"]
        if row["domain"] == "brain":
            assert row["boxes"] == other["boxes"]
            assert row["frames"] == other["frames"]


@pytest.mark.parametrize("variant", VARIANTS)
def test_boxes_in_the_answer_are_the_gold_boxes(built: dict[tuple[str, str], list[Row]], variant: str) -> None:
    n_localized = 0
    for row in [*built[variant, "image"], *built[variant, "volume"]]:
        if row["task"] != "localization":
            assert "<bbx>" not in row["answer"]
            continue
        found: Counter[tuple[int, ...]] = Counter()
        frame = 1
        for part in re.split(r"(?=Frame \d+: )", row["answer"]):
            number = re.match(r"Frame (\d+): ", part)
            frame = int(number[1]) if number else frame
            found.update((frame - 1, *map(int, box)) for box in BOX.findall(part))
        gold = Counter(
            (b["frame"], int(b["x0"]), int(b["y0"]), int(b["x1"] - b["x0"]), int(b["y1"] - b["y0"]))
            for b in row["boxes"]
        )
        assert found == gold
        n_localized += bool(gold)
        assert gold or row["answer"] == "No findings to localize"
    assert n_localized > 50


@pytest.mark.parametrize("variant", VARIANTS)
def test_choices_are_well_posed(built: dict[tuple[str, str], list[Row]], variant: str) -> None:
    n_multiple = 0
    for row in [*built[variant, "image"], *built[variant, "volume"]]:
        if "choice" not in row["question_type"]:
            assert row["options"] is None
            continue
        assert dict(OPTION.findall(row["question"])) == row["options"]
        letters = re.findall(r"\(([A-D])\)", row["answer"])
        right = {row["options"][letter] for letter in letters}
        wrong = set(row["options"].values()) - right
        assert right <= set(row["labels"])
        assert not wrong & set(row["labels"])
        assert wrong
        assert row["answer"] == ", ".join(f"({letter})" for letter in sorted(letters))
        assert row["question_type"] == "multiple_choice" or len(letters) == 1
        n_multiple += len(letters) > 1
    assert n_multiple > 10


def test_letters_of_right_answers_are_balanced(built: dict[tuple[str, str], list[Row]]) -> None:
    for domain in ("brain", "knee"):
        used = Counter(
            row["answer"]
            for row in built["corrected", "image"]
            if row["task"] == "diagnosis" and row["domain"] == domain
        )
        assert max(used.values()) - min(used[f"({letter})"] for letter in LETTERS) <= 1


def test_counts_differ_by_anatomy(built: dict[tuple[str, str], list[Row]]) -> None:
    """Brain counts boxes over all frames, knee counts labels (the released generators do)."""
    for row in built["corrected", "volume"]:
        if row["task"] == "counting":
            labels = {box["label"] for box in row["boxes"]}
            assert row["answer"] == str(len(row["boxes"]) if row["domain"] == "brain" else len(labels))


def test_rows_fit_the_schema_and_say_what_is_assumed(built: dict[tuple[str, str], list[Row]]) -> None:
    for (variant, level), rows in built.items():
        table = artifacts.to_table(rows, artifacts.SAMPLES)
        assert table.num_rows == len(rows)
        for row in rows:
            expected = ["size_assumed"] if row["domain"] == "brain" else []
            expected += ["n_frames_assumed"] if row["domain"] == "brain" and level == "volume" else []
            expected += ["frame_off_by_one"] if row["domain"] == "knee" and variant == "released" else []
            assert row["flags"] == sorted(expected)
            assert all((f["path"], f["width"], f["height"]) == (None, 320, 320) for f in row["frames"])


def test_same_seed_same_rows_other_seed_other_rows(folder: Path, built: dict[tuple[str, str], list[Row]]) -> None:
    assert build(folder, "corrected", "image") == built["corrected", "image"]
    assert build(folder, "corrected", "image", seed=8) != built["corrected", "image"]


def test_strata_follow_the_settings(built: dict[tuple[str, str], list[Row]]) -> None:
    """120 of 213 brain volumes have boxes, 107 of 247 are FLAIR, 38 of 742 slices are normal, in proportion."""
    volumes = {row["volume_id"]: row for row in built["corrected", "volume"] if row["domain"] == "brain"}
    assert len(volumes) == 18
    assert sum(bool(row["boxes"]) for row in volumes.values()) == round(18 * 120 / 213) == 10
    assert Counter(row["modality"] for row in volumes.values())["FLAIR"] == round(10 * 107 / 247) + round(8 * 107 / 247)
    slices = [row for row in built["corrected", "image"] if row["task"] == "detection"]
    assert Counter((row["domain"], row["answer"]) for row in slices) == {
        ("brain", "Yes"): 38,
        ("brain", "No"): 2,
        ("knee", "Yes"): 28,
        ("knee", "No"): 2,
    }
    yes = Counter(row["answer"] for row in built["corrected", "volume"] if row["task"] == "detection")
    assert yes["Yes"] == round(26 * 260 / 368)


def test_normal_slices_are_normal_under_either_numbering(built: dict[tuple[str, str], list[Row]]) -> None:
    for row in built["released", "image"]:
        if row["domain"] == "knee" and not row["boxes"]:
            source = row["frames"][0]["number"]
            shown = source - 1  # the array slice that PNG number `source` holds
            assert not expected_boxes("knee", row["volume_id"], source)
            assert not expected_boxes("knee", row["volume_id"], shown)


def test_global_disease_is_no_normal_volume(built: dict[tuple[str, str], list[Row]]) -> None:
    rows = [row for row in built["corrected", "volume"] if any("Small vessel" in label for label in row["labels"])]
    assert rows
    for row in rows:
        if row["task"] == "classification":
            right = row["options"][row["answer"].strip("()")]
            assert right == "Global label: Small vessel chronic white matter ischemic change"
        if row["task"] == "captioning":
            assert "small vessel chronic white matter ischemic change" in row["answer"]


@pytest.mark.parametrize(
    ("changes", "setting"),
    [
        ({"brain_volumes": 200}, "data.open.brain_volumes"),
        ({"brain_images": 400}, "data.open.brain_images"),
        ({"knee_images": 400}, "data.open.knee_images"),
    ],
)
def test_asking_for_too_much_names_the_setting(folder: Path, changes: dict[str, int], setting: str) -> None:
    with pytest.raises(UserError, match=re.escape(setting)):
        build(folder, "corrected", "image", **changes)


def knee_volume(*findings: Finding) -> Volume:
    return Volume("knee", "file1", "knee", 30, 320, 320, findings)


def test_a_box_on_slice_0_of_a_knee_has_no_released_frame() -> None:
    with pytest.raises(UserError, match="slice 0, which no frame holds"):
        open_select.renumbered(knee_volume(Finding(1, 1, 2, 3, 4, "Meniscus Tear")))


def test_a_slice_beyond_the_volume_is_refused(folder: Path) -> None:
    with pytest.raises(UserError, match=r"knee\.csv: volume 'file1000000' has a box on slice 15, expected 0 to 14"):
        rebuild.rebuild(settings(), benchmark("sgmri-open-corrected-image"), folder, [("file1000000", 15)])


def test_a_brain_volume_without_sequence_in_its_name_is_refused() -> None:
    with pytest.raises(UserError, match="AXFLAIR"):
        open_select.modality("file_brain_AXT2_200_2000001")


# --- words ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("x", "width", "released", "corrected"),
    [
        (52, 111, "right", "right"),  # published example: left edge 52
        (129, 10, "right", "right"),
        (130, 10, "left", "right"),  # wholly in the image's left half, yet released as left
        (140, 20, "left", "right"),
        (120, 100, "right", "left"),  # reaches from 120 to 220: its centre, 170, lies right of the middle
        (160, 10, "left", "left"),
        (155, 10, "left", "left"),  # its centre is the middle itself
    ],
)
def test_side_of_a_brain_box(x: int, width: int, released: str, corrected: str) -> None:
    volume = Volume("brain", "v", "FLAIR", 16, 320, 320, ())
    finding = Finding(1, x, 80, width, 30, "Mass")
    assert wording.place([finding], volume, "left_edge_130") == f"in the {released} hemisphere"
    assert wording.place([finding], volume, "centre") == f"in the {corrected} hemisphere"


def test_side_depends_on_the_true_width() -> None:
    finding = Finding(1, 120, 80, 30, 30, "Mass")  # centre 135
    narrow, wide = (Volume("brain", "v", "FLAIR", 16, width, width, ()) for width in (256, 320))
    assert wording.place([finding], narrow, "centre") == "in the left hemisphere"
    assert wording.place([finding], wide, "centre") == "in the right hemisphere"


def test_image_localization_has_the_released_shapes() -> None:
    """Shapes and literals of the released answers (edema box of a published example; knee and several boxes alike)."""
    edema = Finding(7, 52, 82, 111, 197, "Edema")
    brain = Volume("brain", "v", "FLAIR", 16, 320, 320, (edema,))
    item = open_image.localization(brain, [edema], "left_edge_130")
    assert item.question == "Where is the edema located in this image?"
    assert item.answer == "In the right hemisphere, <bbx>[52,82,111,197]</bbx>"
    sprain = Finding(7, 156, 154, 21, 39, "Ligament - ACL Low Grade sprain")
    item = open_image.localization(knee_volume(sprain), [sprain], "centre")
    assert item.answer == "At the ACL in the intercondylar region, <bbx>[156,154,21,39]</bbx>"
    spots = [Finding(7, x, y, w, 7, "Nonspecific white matter lesion") for x, y, w in ((91, 132, 7), (210, 170, 7))]
    item = open_image.localization(brain, spots, "centre")
    assert item.answer == "In the bilateral hemispheres, <bbx>[91,132,7,7]</bbx>, <bbx>[210,170,7,7]</bbx>"
    item = open_image.localization(brain, [edema, spots[1]], "centre")
    assert item.question == "Where are all areas of edema and nonspecific white matter lesion located in this image?"
    assert item.answer == (
        "Edema in the right hemisphere, <bbx>[52,82,111,197]</bbx>; nonspecific white matter lesion in the left "
        "hemisphere, <bbx>[210,170,7,7]</bbx>"
    )
    assert open_image.localization(brain, [], "centre").answer == "No findings to localize"


def test_volume_localization_has_the_released_shapes() -> None:
    boxes = (Finding(1, 52, 82, 111, 197, "Edema"), Finding(2, 56, 90, 104, 186, "Edema"))
    item = open_volume.localization(Volume("brain", "v", "T1", 16, 320, 320, boxes), "centre")
    assert item.question_type == "closed_ended"
    assert item.answer == (
        "Located in the right hemisphere, Frame 1: <bbx>[52,82,111,197]</bbx>, Frame 2: <bbx>[56,90,104,186]</bbx>"
    )
    tears = (Finding(21, 108, 168, 15, 10, "Meniscus Tear"), Finding(22, 106, 167, 17, 14, "Meniscus Tear"))
    item = open_volume.localization(knee_volume(*tears), "centre")
    assert item.question_type == "open_ended"
    assert item.answer == (
        "Meniscus tear at the meniscus on the left side of the image: Frame 21: <bbx>[108,168,15,10]</bbx>; "
        "Frame 22: <bbx>[106,167,17,14]</bbx>."
    )


LABELS = """Nonspecific white matter lesion|Posttreatment change|Craniotomy|Nonspecific lesion|Possible artifact|Mass
Edema|Dural thickening|Enlarged ventricles|Resection cavity|Encephalomalacia|Lacunar infarct|Extra-axial mass
Normal variant|Craniectomy with Cranioplasty|Paranasal sinus opacification|Craniectomy|Likely cysts
Intraventricular substance|Absent septum pellucidum|Pineal cyst|Meniscus Tear|Cartilage - Partial Thickness loss/defect
Joint Effusion|Bone-Fracture/Contusion/dislocation|Bone- Subchondral edema|Periarticular cysts
Ligament - ACL Low Grade sprain|Ligament - ACL High Grade Sprain|Cartilage - Full Thickness loss/defect
Ligament - MCL Low-Mod Grade Sprain|Displaced Meniscal Tissue|Bone - Lesion|Ligament - PCL Low-Mod grade sprain
LCL Complex - Low-Mod Grade Sprain|Soft Tissue Lesion|Muscle Strain|Joint Bodies|Ligament - PCL High Grade
Patellar Retinaculum - High grade sprain|LCL Complex- High Grade Sprain|Ligament - MCL High Grade sprain"""
ALL_LABELS = LABELS.replace("\n", "|").split("|")


@pytest.mark.parametrize("label", ALL_LABELS)
def test_a_phrase_keeps_every_word_of_its_label(label: str) -> None:
    def words(text: str) -> set[str]:
        return set(re.findall(r"[a-z]+", text.lower()))

    assert words(label) <= words(wording.phrase(label))


def test_phrases_are_distinct() -> None:
    assert len(ALL_LABELS) == 42
    assert len({wording.phrase(label) for label in ALL_LABELS}) == 42


@pytest.mark.parametrize(
    ("frames", "text"),
    [
        ([4], "frame 4"),
        ([2, 3, 4, 7], "frames 2 to 4 and 7"),
        ([5, 1, 1], "frames 1 and 5"),
        ([1, 3, 5], "frames 1, 3 and 5"),
    ],
)
def test_frame_span(frames: list[int], text: str) -> None:
    assert wording.frame_span(Finding(frame, 0, 0, 1, 1, "Mass") for frame in frames) == text


@pytest.mark.parametrize(
    ("findings", "label"),
    [
        ([], "Normal"),
        ([(10, "Mass"), (9, "Edema")], "Mass"),
        ([(6, "Mass"), (7, "Edema"), (6, "Mass")], "Mass"),
        ([(5, "Mass"), (5, "Edema")], "Edema"),
        ([(0, "Mass")], "Mass"),
    ],
)
def test_the_leading_finding_covers_the_largest_area(findings: list[tuple[int, str]], label: str) -> None:
    assert open_image.leading([Finding(1, 0, 0, size, 1, name) for size, name in findings]) == label


# --- choices --------------------------------------------------------------------------------------------------------

TEXTS = st.lists(st.text("abcdefgh", min_size=1, max_size=4), min_size=2, max_size=4, unique=True)


@given(st.lists(st.tuples(TEXTS, st.integers(1, 3)), min_size=1, max_size=12), st.integers(0, 5))
def test_options_carry_every_text_once_and_the_letters_point_to_the_right_ones(
    questions: list[tuple[list[str], int]], seed: int
) -> None:
    draw, again = Draw(seed), Draw(seed)
    for number, (texts, split) in enumerate(questions):
        right, wrong = texts[: min(split, len(texts) - 1)], texts[min(split, len(texts) - 1) :]
        options, letters = draw.options("kind", right, wrong, number)
        assert list(options) == list(LETTERS[: len(texts)])
        assert sorted(options.values()) == sorted(texts)
        assert {options[letter] for letter in letters} == set(right)
        assert again.options("kind", right, wrong, number) == (options, letters)


@given(st.integers(1, 60), st.integers(0, 5))
def test_single_choices_use_every_letter_alike(n: int, seed: int) -> None:
    draw = Draw(seed)
    used = Counter(draw.options("kind", ["a"], ["b", "c", "d"], i)[1][0] for i in range(n))
    assert max(used.values()) - min(used[letter] for letter in LETTERS) <= 1


# --- the real annotations -------------------------------------------------------------------------------------------


@needs_real
def test_the_real_rebuild_has_the_released_sizes() -> None:
    """1,492 slices, 368 volumes, 9,293 items, 42.2 / 36.1 / 21.7 % closed, choice, open (published test mix)."""
    data = DataSettings.model_validate({"fastmri_plus": REAL})
    for variant in VARIANTS:
        rows = [
            row
            for level in ("image", "volume")
            for row in rebuild.build(data, benchmark(f"sgmri-open-{variant}-{level}"))
        ]
        assert len(rows) == len({row["sample_id"] for row in rows}) == 9293
        tasks = Counter((row["level"], row["task"], row["domain"]) for row in rows)
        for task in ("detection", "classification", "diagnosis", "captioning"):
            assert (tasks["image", task, "brain"], tasks["image", task, "knee"]) == (742, 750)
        assert tasks["image", "localization", "brain"] + tasks["image", "localization", "knee"] == 1485
        for task in ("detection", "counting", "classification", "localization", "captioning"):
            assert (tasks["volume", task, "brain"], tasks["volume", task, "knee"]) == (213, 155)
        types = Counter(row["question_type"] for row in rows)
        choice = types["single_choice"] + types["multiple_choice"]
        shares = [round(100 * n / len(rows), 1) for n in (types["closed_ended"], choice, types["open_ended"])]
        assert shares == [42.2, 36.1, 21.7]
        answers = Counter((row["level"], row["answer"]) for row in rows if row["task"] == "detection")
        assert answers == {("image", "Yes"): 1416, ("image", "No"): 76, ("volume", "Yes"): 260, ("volume", "No"): 108}
        frames = {
            f["number"] for row in rows if row["domain"] == "knee" and row["level"] == "image" for f in row["frames"]
        }
        assert max(frames) <= 46


@needs_real
def test_the_released_side_rule_is_wrong_on_836_real_boxes() -> None:
    """836 of 7,570 brain boxes, 361 of the 5,909 that lie wholly on one side: the known size of the defect."""
    with (Path(str(REAL)) / "brain.csv").open(newline="") as handle:
        boxes = [row for row in csv.DictReader(handle) if row["study_level"] == "No"]
    findings = [Finding(1, int(b["x"]), int(b["y"]), int(b["width"]), int(b["height"]), b["label"]) for b in boxes]
    wrong = [f for f in findings if wording.is_right(f, 320, "left_edge_130") != wording.is_right(f, 320, "centre")]
    one_sided = [f for f in wrong if f.x + f.width <= 160 or f.x >= 160]
    assert (len(findings), len(wrong), len(one_sided)) == (7570, 836, 361)
