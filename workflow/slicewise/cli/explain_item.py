"""The chain of one item: question, gold, what each model wrote, what was read, and the scores."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow.compute as pc

from slicewise import artifacts, layout
from slicewise.benchmarks.sgmri import COLUMNS, METRICS, benchmark
from slicewise.errors import UserError, did_you_mean

_ITEM = ("sample_id", "benchmark", "model")


def chain(root: Path, sample_id: str) -> str:
    """Everything that the results say of one item, as text.

    Args:
        root: Folder that holds ``results/``.
        sample_id: The item.

    Raises:
        UserError: No benchmark built under the root has the item.
    """
    folders = sorted(path.parent for path in (root / layout.stage("data")).glob("*/samples.parquet"))
    known: list[str] = []
    for folder in folders:
        table = artifacts.read_table(folder / "samples.parquet")
        mine = table.filter(pc.equal(table.column("sample_id"), sample_id))
        if mine.num_rows:
            (sample,) = mine.to_pylist(maps_as_pydicts="strict")
            return "\n".join(_lines(root, sample)) + "\n"
        known += table.column("sample_id").to_pylist()
    raise UserError(
        f"explain: no benchmark under {root / layout.stage('data')} has the item '{sample_id}'; expected a sample_id."
        f"{did_you_mean(sample_id, known)}"
    )


def _lines(root: Path, sample: Mapping[str, Any]) -> Iterator[str]:
    yield f"{sample['benchmark']} / {sample['sample_id']}"
    for name in ("level", "domain", "volume_id", "task", "question_type", "question", "answer", "labels"):
        yield f"  {name}: {_word(sample[name])}"
    if sample["options"]:
        yield f"  options: {_word(sample['options'])}"
    for box in sample["boxes"]:
        yield f"  gold box: {_word(box)}"
    yield f"  frames: {sample['n_frames']}, flags: {_word(sample['flags'])}"
    for path in sorted((root / layout.stage("infer") / sample["benchmark"]).glob("*/answers.parquet")):
        yield from _model(root, sample, path.parent.name)


def _model(root: Path, sample: Mapping[str, Any], model: str) -> Iterator[str]:
    name = sample["benchmark"]
    yield f"\n{model}"
    steps = {"wrote": layout.answers(name, model), "read": layout.parsed(name, model)}
    for title, path in steps.items():
        row = _row(root / path, sample["sample_id"])
        if row is not None:
            yield f"  {title}:"
            yield from (f"    {key}: {_word(value)}" for key, value in row.items() if value not in (None, [], ""))
    for metric in METRICS:
        row = _row(root / layout.score(name, model, metric), sample["sample_id"])
        if row is not None:
            yield f"  scored, {metric}:"
            yield from (f"    {key}: {_word(value)}" for key, value in row.items() if value not in (None, [], ""))
            yield from (f"    {line}" for line in _cells(root, sample, model, metric))


def _cells(root: Path, sample: Mapping[str, Any], model: str, metric: str) -> Iterator[str]:
    """The cell of the table that the value enters, with what the report made of it where there is one."""
    name = sample["benchmark"]
    path = root / layout.table("cells", "parquet")
    cells = artifacts.read_rows(path) if path.is_file() else []
    for column in COLUMNS[benchmark(name).level]:
        if column.metric == metric and column.task == sample["task"]:
            made = [c for c in cells if (c["benchmark"], c["model"], c["column"]) == (name, model, column.key)]
            yield f"cell: {column.title} of {name}{f' = {_cell(made[0])}' if made else ''}"


def _cell(cell: Mapping[str, Any]) -> str:
    if cell["value"] is None:
        return "no number: no item has a result"
    ends = "" if cell["low"] is None else f", interval {100 * cell['low']:.2f} to {100 * cell['high']:.2f}"
    return f"{100 * cell['value']:.2f}{ends}, n {cell['n']}"


def _row(path: Path, sample_id: str) -> dict[str, Any] | None:
    if not path.is_file():
        return None
    table = artifacts.read_table(path)
    found = table.filter(pc.equal(table.column("sample_id"), sample_id)).to_pylist()
    return {key: value for key, value in found[0].items() if key not in _ITEM} if found else None


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, default=str)
