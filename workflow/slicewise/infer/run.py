"""Stage ``infer``: one model over one benchmark, one answer per item.

A backend is a class with one method, ``answer_all``. It yields answers in any order and as they become ready, so a
backend that calls a language model may run requests concurrently and resume; this module checks that every item got
exactly one answer and writes the table.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from slicewise import artifacts
from slicewise.errors import UserError
from slicewise.infer.items import Answer, Item, item
from slicewise.jobs import InferJob


@runtime_checkable
class Recorder(Protocol):
    """A backend that keeps more than answers."""

    def save(self, folder: Path, benchmark: str) -> None:
        """Write what it kept of the last pass into the folder of the answers."""
        ...


class Backend(Protocol):
    """What runs a model."""

    def answer_all(self, items: Sequence[Item]) -> Iterable[Answer]:
        """Yield exactly one answer per item, in any order.

        A failure of the machinery is an answer with an outcome and no text, never an exception that loses the
        other items; only faults of the input raise :class:`UserError`.
        """
        ...


def _baseline(job: InferJob) -> Backend:
    from slicewise.infer import baselines

    return baselines.backend(job)


def _file(job: InferJob) -> Backend:
    from slicewise.infer import answers_file

    return answers_file.backend(job)


def _language_model(job: InferJob) -> Backend:
    from slicewise.infer import language_model

    return language_model.backend(job)


def _agent(job: InferJob) -> Backend:
    from slicewise.infer.agent import backend

    return backend.backend(job)


BACKENDS: dict[str, Callable[[InferJob], Backend]] = {
    "baseline": _baseline,
    "file": _file,
    "openai": _language_model,
    "agent": _agent,
}


def answer(job: InferJob, samples: Path, out: Path) -> None:
    """Run the job's model over the items of ``samples`` and write the answers table to ``out``.

    Raises:
        UserError: The samples are missing or of another benchmark, or the backend's input is at fault.
    """
    items = load_items(samples, job.benchmark)
    backend = BACKENDS[job.model.backend](job)
    answers = list(_progress(backend.answer_all(items), len(items), job))
    _check_complete(items, answers)
    if isinstance(backend, Recorder):
        backend.save(out.parent, job.benchmark)
    artifacts.write_rows(out, (a.row(job.benchmark, job.model.name) for a in answers), artifacts.ANSWERS)


def load_items(samples: Path, benchmark: str) -> list[Item]:
    """The items of a samples table, in the order of their ids.

    Raises:
        UserError: The table belongs to another benchmark.
    """
    rows = artifacts.read_rows(samples, artifacts.SAMPLES)
    other = sorted({row["benchmark"] for row in rows} - {benchmark})
    if other:
        raise UserError(f"{samples}: holds items of benchmark {other}, expected '{benchmark}': give its samples file.")
    return [item(row) for row in rows]


def _check_complete(items: Sequence[Item], answers: Sequence[Answer]) -> None:
    expected = [i.sample_id for i in items]
    found = sorted(a.sample_id for a in answers)
    if found != sorted(expected):
        missing = sorted(set(expected) - set(found))[:3]
        extra = sorted(set(found) - set(expected))[:3]
        raise RuntimeError(
            f"a backend gave {len(found)} answers to {len(expected)} items (missing {missing}, unknown {extra})"
        )


def _progress(answers: Iterable[Answer], total: int, job: InferJob) -> Iterator[Answer]:
    from tqdm import tqdm

    label = f"infer {job.benchmark} {job.model.name}"
    # disable=None shows the bar on a terminal only, so logs stay clean.
    with tqdm(answers, total=total, desc=label, unit="item", disable=None, file=sys.stderr, leave=False) as bar:
        yield from bar
