"""What is declared of a language model: where it is served, what it costs, how it samples and what it may be sent."""

from __future__ import annotations

import math
from typing import Any, Literal

from pydantic import Field

from slicewise.settings import Settings

MILLION = 1_000_000


class Prices(Settings):
    """US dollars per million tokens.

    Attributes:
        input: Prompt tokens.
        output: Reply tokens, thinking included.
        cached_input: Prompt tokens served from the provider's cache; the input price when absent.
        batch: What the Batch API charges of the live price.
    """

    input: float = Field(ge=0)
    output: float = Field(ge=0)
    cached_input: float | None = Field(None, ge=0)
    batch: float = Field(0.5, gt=0, le=1)

    def cost(self, prompt: int, completion: int, cached: int = 0, *, batch: bool = False) -> float:
        """Price of a call in US dollars; ``cached`` is the part of ``prompt`` billed at the cached rate."""
        cached_price = self.input if self.cached_input is None else self.cached_input
        dollars = ((prompt - cached) * self.input + cached * cached_price + completion * self.output) / MILLION
        return dollars * (self.batch if batch else 1.0)


class ImageTokens(Settings):
    """How a provider turns an image into tokens.

    Attributes:
        rule: ``fixed`` (``base`` tokens an image), ``tiles`` (``base`` plus ``per_tile`` for every started
            ``tile`` × ``tile`` pixels, after fitting ``long_side`` and ``short_side``), ``area`` (one token for every
            ``pixels_per_token`` pixels) or ``patches`` (one token for every ``tile`` × ``tile`` pixels after both
            sides are rounded to multiples of ``tile`` and the area is brought within the pixel limits).
    """

    rule: Literal["fixed", "tiles", "area", "patches"] = "fixed"
    base: int = Field(0, ge=0)
    per_tile: int = Field(0, ge=0)
    tile: int = Field(512, ge=1)
    long_side: int | None = Field(None, ge=1)
    short_side: int | None = Field(None, ge=1)
    pixels_per_token: float = Field(750.0, gt=0)
    min_pixels: int | None = Field(None, ge=1)
    max_pixels: int | None = Field(None, ge=1)

    def tokens(self, width: int, height: int) -> int:
        """Tokens of one image of that size in pixels, as sent."""
        if self.rule == "fixed":
            return self.base
        if self.rule == "area":
            return math.ceil(width * height / self.pixels_per_token)
        if self.rule == "tiles":
            scale = min(1.0, (self.long_side or max(width, height)) / max(width, height))
            scale = min(scale, (self.short_side or min(width, height)) / min(width, height))
            tiles = math.ceil(width * scale / self.tile) * math.ceil(height * scale / self.tile)
            return self.base + self.per_tile * tiles
        columns, rows = self._patches(width, height)
        return self.base + columns * rows

    def processed(self, width: int, height: int) -> tuple[int, int]:
        """Width and height after a patch processor's own resize, in pixels; such a size is left as it is."""
        columns, rows = self._patches(width, height)
        return columns * self.tile, rows * self.tile

    def _patches(self, width: int, height: int) -> tuple[int, int]:
        columns, rows = max(1, round(width / self.tile)), max(1, round(height / self.tile))
        area, cell = columns * rows * self.tile**2, self.tile
        if self.max_pixels and area > self.max_pixels:
            shrink = math.sqrt(width * height / self.max_pixels)
            return max(1, math.floor(width / shrink / cell)), max(1, math.floor(height / shrink / cell))
        if self.min_pixels and area < self.min_pixels:
            stretch = math.sqrt(self.min_pixels / (width * height))
            return math.ceil(width * stretch / cell), math.ceil(height * stretch / cell)
        return columns, rows


class Sampling(Settings):
    """Sampling settings, sent as they are and part of every request's key; ``None`` is not sent."""

    temperature: float | None = Field(0.0, ge=0)
    top_p: float | None = Field(None, gt=0, le=1)
    max_tokens: int = Field(4096, ge=1)
    seed: int | None = 42
    logprobs: bool = False
    top_logprobs: int | None = Field(None, ge=0, le=20)


class ImageLimits(Settings):
    """What may be sent, so that no provider shrinks an image unseen.

    Attributes:
        max_images: Frames a request may carry; more are left out evenly and the frames sent are recorded.
        max_side: Longer images are shrunk here, the sent size is recorded, and boxes are mapped back.
        min_side: Smaller images are enlarged here, likewise.
        detail: The provider's resolution switch.
    """

    max_images: int | None = Field(None, ge=1)
    max_side: int | None = Field(None, ge=16)
    min_side: int | None = Field(None, ge=16)
    detail: Literal["auto", "low", "high"] | None = None


class Endpoint(Settings):
    """An OpenAI-compatible chat-completions endpoint and the model it serves.

    ``provider``, ``model``, ``revision`` and ``engine`` are the declared deployment: they are part of every request's
    key. Host, port, key, prices and transport settings are not, because they cannot change a reply.

    Attributes:
        provider: Who runs the model, such as ``openai``, ``vllm``.
        model: The exact model id that is asked for.
        revision: The weights' commit, where there is one.
        engine: Engine settings that can change a reply (quantisation, context length, image processor limits).
        base_url: The endpoint; ``None`` is OpenAI's own. ``$VARIABLE`` (without braces, which mean something
            else to DVC) is taken from the environment, so that a server that a cluster job starts on another node
            each night is the same deployment.
        api_key_env: Name of the environment variable that holds the key; ``None`` for a server that wants none.
        reasoning: Send ``max_completion_tokens`` and no temperature.
        structured: How the server takes a schema; tried in the order json_schema, json_object, none.
        extra_body: Further fields of the request body; part of the key.
        concurrency: Ceiling on calls in flight.
        timeout: Seconds for one attempt.
        max_attempts: Attempts of one call before it becomes an ``api_error``.
        context_window: Tokens that prompt and reply may take together.
        tokenizer: A local ``tokenizer.json`` of the model; without it, plans count four characters a token.
        image_tokens: How an image becomes tokens.
        images: What may be sent.
        prices: What a token costs; without it, costs are unknown rather than 0.
    """

    provider: str = "openai"
    model: str
    revision: str | None = None
    engine: dict[str, str | int | float | bool] = Field(default_factory=dict)
    base_url: str | None = None
    api_key_env: str | None = "OPENAI_API_KEY"
    reasoning: bool = False
    structured: Literal["json_schema", "json_object", "none"] = "json_schema"
    extra_body: dict[str, Any] = Field(default_factory=dict)
    sampling: Sampling = Sampling()
    concurrency: int = Field(16, ge=1, le=1024)
    timeout: float = Field(120.0, gt=0)
    max_attempts: int = Field(6, ge=1, le=50)
    context_window: int | None = Field(None, ge=256)
    tokenizer: str | None = None
    image_tokens: ImageTokens = ImageTokens()
    images: ImageLimits = ImageLimits()
    prices: Prices | None = None

    @property
    def deployment(self) -> dict[str, Any]:
        """The declared identity that enters every key."""
        return {
            "provider": self.provider,
            "model": self.model,
            "revision": self.revision,
            "engine": dict(self.engine),
            "extra_body": dict(self.extra_body),
        }

    @property
    def account(self) -> str:
        """What rate limits are counted by: the provider's account, not the model."""
        return f"{self.provider}|{self.base_url or ''}|{self.api_key_env or ''}"


class LlmSettings(Settings):
    """How language models are called in a run.

    Attributes:
        mode: ``live`` buys what the store lacks; ``replay`` buys nothing and a miss is an error that names the item;
            ``refresh`` buys again what was stored before ``refresh_before``.
        refresh_before: ISO 8601 time in UTC; with it a killed refresh resumes instead of starting over.
        budget_usd: What all jobs of the run may spend together; items beyond it are ``not_run``.
        budget_name: Name of the ledger; a new name starts at 0.
        batch: Send through the provider's Batch API where the endpoint has one.
    """

    mode: Literal["live", "replay", "refresh"] = "live"
    refresh_before: str | None = None
    budget_usd: float | None = Field(None, gt=0)
    budget_name: str = "run"
    batch: bool = False
