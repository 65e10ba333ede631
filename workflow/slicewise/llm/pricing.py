"""The run's ledger, and token estimates before anything is bought. Prices themselves are declared: ``endpoints``."""

from __future__ import annotations

import math
import sqlite3
from pathlib import Path

from slicewise.errors import UserError

CHARS_PER_TOKEN = 4.0


def estimate_text_tokens(text: str) -> int:
    """A rough count where the model's tokenizer is not known: four characters a token, marked as an estimate."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


class Ledger:
    """A budget that all jobs of a run share, kept beside the live store.

    What was spent under ``name`` survives a kill; raising the limit or changing the name goes on.
    """

    def __init__(self, path: Path, name: str, limit: float | None) -> None:
        """Open the ledger ``name`` with a limit in US dollars; ``None`` is no limit."""
        self.name, self.limit = name, limit
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            self._db = sqlite3.connect(path, timeout=60, isolation_level=None)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute(
                "CREATE TABLE IF NOT EXISTS spend (name TEXT NOT NULL, key TEXT NOT NULL, cost REAL NOT NULL)"
            )
        except (OSError, sqlite3.Error) as error:
            raise UserError(f"{path}: the budget's ledger cannot be opened ({error}).") from error
        self._held = 0.0

    @property
    def spent(self) -> float:
        """US dollars recorded under the ledger's name, by all processes."""
        row = self._db.execute("SELECT COALESCE(SUM(cost), 0) FROM spend WHERE name = ?", (self.name,)).fetchone()
        return float(row[0])

    def hold(self, estimate: float) -> bool:
        """Set money aside for a call about to start; False when the limit would be passed."""
        if self.limit is not None and self.spent + self._held + estimate > self.limit:
            return False
        self._held += estimate
        return True

    def settle(self, estimate: float, key: str, cost: float | None) -> None:
        """Give back what was set aside and record what the call really cost."""
        self._held = max(0.0, self._held - estimate)
        if cost:
            self._db.execute("INSERT INTO spend VALUES (?, ?, ?)", (self.name, key, cost))

    def close(self) -> None:
        """Close the ledger."""
        self._db.close()
