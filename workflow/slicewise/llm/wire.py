"""Between our requests and the chat-completions API: what is sent, and what a completion says."""

from __future__ import annotations

from typing import Any, Literal

from slicewise.endpoints import Endpoint
from slicewise.llm.request import Reply, Request

SchemaMode = Literal["json_schema", "json_object", "none"]
SCHEMA_MODES: tuple[SchemaMode, ...] = ("json_schema", "json_object", "none")


def less_structure(mode: SchemaMode) -> SchemaMode | None:
    """The next weaker way to ask for a schema; ``None`` below the last."""
    place = SCHEMA_MODES.index(mode) + 1
    return SCHEMA_MODES[place] if place < len(SCHEMA_MODES) else None


class MalformedReplyError(Exception):
    """The server answered 200 with something that is no completion; worth another attempt."""


def sampling(endpoint: Endpoint) -> dict[str, Any]:
    """Sampling settings as they enter the key: only what is sent.

    Reasoning models take ``max_completion_tokens`` and refuse a temperature.
    """
    declared = endpoint.sampling
    limit = "max_completion_tokens" if endpoint.reasoning else "max_tokens"
    sent: dict[str, Any] = {limit: declared.max_tokens}
    if not endpoint.reasoning:
        sent |= {
            name: getattr(declared, name) for name in ("temperature", "top_p") if getattr(declared, name) is not None
        }
    if declared.seed is not None:
        sent["seed"] = declared.seed
    if declared.logprobs:
        sent["logprobs"] = True
        if declared.top_logprobs is not None:
            sent["top_logprobs"] = declared.top_logprobs
    return sent


def body(request: Request, endpoint: Endpoint, schema_mode: str) -> dict[str, Any]:
    """The JSON body of the call; the same for a live call and for a line of a batch."""
    content: dict[str, Any] = {
        "model": endpoint.model,
        "messages": [message.wire() for message in request.messages],
        **request.sampling,
    }
    if request.schema is not None:
        content |= _response_format(request.schema, schema_mode)
    return content


def _response_format(schema: Any, mode: str) -> dict[str, Any]:
    if mode == "json_schema":
        declared = {"name": str(schema.get("title", "reply")), "schema": dict(schema), "strict": True}
        return {"response_format": {"type": "json_schema", "json_schema": declared}}
    if mode == "json_object":
        return {"response_format": {"type": "json_object"}}
    return {}


def reply(completion: Any, endpoint: Endpoint, schema_mode: str | None, *, batch: bool = False) -> Reply:
    """The reply that a completion (as a mapping) holds.

    Raises:
        MalformedReplyError: There is no choice, no message, or the shape is another one.
    """
    try:
        choice = completion["choices"][0]
        message = choice["message"]
        text = message.get("content")
        refusal = message.get("refusal")
        usage = completion.get("usage") or {}
        details = usage.get("prompt_tokens_details") or {}
        finish_reason = choice.get("finish_reason")
    except (KeyError, IndexError, TypeError, AttributeError) as error:
        raise MalformedReplyError(f"the reply is no chat completion ({type(error).__name__})") from error
    if text is not None and not isinstance(text, str):
        raise MalformedReplyError(f"the reply's content is a {type(text).__name__}, expected text")
    prompt, completion_tokens = usage.get("prompt_tokens"), usage.get("completion_tokens")
    cached = details.get("cached_tokens")
    cost: float | None = None
    if endpoint.prices is not None and prompt is not None and completion_tokens is not None:
        cost = endpoint.prices.cost(prompt, completion_tokens, cached or 0, batch=batch)
    return Reply(
        text=text,
        finish_reason=finish_reason,
        served_model=completion.get("model"),
        fingerprint=completion.get("system_fingerprint"),
        refusal=refusal,
        prompt_tokens=prompt,
        completion_tokens=completion_tokens,
        cached_tokens=cached,
        cost=cost,
        schema_mode=schema_mode,
        logprobs=choice.get("logprobs"),
    )
