"""What a plan says of images whose tokens nobody declared."""

from __future__ import annotations

from typing import Any

import pytest
from slicewise.endpoints import Endpoint
from slicewise.llm import plan
from slicewise.llm.request import Image, Message, Request

PICTURE = Image("ab" * 32, "image/png", 320, 320, lambda: b"")


def noted(parts: tuple[Any, ...], **settings: Any) -> bool:
    endpoint = Endpoint(model="m", **settings)
    request = Request(endpoint.deployment, (Message("user", parts),), {})
    line = plan.line("infer", "b", "m", [request], endpoint, None, guess=300)
    return any(note.startswith("images: no endpoint.image_tokens") for note in line.notes)


@pytest.mark.parametrize(
    ("parts", "settings", "expected"),
    [
        (("where?", PICTURE), {}, True),
        (("where?",), {}, False),
        (("where?", PICTURE), {"image_tokens": {"rule": "fixed", "base": 256}}, False),
        (("where?", PICTURE), {"image_tokens": {"rule": "area"}}, False),
    ],
)
def test_a_count_that_leaves_images_out_is_noted(
    parts: tuple[Any, ...], settings: dict[str, Any], expected: bool
) -> None:
    assert noted(parts, **settings) is expected
