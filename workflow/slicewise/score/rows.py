"""Read samples and parsed answers side by side in bounded memory, and write the rows of a metric.

Both files are sorted by ``sample_id`` and hold the same ids, so they are read in step and never joined.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from slicewise import artifacts
from slicewise.errors import UserError

Row = dict[str, Any]
BATCH = 16_384  # rows that exist as Python objects at once; divides the row-group size


def side_by_side(
    samples: Path,
    parsed: Path,
    *,
    tasks: Collection[str],
    sample_columns: Sequence[str],
    parsed_columns: Sequence[str],
) -> Iterator[list[tuple[Row, Row]]]:
    """Yield batches of ``(sample, parsed)`` rows of the given tasks, in the order of their ids.

    Args:
        samples: Samples table.
        parsed: Parsed table of one model over the same samples.
        tasks: Tasks to keep; other rows never become Python objects.
        sample_columns: Columns to read besides ``sample_id`` and ``task``.
        parsed_columns: Columns to read besides ``sample_id``.

    Raises:
        UserError: A file is missing, or the two do not hold the same ids.
    """
    left = _batches(samples, ["sample_id", "task", *sample_columns])
    right = _batches(parsed, ["sample_id", *parsed_columns])
    for ours, theirs in zip_longest(left, right):
        if ours is None or theirs is None or not ours.column("sample_id").equals(theirs.column("sample_id")):
            raise UserError(
                f"{parsed}: does not hold the same sample_ids as {samples}; expected one row per sample: "
                "run infer and parse again."
            )
        keep = pc.is_in(ours.column("task"), value_set=pa.array(sorted(tasks)))
        # pyarrow turns a whole batch of nested columns into Python objects much faster than row by row.
        yield list(zip(_rows(ours.filter(keep)), _rows(theirs.filter(keep)), strict=True))


def _rows(batch: pa.RecordBatch) -> list[Row]:
    rows: list[Row] = pa.Table.from_batches([batch]).to_pylist(maps_as_pydicts="strict")
    return rows


def _batches(path: Path, columns: list[str]) -> Iterator[pa.RecordBatch]:
    if not path.is_file():
        raise UserError(
            f"{path}: not found; expected a Parquet file written by an earlier stage: run that stage first."
        )
    with pq.ParquetFile(path) as file:
        yield from file.iter_batches(batch_size=BATCH, columns=columns)


def write(out: Path, batches: Iterable[Sequence[Row]], schema: pa.Schema) -> None:
    """Write the rows of a metric; each batch is packed before the next one is made."""
    packed = [pa.Table.from_pylist(list(rows), schema=schema) for rows in batches]
    table = pa.concat_tables(packed) if packed else schema.empty_table()
    artifacts.write_table(out, table, schema)


def parser_version(parsed: Path) -> str:
    """The version of the parser that wrote a parsed table.

    Raises:
        UserError: Its rows come from several versions.
    """
    versions = pc.unique(artifacts.read_table(parsed, columns=["parser"]).column("parser")).to_pylist()
    if len(versions) > 1:
        raise UserError(f"{parsed}: mixes parser versions {sorted(versions)}; expected one: run parse again.")
    return str(versions[0]) if versions else "none"


def map_rows(batches: Iterable[Sequence[tuple[Row, Row]]], make: Callable[[Row, Row], Row]) -> Iterator[list[Row]]:
    """Apply a function of sample and parsed row, batch by batch."""
    return ([make(sample, parsed) for sample, parsed in batch] for batch in batches)
