"""The published rows of SGMRI-VQA's two tables, as numbers with their sources.

The figures are those of the README of ``lamawmouk/SGMRI-VQA`` at the commits a37aa3d and 00682f1 (arXiv 2604.15808).
They are scores x 100 to two decimals, brain and knee pooled by item. They were made with the authors' own scorer,
a gpt-4o judge and roberta-large, so only the ``reference`` protocol with the same parts may be put beside them.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from importlib import resources

from slicewise.benchmarks.sgmri import COLUMNS, LEVELS, Level
from slicewise.errors import UserError

CITATION = "SGMRI-VQA, arXiv 2604.15808; README of github.com/lamawmouk/SGMRI-VQA"
_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class PublishedRow:
    """One model's row as printed.

    Attributes:
        model: The model's printed name.
        values: Column key -> printed score x 100.
        avg_printed: The printed average.
        source: Where the row is printed.
        note: What else is known of the row, or an empty string.
    """

    model: str
    values: dict[str, Decimal]
    avg_printed: Decimal
    source: str
    note: str

    @property
    def avg_exact(self) -> Decimal:
        """Plain mean of the six printed columns."""
        return sum(self.values.values(), Decimal(0)) / len(self.values)

    @property
    def avg_recomputed(self) -> Decimal:
        """Plain mean of the six printed columns, rounded half up to two decimals."""
        return self.avg_exact.quantize(_CENT, ROUND_HALF_UP)


@cache
def published(level: Level) -> tuple[PublishedRow, ...]:
    """The published rows of a level, in the printed order.

    Raises:
        UserError: The level is neither ``image`` nor ``volume``.
    """
    if level not in LEVELS:
        raise UserError(f"level '{level}' has no published table; expected one of {list(LEVELS)}.")
    text = resources.files("slicewise.benchmarks").joinpath(f"published_{level}.csv").read_text(encoding="utf-8")
    keys = [column.key for column in COLUMNS[level]]
    return tuple(
        PublishedRow(
            model=row["model"],
            values={key: Decimal(row[key]) for key in keys},
            avg_printed=Decimal(row["avg_printed"]),
            source=row["source"],
            note=row["note"],
        )
        for row in csv.DictReader(text.splitlines())
    )
