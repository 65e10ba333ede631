"""``slicewise commit`` and ``slicewise prune``: the versions of the results."""

from __future__ import annotations

from pathlib import Path

import click

from slicewise import layout, params
from slicewise.pipeline import guard
from slicewise.pipeline import prune as pruning


@click.command(short_help="Record finished results in DVC.")
def commit() -> None:
    """Record the results in DVC, if they are finished and exactly those of params.yaml."""
    _show(guard.commit(), "removed")
    click.echo(
        "committed to DVC; now `git add dvc.lock params.yaml results '*.gitignore'` and `git commit` make it a version."
    )


@click.command(short_help="Remove results that the settings do not make.")
@click.argument("stages", nargs=-1, type=click.Choice(layout.STAGES))
@click.option("--dry-run", is_flag=True, help="Only print what would be removed.")
@click.option("--params", "params_file", type=click.Path(path_type=Path), default=params.PARAMS_FILE, show_default=True)
def prune(stages: tuple[str, ...], dry_run: bool, params_file: Path) -> None:
    """Remove results that the settings do not make; of all stages, or of those named. The store is never touched."""
    settings = params.load(params_file)
    found = pruning.prune(settings, stages=stages or layout.STAGES, dry_run=dry_run)
    _show(found, "would remove" if dry_run else "removed")


def _show(paths: list[Path], verb: str) -> None:
    for path in paths:
        click.echo(f"{verb} {path.as_posix()}")
    if not paths:
        click.echo("nothing to prune: every result belongs to the settings.")
