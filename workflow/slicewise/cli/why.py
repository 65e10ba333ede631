"""``slicewise why``: what would run, why, how long it took last time, and what it would cost."""

from __future__ import annotations

from pathlib import Path

import click

from slicewise.errors import UserError
from slicewise.params import PARAMS_FILE


@click.command(short_help="Say what `snakemake` would run, and why.")
@click.argument("targets", nargs=-1, metavar="[TARGET] ...")
@click.pass_context
def why(context: click.Context, targets: tuple[str, ...]) -> None:
    """Say what `snakemake` would run for the TARGETs (default: all) and why, before anything runs or is bought."""
    from slicewise.pipeline import why as reasons

    root = Path()
    found = reasons.would_run(root, targets)
    if not found:
        click.echo("nothing would run: every result is as the settings and the code make it.")
    for line in reasons.lines(root, found):
        took = f", {line.seconds:.0f} s last time" if line.seconds else ""
        new = f", {line.untimed} never timed" if line.untimed else ""
        click.echo(f"{line.rule}: {line.jobs} job(s){took}{new}: {line.reason}")
    changes = list(reasons.versions(root))
    click.echo("\nagainst the last version in DVC:")
    for change in changes or ["no difference"]:
        click.echo(f"  {change}")
    if found:
        _cost(context)


def _cost(context: click.Context) -> None:
    """Calls and dollars of the whole suite; what is in the store costs nothing."""
    from slicewise.cli import plan

    click.echo("\ncalls of language models:")
    try:
        context.invoke(plan.plan, params_file=PARAMS_FILE, root=Path(), as_csv=False)
    except UserError as error:
        click.echo(f"  unknown yet: {error}")
