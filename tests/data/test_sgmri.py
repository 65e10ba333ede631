"""The loader of the released files: layouts, irregular fields, malformed records, frames."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st
from slicewise import artifacts
from slicewise.cli import cli
from slicewise.data import run, sgmri
from slicewise.data.records import Record, read_record
from slicewise.errors import ManyErrors, UserError
from slicewise.jobs import DataJob
from slicewise.params import DataSettings, DemoSettings, Frames, SgmriSettings


def _sibling(name: str) -> ModuleType:
    """Import a helper beside this file; tests are no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


released = _sibling("released")
BRAIN, KNEE, EDEMA = released.BRAIN, released.KNEE, released.EDEMA


def source(root: Path, level: str = "image", frames: Frames = Frames.NONE, **changes: Any) -> sgmri.Source:
    settings: dict[str, Any] = {"path": root, "split": "test", "level": level, "frames": frames, "benchmark": "b"}
    return sgmri.Source(**{**settings, "frames_root": root / "frames", **changes})


def both(root: Path, level: str, brain: list[Any], knee: list[Any], **where: str) -> None:
    released.write(root, "brain", level, brain, **where)
    released.write(root, "knee", level, knee, **where)


def one(root: Path, record: Any, level: str = "image", domain: str = "brain", **changes: Any) -> dict[str, Any]:
    """The row of a single record."""
    released.write(root, domain, level, [record])
    rows = sgmri.load(source(root, level, domains=(domain,), **changes)).rows
    assert len(rows) == 1
    return rows[0]


# --- layouts --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("level", ["image", "volume"])
def test_every_layout_gives_the_same_rows(tmp_path: Path, level: str) -> None:
    make = released.image if level == "image" else released.volume
    rows = []
    for layout in released.LAYOUTS:
        for split in ("test", "val"):
            root = tmp_path / layout / split
            both(root, level, [make("brain")], [make("knee")], split=split, layout=layout)
            rows += [sgmri.load(source(root, level, split=asked)).rows for asked in ("test", "val")]
    assert len(rows) == 12
    assert all(other == rows[0] for other in rows)
    assert [row["domain"] for row in rows[0]] == ["brain", "knee"]


def test_train_is_another_split(tmp_path: Path) -> None:
    both(tmp_path, "image", [released.image()], [released.image("knee")])
    both(tmp_path, "image", [released.image(answer="No")], [released.image("knee")], split="train")
    assert sgmri.load(source(tmp_path)).rows[0]["answer"] == "Yes"
    assert sgmri.load(source(tmp_path, split="train")).rows[0]["answer"] == "No"


def test_other_json_files_are_left_alone(tmp_path: Path) -> None:
    both(tmp_path, "image", [released.image()], [released.image("knee")])
    (tmp_path / "croissant.json").write_text("{}")
    (tmp_path / "brain" / "brain_val_volumes.json").write_text("{}")
    assert len(sgmri.load(source(tmp_path)).rows) == 2


@pytest.mark.parametrize("second", [{"split": "val"}, {"layout": "first release"}])
def test_two_places_for_the_same_questions(tmp_path: Path, second: dict[str, str]) -> None:
    both(tmp_path, "image", [released.image()], [released.image("knee")])
    released.write(tmp_path, "brain", "image", [released.image()], **second)
    with pytest.raises(UserError, match="for the brain lie in 2 places"):
        sgmri.load(source(tmp_path))


def test_a_missing_anatomy_is_an_error(tmp_path: Path) -> None:
    released.write(tmp_path, "brain", "image", [released.image()])
    with pytest.raises(
        UserError, match=r"no image-level questions of the split 'test' for the knee; expected 'knee/test"
    ):
        sgmri.load(source(tmp_path))
    with pytest.raises(UserError, match=r"no such folder; .*`slicewise data fetch sgmri`"):
        sgmri.load(source(tmp_path / "nowhere"))


BROKEN = [
    ("[{]", r"questions.json: is not valid JSON \(.* at line 1, column 3\)"),
    ('{"records": []}', r"found a JSON object, expected a list"),
    ("[]", r"found an empty list, expected a list of at least one record"),
    ('[{"slice_num": NaN}]', r"holds the number NaN; JSON knows no such number"),
    (b"\xff\xfe[]", r"is not UTF-8 text"),
]


@pytest.mark.parametrize(("content", "message"), BROKEN)
def test_a_broken_file_is_named(tmp_path: Path, content: str | bytes, message: str) -> None:
    target = released.write(tmp_path, "brain", "image", [])
    target.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(UserError, match=message):
        sgmri.load(source(tmp_path, domains=("brain",)))


# --- irregular fields -----------------------------------------------------------------------------------------------

MCQ = {"task": "diagnosis", "type": "single_choice", "question": f"What is the most likely finding?{released.OPTIONS}"}
BRACKETS = {"(a)": "Mass ", "B.": "Edema", "C": "Cyst", "D)": "Infarct"}
LETTERS = {"A": "Mass", "B": "Edema", "C": "Cyst", "D": "Infarct"}
IMAGE_CASES: list[tuple[str, dict[str, Any], dict[str, Any], list[str]]] = [
    ("as released", {}, {"answer": "Yes", "labels": ["Edema"], "options": None}, []),
    ("domain given", {"domain": "brain"}, {}, []),
    ("level named image", {"level": "image_level"}, {}, []),
    ("no level", {"level": ...}, {}, []),
    ("trailing blanks", {"ground_truth": {"labels": ["Joint  Effusion ", "Mass", "Mass"]}},
     {"labels": ["Joint Effusion", "Mass"]}, []),
    ("one label as text", {"ground_truth": {"labels": "Edema "}}, {"labels": ["Edema"]}, []),
    ("diagnosis only", {"ground_truth": {"diagnosis": ["Normal for age"]}}, {"labels": ["Normal for age"]}, []),
    ("no labels", {"ground_truth": {"bboxes": []}}, {"labels": [], "boxes": []}, ["no_labels"]),
    ("padded answer", {"answer": " No \n"}, {"answer": "No"}, []),
    ("integer answer", {"answer": 6}, {"answer": "6"}, ["answer_not_text"]),
    ("float answer", {"answer": 6.0}, {"answer": "6"}, ["answer_not_text"]),
    ("boolean answer", {"answer": True}, {"answer": "Yes"}, ["answer_not_text"]),
    ("answer as list", {"answer": ["(A)", "(C)"]}, {"answer": "(A), (C)"}, ["answer_not_text"]),
    ("no reasoning", {"reasoning": None}, {"reasoning": None}, []),
    ("blank reasoning", {"reasoning": "  "}, {"reasoning": None}, []),
    ("no modality", {"modality": ...}, {"modality": None}, []),
    ("integer as text", {"slice_num": "7"}, {}, ["slice_num_not_integer"]),
    ("slice from the path", {"slice_num": ...}, {}, ["slice_num_from_path"]),
    ("slice against the path", {"image_path": "x_slice_008.png"}, {}, ["slice_num_contradicts_path"]),
    ("no path", {"image_path": ...}, {}, []),
    ("alias", {**MCQ, "type": "multi_choice"}, {"question_type": "multiple_choice"}, ["type_alias"]),
    ("alias of the card", {"type": "Yes-No"}, {"question_type": "closed_ended"}, ["type_alias"]),
    ("chain of thought", {"type": "chain_of_thought"}, {"question_type": "open_ended"}, ["type_alias"]),
    ("case of the type", {"type": "Closed_Ended "}, {"question_type": "closed_ended"}, []),
    ("inline options", MCQ, {"options": LETTERS}, []),
    ("inline options and choices", {**MCQ, "choices": LETTERS}, {"options": LETTERS}, []),
    ("choices with brackets", {**MCQ, "choices": BRACKETS}, {"options": LETTERS}, []),
    ("choices as list", {**MCQ, "choices": list(LETTERS.values())}, {"options": LETTERS}, ["choices_as_list"]),
    ("choices differ", {**MCQ, "choices": {"A": "Other"}}, {"options": LETTERS}, ["choices_differ_from_question"]),
    ("choices only", {**MCQ, "question": "Which?", "choices": LETTERS}, {"options": LETTERS},
     ["options_not_in_question"]),
    ("no options at all", {**MCQ, "question": "Which?"}, {"options": None}, ["no_options"]),
    ("empty choices", {**MCQ, "choices": {}}, {"options": LETTERS}, []),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "expected", "flags"), [c[1:] for c in IMAGE_CASES], ids=[c[0] for c in IMAGE_CASES]
)
def test_irregular_image_records(
    tmp_path: Path, changes: dict[str, Any], expected: dict[str, Any], flags: list[str]
) -> None:
    row = one(tmp_path, released.image(**changes))
    assert {name: row[name] for name in expected} == expected
    assert row["flags"] == [*flags, "size_assumed"] or sorted(row["flags"]) == sorted([*flags, "size_assumed"])
    artifacts.to_table([row], artifacts.SAMPLES)


def box(frame: int | None, x: float, y: float, width: float, height: float, label: str | None = None) -> dict[str, Any]:
    return {"frame": frame, "x0": x, "y0": y, "x1": x + width, "y1": y + height, "label": label}


BOX_CASES: list[tuple[dict[str, Any], dict[str, Any], list[str]]] = [
    (EDEMA, box(0, 52, 82, 111, 197, "Edema"), []),
    ({**EDEMA, "label": "Edema "}, box(0, 52, 82, 111, 197, "Edema"), []),
    ({"x": 1, "y": 2, "width": 3, "height": 4}, box(0, 1, 2, 3, 4), []),
    ({"x": "1", "y": 2.5, "width": 3, "height": 4, "label": None}, box(0, 1, 2.5, 3, 4), ["box_number_as_text"]),
    ({**EDEMA, "frame": 7}, box(0, 52, 82, 111, 197, "Edema"), []),
    ({**EDEMA, "slice_num": 7}, box(0, 52, 82, 111, 197, "Edema"), []),
    ({**EDEMA, "frame": 1}, box(0, 52, 82, 111, 197, "Edema"), []),
    ({"x": 5, "y": -1, "width": 0, "height": 4, "label": "Mass"}, box(0, 5, -1, 0, 4, "Mass"), []),
]


@pytest.mark.parametrize(("raw", "expected", "flags"), BOX_CASES)
def test_image_boxes(tmp_path: Path, raw: dict[str, Any], expected: dict[str, Any], flags: list[str]) -> None:
    row = one(tmp_path, released.image(ground_truth={"labels": ["Edema"], "bboxes": [raw]}))
    assert row["boxes"] == [expected]
    assert row["flags"] == [*flags, "size_assumed"]


# --- malformed records ----------------------------------------------------------------------------------------------


def truth(*boxes: Any) -> dict[str, Any]:
    return {"ground_truth": {"labels": [], "bboxes": list(boxes)}}


MALFORMED: list[tuple[str, dict[str, Any], str, str, str]] = [
    ("no question", {"question": ...}, "question", "nothing", "a text"),
    ("blank question", {"question": " "}, "question", "' '", "a text"),
    ("no answer", {"answer": None}, "answer", "nothing", "a text"),
    ("answer is an object", {"answer": {"a": 1}}, "answer", "{'a': 1}", "a text"),
    ("no volume", {"volume_id": ...}, "volume_id", "nothing", "a text"),
    ("no task", {"task": ...}, "task", "nothing", "one of ['detection'"),
    ("unknown task", {"task": "unknown"}, "task", "'unknown'", "one of ['detection'"),
    ("task of the other level", {"task": "counting"}, "task", "'counting'", "one of ['detection'"),
    ("unknown type", {"type": "essay"}, "type", "'essay'", "one of ['closed_ended'"),
    ("level of another file", {"level": "volume"}, "level", "'volume'", "'image' as the file's path says"),
    ("domain of another file", {"domain": "knee"}, "domain", "'knee'", "'brain' as the file's path says"),
    ("slice 0", {"slice_num": 0}, "slice_num", "0", "a whole number of at least 1"),
    ("slice and a half", {"slice_num": 1.5}, "slice_num", "1.5", "a whole number of at least 1"),
    ("slice true", {"slice_num": True}, "slice_num", "True", "a whole number of at least 1"),
    ("no slice at all", {"slice_num": ..., "image_path": ...}, "slice_num", "nothing", "a whole number of at least 1"),
    ("reasoning is a list", {"reasoning": []}, "reasoning", "[]", "a text or nothing"),
    ("no ground truth", {"ground_truth": ...}, "ground_truth", "nothing", "an object with the labels"),
    ("labels are numbers", {"ground_truth": {"labels": [1]}}, "ground_truth.labels", "[1]", "a list of texts"),
    ("boxes are no list", {"ground_truth": {"labels": [], "bboxes": {}}}, "ground_truth.bboxes",
     "{}", "a list of boxes"),
    ("a box is null", truth(None), "ground_truth.bboxes[0]", "nothing", "an object"),
    ("no height", truth({"x": 1, "y": 1, "width": 1}), "ground_truth.bboxes[0].height",
     "nothing", "a number of pixels"),
    ("x is a word", truth({**EDEMA, "x": "left"}), "ground_truth.bboxes[0].x", "'left'", "a number of pixels"),
    ("box of another slice", truth({**EDEMA, "frame": 9}), "ground_truth.bboxes[0].frame",
     "9", "the record's own slice 7"),
    ("choices are a text", {"choices": "A, B"}, "choices", "'A, B'", "an object of letter and text"),
    ("a choice without a letter", {"choices": {"first": "Mass"}}, "choices.first", "'Mass'", "a letter with a text"),
]  # fmt: skip


@pytest.mark.parametrize(
    ("changes", "field", "found", "expected"), [c[1:] for c in MALFORMED], ids=[c[0] for c in MALFORMED]
)
def test_malformed_records_say_where_and_what(
    tmp_path: Path, changes: dict[str, Any], field: str, found: str, expected: str
) -> None:
    released.write(tmp_path, "brain", "image", [released.image(), released.image(**changes)])
    with pytest.raises(ManyErrors) as error:
        sgmri.load(source(tmp_path, domains=("brain",)))
    assert len(error.value.faults) == 1
    where = f"brain/test/image_qa/questions.json: record 1: field '{field}': found {found}, expected {expected}"
    assert error.value.faults[0].startswith(where)


def test_all_faults_are_reported_together(tmp_path: Path) -> None:
    both(tmp_path, "image", [released.image(question=..., answer=...), 7], [released.image("knee", task="x")])
    with pytest.raises(ManyErrors) as error:
        sgmri.load(source(tmp_path))
    assert [fault.split(": ", 1)[0] for fault in error.value.faults] == [
        *["brain/test/image_qa/questions.json"] * 3,
        "knee/test/image_qa/questions.json",
    ]
    assert "4 malformed field(s) in 3 record(s)" in str(error.value)
    assert "data.on_bad_record: skip" in str(error.value)
    assert "record 1: field '(record)': found 7, expected a JSON object" in str(error.value)


def test_skipped_records_are_counted_and_listed(tmp_path: Path) -> None:
    good = released.image()
    both(tmp_path, "image", [released.image(question=..., answer=...), good, 7], [released.image("knee")])
    loaded = sgmri.load(source(tmp_path, on_bad_record="skip"))
    assert [row["domain"] for row in loaded.rows] == ["brain", "knee"]
    assert [(f.index, f.field) for f in loaded.skipped] == [(0, "question"), (0, "answer"), (2, "(record)")]
    assert {(f.index, f.field) for f in loaded.skipped} == {(0, "question"), (0, "answer"), (2, "(record)")}
    # A record keeps its id whatever stands before it.
    released.write(tmp_path, "brain", "image", [good])
    assert sgmri.load(source(tmp_path)).rows[0]["sample_id"] == loaded.rows[0]["sample_id"]


def test_a_file_of_malformed_records_is_no_benchmark(tmp_path: Path) -> None:
    released.write(tmp_path, "brain", "image", [7])
    with pytest.raises(UserError, match="every record is malformed"):
        sgmri.load(source(tmp_path, domains=("brain",), on_bad_record="skip"))


def test_exact_duplicates_keep_unique_ids(tmp_path: Path) -> None:
    released.write(tmp_path, "brain", "image", [released.image()] * 3 + [released.image(reasoning="Another.")])
    rows = sgmri.load(source(tmp_path, domains=("brain",))).rows
    names = [row["sample_id"] for row in rows]
    assert names[1:3] == [f"{names[0]}-2", f"{names[0]}-3"]
    assert len(set(names)) == 4
    assert ["duplicate_record" in row["flags"] for row in rows] == [False, True, True, False]
    artifacts.to_table(rows, artifacts.SAMPLES)


JSON_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
FIELDS = sorted({*released.image(), *released.volume(), "choices", "domain"})


@given(st.sampled_from(["image", "volume"]), st.dictionaries(st.sampled_from(FIELDS), JSON_VALUES, max_size=3))
def test_no_record_crashes_the_reader(level: Any, changes: dict[str, Any]) -> None:
    make = released.image if level == "image" else released.volume
    result = read_record({**make(), **changes}, "f.json", 0, "brain", level)
    if not isinstance(result, Record):
        assert result
        assert all(fault.expected and fault.found for fault in result)


@given(JSON_VALUES)
def test_boxes_of_any_shape_are_read_or_refused(value: Any) -> None:
    raw = released.image(ground_truth={"labels": ["Edema"], "bboxes": [value]})
    result = read_record(raw, "f.json", 0, "brain", "image")
    assert isinstance(result, list)  # no random value is a box


# --- frame numbers --------------------------------------------------------------------------------------------------

LOCALIZATION = {
    "task": "localization",
    "type": "open_ended",
    "question": "Where are the injuries located in this volume?",
}


def test_knee_frames_are_shifted_only_when_corrected(tmp_path: Path) -> None:
    record = {**LOCALIZATION, "answer": "ACL sprain: Frame 21: <bbx>[108,168,15,10]</bbx>."}
    both(tmp_path, "image", [released.image()], [released.image("knee")])
    both(
        tmp_path,
        "volume",
        [released.volume(**record | {"answer": "Frame 3: <bbx>[1,2,3,4]</bbx>"})],
        [released.volume("knee", **record)],
    )
    for domain, parts in {"brain": 16, "knee": 30}.items():
        released.frames(tmp_path / "frames", BRAIN if domain == "brain" else KNEE, parts)
    seen: dict[Frames, tuple[int, ...]] = {}
    names: list[list[str]] = []
    for frames in (Frames.AS_RELEASED, Frames.CORRECTED, Frames.NONE):
        images = {row["domain"]: row for row in sgmri.load(source(tmp_path, "image", frames)).rows}
        volumes = {row["domain"]: row for row in sgmri.load(source(tmp_path, "volume", frames)).rows}
        names.append([images[d]["sample_id"] for d in images])
        seen[frames] = (
            *(images[d]["frames"][0]["number"] for d in ("brain", "knee")),
            *(volumes[d]["boxes"][0]["frame"] for d in ("brain", "knee")),
        )
        assert [f["number"] for f in volumes["knee"]["frames"]] == list(range(1, 31))
        assert volumes["knee"]["answer"] == record["answer"]
    assert names[0] == names[1] == names[2]
    assert seen[Frames.AS_RELEASED] == (7, 7, 2, 20)
    assert seen[Frames.CORRECTED] == (7, 8, 2, 21)
    assert seen[Frames.NONE] == (7, 7, 2, 20)


VOLUME_ANSWERS: list[tuple[str, list[tuple[int | None, list[float]]], list[str]]] = [
    (
        "Located in the right hemisphere, Frame 1: <bbx>[52,82,111,197]</bbx>, Frame 2: <bbx>[56,90,104,186]</bbx>",
        [(0, [52, 82, 163, 279]), (1, [56, 90, 160, 276])],
        [],
    ),
    ("Frame 7: <bbx>[128,160,7,8]</bbx>", [(6, [128, 160, 135, 168])], []),
    (
        "Cartilage defect in the medial compartment on Frame 21 to 24: Frame 21: <bbx>[108,168,15,10]</bbx>, Frame 22: "
        "<bbx>[106,167,17,14]</bbx>. MCL sprain on Frame 21 (<bbx>[37,123,20,60]</bbx>).",
        [(20, [108, 168, 123, 178]), (21, [106, 167, 123, 181]), (20, [37, 123, 57, 183])],
        [],
    ),
    (
        "Edema: Frame 3: <bbx>[1,2,3,4]</bbx>; Frame 4: <bbx>[5,6,7,8]</bbx>.",
        [(2, [1, 2, 4, 6]), (3, [5, 6, 12, 14])],
        [],
    ),
    ("No findings to localize", [], []),
    ("Frame 0: <bbx>[1,2,3,4]</bbx>", [(None, [1, 2, 4, 6])], ["frame_out_of_range"]),
]


@pytest.mark.parametrize(("answer", "expected", "flags"), VOLUME_ANSWERS)
def test_volume_boxes_come_from_the_answer(
    tmp_path: Path, answer: str, expected: list[tuple[int | None, list[float]]], flags: list[str]
) -> None:
    row = one(tmp_path, released.volume("knee", **LOCALIZATION, answer=answer), "volume", "knee")
    assert [(b["frame"], [b["x0"], b["y0"], b["x1"], b["y1"]]) for b in row["boxes"]] == expected
    assert [flag for flag in row["flags"] if flag != "size_assumed"] == flags
    assert row["answer"] == answer


def test_only_localization_answers_carry_gold_boxes(tmp_path: Path) -> None:
    caption = {"task": "captioning", "type": "open_ended", "answer": "Edema on Frame 2, <bbx>[1,2,3,4]</bbx>."}
    assert one(tmp_path, released.volume(**caption), "volume")["boxes"] == []


def test_boxes_of_a_field_come_first(tmp_path: Path) -> None:
    truth = {"final_diagnosis": ["Edema"], "bboxes": [{**EDEMA, "frame": 3}]}
    row = one(
        tmp_path, released.volume(**LOCALIZATION, answer="Frame 9: <bbx>[1,1,1,1]</bbx>", ground_truth=truth), "volume"
    )
    assert row["boxes"] == [box(2, 52, 82, 111, 197, "Edema")]


def test_without_images_the_gold_can_lengthen_a_volume(tmp_path: Path) -> None:
    """The released brain ``num_slices`` counts sampled slices only, so a gold frame may lie beyond it."""
    longer = released.volume(**LOCALIZATION, answer="Frame 14: <bbx>[1,2,3,4]</bbx>", num_slices=12)
    released.write(tmp_path, "brain", "volume", [longer, released.volume(num_slices=12)])
    rows = sgmri.load(source(tmp_path, "volume", domains=("brain",))).rows
    assert [row["n_frames"] for row in rows] == [14, 14]
    assert all("n_frames_from_gold" in row["flags"] for row in rows)
    assert rows[0]["boxes"][0]["frame"] == 13


# --- frames on disk -------------------------------------------------------------------------------------------------


def test_sizes_and_checksums_come_from_the_files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    folder = released.frames(Path("frames"), BRAIN, 8, (256, 300), "brain/val_labeled_raw_by_modality/T1")
    released.frames(Path("frames"), BRAIN, 8, (256, 300), "brain/val_labeled_gt_by_modality/T1")  # overlays
    row = one(Path("data"), released.image(), frames=Frames.AS_RELEASED, frames_root=Path("frames"))
    png = folder / f"{BRAIN}_slice_007.png"
    assert row["frames"] == [
        {
            "number": 7,
            "path": png.as_posix(),
            "width": 256,
            "height": 300,
            "sha256": hashlib.sha256(png.read_bytes()).hexdigest(),
        }
    ]
    assert row["flags"] == []
    row = one(
        Path("data"), released.volume(num_slices=8), "volume", frames=Frames.CORRECTED, frames_root=Path("frames")
    )
    assert [frame["number"] for frame in row["frames"]] == list(range(1, 9))
    assert row["n_frames"] == 8


def test_a_volume_shows_all_its_frames(tmp_path: Path) -> None:
    released.frames(tmp_path / "frames", BRAIN, 16)
    row = one(tmp_path, released.volume(num_slices=12), "volume", frames=Frames.AS_RELEASED)
    assert row["n_frames"] == 16
    assert row["flags"] == ["num_slices_below_frames"]


def test_every_missing_frame_is_listed(tmp_path: Path) -> None:
    frames = tmp_path / "frames"
    folder = released.frames(frames, BRAIN, 16)
    (folder / f"{BRAIN}_slice_003.png").unlink()
    (folder / f"{BRAIN}_slice_009.png").unlink()
    broken = released.frames(frames, "broken", 16) / "broken_slice_002.png"
    broken.write_bytes(broken.read_bytes()[:60])
    released.frames(frames, "short", 5)
    records = [released.volume(volume_id=name) for name in (BRAIN, "broken", "short", "absent")]
    released.write(tmp_path, "brain", "volume", records)
    with pytest.raises(ManyErrors) as error:
        sgmri.load(source(tmp_path, "volume", Frames.AS_RELEASED, domains=("brain",)))
    faults = error.value.faults
    assert len(faults) == 4
    assert f"volume {BRAIN}: frame(s) [3, 9] missing" in faults[0]
    assert "broken_slice_002.png: cannot be read as an image" in faults[1]
    assert faults[2] == "volume short: found 5 frames, expected 16"
    assert "volume absent: found no folder" in faults[3]
    assert "data.sgmri.frames: none" in str(error.value)


def test_an_image_item_beyond_the_volume(tmp_path: Path) -> None:
    released.frames(tmp_path / "frames", KNEE, 7)
    released.write(tmp_path, "knee", "image", [released.image("knee")])
    assert sgmri.load(source(tmp_path, frames=Frames.AS_RELEASED, domains=("knee",))).rows
    with pytest.raises(ManyErrors, match=f"volume {KNEE}: frame 8 missing, found 1 to 7"):
        sgmri.load(source(tmp_path, frames=Frames.CORRECTED, domains=("knee",)))


def test_a_volume_in_two_folders_is_ambiguous(tmp_path: Path) -> None:
    for parent in "ab":
        released.frames(tmp_path / "frames", BRAIN, 8, parent=parent)
    released.write(tmp_path, "brain", "image", [released.image()])
    with pytest.raises(ManyErrors, match=f"volume {BRAIN}: found 2 folders"):
        sgmri.load(source(tmp_path, frames=Frames.AS_RELEASED, domains=("brain",)))


def test_a_manifest_beside_the_frames_is_believed(tmp_path: Path) -> None:
    png = released.frames(tmp_path / "frames", BRAIN, 8) / f"{BRAIN}_slice_007.png"
    columns = "volume_id,frame,array_index,hdf5,path,width,height,sha256"
    line = f"{BRAIN},7,6,x.h5,{png.relative_to(tmp_path / 'frames').as_posix()},320,320,{'0' * 64}"
    (tmp_path / "frames" / "manifest.csv").write_text(f"{columns}\n{line}\n")
    released.write(tmp_path, "brain", "image", [released.image()])
    with pytest.raises(ManyErrors, match=r"slice_007.png: has SHA-256 .* of manifest.csv"):
        sgmri.load(source(tmp_path, frames=Frames.AS_RELEASED, domains=("brain",)))


# --- the stage ------------------------------------------------------------------------------------------------------


def test_build_writes_the_same_bytes_twice(tmp_path: Path) -> None:
    both(tmp_path, "image", [released.image(), released.image(task=...)], [released.image("knee")])
    settings = DataSettings(on_bad_record="skip", sgmri=SgmriSettings(path=tmp_path))
    job = DataJob(benchmark="sgmri-image", data=settings)
    for name in "ab":
        run.build(job, tmp_path / name / "samples.parquet", tmp_path / name / "summary.json")
    for name in ("samples.parquet", "summary.json"):
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes()
    rows = artifacts.read_rows(tmp_path / "a" / "samples.parquet", artifacts.SAMPLES)
    summary = json.loads((tmp_path / "a" / "summary.json").read_text())
    assert [row["benchmark"] for row in rows] == ["sgmri-image"] * 2
    assert summary["fingerprint"] == artifacts.stored_digest(tmp_path / "a" / "samples.parquet")
    assert summary["skipped"]["records"] == 1
    assert summary["skipped"]["faults"][0]["field"] == "task"


def test_the_demo_is_read_by_the_same_loader(tmp_path: Path) -> None:
    both(tmp_path, "image", [released.image()], [released.image("knee")])
    for name in (BRAIN, KNEE):
        released.frames(tmp_path / "frames", name, 9)
    settings = DataSettings(demo=DemoSettings(path=tmp_path))
    loaded = run.samples(DataJob(benchmark="sgmri-demo-image", data=settings))
    assert {row["domain"]: row["frames"][0]["number"] for row in loaded.rows} == {"brain": 7, "knee": 7}


def test_the_build_command(tmp_path: Path) -> None:
    both(tmp_path, "volume", [released.volume()], [released.volume("knee")])
    settings = {"benchmark": "sgmri-volume", "data": {"sgmri": {"path": str(tmp_path)}}}
    out, summary = tmp_path / "out" / "samples.parquet", tmp_path / "out" / "summary.json"
    arguments = ["data", "build", "sgmri-volume", "--out", str(out), "--summary", str(summary)]
    result = CliRunner().invoke(cli, [*arguments, "--settings", json.dumps(settings)])
    assert result.exit_code == 0, result.output
    assert len(artifacts.read_rows(out)) == 2
    wrong = CliRunner().invoke(cli, [*arguments, "--settings", json.dumps({**settings, "benchmark": "sgmri-image"})])
    assert isinstance(wrong.exception, UserError)
