"""The Arrow schema of every artifact, and the only way to read and write one.

Files are byte-deterministic: fixed schema, rows sorted by key, fixed row-group size, zstd, no pandas metadata, no
clock. Each carries a logical digest (schema plus sorted rows) in its metadata, so that "same rows, new bytes" can be
told from "new rows" across library versions. Writes are atomic: a killed job leaves the old file or none.
"""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from slicewise.errors import UserError

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

DIGEST_KEY = b"slicewise.logical_digest"
SCHEMA_KEY = b"slicewise.schema"
ROW_GROUP_SIZE = 65_536
COMPRESSION = "zstd"

BOX = pa.struct(
    [
        pa.field("frame", pa.int32()),
        pa.field("x0", pa.float64(), nullable=False),
        pa.field("y0", pa.float64(), nullable=False),
        pa.field("x1", pa.float64(), nullable=False),
        pa.field("y1", pa.float64(), nullable=False),
        pa.field("label", pa.string()),
    ]
)
REJECTED_BOX = pa.struct(
    [pa.field("frame", pa.int32()), pa.field("text", pa.string()), pa.field("reason", pa.string())]
)
FRAME = pa.struct(
    [
        pa.field("number", pa.int32(), nullable=False),  # as the benchmark's own text writes it
        pa.field("path", pa.string()),  # relative to the project root; null when the benchmark has no images
        pa.field("width", pa.int32(), nullable=False),
        pa.field("height", pa.int32(), nullable=False),
        pa.field("sha256", pa.string()),
    ]
)
SENT_FRAME = pa.struct(
    [
        pa.field("number", pa.int32(), nullable=False),
        pa.field("sha256", pa.string()),
        pa.field("width", pa.int32(), nullable=False),  # as sent, after any resize
        pa.field("height", pa.int32(), nullable=False),
    ]
)


def storable(text: str) -> str:
    """The text with lone surrogates, which no UTF-8 file can hold, replaced by U+FFFD."""
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def declare(name: str, fields: Sequence[tuple[str, pa.DataType, bool]], key: Sequence[str]) -> pa.Schema:
    """A declared schema: its name and its sort key travel in its metadata. Fields are (name, type, nullable)."""
    meta = {SCHEMA_KEY: json.dumps({"name": name, "key": list(key)}).encode()}
    return pa.schema([pa.field(n, t, nullable=null) for n, t, null in fields], metadata=meta)


_STRINGS = pa.list_(pa.field("item", pa.string(), nullable=False))
_ITEM: list[tuple[str, pa.DataType, bool]] = [
    ("sample_id", pa.string(), False),
    ("benchmark", pa.string(), False),
    ("model", pa.string(), False),
]

SAMPLES = declare(
    "samples",
    [
        ("sample_id", pa.string(), False),
        ("benchmark", pa.string(), False),
        ("level", pa.string(), False),  # image | volume
        ("domain", pa.string(), False),  # brain | knee | chest
        ("volume_id", pa.string(), False),
        ("modality", pa.string(), True),
        ("task", pa.string(), False),
        ("question_type", pa.string(), False),  # closed_ended | single_choice | multiple_choice | open_ended
        ("question", pa.string(), False),
        ("options", pa.map_(pa.string(), pa.string()), True),  # letter -> text; null when the item has none
        ("answer", pa.string(), False),
        ("reasoning", pa.string(), True),
        ("labels", _STRINGS, False),
        ("boxes", pa.list_(BOX), False),
        ("frames", pa.list_(FRAME), False),
        ("n_frames", pa.int32(), False),
        ("flags", _STRINGS, False),  # what is assumed or suspicious about the item, such as size_assumed
    ],
    ["sample_id"],
)

ANSWERS = declare(
    "answers",
    [
        *_ITEM,
        ("text", pa.string(), True),
        ("finish_reason", pa.string(), True),
        ("outcome", pa.string(), False),
        ("error", pa.string(), True),
        ("request_key", pa.string(), True),
        ("served_model", pa.string(), True),
        ("prompt_tokens", pa.int64(), True),
        ("completion_tokens", pa.int64(), True),
        ("cost", pa.float64(), True),  # US dollars
        ("frames", pa.list_(SENT_FRAME), False),
    ],
    ["sample_id"],
)

PARSED = declare(
    "parsed",
    [
        *_ITEM,
        (
            "kind",
            pa.string(),
            False,
        ),  # yes_no | single_choice | multiple_choice | count | short_text | open_text | none
        ("answer", pa.string(), True),  # canonical: yes, B, "A, C", 6, or the text
        ("letters", _STRINGS, True),
        ("count", pa.int64(), True),
        ("answer_outcome", pa.string(), False),
        ("answer_stage", pa.string(), False),
        ("answer_flags", _STRINGS, False),
        ("text", pa.string(), True),  # what the reader sees: reasoning blocks and chat tokens removed
        ("text_outcome", pa.string(), False),
        ("text_stage", pa.string(), False),
        ("text_flags", _STRINGS, False),
        ("boxes", pa.list_(BOX), True),  # null where nothing could be read; [] where the model says there is none
        ("boxes_outcome", pa.string(), False),
        ("boxes_stage", pa.string(), False),
        ("boxes_flags", _STRINGS, False),
        ("boxes_emitted", pa.int32(), False),  # before duplicates collapse
        ("rejected", pa.list_(REJECTED_BOX), False),
        ("parser", pa.string(), False),  # parser version
    ],
    ["sample_id"],
)


def score_schema(metric: str, extra: Sequence[tuple[str, pa.DataType, bool]] = ()) -> pa.Schema:
    """Schema of one metric's file: value or null, outcome, the metric's own sufficient statistics, the signature."""
    return declare(
        f"score:{metric}",
        [
            *_ITEM,
            ("value", pa.float64(), True),
            ("outcome", pa.string(), False),
            ("flags", _STRINGS, False),
            *extra,
            ("signature", pa.string(), False),
        ],
        ["sample_id"],
    )


def table_schema(name: str, fields: Sequence[tuple[str, pa.DataType, bool]], key: Sequence[str]) -> pa.Schema:
    """Schema of a report table: name, (column, type, nullable) and the columns by which its rows are sorted."""
    return declare(f"table:{name}", fields, key)


def strings() -> pa.DataType:
    """The type of a list of non-null strings."""
    return _STRINGS


def schema_name(schema: pa.Schema) -> str:
    """Name of a declared schema, such as ``samples`` or ``score:answer``."""
    return str(_declaration(schema)["name"])


def _declaration(schema: pa.Schema) -> Any:
    metadata = schema.metadata or {}
    return json.loads(metadata.get(SCHEMA_KEY, b'{"name": "undeclared", "key": []}'))


def sort_key(schema: pa.Schema) -> list[str]:
    """Columns by which the rows of a declared schema are sorted."""
    return list(_declaration(schema)["key"])


def to_table(rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Rows as a table of the declared schema, sorted by its key.

    Raises:
        ValueError: A row has a column that the schema does not declare, or lacks one that may not be null.
    """
    rows = list(rows)
    known = set(schema.names)
    for row in rows:
        unknown = set(row) - known
        if unknown:
            raise ValueError(f"{schema_name(schema)}: undeclared column(s) {sorted(unknown)}")
    table = pa.Table.from_pylist([dict(row) for row in rows], schema=schema)
    return canonical(table, schema)


def canonical(table: pa.Table, schema: pa.Schema) -> pa.Table:
    """The table cast to the schema and sorted by its key, with required columns checked and keys unique."""
    table = table.select(schema.names).cast(schema)
    for field in schema:
        if not field.nullable and table.column(field.name).null_count:
            raise ValueError(f"{schema_name(schema)}: column '{field.name}' has null values")
    key = sort_key(schema)
    if key:
        table = table.sort_by([(name, "ascending") for name in key])
        distinct = table.select(key).group_by(key).aggregate([]).num_rows
        if distinct != table.num_rows:
            raise ValueError(f"{schema_name(schema)}: {table.num_rows - distinct} repeated key(s) in {key}")
    return table.combine_chunks()


def logical_digest(table: pa.Table) -> str:
    """SHA-256 of the schema and the rows, independent of the Parquet encoding and of the pyarrow version."""
    digest = hashlib.sha256()
    digest.update(json.dumps([[f.name, str(f.type), f.nullable] for f in table.schema]).encode())
    for batch in table.to_batches(max_chunksize=ROW_GROUP_SIZE):
        for row in batch.to_pylist():
            digest.update(json.dumps(row, sort_keys=True, ensure_ascii=False, default=str).encode("utf-8", "replace"))
            digest.update(b"\n")
    return digest.hexdigest()


@contextmanager
def atomic(path: Path, mode: str = "wb") -> Iterator[IO[Any]]:
    """Open a temporary file beside ``path`` and move it into place on success; on failure leave nothing behind.

    Raises:
        UserError: The folder cannot be created or written, or a folder is in the file's place.
    """
    path = Path(path)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.tmp")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle: IO[Any] = open(  # noqa: SIM115 - closed by the with below, after the error is translated
            temporary, mode, encoding=None if "b" in mode else "utf-8", newline=None if "b" in mode else "\n"
        )
    except OSError as error:
        raise UserError(
            f"{path}: cannot be written ({error.strerror}); expected a writable folder '{path.parent}': "
            "check its permissions and the free space."
        ) from error
    try:
        with handle:
            yield handle
            handle.flush()
            os.fsync(handle.fileno())
        try:
            os.replace(temporary, path)
        except OSError as error:
            raise UserError(
                f"{path}: cannot be written ({error.strerror}); expected a file or nothing in that place."
            ) from error
    finally:
        temporary.unlink(missing_ok=True)


def write_text(path: Path, text: str) -> None:
    """Write a text file atomically, UTF-8 with line feeds."""
    with atomic(path, "w") as handle:
        handle.write(text)


def write_json(path: Path, value: Any) -> None:
    """Write JSON atomically with sorted keys; NaN is refused because JSON has no such number."""
    write_text(path, json.dumps(value, indent=2, sort_keys=True, ensure_ascii=False, allow_nan=False) + "\n")


def write_table(path: Path, table: pa.Table, schema: pa.Schema) -> pa.Table:
    """Write a table of a declared schema atomically and deterministically; returns what was written."""
    table = canonical(table, schema)
    metadata = {**(schema.metadata or {}), DIGEST_KEY: logical_digest(table).encode()}
    table = table.replace_schema_metadata(metadata)
    with atomic(path) as handle:
        pq.write_table(table, handle, compression=COMPRESSION, row_group_size=ROW_GROUP_SIZE, store_schema=True)
    return table


def write_rows(path: Path, rows: Iterable[Mapping[str, Any]], schema: pa.Schema) -> pa.Table:
    """Write rows (mappings) of a declared schema; see :func:`write_table`."""
    return write_table(path, to_table(rows, schema), schema)


def read_table(path: Path, schema: pa.Schema | None = None, columns: Sequence[str] | None = None) -> pa.Table:
    """Read a Parquet artifact, checked against its declared schema when one is given.

    Raises:
        UserError: The file is missing, is no Parquet file, or has other columns than declared.
    """
    path = Path(path)
    if not path.is_file():
        raise UserError(
            f"{path}: not found; expected a Parquet file written by an earlier stage: run that stage first."
        )
    try:
        table = pq.read_table(path, columns=list(columns) if columns else None)
    except (pa.ArrowInvalid, OSError) as error:
        raise UserError(f"{path}: cannot be read as Parquet ({error}); delete it and run its stage again.") from error
    if schema is not None and columns is None and table.schema.names != schema.names:
        raise UserError(
            f"{path}: has columns {table.schema.names}, expected {schema.names} ({schema_name(schema)}); "
            "it was written by another version: run its stage again."
        )
    return table


def read_rows(
    path: Path, schema: pa.Schema | None = None, columns: Sequence[str] | None = None
) -> list[dict[str, Any]]:
    """Read an artifact as a list of rows; see :func:`read_table`. Map columns come back as dictionaries."""
    table = read_table(path, schema, columns)
    rows: list[dict[str, Any]] = table.to_pylist(maps_as_pydicts="strict")
    return rows


def read_frame(path: Path, columns: Sequence[str] | None = None) -> pd.DataFrame:
    """Read an artifact as a pandas table whose integers stay integers where values are missing."""
    import pandas as pd

    frame: pd.DataFrame = read_table(path, columns=columns).to_pandas(types_mapper=pd.ArrowDtype)
    return frame


def stored_digest(path: Path) -> str:
    """The logical digest written into an artifact's metadata, read without its rows."""
    metadata = pq.read_schema(path).metadata or {}
    if DIGEST_KEY not in metadata:
        raise UserError(f"{path}: carries no logical digest; expected an artifact of Slicewise: run its stage again.")
    return str(metadata[DIGEST_KEY].decode())


def sha256_file(path: Path) -> str:
    """SHA-256 of a file's bytes, as lower-case hexadecimal."""
    with open(path, "rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no spaces and only ASCII: the form that is hashed and compared, for any text at all."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def sha256_json(value: Any) -> str:
    """SHA-256 of the canonical JSON of a value."""
    return hashlib.sha256(canonical_json(value).encode("ascii")).hexdigest()
