"""One finding of the audit."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from typing import Literal

Verdict = Literal["consistent", "contradiction", "note"]


@dataclass(frozen=True, slots=True)
class Finding:
    """A check of printed numbers.

    Attributes:
        paper: Which paper.
        title: What is checked.
        verdict: ``consistent``, ``contradiction``, or ``note`` for what a reader must know.
        text: The result in a sentence, with its numbers.
        headers: Columns of ``rows``.
        rows: The numbers behind it.
    """

    paper: str
    title: str
    verdict: Verdict
    text: str
    headers: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()


def judged(found: object) -> Verdict:
    """``contradiction`` when anything was found."""
    return "contradiction" if found else "consistent"


def cents(value: Decimal) -> Decimal:
    """Two decimals, half up."""
    return value.quantize(Decimal("0.01"), ROUND_HALF_UP)


def mean(values: list[Decimal]) -> Decimal:
    """Plain mean."""
    return sum(values, Decimal(0)) / len(values)


def denominators(percent: Decimal, most: int) -> list[tuple[int, int]]:
    """``(k, n)`` with ``100 k / n`` printed as ``percent`` to two decimals and n up to ``most``, largest n first."""
    found = []
    for n in range(most, 0, -1):
        k = int((percent * n / 100).to_integral_value(ROUND_HALF_UP))
        if cents(Decimal(100 * k) / n) == cents(percent):
            found.append((k, n))
    return found
