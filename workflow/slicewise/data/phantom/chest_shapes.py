"""Solids of the chest phantom in mm: x to the patient's left from the midline, y to the back, z up from the bottom.

Every solid is a test on voxel centres, so a mask is known exactly, and only the box around it is looked at.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

Bools = npt.NDArray[np.bool_]
Floats = npt.NDArray[np.float64]
Point = tuple[float, float, float]  # x, y, z in mm

TORSO = (150.0, 106.0)
MUSCLE = (134.0, 92.0)
RIBS = ((119.0, 82.0), (126.0, 88.0))
LUNG_REACH = 0.44  # half height of the lungs as a share of the volume's
RIB_PERIOD_MM = 24.0
RIB_MM = 9.0


@dataclass(frozen=True)
class Space:
    """Voxel centres of a phantom.

    Attributes:
        shape: Voxels in z, y, x.
        spacing: mm in z, y, x.
    """

    shape: tuple[int, int, int]
    spacing: tuple[float, float, float]

    @property
    def height(self) -> float:
        """Distance from the first to the last face in z, in mm."""
        return self.shape[0] * self.spacing[0]

    def axes(self) -> tuple[Floats, Floats, Floats]:
        """Positions in mm of the voxel centres along z, y and x."""
        z, y, x = (
            ((np.arange(size) + 0.5) * step - shift).astype(np.float64)
            for size, step, shift in zip(
                self.shape,
                self.spacing,
                (0.0, self.shape[1] * self.spacing[1] / 2, self.shape[2] * self.spacing[2] / 2),
                strict=True,
            )
        )
        return z, y, x

    def voxel(self, point: Point) -> tuple[float, float, float]:
        """Voxel ``(z, y, x)``, fractional, of a point in mm."""
        z, y, x = self.axes()
        return (
            (point[2] - float(z[0])) / self.spacing[0],
            (point[1] - float(y[0])) / self.spacing[1],
            (point[0] - float(x[0])) / self.spacing[2],
        )

    def where(self, test: Callable[[Any, Any, Any], Any], low: Point | None = None, high: Point | None = None) -> Bools:
        """Voxels whose centre passes a test of ``(x, y, z)`` in mm, looked at between two corners."""
        out = np.zeros(self.shape, dtype=bool)
        lines = self.axes()
        cuts = []
        for axis, line in enumerate(lines):
            first = 0 if low is None else int(np.searchsorted(line, low[2 - axis]))
            last = len(line) if high is None else int(np.searchsorted(line, high[2 - axis], side="right"))
            cuts.append(slice(first, last))
        z, y, x = (line[part] for line, part in zip(lines, cuts, strict=True))
        out[tuple(cuts)] = test(x[None, None, :], y[None, :, None], z[:, None, None])
        return out


def ellipse_column(space: Space, axes: tuple[float, float]) -> Bools:
    """An elliptic cylinder over the whole height."""
    a, b = axes
    return space.where(lambda x, y, z: ((x / a) ** 2 + (y / b) ** 2 + 0 * z) <= 1)


def ellipsoid(space: Space, centre: Point, radii: Point) -> Bools:
    """An ellipsoid with axes along x, y, z."""
    low = tuple(c - r for c, r in zip(centre, radii, strict=True))
    high = tuple(c + r for c, r in zip(centre, radii, strict=True))
    return space.where(
        lambda x, y, z: (
            (((x - centre[0]) / radii[0]) ** 2 + ((y - centre[1]) / radii[1]) ** 2 + ((z - centre[2]) / radii[2]) ** 2)
            <= 1
        ),
        (low[0], low[1], low[2]),
        (high[0], high[1], high[2]),
    )


def tube(space: Space, path: Sequence[Point], radius: float) -> Bools:
    """All voxels within ``radius`` of a polyline."""
    out = np.zeros(space.shape, dtype=bool)
    for start, end in pairwise(path):
        a, b = np.asarray(start), np.asarray(end)
        way = b - a
        length = float(way @ way)
        low, high = np.minimum(a, b) - radius, np.maximum(a, b) + radius

        def near(x: Any, y: Any, z: Any, a: Floats = a, way: Floats = way, length: float = length) -> Any:
            share = ((x - a[0]) * way[0] + (y - a[1]) * way[1] + (z - a[2]) * way[2]) / length
            share = np.clip(share, 0, 1)
            gaps = (x - a[0] - share * way[0], y - a[1] - share * way[1], z - a[2] - share * way[2])
            return gaps[0] ** 2 + gaps[1] ** 2 + gaps[2] ** 2 <= radius**2

        corner, other = tuple(low.tolist()), tuple(high.tolist())
        out |= space.where(near, (corner[0], corner[1], corner[2]), (other[0], other[1], other[2]))
    return out


def ribs(space: Space) -> Bools:
    """Slanted stripes of an elliptic shell."""
    (a0, b0), (a1, b1) = RIBS
    return space.where(
        lambda x, y, z: (
            ((x / a0) ** 2 + (y / b0) ** 2 > 1)
            & ((x / a1) ** 2 + (y / b1) ** 2 <= 1)
            & ((z - 0.25 * y) % RIB_PERIOD_MM < RIB_MM)
        )
    )


def box(space: Space, low: Point, high: Point) -> Bools:
    """A box."""
    return space.where(lambda x, y, z: np.ones(np.broadcast_shapes(x.shape, y.shape, z.shape), bool), low, high)
