"""Baselines answer in text; each is checked against what its one line of documentation says."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slicewise.errors import UserError
from slicewise.geometry import Box, Convention, iou
from slicewise.infer import baselines
from slicewise.infer.baselines import gold
from slicewise.infer.baselines.blind import FIXED_SENTENCE
from slicewise.infer.items import Answer, Item
from slicewise.outcome import Outcome
from slicewise.params import BASELINES, BaselineModel

Make = Callable[..., Item]
OPTIONS = {"A": "Mass", "B": "Edema", "C": "Cyst", "D": "Normal"}


def run(name: str, items: list[Item], **declared: Any) -> dict[str, Answer]:
    model = BaselineModel.model_validate({"name": name, "backend": "baseline", "baseline": name, **declared})
    backend = baselines.BaselineBackend(model, baselines.RULES[name])
    return {answer.sample_id: answer for answer in backend.answer_all(items)}


def text(name: str, item: Item, **declared: Any) -> str | None:
    return run(name, [item], **declared)[item.sample_id].text


def test_every_declared_baseline_exists() -> None:
    assert set(baselines.RULES) == set(BASELINES)


class TestKinds:
    @pytest.mark.parametrize(
        ("changes", "kind"),
        [
            ({"answer": "Yes."}, "yes_no"),
            ({"answer": " no"}, "yes_no"),
            ({"answer": "Normal"}, "short_text"),
            ({"answer": "FLAIR", "task": "classification"}, "short_text"),
            ({"answer": "6", "task": "counting"}, "count"),
            ({"answer": "(B)", "question_type": "single_choice"}, "single_choice"),
            ({"answer": "(A), (C)", "question_type": "multiple_choice"}, "multiple_choice"),
            ({"answer": "Edema", "question_type": "open_ended", "task": "diagnosis"}, "open_text"),
            ({"answer": "Yes", "task": "localization"}, "none"),
        ],
    )
    def test_kind(self, make: Make, changes: dict[str, Any], kind: str) -> None:
        assert gold.kind(make(**changes)) == kind


class TestOracle:
    @pytest.mark.parametrize(
        ("changes", "expected"),
        [
            ({}, "Yes"),
            ({"answer": "6", "task": "counting"}, "6"),
            ({"answer": "FLAIR"}, "FLAIR"),
            ({"answer": "(B)", "question_type": "single_choice", "options": OPTIONS}, "(B) Edema"),
            ({"answer": "(A)+(C) text", "question_type": "multiple_choice", "options": OPTIONS}, "(A), (C)"),
            ({"answer": "Two lesions.", "question_type": "open_ended", "task": "captioning"}, "Two lesions."),
        ],
    )
    def test_writes_the_gold(self, make: Make, changes: dict[str, Any], expected: str) -> None:
        assert text("oracle", make(**changes)) == expected

    def test_boxes_follow_convention_and_frame_base(self, make: Make) -> None:
        boxes = [
            {"frame": 1, "x0": 32.0, "y0": 64.0, "x1": 96.0, "y1": 128.0, "label": "Edema"},
            {"frame": 0, "x0": 5.0, "y0": 5.0, "x1": 5.0, "y1": 9.0, "label": "no area"},
        ]
        item = make(
            level="volume", n_frames=3, task="localization", boxes=boxes,
            answer="In the right hemisphere, Frame 2: <bbx>[32,64,64,64]</bbx>",
        )  # fmt: skip
        words = "In the right hemisphere, "
        assert text("oracle", item) == words + "Frame 2: <bbx>[32, 64, 64, 64]</bbx>"
        gemini = {"bbox_convention": Convention.REL_YXYX_0_1000, "frame_base": 0}
        assert text("oracle", item, **gemini) == words + "Frame 1: <bbx>[250, 100, 500, 300]</bbx>"
        paligemma = {"bbox_convention": Convention.LOC1024_YXYX}
        assert text("oracle", item, **paligemma) == words + "Frame 2: <loc0256><loc0102><loc0512><loc0307>"

    def test_images_name_no_frame(self, make: Make) -> None:
        box = {"frame": 0, "x0": 1.0, "y0": 2.0, "x1": 4.0, "y1": 8.0, "label": None}
        item = make(task="localization", boxes=[box], answer="At the ACL, <bbx>[1,2,3,6]</bbx>")
        assert text("oracle", item) == "At the ACL, <bbx>[1, 2, 3, 6]</bbx>"

    def test_no_boxes(self, make: Make) -> None:
        item = make(task="localization", answer="No findings to localize")
        assert text("oracle", item) == "No findings to localize"


def test_blank_writes_nothing(make: Make) -> None:
    assert text("blank", make()) == ""


def test_always_yes(make: Make) -> None:
    assert text("always-yes", make(answer="No")) == "Yes"
    for changes in ({"answer": "3", "task": "counting"}, {"task": "captioning", "question_type": "open_ended"}):
        assert text("always-yes", make(**changes)) == FIXED_SENTENCE


class TestMajority:
    def test_most_frequent_per_group(self, make: Make) -> None:
        answers = ["No", "No", "Yes"]
        items = [make(f"k{i}", answer=a, domain="knee") for i, a in enumerate(answers)]
        items += [make(f"b{i}", answer=a, domain="brain") for i, a in enumerate(["Yes", "No"])]
        found = run("majority", items)
        assert [found[i.sample_id].text for i in items] == ["No"] * 3 + ["No"] * 2  # a tie goes to the first by name

    def test_letters_without_option_text(self, make: Make) -> None:
        items = [
            make(f"x{i}", question_type="single_choice", options={**OPTIONS, "B": f"other {i}"}, answer="(B) Edema")
            for i in range(3)
        ]
        assert {a.text for a in run("majority", items).values()} == {"(B)"}


class TestPriorBox:
    def items(self, make: Make) -> list[Item]:
        def box(frame: int, x: float) -> dict[str, Any]:
            return {"frame": frame, "x0": x, "y0": 10.0, "x1": x + 20, "y1": 30.0, "label": None}

        spec = [("v1", [box(2, 0.0)]), ("v2", [box(2, 10.0), box(1, 30.0)]), ("v3", [box(2, 100.0)])]
        return [
            make(v, level="volume", volume_id=v, n_frames=3, task="localization", boxes=b, answer=f"Words of {v}")
            for v, b in spec
        ]

    def test_leaves_the_own_volume_out(self, make: Make) -> None:
        found = run("prior-box", self.items(make))
        assert found["v1"].text == "Words of v2, Frame 3: <bbx>[46.67, 10, 20, 20]</bbx>"
        assert found["v3"].text == "Words of v1, Frame 3: <bbx>[13.33, 10, 20, 20]</bbx>"

    def test_its_own_gold_changes_nothing(self, make: Make) -> None:
        items = self.items(make)
        other = make("v1", level="volume", volume_id="v1", n_frames=3, task="localization", answer="Else", boxes=[])
        assert run("prior-box", [other, *items[1:]])["v1"].text == run("prior-box", items)["v1"].text

    def test_shorter_volume_uses_its_last_frame(self, make: Make) -> None:
        short = make("v0", level="volume", volume_id="v0", n_frames=2, task="localization", answer="x")
        assert "Frame 2: " in str(run("prior-box", [short, *self.items(make)])["v0"].text)

    def test_alone_it_knows_nothing(self, make: Make) -> None:
        assert text("prior-box", make(task="localization", answer="x")) == "No findings."


class TestRandom:
    def test_independent_of_order_and_repeatable(self, make: Make) -> None:
        items = [make(f"x{i}", question_type="single_choice", options=OPTIONS, answer="(A)") for i in range(30)]
        assert run("random", items) == run("random", items[::-1])
        assert run("random", items, seed=1) != run("random", items, seed=2)

    def test_letters_are_uniform_over_the_items_own_options(self, make: Make) -> None:
        items = [make(f"x{i}", question_type="single_choice", options=OPTIONS, answer="(A)") for i in range(2000)]
        counts = Counter(str(a.text)[1] for a in run("random", items).values())
        # 2000 draws of p = 1/4: five standard deviations are 97.
        assert set(counts) == set(OPTIONS)
        assert all(abs(n - 500) < 97 for n in counts.values())

    def test_multiple_choice_is_never_empty(self, make: Make) -> None:
        items = [
            make(f"x{i}", question_type="multiple_choice", options={"A": "x", "B": "y"}, answer="(A)")
            for i in range(60)
        ]
        assert {a.text for a in run("random", items).values()} == {"(A) x", "(B) y", "(A), (B)"}

    def test_counts_come_from_the_benchmark(self, make: Make) -> None:
        items = [make(f"x{i}", task="counting", answer=str(i % 3 + 1)) for i in range(60)]
        assert {a.text for a in run("random", items).values()} == {"1", "2", "3"}

    def test_boxes_lie_in_the_frame(self, make: Make) -> None:
        items = [make(f"x{i}", level="volume", n_frames=4, task="localization", answer="words") for i in range(60)]
        texts = [str(a.text) for a in run("random", items, bbox_convention="abs_xyxy_original").values()]
        assert all(t.startswith("words, Frame ") for t in texts)
        corners = [[int(n) for n in t[t.index("[") + 1 : t.index("]")].split(",")] for t in texts]
        assert all(0 <= x0 < x1 <= 320 and 0 <= y0 < y1 <= 256 for x0, y0, x1, y1 in corners)
        assert {t[len("words, ") : t.index(":")] for t in texts} == {f"Frame {i}" for i in range(1, 5)}


class TestKeys:
    def test_what_can_change_a_reply_changes_the_key(self, make: Make) -> None:
        base = run("oracle", [make()])["x"].request_key
        assert run("oracle", [make(), make("y")])["x"].request_key == base
        assert run("oracle", [make(answer="No")])["x"].request_key != base
        assert run("oracle", [make()], frame_base=0)["x"].request_key != base
        assert run("oracle", [make()], title="Gold")["x"].request_key == base
        assert run("majority", [make(), make("y")])["x"].request_key != run("majority", [make()])["x"].request_key


class TestBlob:
    SPOT = Box(0, 100, 140, 130, 165)

    def frame(self, folder: Path, name: str, *spots: Box) -> dict[str, Any]:
        """An ellipse of tissue with smooth shading and noise, and bright rectangles in it."""
        from PIL import Image

        ys, xs = np.mgrid[0:256, 0:320].astype(float)
        inside = ((xs - 160) / 120) ** 2 + ((ys - 128) / 100) ** 2 < 1
        image = inside * (0.45 + 0.1 * xs / 320)
        for spot in spots:
            image[int(spot.y0) : int(spot.y1), int(spot.x0) : int(spot.x1)] += 0.3
        image += np.random.default_rng(len(name)).normal(0, 0.02, image.shape)
        path = folder / f"{name}.png"
        Image.fromarray((np.clip(image, 0, 1) * 255).astype(np.uint8)).save(path)
        return {"number": 1, "path": str(path), "width": 320, "height": 256, "sha256": "0" * 64}

    def test_finds_what_is_there_and_nothing_else(self, make: Make, tmp_path: Path) -> None:
        found = make("f", frames=[self.frame(tmp_path, "f", self.SPOT)], task="localization", answer="x")
        written = str(text("blob", found, bbox_convention="abs_xyxy_original"))
        numbers = [float(n) for n in written[written.index("[") + 1 : written.index("]")].split(",")]
        assert written.count("<bbx>") == 1
        assert iou(Box(0, *numbers), self.SPOT) > 0.6  # type: ignore[arg-type]
        normal = make("n", frames=[self.frame(tmp_path, "n")], task="localization", answer="x")
        assert text("blob", normal) == "No findings to localize"

    def test_answers_from_what_it_sees(self, make: Make, tmp_path: Path) -> None:
        seen, clear = self.frame(tmp_path, "f", self.SPOT), self.frame(tmp_path, "n")
        assert text("blob", make(frames=[seen])) == "Yes"
        assert text("blob", make(frames=[clear])) == "No"
        choice = {"question_type": "single_choice", "options": OPTIONS, "answer": "(A)"}
        assert text("blob", make(frames=[seen], **choice)) == "(A) Mass"
        assert text("blob", make(frames=[clear], **choice)) == "(D) Normal"
        frames = [clear, seen, {**seen, "number": 3}, clear, {**seen, "number": 5}]  # the last one goes on nowhere
        count = {"level": "volume", "frames": frames, "task": "counting", "answer": "2"}
        assert text("blob", make(question="How many findings are there?", **count)) == "2"
        assert text("blob", make(question="How many distinct types of injury are there?", **count)) == "1"
        caption = make(level="volume", frames=frames, task="captioning", question_type="open_ended")
        assert text("blob", caption) == "There are 2 focal signal abnormalities in this volume, on Frame 2, Frame 3."

    def test_records_the_frames_it_read(self, make: Make, tmp_path: Path) -> None:
        item = make(frames=[self.frame(tmp_path, "f")])
        assert run("blob", [item])["x"].frames == item.frames
        assert run("blank", [item])["x"].frames == ()

    def test_without_frames_it_is_not_run(self, make: Make) -> None:
        answer = run("blob", [make()])["x"]
        assert (answer.text, answer.outcome) == (None, Outcome.NOT_RUN)

    def test_frames_missing_on_disk_are_listed(self, make: Make, tmp_path: Path) -> None:
        gone = {"number": 1, "path": str(tmp_path / "gone.png"), "width": 1, "height": 1, "sha256": "0"}
        with pytest.raises(UserError, match=r"(?s)1 of 1 frames.*gone\.png"):
            text("blob", make(frames=[gone]))

    def test_an_empty_frame_has_no_blobs(self, make: Make, tmp_path: Path) -> None:
        from PIL import Image

        Image.fromarray(np.zeros((64, 64), np.uint8)).save(tmp_path / "0.png")
        black = {"number": 1, "path": str(tmp_path / "0.png"), "width": 64, "height": 64, "sha256": "0"}
        assert text("blob", make(frames=[black])) == "No"
