"""Where a bought reply is paid and stored, whichever way it was bought."""

from __future__ import annotations

import datetime

from slicewise.endpoints import Endpoint, LlmSettings
from slicewise.llm.pricing import Ledger, estimate
from slicewise.llm.records import Record
from slicewise.llm.request import Reply, Request
from slicewise.llm.result import Result, outcome_of
from slicewise.llm.store import Store


class Till:
    """One endpoint's way into the store, under the run's mode and budget."""

    def __init__(self, endpoint: Endpoint, store: Store, settings: LlmSettings) -> None:
        """Bind an endpoint to a store."""
        self.endpoint, self.store, self.settings = endpoint, store, settings
        self._ledger = Ledger(store, settings.budget_name, settings.budget_usd)
        started = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        self._refresh_before = settings.refresh_before or started

    def fresh(self, requests: list[str]) -> dict[str, Record]:
        """The records of those keys that are stored and need not be bought again."""
        found = self.store.get_many(requests)
        if self.settings.mode != "refresh":
            return found
        return {key: record for key, record in found.items() if record.created >= self._refresh_before}

    def hold(self, request: Request) -> float | None:
        """Set aside what a call may cost; ``None`` when the budget does not allow it."""
        dollars = estimate(request, self.endpoint, batch=self.settings.batch)
        return dollars if self._ledger.hold(dollars) else None

    def release(self, dollars: float) -> None:
        """Give back what was set aside for a call that ended."""
        self._ledger.release(dollars)

    def keep(
        self, key: str, canonical: str, reply: Reply, *, seconds: float, attempts: int, held: float = 0.0
    ) -> Result:
        """Store a reply with what it cost; where the server named no usage, with what was set aside for it."""
        replace = self.store.get(key) if self.settings.mode == "refresh" else None
        cost = held if reply.cost is None and reply.finish_reason != "content_filter" else reply.cost or 0.0
        record = self.store.put_call(
            key,
            canonical,
            reply,
            seconds=seconds,
            attempts=attempts,
            replace=replace,
            spend=(self.settings.budget_name, cost),
        )
        return Result(key, outcome_of(record.reply), record.reply)
