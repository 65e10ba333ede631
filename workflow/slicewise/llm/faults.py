"""What a failed call means: try again, give up on the item, or stop everything with one sentence."""

from __future__ import annotations

import asyncio
import json
import random
import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from slicewise.llm.wire import MalformedReplyError

BACKOFF_SECONDS = 0.5
BACKOFF_CEILING = 30.0
RETRY_AFTER_CEILING = 600.0
MESSAGE_LENGTH = 300


class Kind(StrEnum):
    """What to do about a failed attempt."""

    RETRY = "retry"
    RATE_LIMIT = "rate_limit"
    ITEM = "item"
    FILTERED = "filtered"
    SCHEMA = "schema"
    PERMANENT = "permanent"


@dataclass(frozen=True, slots=True)
class Fault:
    """A failed attempt: what to do, what to tell a person, and how long the server asks to wait (seconds)."""

    kind: Kind
    message: str
    retry_after: float | None = None


def transient_errors() -> tuple[type[BaseException], ...]:
    """Everything that a failed attempt may raise and that :func:`classify` understands."""
    import aiohttp
    import httpx2
    import openai

    return (
        openai.APIError,
        httpx2.HTTPError,
        aiohttp.ClientError,
        asyncio.TimeoutError,
        json.JSONDecodeError,
        UnicodeDecodeError,
        MalformedReplyError,
    )


def classify(error: BaseException, secrets: tuple[str, ...] = ()) -> Fault:
    """What an attempt's error means. ``secrets`` are cut out of the message."""
    import openai

    # The SDK calls every fault of the connection "Connection error."; what happened is its cause.
    told = f"{error} ({error.__cause__})" if isinstance(error, openai.APIConnectionError) else str(error)
    message = f"{type(error).__name__}: {clean(told, secrets)}".removesuffix(": ")
    if not isinstance(error, openai.APIStatusError):
        return Fault(Kind.RETRY, message)
    return classify_status(error.status_code, _code(error.body), message, error.response.headers)


def classify_body(status: int, body: Any, secrets: tuple[str, ...] = ()) -> Fault:
    """What an error response means that came as a line of a batch: its status and its JSON body."""
    inner = body.get("error", body) if isinstance(body, Mapping) else body
    said = inner.get("message") if isinstance(inner, Mapping) else inner
    return classify_status(status, _code(body), f"status {status}: {clean(str(said), secrets)}", {})


def classify_status(status: int, code: str, message: str, headers: Mapping[str, str]) -> Fault:
    """What an HTTP status with the provider's error code means."""
    wait = retry_after(headers)
    if status in (401, 403) or code in ("insufficient_quota", "invalid_api_key", "model_not_found"):
        return Fault(Kind.PERMANENT, message)
    if status == 404:
        return Fault(Kind.PERMANENT, message)
    if status == 429:
        return Fault(Kind.RATE_LIMIT, message, wait)
    if status in (408, 409, 425) or status >= 500:
        return Fault(Kind.RETRY, message, wait)
    if "content_filter" in code or "content_policy" in code:
        return Fault(Kind.FILTERED, message)
    if status in (400, 422) and re.search(r"response_format|json_schema|json_object|guided", message):
        return Fault(Kind.SCHEMA, message)
    return Fault(Kind.ITEM, message)


def _code(body: Any) -> str:
    """The error code of an OpenAI-style error body; '' when there is none."""
    if not isinstance(body, Mapping):
        return ""
    inner = body.get("error", body)
    return str(inner.get("code") or inner.get("type") or "") if isinstance(inner, Mapping) else ""


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds from ``retry-after-ms`` or ``retry-after``; ``None`` when absent or no number (dates are ignored)."""
    for name, scale in (("retry-after-ms", 0.001), ("retry-after", 1.0)):
        raw = headers.get(name)
        if raw and re.fullmatch(r"\s*\d+(\.\d+)?\s*", raw):
            return min(RETRY_AFTER_CEILING, float(raw) * scale)
    return None


def backoff(attempt: int, wait: float | None) -> float:
    """Seconds before the next attempt (``attempt`` counts from 1): the server's own wish, else exponential, jittered.

    Jitter only spreads load; it enters no artifact and needs no seed.
    """
    if wait is not None:
        return wait + random.uniform(0, 0.1 * wait)  # noqa: S311
    ceiling = min(BACKOFF_CEILING, BACKOFF_SECONDS * 2 ** (attempt - 1))
    return random.uniform(ceiling / 2, ceiling)  # noqa: S311


def clean(text: str, secrets: tuple[str, ...]) -> str:
    """The text on one line, short, without any key."""
    text = " ".join(text.split())
    for secret in secrets:
        text = text.replace(secret, "***")
    return re.sub(r"(?i)(sk-|bearer )[A-Za-z0-9_\-.*]{3,}", "***", text)[:MESSAGE_LENGTH]
