"""Pictures of measurements: lines on the slice they lie in, and a path on a projection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from slicewise.imaging import views
from slicewise.imaging.grid import Triple
from slicewise.imaging.render import DEFAULT_SIDE, LINE, SECOND_LINE, Canvas, Picture
from slicewise.imaging.volume import Volume
from slicewise.imaging.windows import choose

Ends = tuple[Triple, Triple]
_PLANES: tuple[views.Plane, ...] = ("axial", "coronal", "sagittal")
_TOLERANCE = 1e-6


def drawn_on(volume: Volume, lines: Sequence[Ends], labels: npt.NDArray[Any] | None = None) -> Picture | None:
    """Lines on the first plane that holds them all, axial before coronal before sagittal.

    Args:
        volume: What to show below.
        lines: Ends as voxels.
        labels: Labels to tint faintly.

    Returns:
        The picture, or ``None`` when no plane holds them.
    """
    points = np.asarray(lines, dtype=np.float64).reshape(-1, 3)
    for plane in _PLANES:
        along = points[:, views.AXIS[plane]]
        if np.ptp(along) < _TOLERANCE:
            index = min(volume.grid.shape[views.AXIS[plane]] - 1, max(0, round(float(along[0]))))
            break
    else:
        return None
    view = views.slice_view(volume, plane, index)
    canvas = Canvas(view, choose(volume, None, None, None), DEFAULT_SIDE)
    if labels is not None:
        canvas.overlay(views.plane_of(labels, plane, index), strength=0.2)
    for (one, two), colour in zip(lines, (LINE, SECOND_LINE), strict=False):
        canvas.line([view.pixel(one), view.pixel(two)], colour)
    canvas.annotate(f"{plane} {index}")
    return canvas.picture()


def projected_line(volume: Volume, points: Sequence[Sequence[float]]) -> Picture:
    """A path on a coronal maximum projection of the slab that holds it."""
    rows = [point[1] for point in points]
    low = max(0, int(np.floor(min(rows))))
    high = min(volume.grid.shape[1], int(np.ceil(max(rows))) + 1)
    view = views.project(volume, "coronal", (min(low, high - 1), high), "max")
    canvas = Canvas(view, choose(volume, None, None, None), DEFAULT_SIDE)
    canvas.line([view.pixel((point[0], point[1], point[2])) for point in points])
    canvas.annotate(f"max coronal {low}-{high - 1}")
    return canvas.picture()
