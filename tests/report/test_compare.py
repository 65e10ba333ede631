"""Two versions of the results: settings, items, reasons and scores, against a computation by hand."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from typing import Any, NamedTuple

import pandas as pd
import pytest
import yaml
from scipy import stats
from slicewise import artifacts, layout
from slicewise.benchmarks import sgmri
from slicewise.cli import cli
from slicewise.errors import UserError
from slicewise.report import compare, compare_text, sides, sweep
from slicewise.report.compare import CHANGES, CONTRASTS, Comparison
from slicewise.score import schemas

ROOT = Path(__file__).parents[2]
BENCHMARK = "sgmri-demo-volume"
MODELS = ["oracle", "always-yes", "reader"]


def settings_of(**changes: Any) -> dict[str, Any]:
    """Settings of a suite whose model ``reader`` is a language model; changes by dotted name with ``__``."""
    raw: dict[str, Any] = yaml.safe_load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    endpoint = {"model": "reader-7b", "base_url": "http://localhost:1/v1", "api_key_env": None, "context_window": 8192}
    raw["models"] = [
        {"name": "oracle", "backend": "baseline", "baseline": "oracle"},
        {"name": "always-yes", "backend": "baseline", "baseline": "always-yes"},
        {"name": "reader", "backend": "openai", "endpoint": endpoint},
    ]
    raw["judges"]["proxy-short"] = {"kind": "proxy", "encoder": "minilm-hub"}
    raw["suites"] = {"demo": {**raw["suites"]["demo"], "models": MODELS, "benchmarks": [BENCHMARK]}}
    raw["suite"] = "demo"
    for name, value in changes.items():
        block: Any = raw
        *parents, last = name.split("__")
        for key in parents:
            block = next(m for m in block if m["name"] == key) if isinstance(block, list) else block[key]
        block[last] = value
    return raw


def answers_of(root: Path, model: str) -> None:
    """An answer to every item, its text made from the item."""
    samples = artifacts.read_rows(root / layout.samples(BENCHMARK))
    empty = dict.fromkeys(artifacts.ANSWERS.names)
    rows = [
        {**empty, "sample_id": s["sample_id"], "benchmark": BENCHMARK, "model": model, "text": "t", "outcome": "ok"}
        for s in samples
    ]
    artifacts.write_rows(
        root / layout.answers(BENCHMARK, model), [{**r, "frames": []} for r in rows], artifacts.ANSWERS
    )


def project(root: Path, make: Any, **changes: Any) -> Path:
    """A folder with settings, items, answers, readings and scores."""
    job = make.job(benchmarks=[BENCHMARK])
    make.tree(root, job.model_copy(update={"models": [m for m in job.models if m.name in MODELS]}), with_frames=False)
    for model in MODELS:
        answers_of(root, model)
    (root / "params.yaml").write_text(yaml.safe_dump(settings_of(**changes), sort_keys=False))
    return root


def edit(path: Path, schema: Any, changed: dict[str, dict[str, Any]]) -> None:
    """Change some rows of a file."""
    rows = [{**row, **changed.get(row["sample_id"], {})} for row in artifacts.read_rows(path, schema)]
    artifacts.write_rows(path, rows, schema)


class Two(NamedTuple):
    """Two experiments, and the items that were changed between them by link."""

    a: Path
    b: Path
    prompted: list[str]
    parsed: list[str]
    judged: list[str]


@pytest.fixture(scope="module")
def two(tmp_path_factory: pytest.TempPathFactory, make: Any) -> Two:
    """B differs from A in one prompt, one parser rule and one judge."""
    folder = tmp_path_factory.mktemp("two")
    a = project(folder / "a", make)
    b = project(
        folder / "b",
        make,
        models__reader__prompt="icl",
        models__reader__frame_base=0,
        suites__demo__judge="proxy-short",
    )
    scores = {m: artifacts.read_rows(b / layout.score(BENCHMARK, "reader", m)) for m in compare.METRICS}
    ok = {m: sorted(r["sample_id"] for r in rows if r["outcome"] == "ok") for m, rows in scores.items()}
    prompted, parsed, judged = ok["answer"][:5], ok["grounding"][:3], ok["reasoning"][-4:]
    answer = {r["sample_id"]: r for r in scores["answer"]}
    edit(b / layout.answers(BENCHMARK, "reader"), artifacts.ANSWERS, {key: {"text": "other"} for key in prompted})
    flipped = {key: {"value": 1.0 - answer[key]["value"], "reading": "x"} for key in prompted}
    edit(b / layout.score(BENCHMARK, "reader", "answer"), schemas.schema("answer"), flipped)
    box = {"frame": 0, "x0": 1.0, "y0": 2.0, "x1": 3.0, "y1": 4.0, "label": None}
    edit(b / layout.parsed(BENCHMARK, "reader"), artifacts.PARSED, {key: {"boxes": [box]} for key in parsed})
    moved = {key: {"value": 0.125} for key in parsed}
    edit(b / layout.score(BENCHMARK, "reader", "grounding"), schemas.schema("grounding"), moved)
    edit(
        b / layout.score(BENCHMARK, "reader", "reasoning"),
        schemas.schema("reasoning"),
        {k: {"value": 0.75} for k in judged},
    )
    return Two(a, b, prompted, parsed, judged)


@pytest.fixture(scope="module")
def found(two: Two) -> Comparison:
    return compare.compare(sides.load("a", two.a), sides.load("b", two.b))


def test_exactly_the_settings_that_differ_are_named(found: Comparison) -> None:
    named = {d.name: (d.kind, d.a, d.b) for d in found.settings if not d.name.startswith("judge.")}
    assert named == {
        "models.reader.frame_base": ("parser", 1, 0),
        "models.reader.prompt": ("prompt", "minimal", "icl"),
    }
    assert {d.kind for d in found.settings if d.name.startswith("judge.")} == {"judge"}
    assert {d.name for d in found.settings} >= {"judge.is"}


def test_exactly_the_changed_items_are_listed_with_their_reason(found: Comparison, two: Two) -> None:
    judge = ", ".join(d.name for d in found.settings if d.kind == "judge")
    expected = {
        **{key: ("answer, A", "models.reader.prompt") for key in two.prompted},
        **{key: ("AR", judge) for key in two.judged},
    }
    for key in two.parsed:
        links = "reading, AR, V" if key in two.judged else "reading, V"
        expected[key] = (links, "models.reader.frame_base")
    assert {row["sample_id"]: (row["changed"], row["because"]) for row in found.changes} == expected
    assert {row["model_b"] for row in found.changes} == {"reader"}
    for row in found.changes:
        assert (row["text_a"], row["text_b"]) == ("t", "other" if row["sample_id"] in two.prompted else "t")


def by_hand(two: Two, metric: str, task: str) -> dict[str, float]:
    """Difference, interval and exact p of one column, with nothing of the package but the files."""
    frames = []
    for root in (two.a, two.b):
        frame = pd.read_parquet(root / layout.score(BENCHMARK, "reader", metric))
        frame = frame[frame["outcome"].isin(["ok", "unparsed", "refused", "empty", "truncated"])]
        frames.append(frame.assign(value=frame["value"].fillna(0.0))[["sample_id", "value"]])
    items = pd.read_parquet(two.a / layout.samples(BENCHMARK), columns=["sample_id", "volume_id", "task"])
    pairs = items[items["task"] == task].merge(frames[0], on="sample_id").merge(frames[1], on="sample_id")
    if metric == "grounding":
        gold = pd.read_parquet(two.a / layout.samples(BENCHMARK), columns=["sample_id", "boxes"])
        pairs = pairs.merge(gold[gold["boxes"].map(len) > 0], on="sample_id")
    d = pairs["value_y"] - pairs["value_x"]
    per_volume = d.groupby(pairs["volume_id"]).agg(["sum", "count"])
    n, c = len(d), len(per_volume)
    pull = (per_volume["sum"] - d.mean() * per_volume["count"]) / n
    se = math.sqrt(c / (c - 1) * float((pull**2).sum()))
    effective = n**2 / float((per_volume["count"] ** 2).sum())
    half = stats.t.ppf(0.975, effective - 1) * se
    moved = [x for x in per_volume["sum"] if x != 0]
    flips = [
        abs(sum(s * x for s, x in zip(signs, moved, strict=True)))
        for signs in itertools.product((1, -1), repeat=len(moved))
    ]
    p = sum(f >= abs(sum(moved)) - 1e-9 for f in flips) / len(flips)
    return {
        "difference": float(d.mean()),
        "low": float(d.mean() - half),
        "high": float(d.mean() + half),
        "p": p,
        "n": n,
    }


@pytest.mark.parametrize(
    ("column", "metric", "task"),
    [
        ("counting", "answer", "counting"),
        ("localization_v", "grounding", "localization"),
        ("captioning", "reasoning", "captioning"),
        ("localization_ar", "reasoning", "localization"),
    ],
)
def test_numbers_equal_a_computation_by_hand(found: Comparison, two: Two, column: str, metric: str, task: str) -> None:
    (row,) = (r for r in found.contrasts if (r["model_a"], r["column"]) == ("reader", column))
    for name, value in by_hand(two, metric, task).items():
        assert row[name] == pytest.approx(value, abs=2e-6), name


def test_holm_runs_over_all_comparisons(found: Comparison) -> None:
    known = sorted((row["p"], row["position"]) for row in found.contrasts if row["p"] is not None)
    highest = 0.0
    for rank, (p, position) in enumerate(known):
        highest = max(highest, min(1.0, p * (len(known) - rank)))
        assert found.contrasts[position]["p_holm"] == pytest.approx(highest, abs=1e-6)


def test_what_did_not_move_is_the_same(found: Comparison) -> None:
    verdicts = {row["verdict"] for row in found.contrasts if row["model_a"] != "reader"}
    assert verdicts == {"same"}
    assert len(found.contrasts) == len(MODELS) * (len(sgmri.COLUMNS["volume"]) + 1)


def test_a_side_against_itself_differs_in_nothing(two: Two) -> None:
    same = compare.compare(sides.load("a", two.a), sides.load("again", two.a))
    assert (same.settings, same.changes, same.worse) == ([], [], [])
    assert {row["verdict"] for row in same.contrasts} <= {"same", "not tested"}
    assert "None." in compare_text.markdown(same)


def test_two_models_of_one_run(two: Two) -> None:
    side = sides.load("a", two.a)
    pair = compare.compare(side, side, [("oracle", "always-yes")])
    (row,) = (r for r in pair.contrasts if r["column"] == "captioning")
    assert row["difference"] == pytest.approx(0.11 - 0.98)
    assert row["verdict"] == "worse"
    assert {r["because"] for r in pair.changes} == {compare.ANOTHER}
    with pytest.raises(UserError, match="has no model 'orakel'"):
        compare.compare(side, side, [("orakel", "oracle")])


def test_files_and_exit_status(two: Two, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    named = [str(two.a), str(two.b)]
    assert cli(["compare", *named, "--out", str(tmp_path)], standalone_mode=False) in (None, 0)
    said = capsys.readouterr().out
    assert "| models.reader.prompt | prompt | minimal | icl |" in said
    rows = artifacts.read_rows(tmp_path / "changes.parquet", CHANGES)
    assert len(rows) == len({*two.prompted, *two.parsed, *two.judged})
    assert artifacts.read_table(tmp_path / "scores.parquet", CONTRASTS).num_rows == 21
    better = ["compare", str(two.a), str(two.a), "--pair", "oracle:always-yes", "--out", str(tmp_path)]
    with pytest.raises(SystemExit) as stop:
        cli([*better, "--fail-if-worse"])
    assert stop.value.code == 1
    assert "worse: sgmri-demo-volume always-yes" in capsys.readouterr().err
    with pytest.raises(SystemExit) as stop:
        cli(better)
    assert stop.value.code == 0


def test_a_folder_without_settings_says_so(two: Two, tmp_path: Path) -> None:
    bare = tmp_path / "bare"
    bare.mkdir()
    (bare / "results").symlink_to(two.a / "results")
    mixed = compare.compare(sides.load("bare", bare), sides.load("a", two.a))
    assert mixed.settings == []
    assert "Unknown: no params.yaml in bare." in compare_text.markdown(mixed)
    assert mixed.changes == []
    with pytest.raises(UserError, match="has no results/score"):
        sides.load("nothing", tmp_path)


def test_a_sweep_is_one_table_and_one_figure(two: Two, tmp_path: Path) -> None:
    three = [sides.load(name, root) for name, root in (("a", two.a), ("b", two.b), ("c", two.a))]
    made = sweep.sweep(three)
    assert made.settings["models.reader.prompt"] == ["minimal", "icl", "minimal"]
    verdicts = {
        row["version"]: {r["verdict"] for r in made.rows if r["version"] == row["version"]} for row in made.rows
    }
    assert verdicts["a"] == {"base"}
    assert verdicts["c"] <= {"same", "not tested"}
    pair = compare.compare(three[0], three[1])
    expected = {(r["model_b"], r["column"]): r["difference"] for r in pair.contrasts}
    assert {(r["model_b"], r["column"]): r["difference"] for r in made.rows if r["version"] == "b"} == expected
    written = sweep.write(made, tmp_path)
    assert [path.suffix for path in written] == [".md", ".csv", ".parquet", ".pdf", ".png"]
    assert all(path.stat().st_size > 500 for path in written)
    with pytest.raises(UserError, match="named twice"):
        sweep.sweep([three[0], three[0]])


def test_names_of_models_may_hold_dots() -> None:
    assert sides.kind(("models", "qwen2.5-vl-7b", "bbox_convention")) == "parser"
    assert sides.kind(("models", "qwen2.5-vl-7b", "endpoint", "images", "max_side")) == "frames sent"
    assert sides.kind(("models", "qwen2.5-vl-7b", "endpoint", "model")) == "model"
    assert sides.kind(("code", "score.answer")) == "scoring"
