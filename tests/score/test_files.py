"""The doors for files, through the real command line."""

from __future__ import annotations

import csv
import json
import shutil
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result
from slicewise import artifacts, layout
from slicewise.cli import cli
from slicewise.errors import UserError
from slicewise.score import attribution, explain, similarity

ROOT = Path(__file__).parents[2]
B = "sgmri-open-corrected-image"
DECLARED = ["--convention", "abs_xywh_original", "--image-size", "320x320", "--frame-base", "1"]


def call(*arguments: str | Path) -> Result:
    """The command; faults of the input are raised as they are."""
    return CliRunner().invoke(cli, [str(a) for a in arguments], catch_exceptions=False)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    shutil.copy(ROOT / "params.yaml", tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(similarity, "cosine_pairs", lambda pairs, **_: [0.5 for _ in pairs])
    monkeypatch.setattr(similarity, "signature", lambda *_: "fake")


def result(number: int, task: str, kind: str, gold: str, output: str | None, **changes: Any) -> dict[str, Any]:
    level = changes.pop("level", "image")
    return {
        "sample_id": f"brain_{'image' if level == 'image' else 'video'}_qa_file{number}_{task}_{number:05d}",
        "dataset": "brain", "level": f"{level}_level", "volume_id": f"file{number}", "task": task, "qa_type": kind,
        "question": "What is seen?" + ("\n(A) Mass\n(B) Edema\n(C) Cyst\n(D) Infarct" if "choice" in kind else ""),
        "gt_answer": gold, "gt_reasoning": "Because.", "labels": ["Edema"], "bboxes": [], "model_output": output,
        **changes,
    }  # fmt: skip


BOX = {"x": 10, "y": 20, "width": 30, "height": 40, "label": "Edema"}
RESULTS = [
    result(1, "detection", "closed_ended", "Yes", "An abnormal signal is noted. Yes."),
    result(2, "detection", "closed_ended", "No", "There is an abnormality that I cannot name."),
    result(3, "classification", "single_choice", "(B)", "It is a large edema: (B)."),
    result(4, "classification", "single_choice", "(A)", "(A), (B)"),
    result(5, "counting", "closed_ended", "2", "2 findings on frames 5 to 9", level="volume"),
    result(6, "diagnosis", "open_ended", "Edema", "An edema."),
    result(7, "classification", "closed_ended", "FLAIR", "FLAIR"),
    result(8, "detection", "closed_ended", "No", "[ERROR: not available]", error="not available"),
    result(9, "localization", "closed_ended", "Left, <bbx>[10,20,30,40]</bbx>", "[10, 20, 30, 40]", bboxes=[BOX]),
    result(10, "localization", "closed_ended", "Here, Frame 1: <bbx>[10,20,30,40]</bbx>", "<bbx>[10,20,30,40]</bbx>",
           level="volume"),
    result(11, "localization", "closed_ended", "x", "y", question="Locate the bounding box of the edema", bboxes=[BOX]),
    result(12, "classification", "multiple_choice", "(A), (B)", "Therefore, the final answer is: A, B", level="volume"),
]  # fmt: skip


@pytest.fixture
def run_file(tmp_path: Path) -> Path:
    path = tmp_path / "run.json"
    path.write_text(json.dumps({"model_key": "sim model", "results": RESULTS}), encoding="utf-8")
    return path


class TestReleasedFile:
    def test_reference(self, run_file: Path, tmp_path: Path) -> None:
        call("score", run_file, "--protocol", "reference", "--out", "out")
        summary = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
        scores = {s["sample_id"].split("_")[-1]: s for s in summary["per_sample"]}
        assert summary["total_samples"] == len(RESULTS) - 1  # the doubled question is dropped
        assert scores["00002"]["a_score"] == 1.0  # "no" inside "cannot" counts as No
        assert scores["00008"]["a_score"] == 1.0  # a failed call is scored
        assert "a_score" not in scores["00006"]
        table = pq.read_table(tmp_path / "out/scores.parquet").to_pylist()
        assert [row["sample_id"] for row in table] == [s["sample_id"] for s in summary["per_sample"]]
        assert [row["a_score"] for row in table] == [s.get("a_score") for s in summary["per_sample"]]

    def test_card(self, run_file: Path, tmp_path: Path) -> None:
        call("score", run_file, "--protocol", "card", *DECLARED, "--out", "out")
        summary = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))
        scores = {s["sample_id"].split("_")[-1]: s for s in summary["per_sample"]}
        answers = {key: s["a_score"] for key, s in scores.items() if "a_score" in s}
        assert answers == {
            "00001": 1.0, "00002": None, "00003": 1.0, "00004": None, "00005": 1.0, "00006": 0.75, "00007": 1.0,
            "00008": None, "00012": 1.0,
        }  # fmt: skip
        # Eight of nine are in the mean: the failed call is in none, two unreadable answers count 0.
        assert summary["aggregates"]["a_score"]["mean"] == pytest.approx(5.75 / 8)
        assert summary["aggregates"]["a_score"]["count"] == 8
        assert summary["aggregates"]["a_score"]["coverage"] == pytest.approx(6 / 9)
        assert (scores["00009"]["v_score"], scores["00010"]["v_score"]) == (1.0, 0.0)
        assert summary["breakdowns"]["level"]["volume"]["v_score"]["mean"] == 0.0
        path = tmp_path / "out" / layout.score("released-image", "sim-model", "grounding")
        (signature,) = {row["signature"] for row in artifacts.read_rows(path)}
        assert "|convention:abs_xywh_original|image_size:320x320|frame_base:1|" in signature

    @pytest.mark.parametrize(
        ("arguments", "message"),
        [
            (["--protocol", "card"], "needs --convention"),
            (["--protocol", "card", "--convention", "abs_xywh_original"], "needs --image-size"),
            (["--protocol", "reference", *DECLARED], "--convention is not used here"),
            ([], "needs --benchmark ID"),
            (["--metric", "bleu"], "either --metric"),
            (["--protocol", "card", *DECLARED[:2], "--image-size", "320", *DECLARED[4:]], "found '320'"),
        ],
    )
    def test_faults(self, run_file: Path, arguments: list[str], message: str) -> None:
        with pytest.raises(UserError, match=message):
            call("score", run_file, *arguments, "--out", "out")

    def test_a_folder_is_needed(self, run_file: Path) -> None:
        with pytest.raises(UserError, match="needs --out"):
            call("score", run_file, "--protocol", "reference")

    def test_an_id_twice(self, tmp_path: Path) -> None:
        path = tmp_path / "twice.json"
        path.write_text(json.dumps({"results": [RESULTS[0], RESULTS[0]]}), encoding="utf-8")
        with pytest.raises(UserError, match="occurs twice"):
            call("score", path, "--protocol", "card", *DECLARED, "--out", "out")


class TestExplainDiff:
    def test_reasons_add_up(self, run_file: Path, tmp_path: Path) -> None:
        shown = call("explain", "--diff", run_file, *DECLARED, "--out", "out").output
        reasons = json.loads((tmp_path / "out/reasons.json").read_text(encoding="utf-8"))
        for metric in reasons.values():
            parts = [Fraction(reason["exact"]) for reason in metric["reasons"]]
            assert sum(parts, Fraction()) == Fraction(metric["difference"]["exact"])
        with open(tmp_path / "out/differences.csv", encoding="utf-8", newline="") as handle:
            found = {row["sample_id"].split("_")[-1]: row["reason"] for row in csv.DictReader(handle)}
        assert set(found) == {f"{n:05d}" for n in (1, 2, 4, 5, 6, 7, 8, 9, 10, 12)}
        assert set(found.values()) <= set(explain.REASONS)
        assert (found["00005"], found["00008"]) == ("last_number", "failure_scored")
        assert "last_number" in shown
        assert (tmp_path / "out/reasons.png").stat().st_size > 1000

    def test_every_reason_is_declared(self) -> None:
        assert attribution.DENOMINATOR in explain.REASONS
        assert not any(word in explain.REASONS for word in ("other", "unknown"))


class TestPlainAnswers:
    @pytest.fixture(autouse=True)
    def _samples(self, tmp_path: Path) -> None:
        """Twelve small items of the benchmark, as an earlier run left them."""
        frame = [{"number": 1, "path": None, "width": 320, "height": 320, "sha256": None}]
        box = {"frame": 0, "x0": 10.0, "y0": 20.0, "x1": 40.0, "y1": 60.0, "label": None}
        rows = []
        for i in range(12):
            task = ("detection", "classification", "localization")[i % 3]
            gold = {"detection": "Yes", "classification": "(B)", "localization": "Left, <bbx>[10,20,30,40]</bbx>"}[task]
            rows.append(
                {
                    "sample_id": f"item-{i:02d}", "benchmark": B, "level": "image", "domain": "knee",
                    "volume_id": f"v{i}", "modality": None, "task": task,
                    "question_type": "single_choice" if task == "classification" else "closed_ended",
                    "question": "What is seen?", "options": {"A": "x", "B": "y"} if task == "classification" else None,
                    "answer": gold, "reasoning": None, "labels": [], "boxes": [box] if task == "localization" else [],
                    "frames": frame, "n_frames": 1, "flags": [],
                }
            )  # fmt: skip
        artifacts.write_rows(tmp_path / layout.samples(B), rows, artifacts.SAMPLES)

    def test_both_protocols_beside_blind_baselines(self, tmp_path: Path) -> None:
        texts = {0: "Yes", 3: "abnormal", 1: "(B)", 4: "I cannot say", 2: "<bbx>[10,20,30,40]</bbx>"}
        lines = "".join(f'item-{i:02d},"{text}"\n' for i, text in texts.items())
        (tmp_path / "mine.csv").write_text("id,text\n" + lines, encoding="utf-8")
        call("score", "mine.csv", "--benchmark", B, "--out", "out")
        scores = json.loads((tmp_path / "out/summary.json").read_text(encoding="utf-8"))["scores"]
        assert set(scores["card"]) == {"answers", "always-yes", "majority", "random", "prior-box"}
        mine = {protocol: scores[protocol]["answers"]["detection"] for protocol in scores}
        # Two of four were answered; "abnormal" is no verdict for card and No for the released scorer.
        assert (mine["card"]["value"], mine["card"]["n"]) == (0.5, 2)
        assert mine["card"]["outcomes"] == {"ok": 1, "unparsed": 1, "not_run": 2}
        assert mine["reference"]["value"] == 0.5
        assert scores["card"]["always-yes"]["detection"]["value"] == 1.0
        assert scores["card"]["answers"]["localization_v"]["value"] == 1.0
        markdown = (tmp_path / "out/table.md").read_text(encoding="utf-8")
        assert "| mine.csv | card | 50.00‡ [" in markdown  # two of four were not answered
        assert "‡ Incomplete" in markdown
        assert "AR was not computed" in markdown
        latex = (tmp_path / "out/table.tex").read_text(encoding="utf-8")
        assert latex.count("\\\\") == 11  # the head and two rows per model
        assert "\\toprule" in latex

    def test_an_unknown_id_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "mine.csv").write_text("id,text\nitem-99,Yes\n", encoding="utf-8")
        with pytest.raises(UserError, match=r"item-99"):
            call("score", "mine.csv", "--benchmark", B, "--out", "out")

    def test_an_unknown_benchmark_is_refused(self, tmp_path: Path) -> None:
        (tmp_path / "mine.csv").write_text("id,text\nitem-00,Yes\n", encoding="utf-8")
        with pytest.raises(UserError, match="is unknown"):
            call("score", "mine.csv", "--benchmark", "sgmri-open-corected-image", "--out", "out")

    def test_the_chain_of_an_item(self, tmp_path: Path) -> None:
        (tmp_path / "mine.csv").write_text("id,text\nitem-00,Yes\n", encoding="utf-8")
        call("score", "mine.csv", "--benchmark", B, "--out", "out")
        shown = call("explain", "item-00", "--root", "out/card").output
        for part in ("question: What is seen?", "text: Yes", "answer: yes", "value: 1.0", "cell: Detection A of"):
            assert part in shown
        with pytest.raises(UserError, match="Did you mean 'item-"):
            call("explain", "item-0l", "--root", "out/card")


def test_parity_counts_and_exits(tmp_path: Path) -> None:
    line = {"id": "1", "function": "yes_no", "input": {"text": "Yes"}, "output": True}
    wrong = {**line, "id": "2", "output": False}
    (tmp_path / "cases.jsonl").write_text(f"{json.dumps(line)}\n{json.dumps(wrong)}\n", encoding="utf-8")
    done = call("parity", "cases.jsonl")
    assert done.output.splitlines()[-1] == "1 passed, 1 failed"
    assert done.exit_code == 1
    (tmp_path / "cases.jsonl").write_text(json.dumps(line), encoding="utf-8")
    assert call("parity", "cases.jsonl").exit_code == 0
    with pytest.raises(UserError, match=r"none\.jsonl"):
        call("parity", "none.jsonl")
