"""The published rows: complete, consistent with themselves, and possible as counts."""

from __future__ import annotations

from decimal import ROUND_HALF_UP, Decimal

import pytest
from slicewise.benchmarks.published import published
from slicewise.benchmarks.sgmri import COLUMNS, LEVELS, Level
from slicewise.errors import UserError

CENT = Decimal("0.01")


@pytest.mark.parametrize(("level", "rows"), [("image", 13), ("volume", 11)])
def test_every_row_has_every_column(level: Level, rows: int) -> None:
    table = published(level)
    assert len(table) == len({row.model for row in table}) == rows
    for row in table:
        assert list(row.values) == [column.key for column in COLUMNS[level]]
        assert all(value == value.quantize(CENT) and 0 <= value <= 100 for value in row.values.values())
        assert row.source.startswith("README at ")


def test_printed_averages_are_means_of_the_columns_but_for_one_digit() -> None:
    off = {
        (level, row.model): (row.avg_printed, row.avg_recomputed)
        for level in LEVELS
        for row in published(level)
        if row.avg_printed != row.avg_recomputed
    }
    assert off == {("image", "OctoMed-7B"): (Decimal("30.09"), Decimal("30.10"))}


@pytest.mark.parametrize(
    ("level", "column", "n"),
    [
        ("image", "detection", 1492),
        ("image", "diagnosis", 1492),
        ("volume", "detection", 368),
        ("volume", "counting", 368),
    ],
)
def test_printed_accuracies_are_counts_over_the_test_set(level: Level, column: str, n: int) -> None:
    # GPT-4o's volume detection fits 259/367: one item was missing there.
    possible = {(Decimal(100 * k) / m).quantize(CENT, ROUND_HALF_UP) for m in (n, n - 1) for k in range(m + 1)}
    assert {row.values[column] for row in published(level)} <= possible


def test_sample_of_printed_numbers() -> None:
    image = {row.model: row for row in published("image")}
    volume = {row.model: row for row in published("volume")}
    assert image["Gemini-2.5-Flash"].values["diagnosis"] == Decimal("89.68")
    assert volume["Gemini-2.5-Pro"].avg_exact == Decimal("12.285")
    assert "12.00" in image["Qwen2.5-VL-7B"].note


def test_unknown_level() -> None:
    with pytest.raises(UserError, match="'slice' has no published table"):
        published("slice")  # type: ignore[arg-type]
