"""Breakdowns, the blind comparison and the diagnostics against recomputation by hand."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from slicewise import artifacts, layout
from slicewise.jobs import ReportJob, ReportModel
from slicewise.report import blind, breakdowns, cells, collect, diagnostics, grids
from slicewise.report import statistics as st

Tree = tuple[ReportJob, Path]
IMAGE = "sgmri-demo-image"


@pytest.fixture(scope="module")
def items(tree: Tree) -> pd.DataFrame:
    return collect.items(*tree)


# --- breakdowns ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["domain", "question-type", "modality"])
def test_groups_partition_the_items(tree: Tree, items: pd.DataFrame, name: str) -> None:
    table = breakdowns.breakdown(items, name, tree[0])
    for _, rows in table.groupby(["benchmark", "model", "column"]):
        parts = rows[~rows["group"].isin([breakdowns.MACRO, breakdowns.MICRO])]
        micro = rows[rows["group"] == breakdowns.MICRO].iloc[0]
        macro = rows[rows["group"] == breakdowns.MACRO].iloc[0]
        assert parts["n"].sum() == micro["n"]
        if micro["n"]:
            assert (parts["n"] * parts["value"].fillna(0)).sum() / micro["n"] == pytest.approx(micro["value"])
            assert macro["value"] == pytest.approx(parts["value"].dropna().mean())


def test_an_item_counts_in_each_of_its_labels(tree: Tree, items: pd.DataFrame) -> None:
    table = breakdowns.breakdown(items, "label", tree[0])
    rows = table[(table["benchmark"] == IMAGE) & (table["model"] == "oracle") & (table["column"] == "detection")]
    assert dict(zip(rows["group"], rows["n"], strict=True)) == {
        "(none)": 2, "Lacunar infarct": 10, "Mass": 5, breakdowns.MACRO: 17, breakdowns.MICRO: 12,
    }  # fmt: skip


def test_a_modality_that_nobody_gave_is_a_group(tree: Tree, items: pd.DataFrame) -> None:
    table = breakdowns.breakdown(items, "modality", tree[0])
    assert set(table["group"]) >= {"T1", "FLAIR", breakdowns.NO_GROUP}


def test_by_task_is_the_table_itself(tree: Tree, items: pd.DataFrame) -> None:
    table = breakdowns.breakdown(items, "task", tree[0])
    assert len(table) == 2 * 4 * 6
    assert (table["group"] == table["column"].str.removesuffix("_v").str.removesuffix("_ar")).all()


# --- better than blind -----------------------------------------------------------------------------------------------


def test_comparison_by_hand(tree: Tree, items: pd.DataFrame) -> None:
    table = blind.compare(items, cells.cells(items, tree[0]), tree[0])
    row = table.set_index(["benchmark", "model", "column"]).loc[(IMAGE, "reader", "detection")]
    mine = items[(items["benchmark"] == IMAGE) & (items["column"] == "detection") & items["counted"]]
    reader, yes = (mine[mine["model"] == name].set_index("sample_id") for name in ("reader", "always-yes"))
    both = reader.index.intersection(yes.index)
    differences = reader.loc[both, "x"] - yes.loc[both, "x"]
    assert row["n"] == len(both) == 11  # one reader answer was lost to the machinery
    assert row["difference"] == pytest.approx(differences.mean(), abs=1e-6)
    assert row["p"] == pytest.approx(st.sign_flip_p(differences.to_numpy()), abs=1e-6)
    se = st.cr1_se(differences.to_numpy(), list(reader.loc[both, "volume_id"]))
    assert (row["low"], row["high"]) == pytest.approx(st.t_interval(differences.mean(), se, 11), abs=1e-6)
    family = table[table["benchmark"] == IMAGE]
    known = [None if np.isnan(p) else p for p in family["p"]]
    assert [p for p in st.holm(known) if p is not None] == pytest.approx(list(family["p_holm"].dropna()), abs=1e-4)


def test_average_difference_is_the_difference_of_averages(tree: Tree, items: pd.DataFrame) -> None:
    made = cells.cells(items, tree[0])
    table = blind.compare(items, made, tree[0]).set_index(["benchmark", "model", "column"])
    value = made.set_index(["benchmark", "model", "column"])["value"]
    expected = value[IMAGE, "oracle", "avg"] - value[IMAGE, "always-yes", "avg"]
    assert table.loc[(IMAGE, "oracle", "avg"), "difference"] == pytest.approx(expected, abs=1e-6)


def test_lines_say_better_or_not(tree: Tree, items: pd.DataFrame) -> None:
    table = blind.compare(items, cells.cells(items, tree[0]), tree[0])
    said = blind.lines(table, tree[0])[IMAGE]
    assert said[0].startswith("oracle: better than blind (Avg. +")
    assert said[2] == "absent: Avg. not tested against blind baselines; better in 0 of 6 columns."
    verdicts = dict(zip(zip(table["model"], table["column"], strict=True), table["verdict"], strict=True))
    assert verdicts["absent", "detection"] == "not tested"
    assert set(table["model"]) == {"oracle", "reader", "absent"}


@pytest.mark.parametrize(
    ("difference", "p", "expected"),
    [(0.1, 0.01, "better"), (-0.1, 0.01, "worse"), (0.1, 0.05, "not shown"), (None, None, "not tested")],
)
def test_verdicts(difference: float | None, p: float | None, expected: str) -> None:
    assert blind._verdict(difference, p) == expected


def test_a_run_without_blind_baselines_compares_nothing(tree: Tree, make: Any) -> None:
    models = [ReportModel(name="oracle", title="oracle", backend="baseline", baseline="oracle")]
    job = make.job(models=models)
    items = collect.items(job, tree[1])
    table = blind.compare(items, cells.cells(items, job), job)
    assert table.empty
    assert blind.lines(table, job) == {name: [] for name in job.benchmarks}


# --- diagnostics -----------------------------------------------------------------------------------------------------


def test_detection(tree: Tree) -> None:
    rows = {(r["benchmark"], r["model"], r["domain"]): r for r in diagnostics.detection(*tree)}
    yes = rows[IMAGE, "always-yes", "all"]
    assert (yes["n"], yes["sensitivity"], yes["specificity"], yes["balanced_accuracy"]) == (12, 1.0, 0.0, 0.5)
    reader = rows[IMAGE, "reader", "all"]
    assert reader["n"] == 11
    assert reader["unread"] == 2
    assert rows[IMAGE, "absent", "all"]["accuracy"] is None


def test_counting(tree: Tree) -> None:
    rows = {r["model"]: r for r in diagnostics.counting(*tree)}
    assert {r["benchmark"] for r in diagnostics.counting(*tree)} == {"sgmri-demo-volume"}
    assert (rows["oracle"]["mean_absolute"], rows["oracle"]["within_one"]) == (0.0, 1.0)
    assert (rows["always-yes"]["n"], rows["always-yes"]["unread"]) == (0, 12)


def test_grounding_by_hand(tree: Tree) -> None:
    job, root = tree
    row = next(r for r in diagnostics.grounding(job, root) if (r["benchmark"], r["model"]) == (IMAGE, "reader"))
    lost = ("api_error", "judge_error", "missing_frames", "not_run")
    files = artifacts.read_rows(root / layout.score(IMAGE, "reader", "grounding"))
    kept = [r for r in files if r["outcome"] not in lost]
    gold = [r for r in kept if r["outcome"] != "no_reference"]
    hits = sum(sum(iou >= 0.5 for iou in r["ious"]) for r in gold)
    boxes, predicted = sum(r["n_gold"] for r in gold), sum(r["n_pred"] for r in gold)
    assert row["p_50"] == pytest.approx(hits / predicted, abs=1e-6)
    assert row["r_50"] == pytest.approx(hits / boxes, abs=1e-6)
    assert row["f1_50"] == pytest.approx(2 * hits / (predicted + boxes), abs=1e-6)
    assert row["boxes_emitted"] == sum(r["n_emitted"] for r in kept)
    assert row["false_positives_on_normal"] == sum(r["false_positives_on_normal"] for r in kept if r["n_gold"] == 0) > 0
    assert row["v"] == pytest.approx(sum(r["value"] or 0 for r in gold) / len(gold), abs=1e-6)


def test_frames_are_judged_only_where_there_are_several(tree: Tree) -> None:
    rows = {(r["benchmark"], r["model"]): r for r in diagnostics.grounding(*tree)}
    assert rows[IMAGE, "oracle"]["frame_f1"] is None
    assert rows["sgmri-demo-volume", "oracle"]["frame_f1"] == 1.0
    assert 0 < rows["sgmri-demo-volume", "reader"]["frame_f1"] < 1  # its failures count 0


@pytest.mark.parametrize(("text", "expected"), [("6", 6), (" 6 ", 6), ("six", None), ("-1", None), (None, None)])
def test_counts_are_whole_numbers_or_unread(text: str | None, expected: int | None) -> None:
    assert diagnostics._integer(text) == expected


def test_a_grid_says_when_a_cell_is_incomplete(tree: Tree, items: pd.DataFrame) -> None:
    grid = grids.companion(cells.cells(items, tree[0]), IMAGE, tree[0])
    assert len(grid.rows) == 4 * 7
    assert {len(row) for row in grid.rows} == {len(grid.headers)}
    scores = {(row[0], row[1]): row[2] for row in grid.rows}
    assert scores["oracle", "Captioning AR"] == "98.00†"
    assert scores["absent", "Detection A"] == "–‡"
