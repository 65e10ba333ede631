"""Trajectories in the log format of inspect_ai, so that its viewer shows every turn with its pictures.

The log is written as plain JSON (version 2 of the format) without inspect_ai itself. It holds no clock: the fields
that must hold a time hold the epoch.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import slicewise
from slicewise import artifacts
from slicewise.infer.agent.trajectory import CALLS, Step, Trajectory

EPOCH = "1970-01-01T00:00:00+00:00"
_ERRORS = {"name_error": "not_found", "argument_error": "parsing", "domain_error": "unknown"}


def write(
    folder: Path, benchmark: str, model: str, trajectories: Sequence[Trajectory], items: Mapping[str, Mapping[str, Any]]
) -> Path:
    """Write one log and return its path.

    Args:
        folder: Log folder of the viewer.
        benchmark: Id of the benchmark.
        model: Name of the agent.
        trajectories: With their pictures.
        items: Rows of the samples table by id.
    """
    samples = [_sample(one, items[one.sample_id], model) for one in trajectories]
    right = [sample["scores"]["choice"]["value"] == "C" for sample in samples]
    identity = hashlib.sha256(f"{benchmark}|{model}".encode()).hexdigest()[:22]
    spec = {
        "eval_id": identity,
        "run_id": identity,
        "created": EPOCH,
        "task": benchmark,
        "task_id": identity,
        "dataset": {"name": benchmark, "samples": len(samples), "sample_ids": [s["id"] for s in samples]},
        "model": f"slicewise/{model}",
        "config": {"epochs": 1},
        "packages": {"slicewise": slicewise.__version__},
    }
    metric = {"name": "accuracy", "value": sum(right) / len(right) if right else 0.0}
    log = {
        "version": 2,
        "status": "success",
        "eval": spec,
        "plan": {"name": "agent", "steps": []},
        "results": {
            "total_samples": len(samples),
            "completed_samples": len(samples),
            "scores": [{"name": "choice", "scorer": "choice", "metrics": {"accuracy": metric}}],
        },
        "stats": {"started_at": EPOCH, "completed_at": EPOCH},
        "samples": samples,
    }
    path = folder / f"1970-01-01T00-00-00+00-00_{benchmark}_{identity}.json"
    artifacts.write_json(path, log)
    return path


def _sample(one: Trajectory, item: Mapping[str, Any], model: str) -> dict[str, Any]:
    options = item["options"] or {}
    gold = item["answer"][1] if options else item["answer"]
    boxed = one.final.boxed if one.final else None
    question = str(item["question"])
    messages = [{"id": f"{one.sample_id}-q", "role": "user", "content": question}, *_messages(one)]
    last = next((message for message in reversed(messages) if message["role"] == "assistant"), None)
    made = [{"message": last, "stop_reason": "stop"}] if last else []
    return {
        "id": one.sample_id,
        "epoch": 1,
        "input": question,
        "choices": [options[letter] for letter in sorted(options)] or None,
        "target": gold,
        "messages": messages,
        "output": {"model": f"slicewise/{model}", "choices": made},
        "scores": {"choice": {"value": "C" if boxed == gold else "I", "answer": boxed, "explanation": item["answer"]}},
        "metadata": {
            "volume": item["volume_id"],
            "status": [step.status for step in one.steps],
            "broken_rules": sorted({rule for step in one.steps for rule in step.breaks}),
        },
    }


def _messages(one: Trajectory) -> Iterator[dict[str, Any]]:
    for number, step in enumerate(one.steps):
        name = f"{one.sample_id}-{number}"
        if step.status == "limit":
            yield {"id": name, "role": "user", "content": step.observation or ""}
            continue
        called = step.status in CALLS
        turn: dict[str, Any] = {"id": name, "role": "assistant", "source": "generate"}
        turn["content"] = step.thought if called else step.answer or step.reply
        if called:
            arguments = json.loads(step.arguments or "{}")
            turn["tool_calls"] = [{"id": name, "function": step.tool, "arguments": arguments, "type": "function"}]
        yield turn
        if called:
            yield _observation(f"{name}-o", name, step, one.pictures)
        elif step.observation:
            yield {"id": f"{name}-o", "role": "user", "content": step.observation}


def _observation(identity: str, call: str, step: Step, pictures: Mapping[str, bytes]) -> dict[str, Any]:
    content: list[dict[str, Any]] = [{"type": "text", "text": step.observation or ""}]
    if step.picture in pictures and step.picture:
        encoded = base64.b64encode(pictures[step.picture]).decode("ascii")
        content.append({"type": "image", "image": f"data:image/png;base64,{encoded}"})
    head = {"id": identity, "role": "tool", "function": step.tool, "tool_call_id": call}
    message: dict[str, Any] = {**head, "content": content}
    if step.status in _ERRORS:
        message["error"] = {"type": _ERRORS[step.status], "message": step.observation or ""}
    return message
