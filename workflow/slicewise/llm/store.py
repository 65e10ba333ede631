"""The response store: every reply that was paid for, by the key of its request.

Two layers. The *live* layer is one SQLite file on local disk, safe under many processes, committed before a reply is
used. The *shared* layer is a folder of immutable JSONL shards named by the SHA-256 of their content, which DVC tracks:
two people's stores merge by taking the union of the files.

Where a key was bought twice, one record wins by a fixed rule: the highest generation (only ``refresh`` raises it),
then the earliest creation, then the lowest digest; so any two merges agree.

Every record carries a digest and is checked when it is read. A record that does not check is never used.
"""

from __future__ import annotations

import dataclasses
import datetime
import hashlib
import json
import sqlite3
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from slicewise.artifacts import canonical_json, sha256_file, write_text
from slicewise.errors import UserError
from slicewise.llm.request import Reply, Request, key_of

BUSY_SECONDS = 60
LOOKUP_CHUNK = 500

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, record TEXT NOT NULL, digest TEXT NOT NULL, shard TEXT
);
CREATE TABLE IF NOT EXISTS shards (name TEXT PRIMARY KEY, records INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS latencies (key TEXT NOT NULL, seconds REAL NOT NULL, attempts INTEGER NOT NULL);
CREATE INDEX IF NOT EXISTS unshared ON replies (id) WHERE shard IS NULL;
"""


class StoreWarning(UserWarning):
    """A stored record is damaged and is not used."""


@dataclass(frozen=True, slots=True)
class Record:
    """A stored call.

    Attributes:
        key: Key of the request.
        request: Canonical JSON of the request's identity.
        reply: The reply.
        created: When the reply was stored, ISO 8601 in UTC. It decides between duplicates and enters no artifact.
        generation: 0, or one more than the record that a ``refresh`` replaced.
    """

    key: str
    request: str
    reply: Reply
    created: str
    generation: int = 0

    def line(self) -> str:
        """Canonical JSON of the record: one line of a shard without its digest."""
        return canonical_json(dataclasses.asdict(self))

    @property
    def rank(self) -> tuple[int, str, str]:
        """Lowest wins among records of one key."""
        return (-self.generation, self.created, digest_of(self.line()))


class Verdict(NamedTuple):
    """What :meth:`Store.verify` found."""

    records: int
    shards: int
    faults: list[str]


def digest_of(line: str) -> str:
    """SHA-256 of a record's line."""
    return hashlib.sha256(line.encode("ascii", "replace")).hexdigest()


def decode(line: str, digest: str, where: str) -> Record:
    """A record from its line.

    Raises:
        ValueError: The digest, the key or the shape is wrong; the message names ``where``.
    """
    if digest_of(line) != digest:
        raise ValueError(f"{where}: the record's digest does not match its content")
    try:
        raw = json.loads(line)
        record = Record(**{**raw, "reply": Reply(**raw["reply"])})
    except (json.JSONDecodeError, TypeError, KeyError) as error:
        raise ValueError(f"{where}: is not a record of this store ({error})") from error
    if key_of(record.request) != record.key:
        raise ValueError(f"{where}: key {record.key[:12]} is not the hash of its request")
    return record


class Store:
    """Both layers of one project's store.

    Open it once per process. Methods may be called from many processes at once; a ``put`` is durable when it returns.
    """

    def __init__(self, root: Path) -> None:
        """Open or create the store below ``root`` and take in any shard not seen before.

        Raises:
            UserError: The folder or the database cannot be opened.
        """
        self.root = Path(root)
        self.shards = self.root / "shards"
        self._path = self.root / "live.sqlite"
        try:
            self.shards.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self._path, timeout=BUSY_SECONDS, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise UserError(
                f"{self._path}: the response store cannot be opened ({error}); expected a writable local folder."
            ) from error
        self._take_in_shards()

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the database."""
        self.close()

    def close(self) -> None:
        """Close the database; everything put is already durable."""
        self._db.close()

    # --- reading ---

    def get(self, key: str) -> Record | None:
        """The record of a key, or ``None``."""
        return self.get_many([key]).get(key)

    def get_many(self, keys: Sequence[str]) -> dict[str, Record]:
        """The records of those keys that are stored and sound; a damaged one is warned about and left out."""
        found: dict[str, Record] = {}
        for start in range(0, len(keys), LOOKUP_CHUNK):
            chunk = list(keys[start : start + LOOKUP_CHUNK])
            marks = ",".join("?" * len(chunk))
            query = f"SELECT key, record, digest FROM replies WHERE key IN ({marks})"  # noqa: S608 - only marks
            for key, line, digest in self._db.execute(query, chunk):
                try:
                    found[key] = decode(line, digest, f"{self._path}: key {key[:12]}")
                except ValueError as error:
                    warnings.warn(f"{error}; it is not used", StoreWarning, stacklevel=2)
        return found

    def records(self) -> Iterator[Record]:
        """Every sound record, in the order of the keys."""
        for key, line, digest in self._db.execute("SELECT key, record, digest FROM replies ORDER BY key"):
            yield decode(line, digest, f"{self._path}: key {key[:12]}")

    def __len__(self) -> int:
        """How many keys are stored."""
        return int(self._db.execute("SELECT COUNT(*) FROM replies").fetchone()[0])

    # --- writing ---

    def put(
        self, request: Request, reply: Reply, *, seconds: float, attempts: int, replace: Record | None = None
    ) -> Record:
        """Store a reply durably and return the record that is now valid for its key.

        When another process stored the key first, its record is returned and used, so that everybody reads one reply.
        ``replace`` (mode ``refresh``) is the record that the new one supersedes. Latency goes to a side table.
        """
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        generation = replace.generation + 1 if replace else 0
        record = Record(request.key, request.canonical, reply, created, generation)
        with self._transaction():
            kept = self._keep(record, shard=None)
            self._db.execute("INSERT INTO latencies VALUES (?, ?, ?)", (record.key, seconds, attempts))
        return kept

    def _keep(self, record: Record, shard: str | None) -> Record:
        line = record.line()
        row = self._db.execute("SELECT record, digest FROM replies WHERE key = ?", (record.key,)).fetchone()
        if row is not None:
            try:
                old = decode(row[0], row[1], record.key)
            except ValueError:
                old = None  # a damaged record gives way to a sound one
            if old is not None and old.rank <= record.rank:
                return old
        self._db.execute(
            "INSERT INTO replies (key, record, digest, shard) VALUES (?, ?, ?, ?) "
            "ON CONFLICT (key) DO UPDATE "
            "SET record = excluded.record, digest = excluded.digest, shard = excluded.shard",
            (record.key, line, digest_of(line), shard),
        )
        return record

    @contextmanager
    def _transaction(self) -> Iterator[None]:
        self._db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self._db.execute("ROLLBACK")
            raise
        self._db.execute("COMMIT")

    # --- the shared layer ---

    def share(self) -> Path | None:
        """Write the records that no shard holds yet to a new shard; ``None`` when there are none."""
        with self._transaction():
            rows = self._db.execute(
                "SELECT key, record, digest FROM replies WHERE shard IS NULL ORDER BY key"
            ).fetchall()
            if not rows:
                return None
            for key, line, digest in rows:
                decode(line, digest, f"{self._path}: key {key[:12]}")
            text = "".join(f"{digest} {line}\n" for _, line, digest in rows)
            name = hashlib.sha256(text.encode("ascii")).hexdigest()
            path = self.shards / f"{name}.jsonl"
            write_text(path, text)
            self._db.executemany("UPDATE replies SET shard = ? WHERE key = ?", [(name, key) for key, _, _ in rows])
            self._db.execute("INSERT OR IGNORE INTO shards VALUES (?, ?)", (name, len(rows)))
        return path

    def merge(self, other: Path) -> int:
        """Take in every record of another store's folder or shard folder; returns how many keys are new.

        Raises:
            UserError: The folder holds no shard.
        """
        folder = other / "shards" if (other / "shards").is_dir() else other
        paths = sorted(folder.glob("*.jsonl"))
        if not paths:
            raise UserError(
                f"{other}: holds no shard (*.jsonl); expected a store's folder: run 'slicewise store share' there."
            )
        before = len(self)
        for path in paths:
            target = self.shards / path.name
            if not target.exists():
                write_text(target, path.read_text(encoding="utf-8"))
        self._take_in_shards()
        return len(self) - before

    def _take_in_shards(self) -> None:
        known = {name for (name,) in self._db.execute("SELECT name FROM shards")}
        for path in sorted(self.shards.glob("*.jsonl")):
            if path.stem in known:
                continue
            records, faults = read_shard(path)
            for fault in faults:
                warnings.warn(f"{fault}; it is not used", StoreWarning, stacklevel=3)
            with self._transaction():
                for record in records:
                    self._keep(record, path.stem)
                if not faults:
                    self._db.execute("INSERT OR IGNORE INTO shards VALUES (?, ?)", (path.stem, len(records)))

    def verify(self) -> Verdict:
        """Re-hash every record of both layers and every shard's name; nothing is changed."""
        faults: list[str] = []
        count = 0
        for key, line, digest in self._db.execute("SELECT key, record, digest FROM replies ORDER BY key"):
            count += 1
            try:
                decode(line, digest, f"{self._path}: key {key[:12]}")
            except ValueError as error:
                faults.append(str(error))
        paths = sorted(self.shards.glob("*.jsonl"))
        for path in paths:
            if sha256_file(path) != path.stem:
                faults.append(f"{path}: its content does not match its name")
            faults.extend(read_shard(path)[1])
        return Verdict(count, len(paths), faults)

    def latencies(self) -> Iterable[tuple[str, float, int]]:
        """Key, seconds and attempts of every call bought here; never part of an artifact."""
        return iter(self._db.execute("SELECT key, seconds, attempts FROM latencies").fetchall())


def read_shard(path: Path) -> tuple[list[Record], list[str]]:
    """The sound records of a shard and its faults, each naming the file and the line."""
    records: list[Record] = []
    faults: list[str] = []
    for number, raw in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not raw:
            continue
        digest, _, line = raw.decode("utf-8", "replace").partition(" ")
        try:
            records.append(decode(line, digest, f"{path}: line {number}"))
        except ValueError as error:
            faults.append(str(error))
    return records, faults


def summarise(store: Store) -> dict[str, dict[str, Any]]:
    """Calls, tokens and cost by served deployment; a call without a declared price counts as unpriced."""
    totals: dict[str, dict[str, Any]] = {}
    for record in store.records():
        model = str(json.loads(record.request)["deployment"].get("model", "?"))
        row = totals.setdefault(
            model,
            {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0, "cost": 0.0, "unpriced": 0},
        )
        row["calls"] += 1
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
            row[name] += getattr(record.reply, name) or 0
        if record.reply.cost is None:
            row["unpriced"] += 1
        else:
            row["cost"] += record.reply.cost
    return dict(sorted(totals.items()))
