"""Results of pairs of texts, stored by content, so that only new texts ever reach an encoder.

Key: SHA-256 over the signature of everything that can change the value (encoder files, layer, token limit, precision,
library versions) and the SHA-256 of either text; never a position, a path or a model's name. Rescaling is a formula
on the stored raw values and so has no place in the key.

Value: a JSON object of exact floats and flags. A stored value equals the recomputed one bit for bit on the machine
that computed it, so a warm run writes the bytes of a cold one.

One SQLite file in WAL mode (on a local disk; WAL does not work over a network file system). Several processes may
read and write it at once; a batch is one transaction, so a killed process loses its current batch and nothing else,
and the first value stored under a key stays.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from slicewise.errors import UserError

Value = dict[str, Any]

_VERSION = 1
_BUSY_SECONDS = 60
_KEYS_PER_QUERY = 500
_SCHEMA = "CREATE TABLE IF NOT EXISTS pairs (id INTEGER PRIMARY KEY, key BLOB NOT NULL UNIQUE, value TEXT NOT NULL)"


def text_digest(text: str) -> bytes:
    """SHA-256 of a text, 32 bytes; lone surrogates are allowed."""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).digest()


def pair_keys(signature: str, pairs: Iterable[tuple[str, str]]) -> list[bytes]:
    """Keys of ``(candidate, reference)`` pairs under one signature, 32 bytes each, in order."""
    head = hashlib.sha256(signature.encode()).digest()
    digests: dict[str, bytes] = {}

    def digest(text: str) -> bytes:
        if text not in digests:
            digests[text] = text_digest(text)
        return digests[text]

    return [hashlib.sha256(head + digest(candidate) + digest(reference)).digest() for candidate, reference in pairs]


class PairCache:
    """A content-keyed store of pair results; a context manager.

    Args:
        path: The SQLite file; created with its folder when missing.

    Raises:
        UserError: The file is no such store, or was written by a newer version.
    """

    def __init__(self, path: Path) -> None:
        self.path = Path(path)
        self.path.parent.mkdir(parents=True, exist_ok=True)
        self._connection = sqlite3.connect(self.path, timeout=_BUSY_SECONDS, isolation_level=None)
        try:
            with self._explained():
                self._open()
        except UserError:
            self.close()
            raise

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __len__(self) -> int:
        with self._explained():
            return int(self._connection.execute("SELECT count(*) FROM pairs").fetchone()[0])

    def get_many(self, keys: Sequence[bytes]) -> dict[bytes, Value]:
        """Return the stored values of those keys that are stored."""
        found: dict[bytes, Value] = {}
        with self._explained():
            for start in range(0, len(keys), _KEYS_PER_QUERY):
                chunk = keys[start : start + _KEYS_PER_QUERY]
                marks = ",".join("?" * len(chunk))
                rows = self._connection.execute(f"SELECT key, value FROM pairs WHERE key IN ({marks})", chunk)  # noqa: S608
                found.update((key, json.loads(value)) for key, value in rows)
        return found

    def put_many(self, values: Mapping[bytes, Value]) -> None:
        """Store values in one transaction; a key that is already there keeps its value."""
        rows = [(key, json.dumps(value, allow_nan=False, separators=(",", ":"))) for key, value in values.items()]
        with self._explained():
            self._connection.execute("BEGIN IMMEDIATE")
            try:
                self._connection.executemany("INSERT OR IGNORE INTO pairs (key, value) VALUES (?, ?)", rows)
            except BaseException:
                self._connection.execute("ROLLBACK")
                raise
            self._connection.execute("COMMIT")

    def close(self) -> None:
        """Close the file; the object cannot be used afterwards."""
        self._connection.close()

    def _open(self) -> None:
        version = self._connection.execute("PRAGMA user_version").fetchone()[0]
        if version > _VERSION:
            raise UserError(
                f"{self.path}: is a pair cache of version {version}, this program reads up to {_VERSION}; "
                "update Slicewise, or delete the file to compute its scores again."
            )
        self._connection.execute("PRAGMA journal_mode = WAL")
        self._connection.execute("PRAGMA synchronous = NORMAL")
        self._connection.execute(_SCHEMA)
        self._connection.execute(f"PRAGMA user_version = {_VERSION}")

    @contextmanager
    def _explained(self) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, json.JSONDecodeError) as error:
            raise UserError(
                f"{self.path}: cannot be used as a pair cache ({error}); expected an SQLite file written by Slicewise: "
                "delete it to compute its scores again."
            ) from error
