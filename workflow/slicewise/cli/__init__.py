"""The command line: ``slicewise <stage> ...``.

Commands are imported when they are called, so that a job starts in a fraction of a second; importing this package
loads neither torch nor pandas.
"""

from __future__ import annotations

import importlib
import sys

import click

from slicewise import __version__
from slicewise.errors import UserError
from slicewise.pipeline import lock

# Command -> "module:attribute". The five stages first, in their order.
COMMANDS = {
    "data": "slicewise.cli.data:data",
    "infer": "slicewise.cli.infer:infer",
    "parse": "slicewise.cli.parse:parse",
    "score": "slicewise.cli.score:score",
    "report": "slicewise.cli.report:report",
    "parity": "slicewise.cli.score:parity",
    "explain": "slicewise.cli.explain:explain",
    "compare": "slicewise.cli.compare:compare",
    "reproduce": "slicewise.cli.reproduce:reproduce",
    "prove": "slicewise.cli.prove:prove",
    "why": "slicewise.cli.why:why",
    "plan": "slicewise.cli.plan:plan",
    "store": "slicewise.cli.store:store",
    "serve": "slicewise.cli.serve:serve",
    "agent": "slicewise.cli.agent:agent",
    "judge-quality": "slicewise.cli.judge_quality:judge_quality",
    "demo-llm": "slicewise.cli.demo_llm:demo_llm",
    "commit": "slicewise.cli.workflow:commit",
    "prune": "slicewise.cli.workflow:prune",
}


class LazyGroup(click.Group):
    """A group whose commands are imported on first use."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Names in the order of the stages."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name, or ``None``."""
        if cmd_name not in COMMANDS:
            return None
        module, attribute = COMMANDS[cmd_name].split(":")
        command: click.Command = getattr(importlib.import_module(module), attribute)
        return command


@click.group(cls=LazyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="slicewise")
def cli() -> None:
    """Measure how well vision-language models read medical volumes.

    Research use, not for clinical decisions.
    """


def main() -> None:
    """Run the command line; a fault of the input is one sentence on stderr and exit status 2."""
    try:
        lock.join()
        cli(prog_name="slicewise")
    except UserError as error:
        click.echo(f"slicewise: error: {error}", err=True)
        sys.exit(2)
