"""Intervals, paired tests and diagnostics over items that come in clusters (volumes).

Questions about one volume share its images, so the volume, not the question, is the independent unit. Every function
here is pure: arrays in, numbers out, no file and no clock; what is random takes a seed. ``None`` means undefined.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt
from scipy import stats

Floats = npt.NDArray[np.float64]
EXACT_CLUSTERS = 16  # up to 2**16 sign patterns are listed, beyond that they are drawn
_CHUNK = 2_048


class Interval(NamedTuple):
    """A confidence interval, both ends in the unit of the values."""

    low: float
    high: float


class Totals(NamedTuple):
    """Sum and number of items per cluster, clusters in sorted order."""

    names: tuple[str, ...]
    sums: Floats
    counts: Floats


def cluster_totals(values: Sequence[float] | Floats, clusters: Sequence[str]) -> Totals:
    """Sum and count per cluster, the same bits for any order of the rows.

    Args:
        values: One finite number per item, shape (n,).
        clusters: The cluster of each item, length n.

    Raises:
        ValueError: The lengths differ, or a value is not finite.
    """
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.shape != (len(clusters),):
        raise ValueError(f"{numbers.shape} values for {len(clusters)} cluster names; one each is expected")
    if not np.isfinite(numbers).all():
        raise ValueError("a value is not finite; leave out items without a value before")
    names, index = np.unique(np.asarray(clusters, dtype=str), return_inverse=True)
    order = np.lexsort((numbers, index))  # the value breaks ties, so floats are always added in one order
    sums = np.bincount(index[order], weights=numbers[order], minlength=len(names)).astype(np.float64)
    counts = np.bincount(index, minlength=len(names)).astype(np.float64)
    return Totals(tuple(names.tolist()), sums, counts)


# --- intervals ------------------------------------------------------------------------------------------------------


def influence(sums: Floats, counts: Floats) -> Floats:
    """Each cluster's pull on the pooled mean: ``(sum - mean * count) / total count``; adds up to 0.

    Args:
        sums: Shape (clusters,).
        counts: Shape (clusters,), at least one above 0.
    """
    total = float(counts.sum())
    return (sums - float(sums.sum()) / total * counts) / total


def cr1_from_influence(pull: Floats, clusters: int) -> float | None:
    """CR1 standard error from the clusters' influences; ``None`` with fewer than two clusters."""
    if clusters < 2:
        return None
    return math.sqrt(clusters / (clusters - 1) * float(pull @ pull))


def cr1_se(values: Sequence[float] | Floats, clusters: Sequence[str]) -> float | None:
    """Cluster-robust standard error of the mean with the CR1 factor C/(C-1); ``None`` below 2 clusters.

    Equals the clustered standard error of a regression on a constant (Liang and Zeger 1986), as statsmodels gives it.
    """
    totals = cluster_totals(values, clusters)
    if len(totals.names) < 2:
        return None
    return cr1_from_influence(influence(totals.sums, totals.counts), len(totals.names))


def effective_clusters(weights: Floats) -> float:
    """Kish's effective number of clusters, ``(sum w)^2 / sum w^2``: C when all weigh the same, less when few dominate.

    Standard errors from a few clusters of unequal size vary more than C-1 degrees of freedom say; with this number in
    the place of C the intervals keep their coverage (compare Carter, Schnepel and Steigerwald 2017).

    Args:
        weights: Items per cluster, or shares; shape (clusters,), not all 0.
    """
    return float(weights.sum()) ** 2 / float(weights @ weights)


def _degrees(clusters: float) -> float:
    """Degrees of freedom of an effective number of clusters; at least 1, where t is a Cauchy distribution."""
    return max(1.0, clusters - 1)


def t_interval(mean: float, se: float | None, clusters: float, confidence: float = 0.95) -> Interval | None:
    """Student-t interval with C-1 degrees of freedom, C the (effective) number of clusters; ``None`` without an SE."""
    if se is None:
        return None
    half = float(stats.t.ppf((1 + confidence) / 2, _degrees(clusters))) * se
    return Interval(mean - half, mean + half)


def resample(clusters: int, draws: int, seed: int) -> npt.NDArray[np.int64]:
    """How often each cluster is drawn in each bootstrap sample, shape (draws, clusters); every row adds up to C."""
    generator = np.random.Generator(np.random.PCG64(seed))
    return generator.multinomial(clusters, np.full(clusters, 1 / clusters), size=draws)


def expanded_tail(confidence: float, clusters: float) -> float:
    """Tail probability of the percentile interval, widened for few clusters.

    The plain percentile interval is too short by the factor sqrt((C-1)/C) and by normal instead of t quantiles; both
    are undone by reading the draws further out (Hesterberg 2015, "What Teachers Should Know About the Bootstrap").
    """
    df = _degrees(clusters)
    t = float(stats.t.ppf((1 + confidence) / 2, df))
    return float(stats.norm.cdf(-math.sqrt((df + 1) / df) * t))


def percentile_interval(means: Floats, clusters: float, confidence: float = 0.95) -> Interval | None:
    """Expanded percentile interval from bootstrap means; ``None`` for one cluster.

    Args:
        means: One per draw; NaN where a draw holds no item.
        clusters: The (effective) number of clusters.
        confidence: Such as 0.95.
    """
    kept = means[~np.isnan(means)]
    if clusters <= 1 or not kept.size:
        return None
    tail = expanded_tail(confidence, clusters)
    low, high = np.quantile(kept, [tail, 1 - tail])
    return Interval(float(low), float(high))


def bootstrap_means(sums: Floats, counts: Floats, weights: npt.NDArray[np.int64]) -> Floats:
    """Means of the resampled clusters, shape (draws, k); NaN where a draw holds no item.

    Args:
        sums: Shape (clusters, k): k columns resampled together, so that what they share stays shared.
        counts: Shape (clusters, k).
        weights: From :func:`resample`, shape (draws, clusters).
    """
    drawn = weights.astype(np.float64)
    below = drawn @ counts
    means: Floats = np.divide(drawn @ sums, below, out=np.full(below.shape, np.nan), where=below > 0)
    return means


def bootstrap_interval(
    values: Sequence[float] | Floats,
    clusters: Sequence[str],
    draws: int = 2000,
    seed: int = 0,
    confidence: float = 0.95,
) -> Interval | None:
    """Seeded cluster bootstrap of the mean; ``None`` with fewer than two clusters.

    Whole clusters are drawn with replacement and the pooled mean is taken, so volumes with many items weigh more, as
    they do in the mean itself.
    """
    totals = cluster_totals(values, clusters)
    number = len(totals.names)
    if number < 2:
        return None
    means = bootstrap_means(totals.sums[:, None], totals.counts[:, None], resample(number, draws, seed))
    return percentile_interval(means[:, 0], effective_clusters(totals.counts), confidence)


# --- paired comparison ----------------------------------------------------------------------------------------------


def sign_flip_p(differences: Sequence[float] | Floats, draws: int = 10_000, seed: int = 0) -> float:
    """Two-sided p-value of a paired comparison: under no difference each cluster's sum may change its sign.

    Exact (all sign patterns) with at most 16 clusters that differ, drawn with a seed beyond that; a drawn p counts
    the observed pattern itself, so it is never 0.

    Args:
        differences: Sum of (a - b) per cluster, or the cluster's contribution to any linear statistic; shape (C,).
        draws: Number of random patterns when C is large.
        seed: Seed of the random patterns.
    """
    moved = np.asarray(differences, dtype=np.float64)
    moved = np.sort(moved[moved != 0])
    if not moved.size:
        return 1.0
    # Sums that are equal on paper may differ in the last bits.
    observed = abs(float(moved.sum())) - 1e-9 * float(np.abs(moved).sum())
    if moved.size <= EXACT_CLUSTERS:
        patterns = np.arange(2**moved.size)[:, None] >> np.arange(moved.size) & 1
        return float(np.mean(np.abs((2.0 * patterns - 1.0) @ moved) >= observed))
    generator = np.random.Generator(np.random.PCG64(seed))
    hits = 0
    for start in range(0, draws, _CHUNK):
        signs = generator.integers(0, 2, size=(min(_CHUNK, draws - start), moved.size)) * 2.0 - 1.0
        hits += int(np.count_nonzero(np.abs(signs @ moved) >= observed))
    return (hits + 1) / (draws + 1)


def holm(p_values: Sequence[float | None]) -> list[float | None]:
    """Holm's step-down adjusted p-values in the given order; ``None`` stays ``None`` and is not counted."""
    known = sorted((p, i) for i, p in enumerate(p_values) if p is not None)
    adjusted: list[float | None] = [None] * len(p_values)
    highest = 0.0
    for rank, (p, i) in enumerate(known):
        highest = max(highest, min(1.0, (len(known) - rank) * p))
        adjusted[i] = highest
    return adjusted


def minimal_detectable_effect(
    se: float | None, clusters: float, alpha: float = 0.05, power: float = 0.8
) -> float | None:
    """The true difference that a two-sided t test at ``alpha`` finds with probability ``power``, given its SE."""
    if se is None:
        return None
    df = _degrees(clusters)
    return float(stats.t.ppf(1 - alpha / 2, df) + stats.t.ppf(power, df)) * se


def effect_size(cluster_means: Sequence[float] | Floats) -> float | None:
    """Cohen's d_z of paired differences: mean over standard deviation of the clusters' mean differences."""
    numbers = np.asarray(cluster_means, dtype=np.float64)
    if numbers.size < 2:
        return None
    spread = float(numbers.std(ddof=1))
    return float(numbers.mean()) / spread if spread > 0 else None


# --- diagnostics ----------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Confusion:
    """Yes/no answers against the truth. An answer that could not be read counts as the wrong one."""

    tp: int
    fn: int
    tn: int
    fp: int
    unread: int = 0

    @property
    def n(self) -> int:
        """Number of items."""
        return self.tp + self.fn + self.tn + self.fp

    @property
    def accuracy(self) -> float | None:
        """Share of right answers."""
        return _ratio(self.tp + self.tn, self.n)

    @property
    def sensitivity(self) -> float | None:
        """Share of the positives answered yes."""
        return _ratio(self.tp, self.tp + self.fn)

    @property
    def specificity(self) -> float | None:
        """Share of the negatives answered no."""
        return _ratio(self.tn, self.tn + self.fp)

    @property
    def balanced_accuracy(self) -> float | None:
        """Mean of sensitivity and specificity: 0.5 for a model that always gives the same answer."""
        if self.sensitivity is None or self.specificity is None:
            return None
        return (self.sensitivity + self.specificity) / 2

    @property
    def mcc(self) -> float | None:
        """Matthews correlation coefficient; ``None`` when a margin is empty, as for always-yes."""
        margins = (self.tp + self.fp) * (self.tp + self.fn) * (self.tn + self.fp) * (self.tn + self.fn)
        return (self.tp * self.tn - self.fp * self.fn) / math.sqrt(margins) if margins else None


def _ratio(part: int, whole: int) -> float | None:
    return part / whole if whole else None


def confusion(gold: Sequence[bool], reading: Sequence[bool | None]) -> Confusion:
    """Count yes/no answers; ``None`` is an answer that could not be read, counted as wrong.

    Raises:
        ValueError: The lengths differ.
    """
    tp = fn = tn = fp = 0
    for truth, answer in zip(gold, reading, strict=True):
        right = answer is not None and answer == truth
        tp += truth and right
        fn += truth and not right
        tn += not truth and right
        fp += not truth and not right
    return Confusion(tp, fn, tn, fp, sum(answer is None for answer in reading))


@dataclass(frozen=True, slots=True)
class CountError:
    """How far counts are off, over the answers that could be read.

    Attributes:
        n: Answers read.
        unread: Answers that could not be read; they enter no mean here.
        mean_absolute: Mean of |answer - gold|.
        median_absolute: Median of |answer - gold|.
        bias: Mean of answer - gold; above 0 the model counts too many.
        within_one: Share with |answer - gold| <= 1.
    """

    n: int
    unread: int
    mean_absolute: float | None
    median_absolute: float | None
    bias: float | None
    within_one: float | None


def count_error(gold: Sequence[int], reading: Sequence[int | None]) -> CountError:
    """Absolute errors of counts.

    Raises:
        ValueError: The lengths differ.
    """
    off = np.array([r - g for g, r in zip(gold, reading, strict=True) if r is not None], dtype=np.float64)
    unread = len(gold) - off.size
    if not off.size:
        return CountError(0, unread, None, None, None, None)
    size = np.abs(off)
    return CountError(
        off.size, unread, float(size.mean()), float(np.median(size)), float(off.mean()), float((size <= 1).mean())
    )
