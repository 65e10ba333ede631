"""``slicewise judge-quality``: how far the suite's judge can be trusted."""

from __future__ import annotations

import csv
import io
from pathlib import Path

import click

from slicewise import artifacts, jobs, layout, params

COLUMNS = ("benchmark", "judge", "measure", "value", "n", "meaning")


@click.command("judge-quality", short_help="Repeatability and agreement of a judge.")
@click.option("--benchmark", "benchmarks", multiple=True, help="Id of a benchmark; default: all of the suite.")
@click.option("--items", type=click.IntRange(min=2), default=50, show_default=True, help="Answers that are rated.")
@click.option("--repeats", type=click.IntRange(min=1), default=3, show_default=True, help="Further judgements of each.")
@click.option("--seed", type=int, default=2604, show_default=True, help="Chooses the answers.")
@click.option("--out", type=click.Path(path_type=Path), help="Also write the table as CSV.")
@click.option(
    "--params",
    "params_file",
    type=click.Path(path_type=Path),
    default=params.PARAMS_FILE,
    show_default=True,
    help="Settings of the run.",
)
def judge_quality(
    benchmarks: tuple[str, ...], items: int, repeats: int, seed: int, out: Path | None, params_file: Path
) -> None:
    """Re-judge a fixed subset: repeatability, agreement in a panel, the sway of length and order.

    Calls go through the response store and under the run's budget; a second run buys nothing.
    """
    from slicewise.score.judge_quality import measure

    settings = params.load(params_file)
    rows: list[tuple[str, ...]] = [COLUMNS]
    for benchmark in benchmarks or settings.active.benchmarks:
        job = jobs.score_job(settings, benchmark, "judge")
        found = measure(job, settings.active.models, Path(), layout.STORE, items=items, repeats=repeats, seed=seed)
        rows += [
            (benchmark, m.judge, m.name, "" if m.value is None else f"{m.value:.6g}", str(m.n), m.meaning)
            for m in found
        ]
    widths = [max(len(row[i]) for row in rows) for i in range(len(COLUMNS))]
    for row in rows:
        click.echo("  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip())
    if out is not None:
        buffer = io.StringIO()
        csv.writer(buffer, lineterminator="\n").writerows(rows)
        artifacts.write_text(out, buffer.getvalue())
