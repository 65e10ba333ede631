"""The response store: every reply that was paid for, by the key of its request.

Two layers. The *live* layer is one SQLite file on local disk, safe under many processes, committed before a reply is
used. The *shared* layer is a folder of immutable JSONL shards named by the SHA-256 of their content, which DVC tracks:
two people's stores merge by taking the union of the files.

Where a key was bought twice, one record wins by a fixed rule: the highest generation (only ``refresh`` raises it),
then the earliest creation, then the lowest digest; so any two merges agree.

Every record carries a digest and is checked when it is read. A record that does not check is never used.
"""

from __future__ import annotations

import datetime
import hashlib
import sqlite3
import time
import warnings
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple, Self

from slicewise.artifacts import sha256_file, write_text
from slicewise.errors import UserError
from slicewise.llm.records import Record, StoreWarning, decode, digest_of, read_shard
from slicewise.llm.request import Reply, Request

BUSY_SECONDS = 60
OPEN_ATTEMPTS = 100
LOOKUP_CHUNK = 500

_SCHEMA = """
CREATE TABLE IF NOT EXISTS replies (
    id INTEGER PRIMARY KEY, key TEXT NOT NULL UNIQUE, record TEXT NOT NULL, digest TEXT NOT NULL, shard TEXT
);
CREATE TABLE IF NOT EXISTS shards (name TEXT PRIMARY KEY, records INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS latencies (key TEXT NOT NULL, seconds REAL NOT NULL, attempts INTEGER NOT NULL);
CREATE TABLE IF NOT EXISTS spend (name TEXT PRIMARY KEY, dollars REAL NOT NULL);
CREATE TABLE IF NOT EXISTS holds (
    name TEXT NOT NULL, pid INTEGER NOT NULL, dollars REAL NOT NULL, PRIMARY KEY (name, pid)
);
CREATE INDEX IF NOT EXISTS unshared ON replies (id) WHERE shard IS NULL;
"""


class Verdict(NamedTuple):
    """What :meth:`Store.verify` found."""

    records: int
    shards: int
    faults: list[str]


class Store:
    """Both layers of one project's store.

    Open it once per process. Methods may be called from many processes at once. When ``put`` returns, the reply
    survives the death of every process; a loss of power may take the last moments with it, but never damages the rest.
    """

    def __init__(self, root: Path) -> None:
        """Open or create the store below ``root`` and take in any shard not seen before.

        Raises:
            UserError: The folder or the database cannot be opened.
        """
        self.root = Path(root)
        self.shards = self.root / "shards"
        self.path = self.root / "live.sqlite"
        try:
            self.shards.mkdir(parents=True, exist_ok=True)
            self.db = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None)
            # A flipped byte may leave invalid UTF-8: it must reach the digest's check instead of raising.
            self.db.text_factory = lambda raw: raw.decode("utf-8", "surrogateescape")
            self._prepare()
        except (OSError, sqlite3.Error) as error:
            raise UserError(
                f"{self.path}: the response store cannot be opened ({error}); expected a writable local folder."
            ) from error
        self._take_in_shards()

    def _prepare(self) -> None:
        """Journal mode and tables. SQLite's busy time-out does not cover a change of the journal mode."""
        for attempt in range(1, OPEN_ATTEMPTS + 1):
            try:
                if self.db.execute("PRAGMA journal_mode").fetchone()[0] != "wal":
                    self.db.execute("PRAGMA journal_mode=WAL")
                self.db.execute("PRAGMA synchronous=NORMAL")
                self.db.executescript(_SCHEMA)
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or attempt == OPEN_ATTEMPTS:
                    raise
                time.sleep(0.05)
            else:
                return

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the database."""
        self.close()

    def close(self) -> None:
        """Close the database; everything put is already durable."""
        self.db.close()

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
            for key, line, digest in self.db.execute(query, chunk):
                record = self._sound(key, line, digest)
                if record is not None:
                    found[key] = record
        return found

    def records(self) -> Iterator[Record]:
        """Every sound record, in the order of the keys; a damaged one is warned about and left out."""
        for key, line, digest in self.db.execute("SELECT key, record, digest FROM replies ORDER BY key"):
            record = self._sound(key, line, digest)
            if record is not None:
                yield record

    def _sound(self, key: str, line: str, digest: str) -> Record | None:
        try:
            record = decode(line, digest, f"{self.path}: key {key[:12]}")
            if record.key != key:
                raise ValueError(f"{self.path}: key {key[:12]} holds the record of another key")
        except ValueError as error:
            warnings.warn(f"{error}; it is not used", StoreWarning, stacklevel=3)
            return None
        return record

    def __len__(self) -> int:
        """How many keys are stored."""
        return int(self.db.execute("SELECT COUNT(*) FROM replies").fetchone()[0])

    # --- writing ---

    def put(
        self, request: Request, reply: Reply, *, seconds: float, attempts: int, replace: Record | None = None
    ) -> Record:
        """Store the reply to a request; see :meth:`put_call`."""
        return self.put_call(request.key, request.canonical, reply, seconds=seconds, attempts=attempts, replace=replace)

    def put_call(
        self,
        key: str,
        canonical: str,
        reply: Reply,
        *,
        seconds: float,
        attempts: int,
        replace: Record | None = None,
        spend: tuple[str, float] | None = None,
    ) -> Record:
        """Store a reply durably and return the record that is now valid for its key.

        When another process stored the key first, its record is returned and used, so that everybody reads one reply.

        Args:
            key: Key of the request.
            canonical: Canonical JSON of the request's identity, whose hash the key is.
            reply: The reply.
            seconds: Latency, for the side table.
            attempts: Attempts that it took, likewise.
            replace: The record that the new one supersedes (mode ``refresh``).
            spend: Name of a budget and US dollars, written in the same transaction, so that no kill parts them.
        """
        created = datetime.datetime.now(datetime.UTC).isoformat(timespec="microseconds")
        generation = replace.generation + 1 if replace else 0
        record = Record(key, canonical, reply, created, generation)
        with self.transaction():
            kept = self._keep(record, shard=None)
            self.db.execute("INSERT INTO latencies VALUES (?, ?, ?)", (key, seconds, attempts))
            if spend is not None and spend[1]:
                self.db.execute(
                    "INSERT INTO spend VALUES (?, ?) ON CONFLICT (name) DO UPDATE "
                    "SET dollars = dollars + excluded.dollars",
                    spend,
                )
        return kept

    def _keep(self, record: Record, shard: str | None) -> Record:
        line = record.line()
        digest = digest_of(line)
        added = self.db.execute(
            "INSERT OR IGNORE INTO replies (key, record, digest, shard) VALUES (?, ?, ?, ?)",
            (record.key, line, digest, shard),
        )
        return record if added.rowcount else self._settle(record, line, digest, shard)

    def _settle(self, record: Record, line: str, digest: str, shard: str | None) -> Record:
        """Choose between a record and the one that is stored under its key."""
        row = self.db.execute("SELECT record, digest, shard FROM replies WHERE key = ?", (record.key,)).fetchone()
        try:
            old = decode(row[0], row[1], record.key)
        except ValueError:
            old = None  # a damaged record gives way to a sound one
        if old is not None and old.rank <= record.rank:
            if shard is not None and row[2] is None and row[1] == digest:
                self.db.execute("UPDATE replies SET shard = ? WHERE key = ?", (shard, record.key))
            return old
        self.db.execute(
            "UPDATE replies SET record = ?, digest = ?, shard = ? WHERE key = ?", (line, digest, shard, record.key)
        )
        return record

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """One writer at a time; all of it or nothing."""
        self.db.execute("BEGIN IMMEDIATE")
        try:
            yield
        except BaseException:
            self.db.execute("ROLLBACK")
            raise
        self.db.execute("COMMIT")

    # --- the shared layer ---

    def share(self) -> Path | None:
        """Write the records that no shard holds yet to a new shard; ``None`` when there are none.

        A damaged record is warned about and stays behind.
        """
        with self.transaction():
            rows = self.db.execute(
                "SELECT key, record, digest FROM replies WHERE shard IS NULL ORDER BY key"
            ).fetchall()
            sound = [row for row in rows if self._sound(*row) is not None]
            if not sound:
                return None
            text = "".join(f"{digest} {line}\n" for _, line, digest in sound)
            name = hashlib.sha256(text.encode("ascii")).hexdigest()
            path = self.shards / f"{name}.jsonl"
            write_text(path, text)
            self.db.executemany("UPDATE replies SET shard = ? WHERE key = ?", [(name, key) for key, _, _ in sound])
            self.db.execute("INSERT OR IGNORE INTO shards VALUES (?, ?)", (name, len(sound)))
        return path

    def merge(self, other: Path) -> int:
        """Take in every record of another store's folder or shard folder; returns how many keys are new.

        Raises:
            UserError: The folder holds no shard, or a shard there is damaged (nothing is taken in then).
        """
        folder = other / "shards" if (other / "shards").is_dir() else other
        paths = sorted(folder.glob("*.jsonl"))
        if not paths:
            raise UserError(
                f"{other}: holds no shard (*.jsonl); expected a store's folder: run 'slicewise store share' there."
            )
        for path in paths:
            if sha256_file(path) != path.stem:
                raise UserError(f"{path}: its content does not match its name; get a sound copy of this shard.")
        before = len(self)
        for path in paths:
            target = self.shards / path.name
            if not target.exists():
                write_text(target, path.read_text(encoding="utf-8"))
        self._take_in_shards()
        return len(self) - before

    def _take_in_shards(self) -> None:
        known = {name for (name,) in self.db.execute("SELECT name FROM shards")}
        for path in sorted(self.shards.glob("*.jsonl")):
            if path.stem in known:
                continue
            records, faults = read_shard(path)
            for fault in faults:
                warnings.warn(f"{fault}; it is not used", StoreWarning, stacklevel=3)
            with self.transaction():
                for record in records:
                    self._keep(record, path.stem)
                if not faults:
                    self.db.execute("INSERT OR IGNORE INTO shards VALUES (?, ?)", (path.stem, len(records)))

    def verify(self) -> Verdict:
        """Re-hash every record of both layers and every shard's name; nothing is changed."""
        faults: list[str] = []
        count = 0
        for key, line, digest in self.db.execute("SELECT key, record, digest FROM replies ORDER BY key"):
            count += 1
            try:
                if decode(line, digest, f"{self.path}: key {key[:12]}").key != key:
                    faults.append(f"{self.path}: key {key[:12]} holds the record of another key")
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
        return iter(self.db.execute("SELECT key, seconds, attempts FROM latencies").fetchall())
