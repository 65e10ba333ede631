"""``slicewise report audit``: do the published tables agree with themselves?"""

from __future__ import annotations

from pathlib import Path

import click


@click.command()
@click.option("--out", type=click.Path(path_type=Path), help="Folder for audit.md and audit.csv; default: print.")
def audit(out: Path | None) -> None:
    """Check the printed numbers of both papers against each other and against the claims of their texts."""
    from slicewise.report.ct import audit as page

    if out is None:
        click.echo(page.markdown(), nl=False)
        return
    page.write(out)
    click.echo(f"{out / page.PAGE}: {len(page.findings())} checks")
