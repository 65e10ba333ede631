"""Every open choice re-scores stored answers, one at a time, and nothing is encoded, asked or bought."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest
import yaml
from slicewise import artifacts, jobs, layout, params
from slicewise.benchmarks.sgmri import METRICS, NEURAL_METRICS
from slicewise.infer import run as infer_run
from slicewise.judges import LlmJudge
from slicewise.llm.request import Reply
from slicewise.llm.store import Store
from slicewise.outcome import Outcome
from slicewise.parse import run as parse_run
from slicewise.report import sensitivity, variants
from slicewise.score import judge_llm, schemas
from slicewise.score import run as score_run
from slicewise.score.judge import JudgeItem
from slicewise.score.paths import Paths
from slicewise.score.texts import card_texts

ROOT = Path(__file__).parents[2]
BENCHMARK = "sgmri-demo-volume"
MODELS = ["oracle", "always-yes", "prior-box"]
Rows = list[dict[str, Any]]


@pytest.fixture(scope="module")
def project(tmp_path_factory: pytest.TempPathFactory, make: Any) -> Path:
    """Baselines over a small volume benchmark, scored by the real stages; neural parts are made up, with ratings."""
    root = tmp_path_factory.mktemp("sensitivity")
    raw = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    raw["suites"] = {"demo": {**raw["suites"]["demo"], "models": MODELS, "benchmarks": [BENCHMARK]}}
    (root / "params.yaml").write_text(yaml.safe_dump(raw, sort_keys=False))
    settings = params.load(root / "params.yaml")
    samples = make.samples(root, BENCHMARK, False)
    rows = [{**s, "question": "Where is it?" if s["task"] == "localization" else "Is it?"} for s in samples]
    artifacts.write_rows(root / layout.samples(BENCHMARK), rows, artifacts.SAMPLES)
    for model in MODELS:
        infer_run.answer(
            jobs.infer_job(settings, BENCHMARK, model),
            root / layout.samples(BENCHMARK),
            root / layout.answers(BENCHMARK, model),
        )
        parse_run.parse_file(
            jobs.parse_job(settings, BENCHMARK, model),
            root / layout.samples(BENCHMARK),
            root / layout.answers(BENCHMARK, model),
            root / layout.parsed(BENCHMARK, model),
        )
        for metric in NEURAL_METRICS:
            _made_up(root, samples, model, metric)
        for metric in METRICS:
            if metric not in NEURAL_METRICS:
                score_run.score_model(jobs.score_job(settings, BENCHMARK, metric), model, root)
    return root


def _made_up(root: Path, samples: Rows, model: str, metric: str) -> None:
    """A neural metric's rows for the tasks of AR; nothing for the open-ended A-Score, which no item here asks for."""
    schema = schemas.schema(metric)
    extra = {
        "bertscore": {"precision": 0.8, "recall": 0.8, "f1_raw": 0.8, "f1_rescaled": -0.1, "value": 0.8},
        "judge": {"accuracy": 1.0, "relevance": 4.0, "helpfulness": 7.0, "judge": "j", "proxy": False, "value": 0.4},
    }.get(metric, {})
    rows = [
        {
            **dict.fromkeys(schema.names),
            "sample_id": s["sample_id"],
            "benchmark": BENCHMARK,
            "model": model,
            "outcome": "ok",
            "flags": [],
            "signature": "made up",
            **extra,
        }
        for s in samples
        if s["task"] in ("captioning", "localization") and metric != "similarity"
    ]
    artifacts.write_rows(root / layout.score(BENCHMARK, model, metric), rows, schema)


@pytest.fixture(scope="module")
def rows(project: Path) -> Rows:
    return sensitivity.sensitivity(params.load(project / "params.yaml"), project)


def only(rows: Rows, choice: str, option: str, model: str, column: str) -> dict[str, Any]:
    (row,) = (r for r in rows if (r["choice"], r["option"], r["model"], r["column"]) == (choice, option, model, column))
    return row


def test_every_choice_is_there_for_every_model(rows: Rows, project: Path) -> None:
    settings = params.load(project / "params.yaml")
    declared = {(o.choice, o.name) for o in variants.options(settings, jobs.report_job(settings))}
    assert {(r["choice"], r["option"]) for r in rows} == declared
    assert {choice for choice, _ in declared} == {
        "BERTScore", "judge scale", "judge", "AR reference", "V gold", "V mean", "parser", "missing", "frames",
        "box convention", "frame base",
    }  # fmt: skip
    assert {r["model"] for r in rows} == set(MODELS)


def test_the_judge_scale_moves_ar_by_its_weight(rows: Rows) -> None:
    """Ratings of mean 4: 0.4 as 4/10, 1/3 as (4 - 1)/9; the judge weighs 0.4."""
    row = only(rows, "judge scale", "1 to 10 as 0 to 1", "always-yes", "captioning")
    assert row["difference"] == pytest.approx(0.4 * (1 / 3 - 0.4), abs=2e-6)
    assert row["unavailable"] is None


def test_bertscore_rescaled_is_clipped(rows: Rows) -> None:
    """Raw 0.8, rescaled -0.1 and so 0: the part weighs 0.2."""
    row = only(rows, "BERTScore", "rescaled", "always-yes", "captioning")
    assert row["difference"] == pytest.approx(-0.2 * 0.8, abs=2e-6)


def test_a_wrong_convention_costs_the_oracle_its_v(rows: Rows) -> None:
    row = only(rows, "box convention", "abs_xyxy_original", "oracle", "localization_v")
    assert row["base"] == 1.0
    assert row["value"] < 0.6
    own = only(rows, "box convention", "abs_xywh_original", "oracle", "localization_v")
    assert (own["value"], own["unavailable"]) == (None, "it is the model's declared convention")
    assert only(rows, "frame base", "the other", "oracle", "localization_v")["value"] < 0.6


def test_the_other_numbering_moves_knees_alone(rows: Rows, project: Path) -> None:
    """Every knee box lies one frame beside its gold, every brain box on it."""
    items = [
        r
        for r in artifacts.read_rows(project / layout.samples(BENCHMARK))
        if r["task"] == "localization" and r["boxes"]
    ]
    brain = sum(r["domain"] == "brain" for r in items)
    row = only(rows, "frames", "the other numbering of knees", "oracle", "localization_v")
    assert row["value"] >= brain / len(items) - 1e-6
    assert row["value"] < 1.0


def test_what_is_not_stored_is_unavailable_and_never_made(rows: Rows, project: Path) -> None:
    assert only(rows, "judge", "gpt-4o-mini", "oracle", "captioning")["unavailable"] == "there is no response store"
    reference = only(rows, "AR reference", "answer+reasoning", "oracle", "captioning")
    assert "not in the cache and would need the encoder" in reference["unavailable"]
    assert reference["value"] is None
    assert not (project / layout.pair_cache()).exists()


def test_a_judge_whose_verdicts_are_stored_is_an_option(project: Path, tmp_path: Path) -> None:
    """Ratings of 10 from another judge in the place of 4: AR rises by 0.4 x 0.6 wherever there is a text."""
    shutil.copytree(project, tmp_path, dirs_exist_ok=True)
    settings = params.load(tmp_path / "params.yaml")
    declared = settings.judges["gpt-4o-mini"]
    assert isinstance(declared, LlmJudge)
    judge = judge_llm.CardJudge("gpt-4o-mini", declared, judge_llm.Asking(tmp_path / layout.STORE, settings.llm))
    job = jobs.score_job(settings, BENCHMARK, "judge")
    reply = Reply('{"accuracy": 10, "relevance": 10, "helpfulness": 10}', finish_reason="stop")
    with Store(tmp_path / layout.STORE) as store:
        for model in MODELS:
            for item in (t for batch in card_texts(job, Paths(tmp_path, BENCHMARK, model)) for t in batch):
                if item.outcome is Outcome.OK and item.pair[0].strip():
                    request = judge.request(JudgeItem(item.sample_id, item.question, item.pair[1], item.pair[0]))
                    store.put(request, reply, seconds=0.1, attempts=1)
        store.share()
    found = sensitivity.sensitivity(settings, tmp_path)
    row = only(found, "judge", "gpt-4o-mini", "always-yes", "captioning")
    assert row["unavailable"] is None
    assert row["difference"] == pytest.approx(0.4 * 0.6, abs=2e-6)
    assert only(found, "judge", "gpt-oss-120b", "always-yes", "captioning")["value"] is None


def test_the_run_itself_is_not_touched(rows: Rows, project: Path) -> None:
    assert rows
    settings = params.load(project / "params.yaml")
    before = {path: path.read_bytes() for path in (project / "results").rglob("*.parquet")}
    sensitivity.sensitivity(settings, project)
    assert {path: path.read_bytes() for path in (project / "results").rglob("*.parquet")} == before


def test_ranks(rows: Rows) -> None:
    base = {r["model"]: r["base_rank"] for r in rows if (r["choice"], r["column"]) == ("V mean", "localization_v")}
    assert base["oracle"] is None  # it reads the gold
    assert sorted(r for m, r in base.items() if m != "oracle") == [1, 2]
    assert not only(rows, "missing", "lost items as 0", "prior-box", "avg")["ranking_changes"]


def test_files(rows: Rows, tmp_path: Path) -> None:
    written = sensitivity.write(rows, tmp_path)
    assert artifacts.read_table(tmp_path / "sensitivity.parquet", sensitivity.SENSITIVITY).num_rows == len(rows)
    text = (tmp_path / "sensitivity.md").read_text()
    assert "| judge scale | 1 to 10 as 0 to 1 |" in text
    assert "unavailable: there is no response store" in text
    assert (tmp_path / f"sensitivity-{BENCHMARK}.pdf") in written
