"""The provider's Batch API as another way to buy the same calls: same keys, same store, half the price.

What was submitted is written down before and after it is submitted, so a killed poller resumes: a batch whose number
was not yet written is found again by the hash of its input in the batch's metadata. A batch that expires is
submitted again for what it did not answer; a line that failed is an ``api_error`` and is asked again by the next run.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slicewise.artifacts import write_json
from slicewise.endpoints import Endpoint
from slicewise.errors import UserError
from slicewise.llm import wire
from slicewise.llm.client import Result, outcome_of
from slicewise.llm.connection import connect, secrets
from slicewise.llm.faults import Kind, backoff, classify, transient_errors
from slicewise.llm.request import Request
from slicewise.llm.store import Store
from slicewise.outcome import Outcome

MAX_LINES = 50_000
MAX_BYTES = 180 * 2**20
ROUNDS = 3
POLL_SECONDS = 30.0
FINISHED = frozenset({"completed", "expired", "failed", "cancelled"})
TAG = "slicewise_input"


@dataclass
class _Submitted:
    """One batch under way, as its state file holds it."""

    path: Path
    input_sha256: str
    keys: list[str]
    batch_id: str | None = None
    errors: dict[str, str] = field(default_factory=dict)

    def save(self) -> None:
        write_json(self.path, {"input_sha256": self.input_sha256, "keys": self.keys, "batch_id": self.batch_id})


class BatchRunner:
    """Buys requests through the Batch API of one endpoint."""

    def __init__(self, endpoint: Endpoint, store: Store, *, poll_seconds: float = POLL_SECONDS) -> None:
        """Bind an endpoint to a store; state files lie in the store's folder ``batches``."""
        self.endpoint, self.store, self.poll_seconds = endpoint, store, poll_seconds
        self.folder = store.root / "batches"
        self._mode: wire.SchemaMode = endpoint.structured

    def answer_all(self, requests: Sequence[Request]) -> list[Result]:
        """Answer every request, in the order given; waits until the provider is done.

        Raises:
            UserError: The endpoint refuses the batch, or has no Batch API.
        """
        by_key = {request.key: request for request in requests}
        errors = asyncio.run(self._rounds(by_key)) if self._missing(by_key) else {}
        stored = self.store.get_many(list(by_key))
        results: list[Result] = []
        for request in requests:
            record = stored.get(request.key)
            if record is not None:
                results.append(Result(request.key, outcome_of(record.reply), record.reply))
            else:
                message = errors.get(request.key, "the batch gave no answer")
                results.append(Result(request.key, Outcome.API_ERROR, error=message))
        return results

    def _missing(self, by_key: dict[str, Request]) -> list[str]:
        stored = self.store.get_many(list(by_key))
        return sorted(key for key in by_key if key not in stored)

    async def _rounds(self, by_key: dict[str, Request]) -> dict[str, str]:
        errors: dict[str, str] = {}
        async with connect(self.endpoint) as connection:
            for state in self._resumable(by_key):
                errors |= await self._finish(connection, state, by_key)
            for _ in range(ROUNDS):
                missing = [key for key in self._missing(by_key) if key not in errors]
                if not missing:
                    break
                for chunk, data in self._chunks(missing, by_key):
                    state = await self._submit(connection, chunk, data)
                    errors |= await self._finish(connection, state, by_key)
        return errors

    def _resumable(self, by_key: dict[str, Request]) -> list[_Submitted]:
        """Batches of an earlier run that still hold a request of this one."""
        states: list[_Submitted] = []
        for path in sorted(self.folder.glob("*.json")):
            raw = json.loads(path.read_text(encoding="utf-8"))
            if not set(raw["keys"]).isdisjoint(by_key):
                states.append(_Submitted(path, raw["input_sha256"], raw["keys"], raw["batch_id"]))
        return states

    def _chunks(self, keys: Iterable[str], by_key: dict[str, Request]) -> Iterator[tuple[list[str], bytes]]:
        """Input files within the provider's limits on lines and bytes."""
        lines: list[bytes] = []
        chunk: list[str] = []
        size = 0
        for key in keys:
            body = wire.body(by_key[key], self.endpoint, self._mode) | self.endpoint.extra_body
            line = json.dumps({"custom_id": key, "method": "POST", "url": "/v1/chat/completions", "body": body})
            data = line.encode("ascii") + b"\n"
            if chunk and (len(chunk) >= MAX_LINES or size + len(data) > MAX_BYTES):
                yield chunk, b"".join(lines)
                lines, chunk, size = [], [], 0
            lines.append(data)
            chunk.append(key)
            size += len(data)
        if chunk:
            yield chunk, b"".join(lines)

    async def _submit(self, connection: Any, keys: list[str], data: bytes) -> _Submitted:
        digest = hashlib.sha256(data).hexdigest()
        state = _Submitted(self.folder / f"{digest}.json", digest, keys)
        state.save()
        uploaded = await self._call(connection.files.create, file=(f"{digest}.jsonl", data), purpose="batch")
        batch = await self._call(
            connection.batches.create,
            input_file_id=uploaded.id,
            endpoint="/v1/chat/completions",
            completion_window="24h",
            metadata={TAG: digest},
        )
        state.batch_id = batch.id
        state.save()
        return state

    async def _finish(self, connection: Any, state: _Submitted, by_key: dict[str, Request]) -> dict[str, str]:
        """Wait for a batch and store what it answered; returns the errors of its lines by key."""
        if state.batch_id is None:
            state.batch_id = await self._find(connection, state.input_sha256)
        if state.batch_id is None:
            state.path.unlink(missing_ok=True)
            return {}
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
        errors: dict[str, str] = {}
        for file_id in (batch.output_file_id, batch.error_file_id):
            if file_id:
                content = await self._call(connection.files.content, file_id)
                errors |= self._take(content.read(), by_key)
        state.path.unlink(missing_ok=True)
        return errors

    async def _find(self, connection: Any, digest: str) -> str | None:
        """The batch that carries the hash of its input, when the number was not written down before the kill."""
        page = await self._call(connection.batches.list, limit=100)
        for batch in page.data:
            if (batch.metadata or {}).get(TAG) == digest:
                return str(batch.id)
        return None

    def _take(self, data: bytes, by_key: dict[str, Request]) -> dict[str, str]:
        """Store the answered lines of a result file; a line delivered twice is stored once."""
        errors: dict[str, str] = {}
        for raw in data.splitlines():
            if not raw.strip():
                continue
            line = json.loads(raw)
            key = str(line["custom_id"])
            if key not in by_key:
                continue
            response = line.get("response") or {}
            if line.get("error") or response.get("status_code") != 200:
                errors[key] = str(line.get("error") or response.get("body") or {})[:300]
                continue
            try:
                asked = self._mode if by_key[key].schema is not None else None
                reply = wire.reply(response.get("body"), self.endpoint, asked, batch=True)
            except wire.MalformedReplyError as error:
                errors[key] = str(error)
                continue
            self.store.put(by_key[key], reply, seconds=0.0, attempts=1)
        return errors

    async def _call(self, method: Any, *args: Any, **kwargs: Any) -> Any:
        """One call of the API with retries.

        Raises:
            UserError: The endpoint refuses it, or every attempt failed.
        """
        message = ""
        for attempt in range(1, self.endpoint.max_attempts + 1):
            try:
                return await method(*args, **kwargs)
            except transient_errors() as error:
                fault = classify(error, secrets(self.endpoint))
                message = fault.message
                if fault.kind in (Kind.PERMANENT, Kind.ITEM):
                    break
                await asyncio.sleep(backoff(attempt, fault.retry_after))
        raise UserError(
            f"model '{self.endpoint.model}' at '{self.endpoint.provider}': the Batch API refuses the call ({message}); "
            "what was submitted is written down, so the same command resumes; 'llm.batch: false' buys live."
        )
