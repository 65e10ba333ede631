"""How an agent used its tools: calls, errors of each kind, broken rules, and agreement with the gold order.

Names and arguments were checked by the agent before a call, so the kinds cannot be confused. ``value`` is the share of
a case's calls whose name and arguments were right; a case without a call has none. Counts are per case, so tables
divide sums by cases.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any

from slicewise import artifacts
from slicewise.benchmarks.ct import read_sop
from slicewise.infer.agent.rules import BREAKS
from slicewise.infer.agent.trajectory import CALLS, TRAJECTORIES, TRAJECTORIES_FILE
from slicewise.outcome import Outcome
from slicewise.score.paths import Paths
from slicewise.score.rows import Row
from slicewise.score.signature import signature
from slicewise.score.text import lcs_length

NO_CALLS = "no_calls"
ENDED_EARLY = "ended_without_answer"
_COUNTED = {
    "name_errors": "name_error",
    "argument_errors": "argument_error",
    "domain_errors": "domain_error",
    "format_errors": "format_error",
}


def rows(protocol: str, paths: Paths) -> Iterator[list[Row]]:
    """The rows of one model: one per case of an agent, none for a model without tools.

    Raises:
        UserError: A file is missing.
    """
    recorded = paths.answers.with_name(TRAJECTORIES_FILE)
    constant = signature("tool_use", protocol, {**paths.declared})
    if not recorded.is_file():
        yield []
        return
    gold = {
        row["sample_id"]: read_sop(row["reasoning"])
        for row in artifacts.read_rows(paths.samples, columns=["sample_id", "reasoning"])
    }
    steps = artifacts.read_rows(recorded, TRAJECTORIES)
    yield [
        {**paths.ids({"sample_id": name}), **case(list(own), gold.get(name, ())), "signature": constant}
        for name, own in groupby(steps, key=lambda step: step["sample_id"])
    ]


def case(steps: Sequence[Mapping[str, Any]], sop: Sequence[str]) -> Row:
    """The columns of one case, without ids and signature.

    Args:
        steps: Its turns in order, rows of ``TRAJECTORIES``.
        sop: The gold order of tools; empty when the item has none.
    """
    status = Counter(step["status"] for step in steps)
    counts = {column: status[name] for column, name in _COUNTED.items()}
    calls = sum(status[name] for name in CALLS)
    broken = Counter(rule for step in steps for rule in step["breaks"])
    used = [step["tool"] for step in steps if step["status"] == "ok"]
    ended = steps[-1]["status"] != "final" and steps[-1]["answer"] is None
    flags = [*([NO_CALLS] if not calls else []), *([ENDED_EARLY] if ended else [])]
    wrong = counts["name_errors"] + counts["argument_errors"]
    return {
        "value": 1 - wrong / calls if calls else None,
        "outcome": str(Outcome.OK if calls else Outcome.NO_REFERENCE),
        "flags": flags,
        "calls": calls,
        **counts,
        "repaired": sum(bool(step["repaired"]) for step in steps),
        **{rule: broken[rule] for rule in BREAKS},
        "turns": sum(step["status"] != "limit" for step in steps),
        "tokens": sum((step["prompt_tokens"] or 0) + (step["completion_tokens"] or 0) for step in steps),
        **agreement(used, sop, calls),
    }


def agreement(used: Sequence[str], sop: Sequence[str], calls: int) -> Row:
    """How a case's successful calls follow the gold order.

    Args:
        used: Tools of the successful calls, in order.
        sop: The gold order.
        calls: All calls of the case.

    Returns:
        ``sop_agreement``: the share of the gold order that is there in order (longest common subsequence);
        ``excess_calls``: calls beyond those; ``order_violations``: gold calls that are there, but out of order. All
        ``None`` without a gold order.
    """
    if not sop:
        return {"sop_agreement": None, "excess_calls": None, "order_violations": None}
    ordered = lcs_length(used, sop)
    there = sum((Counter(used) & Counter(sop)).values())
    return {
        "sop_agreement": ordered / len(sop),
        "excess_calls": calls - ordered,
        "order_violations": there - ordered,
    }
