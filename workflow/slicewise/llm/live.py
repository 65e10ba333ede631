"""Buying calls one by one, as many at a time as the account allows."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from slicewise.llm import throttle, wire
from slicewise.llm.claims import Claims
from slicewise.llm.connection import connect, raw_response, secrets
from slicewise.llm.faults import Fault, Kind, backoff, classify, transient_errors
from slicewise.llm.request import Reply, Request
from slicewise.llm.result import PermanentError, Result, outcome_of
from slicewise.llm.till import Till
from slicewise.llm.wire import SchemaMode
from slicewise.outcome import Outcome

CLAIM_POLL_SECONDS = (0.02, 1.0)  # the first wait for another process, and the longest
RATE_LIMITS = 50  # refusals for the rate that a call survives; they are no fault of the call
HOPELESS = 8  # calls in a row that used up their attempts, none answered between them: the endpoint is down


class LiveBuyer:
    """Buys requests from the chat-completions endpoint."""

    def __init__(self, till: Till) -> None:
        """Buy into a till; nothing is opened yet."""
        self.till, self.endpoint = till, till.endpoint
        self.throttle = throttle.of_account(self.endpoint.account, self.endpoint.concurrency)
        self._schema_mode: SchemaMode = self.endpoint.structured
        self._secrets: tuple[str, ...] = ()
        self._transient = transient_errors()
        self._raw_type = raw_response()
        self._claims = Claims(till.store.root / "claims")
        self._hopeless = 0

    def buy(self, requests: Sequence[Request], done: Callable[[Result], None]) -> None:
        """Buy every request, each with a key of its own, and report each as it ends.

        Raises:
            PermanentError: The endpoint refuses every call, or cannot be reached.
        """
        self._secrets = secrets(self.endpoint)
        asyncio.run(self._buy_all(requests, done))

    async def _buy_all(self, requests: Sequence[Request], done: Callable[[Result], None]) -> None:
        work = iter(requests)
        workers = min(self.endpoint.concurrency, len(requests))
        failure: PermanentError | None = None
        try:
            async with connect(self.endpoint) as connection, asyncio.TaskGroup() as tasks:
                for _ in range(workers):
                    tasks.create_task(self._work(connection, work, done))
        except* PermanentError as group:
            failure = _first(group)
        if failure is not None:
            raise failure

    async def _work(self, connection: Any, work: Iterator[Request], done: Callable[[Result], None]) -> None:
        for request in work:
            done(await self._claimed(connection, request))

    async def _claimed(self, connection: Any, request: Request) -> Result:
        """Buy a call that no other process is buying; one that another has bought meanwhile is taken from the store."""
        wait, longest = CLAIM_POLL_SECONDS
        while not self._claims.take(request.key):
            await asyncio.sleep(wait)
            wait = min(longest, 2 * wait)
        try:
            record = self.till.fresh([request.key]).get(request.key)
            if record is not None:
                return Result(request.key, outcome_of(record.reply), record.reply, cached=True)
            return await self._within_budget(connection, request)
        finally:
            self._claims.give(request.key)

    async def _within_budget(self, connection: Any, request: Request) -> Result:
        held = self.till.hold(request)
        if held is None:
            return Result(request.key, Outcome.NOT_RUN, error="the run's budget is used up")
        try:
            return await self._attempts(connection, request, held)
        finally:
            self.till.release(held)

    async def _attempts(self, connection: Any, request: Request, held: float) -> Result:
        started = time.monotonic()
        failed = limited = 0
        while True:
            outcome = await self._attempt(connection, request, first=failed + limited == 0)
            if isinstance(outcome, Reply):
                self._hopeless = 0
                return self._keep(request, outcome, started, failed + limited + 1, held)
            fault = outcome
            if fault.kind is Kind.FILTERED:
                refused = Reply(text=None, finish_reason="content_filter", refusal=fault.message)
                return self._keep(request, refused, started, failed + limited + 1, held)
            if fault.kind is Kind.RATE_LIMIT:
                limited += 1
            else:
                failed += 1
            if fault.kind in (Kind.ITEM, Kind.SCHEMA):
                return Result(request.key, Outcome.API_ERROR, error=fault.message)
            if failed >= self.endpoint.max_attempts or limited >= RATE_LIMITS:
                return self._given_up(request, fault, failed + limited)
            # A rate limit with a time of its own holds the whole throttle back; more waiting would be double.
            told = fault.kind is Kind.RATE_LIMIT and fault.retry_after
            await asyncio.sleep(0 if told else backoff(failed + limited, fault.retry_after))

    def _keep(self, request: Request, reply: Reply, started: float, attempts: int, held: float) -> Result:
        seconds = time.monotonic() - started
        return self.till.keep(request.key, request.canonical, reply, seconds=seconds, attempts=attempts, held=held)

    async def _attempt(self, connection: Any, request: Request, *, first: bool) -> Reply | Fault:
        """One attempt; a schema that the server does not take is asked for with less structure at once."""
        while True:
            mode = self._schema_mode
            await self.throttle.acquire()
            try:
                reply = await self._once(connection, request, mode)
                self.throttle.succeeded(first_attempt=first)
            except self._transient as error:
                fault = classify(error, self._secrets)
            else:
                return reply
            finally:
                self.throttle.release()
            if fault.kind is Kind.PERMANENT:
                raise PermanentError(self._refused(fault))
            if fault.kind is Kind.RATE_LIMIT:
                self.throttle.rate_limited(fault.retry_after)
            if fault.kind is not Kind.SCHEMA or request.schema is None or not self._lower_schema_mode(mode):
                return fault

    async def _once(self, connection: Any, request: Request, mode: SchemaMode) -> Reply:
        # The SDK's own door to the path: transport, errors and headers are the SDK's; the body is ours, the same as on
        # a line of a batch, and no time goes into building models of a reply of which a few fields are read.
        body = wire.body(request, self.endpoint, mode) | self.endpoint.extra_body
        raw = await connection.post("/chat/completions", cast_to=self._raw_type, body=body)
        return wire.reply(json.loads(raw.content), self.endpoint, mode if request.schema is not None else None)

    def _lower_schema_mode(self, refused: SchemaMode) -> bool:
        """Ask for less structure than ``refused`` from now on; False when nothing less is left.

        Many calls in flight may be refused at once; only the first lowers the mode.
        """
        less = wire.less_structure(refused)
        if less is None:
            return False
        if self._schema_mode == refused:
            self._schema_mode = less
        return True

    def _given_up(self, request: Request, fault: Fault, attempts: int) -> Result:
        self._hopeless += 1
        if self._hopeless >= HOPELESS:
            raise PermanentError(
                f"model '{self.endpoint.model}' at '{self.endpoint.provider}' answers nothing: {HOPELESS} calls in a "
                f"row used up their attempts, the last with {fault.message}; check that the endpoint is up. "
                "Replies bought so far are stored; the same command goes on from there."
            )
        return Result(request.key, Outcome.API_ERROR, error=f"{fault.message} ({attempts} attempts)")

    def _refused(self, fault: Fault) -> str:
        return (
            f"model '{self.endpoint.model}' at '{self.endpoint.provider}' refuses every call: {fault.message}; "
            f"check {self.endpoint.api_key_env or 'the endpoint'}, the model's name and the account. "
            "Replies bought so far are stored; the same command goes on from there."
        )


def _first(group: BaseExceptionGroup[PermanentError]) -> PermanentError:
    """The first error of a task group: several workers may meet the same refusal."""
    for error in group.exceptions:
        return _first(error) if isinstance(error, BaseExceptionGroup) else error
    raise ValueError("an exception group is never empty")
