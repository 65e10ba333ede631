"""A chat-completions server on loopback with scripted faults: the far side of the client's tests.

It speaks ``/v1/chat/completions``, ``/v1/files`` and ``/v1/batches``. Which fault a call meets is a function of the
seed, the call's content and the attempt, so a run is repeatable whatever the order of arrival. Every reply that was
sent whole is a line of the log: the server's own record of what was bought.

Run ``python tests/llm/fake_server.py --log calls.jsonl``; it prints its port as its first line.
"""

from __future__ import annotations

import argparse
import asyncio
import hashlib
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from aiohttp import web

FAULTS = (
    "429_retry_after",
    "429",
    "500",
    "503",
    "slow",
    "drop",
    "drop_mid_body",
    "invalid_json",
    "truncated_json",
    "wrong_schema",
    "empty_choices",
)
USAGE = {"prompt_tokens": 11, "completion_tokens": 7, "total_tokens": 18, "prompt_tokens_details": {"cached_tokens": 4}}


def digest(*parts: object) -> str:
    """Hexadecimal SHA-256 of the parts."""
    return hashlib.sha256("|".join(map(str, parts)).encode("utf-8", "replace")).hexdigest()


def last_text(body: dict[str, Any]) -> str:
    """The last text of the last message."""
    content = body["messages"][-1]["content"]
    if isinstance(content, str):
        return content
    return str([part["text"] for part in content if part["type"] == "text"][-1])


def answer(body: dict[str, Any]) -> str:
    """The right answer to a request: a function of its content alone."""
    content = digest(json.dumps(body["messages"], sort_keys=True), body["model"])
    if body.get("response_format", {}).get("type") in ("json_schema", "json_object"):
        ratings = [1 + int(content[i], 16) % 10 for i in range(3)]
        return json.dumps(dict(zip(("accuracy", "relevance", "helpfulness"), ratings, strict=True)))
    return f"echo {content[:12]}: {last_text(body)[:40]}"


class FakeServer:
    """State of one server."""

    def __init__(
        self,
        *,
        faults: float = 0.0,
        seed: int = 0,
        log: Path | None = None,
        latency: float = 0.0,
        reply: Callable[[dict[str, Any]], str] = answer,
        kinds: tuple[str, ...] = FAULTS,
        schema_modes: tuple[str, ...] = ("json_schema", "json_object"),
    ) -> None:
        self.faults, self.seed, self.log, self.latency, self.reply = faults, seed, log, latency, reply
        self.kinds, self.schema_modes = kinds, schema_modes
        self.attempts: Counter[str] = Counter()
        self.files: dict[str, bytes] = {}
        self.batches: dict[str, dict[str, Any]] = {}
        self.requests = 0

    def app(self) -> web.Application:
        """The routes."""
        app = web.Application(client_max_size=256 * 2**20)
        app.router.add_post("/v1/chat/completions", self.chat)
        app.router.add_post("/v1/files", self.upload)
        app.router.add_get("/v1/files/{id}/content", self.content)
        app.router.add_post("/v1/batches", self.create_batch)
        app.router.add_get("/v1/batches/{id}", self.get_batch)
        app.router.add_get("/v1/batches", self.list_batches)
        app.router.add_get("/log", self.show_log)
        app.router.add_get("/v1/models", self.models)
        return app

    def record(self, kind: str, name: str) -> None:
        """Append what was delivered whole."""
        if self.log is not None:
            with self.log.open("a", encoding="utf-8") as handle:
                handle.write(json.dumps({"kind": kind, "call": name}) + "\n")

    async def show_log(self, _request: web.Request) -> web.Response:
        """How many requests arrived, by content."""
        return web.json_response({"requests": self.requests, "attempts": dict(self.attempts)})

    async def models(self, _request: web.Request) -> web.Response:
        """What a server lists when it is ready."""
        return web.json_response({"object": "list", "data": [{"id": "test-model", "object": "model"}]})

    async def chat(self, request: web.Request) -> web.StreamResponse:
        """One call, perhaps with a fault."""
        self.requests += 1
        body = await request.json()
        name = digest(json.dumps(body, sort_keys=True))
        self.attempts[name] += 1
        if self.latency:
            await asyncio.sleep(self.latency)
        special = self.special(request, body)
        if special is not None:
            return special
        fault = self.fault(name, self.attempts[name])
        if fault:
            broken = await self.break_it(fault, request, body)
            if broken is not None:
                return broken
        response = web.json_response(self.completion(body))
        await response.prepare(request)
        await response.write_eof()
        self.record("chat", name)
        return response

    def special(self, request: web.Request, body: dict[str, Any]) -> web.Response | None:
        """Faults that a text or a key asks for by name."""
        text = last_text(body)
        wanted = body.get("response_format", {}).get("type")
        if request.headers.get("Authorization") == "Bearer sk-wrong":
            return error(401, "Incorrect API key provided: sk-wrong", "invalid_api_key")
        if body["model"] == "missing-model":
            return error(404, "The model does not exist", "model_not_found")
        if wanted and wanted not in self.schema_modes:
            return error(400, f"response_format {wanted} is not supported", "unsupported_value")
        if "TOO LONG" in text:
            return error(400, "maximum context length exceeded", "context_length_exceeded")
        if "FILTERED PROMPT" in text:
            return error(400, "the prompt was filtered", "content_filter")
        if "NO QUOTA" in text:
            return error(429, "You exceeded your current quota", "insufficient_quota")
        return None

    def fault(self, name: str, attempt: int) -> str | None:
        """The fault of an attempt, or ``None``; the fifth attempt is always clean."""
        draw = digest(self.seed, name, attempt)
        if attempt >= 5 or int(draw[:8], 16) / 16**8 >= self.faults:
            return None
        return self.kinds[int(draw[8:16], 16) % len(self.kinds)]

    async def break_it(self, fault: str, request: web.Request, body: dict[str, Any]) -> web.StreamResponse | None:
        """A faulty response; ``None`` for a fault that only delays."""
        if fault == "slow":
            await asyncio.sleep(0.2)
            return None
        if fault in ("429", "429_retry_after"):
            headers = {"retry-after-ms": "30"} if fault == "429_retry_after" else {}
            return error(429, "Rate limit reached", "rate_limit_exceeded", headers)
        if fault in ("500", "503"):
            return web.Response(status=int(fault), text="<html>upstream broke</html>", content_type="text/html")
        if fault == "drop":
            request.transport.close()  # type: ignore[union-attr]
            return web.Response()
        whole = json.dumps(self.completion(body))
        if fault == "drop_mid_body":
            response = web.StreamResponse(
                headers={"Content-Length": str(len(whole)), "Content-Type": "application/json"}
            )
            await response.prepare(request)
            await response.write(whole[: len(whole) // 2].encode())
            request.transport.close()  # type: ignore[union-attr]
            return response
        texts = {
            "invalid_json": "{not json",
            "truncated_json": whole[: len(whole) // 2],
            "wrong_schema": json.dumps({"object": "error", "detail": "busy"}),
            "empty_choices": json.dumps({**self.completion(body), "choices": []}),
        }
        return web.Response(text=texts[fault], content_type="application/json")

    def completion(self, body: dict[str, Any]) -> dict[str, Any]:
        """A whole completion; the text may ask for a way to end."""
        text, reason = self.reply(body), "stop"
        asked = last_text(body)
        if "CUT OFF" in asked:
            text, reason = text[: len(text) // 2], "length"
        message: dict[str, Any] = {"role": "assistant", "content": text}
        if "FILTERED REPLY" in asked:
            message, reason = {"role": "assistant", "content": None}, "content_filter"
        if "SAY NOTHING" in asked:
            message["content"] = ""
        return {
            "id": "chatcmpl-1",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": f"{body['model']}-2026-01-01",
            "system_fingerprint": "fp_test",
            "choices": [{"index": 0, "message": message, "finish_reason": reason}],
            "usage": USAGE,
        }

    async def upload(self, request: web.Request) -> web.Response:
        """Keep an uploaded file."""
        form = await request.post()
        data = form["file"].file.read()  # type: ignore[union-attr]
        name = f"file-{digest(data)[:16]}"
        self.files[name] = data
        return web.json_response(
            {
                "id": name,
                "object": "file",
                "bytes": len(data),
                "created_at": 0,
                "filename": "in.jsonl",
                "purpose": "batch",
                "status": "processed",
            }
        )

    async def content(self, request: web.Request) -> web.Response:
        """A file's bytes."""
        return web.Response(body=self.files[request.match_info["id"]])

    async def create_batch(self, request: web.Request) -> web.Response:
        """Start a batch: it is done at the second poll. Lines may ask for a failure or for expiry by their text."""
        asked = await request.json()
        lines = [json.loads(line) for line in self.files[asked["input_file_id"]].splitlines() if line.strip()]
        output, errors, expired = [], [], False
        for line in lines:
            body, text = line["body"], last_text(line["body"])
            if "BATCH EXPIRES" in text and self.attempts[f"batch|{line['custom_id']}"] == 0:
                self.attempts[f"batch|{line['custom_id']}"] += 1
                expired = True
                continue
            if "BATCH FAILS" in text:
                errors.append(
                    {
                        "custom_id": line["custom_id"],
                        "response": None,
                        "error": {"code": "server_error", "message": "failed"},
                    }
                )
                continue
            row = {
                "custom_id": line["custom_id"],
                "response": {"status_code": 200, "body": self.completion(body)},
                "error": None,
            }
            output.append(row)
            if "DELIVERED TWICE" in text:
                output.append(row)
            self.record("batch", digest(json.dumps(body, sort_keys=True)))
        name = f"batch_{len(self.batches)}"
        for suffix, rows in (("out", output), ("err", errors)):
            self.files[f"{name}-{suffix}"] = "".join(json.dumps(row) + "\n" for row in rows).encode()
        self.batches[name] = {
            "id": name,
            "object": "batch",
            "endpoint": asked["endpoint"],
            "input_file_id": asked["input_file_id"],
            "completion_window": "24h",
            "status": "in_progress",
            "created_at": 0,
            "metadata": asked.get("metadata"),
            "_polls": 0,
            "_final": "expired" if expired else "completed",
            "_files": {"output_file_id": f"{name}-out", "error_file_id": f"{name}-err" if errors else None},
        }
        return web.json_response(self.visible(name))

    async def get_batch(self, request: web.Request) -> web.Response:
        """A batch's state; the first poll still says in progress."""
        batch = self.batches[request.match_info["id"]]
        batch["_polls"] += 1
        if batch["_polls"] >= 2:
            batch |= {"status": batch["_final"], **batch["_files"]}
        return web.json_response(self.visible(batch["id"]))

    async def list_batches(self, _request: web.Request) -> web.Response:
        """All batches, newest first."""
        return web.json_response({"object": "list", "data": [self.visible(n) for n in reversed(self.batches)]})

    def visible(self, name: str) -> dict[str, Any]:
        """What the API shows of a batch."""
        return {k: v for k, v in self.batches[name].items() if not k.startswith("_")}


def error(status: int, message: str, code: str, headers: dict[str, str] | None = None) -> web.Response:
    """An error body of the API."""
    return web.json_response(
        {"error": {"message": message, "type": code, "code": code}}, status=status, headers=headers
    )


async def serve(server: FakeServer, port: int) -> int:
    """Start on loopback; returns the port."""
    runner = web.AppRunner(server.app(), access_log=None, handle_signals=False)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", port)
    await site.start()
    return int(site._server.sockets[0].getsockname()[1])  # type: ignore[union-attr]


async def main() -> None:
    """Serve until killed."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--log", type=Path)
    parser.add_argument("--faults", type=float, default=0.0)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--latency", type=float, default=0.0)
    options = parser.parse_args()
    server = FakeServer(faults=options.faults, seed=options.seed, log=options.log, latency=options.latency)
    print(await serve(server, options.port), flush=True)
    await asyncio.Event().wait()


if __name__ == "__main__":
    asyncio.run(main())
