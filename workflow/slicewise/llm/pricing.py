"""What a call may cost before it is bought, and the budget that all jobs of a run share."""

from __future__ import annotations

import json
import math
import os
from functools import cache
from pathlib import Path
from typing import Any

from slicewise.endpoints import Endpoint
from slicewise.errors import UserError
from slicewise.llm.request import Image, Request
from slicewise.llm.store import Store

CHARS_PER_TOKEN = 4.0


def estimate_text_tokens(text: str) -> int:
    """A rough count where the model's tokenizer is not known: four characters a token, marked as an estimate."""
    return math.ceil(len(text) / CHARS_PER_TOKEN)


def text_tokens(text: str, endpoint: Endpoint) -> int:
    """Tokens of a text: by the endpoint's own tokenizer where a local one is declared, else estimated.

    Raises:
        UserError: The declared tokenizer cannot be read.
    """
    if endpoint.tokenizer is None:
        return estimate_text_tokens(text)
    return len(_tokenizer(endpoint.tokenizer).encode(text, add_special_tokens=False).ids)


@cache
def _tokenizer(path: str) -> Any:
    from tokenizers import Tokenizer

    try:
        text = Path(path).read_text(encoding="utf-8")
        known = "model" in json.loads(text)
    except (OSError, ValueError, TypeError) as error:
        raise UserError(f"{path}: is no tokenizer ({error}); expected the model's tokenizer.json.") from error
    if not known:
        raise UserError(f"{path}: is no tokenizer (it has no 'model'); expected the model's tokenizer.json.")
    return Tokenizer.from_str(text)


def prompt_tokens(request: Request, endpoint: Endpoint) -> int:
    """Prompt tokens: text as :func:`text_tokens`, images by the endpoint's rule at their sent size."""
    total = 0
    for message in request.messages:
        for part in message.parts:
            if isinstance(part, Image):
                total += endpoint.image_tokens.tokens(part.width, part.height)
            else:
                total += text_tokens(part, endpoint)
    return total


def estimate(request: Request, endpoint: Endpoint, *, batch: bool = False) -> float:
    """US dollars that a call may cost at most: estimated prompt tokens and the whole reply limit; 0 unpriced."""
    if endpoint.prices is None:
        return 0.0
    return endpoint.prices.cost(prompt_tokens(request, endpoint), endpoint.sampling.max_tokens, batch=batch)


class Ledger:
    """A budget under a name, kept in the live store: spent money and what calls under way may still cost.

    What was spent is written with the reply that it bought, so a kill loses no cent; what a killed process had set
    aside is freed because the process is gone. Raising the limit or changing the name goes on.
    """

    def __init__(self, store: Store, name: str, limit: float | None) -> None:
        """Bind the budget ``name`` with a limit in US dollars; ``None`` is no limit."""
        self.name, self.limit, self._store, self._pid = name, limit, store, os.getpid()
        # A dead process may have had our number.
        store.db.execute("DELETE FROM holds WHERE name = ? AND pid = ?", (name, self._pid))

    @property
    def spent(self) -> float:
        """US dollars spent under the budget's name, by all processes."""
        row = self._store.db.execute("SELECT dollars FROM spend WHERE name = ?", (self.name,)).fetchone()
        return float(row[0]) if row else 0.0

    def hold(self, dollars: float) -> bool:
        """Set money aside for a call about to start; False when the limit would be passed."""
        if self.limit is None:
            return True
        with self._store.transaction():
            if self.spent + self._held() + dollars > self.limit:
                return False
            self._store.db.execute(
                "INSERT INTO holds VALUES (?, ?, ?) ON CONFLICT (name, pid) DO UPDATE "
                "SET dollars = dollars + excluded.dollars",
                (self.name, self._pid, dollars),
            )
        return True

    def release(self, dollars: float) -> None:
        """Give back what was set aside for a call that has ended."""
        if self.limit is not None:
            self._store.db.execute(
                "UPDATE holds SET dollars = MAX(0, dollars - ?) WHERE name = ? AND pid = ?",
                (dollars, self.name, self._pid),
            )

    def _held(self) -> float:
        rows = self._store.db.execute("SELECT pid, dollars FROM holds WHERE name = ?", (self.name,)).fetchall()
        return float(sum(dollars for pid, dollars in rows if _alive(pid)))


def _alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True
