"""Backend ``agent``: CT-Flow around a language model, or a fixed protocol with the same tools."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from slicewise import artifacts, layout
from slicewise.benchmarks.ct import places
from slicewise.endpoints import LlmSettings
from slicewise.infer.agent import trajectory
from slicewise.infer.agent.loop import Run
from slicewise.infer.agent.policy import Case, ModelPolicy, Policy
from slicewise.infer.agent.session import Session
from slicewise.infer.agent.tools import McpToolbox, Tool, Toolbox, allowed
from slicewise.infer.agent.toolstore import ToolStore
from slicewise.infer.items import Answer, Item
from slicewise.jobs import InferJob
from slicewise.llm.client import Client
from slicewise.llm.request import Request
from slicewise.llm.store import Store
from slicewise.outcome import Outcome
from slicewise.params import AgentModel

TOOL_STORE = "tools.sqlite"
SIDE_BY_SIDE = 8  # questions whose turns are bought together; each may hold an open volume


class AgentBackend:
    """Answers questions with tools and keeps the trajectories."""

    def __init__(
        self, model: AgentModel, settings: LlmSettings, root: Path, toolbox: Toolbox | None = None,
        store: Path = layout.STORE,
    ) -> None:  # fmt: skip
        """Bind what it works with.

        Args:
            model: The declared agent; ``endpoint`` is resolved.
            settings: How language models are called.
            root: The folder that the tools may read.
            toolbox: Other tools than the project's own, for tests.
            store: Folder of the response store; the store of tool calls lies in it.
        """
        self.model, self.settings, self.root, self.store = model, settings, root, store
        self.toolbox = toolbox or McpToolbox(root)
        self.trajectories: list[trajectory.Trajectory] = []

    def answer_all(self, items: Sequence[Item]) -> Iterator[Answer]:
        """Yield one answer per item; see :class:`slicewise.infer.run.Backend`."""
        self.trajectories = []
        cases: list[Case] = []
        for item in sorted(items, key=lambda i: (i.volume_id, i.sample_id)):
            case = case_of(item, self.root)
            if isinstance(case, Answer):
                yield case
            else:
                cases.append(case)
        if not cases:
            return
        tools = allowed(self.toolbox.tools(), self.model.tool_classes)
        policy = policy_of(self.model, tools)
        with ToolStore(self.store / TOOL_STORE) as calls:
            if self.model.endpoint is None:
                yield from self._batches(cases, policy, tools, calls, None)
                return
            with Store(self.store) as replies:
                try:
                    client = Client(self.model.endpoint, replies, self.settings)
                    yield from self._batches(cases, policy, tools, calls, client)
                finally:
                    replies.share()

    def _batches(
        self, cases: Sequence[Case], policy: Policy, tools: Sequence[Tool], calls: ToolStore, client: Client | None
    ) -> Iterator[Answer]:
        size = SIDE_BY_SIDE if client is not None else 1
        for start in range(0, len(cases), size):
            runs = [
                Run(case, policy, tools, Session(self.toolbox, calls, case.files), self.model.limits)
                for case in cases[start : start + size]
            ]
            drive(runs, client, self.model.limits.seconds)
            for run in runs:
                self.trajectories.append(run.trajectory)
                yield answer_of(run, self.model)

    def save(self, folder: Path, benchmark: str) -> None:
        """Write the trajectories of the last pass and their pictures into a folder."""
        trajectory.write(folder, self.trajectories, benchmark, self.model.name)


def policy_of(model: AgentModel, tools: Sequence[Tool]) -> Policy:
    """Who decides the turns of a declared agent."""
    if model.policy == "protocol":
        from slicewise.infer.agent.clinical import ClinicalProtocol

        return ClinicalProtocol()
    if model.endpoint is None:
        raise TypeError(f"model '{model.name}': the endpoint of its model is not resolved")
    return ModelPolicy(model.endpoint, system_prompt(tools, model), model.limits.images, model.draw)


def system_prompt(tools: Sequence[Tool], model: AgentModel) -> str:
    """The system prompt; an ablation changes its list of tools and nothing else."""
    from slicewise.infer.prompts import template

    shown = [artifacts.canonical_json(tool.shown()) for tool in tools]
    text: str = template("agent_system").render(tools=shown, steps=model.limits.steps, images=model.limits.images)
    return text.strip()


def drive(runs: Sequence[Run], client: Client | None, seconds: float) -> None:
    """Take runs to their end, one turn of each at a time.

    The time limit is one of the machinery: it ends a run as ``not_run``, and the same command goes on from what is
    stored, so no clock decides what an agent answers.
    """
    started = time.monotonic()
    try:
        while True:
            active = [run for run in runs if run.end is None]
            if not active:
                return
            if time.monotonic() - started > seconds * len(runs):
                for run in active:
                    run.abort(f"the time limit of {seconds:g} s a question was reached; run again to go on")
                return
            _turn(active, client)
    finally:
        for run in runs:
            run.session.close()


def _turn(active: Sequence[Run], client: Client | None) -> None:
    asked: list[tuple[Run, Request]] = []
    for run in active:
        wanted = run.ask()
        if isinstance(wanted, str):
            run.take(wanted)
        else:
            asked.append((run, wanted))
    if not asked:
        return
    if client is None:
        raise TypeError("a policy asks for a language model, but none is declared")
    results = client.answer_all([request for _, request in asked])
    for (run, _), result in zip(asked, results, strict=True):
        if result.reply is None:
            run.abort(result.error or str(result.outcome))
        else:
            run.take(result.reply.text or "", result.key, result.reply)


def answer_of(run: Run, model: AgentModel) -> Answer:
    """The row of the answers table: the final answer, ``not_run`` when the machinery failed, else an empty text."""
    item, steps = run.case.item, run.trajectory.steps
    keys = [step.request_key for step in steps if step.request_key]
    declared = {"policy": model.policy, "tools": [t.name for t in run.tools], "files": run.case.files}
    key = keys[-1] if keys else artifacts.sha256_json({**declared, "item": item.content})
    if run.end == "machine":
        return Answer(item.sample_id, None, key, Outcome.NOT_RUN, error=run.error)
    known = [step for step in steps if step.prompt_tokens is not None]
    costs = [step.cost for step in steps if step.cost is not None]
    return Answer(
        item.sample_id,
        run.answer or "",
        key,
        finish_reason={"answer": "stop", "format": "format"}.get(run.end or "", "length"),
        prompt_tokens=sum(step.prompt_tokens or 0 for step in known) if known else None,
        completion_tokens=sum(step.completion_tokens or 0 for step in known) if known else None,
        cost=round(sum(costs), 9) if costs else None,
    )


def case_of(item: Item, root: Path) -> Case | Answer:
    """The files of a question, or the answer that says that they are missing."""
    volume = next((p for p in places(item.volume_id) if (root / p).is_file()), None)
    if volume is None and item.frames and all(frame.path for frame in item.frames):
        return _stack(item, root)
    if volume is None:
        message = f"no volume of '{item.volume_id}' below {root.name}/, such as {places(item.volume_id)[0]}"
        return Answer(item.sample_id, None, item.content, Outcome.MISSING_FRAMES, error=message)
    labels: str | None = f"labels/{item.volume_id}.nii.gz"
    if not (root / str(labels)).is_file():
        labels = None
    digests = {name: artifacts.sha256_file(root / name) for name in (volume, labels) if name}
    return Case(item, volume, labels, artifacts.sha256_json(digests))


def _stack(item: Item, root: Path) -> Case | Answer:
    """The folder of slices of an MRI volume; it has no spacing, so the tools show it and measure nothing."""
    folder = Path(item.frames[0].path or "").parent
    if not folder.is_relative_to(root) or not folder.is_dir():
        message = f"the frames of '{item.volume_id}' lie in {folder.name}/, expected a folder below {root.name}/"
        return Answer(item.sample_id, None, item.content, Outcome.MISSING_FRAMES, error=message)
    digest = artifacts.sha256_json({p.name: artifacts.sha256_file(p) for p in sorted(folder.glob("*.png"))})
    return Case(item, folder.relative_to(root).as_posix(), None, digest)


def backend(job: InferJob) -> AgentBackend:
    """The backend of an inference job whose model is an agent."""
    if not isinstance(job.model, AgentModel) or job.volumes is None:
        raise TypeError(f"model '{job.model.name}' is no agent with a folder of volumes")
    return AgentBackend(job.model, job.llm or LlmSettings(), job.volumes)
