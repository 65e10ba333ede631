"""The concurrency controller on a clock of our own."""

from __future__ import annotations

import asyncio

from slicewise.llm.throttle import EPISODE_SECONDS, START, Throttle


class Clock:
    def __init__(self) -> None:
        self.now = 100.0

    def __call__(self) -> float:
        return self.now


def full_round(throttle: Throttle) -> None:
    throttle.in_flight = int(throttle.limit)
    for _ in range(int(throttle.limit)):
        throttle.succeeded(first_attempt=True)


def test_slow_start_doubles_until_the_first_cut_then_grows_by_five_percent() -> None:
    throttle = Throttle(1000, clock=Clock())
    full_round(throttle)
    assert throttle.limit == 2 * START
    full_round(throttle)
    assert throttle.limit == 4 * START
    throttle.rate_limited(None)
    assert throttle.limit == 4 * START * 0.8
    before = throttle.limit
    full_round(throttle)
    assert throttle.limit == max(before + 1, before * 1.05)


def test_one_cut_per_episode() -> None:
    clock = Clock()
    throttle = Throttle(64, start=50, clock=clock)
    for _ in range(20):
        throttle.rate_limited(None)
    assert throttle.cuts == 1
    clock.now += EPISODE_SECONDS + 0.1
    throttle.rate_limited(None)
    assert throttle.cuts == 2


def test_grows_only_when_used_and_only_on_first_attempts() -> None:
    throttle = Throttle(64, clock=Clock())
    throttle.in_flight = 1
    for _ in range(100):
        throttle.succeeded(first_attempt=True)
    throttle.in_flight = int(throttle.limit)
    for _ in range(100):
        throttle.succeeded(first_attempt=False)
    assert throttle.limit == START


def test_never_passes_its_ceiling_and_never_falls_below_one() -> None:
    clock = Clock()
    throttle = Throttle(10, clock=clock)
    for _ in range(10):
        full_round(throttle)
    assert throttle.limit == 10
    for _ in range(100):
        clock.now += 1000
        throttle.rate_limited(None)
    assert throttle.limit == 1.0


def test_never_more_in_flight_than_the_limit() -> None:
    async def run() -> int:
        throttle = Throttle(5, start=5)
        peak = 0

        async def call() -> None:
            nonlocal peak
            await throttle.acquire()
            peak = max(peak, throttle.in_flight)
            await asyncio.sleep(0)
            throttle.release()

        await asyncio.gather(*(call() for _ in range(200)))
        assert throttle.in_flight == 0
        return peak

    assert asyncio.run(run()) == 5
