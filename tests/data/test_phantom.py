"""The demo's phantoms: boxes known to the pixel, findings that can be seen, files in the released layout."""

from __future__ import annotations

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from PIL import Image
from slicewise.data import phantom
from slicewise.data.phantom import irregular, recipes, texture
from slicewise.data.phantom.lesions import EDGE, Lesion, boxed
from slicewise.data.phantom.recipes import Subject
from slicewise.data.questions import Volume
from slicewise.errors import UserError
from slicewise.infer import blob
from slicewise.params import DemoSettings

SMALL = DemoSettings(brain_volumes=1, knee_volumes=1, seed=3)
BOX = re.compile(r"<bbx>\[(\d+),(\d+),(\d+),(\d+)\]</bbx>")
Record = dict[str, Any]


@pytest.fixture(scope="module")
def subjects() -> list[Subject]:
    """The demo as it comes."""
    demo = DemoSettings()
    return recipes.subjects(demo.brain_volumes, demo.knee_volumes, demo.seed)


@pytest.fixture(scope="module")
def volumes(subjects: list[Subject]) -> list[Volume]:
    return [subject.volume() for subject in subjects]


@pytest.fixture(scope="module")
def questions(volumes: list[Volume]) -> dict[tuple[str, str], list[Record]]:
    return phantom.questions(volumes, DemoSettings().seed)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("demo")
    phantom.make(SMALL, out)
    return out


def records(questions: dict[tuple[str, str], list[Record]], **fields: str) -> list[Record]:
    everything = [record for made in questions.values() for record in made]
    return [record for record in everything if all(record[name] == value for name, value in fields.items())]


# --- files ----------------------------------------------------------------------------------------------------------


def digests(folder: Path) -> dict[str, str]:
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_layout_is_the_released_one_with_frames(written: Path) -> None:
    for domain in ("brain", "knee"):
        for level in ("image", "volume"):
            (file,) = (written / domain / "test" / f"{level}_qa").iterdir()
            assert isinstance(json.loads(file.read_text()), list)
    knee = json.loads((written / "knee/test/volume_qa/knee_test_volume_qa.json").read_text())[0]
    names = sorted(path.name for path in (written / "frames" / knee["volume_id"]).iterdir())
    assert names == [f"{knee['volume_id']}_slice_{number:03d}.png" for number in range(1, knee["num_slices"] + 1)]


def test_same_seed_same_bytes_and_a_second_call_replaces_the_first(written: Path) -> None:
    first = digests(written)
    (written / "frames" / "left_over").mkdir()
    (written / "frames" / "left_over" / "stray.png").write_bytes(b"")
    (written / ".4711.tmp" / "frames").mkdir(parents=True)  # a call was killed
    (written / ".4711.tmp" / "frames" / "half.png").write_bytes(b"")
    phantom.make(SMALL, written)
    assert digests(written) == first
    declared = json.loads((written / phantom.MANIFEST).read_text())
    assert declared["files"] == {name: d for name, d in first.items() if name.split("/")[0] in phantom.PARTS}
    assert declared["settings"] == {"brain_volumes": 1, "knee_volumes": 1, "seed": 3}


def test_a_folder_with_other_files_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "brain").mkdir()
    (tmp_path / "brain" / "thesis.txt").write_text("mine")
    with pytest.raises(UserError, match="holds files that are no phantoms"):
        phantom.make(SMALL, tmp_path)
    assert digests(tmp_path).keys() == {"brain/thesis.txt"}


def test_frames_are_8_bit_grey_at_native_size(written: Path) -> None:
    for path in (written / "frames").rglob("*.png"):
        with Image.open(path) as image:
            assert (image.mode, image.size) == ("L", (320, 320))
            pixels = np.asarray(image)
        assert pixels.max() == 255
        assert 0.1 < (pixels > 40).mean() < 0.9  # a body with air around it


# --- images and boxes -----------------------------------------------------------------------------------------------


def test_the_demo_has_both_anatomies_normal_volumes_and_another_size(volumes: list[Volume]) -> None:
    assert [volume.domain for volume in volumes] == ["brain"] * 6 + ["knee"] * 6
    assert {volume.width for volume in volumes} == {256, 320}
    assert {volume.modality for volume in volumes} == {"FLAIR", "T1", "knee"}
    assert [not volume.findings for volume in volumes].count(True) == 2
    assert all(volume.n_frames == 16 for volume in volumes[:6])
    assert all(27 <= volume.n_frames <= 32 for volume in volumes[6:])
    for volume in volumes:
        known = set(phantom.VOCABULARY[volume.domain])
        assert volume.labels <= known
        assert len(known - volume.labels) >= 3


def test_boxes_lie_in_their_frame(volumes: list[Volume]) -> None:
    for volume in volumes:
        for finding in volume.findings:
            assert 1 <= finding.frame <= volume.n_frames
            assert 0 <= finding.x < finding.x + finding.width <= volume.width
            assert 0 <= finding.y < finding.y + finding.height <= volume.height
            assert min(finding.width, finding.height) >= 4


@given(st.lists(st.tuples(st.integers(0, 11), st.integers(0, 8)), min_size=1, max_size=20), st.integers(0, 5))
def test_a_box_is_tight_around_its_pixels(points: list[tuple[int, int]], frame: int) -> None:
    share = np.full((12, 9), EDGE - 0.01)
    for row, column in points:
        share[row, column] = EDGE
    finding = boxed("Mass", share, frame)
    assert finding is not None
    assert finding.frame == frame + 1
    rows, columns = {row for row, _ in points}, {column for _, column in points}
    assert (finding.y, finding.y + finding.height - 1) == (min(rows), max(rows))
    assert (finding.x, finding.x + finding.width - 1) == (min(columns), max(columns))


def test_no_pixels_no_box() -> None:
    assert boxed("Mass", np.zeros((4, 4)), 0) is None


def test_findings_change_the_signal_where_their_boxes_are(subjects: list[Subject]) -> None:
    """Independent of the boxes' own code: the drawn frame with findings against the bare anatomy."""
    for subject in subjects:
        lesions = [lesion for lesion in subject.scan.lesions if lesion.look != "ventricles"]
        for lesion in lesions[:2]:
            change = np.abs(subject.scan.signal(lesion.frame) - subject.scan.anatomy(lesion.frame))
            elsewhere = change.copy()
            for box in subject.scan.findings(lesion.frame):
                elsewhere[box.y - 1 : box.y + box.height + 1, box.x - 1 : box.x + box.width + 1] = 0
                if box.label != "Enlarged ventricles":  # drawn with the anatomy
                    inside = change[box.y : box.y + box.height, box.x : box.x + box.width]
                    assert (inside > 0.05).mean() > 0.3, box
                    for edge in (inside[0], inside[-1], inside[:, 0], inside[:, -1]):
                        assert edge.max() > 0.05, box
            assert elsewhere.max() < 0.6 * change.max()


def test_frames_without_findings_are_bare_anatomy(subjects: list[Subject]) -> None:
    scan = subjects[0].scan
    assert not scan.findings(1)
    np.testing.assert_array_equal(scan.signal(1), scan.anatomy(1))


def test_a_finding_shrinks_away_from_its_central_frame() -> None:
    lesion = Lesion("Mass", "solid", 160, 160, 20, 20, frame=8, reach=2, rough=0.0)
    areas = [0.0 if (s := lesion.share(frame, 320, 1)) is None else float(s.sum()) for frame in range(16)]
    assert areas[:6] == [0.0] * 6
    assert areas[6] < areas[7] < areas[8] > areas[9] > areas[10]
    assert areas[11:] == [0.0] * 5


def test_a_smaller_frame_shows_the_same_at_its_own_scale() -> None:
    lesion = Lesion("Mass", "solid", 160, 200, 24, 16, frame=8, reach=2, rough=0.0)
    shares = {size: lesion.share(8, size, 1) for size in (256, 320)}
    boxes = {size: boxed("Mass", share, 8) for size, share in shares.items() if share is not None}
    small, large = boxes[256], boxes[320]
    assert small is not None
    assert large is not None
    for name in ("x", "y", "width", "height"):
        assert getattr(small, name) == pytest.approx(getattr(large, name) * 0.8, abs=1.5)


def overlap(box: Any, found: blob.Blob) -> float:
    width = min(box.x + box.width, found.x1) - max(box.x, found.x0)
    height = min(box.y + box.height, found.y1) - max(box.y, found.y0)
    shared = max(0, width) * max(0, height)
    return shared / (box.width * box.height + (found.x1 - found.x0) * (found.y1 - found.y0) - shared)


def test_a_classical_detector_sees_the_findings(subjects: list[Subject]) -> None:
    """Best of three blobs against the true boxes, and against the boxes of other frames as chance."""
    hits, chance = [], []
    frames = [(s, k) for s in subjects if s.domain == "knee" for k in range(s.n_frames) if s.scan.findings(k)][::5]
    assert len(frames) >= 6
    for place, (subject, frame) in enumerate(frames):
        blobs = blob.find(subject.scan.pixels(frame) / 255.0)[:3]
        other_subject, other_frame = frames[(place + len(frames) // 2) % len(frames)]
        for scores, boxes in (
            (hits, subject.scan.findings(frame)),
            (chance, other_subject.scan.findings(other_frame)),
        ):
            scores += [max((overlap(box, found) for found in blobs), default=0.0) for box in boxes]
    assert np.mean(hits) > 0.25
    assert np.mean(hits) > 3 * np.mean(chance)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**31), st.integers(5, 60), st.floats(2.0, 40.0))
def test_smooth_noise_is_smooth_and_depends_on_its_names_alone(seed: int, size: int, scale: float) -> None:
    field, again = (texture.smooth_noise(texture.generator(seed, "a"), (size, size), (scale, scale)) for _ in "ab")
    np.testing.assert_array_equal(field, again)
    assert field.shape == (size, size)
    assert np.isfinite(field).all()


# --- questions ------------------------------------------------------------------------------------------------------


def test_every_question_kind_and_type_occurs(questions: dict[tuple[str, str], list[Record]]) -> None:
    kinds = {(r["level"], domain, r["task"], r["type"]) for (domain, _), made in questions.items() for r in made}
    for domain in ("brain", "knee"):
        for level, tasks in (
            ("slice", ("detection", "localization", "classification", "diagnosis", "captioning")),
            ("volume", ("detection", "localization", "counting", "classification", "captioning")),
        ):
            assert {task for lv, d, task, _ in kinds if (lv, d) == (level, domain)} == set(tasks)
        assert ("slice", domain, "diagnosis", "open_ended") in kinds
        assert ("slice", domain, "diagnosis", "single_choice") in kinds
        assert ("slice", domain, "classification", "multiple_choice") in kinds
    assert ("slice", "brain", "classification", "closed_ended") in kinds
    assert ("volume", "brain", "localization", "closed_ended") in kinds
    assert ("volume", "knee", "localization", "open_ended") in kinds


ONE_BOX = r"<bbx>\[\d+,\d+,\d+,\d+\]</bbx>"
SHAPES = {
    ("slice", "detection"): [r"Yes", r"No"],
    ("volume", "detection"): [r"Yes", r"Yes\.", r"No"],
    ("slice", "localization"): [
        rf"In the (left|right) hemisphere, {ONE_BOX}",
        rf"In the bilateral hemispheres, {ONE_BOX}, {ONE_BOX}(, {ONE_BOX})*",
        rf"At the ACL in the intercondylar region, {ONE_BOX}",
        r"No findings to localize",
    ],
    ("slice", "classification"): [r"\([A-D]\)", r"\([A-D]\), \([A-D]\)", r"FLAIR", r"\([A-D]\) [^,]+, \([A-D]\) [^,]+"],
    ("volume", "classification"): [r"\([A-D]\)", r"\([A-D]\), \([A-D]\)"],
    ("slice", "diagnosis"): [r"\([A-D]\)", r"\([A-D]\) [A-Z].+", r"Edema, Mass"],
    ("volume", "localization"): [
        rf"Located in the ventricles, Frame \d+: {ONE_BOX}.*|.* located in the .*, Frame \d+: {ONE_BOX}.*",
        rf"Frame \d+: {ONE_BOX}(, Frame \d+: {ONE_BOX})+",
        rf".* on Frame \d+ to \d+: Frame \d+: {ONE_BOX}, Frame .*",
        rf".* on Frame \d+ \({ONE_BOX}\)\..*",
        rf".*: Frame \d+: {ONE_BOX}; Frame \d+: {ONE_BOX}.*\.",
    ],
}


@pytest.mark.parametrize(("level", "task", "shape"), [(*key, s) for key, shapes in SHAPES.items() for s in shapes])
def test_every_answer_shape_occurs(
    questions: dict[tuple[str, str], list[Record]], level: str, task: str, shape: str
) -> None:
    answers = [record["answer"] for record in records(questions, level=level, task=task)]
    assert any(re.fullmatch(shape, answer) for answer in answers), answers


def test_the_irregularities_of_the_released_files_occur(questions: dict[tuple[str, str], list[Record]]) -> None:
    counts = [record["answer"] for record in records(questions, task="counting")]
    assert {type(count) for count in counts} == {int, str}
    everything = records(questions)
    assert all("choices" not in record for made in (questions["knee", "image"],) for record in made)
    brain = [r for r in questions["brain", "image"] if r["type"] in ("single_choice", "multiple_choice")]
    assert {"choices" in record for record in brain} == {True, False}
    assert any(label.endswith(" ") for r in everything for label in r["ground_truth"].get("labels", []))
    assert any("<bbx>" in record["reasoning"] for record in everything)
    assert {"domain" in record for record in everything} == {True, False}
    assert not any(record.get("ground_truth", {}).get("bboxes") for record in everything if record["level"] == "volume")


def test_one_question_names_one_of_several_findings(questions: dict[tuple[str, str], list[Record]]) -> None:
    """The released questions do, while their gold keeps all boxes of the slice."""
    partial = [
        record
        for record in records(questions, level="slice", task="localization")
        if 0 < len(BOX.findall(record["answer"])) < len(record["ground_truth"]["bboxes"])
    ]
    assert partial
    for record in partial:
        assert record["question"].startswith("Where ")
        assert not re.match(r"\w+ (mass|edema|tear)", record["answer"])


def test_volume_answers_hold_every_box_of_the_volume(
    questions: dict[tuple[str, str], list[Record]], volumes: list[Volume]
) -> None:
    by_name = {volume.volume_id: volume for volume in volumes}
    for record in records(questions, level="volume", task="localization"):
        found = sorted(tuple(map(int, box)) for box in BOX.findall(record["answer"]))
        assert found == sorted((f.x, f.y, f.width, f.height) for f in by_name[record["volume_id"]].findings)


def test_the_range_form_names_single_frames_in_brackets() -> None:
    record = {
        "answer": "Meniscus tear at the meniscus: Frame 3: <bbx>[1,2,3,4]</bbx>; Frame 4: <bbx>[5,6,7,8]</bbx>. "
        "Joint effusion in the joint space: Frame 9: <bbx>[1,1,2,2]</bbx>."
    }
    irregular._frame_range_first(record)
    assert record["answer"] == (
        "Meniscus tear at the meniscus on Frame 3 to 4: Frame 3: <bbx>[1,2,3,4]</bbx>, Frame 4: <bbx>[5,6,7,8]</bbx>. "
        "Joint effusion in the joint space on Frame 9 (<bbx>[1,1,2,2]</bbx>)."
    )


def test_frame_numbers_of_slices_and_boxes_agree(
    questions: dict[tuple[str, str], list[Record]], volumes: list[Volume]
) -> None:
    """Frame k shows array index k - 1 in both anatomies; a record's boxes are those planted on that frame."""
    by_name = {volume.volume_id: volume for volume in volumes}
    asked = records(questions, level="slice", task="captioning")
    assert len(asked) == 40
    for record in asked:
        planted = by_name[record["volume_id"]].on(record["slice_num"])
        gold = [(b["x"], b["y"], b["width"], b["height"]) for b in record["ground_truth"]["bboxes"]]
        assert gold == [(f.x, f.y, f.width, f.height) for f in planted]
        assert record["image_path"].endswith(f"{record['volume_id']}_slice_{record['slice_num']:03d}.png")


def test_a_larger_demo_repeats_the_recipes_with_other_scans() -> None:
    many = recipes.subjects(8, 1, 5)
    assert [subject.volume_id[-3:] for subject in many[:8]] == [f"{n:03d}" for n in range(1, 9)]
    assert [l.label for l in many[0].scan.lesions] == [l.label for l in many[6].scan.lesions]  # noqa: E741
    assert many[0].scan.seed != many[6].scan.seed
