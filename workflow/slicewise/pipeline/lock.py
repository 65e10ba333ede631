"""A run that was killed does not block the next one, and none of its jobs writes on behind its back.

Snakemake's lock files outlive a ``kill -9``. Here every run holds a kernel lock (``flock``) on a file of its own,
which the kernel drops whenever the process ends, however it ends. The next run therefore knows for certain that
Snakemake's lock files belong to nobody, and removes them. Each job of a run watches that lock too and ends itself
when its run is gone; the next run waits for that before it starts.
"""

from __future__ import annotations

import contextlib
import fcntl
import os
import shutil
import threading
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from slicewise.errors import UserError

ENVIRONMENT = "SLICEWISE_RUN"
SNAKEMAKE = Path(".snakemake")
_held: list[IO[bytes]] = []  # open for as long as the process lives


def enter(root: Path = Path()) -> Path:
    """Register this process as a run, release what dead runs left locked, and let its jobs find it.

    Returns:
        The run's lock file.
    """
    folder = (root / SNAKEMAKE / "runs").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with _locked(folder / "registry"):
        dead = [run for run in sorted(folder.glob("*.run")) if not _is_held(run)]
        for run in dead:
            _bury(run)
        if not any(folder.glob("*.run")):
            shutil.rmtree(root / SNAKEMAKE / "locks", ignore_errors=True)
        own = folder / f"{uuid.uuid4().hex}.run"
        own.with_suffix(".jobs").touch()
        handle = own.open("wb")
        fcntl.flock(handle, fcntl.LOCK_EX)
        _held.append(handle)
    os.environ[ENVIRONMENT] = str(own)
    return own


def leave() -> None:
    """Forget a run inherited through the environment: a job on another machine cannot watch a kernel lock here."""
    os.environ.pop(ENVIRONMENT, None)


def live(root: Path = Path()) -> bool:
    """Whether a run is going on in the folder."""
    return any(_is_held(run) for run in (root / SNAKEMAKE / "runs").glob("*.run"))


def join() -> None:
    """Called by every command: as a job of a run, end with it; by hand, do nothing.

    Raises:
        UserError: The run that started this job is over.
    """
    run = os.environ.get(ENVIRONMENT)
    if run is None:
        return
    try:
        jobs = Path(run).with_suffix(".jobs").open("rb")
        fcntl.flock(jobs, fcntl.LOCK_SH)
        watched = Path(run).open("rb")  # noqa: SIM115 - held for as long as the process lives
    except FileNotFoundError as error:
        raise UserError(f"{run}: the run that started this job is over; start the run again.") from error
    _held.append(jobs)
    threading.Thread(target=_end_with, args=(watched,), daemon=True).start()


def _end_with(watched: IO[bytes]) -> None:
    fcntl.flock(watched, fcntl.LOCK_SH)  # granted when the run's process is gone
    os._exit(1)


def _is_held(path: Path) -> bool:
    try:
        with path.open("rb") as handle:
            fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except FileNotFoundError:
        return False
    return False


def _bury(run: Path) -> None:
    """Remove a dead run's files, once its last job has ended."""
    jobs = run.with_suffix(".jobs")
    with contextlib.suppress(FileNotFoundError), jobs.open("rb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        jobs.unlink()
    run.unlink(missing_ok=True)


@contextlib.contextmanager
def _locked(path: Path) -> Iterator[None]:
    with path.open("wb") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield
