"""Backend ``file``: answers made elsewhere.

Three shapes are read, told apart by the suffix and by the top level of the JSON:

* CSV with a header, and JSON lines: one answer per row, ``id`` and ``text`` (see :data:`ID_COLUMNS` and
  :data:`TEXT_COLUMNS` for the other names that are understood), and optionally ``error``;
* the released inference JSON: an object with ``results``, whose entries carry ``sample_id`` and ``model_output`` or
  ``error``. Its ids are not ours, so an entry is matched by our id or else by its content; see
  :mod:`slicewise.infer.released`.

An item without an answer is ``not_run``. An ``error``, or a text that begins with ``[ERROR``, as the released runners
write a failed call, is ``api_error``: a failure of the machinery is not an answer of the model.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicewise import artifacts
from slicewise.errors import ManyErrors, UserError, did_you_mean
from slicewise.infer.items import Answer, Item
from slicewise.jobs import InferJob
from slicewise.outcome import Outcome
from slicewise.params import FileModel

ID_COLUMNS = ("id", "sample_id", "question_id")
TEXT_COLUMNS = ("text", "model_output", "prediction", "response", "output")
ERROR_COLUMN = "error"
SUFFIXES = (".csv", ".jsonl", ".ndjson", ".json")
SHOWN = 10  # faults listed before "and N more"
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_ERROR_TEXT = re.compile(r"\s*\[ERROR\b")


@dataclass(frozen=True, slots=True)
class Entry:
    """One row of an answers file.

    Attributes:
        where: Line or index, for messages.
        id: The id as written.
        text: The reply; ``None`` when the row has none.
        error: The error as written; ``None`` when the row has none.
        fields: The whole row, for matching by content.
    """

    where: str
    id: str
    text: str | None
    error: str | None
    fields: Mapping[str, Any]

    @property
    def outcome(self) -> Outcome:
        """``ok``, ``api_error`` where the row has an error, ``not_run`` where it has neither text nor error."""
        if self.error is not None:
            return Outcome.API_ERROR
        return Outcome.NOT_RUN if self.text is None else Outcome.OK


class FileBackend:
    """Answers read from a file and handed out by id."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def answer_all(self, items: Sequence[Item]) -> Iterator[Answer]:
        """One answer per item; items that the file does not name are ``not_run``."""
        found = match(self.path, items)
        for item in items:
            yield _answer(item, found.get(item.sample_id))


def backend(job: InferJob) -> FileBackend:
    """The backend of a model declared with ``backend: file``."""
    if not isinstance(job.model, FileModel):
        raise TypeError(f"model '{job.model.name}' is no file model")
    return FileBackend(Path(job.model.path.replace("{benchmark}", job.benchmark)))


def match(path: Path, items: Sequence[Item]) -> dict[str, Entry]:
    """The file's entries by the id of the item that each one answers.

    Raises:
        UserError: The file cannot be read, lacks a column, names an id that the benchmark does not have or names one
            twice, or holds a text that is no string; all faults of one kind are listed together.
    """
    entries, released = read(path)
    if released:
        from slicewise.infer.released import match_results

        return match_results(path, entries, items)
    known = {item.sample_id for item in items}
    unknown = [entry for entry in entries if entry.id not in known]
    if unknown:
        raise ManyErrors(
            f"{path}: {len(unknown)} id(s) are not in the benchmark; expected its 'sample_id' values",
            _shorten([f"{e.where}: '{e.id}'.{did_you_mean(e.id, known)}" for e in unknown[:SHOWN]], len(unknown)),
        )
    _refuse_repeats(path, [e.id for e in entries])
    return {e.id: e for e in entries}


def _refuse_repeats(path: Path, ids: Sequence[str]) -> None:
    repeated = [f"'{i}' is answered {n} times" for i, n in Counter(ids).items() if n > 1]
    if repeated:
        raise ManyErrors(
            f"{path}: {len(repeated)} id(s) are answered more than once; expected one answer each: remove the others",
            _shorten(repeated[:SHOWN], len(repeated)),
        )


def _shorten(faults: Sequence[str], total: int) -> list[str]:
    shown = list(faults[:SHOWN])
    return [*shown, f"and {total - len(shown)} more"] if total > len(shown) else shown


def _answer(item: Item, entry: Entry | None) -> Answer:
    key = artifacts.sha256_json(
        {"backend": "file", "item": item.content, "reply": [entry.text, entry.error] if entry else None}
    )
    if entry is None:
        return Answer(item.sample_id, None, key, Outcome.NOT_RUN)
    return Answer(item.sample_id, entry.text, key, entry.outcome, error=entry.error)


# --- reading --------------------------------------------------------------------------------------------------------


def read(path: Path) -> tuple[list[Entry], bool]:
    """The entries of an answers file, and whether it is a released inference JSON.

    Raises:
        UserError: The file is missing, is not UTF-8, has another suffix, is malformed, or lacks a column.
    """
    if path.suffix.lower() not in SUFFIXES:
        raise UserError(
            f"{path}: found suffix '{path.suffix}', expected one of {list(SUFFIXES)}: save the answers as one of these."
        )
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except FileNotFoundError as error:
        raise UserError(f"{path}: not found; expected a file of answers (CSV or JSON lines of id and text).") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8 (byte {error.start}); save it with that encoding.") from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); expected a readable file of answers.") from error
    if path.suffix.lower() == ".csv":
        return _entries(path, list(_csv_rows(path, text))), False
    if path.suffix.lower() == ".json":
        return _json_rows(path, text)
    return _entries(path, list(_json_lines(path, text))), False


def _csv_rows(path: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    # The csv module keeps every cell a string, where pandas would read the answers "NA" and "None" as missing.
    csv.field_size_limit(2**31 - 1)
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    try:
        for row in reader:
            where = f"line {reader.line_num}"
            if None in row:
                raise UserError(
                    f"{path}: {where} has more cells than the header; expected {len(reader.fieldnames or ())}: "
                    "put texts that hold commas or line breaks in double quotes."
                )
            if None in row.values():
                raise UserError(f"{path}: {where} has fewer cells than the header; expected {len(row)}: complete it.")
            yield where, dict(row)
    except csv.Error as error:
        raise UserError(f"{path}: line {reader.line_num}: is not valid CSV ({error}).") from error


def _json_lines(path: Path, text: str) -> Iterator[tuple[str, dict[str, Any]]]:
    # Only line feeds end a line: str.splitlines would also cut inside texts that hold U+2028.
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (json.JSONDecodeError, RecursionError) as error:
            raise UserError(f"{path}: line {number}: is not valid JSON ({error}).") from error
        if not isinstance(row, dict):
            raise UserError(f"{path}: line {number}: found {type(row).__name__}, expected an object with id and text.")
        yield f"line {number}", row


def _json_rows(path: Path, text: str) -> tuple[list[Entry], bool]:
    try:
        value = json.loads(text)
    except (json.JSONDecodeError, RecursionError) as error:
        raise UserError(f"{path}: is not valid JSON ({error}).") from error
    released = isinstance(value, dict) and isinstance(value.get("results"), list)
    rows = value["results"] if released else value
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise UserError(
            f"{path}: found {type(value).__name__}, expected a list of objects with id and text, or the released "
            "inference file (an object with 'results')."
        )
    numbered = [(f"results[{i}]" if released else f"[{i}]", row) for i, row in enumerate(rows)]
    return _entries(path, numbered), released


def _entries(path: Path, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> list[Entry]:
    if not rows:
        raise UserError(f"{path}: holds no answers; expected one row per answer, with its id and its text.")
    columns = {name for _, row in rows for name in row}
    id_column = _column(path, columns, ID_COLUMNS, "ids")
    text_column = _column(path, columns, TEXT_COLUMNS, "texts")
    faults = [fault for where, row in rows for fault in _faults(where, row, id_column, text_column)]
    if faults:
        raise ManyErrors(f"{path}: {len(faults)} row(s) cannot be read", _shorten(faults, len(faults)))
    return [read_entry(where, row, id_column, text_column) for where, row in rows]


def _column(path: Path, columns: set[str], names: Sequence[str], what: str) -> str:
    found = [name for name in names if name in columns]
    if len(found) == 1:
        return found[0]
    if found:
        raise UserError(f"{path}: has several columns of {what}, {found}; expected one: remove or rename the others.")
    near = "".join(dict.fromkeys(did_you_mean(column, names) for column in sorted(columns)))
    raise UserError(
        f"{path}: has no column of {what}; found {sorted(columns)}, expected one of {list(names)}: rename it.{near}"
    )


def _faults(where: str, row: Mapping[str, Any], id_column: str, text_column: str) -> Iterator[str]:
    identifier, text = row.get(id_column), row.get(text_column)
    if not isinstance(identifier, str) or not identifier:
        yield f"{where}: '{id_column}' is {_kind(identifier)}, expected a string"
    if text is not None and not isinstance(text, str):
        yield f"{where}: '{text_column}' is {_kind(text)}, expected a string"


def _kind(value: Any) -> str:
    if value is None:
        return "missing"
    return "empty" if value == "" else f"{type(value).__name__} {json.dumps(value)[:40]}"


def read_entry(where: str, row: Mapping[str, Any], id_column: str, text_column: str) -> Entry:
    """One row, whose id is a string and whose text is a string or missing, as an entry.

    An entry with an error has no text: what came before the failure is not the model's answer.
    """
    text, error = row.get(text_column), row.get(ERROR_COLUMN)
    if text is not None and _ERROR_TEXT.match(text):
        error = error or text
    message = storable(error if isinstance(error, str) else json.dumps(error)) if error else None
    return Entry(
        where=where,
        id=storable(row[id_column]),
        text=None if text is None or message else storable(text),
        error=message,
        fields=row,
    )


def storable(text: str) -> str:
    """The text with NUL and lone surrogates, which neither UTF-8 nor every tool downstream can hold, as U+FFFD."""
    return _UNSTORABLE.sub("\N{REPLACEMENT CHARACTER}", text)
