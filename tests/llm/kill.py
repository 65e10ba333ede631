"""Kill everything in the middle of a faulty run, go on, and look at what was bought: shared by a test and a law."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.request
from collections import Counter
from pathlib import Path
from typing import Any

from slicewise import artifacts, layout
from slicewise.llm import wire
from slicewise.llm.request import Request
from slicewise.llm.store import Store

HERE = Path(__file__).parent


class Server:
    """The fake server in a process of its own, so that it outlives the kill."""

    def __init__(self, log: Path, faults: float, seed: int) -> None:
        command = [sys.executable, str(HERE / "fake_server.py"), "--log", str(log)]
        self.process = subprocess.Popen(
            [*command, "--faults", str(faults), "--seed", str(seed)], stdout=subprocess.PIPE, text=True
        )
        assert self.process.stdout is not None
        self.url = f"http://127.0.0.1:{int(self.process.stdout.readline())}/v1"
        self.log = log

    @property
    def requests(self) -> int:
        with urllib.request.urlopen(self.url.removesuffix("/v1") + "/log") as reply:
            return int(json.load(reply)["requests"])

    def delivered(self) -> Counter[str]:
        """How often the reply to each call was sent whole, by the server's own log."""
        lines = self.log.read_text().splitlines() if self.log.exists() else []
        return Counter(json.loads(line)["call"] for line in lines)

    def stop(self) -> None:
        self.process.kill()
        self.process.wait()


def start(root: Path, url: str, processes: int, calls: int) -> subprocess.Popen[bytes]:
    """The run, in a process group of its own."""
    root.mkdir(parents=True, exist_ok=True)
    command = [sys.executable, str(HERE / "many.py"), "--root", str(root), "--url", url]
    return subprocess.Popen(
        [*command, "--processes", str(processes), "--calls", str(calls)],
        start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )


def kill_at(run: subprocess.Popen[bytes], server: Server, requests: int) -> None:
    """``kill -9`` of every process once the server has met so many requests."""
    while server.requests < requests and run.poll() is None:
        time.sleep(0.01)
    assert run.poll() is None, "the run ended before the kill: raise the number of calls"
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    time.sleep(0.3)  # replies under way reach the log


def name_of(request: Request, many: Any) -> str:
    """A call's name in the server's log: the hash of its body."""
    import hashlib

    body = wire.body(request, many.endpoint("http://unused/v1"), "json_schema")
    return hashlib.sha256(json.dumps(body, sort_keys=True).encode("utf-8", "replace")).hexdigest()


def requests_of(many: Any, root: Path, processes: int, calls: int) -> dict[str, Request]:
    """Every distinct call of the run by its key."""
    from slicewise.infer.items import Answer
    from slicewise.infer.language_model import backend
    from slicewise.infer.run import load_items

    found: dict[str, Request] = {}
    for number in range(processes):
        job = many.job(number, "http://unused/v1")
        samples = many.write_samples(root, number, many.questions(number, processes, calls))
        for made in backend(job).requests(load_items(samples, job.benchmark)):
            assert not isinstance(made, Answer)
            found[made.request.key] = made.request
    return found


def check(many: Any, tmp_path: Path, *, processes: int, calls: int, seed: int) -> None:
    """Kill, resume, and compare with a run without faults.

    A finished call is one whose reply was in the store when the kill came. Such a call is never bought again; only
    calls in flight may be, at most as many as all processes had in flight together.
    """
    faulty = Server(tmp_path / "faulty.jsonl", 0.3, seed)
    clean = Server(tmp_path / "clean.jsonl", 0.0, seed)
    try:
        root, plain = tmp_path / "killed", tmp_path / "plain"
        killed_at = random.Random(seed).randint(calls // 4, calls)  # noqa: S311 - drawn, and the same each time
        kill_at(start(root, faulty.url, processes, calls), faulty, killed_at)
        known = requests_of(many, tmp_path / "again", processes, calls)
        with Store(root / layout.STORE) as store:
            finished = set(store.get_many(list(known)))
        assert 0 < len(finished) < len(known)
        assert start(root, faulty.url, processes, calls).wait() == 0
        delivered = faulty.delivered()
        names = {key: name_of(request, many) for key, request in known.items()}
        assert set(delivered) == set(names.values())
        twice = {key for key, name in names.items() if delivered[name] > 1}
        assert not twice & finished
        assert len(twice) <= processes * many.endpoint(faulty.url).concurrency
        assert max(delivered.values()) <= 2
        assert start(plain, clean.url, processes, calls).wait() == 0
        assert set(clean.delivered().values()) == {1}
        for number in range(processes):
            path = layout.answers(f"b{number:02d}", "m")
            assert (root / path).read_bytes() == (plain / path).read_bytes()
            rows = artifacts.read_rows(root / path, artifacts.ANSWERS)
            texts = many.questions(number, processes, calls)
            assert [row["outcome"] for row in rows] == ["ok"] * len(texts)
            assert all(row["text"].endswith(f": {text}") for row, text in zip(rows, texts, strict=True))
    finally:
        faulty.stop()
        clean.stop()
