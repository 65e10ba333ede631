"""First-order statistics of the intensities of a region, as the Image Biomarker Standardisation Initiative defines."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from slicewise.imaging.faults import Code, ImagingError


def features(values: npt.NDArray[Any]) -> dict[str, float | None]:
    """Statistics by their names in the standard, without the prefix ``stat_``.

    Variance divides by n, kurtosis is the excess (0 for a normal distribution), percentiles are linear. A ratio whose
    denominator is 0, skewness and kurtosis of equal values, and the robust deviation of so few values that none lies
    between the percentiles, are ``None``.

    Raises:
        ImagingError: ``E_EMPTY_MASK``.
    """
    if not values.size:
        raise ImagingError(Code.EMPTY_MASK, "the region has no voxel.")
    x = values.reshape(-1).astype(np.float64)
    mean, variance = float(x.mean()), float(x.var())
    sd = variance**0.5
    p10, p25, median, p75, p90 = (float(p) for p in np.percentile(x, [10, 25, 50, 75, 90]))
    core = x[(x >= p10) & (x <= p90)]
    centred = x - mean
    return {
        "mean": mean,
        "var": variance,
        "skew": float((centred**3).mean()) / sd**3 if sd else None,
        "kurt": float((centred**4).mean()) / variance**2 - 3 if sd else None,
        "median": median,
        "min": float(x.min()),
        "p10": p10,
        "p90": p90,
        "max": float(x.max()),
        "iqr": p75 - p25,
        "range": float(np.ptp(x)),
        "mad": float(np.abs(centred).mean()),
        "rmad": float(np.abs(core - core.mean()).mean()) if core.size else None,
        "medad": float(np.abs(x - median).mean()),
        "cov": sd / mean if mean else None,
        "qcod": (p75 - p25) / (p75 + p25) if p75 + p25 else None,
        "energy": float((x**2).sum()),
        "rms": float((x**2).mean()) ** 0.5,
    }


def histogram_features(levels: npt.NDArray[Any]) -> dict[str, float]:
    """Entropy (bits) and uniformity of discretised intensities; without the prefix ``ih_``."""
    share = np.bincount(levels.reshape(-1)) / levels.size
    share = share[share > 0]
    return {"entropy": float(-(share * np.log2(share)).sum()), "uniformity": float((share**2).sum())}
