"""A page of example frames with the gold boxes and those of up to three models."""

from __future__ import annotations

import hashlib
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from slicewise import artifacts, layout
from slicewise.errors import UserError
from slicewise.report import collect, style
from slicewise.report.figures import Source

GOLD = style.ORANGE
MODEL_STYLES = ((style.SKY, "--"), (style.GREEN, "-."), (style.PURPLE, ":"))
COLUMNS = 3


def examples(source: Source) -> Any:
    """Example frames; says so when the benchmark has no images or no gold box."""
    wanted = source.job.report.example_pages
    items = _chosen(source, wanted)
    if not items:
        return style.message(source.benchmark, "No example: the benchmark has no images here.")
    models = _models(source)
    predicted = {name: _boxes(source, name) for name in models}
    titles = {model.name: model.title for model in source.job.models}
    figure, axes = style.panels(len(items), COLUMNS, style.DOUBLE, style.DOUBLE / COLUMNS + 0.2)
    for axis, item in zip(axes, items, strict=True):
        _panel(axis, source.root, item, predicted)
    handles = [Line2D([], [], color=GOLD, linewidth=1.6, label="gold")]
    handles += [
        Line2D([], [], color=colour, linestyle=line, linewidth=1.4, label=titles[name])
        for name, (colour, line) in zip(models, MODEL_STYLES, strict=False)
    ]
    figure.legend(handles=handles, loc="outside lower center", ncols=4, handlelength=2.6)
    return figure


def _chosen(source: Source, wanted: int) -> list[dict[str, Any]]:
    """Localization items with gold boxes and an image, domains in turn, in an order that depends on the id alone."""
    rows = artifacts.read_rows(
        source.root / layout.samples(source.benchmark),
        columns=["sample_id", "domain", "volume_id", "task", "boxes", "frames", "n_frames"],
    )
    rows = [
        row
        for row in rows
        if row["task"] == "localization" and row["boxes"] and any(frame["path"] for frame in row["frames"])
    ]
    rows.sort(key=lambda row: hashlib.sha256(row["sample_id"].encode()).hexdigest())
    turns: Counter[str] = Counter()
    ranked = []
    for row in rows:
        ranked.append((turns[row["domain"]], row["domain"], row))
        turns[row["domain"]] += 1
    ranked.sort(key=lambda entry: entry[:2])
    return [row for _, _, row in ranked[:wanted]]


def _models(source: Source) -> list[str]:
    """The models with the highest V that emit boxes, blind ones last, without the oracle (its boxes are gold)."""
    oracles = {model.name for model in source.job.models if model.baseline == "oracle"}
    rows = source.grounding[~source.grounding["model"].isin(oracles) & (source.grounding["boxes_emitted"] > 0)]
    ordered = rows.sort_values(["v", "model"], ascending=[False, True])
    best = set(ordered["model"].head(len(MODEL_STYLES)))
    chosen = [model for model in source.job.models if model.name in best]
    return [model.name for model in sorted(chosen, key=lambda model: collect.is_blind(model.baseline))]


def _boxes(source: Source, model: str) -> dict[str, list[dict[str, Any]]]:
    rows = artifacts.read_rows(source.root / layout.parsed(source.benchmark, model), columns=["sample_id", "boxes"])
    return {row["sample_id"]: row["boxes"] or [] for row in rows}


def _panel(axis: Any, root: Path, item: dict[str, Any], predicted: dict[str, dict[str, list[dict[str, Any]]]]) -> None:
    shown = Counter(box["frame"] for box in item["boxes"])
    place = max(shown, key=lambda frame: (shown[frame], -frame))  # the frame with most gold boxes, the first of them
    frame = item["frames"][place]
    pixels = _pixels(root, frame)
    # Boxes are continuous with the origin at the corner of the first pixel, so the image fills [0, width].
    axis.imshow(pixels, cmap="gray", extent=(0, frame["width"], frame["height"], 0), interpolation="nearest")
    for box in item["boxes"]:
        _rectangle(axis, box, place, GOLD, "-", 1.6)
    for boxes, (colour, line) in zip(predicted.values(), MODEL_STYLES, strict=False):
        for box in boxes.get(item["sample_id"], []):
            _rectangle(axis, box, place, colour, line, 1.4)
    axis.set_xlim(0, frame["width"])
    axis.set_ylim(frame["height"], 0)
    axis.set_xticks([])
    axis.set_yticks([])
    for spine in axis.spines.values():
        spine.set_visible(False)
    where = f", frame {frame['number']} of {item['n_frames']}" if item["n_frames"] > 1 else ""
    axis.set_title(f"{item['domain']} {_short(item)}{where}", fontsize=7)


def _short(item: dict[str, Any]) -> str:
    """The volume's id without what its neighbours say already, cut from the front when it is long."""
    name = str(item["volume_id"]).removeprefix("file_").removeprefix(f"{item['domain']}_").removeprefix("file")
    return name if len(name) <= 22 else f"…{name[-21:]}"


def _pixels(root: Path, frame: dict[str, Any]) -> np.ndarray[Any, Any]:
    from PIL import Image, UnidentifiedImageError

    path = root / frame["path"]
    try:
        with Image.open(path) as image:
            return np.asarray(image.convert("L"))
    except (OSError, UnidentifiedImageError) as error:
        raise UserError(
            f"{path}: cannot be read as an image ({error}); expected the frame that the samples name: "
            "run the data stage again."
        ) from error


def _rectangle(axis: Any, box: dict[str, Any], place: int, colour: str, line: str, width: float) -> None:
    if box["frame"] != place:
        return
    axis.add_patch(
        Rectangle(
            (box["x0"], box["y0"]), box["x1"] - box["x0"], box["y1"] - box["y0"],
            fill=False, edgecolor=colour, linestyle=line, linewidth=width,
        )
    )  # fmt: skip
