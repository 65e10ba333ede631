"""Every difference between the two protocols on one released inference file, item by item and reason by reason."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import click
import pyarrow as pa

from slicewise import artifacts, layout
from slicewise.cli import score_card
from slicewise.errors import UserError
from slicewise.outcome import Outcome
from slicewise.reference import ReferenceInputError
from slicewise.reference import run as room
from slicewise.reference.run import ItemScore
from slicewise.report import render, style
from slicewise.score import attribution, explain
from slicewise.score.attribution import Attribution
from slicewise.score.explain import Item

METRICS = {"answer": "a_score", "grounding": "v_score"}
TITLES = {"answer": "A", "grounding": "V"}

DIFFERENCES = artifacts.table_schema(
    "protocol_differences",
    [
        ("metric", pa.string(), False),
        ("sample_id", pa.string(), False),
        ("reason", pa.string(), False),
        ("card", pa.float64(), True),  # in the mean; null where the item is in none
        ("reference", pa.float64(), True),
        ("card_outcome", pa.string(), False),
        ("card_reading", pa.string(), True),
        ("reference_reading", pa.string(), True),
        ("gold", pa.string(), False),
        ("text", pa.string(), True),
    ],
    ["metric", "sample_id"],
)


def run(file: Path, params_file: Path, declared: score_card.Declared, out: Path) -> None:
    """Write ``differences.parquet`` and ``.csv``, ``reasons.md`` and ``.json`` and the figure; print the reasons.

    Raises:
        UserError: The file cannot be read or scored.
    """
    score_card.run(file, params_file, declared, out, ar=False, threads=1)
    try:
        inference = room.load_inference(file)
        released = {item.sample_id: item for item in room.score_items(inference["results"])}
    except ReferenceInputError as error:
        raise UserError(str(error)) from error
    samples, parsed, scores, texts = _read(out)
    rows: list[dict[str, Any]] = []
    found: dict[str, Attribution] = {}
    for metric, name in METRICS.items():
        items = [
            _item(sample, parsed[key], scores[metric].get(key), released.get(key), name, texts[key])
            for key, sample in samples.items()
            if key in scores[metric] or name in (released[key].scores if key in released else ())
        ]
        pairs = [explain.pair(metric, item) for item in items]
        found[metric] = attribution.attribute(pairs)
        rows += [
            _row(metric, item, pair, samples[item.sample_id])
            for item, pair in zip(items, pairs, strict=True)
            if pair.reason is not None
        ]
    _write(out, rows, found, file.name)


def _read(out: Path) -> tuple[dict[str, Any], dict[str, Any], dict[str, dict[str, Any]], dict[str, str | None]]:
    """Samples, parsed rows, scores by metric, and outputs, by id, of what :func:`score_card.run` wrote."""
    samples: dict[str, Any] = {}
    parsed: dict[str, Any] = {}
    texts: dict[str, str | None] = {}
    scores: dict[str, dict[str, Any]] = {metric: {} for metric in METRICS}
    for benchmark in ("released-image", "released-volume"):
        if not (out / layout.samples(benchmark)).is_file():
            continue
        (model,) = sorted(path.name for path in (out / layout.stage("parse") / benchmark).iterdir())
        samples |= _by_id(out / layout.samples(benchmark))
        parsed |= _by_id(out / layout.parsed(benchmark, model))
        texts |= {key: row["text"] for key, row in _by_id(out / layout.answers(benchmark, model)).items()}
        for metric, rows in scores.items():
            rows |= _by_id(out / layout.score(benchmark, model, metric))
    return samples, parsed, scores, texts


def _by_id(path: Path) -> dict[str, Any]:
    return {row["sample_id"]: row for row in artifacts.read_rows(path)}


def _item(
    sample: Mapping[str, Any],
    parsed: Mapping[str, Any],
    card: Mapping[str, Any] | None,
    reference: ItemScore | None,
    name: str,
    text: str | None,
) -> Item:
    value = reference.scores.get(name) if reference else None
    return Item(sample["sample_id"], sample["level"], text, parsed, card, reference, value)


def _row(metric: str, item: Item, pair: attribution.Pair, sample: Mapping[str, Any]) -> dict[str, Any]:
    reference = item.reference
    boxes = "; ".join(_box(b["frame"], b["xywh"]) for b in reference.pred_boxes) if reference else None
    return {
        "metric": metric,
        "sample_id": item.sample_id,
        "reason": pair.reason,
        "card": pair.card,
        "reference": pair.reference,
        "card_outcome": str(item.outcome),
        "card_reading": item.parsed["answer"] if metric == "answer" else _card_boxes(item),
        "reference_reading": (reference.answer if reference else None) if metric == "answer" else boxes,
        "gold": sample["answer"],
        "text": item.text,
    }


def _card_boxes(item: Item) -> str | None:
    if item.outcome not in (Outcome.OK, Outcome.NO_REFERENCE) or item.parsed["boxes"] is None:
        return None
    return "; ".join(
        _box(None if b["frame"] is None else b["frame"] + 1, (b["x0"], b["y0"], b["x1"] - b["x0"], b["y1"] - b["y0"]))
        for b in item.parsed["boxes"]
    )


def _box(frame: int | None, xywh: Sequence[float]) -> str:
    numbers = ", ".join(f"{n:.6g}" for n in xywh)
    return f"{'no frame' if frame is None else f'frame {frame}'} [{numbers}]"


# --- tables and figure ----------------------------------------------------------------------------------------------


def _write(out: Path, rows: Sequence[Mapping[str, Any]], found: Mapping[str, Attribution], name: str) -> None:
    table = artifacts.write_rows(out / "differences.parquet", rows, DIFFERENCES)
    artifacts.write_text(out / "differences.csv", render.csv_text(DIFFERENCES.names, table.to_pylist()))
    text = _markdown(found, name)
    artifacts.write_text(out / "reasons.md", text)
    artifacts.write_json(out / "reasons.json", {metric: _json(of_metric) for metric, of_metric in found.items()})
    _figure(out, found)
    click.echo(text)
    click.echo(f"Written: {out / 'differences.csv'}, {out / 'reasons.md'}, {out / 'reasons.pdf'}")


def _markdown(found: Mapping[str, Attribution], name: str) -> str:
    parts = [f"# Protocol card minus protocol reference: {name}\n"]
    for metric, whole in found.items():
        body = [
            [share.reason, explain.REASONS[share.reason], str(share.items or "–"), f"{100 * float(share.amount):+.3f}"]
            for share in whole.shares
        ]
        items = str(sum(share.items for share in whole.shares))
        body.append(["difference", "of the two means", items, f"{100 * float(whole.difference):+.3f}"])
        means = (
            f"{TITLES[metric]} x 100: card {100 * float(whole.card):.3f} (n {whole.n_card}), "
            f"reference {100 * float(whole.reference):.3f} (n {whole.n_reference})"
        )
        parts.append(f"## {means}\n\n{render.grid(['Reason', 'What it means', 'Items', 'Points'], body, 2)}")
    return "\n".join(parts)


def _json(whole: Attribution) -> dict[str, Any]:
    """Numbers as floats, and exact as fractions, which add up without a rest."""
    return {
        "card": {"mean": float(whole.card), "n": whole.n_card},
        "reference": {"mean": float(whole.reference), "n": whole.n_reference},
        "difference": {"value": float(whole.difference), "exact": str(whole.difference)},
        "reasons": [
            {"reason": s.reason, "items": s.items, "amount": float(s.amount), "exact": str(s.amount)}
            for s in whole.shares
        ],
    }


def _figure(out: Path, found: Mapping[str, Attribution]) -> None:
    """One bar per reason and metric, in points of the mean."""
    with style.styled():
        figure, axes = style.panels(
            len(found), 1, style.DOUBLE, 0.6 + 0.22 * max(len(f.shares) for f in found.values())
        )
        for axis, (metric, whole) in zip(axes, found.items(), strict=True):
            amounts = [100 * float(share.amount) for share in whole.shares]
            colours = [style.BLUE if amount >= 0 else style.VERMILLION for amount in amounts]
            axis.barh(range(len(amounts)), amounts, color=colours)
            axis.set_yticks(range(len(amounts)), [share.reason for share in whole.shares])
            axis.invert_yaxis()
            axis.axvline(0, color=style.BLACK, linewidth=0.6)
            axis.set_xlabel(
                f"{TITLES[metric]}: card minus reference, points (sum {100 * float(whole.difference):+.2f})"
            )
        style.save(figure, out / "reasons")
