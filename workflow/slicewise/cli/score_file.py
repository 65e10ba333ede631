"""The doors for files: a released inference run, plain answers, recorded calls of the released scorer."""

from __future__ import annotations

import re
import sys
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click

from slicewise import artifacts
from slicewise.errors import UserError
from slicewise.geometry import Convention

RUN_OPTIONS = ("convention", "image_size", "frame_base")


def run(file: Path, params_file: Path, options: dict[str, Any]) -> None:
    """Score a file by the door that its suffix and the options name."""
    if options["out"] is None:
        raise UserError("score FILE: needs --out, the folder for the scores.")
    if options["benchmark"] is not None:
        _refuse(options, ("protocol",), "plain answers are scored under both protocols")
        _refuse(options, ("image_size",), "the benchmark knows its sizes")
        _answers(file, params_file, options)
    elif options["protocol"] == "reference":
        _refuse(options, RUN_OPTIONS, "the released scorer fixes its own")
        _reference(file, options["out"], params_file if options["ar"] else None)
    elif options["protocol"] == "card":
        _card(file, params_file, options)
    else:
        raise UserError(
            "score FILE: needs --benchmark ID (plain id,text) or --protocol card|reference (a released inference file)."
        )


def _refuse(options: dict[str, Any], names: tuple[str, ...], why: str) -> None:
    given = [name for name in names if options[name] is not None]
    if given:
        raise UserError(f"score FILE: --{given[0].replace('_', '-')} is not used here, {why}: leave it out.")


def parity(file: Path) -> None:
    """Print every mismatch and the counts; exit status 1 when any failed."""
    from slicewise.reference import ReferenceInputError
    from slicewise.reference import parity as room

    try:
        passed, failed, mismatches = room.run_file(file)
    except ReferenceInputError as error:
        raise UserError(str(error)) from error
    for mismatch in mismatches:
        click.echo(str(mismatch))
    click.echo(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


# --- a released inference file, as the released scorer does ---------------------------------------------------------


def _reference(file: Path, out: Path, params_file: Path | None) -> None:
    from slicewise.reference import ReferenceInputError
    from slicewise.reference import run as room
    from slicewise.score import reference_scores

    try:
        inference = room.load_inference(file)
        items = room.score_items(inference["results"], ar=_hooks(params_file) if params_file else None)
    except ReferenceInputError as error:
        raise UserError(str(error)) from error
    per_sample = [{"sample_id": item.sample_id, **item.scores} for item in items]
    summary = {**room.summarise(items), "total_samples": len(items), "per_sample": per_sample}
    rows = reference_scores.reference_rows([asdict(item) for item in items])
    artifacts.write_rows(out / "scores.parquet", rows, reference_scores.REFERENCE_SCORES)
    artifacts.write_json(out / "summary.json", summary)
    click.echo(f"{len(items)} items scored: {out / 'scores.parquet'}, {out / 'summary.json'}")


def _hooks(params_file: Path) -> Any:
    """BERTScore with the suite's encoder, and no judge: its weight is spread, as released without a key."""
    from slicewise import params
    from slicewise.reference.ar_score import ArHooks
    from slicewise.score import bert

    settings = params.load(params_file)
    declared = settings.active.bertscore
    encoder = settings.encoders[declared.encoder]

    def bert_f1(candidate: str, reference: str) -> float | None:
        found = bert.score_pairs(
            [(candidate, reference)], encoder=encoder, threads=1, cache=None, rescale=declared.rescale
        )
        return (found.f1_rescaled or found.f1_raw)[0]

    return ArHooks(judge=None, bert_f1=bert_f1)


# --- a released inference file under protocol card ------------------------------------------------------------------


def _card(file: Path, params_file: Path, options: dict[str, Any]) -> None:
    from slicewise.cli import score_card

    missing = [name for name in RUN_OPTIONS if options[name] is None]
    if missing:
        raise UserError(
            f"score FILE --protocol card: needs --{missing[0].replace('_', '-')}; the file does not say it, and it is "
            "never guessed from the numbers."
        )
    declared = score_card.Declared(options["convention"], image_size(options["image_size"]), int(options["frame_base"]))
    score_card.run(file, params_file, declared, options["out"], ar=options["ar"], threads=options["threads"])


def image_size(text: str) -> tuple[int, int]:
    """``320x320`` as width and height in pixels.

    Raises:
        UserError: The text is something else.
    """
    found = re.fullmatch(r"([1-9]\d{0,4})[xX×]([1-9]\d{0,4})", text.strip())
    if not found:
        raise UserError(f"--image-size: found '{text}', expected width x height in pixels, such as 320x320.")
    return int(found.group(1)), int(found.group(2))


# --- plain answers --------------------------------------------------------------------------------------------------


def _answers(file: Path, params_file: Path, options: dict[str, Any]) -> None:
    from slicewise.cli import score_answers
    from slicewise.cli.score_card import Declared

    # What the benchmark's own answers use; a model that writes otherwise is declared by the options.
    convention = options["convention"] or Convention.ABS_XYWH_ORIGINAL
    declared = Declared(str(convention), None, int(options["frame_base"] or 1))
    score_answers.run(
        file, params_file, options["benchmark"], declared, options["out"], ar=options["ar"], threads=options["threads"]
    )
