"""The provider's Batch API as another way to buy the same calls: same keys, same store, half the price.

What is submitted is written down before it is submitted, with every request's identity, so a killed poller resumes and
loses nothing: a batch whose number was not yet written is found again by a tag in its metadata, and its answers are
stored even when the new run no longer asks for them. A line that met a passing fault, or that the window's end cut
off, is submitted again; one that failed for good is an ``api_error`` and is asked again by the next run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicewise.artifacts import write_json
from slicewise.errors import UserError
from slicewise.llm import wire
from slicewise.llm.claims import Claims
from slicewise.llm.connection import connect, secrets
from slicewise.llm.faults import Fault, Kind, backoff, classify, classify_body, transient_errors
from slicewise.llm.request import Reply, Request
from slicewise.llm.result import Result, outcome_of
from slicewise.llm.till import Till
from slicewise.outcome import Outcome

MAX_LINES = 50_000  # limits of the provider: lines and bytes of one input file
MAX_BYTES = 180 * 2**20
ROUNDS = 3
POLL_SECONDS = 30.0
LISTED = 1000  # newest batches among which a lost number is looked for
FINISHED = frozenset({"completed", "expired", "failed", "cancelled"})
TAG = "slicewise"
EXPIRED = "batch_expired"

Done = Callable[[Result], None]


@dataclass
class Submitted:
    """One batch under way, as its state file holds it.

    Attributes:
        path: The state file.
        tag: What the batch carries in its metadata: a name of this one submission.
        requests: Canonical JSON of each request by its key.
        batch_id: The provider's number; ``None`` until it is known.
    """

    path: Path
    tag: str
    requests: dict[str, str]
    batch_id: str | None = None

    def save(self) -> None:
        """Write the state file."""
        write_json(self.path, {"tag": self.tag, "requests": self.requests, "batch_id": self.batch_id})


def read_states(folder: Path) -> Iterator[Submitted]:
    """The batches that are written down in a folder, in the order of their names."""
    for path in sorted(folder.glob("*.json")):
        raw = json.loads(path.read_text(encoding="utf-8"))
        yield Submitted(path, raw["tag"], raw["requests"], raw["batch_id"])


class BatchBuyer:
    """Buys requests through the Batch API of one endpoint."""

    def __init__(self, till: Till, *, poll_seconds: float | None = None) -> None:
        """Buy into a till; state files lie in the store's folder ``batches``."""
        self.till, self.endpoint = till, till.endpoint
        self.poll_seconds = POLL_SECONDS if poll_seconds is None else poll_seconds
        self.folder = till.store.root / "batches"
        self._claims = Claims(till.store.root / "claims")
        self._mode: wire.SchemaMode = self.endpoint.structured
        self._secrets: tuple[str, ...] = ()
        self._held: dict[str, float] = {}
        self._errors: dict[str, str] = {}

    def buy(self, requests: Sequence[Request], done: Done) -> None:
        """Buy every request, each with a key of its own; waits until the provider is done.

        Raises:
            UserError: The endpoint refuses a batch, or has no Batch API.
        """
        self._secrets = secrets(self.endpoint)
        try:
            asyncio.run(self._rounds({request.key: request for request in requests}, done))
        finally:
            for held in self._held.values():
                self.till.release(held)

    async def _rounds(self, wanted: dict[str, Request], done: Done) -> None:
        async with connect(self.endpoint) as connection:
            for state in read_states(self.folder):
                if self._ours(state):
                    await self._finish(connection, state)
            for _ in range(ROUNDS):
                affordable = self._settle(wanted, done)
                if not affordable:
                    return
                for chunk, data in self._chunks(affordable):
                    await self._finish(connection, await self._submit(connection, chunk, data))
        self._settle(wanted, done)
        for key in wanted:
            done(Result(key, Outcome.API_ERROR, error=self._errors.get(key, "the batch gave no answer")))

    def _settle(self, wanted: dict[str, Request], done: Done) -> list[Request]:
        """Report and drop from ``wanted`` what is stored, failed or beyond the budget; returns the rest."""
        for key, record in self.till.fresh(list(wanted)).items():
            done(Result(key, outcome_of(record.reply), record.reply))
            del wanted[key]
        for key in [key for key in wanted if key in self._errors]:
            done(Result(key, Outcome.API_ERROR, error=self._errors[key]))
            del wanted[key]
        for key in sorted(wanted.keys() - self._held.keys()):
            held = self.till.hold(wanted[key])
            if held is None:
                done(Result(key, Outcome.NOT_RUN, error="the run's budget is used up"))
                del wanted[key]
            else:
                self._held[key] = held
        return [wanted[key] for key in sorted(wanted)]

    def _ours(self, state: Submitted) -> bool:
        """Whether a batch of an earlier run went to this deployment; its answers are stored whoever wants them."""
        first = next(iter(state.requests.values()))
        return bool(json.loads(first)["deployment"] == self.endpoint.deployment)

    def _chunks(self, requests: Sequence[Request]) -> Iterator[tuple[list[Request], bytes]]:
        """Input files within the provider's limits on lines and bytes."""
        lines: list[bytes] = []
        chunk: list[Request] = []
        size = 0
        for request in requests:
            body = wire.body(request, self.endpoint, self._mode) | self.endpoint.extra_body
            line = json.dumps({"custom_id": request.key, "method": "POST", "url": "/v1/chat/completions", "body": body})
            data = line.encode("ascii") + b"\n"
            if chunk and (len(chunk) >= MAX_LINES or size + len(data) > MAX_BYTES):
                yield chunk, b"".join(lines)
                lines, chunk, size = [], [], 0
            lines.append(data)
            chunk.append(request)
            size += len(data)
        if chunk:
            yield chunk, b"".join(lines)

    async def _submit(self, connection: Any, requests: Sequence[Request], data: bytes) -> Submitted:
        digest = hashlib.sha256(data).hexdigest()
        tag = f"{digest[:32]}-{uuid.uuid4().hex}"
        state = Submitted(self.folder / f"{digest}.json", tag, {r.key: r.canonical for r in requests})
        await self._claim(digest)
        try:
            if state.path.exists():  # another process submitted the same file while we waited
                return next(s for s in read_states(self.folder) if s.path == state.path)
            state.save()
            uploaded = await self._call(connection.files.create, file=(f"{digest}.jsonl", data), purpose="batch")
            state.batch_id = await self._create(connection, uploaded.id, tag)
            state.save()
        finally:
            self._claims.give(digest)
        return state

    async def _create(self, connection: Any, file_id: str, tag: str) -> str:
        """Start a batch. A connection lost in between may have started it, so it is looked for before a new try."""
        fault = Fault(Kind.RETRY, "no attempt")
        for attempt in range(1, self.endpoint.max_attempts + 1):
            try:
                batch = await connection.batches.create(
                    input_file_id=file_id,
                    endpoint="/v1/chat/completions",
                    completion_window="24h",
                    metadata={TAG: tag},
                )
                return str(batch.id)
            except transient_errors() as error:
                fault = classify(error, self._secrets)
            if fault.kind not in (Kind.RETRY, Kind.RATE_LIMIT):
                break
            await asyncio.sleep(backoff(attempt, fault.retry_after))
            started = await self._find(connection, tag)
            if started is not None:
                return started
        raise UserError(self._refused(fault.message))

    async def _claim(self, digest: str) -> None:
        while not self._claims.take(digest):
            await asyncio.sleep(min(1.0, self.poll_seconds))

    async def _finish(self, connection: Any, state: Submitted) -> None:
        """Wait for a batch, store what it answered and note the errors of its lines."""
        if state.batch_id is None:
            await self._claim(state.path.stem)  # its submitter may still be at work
            try:
                state = next((s for s in read_states(self.folder) if s.path == state.path), state)
                state.batch_id = state.batch_id or await self._find(connection, state.tag)
            finally:
                self._claims.give(state.path.stem)
        if state.batch_id is None:
            state.path.unlink(missing_ok=True)
            return
        while True:
            batch = await self._call(connection.batches.retrieve, state.batch_id)
            if batch.status in FINISHED:
                break
            await asyncio.sleep(self.poll_seconds)
        if batch.status == "failed":
            state.path.unlink(missing_ok=True)
            raise UserError(
                f"batch {state.batch_id} of model '{self.endpoint.model}' failed as a whole: {batch.errors}."
            )
        for file_id in (batch.output_file_id, batch.error_file_id):
            if file_id:
                content = await self._call(connection.files.content, file_id)
                self._take(content.read(), state)
        state.path.unlink(missing_ok=True)

    async def _find(self, connection: Any, tag: str) -> str | None:
        """The batch that carries the tag, when its number was not written down before the kill."""
        seen = 0
        async for batch in await self._call(connection.batches.list, limit=100):
            if (batch.metadata or {}).get(TAG) == tag:
                return str(batch.id)
            seen += 1
            if seen >= LISTED:
                break
        return None

    def _take(self, data: bytes, state: Submitted) -> None:
        """Store the answered lines of a result file; a line delivered twice is stored once."""
        for raw in data.splitlines():
            if not raw.strip():
                continue
            line = json.loads(raw)
            key = str(line["custom_id"])
            if key not in state.requests:
                continue
            reply = self._read(line, asked=json.loads(state.requests[key])["schema"] is not None)
            if isinstance(reply, Reply):
                self._errors.pop(key, None)
                self.till.keep(key, state.requests[key], reply, seconds=0.0, attempts=1, held=self._held.get(key, 0.0))
            elif reply is not None:
                self._errors[key] = reply

    def _read(self, line: Mapping[str, Any], *, asked: bool) -> Reply | str | None:
        """The reply on a line, the message of a fault for good, or ``None`` for a line to submit again."""
        response = line.get("response") or {}
        status, body = response.get("status_code"), response.get("body")
        if line.get("error"):
            code, message = line["error"].get("code"), line["error"].get("message")
            return None if code == EXPIRED else f"{code}: {message}"[:300]
        if status == 200:
            try:
                return wire.reply(body, self.endpoint, self._mode if asked else None, batch=True)
            except wire.MalformedReplyError:
                return None
        fault = classify_body(int(status or 500), body, self._secrets)
        if fault.kind is Kind.FILTERED:
            return Reply(text=None, finish_reason="content_filter", refusal=fault.message)
        if fault.kind is Kind.SCHEMA and asked:
            self._mode = wire.less_structure(self._mode) or self._mode
            return None
        return None if fault.kind in (Kind.RETRY, Kind.RATE_LIMIT) else fault.message

    async def _call(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        """One call of the API that may be repeated.

        Raises:
            UserError: The endpoint refuses it, or every attempt failed.
        """
        message = "no attempt"
        for attempt in range(1, self.endpoint.max_attempts + 1):
            try:
                return await method(*args, **kwargs)
            except transient_errors() as error:
                fault = classify(error, self._secrets)
                message = fault.message
            if fault.kind not in (Kind.RETRY, Kind.RATE_LIMIT):
                break
            await asyncio.sleep(backoff(attempt, fault.retry_after))
        raise UserError(self._refused(message))

    def _refused(self, message: str) -> str:
        return (
            f"model '{self.endpoint.model}' at '{self.endpoint.provider}': the Batch API refuses the call ({message}); "
            "what was submitted is written down, so the same command resumes; 'llm.batch: false' buys live."
        )
