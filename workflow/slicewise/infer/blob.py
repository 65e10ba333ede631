"""A small classical detector: blobs that are brighter or darker than the tissue around them.

No learning and no parameters fitted to a benchmark. Per frame: tissue mask, difference between a fine and a coarse
smoothing that both ignore the background, robust z-score over the tissue, connected components, boxes.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy import ndimage

from slicewise.errors import UserError

FloatImage = NDArray[np.float64]
Mask = NDArray[np.bool_]

FINE_SIGMA = 1.5  # pixels: noise is smoothed, findings of a few pixels stay
COARSE_SIGMA = 12.0  # pixels: what counts as the surroundings
TISSUE_FRACTION = 0.15  # of the 99th percentile: darker than that is background
RIM = 7  # pixels of tissue next to the background that are ignored: skin, skull and partial volume
THRESHOLD = 3.5  # robust standard deviations
MIN_AREA = 12  # pixels
MAX_SHARE = 0.12  # of the tissue: larger components are anatomy or shading
MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True, slots=True)
class Blob:
    """One conspicuous region of one frame.

    Attributes:
        x0: Left edge in pixels; ``y0`` top, ``x1`` right and ``y1`` bottom edge, so that a single pixel has size 1.
        y0: Top edge.
        x1: Right edge.
        y1: Bottom edge.
        strength: Sum of the absolute z-scores over its pixels.
        bright: Brighter than its surroundings.
    """

    x0: int
    y0: int
    x1: int
    y1: int
    strength: float
    bright: bool


def read_image(path: Path) -> FloatImage:
    """A PNG as an array of rows and columns scaled to [0, 1] by the range of its type; colour is averaged.

    Raises:
        UserError: The file is missing or is no image.
    """
    from PIL import Image, UnidentifiedImageError

    try:
        with Image.open(path) as image:
            pixels = np.asarray(image)
    except (OSError, UnidentifiedImageError) as error:
        raise UserError(
            f"{path}: cannot be read as an image ({error}); expected a PNG frame: make it again."
        ) from error
    scale = float(np.iinfo(pixels.dtype).max) if np.issubdtype(pixels.dtype, np.integer) else 1.0
    values = pixels.astype(np.float64) / scale
    return values[..., :3].mean(axis=2) if values.ndim == 3 else values


def tissue(image: FloatImage) -> Mask:
    """The largest connected region that is not background, with its holes filled."""
    smooth = ndimage.gaussian_filter(image, 2.0)
    bright = smooth > TISSUE_FRACTION * np.percentile(smooth, 99)
    labels, count = ndimage.label(bright)
    if count == 0:
        return np.zeros(image.shape, dtype=np.bool_)
    sizes = np.bincount(labels.ravel())[1:]
    filled: Mask = ndimage.binary_fill_holes(labels == 1 + int(np.argmax(sizes)))
    return filled


def z_scores(image: FloatImage, mask: Mask) -> FloatImage:
    """Contrast against the surroundings in robust standard deviations over the tissue; 0 outside of it."""
    inside = mask.astype(np.float64)
    fine = _within(image, inside, FINE_SIGMA)
    coarse = _within(image, inside, COARSE_SIGMA)
    contrast = fine - coarse
    core = ndimage.binary_erosion(mask, iterations=RIM)
    values = contrast[core]
    if values.size == 0:
        return np.zeros_like(image)
    centre = np.median(values)
    spread = MAD_TO_SIGMA * np.median(np.abs(values - centre))
    if spread <= 0:
        return np.zeros_like(image)
    return np.where(core, (contrast - centre) / spread, 0.0)


def _within(image: FloatImage, inside: FloatImage, sigma: float) -> FloatImage:
    """Gaussian smoothing that sees only the tissue."""
    weight = ndimage.gaussian_filter(inside, sigma)
    smooth: FloatImage = ndimage.gaussian_filter(image * inside, sigma) / np.maximum(weight, 1e-6)
    return smooth


def find(image: FloatImage) -> list[Blob]:
    """The blobs of one frame, strongest first."""
    mask = tissue(image)
    z = z_scores(image, mask)
    limit = MAX_SHARE * float(mask.sum())
    blobs = [blob for sign in (1.0, -1.0) for blob in _components(z, sign, limit)]
    return sorted(blobs, key=lambda b: (-b.strength, b.y0, b.x0))


def _components(z: FloatImage, sign: float, limit: float) -> list[Blob]:
    labels, count = ndimage.label(sign * z > THRESHOLD)
    if count == 0:
        return []
    strength = ndimage.sum_labels(np.abs(z), labels, np.arange(1, count + 1))
    areas = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    places = ndimage.find_objects(labels)
    return [
        Blob(place[1].start, place[0].start, place[1].stop, place[0].stop, float(total), sign > 0)
        for place, total, area in zip(places, strength, areas, strict=True)
        if MIN_AREA <= area <= limit
    ]
