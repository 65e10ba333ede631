"""Distribution of HU in a volume or a region, exact, from one histogram over all integer values."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Int16s

PERCENTILES = (1, 5, 10, 25, 50, 75, 90, 95, 99)
# Half-open ranges in HU that add up to 1.
TISSUES: dict[str, tuple[int, int]] = {
    "air": (-32768, -700),
    "lung_or_partial": (-700, -190),
    "fat": (-190, -30),
    "water": (-30, 20),
    "soft": (20, 200),
    "bone": (200, 32768),
}
_LOWEST = -32768
_CHUNK = 1 << 22


@dataclass(frozen=True, slots=True)
class Distribution:
    """What the values of a region are like.

    Attributes:
        n: Voxels.
        mean: Mean HU.
        sd: Standard deviation, of the region itself (divided by n).
        minimum: Smallest HU.
        maximum: Largest HU.
        percentiles: HU by percent, the value below or at which so many lie.
        modes: Centres of the highest bins of the histogram that are local peaks, at most three.
        fractions: Share of voxels by kind of tissue (:data:`TISSUES`); sums to 1.
        edges: Edges of the histogram's bins.
        counts: Voxels by bin; values outside the range are in none.
    """

    n: int
    mean: float
    sd: float
    minimum: int
    maximum: int
    percentiles: dict[int, int]
    modes: list[float]
    fractions: dict[str, float]
    edges: list[float]
    counts: list[int]


def counts_of(values: Int16s) -> npt.NDArray[np.int64]:
    """How often each of the 65,536 int16 values occurs, index 0 is -32768; in chunks that stay in the cache."""
    flat = values.reshape(-1)
    total = np.zeros(65536, dtype=np.int64)
    for start in range(0, flat.size, _CHUNK):
        total += np.bincount(flat[start : start + _CHUNK].view(np.uint16), minlength=65536)
    return np.roll(total, 32768)


def distribution(values: Int16s, *, bins: int = 64, span: tuple[int, int] = (-1024, 3071)) -> Distribution:
    """Describe int16 values of any shape.

    Args:
        values: The values; C-contiguous.
        bins: Bins of the histogram, 2 to 1024.
        span: Smallest and largest HU of the histogram, both in it.

    Raises:
        ImagingError: ``E_EMPTY_MASK`` without values; ``E_BAD_WINDOW`` for a bad span or number of bins.
    """
    if not values.size:
        raise ImagingError(Code.EMPTY_MASK, "the region has no voxel.")
    if not (2 <= bins <= 1024 and -32768 <= span[0] < span[1] <= 32767):
        raise ImagingError(Code.BAD_WINDOW, f"bins {bins}, range {list(span)}: expected 2..1024 bins, low below high.")
    counts = counts_of(values)
    where = np.flatnonzero(counts)
    many = counts[where]
    hu = where + _LOWEST
    n = int(many.sum())
    mean = float((hu * many).sum() / n)
    sd = float(np.sqrt((((hu - mean) ** 2) * many).sum() / n))
    reach = np.cumsum(many)
    ranks = {percent: int(hu[np.searchsorted(reach, percent / 100 * n)]) for percent in PERCENTILES}
    fractions = {name: float(many[(hu >= low) & (hu < high)].sum() / n) for name, (low, high) in TISSUES.items()}
    edges = np.linspace(span[0], span[1] + 1, bins + 1)
    histogram, _ = np.histogram(hu, bins=edges, weights=many)
    return Distribution(
        n,
        mean,
        sd,
        int(hu[0]),
        int(hu[-1]),
        ranks,
        _modes(histogram, edges),
        fractions,
        edges.tolist(),
        [int(count) for count in histogram],
    )


def _modes(histogram: npt.NDArray[Any], edges: npt.NDArray[Any]) -> list[float]:
    """Peaks of a histogram smoothed over three bins, highest first, at least a tenth of the highest."""
    smooth = np.convolve(histogram, [0.25, 0.5, 0.25], mode="same")
    before, after = np.r_[-1.0, smooth[:-1]], np.r_[smooth[1:], -1.0]
    peaks = np.flatnonzero((smooth > before) & (smooth >= after) & (smooth >= 0.1 * smooth.max()) & (smooth > 0))
    best = sorted(peaks, key=lambda peak: (-smooth[peak], peak))[:3]
    return [float((edges[peak] + edges[peak + 1]) / 2) for peak in best]
