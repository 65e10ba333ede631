"""Do the intervals cover, do the paired tests hold their size, and what do they find? By simulation, seeded.

    python benchmarks/statistics_simulation.py            # the tables of docs/statistics.md, about a minute
    python benchmarks/statistics_simulation.py --quick    # a tenth of the simulations

Volumes hold 1 to 8 items each. Models are compared on the same items: a volume shifts both models (shared difficulty)
and the difference between them has a volume effect of its own.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable, Iterator

import numpy as np
import numpy.typing as npt
from slicewise.report import statistics as st

Floats = npt.NDArray[np.float64]
CLUSTERS = (8, 40, 200)
COLUMNS = 7  # comparisons of one model in one table: six columns and Avg.
OWN, NOISE = 0.08, 0.25  # volume effect and item noise of the difference of two models
APART = 0.4  # share of yes/no items on which two models differ: 1 minus the mean of Beta(3, 2)


def sizes(generator: np.random.Generator, clusters: int) -> Floats:
    """Items per volume."""
    return generator.integers(1, 9, clusters).astype(np.float64)


def differences(generator: np.random.Generator, clusters: int, shift: float, kind: str) -> tuple[Floats, Floats]:
    """Sum of b - a and number of items per volume, with a true mean difference of ``shift``.

    Args:
        generator: Source of randomness.
        clusters: Number of volumes.
        shift: The true difference.
        kind: ``score`` (differences of numbers in [0, 1]) or ``yes/no`` (of right and wrong answers: -1, 0 or 1).
    """
    counts = sizes(generator, clusters)
    if kind == "score":
        own = generator.normal(shift, OWN, clusters)
        return counts * own + generator.normal(0, NOISE, clusters) * np.sqrt(counts), counts
    whole = counts.astype(np.int64)
    agree = generator.beta(3, 2, clusters)  # share of items on which both are right or both are wrong
    apart = generator.binomial(whole, 1 - agree)
    better = generator.binomial(apart, min(1.0, max(0.0, 0.5 + shift / (2 * APART))))
    return (2 * better - apart).astype(np.float64), counts


def interval(sums: Floats, counts: Floats) -> st.Interval | None:
    """The CR1 t interval that comparisons print."""
    clusters = len(counts)
    se = st.cr1_from_influence(st.influence(sums, counts), clusters)
    return st.t_interval(float(sums.sum() / counts.sum()), se, st.effective_clusters(counts))


def paired(kind: str, clusters: int, simulations: int, seed: int) -> tuple[float, float, float, float]:
    """Coverage of the interval, size and power of the sign-flip test, and the effect at which power is measured."""
    generator = np.random.default_rng(seed)
    effect = _detectable(kind, clusters)
    covered = size = power = 0
    for number in range(simulations):
        sums, counts = differences(generator, clusters, 0.0, kind)
        ends = interval(sums, counts)
        covered += ends is not None and ends.low <= 0 <= ends.high
        size += st.sign_flip_p(sums, draws=999, seed=number) < 0.05
        sums, _ = differences(generator, clusters, effect, kind)
        power += st.sign_flip_p(sums, draws=999, seed=number) < 0.05
    return covered / simulations, size / simulations, power / simulations, effect


def _detectable(kind: str, clusters: int) -> float:
    """The effect that the tables call detectable: the mean over 200 benchmarks of this size."""
    generator = np.random.default_rng(99)
    found = []
    for _ in range(200):
        sums, counts = differences(generator, clusters, 0.0, kind)
        se = st.cr1_from_influence(st.influence(sums, counts), clusters)
        found.append(st.minimal_detectable_effect(se, st.effective_clusters(counts)) or 0.0)
    return float(np.mean(found))


def familywise(clusters: int, simulations: int, seed: int) -> tuple[float, float]:
    """Share of tables without any difference in which something is called one: uncorrected, and with Holm.

    The seven comparisons share their volumes, and so a volume effect.
    """
    generator = np.random.default_rng(seed)
    plain = corrected = 0
    for number in range(simulations):
        shared = generator.normal(0, OWN, clusters)
        p_values: list[float | None] = []
        for column in range(COLUMNS):
            sums, counts = differences(generator, clusters, 0.0, "score")
            p_values.append(st.sign_flip_p(sums + counts * shared, draws=999, seed=COLUMNS * number + column))
        plain += min(p for p in p_values if p is not None) < 0.05
        corrected += min(p for p in st.holm(p_values) if p is not None) < 0.05
    return plain / simulations, corrected / simulations


def lines(simulations: int) -> Iterator[str]:
    """The tables in Markdown."""
    error = 100 * math.sqrt(0.05 * 0.95 / simulations)
    yield f"{simulations:,} simulations each; the standard error of a share near 5 or 95 % is {error:.1f} points.\n"
    yield "| differences | volumes | CR1 t covers | rejects without a difference | rejects with the effect | effect |"
    yield "|---|---:|---:|---:|---:|---:|"
    for kind in ("score", "yes/no"):
        for clusters in CLUSTERS:
            covered, size, power, effect = paired(kind, clusters, simulations, seed=clusters)
            shares = " | ".join(f"{100 * share:.1f} %" for share in (covered, size, power))
            yield f"| {kind} | {clusters} | {shares} | {100 * effect:.1f} points |"
    yield ""
    yield "| volumes | a table of seven comparisons without a difference shows one, uncorrected | with Holm |"
    yield "|---:|---:|---:|"
    for clusters in CLUSTERS:
        plain, corrected = familywise(clusters, simulations, seed=clusters + 1)
        yield f"| {clusters} | {100 * plain:.1f} % | {100 * corrected:.1f} % |"


def main(out: Callable[[str], None] = print) -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="A tenth of the simulations.")
    for line in lines(200 if parser.parse_args().quick else 2000):
        out(line)


if __name__ == "__main__":
    main()
