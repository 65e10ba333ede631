"""The conversation of the agent: think, act, observe, until it answers or a limit is reached.

One :class:`Run` is one question with a fresh agent: nothing of another question is in its conversation or open in its
tools. A run never waits: it says what it needs next and is fed what came back, so that the turns of many questions
can be bought side by side.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from slicewise import artifacts
from slicewise.errors import did_you_mean
from slicewise.infer.agent import rules
from slicewise.infer.agent.policy import Case, Note, Policy
from slicewise.infer.agent.protocol import FormatFault, Turn, read_turn
from slicewise.infer.agent.session import LateToolError, Session
from slicewise.infer.agent.tools import Observation, Tool
from slicewise.infer.agent.trajectory import CALLS, Status, Step, Trajectory
from slicewise.llm.request import Reply, Request
from slicewise.params import AgentLimits

End = Literal["answer", "steps", "format", "tokens", "machine"]

REMINDERS: dict[FormatFault, str] = {
    "not_json": "Your reply is not one JSON object.",
    "not_an_object": "Your reply is JSON, but not an object.",
    "wrong_type": 'The field "type" must be "action" or "final_answer".',
    "wrong_keys": "The fields are not the expected ones.",
    "thought_without_parts": 'The thought must have the parts "ANALYSIS: ..." and "PLAN: ...".',
    "answer_without_box": "The answer has no \\\\boxed{...}.",
}
AGAIN = " Send the same step again as exactly one JSON object in the format of the instructions."
LAST_CALL = "No tool calls are left. Give your final answer now."
NO_CALLS_LEFT = "no tool calls were left, and the turn was no final answer"
CUT = " [...]"


class Run:
    """One question."""

    def __init__(
        self, case: Case, policy: Policy, tools: Sequence[Tool], session: Session, limits: AgentLimits
    ) -> None:
        """Bind what it works with.

        Args:
            case: The question and its files.
            policy: Decides the turns.
            tools: What may be called; everything else is a name error.
            session: Where calls are made.
            limits: When it ends.
        """
        self.case, self.policy, self.tools, self.session, self.limits = case, policy, list(tools), session, limits
        self.trajectory = Trajectory(case.item.sample_id, case.files)
        self.notes: list[Note] = []
        self.end: End | None = None
        self.error: str | None = None
        self._by_name = {tool.name: tool for tool in self.tools}
        self._faults_in_a_row = 0
        self._loaded = False
        self._told = False

    # --- what a driver does with it ---

    def ask(self) -> Request | str:
        """What the policy says next: a request to be answered, or the turn itself."""
        if self.calls >= self.limits.steps and not self._told:
            self.notes.append(Note("user", LAST_CALL))
            self._told = True
        return self.policy.next(self.case, self.notes, self.tools)

    def take(self, text: str, request_key: str | None = None, reply: Reply | None = None) -> None:
        """Feed the turn; the run makes the call it asks for, and ends or goes on."""
        turn = read_turn(text)
        shown = bool(self.notes) and self.notes[-1].png is not None
        broken = rules.breaks(turn, loaded=self._loaded, picture_shown=shown, question=self.case.item.question)
        base = Step(
            "format_error",
            text,
            thought=turn.thought,
            repaired=turn.repaired,
            breaks=broken,
            request_key=request_key,
            prompt_tokens=reply.prompt_tokens if reply else None,
            completion_tokens=reply.completion_tokens if reply else None,
            cost=reply.cost if reply else None,
        )
        self.notes.append(Note("assistant", text))
        {"fault": self._fault, "final": self._final, "action": self._action}[turn.kind](turn, base)
        if self.end is None and self.tokens >= self.limits.tokens:
            self._stop(
                "tokens", f"the conversation took {self.tokens} tokens, more than the {self.limits.tokens} allowed"
            )

    def abort(self, error: str) -> None:
        """End the run because the machinery failed; a later run goes on from what is stored."""
        self.error = error
        self._stop("machine", error)

    # --- what has happened ---

    @property
    def calls(self) -> int:
        """Tool calls so far, refused ones included."""
        return sum(step.status in CALLS for step in self.trajectory.steps)

    @property
    def tokens(self) -> int:
        """Tokens of all requests and replies so far."""
        return sum((s.prompt_tokens or 0) + (s.completion_tokens or 0) for s in self.trajectory.steps)

    @property
    def answer(self) -> str | None:
        """The final answer; the one without a box when the reformat retry brought none either; else ``None``."""
        last = next((s for s in reversed(self.trajectory.steps) if s.answer is not None), None)
        return last.answer if last is not None and self.end in ("answer", "format") else None

    # --- the kinds of turns ---

    def _fault(self, turn: Turn, base: Step) -> None:
        kind = turn.fault or "not_json"
        self._faults_in_a_row += 1
        again = self._faults_in_a_row <= self.limits.reformat
        text = REMINDERS[kind] + AGAIN
        answer = turn.answer if kind == "answer_without_box" else None
        self._add(replace(base, format_fault=kind, answer=answer, observation=text if again else None))
        if again:
            self.notes.append(Note("user", text, ok=False))
        else:
            self._stop("format", f"{self._faults_in_a_row} turns in a row break the format ({kind})")

    def _final(self, turn: Turn, base: Step) -> None:
        self._add(replace(base, status="final", answer=turn.answer, boxed=turn.boxed))
        self.end = "answer"

    def _action(self, turn: Turn, base: Step) -> None:
        self._faults_in_a_row = 0
        arguments = turn.arguments or {}
        base = replace(base, tool=turn.tool, arguments=artifacts.canonical_json(arguments))
        if self._told:
            self._add(replace(base, status="format_error", format_fault="wrong_type"))
            self._stop("steps", NO_CALLS_LEFT)
            return
        tool = self._by_name.get(turn.tool)
        if tool is None:
            hint = did_you_mean(turn.tool, self._by_name)
            names = ", ".join(self._by_name)
            self._refused(base, "name_error", f"There is no tool '{turn.tool}'.{hint} The tools are: {names}.")
            return
        wrong = tool.fault(arguments)
        if wrong is not None:
            self._refused(base, "argument_error", f"The arguments of '{turn.tool}' are wrong: {wrong}.")
            return
        try:
            key, found = self.session.call(turn.tool, arguments)
        except LateToolError as error:
            self.abort(str(error))
            return
        self._observed(base, key, found)

    def _refused(self, base: Step, status: Status, text: str) -> None:
        self._add(replace(base, status=status, observation=text))
        self.notes.append(Note("user", f"Error: {text}", ok=False, tool=base.tool))

    def _observed(self, base: Step, key: str, found: Observation) -> None:
        text = found.text if len(found.text) <= self.limits.observation else found.text[: self.limits.observation] + CUT
        if found.png is not None:
            self.trajectory.pictures[found.picture or ""] = found.png
        self._add(
            replace(
                base,
                status="ok" if found.ok else "domain_error",
                call_key=key,
                observation=text,
                structured=found.structured,
                picture=found.picture,
            )
        )
        if found.ok and base.tool == "load_data":
            self._loaded = True
        head = "Observation" if found.ok else "Error"
        self.notes.append(
            Note("user", f"{head}: {text}", found.png, found.picture, found.structured, found.ok, base.tool)
        )

    # --- bookkeeping ---

    def _add(self, step: Step) -> None:
        self.trajectory.steps.append(step)

    def _stop(self, end: End, why: str) -> None:
        self.end = end
        self._add(Step("limit", "", observation=json.dumps({"end": end, "why": why}, sort_keys=True)))
