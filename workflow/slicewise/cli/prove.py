"""``slicewise prove``: from each number of a paper table back to its inputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from slicewise import artifacts


@click.group()
def prove() -> None:
    """Prove where numbers come from."""


@prove.command()
@click.argument("names", nargs=-1, metavar="[TABLE] ...")
@click.option("--root", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="The project's folder.")
@click.option("--out", type=click.Path(path_type=Path, dir_okay=False), help="Write every chain as JSON.")
@click.option("--verbose", "-v", is_flag=True, help="Print every chain and every link.")
def tables(names: tuple[str, ...], root: Path, out: Path | None, verbose: bool) -> None:
    """Check every link behind the numbers of the tables (image, volume, a benchmark's id; default: all).

    Exits with 1 when a link is broken. What is not here (raw data) is named with its recorded hash.
    """
    from slicewise.pipeline import prove as proving

    proof = proving.prove(root, names)
    for number in proof.numbers if verbose else ():
        click.echo(_number(number))
    for link in proof.links if verbose else ():
        if link.state == proving.HOLDS:
            click.echo(f"holds     {link}")
    for link in proof.recorded:
        click.echo(f"not here  {link}")
    for link in proof.broken:
        click.echo(f"broken    {link}")
    held = len(proof.links) - len(proof.broken) - len(proof.recorded)
    click.echo(
        f"{len(proof.numbers)} numbers; of {len(proof.links)} links {held} hold, {len(proof.broken)} are broken and "
        f"{len(proof.recorded)} are recorded but not here."
    )
    if out is not None:
        links = [{"link": x.name, "subject": x.subject, "state": x.state, "detail": x.detail} for x in proof.links]
        artifacts.write_json(out, {"numbers": proof.numbers, "links": links})
        click.echo(f"Written: {out}")
    if proof.broken:
        click.get_current_context().exit(1)


def _number(number: dict[str, Any]) -> str:
    """One number and its chain, from the table to the items."""
    lines = [
        f"{number['benchmark']} {number['model']} {number['column']}: {number['printed'] or 'no number'} "
        f"(value {number['value']}, n {number['n']})"
    ]
    lines += [
        f"  {file['file']}  md5 {file['md5']}  in {file['in']}  settings {file['settings'][:12]}  code {file['code']}"
        for file in number["files"]
    ]
    if number["store_keys"]:
        lines.append(f"  {len(number['store_keys'])} replies in the store, the first {number['store_keys'][0]}")
    return "\n".join(lines)
