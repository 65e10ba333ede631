"""``slicewise agent``: look at trajectories, make new ones to learn from, export them."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from slicewise import artifacts, jobs, layout, params
from slicewise.errors import UserError

if TYPE_CHECKING:
    from slicewise.infer.items import Item
    from slicewise.params import AgentModel, Params

_FILE = click.Path(path_type=Path)
_PARAMS = click.option(
    "--params", "params_file", type=_FILE, default=params.PARAMS_FILE, show_default=True, help="Settings of the run."
)


@click.group(short_help="Trajectories of agents, and data to learn from them.")
def agent() -> None:
    """Trajectories of agents: export, synthesis, data for fine-tuning."""


@agent.command("inspect")
@click.option("--benchmark", required=True, help="Id of the benchmark.")
@click.option("--model", required=True, help="Name of the agent.")
@click.option("--out", required=True, type=_FILE, help="Log folder for the viewer of inspect_ai.")
def inspect_log(benchmark: str, model: str, out: Path) -> None:
    """Write the trajectories of MODEL as a log of inspect_ai (`inspect view --log-dir OUT` shows it)."""
    from slicewise.infer.agent import inspect_log as log
    from slicewise.infer.agent import trajectory

    found = trajectory.read(layout.trajectories(benchmark, model))
    items = {row["sample_id"]: row for row in artifacts.read_rows(layout.samples(benchmark), artifacts.SAMPLES)}
    click.echo(f"{log.write(out, benchmark, model, found, items)}: {len(found)} trajectories")


def _agents(settings: Params, benchmark: str, names: tuple[str, ...]) -> list[AgentModel]:
    from slicewise.params import AgentModel

    made = [jobs.infer_job(settings, benchmark, name).model for name in names]
    wrong = [model.name for model in made if not isinstance(model, AgentModel)]
    if wrong:
        raise UserError(f"--teacher: model '{wrong[0]}' is no agent; expected models with backend 'agent'.")
    return [model for model in made if isinstance(model, AgentModel)]


def _items(samples: Path, benchmark: str) -> list[Item]:
    from slicewise.infer.run import load_items

    return load_items(samples, benchmark)


@agent.command()
@click.option("--benchmark", required=True, help="Id that the samples carry.")
@click.option("--samples", required=True, type=_FILE, help="Questions of the training part (samples.parquet).")
@click.option("--teacher", "teachers", required=True, multiple=True, help="Name of an agent; repeat for several.")
@click.option("--draws", default=4, show_default=True, type=click.IntRange(min=1), help="Draws of each teacher.")
@click.option("--out", required=True, type=_FILE, help="Folder for trajectories, pictures and the yield table.")
@_PARAMS
def synthesize(
    benchmark: str, samples: Path, teachers: tuple[str, ...], draws: int, out: Path, params_file: Path
) -> None:
    """Draw trajectories, keep those that can be made again and answer right, select one a question."""
    from slicewise.infer.agent import synthesis

    settings = params.load(params_file)
    root = jobs.infer_job(settings, benchmark, teachers[0]).volumes
    if root is None:
        raise UserError(f"--teacher: model '{teachers[0]}' is no agent; expected models with backend 'agent'.")
    models = _agents(settings, benchmark, teachers)
    drawn = synthesis.draw(_items(samples, benchmark), models, draws, root, settings.llm, layout.STORE)
    for row in synthesis.write(out, benchmark, list(drawn)):
        click.echo(", ".join(f"{name} {value}" for name, value in row.items()))


@agent.command()
@click.option("--benchmark", required=True, help="Id that the samples carry.")
@click.option("--samples", required=True, type=_FILE, help="The questions of the trajectories (samples.parquet).")
@click.option("--trajectories", required=True, type=_FILE, help="Folder that `synthesize` wrote.")
@click.option("--teacher", required=True, help="Agent whose system prompt the learner gets.")
@click.option("--rad3d", is_flag=True, help="Add the sampled training part of 3D-RAD, without tools.")
@click.option("--style", type=click.Choice(["harness", "tool_calls"]), default="harness", show_default=True)
@click.option("--base", default="Qwen/Qwen3-VL-8B-Instruct", show_default=True, help="Model to fine-tune.")
@click.option("--out", required=True, type=_FILE, help="Folder to write.")
@_PARAMS
def sft(benchmark: str, samples: Path, trajectories: Path, teacher: str, params_file: Path, **options: Any) -> None:
    """Export verified trajectories as data for LLaMA-Factory, with its config."""
    from slicewise.infer.agent import sft as export
    from slicewise.infer.agent import synthesis, trajectory
    from slicewise.infer.agent.backend import case_of, system_prompt
    from slicewise.infer.agent.policy import Case
    from slicewise.infer.agent.tools import McpToolbox, allowed

    settings = params.load(params_file)
    (model,) = _agents(settings, benchmark, (teacher,))
    root = jobs.infer_job(settings, benchmark, teacher).volumes or Path()
    tools = allowed(McpToolbox(root).tools(), model.tool_classes)
    system = system_prompt(tools, model)
    items = {item.sample_id: item for item in _items(samples, benchmark)}
    rows, pictures = [], {}
    for one in trajectory.read(trajectories / trajectory.TRAJECTORIES_FILE):
        case = case_of(items[one.sample_id], root)
        if isinstance(case, Case):
            kept = synthesis.without_mistakes(one)
            rows.append(export.conversation(kept, case, system, tools, options["style"]))
            pictures.update(one.pictures)
    if options["rad3d"]:
        rows += [export.plain(*pair) for pair in _rad3d(settings)]
    export.write(options["out"], rows, pictures, options["base"])
    click.echo(f"{options['out']}: {len(rows)} conversations, {len(pictures)} pictures")


def _rad3d(settings: Params) -> list[tuple[str, str]]:
    from slicewise.benchmarks.ct import ct_benchmark
    from slicewise.data import rad3d

    rows = rad3d.build(settings.data.rad3d, ct_benchmark("rad3d-balanced"), "train")
    return [(row["question"], row["answer"]) for row in rows]
