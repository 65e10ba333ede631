"""A stored call, its line in a shard, and the checks that every reader makes."""

from __future__ import annotations

import dataclasses
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path

from slicewise.artifacts import canonical_json
from slicewise.llm.request import Reply, key_of


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
        reply = {name: getattr(self.reply, name) for name in _REPLY_FIELDS}
        return canonical_json({**{name: getattr(self, name) for name in _FIELDS}, "reply": reply})

    @property
    def rank(self) -> tuple[int, str, str]:
        """Lowest wins among records of one key."""
        return (-self.generation, self.created, digest_of(self.line()))


_REPLY_FIELDS = tuple(field.name for field in dataclasses.fields(Reply))
_FIELDS = tuple(field.name for field in dataclasses.fields(Record) if field.name != "reply")


def digest_of(line: str) -> str:
    """SHA-256 of a record's line. Damage may leave any character in it, and each must count."""
    return hashlib.sha256(line.encode("utf-8", "surrogatepass")).hexdigest()


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


def read_shard(path: Path) -> tuple[list[Record], list[str]]:
    """The sound records of a shard and its faults, each naming the file and the line."""
    records: list[Record] = []
    faults: list[str] = []
    for number, raw in enumerate(path.read_bytes().split(b"\n"), start=1):
        if not raw:
            continue
        digest, _, line = raw.decode("utf-8", "surrogateescape").partition(" ")
        try:
            records.append(decode(line, digest, f"{path}: line {number}"))
        except ValueError as error:
            faults.append(str(error))
    return records, faults
