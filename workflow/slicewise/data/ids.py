"""Sample ids: readable in front, a hash of the content behind, never a position.

``brain-image-<volume>-s007-detection-1a2b3c``: domain, level, volume, slice (image level only), task, hash. The hash
covers the record as released, before any choice of frames, so an item keeps its id under ``as_released``,
``corrected`` and ``none``, and answers made for one can be compared with answers made for another.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SHORT = 6  # hex digits; items that share volume, slice and task are few, and a clash lengthens the hash below
LONG = 16


@dataclass(frozen=True, slots=True)
class Identity:
    """What an id is made of.

    Attributes:
        domain: ``brain``, ``knee`` or ``chest``.
        level: ``image`` or ``volume``.
        volume_id: The volume, as the dataset names it.
        slice_number: The slice of an image item as the dataset numbers it; ``None`` for a volume.
        task: The task.
        content: Everything else that tells two items apart; any JSON value.
    """

    domain: str
    level: str
    volume_id: str
    slice_number: int | None
    task: str
    content: Any

    @property
    def front(self) -> str:
        """The readable part."""
        parts = [self.domain, self.level, self.volume_id]
        if self.slice_number is not None:
            parts.append(f"s{self.slice_number:03d}")
        return "-".join((*parts, self.task))

    @property
    def digest(self) -> str:
        """SHA-256 of the front and the content as canonical JSON, in hex."""
        canonical = json.dumps([self.front, self.content], sort_keys=True, ensure_ascii=False, separators=(",", ":"))
        return hashlib.sha256(canonical.encode("utf-8", "surrogatepass")).hexdigest()


@dataclass(frozen=True, slots=True)
class SampleId:
    """An id and whether it belongs to a repeated record.

    Attributes:
        id: The id, unique in its benchmark.
        duplicate_of: Id of the first copy when an identical record came before; ``None`` otherwise.
    """

    id: str
    duplicate_of: str | None = None


def assign(identities: Sequence[Identity]) -> list[SampleId]:
    """Ids for all items of a benchmark, in the order given.

    Identical records get the same hash and an ordinal, ``-2`` for the second copy; because the copies are identical,
    it does not matter which comes first. Different records whose short hashes clash both get the long hash.
    """
    digests = [identity.digest for identity in identities]
    short: dict[str, set[str]] = defaultdict(set)
    for identity, digest in zip(identities, digests, strict=True):
        short[f"{identity.front}-{digest[:SHORT]}"].add(digest)
    copies: Counter[str] = Counter()
    result = []
    for identity, digest in zip(identities, digests, strict=True):
        name = f"{identity.front}-{digest[:SHORT]}"
        if len(short[name]) > 1:
            name = f"{identity.front}-{digest[:LONG]}"
        copies[digest] += 1
        copy = copies[digest]
        result.append(SampleId(name) if copy == 1 else SampleId(f"{name}-{copy}", duplicate_of=name))
    return result


def sample_id(domain: str, level: str, volume_id: str, slice_number: int | None, task: str, content: Any) -> str:
    """The id of one item whose content is known to be unique; see :class:`Identity`."""
    return assign([Identity(domain, level, volume_id, slice_number, task, content)])[0].id
