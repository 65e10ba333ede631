"""Calls of a language model: from the store when it has the reply, else bought, stored, and only then used.

One :class:`Client` serves one endpoint, live or through its Batch API: the same requests, keys and results. Errors
never become replies: an item whose attempts are used up is an ``api_error`` with its last message, and is asked again
by the next run. An error that no retry can mend (key refused, model unknown, quota gone) stops everything at once with
one sentence; what was bought until then is stored.
"""

from __future__ import annotations

from collections.abc import Sequence

from slicewise.endpoints import Endpoint, LlmSettings
from slicewise.errors import UserError
from slicewise.llm.batch import BatchBuyer
from slicewise.llm.live import LiveBuyer
from slicewise.llm.request import Request
from slicewise.llm.result import OnResult, Result, outcome_of
from slicewise.llm.store import Store
from slicewise.llm.till import Till

NAMED = 5  # items that a message names


class Client:
    """Answers requests through the store."""

    def __init__(self, endpoint: Endpoint, store: Store, settings: LlmSettings) -> None:
        """Bind an endpoint to a store; no connection is made before a call must be bought."""
        self.endpoint, self.settings = endpoint, settings
        self._till = Till(endpoint, store, settings)

    def answer_all(self, requests: Sequence[Request], on_result: OnResult | None = None) -> list[Result]:
        """Answer every request, in the order given. ``on_result`` hears of each as it ends, in any order.

        Raises:
            UserError: Mode ``replay`` and a reply is missing (the first missing items are named), or the endpoint
                refuses every call or cannot be reached.
        """
        places: dict[str, list[int]] = {}
        for index, request in enumerate(requests):
            places.setdefault(request.key, []).append(index)
        results: dict[str, Result] = {}

        def done(result: Result) -> None:
            results[result.key] = result
            for index in places[result.key]:
                if on_result:
                    on_result(index, result)

        for key, record in self._till.fresh(list(places)).items():
            done(Result(key, outcome_of(record.reply), record.reply, cached=True))
        missing = [requests[indices[0]] for key, indices in places.items() if key not in results]
        if missing and self.settings.mode == "replay":
            raise UserError(self._missing(missing, len(requests)))
        if missing:
            buyer = BatchBuyer(self._till) if self.settings.batch else LiveBuyer(self._till)
            buyer.buy(missing, done)
        return [results[request.key] for request in requests]

    def _missing(self, missing: list[Request], total: int) -> str:
        names = ", ".join(request.item or request.key[:12] for request in missing[:NAMED])
        return (
            f"replay: the store has no reply for {len(missing)} of {total} request(s) of model "
            f"'{self.endpoint.model}' ({names}{', ...' if len(missing) > NAMED else ''}); set 'llm.mode: live' to buy "
            "them, or merge a store that has them."
        )
