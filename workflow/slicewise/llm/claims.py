"""Who is buying what: so that two processes never pay for one call.

A claim is a lock on one byte of a file, at an offset that the key determines. The kernel drops it when its process
ends, however it ends, so a kill leaves no stale claim and no clock decides. One claim file per store, on local disk.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

OFFSET_DIGITS = 15  # 60 bits of the key: a file offset is a signed 64-bit number

# Closing any handle of a file drops all of the process's locks on it, so each file is opened once and kept.
_handles: dict[tuple[int, Path], int] = {}


class Claims:
    """The claims of this process on the keys of one store. One process holds a key at a time; threads share it."""

    def __init__(self, path: Path) -> None:
        """Open the claim file, which stays empty."""
        place = (os.getpid(), path.resolve())
        if place not in _handles:
            path.parent.mkdir(parents=True, exist_ok=True)
            _handles[place] = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        self._handle = _handles[place]

    def take(self, key: str) -> bool:
        """Claim a key (hexadecimal); False while another process holds it."""
        try:
            fcntl.lockf(self._handle, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, int(key[:OFFSET_DIGITS], 16))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def give(self, key: str) -> None:
        """Let a key go."""
        fcntl.lockf(self._handle, fcntl.LOCK_UN, 1, int(key[:OFFSET_DIGITS], 16))
