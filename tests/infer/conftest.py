"""A handful of items that cover every kind of question."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from slicewise.infer.items import Item, item

Make = Callable[..., Item]


def row(sample_id: str, **changes: Any) -> dict[str, Any]:
    frames = changes.pop("n_frames", 1)
    base: dict[str, Any] = {
        "sample_id": sample_id,
        "benchmark": "sgmri-demo-image",
        "level": "image",
        "domain": "knee",
        "volume_id": "file1",
        "modality": None,
        "task": "detection",
        "question_type": "closed_ended",
        "question": "Is there an abnormality?",
        "options": None,
        "answer": "Yes",
        "reasoning": None,
        "labels": [],
        "boxes": [],
        "frames": [{"number": i + 1, "path": None, "width": 320, "height": 256, "sha256": None} for i in range(frames)],
        "n_frames": frames,
        "flags": [],
    }
    return {**base, **changes}


@pytest.fixture
def make() -> Make:
    """An item; every field can be changed by name, ``n_frames`` makes that many frames."""

    def build(sample_id: str = "x", **changes: Any) -> Item:
        return item(row(sample_id, **changes))

    return build
