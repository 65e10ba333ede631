"""Options that several commands share."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import click

from slicewise import params
from slicewise.errors import UserError
from slicewise.params import Params
from slicewise.settings import Settings

J = TypeVar("J", bound=Settings)
Command = Callable[..., Any]


def settings_options(command: Command) -> Command:
    """``--settings JSON`` (what a workflow rule passes) and ``--params FILE`` (what a person has)."""
    command = click.option(
        "--settings", "settings_json", metavar="JSON", help="The job's settings; default: taken from --params."
    )(command)
    return click.option(
        "--params",
        "params_file",
        type=click.Path(path_type=Path),
        default=params.PARAMS_FILE,
        show_default=True,
        help="Settings of the run.",
    )(command)


def job(model: type[J], settings_json: str | None, params_file: Path, build: Callable[[Params], J]) -> J:
    """The job's settings: parsed from ``--settings``, else cut from the params file by ``build``."""
    if settings_json is None:
        return build(params.load(params_file))
    try:
        raw = json.loads(settings_json)
    except json.JSONDecodeError as error:
        raise UserError(f"--settings: is not valid JSON ({error}); expected one object.") from error
    return params.parse_settings(model, raw, "--settings")


def check_named(**named: tuple[str, str]) -> None:
    """Refuse settings of another job: what an option names and what ``--settings`` names must agree."""
    for option, (given, found) in named.items():
        if given != found:
            raise UserError(f"--settings: is for {option} '{found}', expected '{given}' as --{option} says.")
