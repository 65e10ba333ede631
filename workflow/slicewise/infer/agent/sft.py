"""Verified trajectories as data for LLaMA-Factory: ShareGPT conversations with tool calls and images, and its config.

Two styles. ``harness``: the model's turns are exactly what the agent expects to read, so a model that learnt them
can be put behind it. ``tool_calls``: actions are ``function_call`` turns in the form of the toolkit, without thoughts.
What the paper does not state (epochs, batch, warm-up, lengths) is left to the toolkit and named in the config.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Literal

from slicewise import artifacts
from slicewise.errors import UserError
from slicewise.infer.agent import protocol
from slicewise.infer.agent.policy import Case, question_text
from slicewise.infer.agent.tools import Tool
from slicewise.infer.agent.trajectory import Trajectory

Style = Literal["harness", "tool_calls"]
IMAGE = "<image>"
ASKS = ("human", "observation")
REPLIES = ("gpt", "function_call")
COLUMNS = {"messages": "conversations", "system": "system", "tools": "tools", "images": "images"}
CONFIG = """# Full-parameter fine-tuning as CT-Flow states it: learning rate 1e-5, cosine schedule, DeepSpeed ZeRO-2.
# The paper states neither epochs, batch size, warm-up, sequence length, image size nor seed: set them and report them.
model_name_or_path: {model}
trust_remote_code: true
stage: sft
do_train: true
finetuning_type: full
deepspeed: examples/deepspeed/ds_z2_config.json
dataset: ctflow
dataset_dir: .
template: {template}
learning_rate: 1.0e-5
lr_scheduler_type: cosine
bf16: true
output_dir: saves/ctflow
"""
TEMPLATES = {"Qwen/Qwen2.5-VL-7B-Instruct": "qwen2_vl", "Qwen/Qwen3-VL-8B-Instruct": "qwen3_vl_nothink"}


def conversation(one: Trajectory, case: Case, system: str, tools: Sequence[Tool], style: Style) -> dict[str, Any]:
    """One trajectory as a row; its refused and failed turns are left out by the caller.

    Args:
        one: A trajectory of ``ok`` turns and a final one.
        case: The question and its files.
        system: The system prompt that the agent had.
        tools: What it could call.
        style: How the model's turns are written.
    """
    turns = [{"from": "human", "value": question_text(case)}]
    images: list[str] = []
    for step in one.steps:
        if step.status == "final":
            turns.append({"from": "gpt", "value": protocol.final(step.thought, step.answer or "")})
            continue
        arguments = json.loads(step.arguments or "{}")
        if style == "harness":
            turns.append({"from": "gpt", "value": protocol.action(step.thought, step.tool or "", arguments)})
        else:
            call = json.dumps({"name": step.tool, "arguments": arguments}, ensure_ascii=False)
            turns.append({"from": "function_call", "value": call})
        seen = (step.observation or "").replace(IMAGE, "")
        if step.picture:
            images.append(f"images/{step.picture}.png")
            seen = f"{seen}\n{IMAGE}"
        turns.append({"from": "observation", "value": seen})
    declared = [{"name": t.name, "description": t.description, "parameters": dict(t.schema)} for t in tools]
    listed = json.dumps(declared, ensure_ascii=False) if style == "tool_calls" else ""
    return {"conversations": turns, "system": system, "tools": listed, "images": images}


def plain(question: str, answer: str) -> dict[str, Any]:
    """A question without tools, such as one of 3D-RAD's training part, as a row."""
    turns = [{"from": "human", "value": question}, {"from": "gpt", "value": answer}]
    return {"conversations": turns, "system": "", "tools": "", "images": []}


def check(rows: Iterable[Mapping[str, Any]]) -> int:
    """Check rows against what the toolkit accepts; returns how many there are.

    Raises:
        UserError: A row breaks the form; the message says which and how.
    """
    count = 0
    for count, row in enumerate(rows, start=1):
        fault = _fault(row)
        if fault:
            raise UserError(f"SFT export: row {count}: {fault}.")
    return count


def _fault(row: Mapping[str, Any]) -> str | None:
    if set(row) != set(COLUMNS.values()):
        return f"has the fields {sorted(row)}, expected {sorted(COLUMNS.values())}"
    turns = row["conversations"]
    if len(turns) < 2 or len(turns) % 2:
        return f"has {len(turns)} turns, expected pairs of what is said to the model and what it says"
    for place, turn in enumerate(turns):
        expected = REPLIES if place % 2 else ASKS
        if set(turn) != {"from", "value"} or turn["from"] not in expected or not isinstance(turn["value"], str):
            return f"turn {place + 1} is not a text of one of {expected}"
    if turns[0]["from"] != "human" or turns[-1]["from"] != "gpt":
        return "does not run from a human turn to one of gpt"
    marks = sum(turn["value"].count(IMAGE) for turn in turns)
    if marks != len(row["images"]):
        return f"marks {marks} images and names {len(row['images'])}"
    return None


def write(folder: Path, rows: Sequence[Mapping[str, Any]], pictures: Mapping[str, bytes], model: str) -> None:
    """Write ``ctflow.json``, ``dataset_info.json``, ``train.yaml`` and the images into a folder.

    Raises:
        UserError: A row breaks the form, or a picture is missing.
    """
    check(rows)
    wanted = {Path(name).stem for row in rows for name in row["images"]}
    missing = sorted(wanted - set(pictures))
    if missing:
        raise UserError(f"SFT export: picture {missing[0]} is not among the trajectories' pictures.")
    for name in sorted(wanted):
        with artifacts.atomic(folder / "images" / f"{name}.png") as handle:
            handle.write(pictures[name])
    artifacts.write_json(folder / "ctflow.json", list(rows))
    info = {"ctflow": {"file_name": "ctflow.json", "formatting": "sharegpt", "columns": COLUMNS}}
    artifacts.write_json(folder / "dataset_info.json", info)
    template = TEMPLATES.get(model, "default")
    artifacts.write_text(folder / "train.yaml", CONFIG.format(model=model, template=template))
