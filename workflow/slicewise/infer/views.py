"""What a language model is shown of an item: which frames, in which order, at which size, as which bytes.

Nothing is shrunk unseen: the size sent is the size recorded, and it is one that the model's own processor leaves as
it is. Frames that do not fit the model's token budget are left out evenly, and the frames sent are recorded.
"""

from __future__ import annotations

import hashlib
import io
import random
from collections.abc import Sequence
from functools import lru_cache, partial
from pathlib import Path
from typing import NamedTuple

from slicewise.endpoints import Endpoint
from slicewise.errors import UserError
from slicewise.infer.items import Frame, Item
from slicewise.llm.pricing import estimate_text_tokens
from slicewise.llm.request import Image

MARGIN_TOKENS = 256  # chat template
LABEL_TOKENS = 8  # "Frame 12:" and the marks around an image


class View(NamedTuple):
    """The frames that are sent, each with its image, and the numbers that the text gives them."""

    frames: tuple[Frame, ...]
    images: tuple[Image, ...]
    numbers: tuple[int, ...]


class NoRoomError(Exception):
    """Not even one frame fits the model's context window."""


def view(item: Item, endpoint: Endpoint, kind: str, prompt_chars: int, seed: int = 0) -> View:
    """What is sent of an item.

    Args:
        item: The item; its frames must have paths unless ``kind`` is ``text_only``.
        endpoint: Limits, token rule and context window of the model.
        kind: ``as_shown``, ``text_only`` or ``shuffled_slices``.
        prompt_chars: Length of the prompt's text, for the token budget.
        seed: Seed of the shuffled order; the order depends on the volume, not on the question.

    Raises:
        NoRoomError: Not one frame fits the context window.
        UserError: A frame cannot be read.
    """
    if kind == "text_only":
        return View((), (), ())
    frames = list(item.frames)
    numbers = [frame.number for frame in frames]
    if kind == "shuffled_slices":
        random.Random(f"{seed}|{item.volume_id}").shuffle(frames)  # noqa: S311 - a seeded control, not a secret
    kept = _choose(frames, endpoint, prompt_chars)
    sent = [_sent(frames[i], endpoint) for i in kept]
    shown = tuple(
        Frame(f.number, f.path, i.width, i.height, i.sha256)
        for f, i in zip((frames[i] for i in kept), sent, strict=True)
    )
    return View(shown, tuple(sent), tuple(numbers[i] for i in kept))


def _choose(frames: Sequence[Frame], endpoint: Endpoint, prompt_chars: int) -> list[int]:
    """Positions of the frames that fit, spread evenly, first and last included."""
    room = len(frames)
    if endpoint.images.max_images is not None:
        room = min(room, endpoint.images.max_images)
    if endpoint.context_window is not None:
        free = (
            endpoint.context_window
            - endpoint.sampling.max_tokens
            - MARGIN_TOKENS
            - estimate_text_tokens("x" * prompt_chars)
        )
        largest = max(endpoint.image_tokens.tokens(*sent_size(f.width, f.height, endpoint)) for f in frames)
        if largest:
            room = min(room, free // (largest + LABEL_TOKENS))
    if room < 1:
        raise NoRoomError(f"context window of {endpoint.context_window} tokens has no room for one frame")
    if room == len(frames):
        return list(range(room))
    if room == 1:
        return [len(frames) // 2]
    return [round(i * (len(frames) - 1) / (room - 1)) for i in range(room)]


def sent_size(width: int, height: int, endpoint: Endpoint) -> tuple[int, int]:
    """Width and height at which a frame is sent, in pixels.

    A model that works on patches gets a size that its processor leaves as it is; another gets the native size unless
    that lies outside the declared limits, and then one of the same aspect.
    """
    rule, limits = endpoint.image_tokens, endpoint.images
    if rule.rule == "patches":
        return rule.processed(width, height)
    scale = 1.0
    if limits.max_side is not None:
        scale = min(scale, limits.max_side / max(width, height))
    if limits.min_side is not None and min(width, height) < limits.min_side:
        scale = limits.min_side / min(width, height)
    return max(1, round(width * scale)), max(1, round(height * scale))


def _sent(frame: Frame, endpoint: Endpoint) -> Image:
    if frame.path is None or frame.sha256 is None:
        raise ValueError(f"frame {frame.number} has no image; items without images are not sent")
    size = sent_size(frame.width, frame.height, endpoint)
    native = size == (frame.width, frame.height)
    read = partial(_encoded, frame.path, frame.sha256, None if native else size)
    digest = frame.sha256 if native else hashlib.sha256(read()).hexdigest()
    return Image(digest, "image/png", size[0], size[1], read, endpoint.images.detail)


@lru_cache(maxsize=128)
def _encoded(path: str, sha256: str, size: tuple[int, int] | None) -> bytes:
    """The PNG as sent: the file itself, or resampled (Lanczos) to ``size`` with fixed encoder settings."""
    from PIL import Image as Picture
    from PIL import UnidentifiedImageError

    try:
        data = Path(path).read_bytes()
        if hashlib.sha256(data).hexdigest() != sha256:
            raise UserError(f"{path}: is not the frame that the samples name (SHA-256 differs); build the data again.")
        if size is None:
            return data
        with Picture.open(io.BytesIO(data)) as picture:
            buffer = io.BytesIO()
            picture.resize(size, Picture.Resampling.LANCZOS).save(buffer, "PNG", compress_level=6)
            return buffer.getvalue()
    except (OSError, UnidentifiedImageError) as error:
        raise UserError(
            f"{path}: frame cannot be read ({error}); expected a PNG image: make the frames again."
        ) from error
