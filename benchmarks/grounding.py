"""V-Score: cost of an item, cost of a crowded volume, and agreement with a dense assignment.

    python -m benchmarks.grounding                    41,307 items, 5 repeats (about 2 minutes)
    python -m benchmarks.grounding --items 5000 --repeats 1

The dense arm is the textbook form: one IoU matrix over all boxes of an item, frames compared in it, one call of
``scipy.optimize.linear_sum_assignment``. Both arms must give the same V on every item.
"""

from __future__ import annotations

import argparse
import random
from collections.abc import Callable, Sequence

import numpy as np
from slicewise.geometry import Box
from slicewise.score.grounding import iou_matrix, score_boxes

from benchmarks.arms import Run, Timer, interleave, machine, median, report_run, rows, write

Item = tuple[list[Box], list[Box]]

CROWD = 1000
TITLES = {
    "dense": "dense assignment over all frames",
    "ours": "Slicewise, V and all diagnostics",
    "ours-tenfold": "Slicewise, ten times the items",
    "crowd-spread": f"Slicewise, volumes with {CROWD:,} gold and {CROWD:,} predicted boxes on 40 frames",
    "crowd-one-frame": "Slicewise, the same boxes on one frame",
}


def some_items(count: int, seed: int = 2604) -> list[Item]:
    """Volumes of 20 frames: 1 to 12 gold boxes, predictions near some of them and some elsewhere."""
    rng = random.Random(seed)  # noqa: S311
    items = []
    for _ in range(count):
        gold = [_box(rng, 20) for _ in range(rng.choice([1, 1, 2, 4, 12]))]
        near = [_moved(rng, box) for box in gold if rng.random() < 0.6]
        items.append((gold, near + [_box(rng, 20) for _ in range(rng.choice([0, 1, 3]))]))
    return items


def crowd(frames: int, seed: int = 7) -> Item:
    """One volume full of boxes."""
    rng = random.Random(seed)  # noqa: S311
    return [_box(rng, frames) for _ in range(CROWD)], [_box(rng, frames) for _ in range(CROWD)]


def _box(rng: random.Random, frames: int) -> Box:
    x, y = rng.uniform(0, 200), rng.uniform(0, 200)
    return Box(rng.randrange(frames), x, y, x + rng.uniform(5, 60), y + rng.uniform(5, 60), "edema")


def _moved(rng: random.Random, box: Box) -> Box:
    dx, dy = rng.gauss(0, 6), rng.gauss(0, 6)
    return Box(box.frame, box.x0 + dx, box.y0 + dy, box.x1 + dx, box.y1 + dy, box.label)


def dense(gold: Sequence[Box], predicted: Sequence[Box]) -> float:
    """V by one assignment over all boxes."""
    from scipy.optimize import linear_sum_assignment

    if not predicted:
        return 0.0
    same = np.array([[a.frame == b.frame for b in predicted] for a in gold])
    overlap = iou_matrix(gold, predicted) * same
    taken = linear_sum_assignment(overlap, maximize=True)
    return float(overlap[taken].sum()) / len(gold)


def run(arm: str, count: int, timer: Timer) -> int:
    """Do one repeat of one arm; returns the number of items."""
    if arm.startswith("crowd"):
        items = [crowd(40 if arm == "crowd-spread" else 1)] * 3
    else:
        items = some_items(count * 10 if arm == "ours-tenfold" else count)
    score: Callable[[Sequence[Box], Sequence[Box]], object] = dense if arm == "dense" else _ours
    score(*items[0])  # imports scipy
    with timer.measure():
        for gold, predicted in items:
            score(gold, predicted)
    return len(items)


def _ours(gold: Sequence[Box], predicted: Sequence[Box]) -> object:
    return score_boxes(gold, predicted, level="volume")


def gate(count: int) -> str:
    """Both forms agree on every item and on the crowded volumes."""
    items = [*some_items(count), crowd(40), crowd(1)]
    worst = 0.0
    for gold, predicted in items:
        found = score_boxes(gold, predicted, level="volume").v
        assert found is not None
        worst = max(worst, abs(found - dense(gold, predicted)))
    if worst > 1e-12:
        raise SystemExit(f"correctness gate: V differs from the dense assignment by {worst:.1e}")
    return f"V differs from the dense assignment by at most {worst:.1e} on {len(items):,} items"


def comparisons(runs: dict[str, list[Run]]) -> list[str]:
    """What the table shows, in words."""

    def cost(arm: str) -> float:
        return median(runs[arm], "cpu") / runs[arm][0].items

    return [
        f"V and its diagnostics over {runs['ours'][0].items:,} items: {median(runs['ours'], 'cpu'):.2f} CPU s",
        f"cost of an item at ten times the items: {cost('ours-tenfold') / cost('ours'):.2f} times",
        f"slowest crowded volume: {max(cost('crowd-spread'), cost('crowd-one-frame')):.2f} s",
    ]


def main() -> None:
    """Run one arm (``--arm``), or all of them and write the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=41_307)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--arm", choices=TITLES)
    arguments = parser.parse_args()
    if arguments.arm:
        timer = Timer()
        report_run(timer, run(arguments.arm, arguments.items, timer))
        return
    note = gate(min(arguments.items, 2000))
    runs = interleave("benchmarks.grounding", list(TITLES), arguments.repeats, ["--items", str(arguments.items)], 1)
    write(
        "grounding",
        f"Grounding: {arguments.items:,} volumes, medians of {arguments.repeats}",
        {"V-Score": rows(runs, TITLES)},
        [note, *comparisons(runs)],
        machine(["numpy", "scipy"]),
    )


if __name__ == "__main__":
    main()
