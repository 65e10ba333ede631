"""The stages around a language model: what a reply is travels on, a key never does, a replay gives the same bytes."""

from __future__ import annotations

import json
import logging
from pathlib import Path
from typing import Any

import pytest
from slicewise import artifacts, layout
from slicewise.endpoints import LlmSettings
from slicewise.errors import UserError
from slicewise.geometry import Convention
from slicewise.infer import plan as infer_plan
from slicewise.infer import run as infer_run
from slicewise.jobs import InferJob, ParseJob, ScoreJob
from slicewise.judges import LlmJudge
from slicewise.llm.store import Store
from slicewise.outcome import Outcome
from slicewise.params import OpenAIModel, ParseSettings
from slicewise.parse.run import parse_file
from slicewise.score import judge_quality, schemas
from slicewise.score import plan as score_plan
from slicewise.score.run import score_model, score_models

CANARY = "sk-canary-5e1f0d7c9b"
BENCHMARK, MODEL = "sgmri-demo-image", "m"
QUESTIONS = ["plain", "FILTERED REPLY", "FILTERED PROMPT", "SAY NOTHING", "SAY NOTHING, CUT OFF", "TOO LONG", "other"]
OUTCOMES = ["ok", "refused", "refused", "empty", "truncated", "api_error", "ok"]


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    root = tmp_path / "project"
    root.mkdir()
    monkeypatch.chdir(root)
    return root


def samples(questions: list[str]) -> Path:
    rows = [
        {
            "sample_id": f"s{i:03d}", "benchmark": BENCHMARK, "level": "image", "domain": "brain", "volume_id": "v",
            "modality": "MRI", "task": "captioning", "question_type": "open_ended", "question": text, "options": None,
            "answer": f"A cyst: {text}.", "reasoning": None, "labels": [], "boxes": [], "n_frames": 1, "flags": [],
            "frames": [{"number": 1, "path": None, "width": 8, "height": 8, "sha256": None}],
        }
        for i, text in enumerate(questions)
    ]  # fmt: skip
    path = Path(layout.samples(BENCHMARK))
    artifacts.write_rows(path, rows, artifacts.SAMPLES)
    return path


def infer_job(endpoint: Any, **settings: Any) -> InferJob:
    model = OpenAIModel(name=MODEL, backend="openai", view="text_only", endpoint=endpoint)
    return InferJob(benchmark=BENCHMARK, model=model, llm=LlmSettings(**settings))


def infer(endpoint: Any, questions: list[str], **settings: Any) -> list[dict[str, Any]]:
    infer_run.answer(infer_job(endpoint, **settings), samples(questions), layout.answers(BENCHMARK, MODEL))
    return artifacts.read_rows(layout.answers(BENCHMARK, MODEL), artifacts.ANSWERS)


def parse() -> list[dict[str, Any]]:
    job = ParseJob(
        benchmark=BENCHMARK,
        model=MODEL,
        bbox_convention=Convention.ABS_XYWH_ORIGINAL,
        frame_base=1,
        parse=ParseSettings(),
    )
    out = layout.parsed(BENCHMARK, MODEL)
    parse_file(job, layout.samples(BENCHMARK), layout.answers(BENCHMARK, MODEL), out)
    return artifacts.read_rows(out)


def judge_job(endpoint: Any, **settings: Any) -> ScoreJob:
    return ScoreJob(
        metric="judge",
        benchmark=BENCHMARK,
        protocol="card",
        ar_reference="answer",
        judge=LlmJudge(kind="llm", endpoint=endpoint),
        judge_name="the-judge",
        llm=LlmSettings(**settings),
    )


def score(endpoint: Any, **settings: Any) -> list[dict[str, Any]]:
    score_models(judge_job(endpoint, **settings), [MODEL], Path(), 1)
    return artifacts.read_rows(layout.score(BENCHMARK, MODEL, "judge"))


def test_what_became_of_a_reply_travels_to_the_last_stage(start_server: Any, project: Path) -> None:
    endpoint = start_server().endpoint()
    answers = infer(endpoint, QUESTIONS)
    assert all((row["text"] is None) == (row["outcome"] != "ok") for row in answers)
    assert [row["outcome"] for row in answers if row["outcome"] not in ("ok", "refused")] == ["api_error"]
    assert [row["text_outcome"] for row in parse()] == OUTCOMES
    rows = score(endpoint)
    assert [row["outcome"] for row in rows] == OUTCOMES
    assert [row["value"] is not None for row in rows] == [outcome == "ok" for outcome in OUTCOMES]
    assert {row["judge"] for row in rows} == {"the-judge"}
    assert not any(row["proxy"] for row in rows)
    read = json.loads(rows[0]["reply"])
    assert rows[0]["value"] == pytest.approx(sum(read.values()) / 30)


def test_the_budget_leaves_items_not_run_and_a_raised_one_goes_on(start_server: Any, project: Path) -> None:
    endpoint = start_server().endpoint(sampling={"max_tokens": 100_000}, concurrency=1)
    questions = [f"question {i}" for i in range(4)]
    planned = infer_plan.line(infer_job(endpoint), samples(questions), None)
    assert planned is not None
    assert (planned.calls, planned.cached, planned.batch) == (4, 0, pytest.approx(planned.live / 2))  # type: ignore[operator]
    assert planned.ceiling is not None
    rows = infer(endpoint, questions, budget_usd=planned.ceiling / 4 * 1.00001)
    outcomes = [row["outcome"] for row in rows]
    assert set(outcomes) == {"ok", "not_run"}
    assert [row["text_outcome"] for row in parse()] == outcomes
    assert [row["outcome"] for row in score(endpoint, budget_usd=1e-9)] == ["not_run"] * 4
    assert {row["outcome"] for row in infer(endpoint, questions, budget_usd=10.0)} == {"ok"}
    parse()
    with Store(layout.STORE) as store:
        after = infer_plan.line(infer_job(endpoint), samples(questions), store)
        judged = score_plan.lines(judge_job(endpoint), [MODEL, "not-there-yet"], Path(), store)
    assert after is not None
    assert (after.cached, after.live, after.prompt_tokens) == (4, 0.0, 0)
    assert [(line.stage, line.calls, line.cached) for line in judged] == [("score", 8, 0)]
    assert "4 answers do not exist yet" in judged[0].notes[0]


def test_batch_mode_is_the_same_entry_and_gives_the_same_bytes(
    start_server: Any, project: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from slicewise.llm import batch

    monkeypatch.setattr(batch, "POLL_SECONDS", 0.01)
    server = start_server()
    endpoint = server.endpoint(prices=None)
    infer(endpoint, ["a", "b"], batch=True)
    parse()
    batched = [score(endpoint, batch=True), layout.answers(BENCHMARK, MODEL).read_bytes()]
    assert server.requests == 0
    for path in (project / layout.STORE).rglob("*.*"):
        path.unlink()
    infer(endpoint, ["a", "b"])
    parse()
    assert [score(endpoint), layout.answers(BENCHMARK, MODEL).read_bytes()] == batched
    assert server.requests == 4


def test_no_key_is_written_anywhere_and_replay_needs_none(
    start_server: Any,
    project: Path,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", CANARY)
    monkeypatch.setenv("OPENAI_LOG", "debug")
    caplog.set_level(logging.DEBUG)
    server = start_server(faults=0.3, seed=4)
    endpoint = server.endpoint(api_key_env="OPENAI_API_KEY")
    infer(endpoint, QUESTIONS)
    parse()
    score(endpoint)
    files = [layout.answers(BENCHMARK, MODEL), layout.score(BENCHMARK, MODEL, "judge")]
    first = [path.read_bytes() for path in files]
    written = [path for path in project.rglob("*") if path.is_file()]
    assert any(path.name == "live.sqlite" for path in written)
    assert any(path.parent.name == "shards" for path in written)
    assert not [path for path in written if CANARY.encode() in path.read_bytes()]
    said = capfd.readouterr()
    assert CANARY not in caplog.text + said.out + said.err

    monkeypatch.delenv("OPENAI_API_KEY")
    asked = server.requests
    moved = endpoint.model_copy(update={"base_url": "http://127.0.0.1:9/v1"})
    with pytest.raises(UserError, match=r"replay: the store has no reply for 1 of 7 .*s005"):
        infer(moved, QUESTIONS, mode="replay")  # the failed call was never a reply
    kept = [text for text in QUESTIONS if text != "TOO LONG"]
    infer(endpoint.model_copy(update={"api_key_env": None}), kept)
    parse()
    score(moved, mode="replay")
    once = [path.read_bytes() for path in files]
    for path in files:
        path.unlink()
    live = project / layout.STORE / "live.sqlite"
    live.unlink()  # the shards alone are enough
    for path in live.parent.glob("live.sqlite-*"):
        path.unlink()
    infer(moved, kept, mode="replay")
    parse()
    score(moved, mode="replay")
    assert [path.read_bytes() for path in files] == once
    assert first[0] != once[0]
    assert server.requests == asked


def test_a_refused_key_is_not_in_the_message(start_server: Any, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong")
    with pytest.raises(UserError) as error:
        infer(start_server().endpoint(api_key_env="OPENAI_API_KEY"), ["a"])
    assert "sk-wrong" not in str(error.value)
    assert "OPENAI_API_KEY" in str(error.value)


def test_the_quality_of_a_judge_is_a_table_that_is_bought_once(start_server: Any, project: Path) -> None:
    server = start_server()
    endpoint = server.endpoint()
    infer(endpoint, [f"question {i}" for i in range(12)])
    parse()

    def table() -> list[judge_quality.Measure]:
        return judge_quality.measure(
            judge_job(endpoint), [MODEL], Path(), project / layout.STORE, items=8, repeats=2, seed=1
        )

    first = table()
    found = {m.name: m for m in first}
    assert found["verdicts"].value == 1.0
    assert found["repeat_identical"].value == 1.0  # the scripted judge answers by content alone
    assert found["repeat_alpha"].value == pytest.approx(1.0)
    assert found["repeat_sd"].value == 0.0
    assert {m.n for m in first} == {8}
    assert found["order_shift"].value != 0.0  # ... and content includes the order
    asked = server.requests
    assert table() == first
    assert server.requests == asked


# K. Krippendorff, Computing Krippendorff's Alpha-Reliability (2011), section D: four observers, twelve units.
OBSERVED: list[list[float | None]] = [
    [1, 2, 3, 3, 2, 1, 4, 1, 2, None, None, None],
    [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, None, 3],
    [None, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, None],
    [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, None],
]


def test_krippendorffs_own_example() -> None:
    assert judge_quality.alpha(OBSERVED) == pytest.approx(0.849, abs=5e-4)
    assert judge_quality.alpha([[1.0, 1.0], [1.0, 1.0]]) is None
    assert judge_quality.alpha([[1.0, 2.0], [2.0, 1.0]]) < 0  # type: ignore[operator]


def test_rank_correlation_with_ties() -> None:
    assert judge_quality.spearman([1, 2, 3, 4], [1, 2, 3, 4]) == pytest.approx(1.0)
    assert judge_quality.spearman([1, 2, 2, 3], [1, 2, 3, 3]) == pytest.approx(0.8333, abs=1e-4)
    assert judge_quality.spearman([1, 1, 1], [1, 2, 3]) is None


def test_outcomes_of_a_judge_are_outcomes() -> None:
    assert set(OUTCOMES) <= set(Outcome)


def test_the_released_judge_enters_ar_with_the_released_arithmetic(start_server: Any, project: Path) -> None:
    def reply(body: dict[str, Any]) -> str:
        return "8,8,8" if "A cyst" in str(body["messages"][-1]["content"]).split("Answer to rate:")[1] else "4,4,4"

    infer(start_server().endpoint(), ["one", "two"])
    parse()
    endpoint = start_server(reply=reply).endpoint(model="released")
    shared = {"benchmark": BENCHMARK, "protocol": "reference", "llm": LlmSettings()}
    judge = LlmJudge(kind="llm", endpoint=endpoint, rubric="released")
    score_models(ScoreJob(metric="judge", judge=judge, judge_name="released", **shared), [MODEL], Path(), 1)
    rows = artifacts.read_rows(layout.score(BENCHMARK, MODEL, "judge"))
    assert [(row["value"], row["reply"], row["self_reply"]) for row in rows] == [(0.5, "4,4,4", "8,8,8")] * 2
    ids = ("sample_id", "benchmark", "model")
    bert = [
        {**{name: row[name] for name in ids}, "value": 0.5, "outcome": "ok", "f1_raw": 0.5, "flags": []}
        | {"signature": "s"}
        for row in rows
    ]
    artifacts.write_rows(layout.score(BENCHMARK, MODEL, "bertscore"), bert, schemas.schema("bertscore"))
    score_model(ScoreJob(metric="reasoning", **shared), MODEL, Path())
    for row in artifacts.read_rows(layout.score(BENCHMARK, MODEL, "reasoning")):
        assert row["judge"] == 0.5
        assert row["value"] == pytest.approx(0.4 * 0.5 + 0.2 * (0.5 + row["bleu"] + row["rouge_l"]))
