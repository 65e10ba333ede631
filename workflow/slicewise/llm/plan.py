"""What a set of calls will cost, before any is bought."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from slicewise.endpoints import Endpoint, ImageTokens
from slicewise.llm.pricing import prompt_tokens
from slicewise.llm.request import Image, Request
from slicewise.llm.store import Store


@dataclass(frozen=True, slots=True)
class Line:
    """The calls of one model in one stage.

    Attributes:
        calls: Distinct calls.
        cached: Of these, in the store already.
        images: Images in the calls to buy.
        prompt_tokens: Prompt tokens of the calls to buy.
        reply_tokens: Reply tokens expected of them: the mean of stored replies where there are some, else a guess.
        live: Expected US dollars for them; ``None`` when no price is declared. ``batch`` likewise.
        ceiling: US dollars if every reply used its whole limit.
        notes: What the numbers rest on.
    """

    stage: str
    benchmark: str
    name: str
    calls: int
    cached: int
    images: int
    prompt_tokens: int
    reply_tokens: int
    live: float | None
    batch: float | None
    ceiling: float | None
    notes: tuple[str, ...] = ()


def line(
    stage: str,
    benchmark: str,
    name: str,
    requests: Sequence[Request],
    endpoint: Endpoint,
    store: Store | None,
    *,
    guess: int,
    notes: tuple[str, ...] = (),
) -> Line:
    """Count and price the distinct calls among ``requests``; ``guess`` is a reply's length where none is known."""
    distinct = {request.key: request for request in requests}
    stored = store.get_many(list(distinct)) if store is not None else {}
    missing = [request for key, request in distinct.items() if key not in stored]
    known = [r.reply.completion_tokens for r in stored.values() if r.reply.completion_tokens is not None]
    each = fmean(known) if known else float(min(guess, endpoint.sampling.max_tokens))
    prompt = sum(prompt_tokens(request, endpoint) for request in missing)
    reply = round(each * len(missing))
    images = sum(isinstance(p, Image) for request in missing for m in request.messages for p in m.parts)
    if images and endpoint.image_tokens == ImageTokens():
        notes = (*notes, "images: no endpoint.image_tokens, counted as 0 tokens: prompt tokens and US$ are too low")
    prices, most = endpoint.prices, endpoint.sampling.max_tokens * len(missing)
    return Line(
        stage=stage,
        benchmark=benchmark,
        name=name,
        calls=len(distinct),
        cached=len(stored),
        images=images,
        prompt_tokens=prompt,
        reply_tokens=reply,
        live=prices.cost(prompt, reply) if prices else None,
        batch=prices.cost(prompt, reply, batch=True) if prices else None,
        ceiling=prices.cost(prompt, most) if prices else None,
        notes=(
            *notes,
            "text: the model's tokenizer" if endpoint.tokenizer else "text: 4 characters a token",
            f"replies: {each:.0f} tokens, {'as stored' if known else 'a guess'}",
        ),
    )
