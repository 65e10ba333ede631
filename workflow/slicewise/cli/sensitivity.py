"""``slicewise report sensitivity``: the scores under every choice that the papers leave open."""

from __future__ import annotations

from pathlib import Path

import click

from slicewise import params
from slicewise.params import PARAMS_FILE


@click.command()
@click.option("--params", "params_file", type=click.Path(path_type=Path), default=PARAMS_FILE, show_default=True)
@click.option("--root", type=click.Path(path_type=Path, file_okay=False), default=Path(), help="Folder with results/.")
@click.option("--out", type=click.Path(path_type=Path, file_okay=False), default=Path("results/sensitivity"))
def sensitivity(params_file: Path, root: Path, out: Path) -> None:
    """Score the stored answers again under each open choice, one at a time.

    No model is asked, no encoder is loaded, no verdict is bought; what would need that is named.
    """
    from slicewise.report import sensitivity as scoring

    rows = scoring.sensitivity(params.load(params_file), root)
    click.echo(scoring.markdown(rows))
    click.echo(f"Written: {', '.join(path.as_posix() for path in scoring.write(rows, out))}")
