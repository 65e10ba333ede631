"""What is kept of drawn trajectories, what a learner gets, and the log for the viewer."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from slicewise import artifacts
from slicewise.errors import UserError
from slicewise.infer.agent import inspect_log, protocol, sft, synthesis
from slicewise.infer.agent.policy import Case
from slicewise.infer.agent.tools import Observation, Tool
from slicewise.infer.agent.trajectory import Step, Trajectory
from slicewise.infer.items import Item

PNG = b"\x89PNG fake"
SEEN = Observation(True, "Slice 3.", '{"index":3}', PNG)
THOUGHT = "ANALYSIS: All is as expected here. NORMAL. PLAN: Go on."


class Box:
    """A toolbox that always observes the same."""

    def __init__(self, seen: Observation = SEEN) -> None:
        self.seen = seen

    def tools(self) -> list[Tool]:
        return [Tool("view_slice", "A slice.", {"type": "object"})]

    def open(self) -> Box:
        return self

    def call(self, tool: str, arguments: Any) -> Observation:
        return self.seen

    def close(self) -> None:
        pass


def _step(**changes: Any) -> Step:
    base: dict[str, Any] = {
        "status": "ok", "reply": "{}", "thought": THOUGHT, "tool": "view_slice", "arguments": '{"index":3}',
        "call_key": "k", "observation": SEEN.text, "structured": SEEN.structured, "picture": SEEN.picture,
    }  # fmt: skip
    return Step(**{**base, **changes})


def _final(letter: str) -> Step:
    return Step("final", "{}", THOUGHT, answer=rf"So. \boxed{{{letter}}}", boxed=letter)


@pytest.fixture
def case(make: Any) -> Case:
    asked: Item = make(
        "q", question_type="single_choice", question="Which?\nA. x\nB. y", options={"A": "x", "B": "y"}, answer="(B) y",
        task="qa", level="volume",
    )  # fmt: skip
    return Case(asked, "volumes/v.nii.gz", None, "files")


def _trajectory(*steps: Step, files: str = "files") -> Trajectory:
    return Trajectory("q", files, list(steps), {SEEN.picture or "": PNG})


@pytest.mark.parametrize(
    ("one", "seen", "verdict"),
    [
        (_trajectory(_step(), _final("B")), SEEN, "right"),
        (_trajectory(_step(), _final("A")), SEEN, "wrong"),
        (_trajectory(_step()), SEEN, "unfinished"),
        (_trajectory(_step(), _final("B")), replace(SEEN, structured='{"index":4}'), "invalid"),
        (_trajectory(_step(), _final("B")), replace(SEEN, png=b"other"), "invalid"),
        (_trajectory(_step(), _final("B")), replace(SEEN, ok=False), "invalid"),
        (_trajectory(_step(), _final("B")), replace(SEEN, text="Another text."), "invalid"),
        (_trajectory(_step(observation="Sli [...]"), _final("B")), SEEN, "right"),  # cut for the conversation
        (_trajectory(_step(), _final("B"), files="changed"), SEEN, "invalid"),
        (_trajectory(_final("B")), SEEN, "right"),
    ],
)
def test_the_filter_of_equation_1(case: Case, one: Trajectory, seen: Observation, verdict: str) -> None:
    assert synthesis.judge(one, case, Box(seen)) == verdict


def _candidate(teacher: str, verdict: str, *steps: Step, order: int = 0, draw: int = 0) -> synthesis.Candidate:
    return synthesis.Candidate(teacher, order, draw, _trajectory(*steps), verdict)


def test_the_best_survivor_is_selected_and_the_yield_is_counted(tmp_path: Path) -> None:
    slip = Step("name_error", "{}", THOUGHT, tool="x", arguments="{}", observation="no")
    candidates = [
        _candidate("one", "right", slip, _step(), _final("B")),
        _candidate("one", "right", _step(), _step(), _final("B"), draw=1),
        _candidate("one", "wrong", _step(), _final("A"), draw=2),
        _candidate("two", "right", _step(), _final("B"), order=1),
        _candidate("two", "unfinished", _step(), order=1, draw=1),
        _candidate("two", "invalid", _step(), _final("B"), order=1, draw=2),
    ]
    (chosen,) = synthesis.select(reversed(candidates))
    assert (chosen.teacher, chosen.draw) == ("two", 0)  # no mistake, and fewest calls
    rows = synthesis.write(tmp_path, "b", candidates)
    assert rows == [
        {"teacher": "one", "drawn": 3, "finished": 3, "valid": 3, "right": 2, "selected": 0},
        {"teacher": "two", "drawn": 3, "finished": 2, "valid": 1, "right": 1, "selected": 1},
    ]
    assert artifacts.read_rows(tmp_path / synthesis.YIELD_FILE) == rows


@pytest.mark.parametrize("style", ["harness", "tool_calls"])
def test_a_conversation_for_the_toolkit(case: Case, style: Any, tmp_path: Path) -> None:
    slip = Step("argument_error", "{}", THOUGHT, tool="view_slice", arguments="{}", observation="no")
    one = synthesis.without_mistakes(_trajectory(_step(), slip, _final("B")))
    row = sft.conversation(one, case, "system", Box().tools(), style)
    assert [turn["from"] for turn in row["conversations"]][0::2] == ["human", "observation"]
    said = row["conversations"][1]
    if style == "harness":  # the agent itself must be able to read what the learner learns
        turn = protocol.read_turn(said["value"])
        assert (turn.kind, turn.tool, turn.arguments) == ("action", "view_slice", {"index": 3})
        assert protocol.read_turn(row["conversations"][3]["value"]).boxed == "B"
    else:
        assert json.loads(said["value"]) == {"name": "view_slice", "arguments": {"index": 3}}
        assert json.loads(row["tools"])[0]["name"] == "view_slice"
    rows = [row, sft.plain("Is it?", "(A) Yes")]
    sft.write(tmp_path, rows, one.pictures, "Qwen/Qwen3-VL-8B-Instruct")
    assert json.loads((tmp_path / "ctflow.json").read_text()) == rows
    assert (tmp_path / row["images"][0]).read_bytes() == PNG
    config = (tmp_path / "train.yaml").read_text()
    assert "learning_rate: 1.0e-5" in config
    assert "ds_z2_config" in config


@pytest.mark.parametrize(
    ("changes", "fault"),
    [
        ({"images": []}, "marks 1 images and names 0"),
        ({"conversations": []}, "0 turns"),
        ({"conversations": [{"from": "gpt", "value": ""}, {"from": "human", "value": ""}]}, "turn 1"),
        ({"extra": 1}, "has the fields"),
    ],
)
def test_a_row_that_the_toolkit_would_refuse(case: Case, changes: dict[str, Any], fault: str) -> None:
    row = sft.conversation(_trajectory(_step(), _final("B")), case, "s", [], "harness")
    assert sft.check([row]) == 1
    with pytest.raises(UserError, match=fault):
        sft.check([row, {**row, **changes}])


def test_the_log_of_the_viewer(tmp_path: Path) -> None:
    slip = Step("name_error", "{}", THOUGHT, tool="x", arguments="{}", observation="There is no tool 'x'.")
    fault = Step("format_error", "I look.", format_fault="not_json", observation="Your reply is not one JSON object.")
    one = _trajectory(slip, fault, _step(), _final("B"))
    item = {"question": "Which?", "options": {"A": "x", "B": "y"}, "answer": "(B) y", "volume_id": "v"}
    path = inspect_log.write(tmp_path, "bench", "agent", [one], {"q": item})
    log = json.loads(path.read_text())
    (sample,) = log["samples"]
    assert [message["role"] for message in sample["messages"]] == [
        "user", "assistant", "tool", "assistant", "user", "assistant", "tool", "assistant",
    ]  # fmt: skip
    assert sample["messages"][2]["error"]["type"] == "not_found"
    assert sample["messages"][6]["content"][1]["image"].startswith("data:image/png;base64,")
    assert sample["scores"]["choice"]["value"] == "C"
    assert path.read_bytes() == inspect_log.write(tmp_path, "bench", "agent", [one], {"q": item}).read_bytes()
