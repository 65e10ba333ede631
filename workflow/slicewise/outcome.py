"""The outcome of an item: a value, or none with a reason.

A missing result is never a number. Which outcomes count as 0 in a mean, and which count in none, is decided here
and nowhere else.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import Generic, TypeVar

T = TypeVar("T")


class Outcome(StrEnum):
    """Why an item has a value (``ok``) or has none."""

    OK = "ok"
    UNPARSED = "unparsed"
    REFUSED = "refused"
    EMPTY = "empty"
    TRUNCATED = "truncated"
    API_ERROR = "api_error"
    JUDGE_ERROR = "judge_error"
    MISSING_FRAMES = "missing_frames"
    NOT_RUN = "not_run"
    NO_REFERENCE = "no_reference"

    @property
    def counts_as_zero(self) -> bool:
        """True for the model's own failures: null reading, 0 in the mean."""
        return self in MODEL_FAILURES

    @property
    def counts_in_no_mean(self) -> bool:
        """True where the item is left out of every mean."""
        return self in MACHINE_FAILURES or self is Outcome.NO_REFERENCE

    @property
    def makes_incomplete(self) -> bool:
        """True for failures of the machinery: the cell is marked incomplete and gets best and worst bounds."""
        return self in MACHINE_FAILURES


MODEL_FAILURES = frozenset({Outcome.UNPARSED, Outcome.REFUSED, Outcome.EMPTY, Outcome.TRUNCATED})
MACHINE_FAILURES = frozenset({Outcome.API_ERROR, Outcome.JUDGE_ERROR, Outcome.MISSING_FRAMES, Outcome.NOT_RUN})


@dataclass(frozen=True, slots=True)
class Reading(Generic[T]):
    """What was read from a text, and how.

    Attributes:
        value: The reading, or ``None`` exactly when ``outcome`` is not ``ok``.
        outcome: ``ok``, or the reason why there is no value.
        stage: Name of the rung that decided, such as ``marker`` or ``json_fenced``.
        flags: Side information in the order in which it was noticed, without repeats.
    """

    value: T | None
    outcome: Outcome
    stage: str
    flags: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if (self.value is None) == (self.outcome is Outcome.OK):
            raise ValueError(f"a reading has a value exactly when it is ok, got {self.value!r} with {self.outcome}")


def ok(value: T, stage: str, *flags: str) -> Reading[T]:
    """A reading that succeeded."""
    return Reading(value, Outcome.OK, stage, tuple(dict.fromkeys(flags)))


def failed(outcome: Outcome, stage: str, *flags: str) -> Reading[T]:
    """A reading that has no value, with its reason."""
    return Reading(None, outcome, stage, tuple(dict.fromkeys(flags)))
