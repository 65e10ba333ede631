"""Prompts: templates in files, hashed, and the same for every model that declares the same mode.

The prompts behind the published tables were never released. What is known of them (roles, JSON keys, the closing
sentence for volumes) is kept; every word here is ours, and the report says so (``PROMPTS_ARE_OURS``).
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from slicewise.geometry import BINNED, Convention, encode
from slicewise.geometry import render as write_box
from slicewise.infer.items import Item

PROMPTS_ARE_OURS = True
FOLDER = Path(__file__).parent / "prompts"

EXPERTS = {"brain": "neuroradiologist", "knee": "musculoskeletal radiologist", "chest": "thoracic radiologist"}

BOX_FORMS: dict[Convention, str] = {
    Convention.ABS_XYWH_ORIGINAL: "<bbx>[x, y, width, height]</bbx> in pixels of the {w}x{h} image",
    Convention.ABS_XYXY_ORIGINAL: "[x_min, y_min, x_max, y_max] in pixels of the {w}x{h} image",
    Convention.ABS_XYXY_RESIZED: "[x_min, y_min, x_max, y_max] in pixels of the {w}x{h} image",
    Convention.ABS_CXCYWH_ORIGINAL: "[x_centre, y_centre, width, height] in pixels of the {w}x{h} image",
    Convention.REL_XYXY_0_1000: "[x_min, y_min, x_max, y_max] as integers from 0 to 1000 relative to width and height",
    Convention.REL_XYXY_0_999: "[x_min, y_min, x_max, y_max] as integers from 0 to 999 relative to width and height",
    Convention.REL_YXYX_0_1000: "[y_min, x_min, y_max, x_max] as integers from 0 to 1000 relative to height and width",
    Convention.REL_XYXY_0_1: "[x_min, y_min, x_max, y_max] as fractions of width and height from 0 to 1",
    Convention.REL_XYXY_PERCENT: "[x_min, y_min, x_max, y_max] in percent of width and height",
    Convention.REL_XYWH_0_1: "[x_min, y_min, width, height] as fractions of width and height from 0 to 1",
    Convention.REL_CXCYWH_0_1: "[x_centre, y_centre, width, height] as fractions of width and height from 0 to 1",
}
NATIVE_FORM = "the form in which you were trained to write boxes"

INSTRUCTIONS = {
    "detection": "Answer Yes or No.",
    "counting": "Answer with a number.",
    "localization": "Give the place in words and a bounding box for every finding.",
    "captioning": "Give a summary of the findings, with bounding boxes where you see them.",
}
CHOICES = {"single_choice": "Answer with one letter.", "multiple_choice": "Select all letters that apply."}


class Prompt(NamedTuple):
    """The two texts of a request."""

    system: str
    user: str


@cache
def _environment() -> Any:
    import jinja2

    return jinja2.Environment(
        loader=jinja2.FileSystemLoader(FOLDER),
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=False,
        autoescape=False,  # noqa: S701 - plain text for a model, not HTML
    )


def template(name: str) -> Any:
    """A template of the folder by its name without suffix."""
    return _environment().get_template(f"{name}.jinja")


@cache
def prompt_hash(mode: str) -> str:
    """SHA-256 over both template files of a mode, as lower-case hexadecimal."""
    digest = hashlib.sha256()
    for part in ("system", "user"):
        digest.update((FOLDER / f"{mode}_{part}.jinja").read_bytes())
    return digest.hexdigest()


def render(mode: str, item: Item, convention: Convention, numbers_shown: list[int], size: tuple[int, int]) -> Prompt:
    """The prompt of an item.

    Args:
        mode: ``minimal`` or ``icl``.
        item: The item; only its question, task, type, level and domain are used.
        convention: How the model writes boxes.
        numbers_shown: The numbers that the frames sent carry in the text.
        size: Sent width and height in pixels of the first frame.
    """
    form = BOX_FORMS.get(convention, NATIVE_FORM).format(w=size[0], h=size[1])
    values: dict[str, Any] = {
        "expert": EXPERTS.get(item.domain, "radiologist"),
        "level": item.level,
        "task": item.task,
        "question": item.question.strip(),
        "box_form": form,
        "n_frames": len(numbers_shown),
        "first_frame": numbers_shown[0] if numbers_shown else 1,
        "last_frame": numbers_shown[-1] if numbers_shown else 1,
        "instruction": CHOICES.get(item.question_type) or INSTRUCTIONS.get(item.task, "Answer in a few words."),
        "example": _example(item.task, convention, size),
    }
    environment = _environment()
    texts = [environment.get_template(f"{mode}_{part}.jinja").render(values).strip() for part in ("system", "user")]
    return Prompt(*texts)


def _example(task: str, convention: Convention, size: tuple[int, int]) -> dict[str, str]:
    """One worked example in the model's own convention; with a box for localization, without one otherwise."""
    boxes: list[dict[str, Any]] = []
    if task == "localization":
        corners = (size[0] * 0.25, size[1] * 0.5, size[0] * 0.375, size[1] * 0.625)
        written: Any = [round(n, 3) for n in encode(corners, convention, sent=size, native=size)]
        if convention in BINNED:
            written = write_box(corners, convention, sent=size, native=size)
        boxes = [{"frame": 1, "label": "cyst", "bbox": written}]
    response = {
        "reasoning": "A round bright focus with a smooth edge.",
        "answer": "A cyst on the left.",
        "bboxes": boxes,
    }
    return {"question": "Where is the cyst?", "response": json.dumps(response)}
