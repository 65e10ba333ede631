"""The published layout: ranks, marks, notes, and the three ways of writing it."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
from slicewise.jobs import ReportJob
from slicewise.report import cells, collect, render, tables

REAL = {
    "protocol": "reference",
    "judge": "gpt-4o",
    "judge_is_proxy": False,
    "bertscore_encoder": "roberta-large",
    "bertscore_rescale": True,
}


@pytest.fixture(scope="module")
def table(tree: tuple[ReportJob, Path]) -> tables.Table:
    job, root = tree
    return tables.build("sgmri-demo-image", cells.cells(collect.items(job, root), job), job)


def fake_cells(benchmark: str, values: dict[str, list[float | None]], **marks: Any) -> pd.DataFrame:
    keys = collect.columns(benchmark)
    rows = [
        {"benchmark": benchmark, "model": model, "column": key, "value": value, "n": 9, "worst": None, "best": None,
         "proxy": False, "incomplete": False, **marks, **dict.fromkeys(collect.OUTCOMES, 0)}
        for model, row in values.items()
        for key, value in zip(keys, row, strict=True)
    ]  # fmt: skip
    return pd.DataFrame(rows).astype({"value": float, "worst": float, "best": float})


def ranks(table: tables.Table, column: str) -> dict[str, int]:
    place = table.keys.index(column)
    return {row.model: row.cells[place].rank for row in table.rows if row.cells[place].rank is not None}


def test_our_rows_come_first_and_the_published_ones_stand_apart(table: tables.Table) -> None:
    blocks = [row.block for row in table.rows]
    assert blocks == ["ours"] * 4 + ["published"] * 13
    assert [row.model for row in table.block("ours")] == ["oracle", "always-yes", "Reader_7B & co", "absent"]
    assert table.headers == (
        "Detection A", "Classification A", "Diagnosis A", "Localization V", "Localization AR", "Captioning AR", "Avg.",
    )  # fmt: skip


def test_demo_numbers_are_never_ranked_with_published_ones(table: tables.Table) -> None:
    assert ranks(table, "classification") == {
        "Reader_7B & co": 1, "always-yes": 2, "Ours (Qwen3-VL-8B-SGMRIVQA)": 1, "Gemini-2.5-Flash": 2,
    }  # fmt: skip
    # proxies (AR, Avg.) and incomplete cells (the reader's detection) of ours have no rank
    assert set(ranks(table, "captioning")) == set(ranks(table, "avg")) == set(ranks(table, "localization_v"))
    assert set(ranks(table, "detection")) == {"Ours (Qwen3-VL-8B-SGMRIVQA)", "Gemini-2.5-Flash"}


def test_comparable_numbers_are_ranked_together(make: Any) -> None:
    values = {name: [0.999] * 7 for name in ("oracle", "always-yes", "absent")}
    values["reader"] = [0.96, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    made = tables.build("sgmri-image", fake_cells("sgmri-image", {**values, "absent": [None] * 7}), make.job(**REAL))
    assert ranks(made, "detection") == {"always-yes": 1, "Reader_7B & co": 2}  # 95.11 is third, the oracle unranked
    assert not any("stand apart" in note for note in made.notes)
    assert not any(tables.PROXY in note for note in made.notes)


def test_released_benchmark_under_card_is_not_comparable(make: Any) -> None:
    values = {name: [0.999] * 7 for name in ("oracle", "always-yes", "reader", "absent")}
    made = tables.build("sgmri-image", fake_cells("sgmri-image", values), make.job(**{**REAL, "protocol": "card"}))
    assert set(ranks(made, "detection")) == {"Ours (Qwen3-VL-8B-SGMRIVQA)", "Gemini-2.5-Flash"}
    assert any("protocol card is not the released scorer's" in note for note in made.notes)


def test_ties_share_a_rank_and_a_flat_column_has_none(make: Any) -> None:
    values: dict[str, list[float | None]] = {"oracle": [1.0] * 7, "always-yes": [0.5, 0.3] + [0.2] * 5}
    values |= {"reader": [0.500001, 0.3] + [0.1] * 5, "absent": [0.1, 0.3] + [0.1] * 5}
    made = tables.build("sgmri-demo-image", fake_cells("sgmri-demo-image", values), make.job())
    ours = {row.model for row in made.block("ours")}
    assert {m: r for m, r in ranks(made, "detection").items() if m in ours} == {
        "always-yes": 1, "Reader_7B & co": 1, "absent": 2,
    }  # fmt: skip
    assert not ours & set(ranks(made, "classification"))


def test_notes_give_bounds_and_reasons(table: tables.Table) -> None:
    text = "\n".join(table.notes)
    assert "‡ absent: no item has a result (not_run" in text
    assert re.search(r"‡ Reader_7B & co: items were lost \(.*\); complete values lie in Detection A \d", text)
    assert "the judge 'proxy' is a local stand-in" in text
    assert "OctoMed-7B: the printed columns average to 30.10, printed is 30.09." in text


def test_markdown(table: tables.Table) -> None:
    text = render.markdown(table)
    assert text.index("## This run") < text.index("## Published")
    assert "| always-yes | 83.33 | <ins>0.00</ins> | 0.00 |" in text
    assert "| absent | –‡ |" in text
    assert "**95.11**" in text
    widths = {line.count("|") for line in text.splitlines() if line.startswith("|")}
    assert widths == {9}


def test_latex_is_balanced_and_escaped(table: tables.Table) -> None:
    text = render.latex(table)
    assert r"Reader\_7B \& co" in text
    assert r"\textbf{95.11}" in text
    assert r"\underline{67.36}" in text
    assert r"98.00\textsuperscript{\dag}" in text
    body = text[text.index(r"\toprule") : text.index(r"\bottomrule")]
    rows = [line for line in body.splitlines() if line.endswith(r"\\") and "multicolumn" not in line]
    assert len(rows) == 1 + 4 + 13
    assert {len(re.findall(r"(?<!\\)&", line)) for line in rows} == {7}
    assert re.findall(r"\\(?:begin|end)\{(\w+\*?)\}", text) == [
        "table*", "tabular", "tabular", "minipage", "minipage", "table*",
    ]  # fmt: skip
    unescaped = re.sub(r"\\.", "", text)
    assert unescaped.count("{") == unescaped.count("}")
    assert not re.search(r"(?<!\\)[_#$%]", text.split("\n", 1)[1].replace(r"\label{tab:", ""))
    assert text.isascii()


@pytest.mark.parametrize("text", ["a_b", "50 %", "x & y", r"back\slash", "{}", "#1", "$x^2~"])
def test_escape_leaves_no_special_character(text: str) -> None:
    assert not re.search(r"(?<!\\)[_#$%&]", render.escape(text))


def test_csv_holds_two_decimals_and_marks(table: tables.Table) -> None:
    names = [name for name in tables.schema(table).names if name != "position"]
    rows = list(csv.DictReader(io.StringIO(render.csv_text(names, tables.records(table), decimals=2))))
    assert rows[0]["detection"] == "100.00"
    assert rows[3]["avg"] == ""
    assert rows[2]["marks"].split()[0] == "detection:incomplete"
    octomed = next(row for row in rows if row["model"] == "OctoMed-7B")
    assert (octomed["avg"], octomed["avg_recomputed"], octomed["block"]) == ("30.09", "30.10", "published")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(None, ""), (float("nan"), ""), (True, "true"), (0.5, "0.5"), (1.0, "1"), (1e-9, "0"), (3, "3"), ("a", "a")],
)
def test_csv_values(value: Any, expected: str) -> None:
    assert render.csv_text(["x"], [{"x": value}]).splitlines()[1].strip('"') == expected
