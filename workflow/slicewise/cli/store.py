"""``slicewise store``: share, merge, verify, count and export the response store."""

from __future__ import annotations

import sys
from pathlib import Path

import click
from click.core import ParameterSource

from slicewise import layout
from slicewise.errors import UserError


@click.group()
@click.option("--root", type=click.Path(path_type=Path), default=layout.STORE, show_default=True, help="The store.")
@click.pass_context
def store(context: click.Context, root: Path) -> None:
    """Every reply that was paid for, by the hash of its request."""
    given = context.get_parameter_source("root") is ParameterSource.COMMANDLINE
    if given and context.invoked_subcommand in {"verify", "stats", "export"} and not root.exists():
        raise UserError(f"store --root: {root}: no such folder; expected a response store, such as {layout.STORE}.")
    context.obj = root


@store.command()
@click.pass_obj
def share(root: Path) -> None:
    """Write new replies to an immutable shard that DVC tracks."""
    from slicewise.llm.store import Store

    with Store(root) as opened:
        path = opened.share()
    click.echo(f"{path}" if path else "nothing new to share")


@store.command()
@click.argument("other", type=click.Path(path_type=Path))
@click.pass_obj
def merge(root: Path, other: Path) -> None:
    """Take in the replies of another store's folder."""
    from slicewise.llm.store import Store

    with Store(root) as opened:
        new = opened.merge(other)
        click.echo(f"{new} new replies, {len(opened)} in all")


@store.command()
@click.pass_obj
def verify(root: Path) -> None:
    """Re-hash every record and every shard; exit 1 when one is damaged."""
    from slicewise.llm.store import Store

    with Store(root) as opened:
        verdict = opened.verify()
    for fault in verdict.faults:
        click.echo(fault, err=True)
    click.echo(f"{verdict.records} records, {verdict.shards} shards, {len(verdict.faults)} faults")
    if verdict.faults:
        sys.exit(1)


@store.command()
@click.pass_obj
def stats(root: Path) -> None:
    """Calls, tokens and cost by model."""
    from slicewise.llm.export import summarise
    from slicewise.llm.store import Store

    with Store(root) as opened:
        totals = summarise(opened)
    click.echo(
        f"{'model':32} {'calls':>8} {'prompt':>12} {'cached':>12} {'completion':>12} {'US$':>10} {'unpriced':>8}"
    )
    for model, row in totals.items():
        click.echo(
            f"{model:32} {row['calls']:8d} {row['prompt_tokens']:12d} {row['cached_tokens']:12d} "
            f"{row['completion_tokens']:12d} {row['cost']:10.4f} {row['unpriced']:8d}"
        )
    click.echo(f"total US$ {sum(row['cost'] for row in totals.values()):.4f}")


@store.command()
@click.argument("out", type=click.Path(path_type=Path))
@click.pass_obj
def export(root: Path, out: Path) -> None:
    """Write the store as one Parquet table."""
    from slicewise.llm.export import export as write
    from slicewise.llm.store import Store

    with Store(root) as opened:
        click.echo(f"{write(opened, out)} calls in {out}")
