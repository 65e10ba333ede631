"""Requests, replies, and the key that joins them.

The key of a request is the SHA-256 of the canonical JSON of everything that can change the reply, and of nothing that
cannot: the declared deployment (provider, model, revision, engine settings; never host or port), the full messages
with each image by the SHA-256 of its encoded bytes, the sampling settings, the schema, and an explicit draw number
for repeats. Time-outs, retries, concurrency and the name of the run are not part of it.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal

from slicewise.artifacts import canonical_json

KEY_VERSION = 1


@dataclass(frozen=True, slots=True)
class Image:
    """An encoded image as it is sent; its bytes are read when it is sent, so a queue of requests stays small.

    Attributes:
        sha256: SHA-256 of the encoded bytes.
        media_type: Such as ``image/png``.
        width: Sent width in pixels.
        height: Sent height in pixels.
        read: Returns the encoded bytes.
        detail: The provider's resolution switch; part of the key because it changes what the model sees.
    """

    sha256: str
    media_type: str
    width: int
    height: int
    read: Callable[[], bytes] = field(repr=False, compare=False)
    detail: Literal["auto", "low", "high"] | None = None

    def identity(self) -> dict[str, Any]:
        """What the key and the store hold in place of the bytes."""
        return {"type": "image", "sha256": self.sha256, "media_type": self.media_type, "detail": self.detail}

    def wire(self) -> dict[str, Any]:
        """The part of a chat-completions message that carries the image."""
        url = f"data:{self.media_type};base64,{base64.b64encode(self.read()).decode('ascii')}"
        return {"type": "image_url", "image_url": {"url": url, **({"detail": self.detail} if self.detail else {})}}


Part = str | Image


@dataclass(frozen=True, slots=True)
class Message:
    """One turn: a role and its parts, texts and images in the order in which they are sent."""

    role: Literal["system", "user", "assistant"]
    parts: tuple[Part, ...]

    def identity(self) -> dict[str, Any]:
        """The message as hashed and stored."""
        parts = [{"type": "text", "text": p} if isinstance(p, str) else p.identity() for p in self.parts]
        return {"role": self.role, "parts": parts}

    def wire(self) -> dict[str, Any]:
        """The message as sent; a message of one text is sent as plain text, which every server understands."""
        if len(self.parts) == 1 and isinstance(self.parts[0], str):
            return {"role": self.role, "content": self.parts[0]}
        content = [{"type": "text", "text": p} if isinstance(p, str) else p.wire() for p in self.parts]
        return {"role": self.role, "content": content}


@dataclass(frozen=True)
class Request:
    """One call of a language model.

    Attributes:
        deployment: The declared identity: provider, model, revision, engine settings.
        messages: The conversation.
        sampling: Sampling settings as sent (temperature, max_tokens, seed, logprobs, ...).
        schema: JSON schema of the reply, or ``None`` for free text.
        structured: How the endpoint declares to take a schema; part of the key of a request that has one.
        draw: 0 for the first answer; a repeat of the same request has a number of its own.
        item: Name of the item in messages to people; not part of the key.
    """

    deployment: Mapping[str, Any]
    messages: Sequence[Message]
    sampling: Mapping[str, Any]
    schema: Mapping[str, Any] | None = None
    draw: int = 0
    item: str = ""
    structured: str = "json_schema"

    def identity(self) -> dict[str, Any]:
        """Everything that can change the reply."""
        return {
            "version": KEY_VERSION,
            "deployment": dict(self.deployment),
            "messages": [m.identity() for m in self.messages],
            "sampling": dict(self.sampling),
            "schema": None if self.schema is None else {"asked_as": self.structured, "schema": dict(self.schema)},
            "draw": self.draw,
        }

    @cached_property
    def canonical(self) -> str:
        """Canonical JSON of :meth:`identity`."""
        return canonical_json(self.identity())

    @cached_property
    def key(self) -> str:
        """SHA-256 of the canonical JSON."""
        return key_of(self.canonical)


def key_of(canonical: str) -> str:
    """The key of a request's canonical JSON, which is ASCII."""
    return hashlib.sha256(canonical.encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back, as stored.

    Attributes:
        text: The visible text; ``None`` when the reply has none.
        finish_reason: As the server names it, such as ``stop``, ``length`` or ``content_filter``.
        served_model: The model that the server says it ran.
        fingerprint: The server's own mark of its build, when it gives one.
        refusal: The provider's refusal text, when it gives one apart from ``text``.
        prompt_tokens: Tokens billed for the prompt.
        completion_tokens: Tokens billed for the reply, thinking included.
        cached_tokens: Prompt tokens billed at the cached rate.
        cost: US dollars at the declared prices; ``None`` when no price is declared.
        schema_mode: How the schema was asked for: ``json_schema``, ``json_object``, ``none``.
        logprobs: The server's log-probabilities, when asked for.
    """

    text: str | None
    finish_reason: str | None = None
    served_model: str | None = None
    fingerprint: str | None = None
    refusal: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cached_tokens: int | None = None
    cost: float | None = None
    schema_mode: str | None = None
    logprobs: Any = None
