r"""The language of the agent: one JSON object a turn, an action or a final answer, read strictly.

Strict means that a turn which is nearly right is a format error and is counted, so that the counts of two models can
be compared. Two things are forgiven because they change nothing of what was meant: a code fence around the whole
object, and the ``\b`` of ``\boxed`` that JSON eats as a backspace when the model forgets to double the backslash.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import Any, Literal

FormatFault = Literal[
    "not_json", "not_an_object", "wrong_keys", "wrong_type", "thought_without_parts", "answer_without_box"
]
_FENCE = re.compile(r"\A\s*```(?:json)?\s*\n(?P<body>.*?)\n?\s*```\s*\Z", re.DOTALL)
_THINKING = re.compile(r"\A\s*<think>.*?</think>", re.DOTALL)
# Inside a JSON string: one backslash before a command of LaTeX that json would read as the escape `\b`, `\t`, `\f`.
_EATEN = re.compile(r"(?<!\\)((?:\\\\)*)\\(?=boxed\b|text(?:bf|it|rm)?\{|frac\{|times\b)")
_LONELY = re.compile(r'(?<!\\)((?:\\\\)*)\\(?![\\"/bfnrtu])')  # `\(`, `\%`: no escape of JSON at all
_PARTS = re.compile(r"\A\s*ANALYSIS\s*:\s*(?P<analysis>.*?)\s*\bPLAN\s*:\s*(?P<plan>.*)\Z", re.DOTALL)
_BOX = re.compile(r"\\boxed\s*\{")
ACTION_KEYS = {"type", "thought", "action"}
FINAL_KEYS = {"type", "thought", "answer"}


@dataclass(frozen=True, slots=True)
class Turn:
    r"""One turn of the agent as read.

    Attributes:
        kind: ``action``, ``final``, or ``fault`` when it breaks the format.
        thought: The thought, as far as it could be read.
        analysis: What stands behind ``ANALYSIS:`` in it.
        tool: Name of the tool that an action asks for.
        arguments: Its arguments.
        answer: The final answer, with its box.
        boxed: The content of the last box.
        fault: Why the turn breaks the format.
        repaired: The backslash of ``\boxed`` (or another one that JSON does not know) was put back.
    """

    kind: Literal["action", "final", "fault"]
    thought: str = ""
    analysis: str = ""
    tool: str = ""
    arguments: dict[str, Any] | None = None
    answer: str = ""
    boxed: str | None = None
    fault: FormatFault | None = None
    repaired: bool = False


def read_turn(text: str) -> Turn:
    """Read one reply of the model. Whatever the text, a turn comes back; nothing is raised."""
    body = _THINKING.sub("", text or "")
    fenced = _FENCE.match(body)
    body = fenced["body"] if fenced else body.strip()
    mended = _LONELY.sub(r"\1\\\\", _EATEN.sub(r"\1\\\\", body))
    repaired = mended != body
    try:
        raw = json.loads(mended, strict=False, parse_constant=_no_constant)
    except ValueError:  # JSONDecodeError is one; so is a number of thousands of digits
        return Turn("fault", fault="not_json", repaired=repaired)
    except RecursionError:
        return Turn("fault", fault="not_json", repaired=repaired)
    if not isinstance(raw, dict):
        return Turn("fault", fault="not_an_object", repaired=repaired)
    return _turn(raw, repaired)


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is not JSON")


def _turn(raw: dict[str, Any], repaired: bool) -> Turn:
    thought = raw["thought"] if isinstance(raw.get("thought"), str) else ""
    parts = _PARTS.match(thought)
    analysis = parts["analysis"] if parts else ""

    def fault(kind: FormatFault) -> Turn:
        return Turn("fault", thought, analysis, fault=kind, repaired=repaired)

    if raw.get("type") not in ("action", "final_answer"):
        return fault("wrong_type")
    is_action = raw["type"] == "action"
    if set(raw) != (ACTION_KEYS if is_action else FINAL_KEYS) or not isinstance(raw["thought"], str):
        return fault("wrong_keys")
    if parts is None:
        return fault("thought_without_parts")
    if is_action:
        action = raw["action"]
        if not _is_action(action):
            return fault("wrong_keys")
        return Turn("action", thought, analysis, action["name"], action["arguments"], repaired=repaired)
    if not isinstance(raw["answer"], str):
        return fault("wrong_keys")
    box = boxed(raw["answer"])
    if box is None:
        return Turn("fault", thought, analysis, answer=raw["answer"], fault="answer_without_box", repaired=repaired)
    return Turn("final", thought, analysis, answer=raw["answer"], boxed=box, repaired=repaired)


def _is_action(action: Any) -> bool:
    return (
        isinstance(action, dict)
        and set(action) == {"name", "arguments"}
        and isinstance(action["name"], str)
        and isinstance(action["arguments"], dict)
    )


def boxed(answer: str) -> str | None:
    r"""The content of the last ``\boxed{...}`` with balanced braces; ``None`` without one or when it is empty."""
    found: str | None = None
    for match in _BOX.finditer(answer):
        depth, start = 1, match.end()
        for place in range(start, len(answer)):
            depth += {"{": 1, "}": -1}.get(answer[place], 0)
            if depth == 0:
                found = answer[start:place].strip() or found
                break
    return found


def action(thought: str, tool: str, arguments: dict[str, Any]) -> str:
    """An action as the agent writes it."""
    return _written({"type": "action", "thought": thought, "action": {"name": tool, "arguments": arguments}})


def final(thought: str, answer: str) -> str:
    """A final answer as the agent writes it; ``answer`` holds its box."""
    return _written({"type": "final_answer", "thought": thought, "answer": answer})


def _written(turn: dict[str, Any]) -> str:
    return json.dumps(turn, ensure_ascii=False, sort_keys=False)
