"""Many processes, one store: each answers a benchmark of its own and shares questions with its neighbour.

Run ``python tests/llm/many.py --root DIR --url URL``. Test and process build the same jobs from the same numbers.
"""

from __future__ import annotations

import argparse
import multiprocessing
import os
from pathlib import Path
from typing import Any

from slicewise import artifacts, layout
from slicewise.endpoints import Endpoint, LlmSettings
from slicewise.jobs import InferJob
from slicewise.params import OpenAIModel

PRELOAD = ["openai.resources.chat.completions", "aiohttp", "pyarrow.parquet", "tqdm", "slicewise.infer.language_model"]
SHARED = 5  # questions that a process has in common with the next one


def endpoint(url: str, **changes: Any) -> Endpoint:
    """The deployment of all processes."""
    values: dict[str, Any] = {
        "provider": "local",
        "model": "test-model",
        "base_url": url,
        "api_key_env": None,
        "concurrency": 8,
        "timeout": 20.0,
        "max_attempts": 8,
        "prices": {"input": 1.0, "output": 2.0},
        "sampling": {"max_tokens": 64},
    }
    return Endpoint.model_validate({**values, **changes})


def job(number: int, url: str, **changes: Any) -> InferJob:
    """The job of one process; nothing in its answers depends on the process."""
    model = OpenAIModel(name="m", backend="openai", view="text_only", endpoint=endpoint(url, **changes))
    return InferJob(benchmark=f"b{number:02d}", model=model, llm=LlmSettings())


def questions(number: int, processes: int, calls: int) -> list[str]:
    """Texts of a process: its own share, and the first ones of the next process."""
    each = calls // processes
    following = (number + 1) % processes
    own = [f"question {number}/{i}" for i in range(each)]
    return own + [f"question {following}/{i}" for i in range(SHARED if processes > 1 else 0)]


def write_samples(root: Path, number: int, texts: list[str]) -> Path:
    """A benchmark of text questions."""
    benchmark = f"b{number:02d}"
    rows = [
        {
            "sample_id": f"s{i:05d}",
            "benchmark": benchmark,
            "level": "image",
            "domain": "brain",
            "volume_id": "v",
            "modality": "MRI",
            "task": "detection",
            "question_type": "open_ended",
            "question": text,
            "options": None,
            "answer": "yes",
            "reasoning": None,
            "labels": [],
            "boxes": [],
            "frames": [{"number": 1, "path": None, "width": 8, "height": 8, "sha256": None}],
            "n_frames": 1,
            "flags": [],
        }
        for i, text in enumerate(texts)
    ]
    path = root / layout.samples(benchmark)
    artifacts.write_rows(path, rows, artifacts.SAMPLES)
    return path


def answer(root: str, number: int, processes: int, calls: int, url: str) -> None:
    """What one process does."""
    from slicewise.infer import run
    from slicewise.llm import faults

    faults.BACKOFF_SECONDS = 0.05  # a server on loopback needs no half second of rest
    os.chdir(root)
    done = job(number, url)
    samples = write_samples(Path(), number, questions(number, processes, calls))
    run.answer(done, samples, layout.answers(done.benchmark, "m"))


def main() -> None:
    """Run all processes and wait for them."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", required=True)
    parser.add_argument("--url", required=True)
    parser.add_argument("--processes", type=int, default=16)
    parser.add_argument("--calls", type=int, default=2000)
    options = parser.parse_args()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(PRELOAD)
    common = (options.processes, options.calls, options.url)
    workers = [context.Process(target=answer, args=(options.root, i, *common)) for i in range(options.processes)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    raise SystemExit(max(abs(worker.exitcode or 0) for worker in workers))


if __name__ == "__main__":
    main()
