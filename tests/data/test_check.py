"""Summaries and suspicious gold items."""

from __future__ import annotations

import importlib.util
import json
import sys
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from slicewise import artifacts
from slicewise.cli import cli
from slicewise.data import check, suspicion
from slicewise.data.fields import Fault
from slicewise.errors import UserError


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


def row(name: str = "a", **changes: Any) -> dict[str, Any]:
    level = changes.get("level", "image")
    numbers = [7] if level == "image" else range(1, 4)
    base = {
        "sample_id": name,
        "benchmark": "b",
        "level": level,
        "domain": "brain",
        "volume_id": "v",
        "modality": "T1",
        "task": "localization",
        "question_type": "closed_ended",
        "question": "Where?",
        "options": None,
        "answer": "In the right hemisphere, <bbx>[52,82,50,60]</bbx>",
        "reasoning": None,
        "labels": ["Edema"],
        "boxes": [box(52, 82, 50, 60)],
        "frames": [{"number": n, "path": None, "width": 320, "height": 320, "sha256": None} for n in numbers],
        "n_frames": len(numbers),
        "flags": [],
    }
    return {**base, **changes}


def box(x: float, y: float, width: float, height: float, frame: int | None = 0, label: str | None = None) -> Any:
    return {"frame": frame, "x0": x, "y0": y, "x1": x + width, "y1": y + height, "label": label}


LEFT, RIGHT, ACROSS = box(170, 90, 50, 60), box(52, 82, 50, 60), box(150, 90, 50, 60)
VOLUME = {"level": "volume"}
COUNT = {**VOLUME, "task": "counting", "boxes": []}
CHOICE = {"task": "diagnosis", "question_type": "single_choice", "options": {"A": "Mass", "B": "Edema"}, "boxes": []}
DETECTION = {"task": "detection", "boxes": []}
SINGLE: list[tuple[str, dict[str, Any], list[str]]] = [
    ("right is right", {}, []),
    ("left is left", {"answer": "In the left hemisphere", "boxes": [LEFT]}, []),
    ("says left", {"answer": "In the left hemisphere", "boxes": [RIGHT]}, ["laterality_contradicts_box"]),
    ("across the middle", {"answer": "In the left hemisphere", "boxes": [ACROSS]}, []),
    ("one of two", {"answer": "In the left hemisphere", "boxes": [RIGHT, LEFT]}, []),
    ("bilateral and both", {"answer": "In the bilateral hemispheres", "boxes": [RIGHT, LEFT]}, []),
    ("bilateral and one", {"answer": "In the bilateral hemispheres", "boxes": [RIGHT]}, ["laterality_contradicts_box"]),
    ("no side", {"answer": "In the ventricles", "boxes": [RIGHT]}, []),
    (
        "the named box counts, not its neighbour",
        {"answer": "In the left hemisphere, <bbx>[170,90,50,60]</bbx>", "boxes": [RIGHT, LEFT]},
        [],
    ),
    (
        "each side with its boxes",
        {
            "answer": "Right: Frame 1: <bbx>[170,90,50,60]</bbx>. Left: Frame 2: <bbx>[171,90,50,60]</bbx>.",
            "boxes": [LEFT, box(171, 90, 50, 60, 1)],
            **VOLUME,
        },
        ["laterality_contradicts_box"],
    ),
    (
        "the released rule's mistake",
        {"answer": "In the left hemisphere", "boxes": [box(140, 150, 10, 10)]},
        ["laterality_contradicts_box"],
    ),
    ("a knee has no hemispheres", {"domain": "knee", "answer": "left", "boxes": [RIGHT]}, []),
    ("outside", {"boxes": [box(300, 10, 30, 10)], "answer": "There."}, ["box_outside_frame"]),
    ("above", {"boxes": [box(300, -1, 5, 10)], "answer": "There."}, ["box_outside_frame"]),
    ("to the edge", {"boxes": [box(300, 310, 20, 10)], "answer": "There."}, []),
    ("no area", {"boxes": [box(30, 31, 0, 10)], "answer": "There."}, ["zero_area_box"]),
    ("twice", {"boxes": [RIGHT, dict(RIGHT)]}, ["duplicate_box"]),
    ("twice, other label", {"boxes": [RIGHT, {**RIGHT, "label": "Mass"}]}, ["duplicate_box"]),
    ("same place, other frame", {"boxes": [RIGHT, {**RIGHT, "frame": 1}], **VOLUME}, []),
    ("flag of the loader", {"flags": ["frame_out_of_range"]}, ["frame_out_of_range"]),
    ("no box", {"boxes": [], "answer": "In the brain"}, ["localization_without_box"]),
    ("normal", {"boxes": [], "answer": "No findings to localize", "labels": ["Normal"]}, []),
    ("letter", {**CHOICE, "answer": "(B) Edema"}, []),
    ("letter not offered", {**CHOICE, "answer": "(D)"}, ["answer_not_in_options"]),
    ("one of two not offered", {**CHOICE, "answer": "(A), (D)"}, ["answer_not_in_options"]),
    ("an option's text", {**CHOICE, "answer": "Edema"}, []),
    ("no letter", {**CHOICE, "answer": "A cyst of the"}, ["answer_not_in_options"]),
    ("yes", {**DETECTION, "answer": "Yes."}, []),
    ("neither", {**DETECTION, "answer": "Probably"}, ["answer_not_yes_no"]),
    ("a count alone", {**COUNT, "answer": "6"}, []),
]  # fmt: skip


@pytest.mark.parametrize(("changes", "kinds"), [c[1:] for c in SINGLE], ids=[c[0] for c in SINGLE])
def test_single_items(changes: dict[str, Any], kinds: list[str]) -> None:
    assert [s.kind for s in suspicion.find([row(**changes)])] == kinds
    assert suspicion.annotate([row(**changes)])[0]["flags"] == list(dict.fromkeys([*changes.get("flags", []), *kinds]))


def count_pair(domain: str, answer: str, boxes: list[Any], labels: list[str]) -> list[dict[str, Any]]:
    common = {**VOLUME, "domain": domain, "labels": labels}
    return [
        row("count", **{**common, "task": "counting", "answer": answer, "boxes": []}),
        row("where", **{**common, "answer": "There.", "boxes": boxes}),
    ]


TWO = [RIGHT, {**RIGHT, "frame": 1}]
COUNTS: list[tuple[str, str, list[Any], list[str], bool]] = [
    ("brain", "2", TWO, ["Edema"], False),
    ("brain", "1", TWO, ["Edema"], True),
    ("brain", "0", [], ["Normal"], False),
    ("knee", "1", TWO, ["Meniscus Tear"], False),
    ("knee", "2", TWO, ["Meniscus Tear"], True),
    ("knee", "2.", TWO, ["Meniscus Tear", "Joint Effusion"], False),
    ("knee", "2", [{**b, "label": n} for b, n in zip(TWO, "xy", strict=True)], [], False),
    ("knee", "0", [], ["Normal"], False),
    ("brain", "two", TWO, ["Edema"], False),
]


@pytest.mark.parametrize(("domain", "answer", "boxes", "labels", "wrong"), COUNTS)
def test_counts(domain: str, answer: str, boxes: list[Any], labels: list[str], wrong: bool) -> None:
    kinds = {s.kind for s in suspicion.find(count_pair(domain, answer, boxes, labels))}
    assert ("count_contradicts_boxes" in kinds) == wrong


SPAN = {"per_volume": {"min": 3, "max": 3}}


def test_the_summary_counts_by_hand() -> None:
    rows = [
        row("a"),
        row("b", boxes=[RIGHT, dict(RIGHT), box(5, 5, 0, 9)]),
        row("c", **DETECTION, answer="Yes", volume_id="w"),
        *count_pair("knee", "1", TWO, ["Meniscus Tear"]),
    ]
    faults = [Fault("f.json", 3, "task", "nothing", "one"), Fault("f.json", 3, "answer", "nothing", "a text")]
    counts = check.summary(rows, faults)
    assert counts["items"] == 5
    assert counts["by_level"] == {"image": 3, "volume": 2}
    assert counts["by_domain"] == {"brain": 3, "knee": 2}
    assert counts["by_task"] == {"counting": 1, "detection": 1, "localization": 3}
    assert counts["volumes"] == {"brain": 2, "knee": 1}
    assert counts["boxes"] == {
        "in_all_items": 6,
        "in_localization": 6,
        "localization_items_with_boxes": 3,
        "localization_items_without_boxes": 0,
        "most_in_one_item": 3,
        "zero_area": 1,
        "duplicates": 1,
        "width": {"min": 0, "max": 50},
        "height": {"min": 9, "max": 60},
    }
    assert counts["frames"] == {"distinct": 5, "with_image": 0, "sizes": {"320x320": 5}, **SPAN}
    assert counts["suspicious"] == {"duplicate_box": 1, "zero_area_box": 1}
    assert counts["skipped"]["records"] == 1
    json.dumps(counts, allow_nan=False)


def test_the_fingerprint_sees_every_change_and_no_order() -> None:
    rows = [row("a"), row("b")]
    first = check.summary(rows)["fingerprint"]
    assert check.summary(rows[::-1])["fingerprint"] == first
    assert check.summary([row("a"), row("b", answer="Elsewhere")])["fingerprint"] != first


def test_overlap_of_train_and_test(tmp_path: Path) -> None:
    rows = [row("a", volume_id="shared"), row("b", volume_id="own")]
    released.write(tmp_path, "brain", "image", [released.image(volume_id="shared")], split="train")
    released.write(tmp_path, "knee", "volume", [released.volume("knee", volume_id="other")], split="train")
    assert check.train_volumes(tmp_path) == {"shared", "other"}
    assert check.overlap(rows, check.train_volumes(tmp_path)) == ["shared"]
    artifacts.write_rows(tmp_path / "train.parquet", [row("a", volume_id="own")], artifacts.SAMPLES)
    assert check.overlap(rows, check.train_volumes(tmp_path / "train.parquet")) == ["own"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(UserError, match="has no training questions"):
        check.train_volumes(tmp_path / "empty")
    released.write(tmp_path, "brain", "volume", {}, split="train")
    with pytest.raises(UserError, match="expected a list"):
        check.train_volumes(tmp_path)


def test_the_command_on_a_file(tmp_path: Path) -> None:
    path = tmp_path / "samples.parquet"
    rows = [row(f"item{i}", boxes=[box(300, 10, 30, 10)], answer="There.") for i in range(7)]
    artifacts.write_rows(path, rows, artifacts.SAMPLES)
    text = CliRunner().invoke(cli, ["data", "check", str(path)])
    assert text.exit_code == 0, text.output
    assert artifacts.stored_digest(path) in text.output
    assert "box_outside_frame (7): a box reaches outside its frame" in text.output
    assert "item4: [300, 10, 330, 20] in 320 x 320" in text.output
    assert "… and 2 more (--all lists them)" in text.output
    assert "item6" in CliRunner().invoke(cli, ["data", "check", str(path), "--all"]).output
    found = json.loads(CliRunner().invoke(cli, ["data", "check", str(path), "--json"]).output)
    assert [item["sample_id"] for item in found["suspicious_items"]] == [f"item{i}" for i in range(7)]
    shared = CliRunner().invoke(cli, ["data", "check", str(path), "--train", str(path)])
    assert "volumes shared with the training split: 1: v" in shared.output


def test_the_command_on_a_benchmark(tmp_path: Path) -> None:
    for anatomy in ("brain", "knee"):
        released.write(tmp_path / "data", anatomy, "image", [released.image(anatomy)])
    params = tmp_path / "params.yaml"
    text = (Path(__file__).parents[2] / "params.yaml").read_text()
    assert "path: data/sgmri" in text
    params.write_text(text.replace("path: data/sgmri", f"path: {tmp_path / 'data'}"))
    result = CliRunner().invoke(cli, ["data", "check", "sgmri-image", "--params", str(params)])
    assert result.exit_code == 0, result.output
    assert "sgmri-image: 2 items" in result.output
    assert "flag     size_assumed: 2" in result.output
    assert "training split" not in result.output
    released.write(tmp_path / "data", "brain", "volume", [released.volume()], split="train")
    again = CliRunner().invoke(cli, ["data", "check", "sgmri-image", "--params", str(params)])
    assert f"volumes shared with the training split: 1: {released.BRAIN}" in again.output
