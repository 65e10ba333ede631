"""Calls of a language model: from the store when it has the reply, else bought, stored, and only then used.

One :class:`Client` serves one endpoint. Errors never become replies: an item whose attempts are used up is an
``api_error`` with its last message, and is asked again by the next run. An error that no retry can mend (key refused,
model unknown, quota gone) stops everything at once with one sentence; what was bought until then is stored.
"""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from slicewise.endpoints import Endpoint, LlmSettings
from slicewise.errors import UserError
from slicewise.llm import wire
from slicewise.llm.connection import connect, secrets
from slicewise.llm.faults import Fault, Kind, backoff, classify, transient_errors
from slicewise.llm.pricing import Ledger, estimate_text_tokens
from slicewise.llm.request import Image, Reply, Request
from slicewise.llm.store import Record, Store
from slicewise.llm.throttle import Throttle
from slicewise.llm.wire import SchemaMode
from slicewise.outcome import Outcome

OnResult = Callable[[int, "Result"], None]


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


class PermanentError(UserError):
    """The endpoint refuses every call: stop, and say what to do."""


def outcome_of(reply: Reply) -> Outcome:
    """The outcome that the reply itself shows; whether its text can be read is the parser's business."""
    if reply.refusal or reply.finish_reason == "content_filter":
        return Outcome.REFUSED
    if not (reply.text or "").strip():
        return Outcome.TRUNCATED if reply.finish_reason == "length" else Outcome.EMPTY
    return Outcome.OK


class Client:
    """Answers requests through the store."""

    def __init__(
        self,
        endpoint: Endpoint,
        store: Store,
        settings: LlmSettings,
        *,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """Bind an endpoint to a store; no connection is made before a call must be bought."""
        self.endpoint, self.store, self.settings = endpoint, store, settings
        self.throttle = Throttle(endpoint.concurrency, clock=clock)
        self._clock = clock
        self._schema_mode: SchemaMode = endpoint.structured
        self._secrets: tuple[str, ...] = ()
        self._transient = transient_errors()
        self._ledger = Ledger(store.root / "ledger.sqlite", settings.budget_name, settings.budget_usd)

    def answer_all(self, requests: Sequence[Request], on_result: OnResult | None = None) -> list[Result]:
        """Answer every request, in the order given. ``on_result`` hears of each as it ends, in any order.

        Raises:
            UserError: Mode ``replay`` and a reply is missing (each missing item is named), or the endpoint refuses
                every call.
        """
        results: list[Result | None] = [None] * len(requests)

        def done(index: int, result: Result) -> None:
            results[index] = result
            if on_result:
                on_result(index, result)

        missing = self._from_store(requests, done)
        if missing and self.settings.mode == "replay":
            names = ", ".join(requests[i].item or requests[i].key[:12] for i in missing[:5])
            raise UserError(
                f"replay: the store has no reply for {len(missing)} of {len(requests)} request(s) of model "
                f"'{self.endpoint.model}' ({names}{', ...' if len(missing) > 5 else ''}); set 'llm.mode: live' to buy "
                "them, or merge a store that has them."
            )
        if missing:
            self._secrets = secrets(self.endpoint)
            asyncio.run(self._buy_all(requests, missing, done))
        return [result for result in results if result is not None]

    def _from_store(self, requests: Sequence[Request], done: OnResult) -> list[int]:
        """Report what is stored; returns the indices that must be bought, one for each distinct key."""
        stored = self.store.get_many(list({r.key for r in requests}))
        missing: list[int] = []
        for index, request in enumerate(requests):
            record = stored.get(request.key)
            if record is not None and not self._stale(record):
                done(index, Result(request.key, outcome_of(record.reply), record.reply, cached=True))
            else:
                missing.append(index)
        return missing

    def _stale(self, record: Record) -> bool:
        if self.settings.mode != "refresh":
            return False
        before = self.settings.refresh_before
        return before is None or record.created < before

    async def _buy_all(self, requests: Sequence[Request], indices: Iterable[int], done: OnResult) -> None:
        groups: dict[str, list[int]] = {}
        for index in indices:
            groups.setdefault(requests[index].key, []).append(index)
        work = iter(groups.values())
        workers = min(self.endpoint.concurrency, len(groups))
        failure: UserError | None = None
        try:
            async with connect(self.endpoint) as connection, asyncio.TaskGroup() as tasks:
                for _ in range(workers):
                    tasks.create_task(self._work(connection, requests, work, done))
        except* UserError as group:
            failure = _first(group)
        if failure is not None:
            raise failure

    async def _work(
        self, connection: Any, requests: Sequence[Request], work: Iterator[list[int]], done: OnResult
    ) -> None:
        for group in work:
            result = await self._buy(connection, requests[group[0]])
            for index in group:
                done(index, result)

    async def _buy(self, connection: Any, request: Request) -> Result:
        estimate = self.estimate(request)
        if not self._ledger.hold(estimate):
            return Result(request.key, Outcome.NOT_RUN, error="the run's budget is used up")
        cost: float | None = None
        try:
            result = await self._attempts(connection, request)
            cost = result.reply.cost if result.reply else None
            return result
        finally:
            self._ledger.settle(estimate, request.key, cost)

    async def _attempts(self, connection: Any, request: Request) -> Result:
        started = self._clock()
        fault: Fault | None = None
        attempt = 0
        while attempt < self.endpoint.max_attempts:
            attempt += 1
            await self.throttle.acquire()
            mode = self._schema_mode
            try:
                reply = await self._once(connection, request, mode)
                self.throttle.succeeded(first_attempt=attempt == 1)
                return self._keep(request, reply, self._clock() - started, attempt)
            except self._transient as error:
                fault = classify(error, self._secrets)
            finally:
                self.throttle.release()
            if fault.kind is Kind.SCHEMA and request.schema is not None and self._lower_schema_mode(mode):
                attempt -= 1  # the server takes no such schema: the same attempt, asked for with less structure
                continue
            settled = self._settle(request, fault, attempt, started)
            if settled is not None:
                return settled
            if attempt < self.endpoint.max_attempts:
                await asyncio.sleep(
                    0 if fault.kind is Kind.RATE_LIMIT and fault.retry_after else backoff(attempt, fault.retry_after)
                )
        return Result(
            request.key, Outcome.API_ERROR, error=f"{fault.message if fault else 'no attempt'} ({attempt} attempts)"
        )

    def _settle(self, request: Request, fault: Fault, attempt: int, started: float) -> Result | None:
        """What ends the item after a fault; ``None`` to try again."""
        if fault.kind is Kind.PERMANENT:
            raise PermanentError(
                f"model '{self.endpoint.model}' at '{self.endpoint.provider}' refuses every call: {fault.message}; "
                f"check {self.endpoint.api_key_env or 'the endpoint'}, the model's name and the account. "
                "Replies bought so far are stored; the same command goes on from there."
            )
        if fault.kind is Kind.RATE_LIMIT:
            self.throttle.rate_limited(fault.retry_after)
        if fault.kind is Kind.FILTERED:
            filtered = Reply(text=None, finish_reason="content_filter", refusal=fault.message)
            return self._keep(request, filtered, self._clock() - started, attempt)
        if fault.kind in (Kind.ITEM, Kind.SCHEMA):
            return Result(request.key, Outcome.API_ERROR, error=fault.message)
        return None

    def _lower_schema_mode(self, refused: str) -> bool:
        """Ask for less structure than ``refused`` from now on; False when nothing less is left.

        Many calls in flight may be refused at once; only the first lowers the mode.
        """
        place = wire.SCHEMA_MODES.index(refused)
        if place + 1 >= len(wire.SCHEMA_MODES):
            return False
        if self._schema_mode == refused:
            self._schema_mode = wire.SCHEMA_MODES[place + 1]
        return True

    async def _once(self, connection: Any, request: Request, mode: SchemaMode) -> Reply:
        content = wire.body(request, self.endpoint, mode)
        completion = await connection.chat.completions.create(**content, extra_body=self.endpoint.extra_body or None)
        dumped = completion.model_dump() if hasattr(completion, "model_dump") else completion
        return wire.reply(dumped, self.endpoint, mode if request.schema is not None else None)

    def _keep(self, request: Request, reply: Reply, seconds: float, attempts: int) -> Result:
        replace = self.store.get(request.key) if self.settings.mode == "refresh" else None
        record = self.store.put(request, reply, seconds=seconds, attempts=attempts, replace=replace)
        return Result(request.key, outcome_of(record.reply), record.reply)

    def estimate(self, request: Request) -> float:
        """US dollars that a call may cost at most: estimated prompt tokens and the whole reply limit; 0 unpriced."""
        if self.endpoint.prices is None:
            return 0.0
        return self.endpoint.prices.cost(prompt_tokens(request, self.endpoint), self.endpoint.sampling.max_tokens)


def _first(group: BaseExceptionGroup[UserError]) -> UserError:
    """The first user error of a task group: several workers may meet the same refusal."""
    for error in group.exceptions:
        return _first(error) if isinstance(error, BaseExceptionGroup) else error
    raise ValueError("an exception group is never empty")


def prompt_tokens(request: Request, endpoint: Endpoint) -> int:
    """Estimated prompt tokens: text by length, images by the endpoint's rule at their sent size."""
    total = 0
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, Image):
                total += endpoint.image_tokens.tokens(part.width, part.height)
            else:
                total += estimate_text_tokens(part)
    return total
