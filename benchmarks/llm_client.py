"""The client against a bare asyncio loop around the same SDK, and the store's rates from four processes.

    python -m benchmarks.llm_client                    2,000 calls, 5 repeats (some minutes on 2 cores)
    python -m benchmarks.llm_client --calls 300 --repeats 1      a quick look

The far side is the tests' chat server on loopback, without faults, in a process of its own. Both arms send the same
bodies through ``openai`` with its aiohttp transport at concurrency 64. The bare arm keeps the texts in a list; ours
hashes, claims, stores durably and prices each of them. A gate comes first: both must end with the same texts.
"""

from __future__ import annotations

import argparse
import asyncio
import multiprocessing
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from slicewise.endpoints import Endpoint, LlmSettings, Prices
from slicewise.judges import LlmJudge
from slicewise.llm import wire
from slicewise.llm.client import Client
from slicewise.llm.connection import connect
from slicewise.llm.request import Message, Reply, Request
from slicewise.llm.store import Store
from slicewise.score.judge import JudgeItem
from slicewise.score.judge_llm import Asking, CardJudge

from benchmarks.arms import Run, Timer, interleave, machine, median, report_run, rows, write

SERVER = Path(__file__).parents[1] / "tests" / "llm" / "fake_server.py"
CONCURRENCY = 64
PROCESSES = 4
ARMS = {"bare": "bare asyncio loop around the SDK", "ours": "Slicewise, cold store", "warm": "Slicewise, warm store"}
TARGET = 0.9


def endpoint(url: str) -> Endpoint:
    """The server, at the concurrency of both arms."""
    return Endpoint(
        provider="local",
        model="test-model",
        base_url=url,
        api_key_env=None,
        concurrency=CONCURRENCY,
        prices=Prices(input=1.0, output=2.0),
    )


def requests(declared: Endpoint, count: int) -> list[Request]:
    """Judge-sized prompts of about 400 words."""
    filler = "the lesion lies in the left frontal lobe and measures seven millimetres " * 33
    sampling = wire.sampling(declared)
    return [
        Request(declared.deployment, (Message("user", (f"item {i}: {filler}",)),), sampling, item=str(i))
        for i in range(count)
    ]


async def bare(declared: Endpoint, made: list[Request]) -> list[str | None]:
    """What one writes without a framework: workers, the SDK, a list."""
    texts: list[str | None] = [None] * len(made)
    work = iter(enumerate(made))

    async def worker(connection: Any) -> None:
        for index, request in work:
            completion = await connection.chat.completions.create(**wire.body(request, declared, "json_schema"))
            texts[index] = completion.choices[0].message.content

    async with connect(declared) as connection:
        await asyncio.gather(*(worker(connection) for _ in range(CONCURRENCY)))
    return texts


def arm(name: str, url: str, count: int) -> None:
    """One repeat of one arm; the SDK is imported before the clock starts."""
    import aiohttp  # noqa: F401
    import openai.resources.chat.completions  # noqa: F401

    declared, timer = endpoint(url), Timer()
    made = requests(declared, count)
    asyncio.run(bare(declared, made[:CONCURRENCY]))  # warm up, the same for both
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
        client = Client(declared, store, LlmSettings())
        if name == "warm":
            client.answer_all(made)
        with timer.measure():
            if name == "bare":
                texts = asyncio.run(bare(declared, made))
            else:
                texts = [result.reply.text if result.reply else None for result in client.answer_all(made)]
    assert all(f": item {i}: " in (text or "") for i, text in enumerate(texts))
    report_run(timer, count)


def gate(url: str) -> None:
    """Both ways end with the same texts."""
    declared = endpoint(url)
    made = requests(declared, 50)
    with tempfile.TemporaryDirectory() as folder, Store(Path(folder)) as store:
        ours = [r.reply.text if r.reply else None for r in Client(declared, store, LlmSettings()).answer_all(made)]
    assert ours == asyncio.run(bare(declared, made))
    assert None not in ours


def _store_worker(folder: str, worker: int, count: int, reading: bool, seconds: Any) -> None:
    request = Request({"model": "m"}, (Message("user", ("x" * 900,)),), {})
    reply = Reply("a verdict", "stop", prompt_tokens=300, completion_tokens=20)
    with Store(Path(folder)) as store:
        made = [Request(request.deployment, request.messages, {}, draw=worker * count + i) for i in range(count)]
        keys = [one.key for one in made]
        start = time.perf_counter()
        for one, key in zip(made, keys, strict=True):
            if reading:
                assert store.get(key) is not None
            else:
                store.put(one, reply, seconds=0.1, attempts=1)
        seconds.put(time.perf_counter() - start)


def store_rates(count: int) -> dict[str, float]:
    """Puts and gets a second of :data:`PROCESSES` processes on one store, ``count`` each."""
    context = multiprocessing.get_context("spawn")
    rates: dict[str, float] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, reading in (("put", False), ("get", True)):
            seconds = context.Queue()
            workers = [
                context.Process(target=_store_worker, args=(folder, i, count, reading, seconds))
                for i in range(PROCESSES)
            ]
            for worker in workers:
                worker.start()
            taken = [seconds.get() for _ in workers]
            for worker in workers:
                worker.join()
            rates[name] = PROCESSES * count / max(taken)
    return rates


def warm_judge(count: int) -> float:
    """Seconds of ``count`` verdicts that are all in the store, from the texts to the values."""
    declared = LlmJudge(kind="llm", endpoint=endpoint("http://127.0.0.1:9/v1"))
    items = [JudgeItem(str(i), "Where is the lesion?", f"Left, {i} mm.", f"Frontal, {i} mm") for i in range(count)]
    reply = Reply('{"accuracy": 7, "relevance": 8, "helpfulness": 9}', "stop", schema_mode="json_schema")
    with tempfile.TemporaryDirectory() as folder:
        judge = CardJudge("judge", declared, Asking(Path(folder), LlmSettings(mode="replay")))
        with Store(Path(folder)) as store:
            for item in items:
                store.put(judge.request(item), reply, seconds=0.1, attempts=1)
            store.share()
        start = time.perf_counter()
        values = {verdict.value for verdict in judge.rate(items)}
        seconds = time.perf_counter() - start
    assert len(values) == 1
    return seconds


def main() -> None:
    """Run the arms, then the store, and write ``results/bench/llm_client.*``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--calls", type=int, default=2000)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--puts", type=int, default=5000, help="of each process")
    parser.add_argument("--verdicts", type=int, default=10_000)
    parser.add_argument("--arm", choices=[*ARMS])
    parser.add_argument("--url")
    options = parser.parse_args()
    if options.arm:
        arm(options.arm, options.url, options.calls)
        return
    with subprocess.Popen([sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            url = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
            gate(url)
            passed = ["--calls", str(options.calls), "--url", url]
            runs = interleave("benchmarks.llm_client", list(ARMS), options.repeats, passed, threads=1)
        finally:
            server.kill()
    _write(options, runs, store_rates(options.puts), warm_judge(options.verdicts))


def _write(options: argparse.Namespace, runs: dict[str, list[Run]], rates: dict[str, float], judged: float) -> None:
    """One table of the arms; the store's rates and the verdict are notes."""
    ratios = sorted(bare.wall / ours.wall for bare, ours in zip(runs["bare"], runs["ours"], strict=True))
    cpu = median(runs["bare"], "cpu") / median(runs["ours"], "cpu")
    ratio = ratios[len(ratios) // 2]
    notes = [
        f"{options.calls} calls, {options.repeats} repeats, concurrency {CONCURRENCY}, server without faults or delay",
        f"throughput of ours over bare, pair by pair: median {ratio:.2f} ({ratios[0]:.2f} to {ratios[-1]:.2f}); "
        f"by CPU seconds of the client {cpu:.2f}; asked for: {TARGET}",
        f"calls a second: bare {options.calls / median(runs['bare'], 'wall'):.0f}, "
        f"ours {options.calls / median(runs['ours'], 'wall'):.0f}, "
        f"from a warm store {options.calls / median(runs['warm'], 'wall'):.0f}",
        f"store, {PROCESSES} processes x {options.puts} records of about 2 kB: "
        f"{rates['put']:.0f} puts/s, {rates['get']:.0f} gets/s",
    ]
    notes.append(f"{options.verdicts} verdicts from a warm store: {judged:.2f} s beyond start-up, no request")
    about = machine(["openai", "aiohttp"])
    write("llm_client", "Client and response store", {"2 arms and a warm store": rows(runs, ARMS)}, notes, about)


if __name__ == "__main__":
    main()
