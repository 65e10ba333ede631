"""Every tool call by content: what was called with what, on which files, with what open, and what came back.

The key of a call is the SHA-256 of the tools' code, the tool, its arguments, the digest of the case's files and the ids
that were open before it. A call that is stored is not made again; one that is not is made again with the same result,
because tools are deterministic and need no network. So a trajectory replays offline to the byte.
"""

from __future__ import annotations

import hashlib
import json
import sqlite3
import threading
import zlib
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any, Self

import slicewise
from slicewise import artifacts
from slicewise.errors import UserError
from slicewise.infer.agent.tools import Observation

BUSY_SECONDS = 60
_SCHEMA = """
CREATE TABLE IF NOT EXISTS calls (key TEXT PRIMARY KEY, record TEXT NOT NULL, digest TEXT NOT NULL, png BLOB);
"""


@cache
def tools_version() -> str:
    """Digest of the tools' own code: what an edited tool gave before is never taken for what it gives now."""
    digest = hashlib.sha256()
    package = Path(slicewise.__file__).parent
    for path in sorted(p for part in ("imaging", "mcp") for p in (package / part).glob("*.py")):
        digest.update(path.name.encode())
        digest.update(path.read_bytes().replace(b"\r\n", b"\n"))
    return digest.hexdigest()[:16]


def call_key(tool: str, arguments: Mapping[str, Any], files: str, opened: Sequence[str]) -> str:
    """The key of a call.

    Args:
        tool: Name of the tool.
        arguments: Its arguments as sent.
        files: Digest of the case's files.
        opened: Ids that the session has given out before, in order.
    """
    identity = {"tool": tool, "arguments": dict(arguments), "files": files, "opened": list(opened)}
    return artifacts.sha256_json({"tools": tools_version(), **identity})


class ToolStore:
    """Observations by key, in one SQLite file that many processes and threads may use."""

    def __init__(self, path: Path) -> None:
        """Open or create the store.

        Raises:
            UserError: The file cannot be opened.
        """
        self.path = Path(path)
        self._lock = threading.Lock()
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(self.path, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
            self._db.executescript(_SCHEMA)
        except (OSError, sqlite3.Error) as error:
            raise UserError(
                f"{self.path}: the store of tool calls cannot be opened ({error}); expected a writable local folder."
            ) from error

    def __enter__(self) -> Self:
        """The store itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; everything put is already there."""
        self._db.close()

    def get(self, key: str) -> Observation | None:
        """What a call gave, or ``None``. A damaged record is not used."""
        with self._lock:
            row = self._db.execute("SELECT record, digest, png FROM calls WHERE key = ?", (key,)).fetchone()
        if row is None:
            return None
        try:
            record = json.loads(row[0])
            png = None if row[2] is None else zlib.decompress(row[2])
            found = Observation(record["ok"], record["text"], record["structured"], png)
        except (ValueError, KeyError, TypeError, zlib.error):
            return None
        return found if found.digest == row[1] else None

    def put(self, key: str, observation: Observation) -> None:
        """Keep what a call gave; an earlier sound record stays."""
        record = json.dumps({"ok": observation.ok, "text": observation.text, "structured": observation.structured})
        png = None if observation.png is None else zlib.compress(observation.png, 1)
        if self.get(key) is not None:
            return
        with self._lock:
            self._db.execute("INSERT OR REPLACE INTO calls VALUES (?, ?, ?, ?)", (key, record, observation.digest, png))

    def __len__(self) -> int:
        """How many calls are stored."""
        with self._lock:
            return int(self._db.execute("SELECT COUNT(*) FROM calls").fetchone()[0])
