"""The one exception a user of Slicewise is meant to read, and the wording helpers it needs."""

from __future__ import annotations

import difflib
from collections.abc import Iterable


class UserError(Exception):
    """Bad input, said in one sentence.

    The message names the file, the field, what was found, what was expected and what to do. The command line
    prints it without a traceback and exits with status 2.
    """


class ManyErrors(UserError):
    """Several faults found in one pass, reported together so that nobody fixes them one run at a time."""

    def __init__(self, summary: str, faults: Iterable[str]) -> None:
        self.faults = tuple(faults)
        super().__init__("\n".join((summary, *(f"  - {fault}" for fault in self.faults))))


def did_you_mean(found: str, expected: Iterable[str]) -> str:
    """Return ``" Did you mean 'x'?"`` for the nearest expected name, or an empty string."""
    nearest = difflib.get_close_matches(found, sorted(expected), n=1, cutoff=0.5)
    return f" Did you mean '{nearest[0]}'?" if nearest else ""
