"""The difference between two means, taken apart into items and reasons, exactly.

Let ``C`` be the items in the mean of one protocol, ``R`` those of the other, with values ``c`` and ``r``. Then

``mean(c) - mean(r) = sum over C and R of (c - r)/|R| + sum over C only of c/|R| - sum over R only of r/|R|
+ sum over C of c (1/|C| - 1/|R|)``

The first three sums belong to single items and their reasons; the last one is what another number of items in the mean
does, the reason ``denominator``. All of it is computed in fractions, so the reasons add up to the difference with no
rest.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

DENOMINATOR = "denominator"


@dataclass(frozen=True, slots=True)
class Pair:
    """One item under both protocols.

    Attributes:
        sample_id: The item.
        card: Its value in the mean of protocol ``card`` (0 for a failure of the model); ``None`` outside of the mean.
        reference: Its value in the mean of protocol ``reference``; ``None`` outside of the mean.
        reason: Why the two differ; ``None`` when they do not.
    """

    sample_id: str
    card: float | None
    reference: float | None
    reason: str | None

    def __post_init__(self) -> None:
        if (self.card != self.reference) != (self.reason is not None):
            raise ValueError(f"{self.sample_id}: a reason exists exactly when the values differ, got {self}")


@dataclass(frozen=True, slots=True)
class Share:
    """What one reason does to the difference of the means.

    Attributes:
        reason: The reason.
        items: Number of items that have it; 0 for ``denominator``, which belongs to none.
        amount: Its part of mean(card) - mean(reference).
    """

    reason: str
    items: int
    amount: Fraction


@dataclass(frozen=True, slots=True)
class Attribution:
    """The two means, their difference, and its parts; ``sum(share.amount) == difference`` exactly.

    A mean over no items is 0 here, so that every difference is defined.
    """

    card: Fraction
    reference: Fraction
    n_card: int
    n_reference: int
    shares: tuple[Share, ...]

    @property
    def difference(self) -> Fraction:
        """Mean of card minus mean of reference."""
        return self.card - self.reference


def attribute(pairs: Iterable[Pair]) -> Attribution:
    """Take the difference of the means apart; reasons by the size of their part, then by name."""
    pairs = list(pairs)
    card = [Fraction(pair.card) for pair in pairs if pair.card is not None]
    reference = [Fraction(pair.reference) for pair in pairs if pair.reference is not None]
    # With an empty side its mean is 0 and the other one's items are weighed by their own number.
    weight = Fraction(1, len(reference) or len(card) or 1)
    amounts: dict[str, Fraction] = defaultdict(Fraction)
    items: dict[str, int] = defaultdict(int)
    for pair in pairs:
        if pair.reason is not None:
            amounts[pair.reason] += (Fraction(pair.card or 0.0) - Fraction(pair.reference or 0.0)) * weight
            items[pair.reason] += 1
    mean_card, mean_reference = _mean(card), _mean(reference)
    rest = sum(card, Fraction()) * (Fraction(1, len(card) or 1) - weight)
    if rest:
        amounts[DENOMINATOR] = rest
    return Attribution(mean_card, mean_reference, len(card), len(reference), _ordered(amounts, items))


def _mean(values: Sequence[Fraction]) -> Fraction:
    return sum(values, Fraction()) / len(values) if values else Fraction()


def _ordered(amounts: dict[str, Fraction], items: dict[str, int]) -> tuple[Share, ...]:
    shares = [Share(reason, items.get(reason, 0), amount) for reason, amount in amounts.items()]
    return tuple(sorted(shares, key=lambda share: (-abs(share.amount), share.reason)))
