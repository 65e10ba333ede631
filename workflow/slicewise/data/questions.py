"""What a question is asked about, and the seeded choices that make one.

Everything is drawn by hashing a seed with the names of the things drawn for, never by a running generator: an item
keeps its draw when others are added, and no library version changes it.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

Laterality = Literal["left_edge_130", "centre"]
LETTERS = "ABCD"


@dataclass(frozen=True, slots=True)
class Finding:
    """One annotated box.

    Attributes:
        frame: Number of the frame as the text writes it, counted from 1.
        x: Left edge in native pixels.
        y: Top edge.
        width: Width in pixels; 0 in degenerate rows.
        height: Height in pixels.
        label: The finding.
    """

    frame: int
    x: int
    y: int
    width: int
    height: int
    label: str


@dataclass(frozen=True, slots=True)
class Volume:
    """One volume with its gold.

    Attributes:
        domain: ``brain`` or ``knee``.
        volume_id: File stem.
        modality: ``FLAIR``, ``T1`` or ``knee``.
        n_frames: Number of frames, numbered from 1.
        width: Native width in pixels.
        height: Native height in pixels.
        findings: Boxes, in the order of the source.
        study_labels: Labels of the whole study, which have no box.
        slice_base: Number of the frame that holds the source's slice 0; what is drawn for a slice depends on the
            slice, not on how a variant numbers it.
        flags: What is assumed about the volume.
    """

    domain: str
    volume_id: str
    modality: str
    n_frames: int
    width: int
    height: int
    findings: tuple[Finding, ...]
    study_labels: tuple[str, ...] = ()
    slice_base: int = 1
    flags: tuple[str, ...] = ()

    def on(self, frame: int) -> tuple[Finding, ...]:
        """The boxes of one frame."""
        return tuple(finding for finding in self.findings if finding.frame == frame)

    @property
    def labels(self) -> frozenset[str]:
        """Every label of the volume, of boxes and of the study."""
        return frozenset({*(finding.label for finding in self.findings), *self.study_labels})


@dataclass(frozen=True, slots=True)
class Item:
    """One question with its gold, before it belongs to a benchmark.

    Attributes:
        task: One of the benchmark's tasks.
        question_type: One of the benchmark's question types.
        question: The whole question, options inline.
        answer: The gold text.
        reasoning: Why.
        options: Letter -> text, or ``None`` without options.
    """

    task: str
    question_type: str
    question: str
    answer: str
    reasoning: str
    options: dict[str, str] | None = None


@dataclass
class Draw:
    """Seeded choices.

    Letters of right options are spread evenly: each new item gives its right options the letters used least so far in
    its kind, ties broken by the seed. So the items of a benchmark are made in one fixed order.
    """

    seed: int
    _used: dict[str, Counter[str]] = field(default_factory=dict)

    def digest(self, *names: object) -> bytes:
        """Bytes that depend on the seed and the names alone."""
        text = "|".join(str(part) for part in (self.seed, *names))
        return hashlib.sha256(text.encode("utf-8")).digest()

    def order(self, things: Iterable[str], *names: object) -> list[str]:
        """The things in a seeded order."""
        return sorted(things, key=lambda thing: self.digest(*names, thing))

    def one(self, things: Sequence[str], *names: object) -> str:
        """One of the things."""
        return min(things, key=lambda thing: self.digest(*names, thing))

    def options(
        self, kind: str, right: Sequence[str], wrong: Sequence[str], *names: object
    ) -> tuple[dict[str, str], list[str]]:
        """Letter the options of one question.

        Args:
            kind: Items of one kind share the balance of letters.
            right: Right options.
            wrong: Wrong options; with ``right`` at most four, and none in both.
            names: What the choice is made for.

        Returns:
            The options by letter, and the right letters in order.
        """
        letters = LETTERS[: len(right) + len(wrong)]
        used = self._used.setdefault(kind, Counter())
        order = sorted(letters, key=lambda letter: (used[letter], self.digest(kind, *names, letter)))
        chosen = sorted(order[: len(right)])
        used.update(chosen)
        texts = {
            **dict(zip(chosen, self.order(right, kind, "right", *names), strict=True)),
            **dict(zip(sorted(order[len(right) :]), self.order(wrong, kind, "wrong", *names), strict=True)),
        }
        return {letter: texts[letter] for letter in letters}, chosen
