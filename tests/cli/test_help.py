"""The help texts are fit to read: no stray escapes, and one whole line for each command."""

from __future__ import annotations

import click
import pytest
from click.testing import CliRunner
from slicewise.cli import COMMANDS, cli


def commands(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """The words of every command and sub-command."""
    found = []
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        found.append((*path, name))
        if isinstance(command, click.Group):
            found += commands(command, (*path, name))
    return found


@pytest.mark.parametrize("words", commands(cli), ids=" ".join)
def test_help_has_no_stray_escape(words: tuple[str, ...]) -> None:
    shown = CliRunner().invoke(cli, [*words, "--help"])
    assert shown.exit_code == 0
    assert "\\" not in shown.output
    assert "\b" not in shown.output


def test_every_command_is_told_in_one_whole_line() -> None:
    shown = CliRunner().invoke(cli, ["--help"], terminal_width=80).output.split("Commands:\n")[1].splitlines()
    assert [line.split()[0] for line in shown] == list(COMMANDS)
    assert not [line for line in shown if line.endswith("...")]
    assert not [line for line in shown if not line.endswith(".")]


def test_examples_keep_their_lines() -> None:
    shown = CliRunner().invoke(cli, ["compare", "--help"]).output.splitlines()
    assert "  slicewise compare . . --pair blob:blank" in shown


def test_every_missing_declaration_is_named_at_once() -> None:
    shown = CliRunner().invoke(cli, ["explain", "--diff", "run.json", "--frame-base", "1"])
    assert "needs --convention --image-size --out," in str(shown.exception)
