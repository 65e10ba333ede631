"""Pictures of several panels: a montage of slices and the three orthogonal planes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import ImageDraw

from slicewise.imaging.render import Canvas, Picture, encode, paste_all, write
from slicewise.imaging.views import AXIS, Plane, plane_of, slice_view
from slicewise.imaging.volume import Volume
from slicewise.imaging.windows import Window

_GAP = 2


def montage(
    volume: Volume,
    plane: Plane,
    indices: Sequence[int],
    window: Window,
    side: int,
    labels: npt.NDArray[Any] | None = None,
) -> Picture:
    """Slices in reading order on one sheet, each with its index.

    Args:
        volume: The volume.
        plane: Which plane.
        indices: Slices to show.
        window: Gray levels.
        side: Longest side of the sheet in pixels.
        labels: Labels of the volume's shape to tint, or ``None``.

    Raises:
        ImagingError: ``E_BAD_INDEX``.
    """
    first = slice_view(volume, plane, indices[0])
    tall, wide = first.values.shape[0] * first.mm[0], first.values.shape[1] * first.mm[1]
    columns = _columns(len(indices), tall, wide)
    rows = math.ceil(len(indices) / columns)
    scale = min((side - _GAP * (columns - 1)) / (columns * wide), (side - _GAP * (rows - 1)) / (rows * tall))
    tiles = []
    for index in indices:
        canvas = Canvas(slice_view(volume, plane, index), window, fit=(scale, scale))
        if labels is not None:
            canvas.overlay(plane_of(labels, plane, index))
        write(ImageDraw.Draw(canvas.image), (3, 1), str(index), 11, "la")
        tiles.append(canvas.image)
    width, height = tiles[0].size
    spots = [((n % columns) * (width + _GAP), (n // columns) * (height + _GAP)) for n in range(len(tiles))]
    size = (columns * (width + _GAP) - _GAP, rows * (height + _GAP) - _GAP)
    return encode(paste_all(size, list(zip(tiles, spots, strict=True))))


def _columns(count: int, tall: float, wide: float) -> int:
    """Columns that leave the least of a square sheet empty."""
    return min(range(1, count + 1), key=lambda columns: max(columns * wide, math.ceil(count / columns) * tall))


def ortho(
    volume: Volume,
    center: tuple[int, int, int],
    window: Window,
    side: int,
    *,
    crosshair: bool = True,
    labels: npt.NDArray[Any] | None = None,
) -> Picture:
    """Axial, coronal and sagittal plane through a voxel, side by side on one scale.

    Raises:
        ImagingError: ``E_BAD_INDEX``.
    """
    planes: tuple[Plane, ...] = ("axial", "coronal", "sagittal")
    views = [slice_view(volume, plane, center[AXIS[plane]]) for plane in planes]
    wide = sum(view.values.shape[1] * view.mm[1] for view in views)
    tall = max(view.values.shape[0] * view.mm[0] for view in views)
    scale = min((side - 2 * _GAP) / wide, side / tall)
    parts = []
    left = 0
    for view in views:
        canvas = Canvas(view, window, fit=(scale, scale))
        if labels is not None:
            canvas.overlay(plane_of(labels, view.plane, int(view.index)))
        if crosshair:
            canvas.cross(view.pixel((float(center[0]), float(center[1]), float(center[2]))))
        canvas.annotate(f"{view.plane} {int(view.index)}", bar=view.plane == "axial")
        parts.append((canvas.image, (left, 0)))
        left += canvas.size[0] + _GAP
    height = max(image.size[1] for image, _ in parts)
    return encode(paste_all((left - _GAP, height), parts))


def middle(shape: tuple[int, int, int]) -> tuple[int, int, int]:
    """The middle voxel."""
    z, y, x = (np.asarray(shape) // 2).tolist()
    return z, y, x
