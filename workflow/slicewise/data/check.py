"""The fingerprint and the summary of a benchmark, and what is suspicious about it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from slicewise import artifacts
from slicewise.benchmarks.sgmri import LEVELS
from slicewise.data import files, suspicion
from slicewise.data.fields import Fault
from slicewise.errors import UserError
from slicewise.geometry import Box

Row = Mapping[str, Any]


def summary(rows: Sequence[Row], skipped: Sequence[Fault] = ()) -> dict[str, Any]:
    """Counts of a benchmark as plain JSON.

    Args:
        rows: Rows of the ``samples`` schema.
        skipped: Faults of records that were left out.

    Returns:
        ``fingerprint`` (logical digest of the rows), ``items`` and their counts by level, domain, task and type,
        ``volumes``, ``boxes`` (sizes in native pixels), ``frames``, ``flags``, ``suspicious`` and ``skipped``.
    """
    cells = Counter((r["level"], r["domain"], r["task"], r["question_type"]) for r in rows)
    records = {(fault.file, fault.index) for fault in skipped}
    return {
        "fingerprint": artifacts.logical_digest(artifacts.to_table(rows, artifacts.SAMPLES)),
        "benchmarks": sorted({r["benchmark"] for r in rows}),
        "items": len(rows),
        "by_level": _counts(r["level"] for r in rows),
        "by_domain": _counts(r["domain"] for r in rows),
        "by_task": _counts(r["task"] for r in rows),
        "by_type": _counts(r["question_type"] for r in rows),
        "cells": [
            {"level": level, "domain": domain, "task": task, "question_type": kind, "items": n}
            for (level, domain, task, kind), n in sorted(cells.items())
        ],
        "volumes": _counts(domain for domain, _ in {(r["domain"], r["volume_id"]) for r in rows}),
        "boxes": _box_summary(rows),
        "frames": _frame_summary(rows),
        "flags": _counts(flag for r in rows for flag in r["flags"]),
        "suspicious": _counts(s.kind for s in suspicion.find(rows)),
        "skipped": {"records": len(records), "faults": [fault.as_dict() for fault in skipped]},
    }


def _counts(values: Iterable[str]) -> dict[str, int]:
    return dict(sorted(Counter(values).items()))


def _box_summary(rows: Sequence[Row]) -> dict[str, Any]:
    """Boxes of all items. Items of one slice repeat its boxes, so localization items are counted apart."""
    boxes = [Box(**box) for r in rows for box in r["boxes"]]
    gold = [[Box(**box) for box in r["boxes"]] for r in rows if r["task"] == "localization"]
    return {
        "in_all_items": len(boxes),
        "in_localization": sum(map(len, gold)),
        "localization_items_with_boxes": sum(1 for item in gold if item),
        "localization_items_without_boxes": sum(1 for item in gold if not item),
        "most_in_one_item": max(map(len, gold), default=0),
        "zero_area": sum(1 for item in gold for box in item if box.area <= 0),
        "duplicates": sum(len(item) - len({box.key for box in item}) for item in gold),
        "width": _range(box.x1 - box.x0 for box in boxes),
        "height": _range(box.y1 - box.y0 for box in boxes),
    }


def _frame_summary(rows: Sequence[Row]) -> dict[str, Any]:
    lengths = {(r["domain"], r["volume_id"]): r["n_frames"] for r in rows if r["level"] == "volume"}
    frames = {(r["domain"], r["volume_id"], f["number"]): f for r in rows for f in r["frames"]}
    return {
        "distinct": len(frames),
        "with_image": sum(1 for frame in frames.values() if frame["path"] is not None),
        "sizes": _counts(f"{frame['width']}x{frame['height']}" for frame in frames.values()),
        "per_volume": _range(lengths.values()),
    }


def _range(values: Iterable[float]) -> dict[str, float] | None:
    ordered = sorted(values)
    return {"min": ordered[0], "max": ordered[-1]} if ordered else None


def train_volumes(path: Path) -> set[str]:
    """Ids of the volumes of a training split: a released data folder, or a ``samples.parquet``.

    Raises:
        UserError: There is no training file, or one is no JSON.
    """
    if path.is_file():
        return {row["volume_id"] for row in artifacts.read_rows(path, columns=["volume_id"])}
    found = [file for level in LEVELS for file in files.present(path, "train", level)]
    if not found:
        raise UserError(
            f"{path}: has no training questions; expected the released files of the split 'train', "
            "or a samples.parquet."
        )
    records = (raw for file in found for raw in files.read_array(file))
    return {raw["volume_id"] for raw in records if isinstance(raw, dict) and isinstance(raw.get("volume_id"), str)}


def overlap(rows: Sequence[Row], train: set[str]) -> list[str]:
    """Volumes that are in the benchmark and in the training split, sorted; a clean benchmark has none."""
    return sorted({row["volume_id"] for row in rows} & train)


def render(counts: Mapping[str, Any], suspicions: Sequence[suspicion.Suspicion], limit: int | None) -> str:
    """The summary as text for a terminal; ``limit`` shortens each list of suspicious items, ``None`` shows all."""
    lines = [f"{', '.join(counts['benchmarks']) or 'no benchmark'}: {counts['items']:,} items"]
    lines += [f"fingerprint  {counts['fingerprint']}", "", "level   domain  task            type               items"]
    lines += [
        f"{c['level']:<7} {c['domain']:<7} {c['task']:<15} {c['question_type']:<16} {c['items']:>7,}"
        for c in counts["cells"]
    ]
    lines += ["", *_facts(counts), "", *_suspicions(suspicions, limit)]
    skipped = counts["skipped"]
    if skipped["records"]:
        lines += ["", f"left out: {skipped['records']} malformed record(s)"]
        lines += [f"  {Fault(**fault)}" for fault in skipped["faults"]]
    return "\n".join(lines)


def _facts(counts: Mapping[str, Any]) -> list[str]:
    boxes, frames = counts["boxes"], counts["frames"]
    volumes = ", ".join(f"{n} {domain}" for domain, n in counts["volumes"].items())
    sizes = ", ".join(f"{n:,} of {size}" for size, n in frames["sizes"].items())
    lines = [
        f"volumes  {volumes or 'none'}",
        f"frames   {frames['distinct']:,} distinct ({sizes or 'none'}), {frames['with_image']:,} with an image"
        + _span(", {min:g} to {max:g} per volume", frames["per_volume"]),
        f"boxes    {boxes['in_localization']:,} in {boxes['localization_items_with_boxes']:,} localization items, "
        f"at most {boxes['most_in_one_item']} in one"
        + _span(", width {min:g} to {max:g}", boxes["width"])
        + _span(", height {min:g} to {max:g}", boxes["height"]),
        f"         {boxes['zero_area']} without area, {boxes['duplicates']} repeated; "
        f"{boxes['localization_items_without_boxes']:,} localization items have none",
    ]
    return lines + [f"flag     {flag}: {n:,}" for flag, n in counts["flags"].items()]


def _span(text: str, span: Mapping[str, float] | None) -> str:
    return text.format(**span) if span else ""


def _suspicions(found: Sequence[suspicion.Suspicion], limit: int | None) -> list[str]:
    if not found:
        return ["suspicious gold items: none"]
    lines = [f"suspicious gold items: {len({s.sample_id for s in found}):,}"]
    for kind, meaning in suspicion.KINDS.items():
        of_kind = [s for s in found if s.kind == kind]
        if not of_kind:
            continue
        lines.append(f"  {kind} ({len(of_kind):,}): {meaning}")
        shown = of_kind if limit is None else of_kind[:limit]
        lines += [f"    {s.sample_id}: {s.detail}" for s in shown]
        if len(shown) < len(of_kind):
            lines.append(f"    … and {len(of_kind) - len(shown):,} more (--all lists them)")
    return lines
