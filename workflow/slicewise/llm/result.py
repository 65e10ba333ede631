"""What became of one request."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slicewise.errors import UserError
from slicewise.llm.request import Reply
from slicewise.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Result:
    """What became of one request.

    Attributes:
        key: Key of the request.
        outcome: ``ok``, ``refused``, ``empty``, ``truncated`` (length reached and nothing visible), ``api_error`` or
            ``not_run`` (the budget is used up).
        reply: The stored reply; ``None`` for ``api_error`` and ``not_run``.
        error: What went wrong, for people.
        cached: The reply was in the store already.
    """

    key: str
    outcome: Outcome
    reply: Reply | None = None
    error: str | None = None
    cached: bool = False


OnResult = Callable[[int, Result], None]


class PermanentError(UserError):
    """The endpoint refuses every call, or cannot be reached: stop, and say what to do."""


def outcome_of(reply: Reply) -> Outcome:
    """The outcome that the reply itself shows; whether its text can be read is the parser's business."""
    if reply.refusal or reply.finish_reason == "content_filter":
        return Outcome.REFUSED
    if not (reply.text or "").strip():
        return Outcome.TRUNCATED if reply.finish_reason == "length" else Outcome.EMPTY
    return Outcome.OK
