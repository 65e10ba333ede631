"""``slicewise report``: tables, figures and the page of a run."""

from __future__ import annotations

import importlib
from pathlib import Path

import click

from slicewise import jobs, layout
from slicewise.cli.common import job as job_settings
from slicewise.cli.common import settings_options

_root = click.option(
    "--root",
    type=click.Path(path_type=Path, file_okay=False),
    default=Path("."),
    show_default=True,
    help="The project's root folder.",
)


# Imported by name when it is called, so that the code which scores again is no part of what makes the tables.
BESIDE = {"audit": "slicewise.cli.audit", "sensitivity": "slicewise.cli.sensitivity"}


class _Group(click.Group):
    """The jobs of the report, and the commands beside them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All names."""
        return [*super().list_commands(ctx), *BESIDE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or ``None``."""
        if cmd_name not in BESIDE:
            return super().get_command(ctx, cmd_name)
        command: click.Command = getattr(importlib.import_module(BESIDE[cmd_name]), cmd_name)
        return command


@click.group(cls=_Group)
def report() -> None:
    """Make tables, figures and the page from the scores."""


def _job(settings_json: str | None, params_file: Path) -> jobs.ReportJob:
    return job_settings(jobs.ReportJob, settings_json, params_file, jobs.report_job)


@report.command()
@settings_options
@_root
def tables(settings_json: str | None, params_file: Path, root: Path) -> None:
    """Write tables (Parquet, CSV, Markdown, LaTeX), metrics.json and the numbers of the plots."""
    from slicewise.report import run
    from slicewise.report.ct import files

    settings = _job(settings_json, params_file)
    run.tables(settings, root)
    main = files.TABLES if run.is_ct(settings) else settings.benchmarks
    for name in main:
        click.echo(f"table: {root / layout.table(name, 'md')}")


@report.command()
@settings_options
@_root
def figures(settings_json: str | None, params_file: Path, root: Path) -> None:
    """Draw the figures (PDF and PNG) from the tables and the scores."""
    from slicewise.report import run

    settings = _job(settings_json, params_file)
    run.figures(settings, root)
    click.echo(f"figures: {root / layout.stage('report') / 'figures'}")


@report.command()
@settings_options
@_root
def site(settings_json: str | None, params_file: Path, root: Path) -> None:
    """Write the page, index.html, with tables, figures, settings and provenance."""
    from slicewise.report import run

    run.site(_job(settings_json, params_file), root)
    click.echo(f"page: {root / run.PAGE}")
