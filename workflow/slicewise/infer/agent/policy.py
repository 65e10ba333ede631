"""Who decides the agent's next turn: a language model, or a fixed protocol."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from slicewise.endpoints import Endpoint
from slicewise.infer.agent.tools import Tool
from slicewise.infer.items import Item
from slicewise.llm import wire
from slicewise.llm.request import Image, Message, Part, Request

REMOVED = "[picture {number} is no longer shown]"


@dataclass(frozen=True, slots=True)
class Case:
    """A question and the files that belong to it.

    Attributes:
        item: The question. A policy may not read its gold.
        volume: Path of the volume, relative to the data root.
        labels: Path of the marked regions, relative to the data root; ``None`` without.
        files: Digest of both files.
    """

    item: Item
    volume: str
    labels: str | None
    files: str


@dataclass(frozen=True, slots=True)
class Note:
    """One entry of the conversation after the question.

    Attributes:
        role: ``assistant`` for a turn of the agent, ``user`` for an observation or a reminder.
        text: What is written.
        png: The picture of an observation.
        structured: The observation's numbers as canonical JSON, for a protocol; a model reads them in the text.
        ok: Whether the observation is a success.
        tool: The tool that gave the observation.
    """

    role: str
    text: str
    png: bytes | None = None
    sha256: str | None = None
    structured: str = "{}"
    ok: bool = True
    tool: str | None = None


class Policy(Protocol):
    """Decides the next turn."""

    def next(self, case: Case, notes: Sequence[Note], tools: Sequence[Tool]) -> Request | str:
        """A request whose reply is the next turn, or the turn itself."""
        ...


class ModelPolicy:
    """A language model that reads the whole conversation, with the newest pictures only."""

    def __init__(self, endpoint: Endpoint, system: str, images: int, draw: int = 0) -> None:
        """Bind what it works with.

        Args:
            endpoint: Where the model is served.
            system: The system prompt.
            images: How many pictures stay in the conversation; older ones are replaced by a word.
            draw: Number of the repeat.
        """
        self.endpoint, self.system, self.images, self.draw = endpoint, system, images, draw

    def next(self, case: Case, notes: Sequence[Note], tools: Sequence[Tool]) -> Request | str:
        """The request for the next turn."""
        del tools  # they are listed in the system prompt
        shown = [place for place, note in enumerate(notes) if note.png is not None]
        kept = set(shown[-self.images :]) if self.images else set()
        messages = [Message("system", (self.system,)), Message("user", (question_text(case),))]
        for place, note in enumerate(notes):
            messages.append(self._message(note, place in kept, shown))
        return Request(
            deployment=self.endpoint.deployment,
            messages=tuple(_merged(messages)),
            sampling=wire.sampling(self.endpoint),
            draw=self.draw,
            item=case.item.sample_id,
        )

    def _message(self, note: Note, kept: bool, shown: list[int]) -> Message:
        del shown
        if note.role == "assistant":
            return Message("assistant", (note.text,))
        parts: list[Part] = [note.text]
        if note.png is not None:
            parts.append(self._image(note) if kept else REMOVED.format(number=(note.sha256 or "")[:8]))
        return Message("user", tuple(parts))

    def _image(self, note: Note) -> Image:
        png = note.png or b""
        width, height = int.from_bytes(png[16:20], "big"), int.from_bytes(png[20:24], "big")
        detail = self.endpoint.images.detail
        return Image(note.sha256 or "", "image/png", width, height, lambda: png, detail)


def _merged(messages: Sequence[Message]) -> list[Message]:
    """Neighbours of one role as one message: many servers refuse two in a row."""
    merged: list[Message] = []
    for message in messages:
        if merged and merged[-1].role == message.role:
            merged[-1] = Message(message.role, (*merged[-1].parts, *message.parts))
        else:
            merged.append(message)
    return merged


def question_text(case: Case) -> str:
    """The question as the agent gets it: the files, the question, its options."""
    item = case.item
    lines = [f"Volume file: {case.volume}"]
    if case.labels:
        lines.append(f"File of marked regions (labels 1, 2, ...): {case.labels}")
    lines += ["", f"Question: {item.question.strip()}"]
    if item.options and not all(text in item.question for text in item.options.values()):
        lines += [f"{letter}. {text}" for letter, text in sorted(item.options.items())]
    if item.options:
        lines.append("Put the letter of the right option into the box.")
    return "\n".join(lines)
