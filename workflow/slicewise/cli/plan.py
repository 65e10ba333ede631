"""``slicewise plan``: what a run will cost, before anything is spent."""

from __future__ import annotations

import csv
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import click

from slicewise import jobs, layout, params
from slicewise.params import Params

if TYPE_CHECKING:
    from slicewise.llm.plan import Line
    from slicewise.llm.store import Store

HEADER = (
    "stage", "benchmark", "model", "calls", "cached", "to buy", "images", "prompt tokens", "reply tokens",
    "live US$", "batch US$", "at most US$",
)  # fmt: skip
WIDTHS = (6, 28, 28, 8, 8, 8, 8, 14, 13, 10, 10, 11)


@click.command(short_help="Count and price the calls that would be made.")
@click.option(
    "--params",
    "params_file",
    type=click.Path(path_type=Path),
    default=params.PARAMS_FILE,
    show_default=True,
    help="Settings of the run.",
)
@click.option("--root", type=click.Path(path_type=Path), default=Path(), help="Folder that holds results/ and data/.")
@click.option("--csv", "as_csv", is_flag=True, help="Write CSV instead of a table.")
def plan(params_file: Path, root: Path, as_csv: bool) -> None:
    """Count and price the calls that the suite would make; nothing is sent and nothing is spent.

    Prices are those of params.yaml. Where none is declared the cost is unknown and printed as a dash.
    """
    settings = params.load(params_file)
    found = list(_lines(settings, root))
    rows = [_cells(line) for line in found]
    if as_csv:
        csv.writer(sys.stdout, lineterminator="\n").writerows([HEADER, *rows])
        return
    if not found:
        click.echo(f"suite '{settings.suite}' makes no call to a language model")
        return
    for row in (HEADER, *rows, _total(found)):
        cells = zip(row, WIDTHS, range(len(WIDTHS)), strict=True)
        click.echo(" ".join(cell.ljust(width) if place < 3 else cell.rjust(width) for cell, width, place in cells))
    for note in dict.fromkeys(f"{line.name}: {note}" for line in found for note in line.notes):
        click.echo(f"  {note}")
    limit = settings.llm.budget_usd
    click.echo(f"budget: {'none' if limit is None else f'US$ {limit:.2f}'} (llm.budget_usd)")


def _lines(settings: Params, root: Path) -> Iterator[Line]:
    from slicewise.infer import plan as infer_plan
    from slicewise.llm.store import Store
    from slicewise.score import plan as score_plan

    folder = root / layout.STORE
    store: Store | None = Store(folder) if (folder / "live.sqlite").exists() or (folder / "shards").exists() else None
    suite = settings.active
    for benchmark in suite.benchmarks:
        for model in suite.models:
            job = jobs.infer_job(settings, benchmark, model)
            line = infer_plan.line(job, root / layout.samples(benchmark), store)
            if line is not None:
                yield line
    for benchmark in suite.benchmarks:
        yield from score_plan.lines(jobs.score_job(settings, benchmark, "judge"), suite.models, root, store)


def _cells(line: Line) -> tuple[str, ...]:
    counts = (line.calls, line.cached, line.calls - line.cached, line.images, line.prompt_tokens, line.reply_tokens)
    return (
        line.stage,
        line.benchmark,
        line.name,
        *(str(count) for count in counts),
        *(_dollars(price) for price in (line.live, line.batch, line.ceiling)),
    )


def _dollars(price: float | None) -> str:
    return "-" if price is None else f"{price:.2f}"


def _total(lines: list[Line]) -> tuple[str, ...]:
    counts = [(x.calls, x.cached, x.calls - x.cached, x.images, x.prompt_tokens, x.reply_tokens) for x in lines]
    sums = [str(sum(column)) for column in zip(*counts, strict=True)]
    prices = [
        sum(price for line in lines if (price := getattr(line, name)) is not None)
        for name in ("live", "batch", "ceiling")
    ]
    return ("total", "", "", *sums, *(f"{price:.2f}" for price in prices))
