"""Backend ``openai``: a vision-language model behind an OpenAI-compatible endpoint, through the response store."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from slicewise import layout
from slicewise.endpoints import LlmSettings
from slicewise.infer import prompts
from slicewise.infer.items import Answer, Frame, Item
from slicewise.infer.views import NoRoomError, View, sent_size, view
from slicewise.jobs import InferJob
from slicewise.llm import wire
from slicewise.llm.client import Client
from slicewise.llm.progress import Bar
from slicewise.llm.request import Message, Part, Request
from slicewise.llm.result import Result
from slicewise.llm.store import Store
from slicewise.outcome import Outcome
from slicewise.params import OpenAIModel


class Call(NamedTuple):
    """What is sent for an item."""

    item: Item
    shown: View
    request: Request


class LanguageModel:
    """Asks one model; questions of one volume run together so that the server's prefix cache can serve them."""

    def __init__(self, model: OpenAIModel, settings: LlmSettings) -> None:
        """Bind the declared model to the run's settings; nothing is opened yet."""
        self.model, self.settings = model, settings

    def answer_all(self, items: Sequence[Item]) -> Iterator[Answer]:
        """Yield one answer per item; see :class:`slicewise.infer.run.Backend`."""
        made = self.requests(items)
        yield from (one for one in made if isinstance(one, Answer))
        calls = [one for one in made if isinstance(one, Call)]
        if not calls:
            return
        with Store(layout.STORE) as store, Bar(len(calls), self.model.name) as bar:
            try:
                client = Client(self.model.endpoint, store, self.settings)
                results = client.answer_all([call.request for call in calls], bar.update)
            finally:
                store.share()
        for call, result in zip(calls, results, strict=True):
            yield _answer(call.item, call.shown.frames, result)

    def requests(self, items: Sequence[Item]) -> list[Call | Answer]:
        """The call that each item makes, or the answer that says why there is none; volume by volume."""
        ordered = sorted(items, key=lambda i: (i.volume_id, i.sample_id))
        return [self._request(item) for item in ordered]

    def _request(self, item: Item) -> Call | Answer:
        if not item.frames and self.model.view != "text_only":
            return Answer(item.sample_id, None, item.content, Outcome.NOT_RUN, error="the benchmark has no images")
        missing = [frame.number for frame in item.frames if frame.path is None]
        if missing and self.model.view != "text_only":
            if len(missing) == len(item.frames):
                return Answer(item.sample_id, None, item.content, Outcome.NOT_RUN, error="the benchmark has no images")
            message = f"{len(missing)} of {len(item.frames)} frames have no image, such as frame {missing[0]}"
            return Answer(item.sample_id, None, item.content, Outcome.MISSING_FRAMES, error=message)
        draft = self._prompt(item, [f.number for f in item.frames])
        try:
            shown = view(
                item, self.model.endpoint, self.model.view, len(draft.system) + len(draft.user), self.model.seed
            )
        except NoRoomError as error:
            return Answer(item.sample_id, None, item.content, Outcome.NOT_RUN, error=str(error))
        prompt = self._prompt(item, list(shown.numbers)) if shown.numbers else draft
        return Call(item, shown, build_request(self.model, item, prompt, shown))

    def _prompt(self, item: Item, numbers: list[int]) -> prompts.Prompt:
        first = item.frames[0] if item.frames else None
        size = sent_size(first.width, first.height, self.model.endpoint) if first else (1, 1)
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


def backend(job: InferJob) -> LanguageModel:
    """The backend of an inference job whose model is a language model."""
    if not isinstance(job.model, OpenAIModel):
        raise TypeError(f"model '{job.model.name}' is no language model")
    return LanguageModel(job.model, job.llm or LlmSettings())
