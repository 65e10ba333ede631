"""Trajectories to learn from: several teachers draw several each, and only what can be proved is kept.

A trajectory is kept when every observation, made again in a fresh session on the same files, equals the recorded one,
and when its final answer is the gold (equation 1 of the paper). Of a question's survivors one is selected.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa

from slicewise import artifacts
from slicewise.endpoints import LlmSettings
from slicewise.infer.agent import trajectory
from slicewise.infer.agent.backend import AgentBackend, case_of
from slicewise.infer.agent.policy import Case
from slicewise.infer.agent.tools import McpToolbox, Toolbox
from slicewise.infer.agent.trajectory import CALLS, Trajectory
from slicewise.infer.items import Answer, Item
from slicewise.params import AgentModel
from slicewise.parse.gold import gold_letters

YIELD = artifacts.table_schema(
    "yield",
    [
        ("teacher", pa.string(), False),
        ("drawn", pa.int64(), False),
        ("finished", pa.int64(), False),  # with a final answer
        ("valid", pa.int64(), False),  # finished, and every observation made again is equal
        ("right", pa.int64(), False),  # valid, and the answer is the gold: equation 1
        ("selected", pa.int64(), False),  # at most one a question, over all teachers
    ],
    ["teacher"],
)
YIELD_FILE = "yield.parquet"


@dataclass(frozen=True, slots=True)
class Candidate:
    """A drawn trajectory.

    Attributes:
        teacher: Name of the teacher.
        order: Place of the teacher in the list.
        draw: Number of the draw.
        trajectory: What it did.
        verdict: ``unfinished``, ``invalid``, ``wrong`` or ``right``.
    """

    teacher: str
    order: int
    draw: int
    trajectory: Trajectory
    verdict: str


def is_valid(one: Trajectory, toolbox: Toolbox) -> bool:
    """Whether every observation of a trajectory is made again equal, in order, in one fresh session."""
    import json

    calls = [step for step in one.steps if step.call_key is not None]
    if not calls:
        return True
    server = toolbox.open()
    try:
        for step in calls:
            again = server.call(step.tool or "", json.loads(step.arguments or "{}"))
            same = (again.ok, again.structured, again.picture) == (step.status == "ok", step.structured, step.picture)
            # The text may have been cut for the conversation; what is there must be its beginning.
            if not same or not again.text.startswith((step.observation or "").removesuffix(" [...]")):
                return False
    finally:
        server.close()
    return True


def is_right(one: Trajectory, item: Item) -> bool:
    """Whether the boxed answer is the gold: the letter of a choice, else the same words."""
    boxed = one.final.boxed if one.final else None
    if boxed is None:
        return False
    if item.options:
        return gold_letters(boxed, item.options) == gold_letters(item.answer, item.options)
    return " ".join(boxed.casefold().split()) == " ".join(item.answer.casefold().split())


def judge(one: Trajectory, case: Case, toolbox: Toolbox) -> str:
    """The verdict on a trajectory; files that have changed since make it invalid."""
    if one.final is None:
        return "unfinished"
    if one.files != case.files or not is_valid(one, toolbox):
        return "invalid"
    return "right" if is_right(one, case.item) else "wrong"


def draw(
    items: Sequence[Item], teachers: Sequence[AgentModel], draws: int, root: Path, settings: LlmSettings, store: Path
) -> Iterator[Candidate]:
    """Run every teacher ``draws`` times over the questions and judge what it did.

    Args:
        items: Questions of the training part; none of an evaluation.
        teachers: Agents with resolved endpoints.
        draws: Draws of each; a fixed protocol draws once, since it always does the same.
        root: The folder that the tools may read.
        settings: How language models are called.
        store: Folder of the response store.
    """
    toolbox = McpToolbox(root)
    cases = {item.sample_id: case_of(item, root) for item in items}
    for order, teacher in enumerate(teachers):
        for number in range(1 if teacher.policy == "protocol" else draws):
            backend = AgentBackend(teacher.model_copy(update={"draw": number}), settings, root, toolbox, store)
            for _ in backend.answer_all(items):
                pass
            for one in backend.trajectories:
                case = cases[one.sample_id]
                if not isinstance(case, Answer):
                    yield Candidate(teacher.name, order, number, one, judge(one, case, toolbox))


def select(candidates: Iterable[Candidate]) -> list[Candidate]:
    """One right trajectory a question: fewest mistakes, then fewest broken rules, calls, teacher's place and draw."""
    groups: dict[str, list[Candidate]] = defaultdict(list)
    for candidate in candidates:
        if candidate.verdict == "right":
            groups[candidate.trajectory.sample_id].append(candidate)
    return [min(groups[name], key=_rank) for name in sorted(groups)]


def _rank(candidate: Candidate) -> tuple[int, ...]:
    steps = candidate.trajectory.steps
    mistakes = sum(step.status not in ("ok", "final") for step in steps)
    broken = sum(len(step.breaks) for step in steps)
    calls = sum(step.status in CALLS for step in steps)
    return (mistakes, broken, calls, candidate.order, candidate.draw)


def yields(candidates: Sequence[Candidate], selected: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Rows of the yield table, one a teacher."""
    verdicts: dict[str, Counter[str]] = defaultdict(Counter)
    for candidate in candidates:
        verdicts[candidate.teacher][candidate.verdict] += 1
    chosen = Counter(candidate.teacher for candidate in selected)
    return [
        {
            "teacher": name,
            "drawn": sum(count.values()),
            "finished": sum(count.values()) - count["unfinished"],
            "valid": count["wrong"] + count["right"],
            "right": count["right"],
            "selected": chosen[name],
        }
        for name, count in sorted(verdicts.items())
    ]


def write(folder: Path, benchmark: str, candidates: Sequence[Candidate]) -> list[dict[str, Any]]:
    """Write the selected trajectories, their pictures and the yield table; returns the table's rows."""
    selected = select(candidates)
    trajectory.write(folder, [candidate.trajectory for candidate in selected], benchmark, "synthesis")
    rows = yields(candidates, selected)
    artifacts.write_rows(folder / YIELD_FILE, rows, YIELD)
    return rows


def without_mistakes(one: Trajectory) -> Trajectory:
    """The trajectory without its refused and failed turns: what a learner should copy."""
    kept = [step for step in one.steps if step.status in ("ok", "final")]
    return replace(one, steps=kept)
