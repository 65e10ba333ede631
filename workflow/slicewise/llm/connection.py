"""Opening a connection to an endpoint: URL and key from the environment, the SDK's async client."""

from __future__ import annotations

import os
import re
from typing import Any

from slicewise.endpoints import Endpoint
from slicewise.errors import UserError


def resolve_base_url(endpoint: Endpoint) -> str | None:
    """The endpoint's URL with ``$VARIABLE`` taken from the environment; ``None`` is the SDK's default.

    Raises:
        UserError: The variable is not set.
    """
    if endpoint.base_url is None:
        return None

    def value(match: re.Match[str]) -> str:
        name = match.group(1)
        if name not in os.environ:
            raise UserError(f"model '{endpoint.model}': base_url names ${name}, which is not set; export it.")
        return os.environ[name]

    return re.sub(r"\$(\w+)", value, endpoint.base_url)


def api_key(endpoint: Endpoint) -> str:
    """The key from the environment; a placeholder for servers that want none.

    Raises:
        UserError: The declared variable is not set.
    """
    if endpoint.api_key_env is None:
        return "none"
    key = os.environ.get(endpoint.api_key_env, "")
    if not key:
        raise UserError(
            f"model '{endpoint.model}': the environment has no {endpoint.api_key_env}; export the key of "
            f"'{endpoint.provider}', or set 'api_key_env: null' for a server that wants none."
        )
    return key


def secrets(endpoint: Endpoint) -> tuple[str, ...]:
    """What must never be printed."""
    return () if endpoint.api_key_env is None else (api_key(endpoint),)


def connect(endpoint: Endpoint) -> Any:
    """An ``openai.AsyncOpenAI`` on the aiohttp transport, without retries of its own.

    Retries are ours, because the SDK knows neither the account's throttle nor its rate-limit episode.
    """
    import openai

    return openai.AsyncOpenAI(
        api_key=api_key(endpoint),
        base_url=resolve_base_url(endpoint),
        timeout=endpoint.timeout,
        max_retries=0,
        http_client=openai.DefaultAioHttpClient(timeout=endpoint.timeout),
    )


def raw_response() -> Any:
    """The type that asks the SDK for a response as it came."""
    import httpx2

    return httpx2.Response
