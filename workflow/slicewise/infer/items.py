"""One item as a backend sees it, and one answer as a backend gives it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from slicewise import artifacts
from slicewise.geometry import Box
from slicewise.outcome import Outcome


@dataclass(frozen=True, slots=True)
class Frame:
    """One frame shown with an item.

    Attributes:
        number: The number that the benchmark's own text gives it.
        path: PNG file relative to the project root; ``None`` when the benchmark has no images.
        width: Native width in pixels.
        height: Native height in pixels.
        sha256: Digest of the PNG file; ``None`` when the benchmark has no images.
    """

    number: int
    path: str | None
    width: int
    height: int
    sha256: str | None


@dataclass(frozen=True, slots=True)
class Item:
    """One item of a benchmark. The gold fields are there for baselines; no real model may read them.

    Attributes:
        boxes: Gold boxes in native pixels, ``frame`` the 0-based position in ``frames``.
        content: SHA-256 of the whole row, so that any change of the item is a new request.
    """

    sample_id: str
    level: str
    domain: str
    volume_id: str
    task: str
    question_type: str
    question: str
    options: dict[str, str]
    answer: str
    reasoning: str | None
    labels: tuple[str, ...]
    boxes: tuple[Box, ...]
    frames: tuple[Frame, ...]
    content: str
    flags: tuple[str, ...] = ()

    @property
    def group(self) -> tuple[str, str, str, str]:
        """Items that one blind rule treats alike: level, domain, task and question type."""
        return (self.level, self.domain, self.task, self.question_type)


def item(row: Mapping[str, Any]) -> Item:
    """An item from a row of the samples table (options as a dictionary, boxes and frames as dictionaries)."""
    return Item(
        sample_id=row["sample_id"],
        level=row["level"],
        domain=row["domain"],
        volume_id=row["volume_id"],
        task=row["task"],
        question_type=row["question_type"],
        question=row["question"],
        options=dict(row["options"] or {}),
        answer=row["answer"],
        reasoning=row["reasoning"],
        labels=tuple(row["labels"]),
        boxes=tuple(Box(**box) for box in row["boxes"]),
        frames=tuple(Frame(**frame) for frame in row["frames"]),
        content=artifacts.sha256_json(dict(row)),
        flags=tuple(row["flags"]),
    )


@dataclass(frozen=True, slots=True)
class Answer:
    """What a backend returns for one item.

    Attributes:
        text: The reply, exactly as written; ``None`` exactly when ``outcome`` is not ``ok``. An empty reply is ``""``.
        outcome: ``ok``, ``api_error``, ``missing_frames`` or ``not_run``; what the text says is judged by the parsers.
        request_key: SHA-256 of the canonical JSON of everything that can change the reply.
        finish_reason: Why the model stopped, as the provider names it.
        error: The message of a failure.
        cost: US dollars.
        frames: The frames really sent, with their sizes as sent.
    """

    sample_id: str
    text: str | None
    request_key: str
    outcome: Outcome = Outcome.OK
    finish_reason: str | None = None
    error: str | None = None
    served_model: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None
    frames: tuple[Frame, ...] = ()

    def __post_init__(self) -> None:
        if (self.text is None) == (self.outcome is Outcome.OK):
            raise ValueError(f"{self.sample_id}: a text exists exactly when the outcome is ok, got {self.outcome}")

    def row(self, benchmark: str, model: str) -> dict[str, Any]:
        """The answer as a row of the answers table."""
        sent = [{"number": f.number, "sha256": f.sha256, "width": f.width, "height": f.height} for f in self.frames]
        return {
            "sample_id": self.sample_id,
            "benchmark": benchmark,
            "model": model,
            "text": self.text,
            "finish_reason": self.finish_reason,
            "outcome": str(self.outcome),
            "error": self.error,
            "request_key": self.request_key,
            "served_model": self.served_model,
            "prompt_tokens": self.prompt_tokens,
            "completion_tokens": self.completion_tokens,
            "cost": self.cost,
            "frames": sent,
        }
