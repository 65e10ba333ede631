"""``slicewise explain``: why a score is what it is."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from slicewise.cli import common
from slicewise.errors import UserError
from slicewise.geometry import Convention


@click.command(short_help="Explain one item, or where two protocols differ.")
@click.argument("item", required=False)
@click.option("--diff", type=click.Path(path_type=Path), help="A released inference file: compare the protocols on it.")
@click.option(
    "--convention", type=click.Choice([c.value for c in Convention]), help="--diff: how the model writes boxes."
)
@click.option("--image-size", metavar="WxH", help="--diff: native size of the images, in pixels.")
@click.option("--frame-base", type=click.Choice(["0", "1"]), help="--diff: number of the first frame in the texts.")
@click.option("--out", type=click.Path(path_type=Path), help="--diff: folder for the tables and the figure.")
@click.option("--root", type=click.Path(path_type=Path), default=Path(), help="ITEM: folder that holds results/.")
@common.settings_options
def explain(item: str | None, settings_json: str | None, params_file: Path, **options: Any) -> None:
    """Explain one ITEM of a run, or every difference between the two protocols on a file.

    \b
    slicewise explain ITEM           the chain of one item, from the question to the cell of the table
    slicewise explain --diff RUN.json --convention C --image-size 320x320 --frame-base 1 --out DIR
    """  # noqa: D301 - click wants the character itself
    del settings_json
    if (item is None) == (options["diff"] is None):
        raise UserError("explain: give either an ITEM (a sample_id) or --diff RUN.json; see slicewise explain -h.")
    if item is not None:
        from slicewise.cli import explain_item

        click.echo(explain_item.chain(options["root"], item))
        return
    missing = [name for name in ("convention", "image_size", "frame_base", "out") if options[name] is None]
    if missing:
        named = " ".join(f"--{name.replace('_', '-')}" for name in missing)
        raise UserError(
            f"explain --diff: needs {named}, because a released file declares none of them; such as "
            "--convention abs_xywh_original --image-size 320x320 --frame-base 1 --out DIR."
        )
    from slicewise.cli import explain_diff
    from slicewise.cli.score_card import Declared
    from slicewise.cli.score_file import image_size

    declared = Declared(options["convention"], image_size(options["image_size"]), int(options["frame_base"]))
    explain_diff.run(options["diff"], params_file, declared, options["out"])
