"""What a language model is shown: frames, sizes, bytes, and what an item without images becomes."""

from __future__ import annotations

import dataclasses
import hashlib
import io
from pathlib import Path
from typing import Any

import pytest
from PIL import Image as Picture
from slicewise.endpoints import Endpoint, LlmSettings
from slicewise.errors import UserError
from slicewise.infer.items import Answer, Frame, Item
from slicewise.infer.language_model import Call, LanguageModel
from slicewise.infer.views import NoRoomError, sent_size, view
from slicewise.llm.request import Image
from slicewise.outcome import Outcome
from slicewise.params import OpenAIModel


def endpoint(**changes: Any) -> Endpoint:
    values: dict[str, Any] = {"model": "m", "api_key_env": None, "sampling": {"max_tokens": 100}}
    return Endpoint.model_validate({**values, **changes})


def frame(folder: Path, number: int, size: tuple[int, int] = (30, 20)) -> Frame:
    path = folder / f"{number}.png"
    Picture.new("L", size, number).save(path)
    return Frame(number, str(path), *size, hashlib.sha256(path.read_bytes()).hexdigest())


def item(frames: list[Frame], level: str = "volume") -> Item:
    return Item(
        "s", level, "brain", "v", "detection", "closed_ended", "Is there a cyst?", {}, "yes", None, (), (),
        tuple(frames), "c",
    )  # fmt: skip


@pytest.fixture
def volume(tmp_path: Path) -> Item:
    return item([frame(tmp_path, n) for n in range(1, 11)])


def test_frames_go_as_they_are_with_their_numbers(volume: Item) -> None:
    shown = view(volume, endpoint(), "as_shown", 0)
    assert shown.numbers == tuple(range(1, 11))
    assert [f.sha256 for f in shown.frames] == [f.sha256 for f in volume.frames]
    assert shown.images[0].read() == Path(str(volume.frames[0].path)).read_bytes()


@pytest.mark.parametrize(
    ("limits", "numbers"),
    [
        ({"images": {"max_images": 3}}, (1, 5, 10)),
        ({"images": {"max_images": 1}}, (6,)),
        ({"context_window": 1000, "image_tokens": {"rule": "fixed", "base": 150}}, (1, 5, 7, 10)),
    ],
)
def test_frames_that_do_not_fit_are_left_out_evenly(volume: Item, limits: dict[str, Any], numbers: Any) -> None:
    shown = view(volume, endpoint(**limits), "as_shown", 0).numbers
    assert (shown[0], shown[-1], len(shown)) == (numbers[0], numbers[-1], len(numbers))


def test_no_room_for_one_frame_is_not_run(volume: Item) -> None:
    small = endpoint(context_window=400, image_tokens={"rule": "fixed", "base": 300})
    with pytest.raises(NoRoomError):
        view(volume, small, "as_shown", 0)
    model = OpenAIModel(name="m", backend="openai", endpoint=small)
    (made,) = LanguageModel(model, LlmSettings()).requests([volume])
    assert isinstance(made, Answer)
    assert made.outcome is Outcome.NOT_RUN


def test_a_patch_model_is_sent_a_size_that_its_processor_leaves(volume: Item) -> None:
    patches = endpoint(image_tokens={"rule": "patches", "tile": 28, "min_pixels": 602112, "max_pixels": 12845056})
    assert sent_size(320, 320, patches) == (784, 784)
    assert sent_size(784, 784, patches) == (784, 784)
    assert patches.image_tokens.tokens(784, 784) == 784
    shown = view(volume, patches, "as_shown", 0)
    with Picture.open(io.BytesIO(shown.images[0].read())) as sent:
        assert sent.size == (shown.frames[0].width, shown.frames[0].height) == sent_size(30, 20, patches)
    assert shown.images[0].sha256 == hashlib.sha256(shown.images[0].read()).hexdigest() != volume.frames[0].sha256


def test_the_controls(volume: Item) -> None:
    assert view(volume, endpoint(), "text_only", 0).images == ()
    shuffled = view(volume, endpoint(), "shuffled_slices", 0, seed=3)
    assert shuffled.numbers == tuple(range(1, 11))
    assert [f.number for f in shuffled.frames] != list(shuffled.numbers)
    assert sorted(f.number for f in shuffled.frames) == list(shuffled.numbers)
    assert view(volume, endpoint(), "shuffled_slices", 0, seed=3) == shuffled


def test_bytes_that_are_not_those_of_the_samples_are_refused(volume: Item, tmp_path: Path) -> None:
    shown = view(volume, endpoint(), "as_shown", 0)
    Picture.new("L", (30, 20), 99).save(tmp_path / "1.png")
    with pytest.raises(UserError, match="is not the frame that the samples name"):
        shown.images[0].read()


def test_missing_frames_are_an_outcome(volume: Item) -> None:
    model = OpenAIModel(name="m", backend="openai", endpoint=endpoint())
    gone = [dataclasses.replace(f, path=None, sha256=None) for f in volume.frames]
    some = dataclasses.replace(volume, frames=(gone[0], *volume.frames[1:]))
    none = dataclasses.replace(volume, frames=tuple(gone))
    outcomes = [m.outcome for m in LanguageModel(model, LlmSettings()).requests([some, none]) if isinstance(m, Answer)]
    assert outcomes == [Outcome.MISSING_FRAMES, Outcome.NOT_RUN]


def test_questions_of_one_volume_share_their_prefix(volume: Item) -> None:
    model = OpenAIModel(name="m", backend="openai", endpoint=endpoint())
    other = dataclasses.replace(volume, sample_id="t", question="Where is it?")
    calls = LanguageModel(model, LlmSettings()).requests([other, volume])
    first, second = (c.request.messages[1].parts for c in calls if isinstance(c, Call))
    assert first[:-1] == second[:-1]
    assert sum(isinstance(part, Image) for part in first) == 10
    assert first[0] == "Frame 1:"
