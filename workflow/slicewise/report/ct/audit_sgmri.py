"""Audit of SGMRI-VQA's two tables."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from slicewise.benchmarks.published import published
from slicewise.benchmarks.sgmri import LEVELS, Level
from slicewise.report.ct.finding import Finding, denominators, judged

PAPER = "SGMRI-VQA"
CENT = Decimal("0.01")
# Cells that are shares of right answers on items with one answer each, and the largest number of items to try.
SHARES: dict[Level, tuple[tuple[str, ...], int]] = {
    "image": (("detection", "diagnosis"), 2000),
    "volume": (("detection", "counting"), 600),
}


def findings() -> Iterator[Finding]:
    """Averages, and the numbers of items that the printed shares allow."""
    yield _averages()
    for level in LEVELS:
        for column in SHARES[level][0]:
            yield _items(level, column, SHARES[level][1])


def _averages() -> Finding:
    rows = [(level, row) for level in LEVELS for row in published(level)]
    off = [(level, row) for level, row in rows if row.avg_printed != row.avg_recomputed]
    text = (
        f"{len(rows) - len(off)} of {len(rows)} printed averages equal the plain mean of their six printed columns to "
        "the cent; the others differ by one cent, which hidden digits explain."
    )
    shown = tuple(
        (row.model, level, str(row.avg_printed), f"{row.avg_exact:.4f}", str(row.avg_recomputed)) for level, row in off
    )
    far = [row for _, row in off if abs(row.avg_printed - row.avg_exact) > CENT]
    headers = ("Model", "Level", "Printed", "Exact", "Rounded")
    return Finding(PAPER, "Averages", judged(far), text, headers, shown)


def _items(level: Level, column: str, most: int) -> Finding:
    rows = published(level)
    fits: dict[int, int] = {}
    for row in rows:
        for _, n in denominators(row.values[column], most):
            fits[n] = fits.get(n, 0) + 1
    best = max(fits.values(), default=0)
    sizes = sorted(n for n, count in fits.items() if count == best)
    apart = [row.model for row in rows if not set(sizes[:1]) & {n for _, n in denominators(row.values[column], most)}]
    text = (
        f"As shares of right answers, {best} of {len(rows)} printed values fit n = "
        f"{', '.join(map(str, sizes[:4]))}{' ...' if len(sizes) > 4 else ''} and no n up to {most} fits more"
        + (f"; {', '.join(apart)} would need another n." if apart else ".")
    )
    return Finding(PAPER, f"Number of items, {level} {column}", "note", text)
