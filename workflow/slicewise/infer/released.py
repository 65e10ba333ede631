"""Match the results of a released inference file to our items.

The ids in those files are made by a loader that was never released, so an id of ours is tried first and then the
content: anatomy, level, volume, task and question, and where several items share all of these (the same question asked
of several slices) the slice number written in the id, the gold answer and the gold reasoning.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from slicewise.errors import ManyErrors
from slicewise.infer.answers_file import Entry, _refuse_repeats, _shorten
from slicewise.infer.items import Item

# The released scorer drops these; they come from the volume metadata and are no item of the benchmark.
METADATA_QUESTION = "Locate the bounding box"
LEVELS = {"image_level": "image", "slice": "image", "volume_level": "volume", "video_level": "volume"}

Key = tuple[Any, ...]


def match_results(path: Path, entries: Sequence[Entry], items: Sequence[Item]) -> dict[str, Entry]:
    """Entries by the id of the item that each one answers.

    Raises:
        UserError: An entry fits no item or several, or an item is answered twice; all such entries are listed.
    """
    known = {item.sample_id for item in items}
    index: dict[Key, list[Item]] = defaultdict(list)
    for item in items:
        index[_item_key(item)].append(item)
    matched: list[tuple[str, Entry]] = []
    faults: list[str] = []
    for entry in entries:
        if str(entry.fields.get("question", "")).startswith(METADATA_QUESTION):
            continue
        if entry.id in known:
            matched.append((entry.id, entry))
            continue
        fits = _narrow(entry, index.get(_entry_key(entry.fields), []))
        if len(fits) == 1:
            matched.append((fits[0].sample_id, entry))
        else:
            faults.append(f"{entry.where}: '{entry.id}' fits {len(fits) or 'no'} item(s)")
    if faults:
        raise ManyErrors(
            f"{path}: {len(faults)} result(s) cannot be matched to one item of the benchmark; expected our sample_id, "
            "or dataset, level, volume_id, task and question of one item",
            _shorten(faults, len(faults)),
        )
    _refuse_repeats(path, [sample_id for sample_id, _ in matched])
    return dict(matched)


def _item_key(item: Item) -> Key:
    return (item.domain, item.level, item.volume_id, item.task, item.question.strip())


def _entry_key(fields: Mapping[str, Any]) -> Key:
    level = str(fields.get("level", ""))
    question = str(fields.get("question", "")).strip()
    return (fields.get("dataset"), LEVELS.get(level, level), fields.get("volume_id"), fields.get("task"), question)


def _narrow(entry: Entry, fits: list[Item]) -> list[Item]:
    """The items that agree with the entry in what tells them apart; a trait that it lacks narrows nothing."""
    number = _slice_number(entry)
    traits: list[tuple[Any, Callable[[Item], Any]]] = [
        (number, lambda item: item.frames[0].number if item.level == "image" and item.frames else number),
        (_text(entry.fields.get("gt_answer")), lambda item: item.answer.strip()),
        (_text(entry.fields.get("gt_reasoning")), lambda item: (item.reasoning or "").strip()),
    ]
    for value, of in traits:
        if len(fits) > 1 and value is not None:
            fits = [item for item in fits if of(item) == value]
    return fits


def _text(value: Any) -> str | None:
    return None if value is None else str(value).strip()


def _slice_number(entry: Entry) -> int | None:
    stated = entry.fields.get("slice_num")
    if isinstance(stated, int):
        return stated
    volume = re.escape(str(entry.fields.get("volume_id", "")))
    written = re.search(rf"{volume}_s?(\d+)_", entry.id)
    return int(written.group(1)) if written else None
