"""Adaptive concurrency for one account: how many calls may be in flight at once.

Slow start doubles the limit for every full round of successes until the first rate limit; then the limit grows by 5 %
a round and is cut to 80 % once per rate-limit episode. It grows only while at least 80 % of it is in use, and only on
calls that succeeded at the first attempt, so a warm cache or a slow producer never inflates it.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

START = 8.0
GROWTH = 1.05
CUT = 0.8
USED = 0.8
EPISODE_SECONDS = 15.0


class Throttle:
    """A limit on calls in flight that follows what the account allows.

    Not for several event loops at once. ``clock`` returns monotonic seconds and is injected by tests.
    """

    def __init__(self, ceiling: int, *, start: float = START, clock: Callable[[], float] = time.monotonic) -> None:
        """Start at ``start`` calls in flight and never pass ``ceiling``."""
        self.ceiling = float(max(1, ceiling))
        self.limit = min(start, self.ceiling)
        self.in_flight = 0
        self.cuts = 0
        self._clock = clock
        self._slow_start = True
        self._episode_ends = 0.0
        self._resume_at = 0.0
        self._round = 0
        self._waiting: deque[asyncio.Future[None]] = deque()

    async def acquire(self) -> None:
        """Wait until one more call may start."""
        while True:
            pause = self._resume_at - self._clock()
            if pause > 0:
                await asyncio.sleep(pause)
            elif self.in_flight < int(self.limit):
                self.in_flight += 1
                return
            else:
                turn: asyncio.Future[None] = asyncio.get_running_loop().create_future()
                self._waiting.append(turn)
                await turn

    def release(self) -> None:
        """A call ended, in whatever way; the next in line may start."""
        self.in_flight -= 1
        self._wake()

    def succeeded(self, *, first_attempt: bool) -> None:
        """A call succeeded; a full round of first-attempt successes at a used limit raises the limit."""
        if not first_attempt or self.in_flight < USED * int(self.limit):
            return
        self._round += 1
        if self._round >= int(self.limit):
            self._round = 0
            self.limit = min(self.ceiling, max(self.limit + 1, self.limit * (2.0 if self._slow_start else GROWTH)))
            self._wake()

    def rate_limited(self, retry_after: float | None) -> None:
        """The account refused a call: cut once per episode, and start nothing before ``retry_after`` seconds."""
        now = self._clock()
        if retry_after:
            self._resume_at = max(self._resume_at, now + retry_after)
        if now < self._episode_ends:
            return
        self._episode_ends = now + max(EPISODE_SECONDS, retry_after or 0.0)
        self._slow_start = False
        self._round = 0
        self.cuts += 1
        self.limit = max(1.0, self.limit * CUT)

    def raise_ceiling(self, ceiling: int) -> None:
        """Take over another caller's ceiling on the same account when it is higher."""
        self.ceiling = max(self.ceiling, float(ceiling))

    def _wake(self) -> None:
        free = int(self.limit) - self.in_flight
        while free > 0 and self._waiting:
            turn = self._waiting.popleft()
            if not turn.done():
                turn.set_result(None)
                free -= 1


_accounts: dict[str, Throttle] = {}


def of_account(account: str, ceiling: int) -> Throttle:
    """The throttle of an account in this process: what one model learned of its limits serves the next one."""
    throttle = _accounts.setdefault(account, Throttle(ceiling))
    throttle.raise_ceiling(ceiling)
    return throttle
