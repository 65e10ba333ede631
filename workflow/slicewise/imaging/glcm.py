"""Grey level co-occurrence in 3-D: 13 directions at distance 1, symmetric, features averaged over directions.

This is the aggregation ``3D_avg`` of the Image Biomarker Standardisation Initiative.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Bools, Floats

MAX_LEVELS = 512
DIRECTIONS = [(a, b, c) for a in (-1, 0, 1) for b in (-1, 0, 1) for c in (-1, 0, 1) if (a, b, c) > (0, 0, 0)]


def discretise(values: npt.NDArray[Any], inside: Bools, width: float) -> npt.NDArray[np.int32]:
    """Levels of fixed width, 0 outside the region, 1 for the bin of the smallest value.

    Bins start at whole multiples of the width, so that one tissue falls into the same bins in any region.

    Raises:
        ImagingError: ``E_LIMIT`` for more than 512 levels or a width that is not above 0.
    """
    if not (np.isfinite(width) and width > 0):
        raise ImagingError(Code.LIMIT, f"bin width {width}: expected HU above 0.")
    bins = np.floor(values / width).astype(np.int32)
    low, high = int(bins[inside].min()), int(bins[inside].max())
    if high - low + 1 > MAX_LEVELS:
        raise ImagingError(
            Code.LIMIT, f"a bin width of {width:g} HU makes {high - low + 1} levels, more than {MAX_LEVELS}; widen it."
        )
    return np.where(inside, bins - low + 1, 0).astype(np.int32)


def matrices(levels: npt.NDArray[np.int32]) -> Floats:
    """Symmetric co-occurrence probabilities.

    Args:
        levels: ``(z, y, x)``, 0 outside, else 1..n.

    Returns:
        ``(directions, n, n)``; a direction without any pair is left out.
    """
    n = int(levels.max())
    found = []
    for step in DIRECTIONS:
        near, far = _shifted(levels, step)
        pair = near * (n + 1) + far
        counts = np.bincount(pair.reshape(-1), minlength=(n + 1) ** 2).reshape(n + 1, n + 1)[1:, 1:]
        counts = counts + counts.T
        total = counts.sum()
        if total:
            found.append(counts / total)
    return np.stack(found) if found else np.zeros((0, n, n))


def _shifted(levels: npt.NDArray[np.int32], step: tuple[int, int, int]) -> tuple[npt.NDArray[Any], npt.NDArray[Any]]:
    """Both ends of every pair of voxels a step apart."""
    near = tuple(slice(max(0, -s), size - max(0, s)) for s, size in zip(step, levels.shape, strict=True))
    far = tuple(slice(max(0, s), size - max(0, -s)) for s, size in zip(step, levels.shape, strict=True))
    return levels[near], levels[far]


def features(levels: npt.NDArray[np.int32]) -> dict[str, float | None]:
    """Co-occurrence features by their names in the standard, without the prefix ``cm_``.

    Logarithms are to base 2. A feature that is not defined in some direction (correlation of equal values) is averaged
    over the others; ``None`` when it is defined in none.
    """
    p = matrices(levels)
    names = _features(np.full((1, 1, 1), 1.0))
    if not len(p):
        return dict.fromkeys(names)
    return {name: _mean(values) for name, values in _features(p).items()}


def _mean(values: Floats) -> float | None:
    kept = values[np.isfinite(values)]
    return float(kept.mean()) if kept.size else None


def _features(p: Floats) -> dict[str, Floats]:
    """One value per matrix."""
    n = p.shape[1]
    level = np.arange(1, n + 1, dtype=np.float64)
    i, j = level[None, :, None], level[None, None, :]
    gap = np.abs(i - j)
    row = p.sum(axis=2)
    mean = (row * level).sum(axis=1)
    variance = (row * (level - mean[:, None]) ** 2).sum(axis=1)
    around = i + j - 2 * mean[:, None, None]

    def total(weight: Floats) -> Floats:
        return np.asarray((p * weight).sum(axis=(1, 2)))

    with np.errstate(divide="ignore", invalid="ignore"):
        inverse_variance = np.where(gap > 0, 1 / gap**2, 0.0) / 2
        correlation = (total(i * j) - mean**2) / variance
    return {
        "joint_max": p.max(axis=(1, 2)),
        "joint_avg": mean,
        "joint_var": variance,
        "joint_entr": _entropy(p.reshape(len(p), -1)),
        **_of_differences(p, gap),
        **_of_sums(p, i + j),
        "energy": total(p),
        "contrast": total(gap**2),
        "dissimilarity": total(gap),
        "inv_diff": total(1 / (1 + gap)),
        "inv_diff_norm": total(1 / (1 + gap / n)),
        "inv_diff_mom": total(1 / (1 + gap**2)),
        "inv_diff_mom_norm": total(1 / (1 + gap**2 / n**2)),
        "inv_var": total(2 * inverse_variance),
        "corr": correlation,
        "auto_corr": total(i * j),
        "clust_tend": total(around**2),
        "clust_shade": total(around**3),
        "clust_prom": total(around**4),
        **_information(p, row),
    }


def _entropy(p: Floats) -> Floats:
    """Bits of each row."""
    return np.asarray(-(p * np.log2(np.where(p > 0, p, 1.0))).sum(axis=1))


def _binned(p: Floats, number: Floats, low: int, count: int) -> tuple[Floats, Floats]:
    """Probability of each whole number (a difference or a sum of levels), by matrix."""
    index = (number[0].astype(np.int64) - low).reshape(-1)
    share: Floats = np.stack([np.bincount(index, one.reshape(-1), count).astype(np.float64) for one in p])
    return share, np.arange(low, low + count, dtype=np.float64)


def _moments(name: str, share: Floats, value: Floats) -> dict[str, Floats]:
    mean = (share * value).sum(axis=1)
    variance = (share * (value - mean[:, None]) ** 2).sum(axis=1)
    return {f"{name}_avg": mean, f"{name}_var": variance, f"{name}_entr": _entropy(share)}


def _of_differences(p: Floats, gap: Floats) -> dict[str, Floats]:
    return _moments("diff", *_binned(p, gap, 0, p.shape[1]))


def _of_sums(p: Floats, both: Floats) -> dict[str, Floats]:
    return _moments("sum", *_binned(p, both, 2, 2 * p.shape[1] - 1))


def _information(p: Floats, row: Floats) -> dict[str, Floats]:
    """Information correlation, first and second; the matrix is symmetric, so its marginals are equal."""
    joint, single = _entropy(p.reshape(len(p), -1)), _entropy(row)
    product = row[:, :, None] * row[:, None, :]
    logs = np.log2(np.where(product > 0, product, 1.0))
    cross = -(p * logs).sum(axis=(1, 2))
    independent = -(product * logs).sum(axis=(1, 2))
    with np.errstate(divide="ignore", invalid="ignore"):
        first = (joint - cross) / single
    second = np.sqrt(np.maximum(0.0, 1 - np.exp(-2 * (independent - joint))))
    return {"info_corr1": first, "info_corr2": second}
