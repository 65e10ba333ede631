"""What a person sees while calls are bought: the rate, what came from the store, what failed and what it costs."""

from __future__ import annotations

import sys
from typing import Any

from slicewise.llm.result import Result


class Bar:
    """A progress bar over calls; on a terminal only, so logs stay clean."""

    def __init__(self, total: int, name: str) -> None:
        """A bar over ``total`` calls."""
        from tqdm import tqdm

        self._bar: Any = tqdm(total=total, desc=name, unit="call", disable=None, file=sys.stderr, leave=False)
        self._cached, self._failed, self._cost = 0, 0, 0.0

    def update(self, _index: int, result: Result) -> None:
        """One more call ended; the signature is that of :data:`slicewise.llm.result.OnResult`."""
        self._cached += result.cached
        self._failed += result.outcome.makes_incomplete
        if result.reply is not None and not result.cached:
            self._cost += result.reply.cost or 0.0
        bought = max(1, self._bar.n + 1 - self._cached)
        total = self._cost / bought * (self._bar.total - self._cached)
        self._bar.set_postfix_str(f"stored {self._cached}, failed {self._failed}, ${self._cost:.2f} of ~${total:.2f}")
        self._bar.update()

    def __enter__(self) -> Bar:
        """The bar itself."""
        return self

    def __exit__(self, *_: object) -> None:
        """Take the bar off the screen."""
        self._bar.close()
