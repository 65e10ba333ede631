"""Is a published table reproduced? Every published cell beside ours, with a verdict and what stands in the way.

A cell is *reproduced* when the published value lies in our interval under protocol ``reference``, with everything
else as published: the released test split, its frames as released, the authors' judge, encoder and plain prompts, and
every item with a result. It *differs* when all of that holds and the value does not lie there. Otherwise it is *not
comparable*, and the settings that differ are named.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

import pandas as pd
import pyarrow as pa

from slicewise import artifacts
from slicewise.benchmarks import sgmri
from slicewise.benchmarks.published import PublishedRow, published
from slicewise.errors import UserError, did_you_mean
from slicewise.jobs import ReportJob, ReportModel
from slicewise.report import collect

REPRODUCED, DIFFERS, NOT_COMPARABLE = "reproduced", "differs", "not comparable"
JUDGE, ENCODER, SPLIT, PROMPT = "gpt-4o", "roberta-large", "test", "minimal"  # of the published tables
AR_COLUMNS = ("localization_ar", "captioning", sgmri.AVERAGE)
_HALF = 0.005  # of the last printed digit, in points

CELLS = artifacts.table_schema(
    "reproduce",
    [
        ("position", pa.int64(), False),
        ("benchmark", pa.string(), False),
        ("published_model", pa.string(), False),
        ("model", pa.string(), True),  # ours; null when no model of the run stands for it
        ("column", pa.string(), False),
        ("published", pa.float64(), False),  # x 100, as printed
        ("ours", pa.float64(), True),  # x 100
        ("low", pa.float64(), True),  # cluster bootstrap, x 100
        ("high", pa.float64(), True),
        ("n", pa.int64(), True),
        ("difference", pa.float64(), True),  # ours - published, points
        ("to_the_digit", pa.bool_(), False),  # equal when both are printed with two decimals
        ("verdict", pa.string(), False),
        ("because", pa.string(), False),  # the settings that differ, for "not comparable"
    ],
    ["position"],
)


def reproduce(cells: pd.DataFrame, job: ReportJob, same: Mapping[str, str] | None = None) -> list[dict[str, Any]]:
    """Rows of ``CELLS``: every published cell of every benchmark of the run.

    Args:
        cells: As :func:`slicewise.report.cells.cells` gives them.
        job: The report's settings.
        same: Our model's name to the published row that it stands for; by default the row of the model's title.

    Raises:
        UserError: ``same`` names a model or a published row that does not exist.
    """
    by_key = {(row["benchmark"], row["model"], row["column"]): row for row in collect.records(cells)}
    rows = []
    for benchmark in job.benchmarks:
        printed = published(sgmri.benchmark(benchmark).level)
        stands_for = _models(job, printed, same or {})
        for row in printed:
            model = stands_for.get(row.model)
            for column in collect.columns(benchmark):
                value = row.avg_printed if column == sgmri.AVERAGE else row.values[column]
                cell = _ours(by_key, benchmark, model, column)
                named = {"benchmark": benchmark, "published_model": row.model, "column": column}
                rows.append({**named, **_cell(job, benchmark, model, column, value, cell)})
    return [{**row, "position": position} for position, row in enumerate(rows)]


def _ours(
    by_key: Mapping[tuple[str, str, str], Mapping[str, Any]], benchmark: str, model: ReportModel | None, column: str
) -> Mapping[str, Any] | None:
    """Our cell; none where the benchmark has no item of the column, nor an average with a column short."""
    needed = collect.columns(benchmark) if column == sgmri.AVERAGE else [column]
    if model is None or any((benchmark, model.name, name) not in by_key for name in needed):
        return None
    return by_key[(benchmark, model.name, column)]


def _models(job: ReportJob, printed: Sequence[PublishedRow], same: Mapping[str, str]) -> dict[str, ReportModel]:
    """Published name to our model."""
    names = [row.model for row in printed]
    ours = {model.name: model for model in job.models}
    for model, row in same.items():
        if model not in ours:
            raise UserError(f"reproduce: the run has no model '{model}'; expected one of {list(ours)}.")
        if row not in names:
            raise UserError(
                f"reproduce: no published row is '{row}'; expected one of {names}.{did_you_mean(row, names)}"
            )
    found = {model.title: model for model in job.models if model.title in names}
    return {**found, **{row: ours[model] for model, row in same.items()}}


def _cell(
    job: ReportJob,
    benchmark: str,
    model: ReportModel | None,
    column: str,
    printed: Decimal,
    cell: Mapping[str, Any] | None,
) -> dict[str, Any]:
    known = cell is not None and not pd.isna(cell["value"])
    numbers: dict[str, Any] = dict.fromkeys(("ours", "low", "high", "n", "difference"))
    if cell is not None and known:
        numbers = {name: _points(cell[key]) for name, key in (("ours", "value"), ("low", "low"), ("high", "high"))}
        numbers |= {"n": int(cell["n"]), "difference": round(100 * float(cell["value"]) - float(printed), 6)}
    why = "; ".join(obstacles(job, benchmark, model, column, cell))
    exact = known and cell is not None and _prints_as(100 * float(cell["value"]), printed)
    verdict = NOT_COMPARABLE if why else REPRODUCED if exact or _inside(numbers, float(printed)) else DIFFERS
    return {
        "model": model.name if model else None,
        "published": float(printed),
        **numbers,
        "to_the_digit": bool(exact),
        "verdict": verdict,
        "because": why,
    }


def _points(value: Any) -> float | None:
    return None if pd.isna(value) else round(100 * float(value), 6)


def _prints_as(value: float, printed: Decimal) -> bool:
    """Whether a number has the printed one among its roundings to two decimals, ties either way."""
    return abs(value - float(printed)) <= _HALF + 1e-9


def _inside(numbers: Mapping[str, Any], value: float) -> bool:
    """Whether a printed value may lie in our interval; without an interval only equality would do."""
    if numbers["low"] is None:
        return False
    return bool(numbers["low"] - _HALF <= value <= numbers["high"] + _HALF)


def obstacles(
    job: ReportJob, benchmark: str, model: ReportModel | None, column: str, cell: Mapping[str, Any] | None
) -> Iterator[str]:
    """What keeps a cell from being the published kind of number, one phrase each."""
    if sgmri.benchmark(benchmark).source != "released":
        yield f"benchmark: {benchmark} asks other questions than the released test set"
    else:
        if job.split not in (None, SPLIT):
            yield f"split: {job.split}, published {SPLIT}"
        if job.frames == "corrected":
            yield "frames: corrected, published as_released"
    if job.protocol != "reference":
        yield f"protocol: {job.protocol}, published reference"
    if column in AR_COLUMNS:
        yield from _stand_ins(job)
    if model is None:
        yield "model: none of this run stands for it"
        return
    if model.prompt not in (None, PROMPT):
        yield f"prompts: {model.prompt}, published {PROMPT}"
    if cell is None or pd.isna(cell["value"]):
        yield "coverage: no item has a result"
    elif cell["incomplete"]:
        lost = sum(int(cell[name]) for name in ("api_error", "judge_error", "missing_frames", "not_run"))
        yield f"coverage: {lost} of {lost + int(cell['n'])} items have no result"


def _stand_ins(job: ReportJob) -> Iterator[str]:
    if job.judge_is_proxy:
        yield f"judge: the proxy '{job.judge}', published {JUDGE}"
    elif job.judge_model != JUDGE:
        yield f"judge: {job.judge_model or job.judge}, published {JUDGE}"
    if job.bertscore_encoder != ENCODER or not job.bertscore_rescale:
        how = "" if job.bertscore_rescale else " without rescaling"
        yield f"encoder: {job.bertscore_encoder}{how}, published {ENCODER} rescaled"


def verdicts(rows: Sequence[Mapping[str, Any]]) -> dict[str, int]:
    """How often each verdict was given."""
    return {name: sum(row["verdict"] == name for row in rows) for name in (REPRODUCED, DIFFERS, NOT_COMPARABLE)}


def sentences(rows: Sequence[Mapping[str, Any]], benchmark: str) -> list[str]:
    """The verdict on a benchmark's table, then each thing that stands in the way and in how many cells."""
    mine = [row for row in rows if row["benchmark"] == benchmark]
    counts = verdicts(mine)
    said = [
        f"{benchmark}: of {len(mine)} published cells " + ", ".join(f"{n} {name}" for name, n in counts.items()) + "."
    ]
    why: dict[str, int] = {}
    for row in mine:
        for phrase in filter(None, row["because"].split("; ")):
            why[phrase] = why.get(phrase, 0) + 1
    return [*said, *(f"Not comparable, {phrase} ({n} cells)." for phrase, n in why.items())]
