"""Building blocks of the phantoms: seeded smooth noise, soft edges, coil shading, Rician noise, PNG bytes.

All fields are arrays of floats ``(rows, columns)`` of one slice. Distances are in pixels.
"""

from __future__ import annotations

import io
import zlib
from typing import Any

import numpy as np
from numpy.typing import NDArray

Field = NDArray[np.floating[Any]]
Mask = NDArray[np.bool_]


def generator(seed: int, *names: object) -> np.random.Generator:
    """A generator that depends on the seed and the names alone."""
    key = zlib.crc32("|".join(str(part) for part in names).encode())
    return np.random.Generator(np.random.PCG64([seed, key]))


def smooth_noise(rng: np.random.Generator, shape: tuple[int, ...], scale: tuple[float, ...]) -> Field:
    """Smooth noise of mean about 0 and deviation 1.

    Args:
        rng: Where the noise comes from.
        shape: Shape of the result.
        scale: Distance between independent values along each axis; cubic interpolation between them.
    """
    coarse_shape = [int(np.ceil(n / s)) + 3 for n, s in zip(shape, scale, strict=True)]
    field: Field = rng.standard_normal(coarse_shape, dtype=np.float32)
    for axis, (n, step) in enumerate(zip(shape, scale, strict=True)):
        positions = (np.arange(n, dtype=np.float32) / step + 1).astype(np.float32)
        field = _along(field, axis, positions)
    return np.asarray(field / (field.std() + 1e-6), dtype=np.float32)


def _along(field: Field, axis: int, positions: Field) -> Field:
    """Catmull-Rom interpolation along one axis."""
    base = np.floor(positions).astype(np.intp)
    t = positions - base
    weights = (
        -0.5 * t**3 + t**2 - 0.5 * t,
        1.5 * t**3 - 2.5 * t**2 + 1,
        -1.5 * t**3 + 2 * t**2 + 0.5 * t,
        0.5 * t**3 - 0.5 * t**2,
    )
    shape = [1] * field.ndim
    shape[axis] = len(positions)
    last = field.shape[axis] - 1
    parts = [
        np.take(field, np.clip(base + step, 0, last), axis=axis) * weight.reshape(shape)
        for step, weight in zip((-1, 0, 1, 2), weights, strict=True)
    ]
    return np.asarray(sum(parts), dtype=np.float32)


def grid(size: int) -> tuple[Field, Field]:
    """Row and column coordinates of pixel centres on the 320 grid, whatever the size: ``(y, x)``."""
    step = 320.0 / size
    axis = ((np.arange(size, dtype=np.float32) + 0.5) * step).astype(np.float32)
    y, x = np.meshgrid(axis, axis, indexing="ij")
    return y, x


def inside(distance: Field, softness: float = 1.0) -> Field:
    """1 where a signed distance is negative, 0 where it is positive, with a soft edge."""
    return np.asarray(np.clip(0.5 - distance / (2 * softness), 0, 1), dtype=np.float32)


def ellipse(y: Field, x: Field, cy: float, cx: float, ry: float, rx: float, turn: float = 0.0) -> Field:
    """Approximate signed distance to an ellipse turned by ``turn`` radians, in pixels."""
    dy, dx = y - cy, x - cx
    c, s = np.float32(np.cos(turn)), np.float32(np.sin(turn))
    u, v = (c * dx + s * dy) / max(rx, 0.1), (c * dy - s * dx) / max(ry, 0.1)
    r = np.sqrt(u * u + v * v) + 1e-6
    stretch = np.sqrt((u / max(rx, 0.1)) ** 2 + (v / max(ry, 0.1)) ** 2) + 1e-6
    return np.asarray(r * (r - 1) / stretch, dtype=np.float32)


def band(distance: Field, near: float, far: float, softness: float = 0.8) -> Field:
    """1 between two values of a signed distance."""
    return inside(distance - far, softness) * inside(near - distance, softness)


def blend(image: Field, value: Field | float, weight: Field) -> Field:
    """The image moved toward ``value`` where ``weight`` is."""
    return np.asarray(image + (value - image) * weight, dtype=np.float32)


def acquire(rng: np.random.Generator, image: Field, shading: Field, noise: float, blur: float) -> NDArray[np.uint8]:
    """What the scanner makes of a slice: point spread, coil shading, Rician noise, scaling per slice to 8 bits.

    The scaling is that of the released frames: negative values to 0, then divided by the largest of the slice. The
    largest is a high quantile here, since the phantom has no bright vessel to set it.
    """
    from scipy import ndimage

    clean = ndimage.gaussian_filter(image * shading, blur)
    real = clean + noise * rng.standard_normal(image.shape, dtype=np.float32)
    imaginary = noise * rng.standard_normal(image.shape, dtype=np.float32)
    magnitude = np.hypot(real, imaginary)
    top = float(np.quantile(magnitude, 0.9985))
    return np.asarray(np.clip(np.rint(magnitude / top * 255), 0, 255), dtype=np.uint8)


def png(pixels: NDArray[np.uint8]) -> bytes:
    """An 8-bit greyscale PNG."""
    from PIL import Image

    buffer = io.BytesIO()
    Image.fromarray(pixels).save(buffer, format="PNG", compress_level=4)
    return buffer.getvalue()
