"""``slicewise compare``: two versions of the results, item by item and score by score."""

from __future__ import annotations

from contextlib import ExitStack
from pathlib import Path

import click

from slicewise.errors import UserError


@click.command(short_help="Compare two versions of the results.")
@click.argument("sides", nargs=-1, metavar="[A] [B] ...")
@click.option("--pair", "pairs", multiple=True, metavar="X:Y", help="Compare model X of A with model Y of B.")
@click.option("--parsers", is_flag=True, help="A: its stored readings. B: its stored answers, read by this code now.")
@click.option("--sweep", is_flag=True, help="Any number of versions in one table; without any, all DVC experiments.")
@click.option("--fail-if-worse", is_flag=True, help="Exit with 1 when a score is worse, corrected p below 0.05.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), help="Folder for the tables.")
def compare(
    sides: tuple[str, ...], pairs: tuple[str, ...], parsers: bool, sweep: bool, fail_if_worse: bool, out: Path | None
) -> None:
    """Compare A with B: folders of results, git revisions or DVC experiments. B is this folder unless it is named.

    \b
    slicewise compare HEAD~1             the last version against this folder
    slicewise compare main my-experiment
    slicewise compare . . --pair blob:blank
    slicewise compare --parsers          what this version of the parser changes in the stored answers
    slicewise compare --sweep            all experiments: one table and one figure
    """  # noqa: D301 - click wants the character itself
    with ExitStack() as stack:
        if sweep or len(sides) > 2:
            _sweep(stack, list(sides), fail_if_worse, out or Path("results/compare/sweep"))
            return
        _two(stack, sides, _pairs(pairs), parsers, fail_if_worse, out)


def _two(
    stack: ExitStack,
    named: tuple[str, ...],
    pairs: list[tuple[str, str]] | None,
    parsers: bool,
    fail_if_worse: bool,
    out: Path | None,
) -> None:
    from slicewise.pipeline import reparse, revision
    from slicewise.report import compare as comparing
    from slicewise.report import compare_text

    if parsers and len(named) > 1:
        raise UserError(f"compare --parsers: takes one folder or revision, found {list(named)}.")
    if not parsers and not named:
        raise UserError("compare: needs a folder, a git revision or a DVC experiment; see slicewise compare -h.")
    a = stack.enter_context(revision.side(named[0] if named else "."))
    if parsers:
        b = stack.enter_context(reparse.side(a))
    else:
        b = stack.enter_context(revision.side(named[1] if len(named) > 1 else "."))
    found = comparing.compare(a, b, pairs)
    click.echo(compare_text.markdown(found))
    folder = out or Path("results/compare") / f"{_file(a.name)}--{_file(b.name)}"
    click.echo(f"Written: {', '.join(path.as_posix() for path in compare_text.write(found, folder))}")
    _gate(found.worse, fail_if_worse)


def _sweep(stack: ExitStack, named: list[str], fail_if_worse: bool, out: Path) -> None:
    from slicewise.pipeline import revision
    from slicewise.report import sweep as sweeping

    names = named or ["HEAD", *(name for name, _ in revision.all_experiments())]
    if len(names) < 2:
        raise UserError("compare --sweep: found no DVC experiment; make some with `dvc exp run -S ...`.")
    found = sweeping.sweep([stack.enter_context(revision.side(name)) for name in names])
    click.echo(sweeping.markdown(found))
    click.echo(f"Written: {', '.join(path.as_posix() for path in sweeping.write(found, out))}")
    _gate([row for row in found.rows if row["verdict"] == "worse"], fail_if_worse)


def _gate(worse: list[dict[str, object]], fail: bool) -> None:
    """End with 1 when asked to and something is worse."""
    if fail and worse:
        names = ", ".join(f"{row['benchmark']} {row['model_b']} {row['column']}" for row in worse[:5])
        click.echo(f"worse: {names}{' ...' if len(worse) > 5 else ''}", err=True)
        click.get_current_context().exit(1)


def _pairs(words: tuple[str, ...]) -> list[tuple[str, str]] | None:
    made = []
    for word in words:
        a, colon, b = word.partition(":")
        if not (a and colon and b):
            raise UserError(f"compare --pair: found '{word}', expected two model names such as blob:blank.")
        made.append((a, b))
    return made or None


def _file(name: str) -> str:
    """A name that may be a file's."""
    return "".join(c if c.isalnum() or c in "-_." else "_" for c in name).strip(".") or "here"
