"""What the answers of a language model will cost."""

from __future__ import annotations

from pathlib import Path

from slicewise.infer.items import Answer
from slicewise.infer.language_model import backend
from slicewise.infer.run import load_items
from slicewise.jobs import InferJob
from slicewise.llm import plan
from slicewise.llm.plan import Line
from slicewise.llm.store import Store

REPLY_GUESS = 300  # tokens of an answer where none is stored


def line(job: InferJob, samples: Path, store: Store | None) -> Line | None:
    """The calls of the job's model over a benchmark; ``None`` for a model that makes none.

    Raises:
        UserError: The samples are missing or of another benchmark.
    """
    if job.model.backend != "openai":
        return None
    asked = backend(job)
    made = asked.requests(load_items(samples, job.benchmark))
    requests = [one.request for one in made if not isinstance(one, Answer)]
    unsent = len(made) - len(requests)
    notes = (f"{unsent} of {len(made)} items are not sent (no images, or no room)",) if unsent else ()
    endpoint = asked.model.endpoint
    return plan.line("infer", job.benchmark, job.model.name, requests, endpoint, store, guess=REPLY_GUESS, notes=notes)
