"""Backend ``openai``: a vision-language model behind an OpenAI-compatible endpoint, through the response store."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from slicewise import layout
from slicewise.endpoints import LlmSettings
from slicewise.infer import prompts
from slicewise.infer.items import Answer, Frame, Item
from slicewise.infer.views import NoRoomError, View, sent_size, view
from slicewise.jobs import InferJob
from slicewise.llm import wire
from slicewise.llm.client import Client, Result
from slicewise.llm.request import Message, Part, Request
from slicewise.llm.store import Store
from slicewise.outcome import Outcome
from slicewise.params import OpenAIModel


class LanguageModel:
    """Asks one model; questions of one volume run together so that the server's prefix cache can serve them."""

    def __init__(self, model: OpenAIModel, settings: LlmSettings) -> None:
        """Bind the declared model to the run's settings; nothing is opened yet."""
        self.model, self.settings = model, settings

    def answer_all(self, items: Sequence[Item]) -> Iterator[Answer]:
        """Yield one answer per item; see :class:`slicewise.infer.run.Backend`."""
        ordered = sorted(items, key=lambda i: (i.volume_id, i.sample_id))
        sendable: list[tuple[Item, View, Request]] = []
        for item in ordered:
            made = self._request(item)
            if isinstance(made, Answer):
                yield made
            else:
                sendable.append((item, *made))
        with Store(layout.STORE) as store, _bar(len(sendable), self.model.name) as bar:
            client = Client(self.model.endpoint, store, self.settings)
            results = client.answer_all([request for _, _, request in sendable], bar.update)
        for (item, shown, _), result in zip(sendable, results, strict=True):
            yield _answer(item, shown.frames, result)

    def _request(self, item: Item) -> tuple[View, Request] | Answer:
        """What is sent for an item, or the answer that says why nothing can be."""
        pixels = self.model.view != "text_only"
        if pixels and any(frame.path is None for frame in item.frames):
            return Answer(item.sample_id, None, item.content, Outcome.NOT_RUN, error="the benchmark has no images")
        draft = self._prompt(item, [f.number for f in item.frames])
        try:
            shown = view(
                item, self.model.endpoint, self.model.view, len(draft.system) + len(draft.user), self.model.seed
            )
        except NoRoomError as error:
            return Answer(item.sample_id, None, item.content, Outcome.NOT_RUN, error=str(error))
        prompt = self._prompt(item, list(shown.numbers)) if shown.numbers else draft
        return shown, build_request(self.model, item, prompt, shown)

    def _prompt(self, item: Item, numbers: list[int]) -> prompts.Prompt:
        first = item.frames[0]
        size = sent_size(first.width, first.height, self.model.endpoint)
        return prompts.render(self.model.prompt, item, self.model.bbox_convention, numbers, size)


def build_request(model: OpenAIModel, item: Item, prompt: prompts.Prompt, shown: View) -> Request:
    """The request of an item: system text, then the frames (each of a volume under its number), then the question.

    Frames come first so that all questions of a volume share one prefix.
    """
    parts: list[Part] = []
    for number, image in zip(shown.numbers, shown.images, strict=True):
        if item.level == "volume":
            parts.append(f"Frame {number}:")
        parts.append(image)
    parts.append(prompt.user)
    return Request(
        deployment=model.endpoint.deployment,
        messages=(Message("system", (prompt.system,)), Message("user", tuple(parts))),
        sampling=wire.sampling(model.endpoint),
        item=item.sample_id,
    )


def _answer(item: Item, frames: tuple[Frame, ...], result: Result) -> Answer:
    reply = result.reply
    if reply is None:
        return Answer(item.sample_id, None, result.key, result.outcome, error=result.error, frames=frames)
    refused = result.outcome is Outcome.REFUSED and not reply.text
    return Answer(
        item.sample_id,
        None if refused else reply.text or "",
        result.key,
        Outcome.REFUSED if refused else Outcome.OK,
        finish_reason=reply.finish_reason,
        error=reply.refusal,
        served_model=reply.served_model,
        prompt_tokens=reply.prompt_tokens,
        completion_tokens=reply.completion_tokens,
        cost=reply.cost,
        frames=frames,
    )


class _Bar:
    """A progress bar with what was bought, from the store, failed and spent; on a terminal only."""

    def __init__(self, bar: Any) -> None:
        self._bar, self._cached, self._failed, self._cost = bar, 0, 0, 0.0

    def update(self, _index: int, result: Result) -> None:
        self._cached += result.cached
        self._failed += result.outcome.makes_incomplete
        if result.reply is not None and not result.cached:
            self._cost += result.reply.cost or 0.0
        done = self._bar.n + 1
        bought = max(1, done - self._cached)
        total = self._cost / bought * (self._bar.total - self._cached)
        self._bar.set_postfix_str(f"stored {self._cached}, failed {self._failed}, ${self._cost:.2f} of ~${total:.2f}")
        self._bar.update()

    def __enter__(self) -> _Bar:
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.close()


def _bar(total: int, name: str) -> _Bar:
    from tqdm import tqdm

    return _Bar(tqdm(total=total, desc=name, unit="call", disable=None, file=sys.stderr, leave=False))


def backend(job: InferJob) -> LanguageModel:
    """The backend of an inference job whose model is a language model."""
    if not isinstance(job.model, OpenAIModel):
        raise TypeError(f"model '{job.model.name}' is no language model")
    return LanguageModel(job.model, job.llm or LlmSettings())
