"""``slicewise reproduce``: the published tables beside ours, cell by cell."""

from __future__ import annotations

from pathlib import Path

import click

from slicewise import artifacts, jobs
from slicewise.cli.common import job as job_settings
from slicewise.cli.common import settings_options
from slicewise.errors import UserError, did_you_mean


@click.command(short_help="Set the published tables beside ours.")
@click.argument("table", required=False)
@settings_options
@click.option("--root", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Folder with results/.")
@click.option("--model", "same", multiple=True, metavar="OURS=ROW", help="Our model stands for a published row.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for table and figure.")
@click.option("--strict", is_flag=True, help="Exit with 1 when a cell differs.")
def reproduce(
    table: str | None,
    settings_json: str | None,
    params_file: Path,
    root: Path,
    same: tuple[str, ...],
    out: Path | None,
    strict: bool,
) -> None:
    """Say of every cell of a published TABLE (image, volume, or a benchmark's id; default: all) if we reproduce it.

    Reproduced: the published value lies in our interval under protocol reference. Differs: it does not. Not
    comparable: the settings that differ are named.
    """
    from slicewise.report import cells, collect, grids, sides
    from slicewise.report import reproduce as reproducing

    job = job_settings(jobs.ReportJob, settings_json, params_file, jobs.report_job)
    sides.only_sgmri("reproduce", job)
    job = job.model_copy(update={"benchmarks": _benchmarks(job.benchmarks, table)})
    rows = reproducing.reproduce(cells.cells(collect.items(job, root), job), job, _pairs(same))
    for benchmark in job.benchmarks:
        click.echo(grids.reproduce(rows, benchmark).markdown())
        for sentence in reproducing.sentences(rows, benchmark):
            click.echo(sentence)
        click.echo("")
        if out is not None:
            _figure(rows, benchmark, out)
    if out is not None:
        artifacts.write_rows(out / "reproduce.parquet", rows, reproducing.CELLS)
        click.echo(f"Written: {out / 'reproduce.parquet'} and a figure per benchmark")
    if strict and reproducing.verdicts(rows)[reproducing.DIFFERS]:
        click.get_current_context().exit(1)


def _figure(rows: list[dict[str, object]], benchmark: str, out: Path) -> None:
    from slicewise.report import figures_reproduce, style

    with style.styled():
        mine = [row for row in rows if row["benchmark"] == benchmark]
        style.save(figures_reproduce.figure(mine, benchmark), out / f"reproduce-{benchmark}")


def _benchmarks(known: list[str], table: str | None) -> list[str]:
    from slicewise.benchmarks import sgmri

    found = [name for name in known if table in (None, name, sgmri.benchmark(name).level)]
    if not found:
        names = [*sgmri.LEVELS, *known]
        raise UserError(
            f"reproduce: the run has no table '{table}'; expected one of {names}.{did_you_mean(str(table), names)}"
        )
    return found


def _pairs(words: tuple[str, ...]) -> dict[str, str]:
    made = {}
    for word in words:
        ours, equals, row = word.partition("=")
        if not (ours and equals and row):
            raise UserError(f"reproduce --model: found '{word}', expected OURS=ROW such as my-model=GPT-4o.")
        made[ours] = row
    return made
