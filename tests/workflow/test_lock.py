"""The run lock: it outlives nobody, a dead run blocks nobody, and a job does not outlive its run."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from slicewise.errors import UserError
from slicewise.pipeline import lock

HEAD = "import time; from slicewise.pipeline import lock; print(lock.enter(), flush=True); time.sleep(60)"
JOB = "import time; from slicewise.pipeline import lock; lock.join(); print('joined', flush=True); time.sleep(60)"

Start = Callable[..., "subprocess.Popen[str]"]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    """Start a Python process in the folder and wait for its first line."""
    started: list[subprocess.Popen[str]] = []

    def run(code: str, **environment: str) -> subprocess.Popen[str]:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env={**os.environ, **environment},
            stdout=subprocess.PIPE,
            text=True,
        )
        started.append(process)
        assert process.stdout is not None
        process.first = process.stdout.readline().strip()  # type: ignore[attr-defined]
        return process

    yield run
    for process in started:
        process.kill()
        process.wait()
        assert process.stdout is not None
        process.stdout.close()


@pytest.fixture(autouse=True)
def _forget() -> Iterator[None]:
    yield
    lock.leave()
    while lock._held:
        lock._held.pop().close()


def snakemake_lock(root: Path) -> Path:
    path = root / ".snakemake/locks/0.output.lock"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("results/x\n")
    return path


def test_the_lock_files_of_a_killed_run_are_removed(tmp_path: Path, start: Start) -> None:
    head = start(HEAD)
    stale = snakemake_lock(tmp_path)
    assert lock.live(tmp_path)
    head.send_signal(signal.SIGKILL)
    head.wait()
    assert not lock.live(tmp_path)
    lock.enter(tmp_path)
    assert not stale.exists()
    assert len(list((tmp_path / ".snakemake/runs").glob("*.run"))) == 1  # the dead run is forgotten


def test_the_lock_files_of_a_live_run_are_left_alone(tmp_path: Path, start: Start) -> None:
    start(HEAD)
    held = snakemake_lock(tmp_path)
    lock.enter(tmp_path)
    assert held.exists()


def test_a_job_ends_with_its_run_and_the_next_run_waits_for_that(tmp_path: Path, start: Start) -> None:
    head = start(HEAD)
    job = start(JOB, **{lock.ENVIRONMENT: head.first})  # type: ignore[attr-defined]
    assert job.poll() is None
    head.send_signal(signal.SIGKILL)
    head.wait()
    began = time.monotonic()
    lock.enter(tmp_path)
    assert job.wait(timeout=5) == 1
    assert time.monotonic() - began < 5


def test_a_job_whose_run_is_over_does_not_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(lock.ENVIRONMENT, str(tmp_path / "gone.run"))
    with pytest.raises(UserError, match="the run that started this job is over"):
        lock.join()


def test_a_command_by_hand_joins_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(lock.ENVIRONMENT, raising=False)
    lock.join()
    assert lock._held == []
