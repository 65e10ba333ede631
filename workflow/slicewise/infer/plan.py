"""What the answers of a language model will cost."""

from __future__ import annotations

from pathlib import Path

from slicewise.endpoints import Endpoint
from slicewise.infer.items import Answer
from slicewise.infer.language_model import backend
from slicewise.infer.run import load_items
from slicewise.jobs import InferJob
from slicewise.llm import plan
from slicewise.llm.plan import Line
from slicewise.llm.store import Store
from slicewise.params import AgentModel

REPLY_GUESS = 300  # tokens of an answer where none is stored
# An agent's turns depend on what it sees, so they cannot be counted before: about what the published systems made.
TURNS_GUESS = 8
TURN_PROMPT_GUESS = 10_000  # tokens: the tools' schemas, and half of the conversation with its pictures


def line(job: InferJob, samples: Path, store: Store | None) -> Line | None:
    """The calls of the job's model over a benchmark; ``None`` for a model that makes none.

    Raises:
        UserError: The samples are missing or of another benchmark.
    """
    if isinstance(job.model, AgentModel) and job.model.endpoint is not None:
        return _agent(job, job.model, job.model.endpoint, len(load_items(samples, job.benchmark)))
    if job.model.backend != "openai":
        return None
    asked = backend(job)
    made = asked.requests(load_items(samples, job.benchmark))
    requests = [one.request for one in made if not isinstance(one, Answer)]
    unsent = len(made) - len(requests)
    notes = (f"{unsent} of {len(made)} items are not sent (no images, or no room)",) if unsent else ()
    endpoint = asked.model.endpoint
    return plan.line("infer", job.benchmark, job.model.name, requests, endpoint, store, guess=REPLY_GUESS, notes=notes)


def _agent(job: InferJob, model: AgentModel, endpoint: Endpoint, items: int) -> Line:
    """The turns of an agent, as a guess; what is stored of them cannot be known before they are asked for."""
    calls, prices = items * TURNS_GUESS, endpoint.prices
    prompt, reply = calls * TURN_PROMPT_GUESS, calls * REPLY_GUESS
    most = items * model.limits.tokens
    return Line(
        stage="infer",
        benchmark=job.benchmark,
        name=model.name,
        calls=calls,
        cached=0,
        images=calls // 2,
        prompt_tokens=prompt,
        reply_tokens=reply,
        live=prices.cost(prompt, reply) if prices else None,
        batch=prices.cost(prompt, reply, batch=True) if prices else None,
        ceiling=max(prices.cost(most, 0), prices.cost(0, most)) if prices else None,
        notes=(
            f"an agent: a guess of {TURNS_GUESS} turns of {TURN_PROMPT_GUESS} prompt tokens; "
            f"limits.tokens stops each question at {model.limits.tokens}",
        ),
    )
