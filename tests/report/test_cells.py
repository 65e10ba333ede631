"""Cells against a plain recomputation from the score files, and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from slicewise import artifacts, layout
from slicewise.benchmarks import sgmri
from slicewise.errors import UserError
from slicewise.jobs import ReportJob
from slicewise.report import cells, collect
from slicewise.report import statistics as st

ZERO = ("unparsed", "refused", "empty", "truncated")
LOST = ("api_error", "judge_error", "missing_frames", "not_run")
Tree = tuple[ReportJob, Path]


@pytest.fixture(scope="module")
def made(tree: Tree) -> tuple[pd.DataFrame, pd.DataFrame]:
    job, root = tree
    items = collect.items(job, root)
    return items, cells.cells(items, job)


def by_hand(root: Path, benchmark: str, model: str, column: sgmri.Column) -> dict[str, Any]:
    """One cell with plain loops over the files."""
    samples = {row["sample_id"]: row for row in artifacts.read_rows(root / layout.samples(benchmark))}
    rows = artifacts.read_rows(root / layout.score(benchmark, model, column.metric))
    rows = [row for row in rows if samples[row["sample_id"]]["task"] == column.task]
    if column.metric == "grounding":
        rows = [row for row in rows if samples[row["sample_id"]]["boxes"]]
    values = [row["value"] if row["outcome"] == "ok" else 0.0 for row in rows if row["outcome"] in ("ok", *ZERO)]
    volumes = [samples[r["sample_id"]]["volume_id"] for r in rows if r["outcome"] in ("ok", *ZERO)]
    ok, lost = (sum(row["outcome"] in names for row in rows) for names in (("ok",), LOST))
    return {
        "n": len(values),
        "value": math.fsum(values) / len(values) if values else None,
        "coverage": ok / len(rows),
        "worst": math.fsum(values) / len(rows) if lost else None,
        "best": (math.fsum(values) + lost) / len(rows) if lost else None,
        "se": st.cr1_se(values, volumes),
        "clusters": len(set(volumes)),
    }


def test_every_cell_by_hand(tree: Tree, made: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    job, root = tree
    table = made[1].set_index(["benchmark", "model", "column"])
    checked = 0
    for benchmark in job.benchmarks:
        for model in job.models:
            for column in sgmri.COLUMNS[sgmri.benchmark(benchmark).level]:
                row = table.loc[(benchmark, model.name, column.key)]
                for name, expected in by_hand(root, benchmark, model.name, column).items():
                    found = None if pd.isna(row[name]) else row[name]
                    assert found == pytest.approx(expected, abs=1e-6), (benchmark, model.name, column.key, name)
                    checked += 1
    assert checked == 2 * 4 * 6 * 7


def test_the_oracle_is_1_and_always_yes_is_the_share_of_positives(
    tree: Tree, made: tuple[pd.DataFrame, pd.DataFrame]
) -> None:
    table = made[1].set_index(["benchmark", "model", "column"])["value"]
    for benchmark in tree[0].benchmarks:
        assert table[benchmark, "oracle", "detection"] == table[benchmark, "oracle", "localization_v"] == 1.0
        assert table[benchmark, "always-yes", "detection"] == 10 / 12


def test_average_is_the_plain_mean_or_nothing(made: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    for _, rows in made[1].groupby(["benchmark", "model"]):
        columns, average = rows[rows["column"] != "avg"], rows[rows["column"] == "avg"].iloc[0]
        if columns["value"].isna().any():
            assert math.isnan(average["value"])
            assert math.isnan(average["low"])
        else:
            assert average["value"] == pytest.approx(sum(columns["value"]) / 6, abs=1e-12)
            assert average["low"] - 1e-6 <= average["value"] <= average["high"] + 1e-6
        assert average["n"] == columns["n"].sum()


def test_one_lost_column_leaves_no_average(tree: Tree) -> None:
    items = collect.items(*tree)
    lost = (items["model"] == "oracle") & (items["column"] == "captioning")
    items = items.assign(
        outcome=items["outcome"].where(~lost, "not_run"), counted=items["counted"] & ~lost, x=items["x"].where(~lost)
    )
    table = cells.cells(items, tree[0]).set_index(["model", "column"])
    average = table.loc[("oracle", "avg")].iloc[0]
    assert math.isnan(average["value"])
    assert average["incomplete"]
    assert (average["worst"], average["best"]) == (
        pytest.approx(0.83, abs=0.01),
        pytest.approx(0.997, abs=0.001),
    )


def test_intervals_are_those_of_the_pure_functions(tree: Tree, made: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    items, table = made
    job = tree[0]
    mine = items[items["counted"] & (items["model"] == "reader") & (items["benchmark"] == "sgmri-demo-image")]
    mine = mine[mine["column"] == "classification"]  # an answer for every volume, so the draws are the same
    expected = st.bootstrap_interval(
        mine["x"].to_numpy(), list(mine["volume_id"]), job.report.bootstrap_draws, job.report.seed
    )
    row = table.set_index(["benchmark", "model", "column"]).loc[("sgmri-demo-image", "reader", "classification")]
    assert expected is not None
    assert (row["low"], row["high"]) == pytest.approx(expected, abs=1e-6)
    interval = st.t_interval(row["value"], st.cr1_se(mine["x"].to_numpy(), list(mine["volume_id"])), 12)
    assert (row["t_low"], row["t_high"]) == pytest.approx(interval, abs=1e-6)


def test_counts_add_up_to_the_items(made: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    items, table = made
    whole = table[table["column"] != "avg"][list(collect.OUTCOMES)].to_numpy().sum()
    assert whole == len(items)
    assert set(items["outcome"]) == set(collect.OUTCOMES), "the tree shows every outcome"


def test_a_missing_row_is_not_run(tree: Tree, tmp_path: Path, make: Any) -> None:
    job = make.tree(tmp_path)
    path = tmp_path / layout.score("sgmri-demo-image", "oracle", "answer")
    rows = artifacts.read_rows(path)
    artifacts.write_rows(path, rows[1:], make.schemas["answer"])
    table = cells.cells(collect.items(job, tmp_path), job)
    row = table[(table["model"] == "oracle") & (table["not_run"] > 0) & (table["column"] != "avg")].iloc[0]
    assert (row["n"], row["not_run"], row["incomplete"], row["value"]) == (11, 1, True, 1.0)
    assert (row["worst"], row["best"]) == (pytest.approx(11 / 12, abs=1e-6), 1.0)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"sample_id": "stranger"}, "scores 1 item.* such as 'stranger' that .*samples.parquet does not have"),
        ({"value": None}, "'ok' without a value"),
        ({"outcome": "fine"}, r"field 'outcome' holds \['fine'\]"),
    ],
)
def test_wrong_files_are_refused(tmp_path: Path, make: Any, change: dict[str, Any], message: str) -> None:
    job = make.tree(tmp_path, with_frames=False)
    path = tmp_path / layout.score("sgmri-demo-image", "oracle", "answer")
    rows = artifacts.read_rows(path)
    artifacts.write_rows(path, [{**rows[0], **change}, *rows[1:]], make.schemas["answer"])
    with pytest.raises(UserError, match=message):
        collect.items(job, tmp_path)


def test_a_missing_file_is_named(tmp_path: Path, make: Any) -> None:
    job = make.tree(tmp_path, with_frames=False)
    (tmp_path / layout.score("sgmri-demo-volume", "reader", "grounding")).unlink()
    with pytest.raises(UserError, match=r"sgmri-demo-volume/reader/grounding\.parquet: not found"):
        collect.items(job, tmp_path)


def test_proxy_verdicts_under_a_real_judge_are_refused(tree: Tree, make: Any) -> None:
    with pytest.raises(UserError, match="holds verdicts of a proxy judge"):
        collect.items(make.job(judge="gpt-4o-mini", judge_is_proxy=False), tree[1])


def test_the_reference_protocol_gives_open_ended_items_no_a_score(tree: Tree, make: Any) -> None:
    table = cells.cells(collect.items(make.job(protocol="reference"), tree[1]), make.job(protocol="reference"))
    row = table[(table["model"] == "oracle") & (table["column"] == "diagnosis")].iloc[0]
    assert row["n"] == 8  # of 12, four are open-ended


@pytest.mark.parametrize(
    ("changes", "proxy"),
    [
        ({}, True),
        ({"judge_is_proxy": False}, True),  # MiniLM stands in for roberta-large
        ({"judge_is_proxy": False, "bertscore_encoder": "roberta-large"}, True),  # not rescaled
        ({"judge_is_proxy": False, "bertscore_encoder": "roberta-large", "bertscore_rescale": True}, False),
    ],
)
def test_what_makes_a_proxy(make: Any, changes: dict[str, Any], proxy: bool) -> None:
    job = make.job(**changes)
    assert {c for c in collect.columns("sgmri-image") if collect.is_proxy(job, c)} == (
        {"localization_ar", "captioning", "avg"} if proxy else set()
    )


def test_groups_are_independent_of_row_order(made: tuple[pd.DataFrame, pd.DataFrame]) -> None:
    items = made[0]
    shuffled = items.sample(frac=1, random_state=3)
    key = ["benchmark", "model", "column"]
    a = cells.summarize(items, key, 0.95).set_index(key).sort_index()
    b = cells.summarize(shuffled, key, 0.95).set_index(key).sort_index()
    pd.testing.assert_frame_equal(a, b, check_exact=False, atol=1e-12)
    assert np.isfinite(a["se"].dropna()).all()
