"""The record of a run of the agent: one row per turn, and every picture it saw, by content.

A trajectory holds everything that is needed to check it again: which tool was called with what, on which files, what
came back, and the digest of both. It holds no clock, so the same replies give the same bytes.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from pathlib import Path
from typing import Any, Literal

import pyarrow as pa

from slicewise import artifacts

Status = Literal["ok", "name_error", "argument_error", "domain_error", "format_error", "final", "limit"]
CALLS: tuple[Status, ...] = ("ok", "name_error", "argument_error", "domain_error")  # the turns that are tool calls
TRAJECTORIES_FILE = "trajectories.parquet"
PICTURES_FILE = "pictures.parquet"

TRAJECTORIES = artifacts.declare(
    "trajectories",
    [
        ("sample_id", pa.string(), False),
        ("benchmark", pa.string(), False),
        ("model", pa.string(), False),
        ("step", pa.int32(), False),  # from 0; one row per turn of the agent
        (
            "status",
            pa.string(),
            False,
        ),  # ok | name_error | argument_error | domain_error | format_error | final | limit
        ("reply", pa.string(), False),  # what the model wrote, unchanged
        ("request_key", pa.string(), True),  # of the call in the response store; null for a fixed protocol
        ("prompt_tokens", pa.int64(), True),
        ("completion_tokens", pa.int64(), True),
        ("cost", pa.float64(), True),
        ("thought", pa.string(), False),
        ("tool", pa.string(), True),
        ("arguments", pa.string(), True),  # canonical JSON
        ("call_key", pa.string(), True),  # of the call in the tool store; null when it was refused before it
        ("files", pa.string(), False),  # digest of the case's files
        ("observation", pa.string(), True),  # the text that went back to the model
        ("structured", pa.string(), True),  # canonical JSON of the tool's numbers
        ("picture", pa.string(), True),  # SHA-256 of the PNG in pictures.parquet
        ("format_fault", pa.string(), True),
        ("repaired", pa.bool_(), False),
        ("breaks", artifacts.strings(), False),  # rules broken by this turn
        ("answer", pa.string(), True),  # of the final turn
        ("boxed", pa.string(), True),
    ],
    ["sample_id", "step"],
)
PICTURES = artifacts.declare("pictures", [("sha256", pa.string(), False), ("png", pa.binary(), False)], ["sha256"])


@dataclass(frozen=True, slots=True)
class Step:
    """One turn and what followed; the fields are the columns of ``TRAJECTORIES``."""

    status: Status
    reply: str
    thought: str = ""
    tool: str | None = None
    arguments: str | None = None
    call_key: str | None = None
    observation: str | None = None
    structured: str | None = None
    picture: str | None = None
    format_fault: str | None = None
    repaired: bool = False
    breaks: tuple[str, ...] = ()
    answer: str | None = None
    boxed: str | None = None
    request_key: str | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    cost: float | None = None


@dataclass(slots=True)
class Trajectory:
    """All turns of one question.

    Attributes:
        sample_id: The question.
        files: Digest of the case's files.
        steps: The turns, in order.
        pictures: PNG files by SHA-256.
    """

    sample_id: str
    files: str
    steps: list[Step] = field(default_factory=list)
    pictures: dict[str, bytes] = field(default_factory=dict)

    @property
    def final(self) -> Step | None:
        """The turn with the final answer, if the agent got there."""
        return self.steps[-1] if self.steps and self.steps[-1].status == "final" else None

    @property
    def tools(self) -> list[str]:
        """Names of the tools whose calls succeeded, in order."""
        return [step.tool for step in self.steps if step.status == "ok" and step.tool]

    def rows(self, benchmark: str, model: str) -> Iterator[dict[str, Any]]:
        """The rows of ``TRAJECTORIES``."""
        for number, step in enumerate(self.steps):
            own = {name: getattr(step, name) for name in step.__slots__}
            texts = {k: artifacts.storable(v) if isinstance(v, str) else v for k, v in own.items()}
            yield {
                "sample_id": self.sample_id,
                "benchmark": benchmark,
                "model": model,
                "step": number,
                "files": self.files,
                **texts,
                "breaks": list(step.breaks),
            }


def write(folder: Path, trajectories: Iterable[Trajectory], benchmark: str, model: str) -> None:
    """Write ``trajectories.parquet`` and ``pictures.parquet`` into a folder."""
    made = list(trajectories)
    rows = [row for trajectory in made for row in trajectory.rows(benchmark, model)]
    artifacts.write_rows(folder / TRAJECTORIES_FILE, rows, TRAJECTORIES)
    pictures = {name: png for trajectory in made for name, png in trajectory.pictures.items()}
    artifacts.write_table(folder / PICTURES_FILE, _pictures(pictures), PICTURES)


def _pictures(pictures: dict[str, bytes]) -> pa.Table:
    names = sorted(pictures)
    return pa.table({"sha256": names, "png": [pictures[name] for name in names]}, schema=PICTURES)


def read(path: Path) -> list[Trajectory]:
    """The trajectories of a file, with their pictures when ``pictures.parquet`` lies beside it, in the order of ids.

    Raises:
        UserError: The file is missing or of another version.
    """
    rows = artifacts.read_rows(path, TRAJECTORIES)
    beside = path.with_name(PICTURES_FILE)
    png = {row["sha256"]: row["png"] for row in artifacts.read_rows(beside, PICTURES)} if beside.is_file() else {}
    return [_trajectory(name, list(group), png) for name, group in groupby(rows, key=lambda row: row["sample_id"])]


def _trajectory(sample_id: str, rows: Sequence[dict[str, Any]], png: dict[str, bytes]) -> Trajectory:
    steps = [Step(**{**{k: row[k] for k in Step.__slots__}, "breaks": tuple(row["breaks"])}) for row in rows]
    seen = {step.picture: png[step.picture] for step in steps if step.picture in png and step.picture}
    return Trajectory(sample_id, rows[0]["files"], steps, seen)
