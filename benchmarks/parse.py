"""Parsing: milliseconds per item of each kind, and how the work grows with hostile input.

    python -m benchmarks.parse                 5 turns (about a minute)
    python -m benchmarks.parse --turns 2

Items are the committed parser cases. A hostile text repeats one unit; all readers read it at two lengths, one four
times the other: linear work costs about four times as much, quadratic work sixteen times. Processor seconds, the best
of the turns, because a neighbour on the machine only ever adds time.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from slicewise.geometry import Convention
from slicewise.parse import answers, cases
from slicewise.parse.boxes import BoxContext, read_boxes
from slicewise.parse.clean import clean, see
from slicewise.parse.locations import strip_location
from slicewise.parse.verdicts import read_verdict

from benchmarks.arms import RESULTS, machine

CASES = Path("tests/cases")
FILES = ("model_outputs", "defect_values", "parse_boxes", "parse_answers", "parse_texts", "parse_verdicts")
CONTEXT = BoxContext(Convention.ABS_XYWH_ORIGINAL, ((320, 320),) * 30)
UNITS = (
    "[", "{", "(", "<", "[1,", '{"a":', "{'a':'", "1 ", "\\boxed{", "<bbx>", "<think>", "Frame 1, ", "A, ", "Answer: ",
    "no ", " ", "\n", "*", "|", "1", "(1,2),", "[10,20,30,40] ", "Frame 3: <bbx>[1,2,3,4]</bbx>, ", "<loc0001>", "x=1 ",
    "is ", "\x00", "\ud800", "`", "slices ", "是", "not A. ", "5? no ", "accuracy: ", "| a | b |\n", "x=1, y=2 ",
)  # fmt: skip
SMALL, FACTOR = 16_000, 4


def read_everything(text: str) -> None:
    """All readers on one text."""
    cleaned = clean(text)
    see(cleaned)
    answers.read_yes_no(cleaned, "Is there a mass in the left lobe?")
    answers.read_choice(cleaned, {"A": "mass", "B": "edema", "C": "cyst"})
    answers.read_choices(cleaned, {"A": "mass", "B": "edema", "C": "cyst"})
    answers.read_count(cleaned, "How many types of lesions are there?")
    answers.read_short_text(cleaned)
    read_boxes(cleaned, CONTEXT)
    read_verdict(cleaned, ["accuracy", "relevance"], (1, 10))
    read_verdict(cleaned, ["score"], (1, 10))
    strip_location(text)


def best(work: Callable[[], Any], turns: int) -> float:
    """Processor seconds of the fastest turn."""
    seconds = []
    for _ in range(turns):
        start = time.process_time()
        work()
        seconds.append(time.process_time() - start)
    return min(seconds)


def by_kind(turns: int) -> list[dict[str, Any]]:
    """Milliseconds per committed case of each kind."""
    found = [case for name in FILES for case in cases.read_cases(CASES / f"{name}.jsonl")]
    rows = []
    for kind in sorted({case.kind for case in found}):
        items = [case for case in found if case.kind == kind]
        seconds = best(lambda items=items: [cases.answer(case) for case in items], turns)  # type: ignore[misc]
        rows.append({"kind": kind, "items": len(items), "ms per item": round(1000 * seconds / len(items), 3)})
    return rows


def growth(turns: int) -> list[dict[str, Any]]:
    """What four times the hostile text costs."""
    rows = []
    for unit in UNITS:
        small, large = (unit * (size // len(unit)) for size in (SMALL, FACTOR * SMALL))
        one, four = (best(lambda text=text: read_everything(text), turns) for text in (small, large))  # type: ignore[misc]
        rows.append(
            {"unit": ascii(unit)[1:-1].replace("|", "\\|"), f"ms at {SMALL:,} characters": round(1000 * one, 1),
             f"ms at {FACTOR * SMALL:,}": round(1000 * four, 1), "times": round(four / one, 1)}
        )  # fmt: skip
    return rows


def _table(rows: list[dict[str, Any]]) -> list[str]:
    names = list(rows[0])
    lines = [f"| {' | '.join(names)} |", "|---|" + "---:|" * (len(names) - 1)]
    return [*lines, *(f"| {' | '.join(str(row[name]) for name in names)} |" for row in rows)]


def main() -> None:
    """Measure and write ``results/bench/parse.md`` and ``.json``."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--turns", type=int, default=5)
    turns = parser.parse_args().turns
    about = machine([])
    tables = {"Cost of an item": by_kind(turns), f"All readers on hostile text, {FACTOR} times longer": growth(turns)}
    RESULTS.mkdir(parents=True, exist_ok=True)
    record = {"about": about, "turns": turns, "tables": tables}
    (RESULTS / "parse.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    lines = ["# Parsing", "", ", ".join(f"{name} {value}" for name, value in about.items()), ""]
    for heading, rows in tables.items():
        lines += [f"## {heading}", "", *_table(rows), ""]
    (RESULTS / "parse.md").write_text("\n".join(lines), encoding="utf-8")
    print("\n".join(lines))


if __name__ == "__main__":
    main()
