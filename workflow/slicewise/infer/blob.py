"""A small classical detector: blobs that are brighter or darker than the tissue around them and than the other side.

Nothing is learned. Per frame: tissue mask, difference between a fine and a coarse smoothing that both ignore the
background, less what the mirrored side shows nearby (head and knee are roughly symmetric), threshold against the
robust spread over the tissue, connected components, boxes.
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

FINE_SIGMA = 2.5  # pixels: noise and thin folds are smoothed, findings of a few pixels stay
COARSE_SIGMA = 12.0  # pixels: what counts as the surroundings
TISSUE_FRACTION = 0.15  # of the 99th percentile: darker than that is background
RIM = 7  # pixels of tissue next to the background that are ignored: skin, skull and partial volume
THRESHOLD = 1.5  # robust standard deviations over the tissue
MIN_CONTRAST = 0.15  # of the median tissue: fainter is noise or shading, however even the rest may be
SYMMETRY_SLACK = 9  # pixels: side of the window in which the mirrored side may show the same structure
MIN_AREA = 25  # pixels
MIN_FILL = 0.4  # of its own rectangle: thinner is an edge or a vessel
MAX_SHARE = 0.12  # of the tissue: larger components are anatomy or shading
HALO = 0.5  # a blob of opposite sign that covers this share of a stronger one is its halo
MAD_TO_SIGMA = 1.4826


@dataclass(frozen=True, slots=True)
class Blob:
    """One conspicuous region of one frame.

    Attributes:
        x0: Left edge in pixels; ``y0`` top, ``x1`` right and ``y1`` bottom edge, so that a single pixel has size 1.
        y0: Top edge.
        x1: Right edge.
        y1: Bottom edge.
        strength: Sum of its contrast over its pixels, as a share of the median tissue, times how full its box is.
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


@dataclass(frozen=True, slots=True)
class _Contrast:
    """What a frame shows, as shares of the median tissue; 0 outside of the tissue and in its rim.

    Attributes:
        own: Contrast against the surroundings.
        mirrored: The same, mirrored about the middle of the tissue.
        floor: Contrast below which a pixel is inconspicuous.
    """

    own: FloatImage
    mirrored: FloatImage
    floor: float


def _contrast(image: FloatImage, mask: Mask) -> _Contrast | None:
    """``None`` when there is too little tissue to judge."""
    core = ndimage.binary_erosion(mask, iterations=RIM)
    if not core.any():
        return None
    inside = mask.astype(np.float64)
    contrast = _within(image, inside, FINE_SIGMA) - _within(image, inside, COARSE_SIGMA)
    level = float(np.median(image[core]))
    if level <= 0:
        return None
    own = np.where(core, contrast - np.median(contrast[core]), 0.0) / level
    spread = MAD_TO_SIGMA * float(np.median(np.abs(own[core])))
    return _Contrast(own, _mirror(own, core), THRESHOLD * spread)


def _mirror(values: FloatImage, core: Mask) -> FloatImage:
    """Columns mirrored about the middle of the tissue; 0 where there is no counterpart."""
    columns = np.nonzero(core.any(axis=0))[0]
    source = int(columns[0] + columns[-1]) - np.arange(values.shape[1])
    inside = (source >= 0) & (source < values.shape[1])
    mirrored = np.zeros_like(values)
    mirrored[:, inside] = values[:, source[inside]]
    return mirrored


def _within(image: FloatImage, inside: FloatImage, sigma: float) -> FloatImage:
    """Gaussian smoothing that sees only the tissue."""
    weight = ndimage.gaussian_filter(inside, sigma)
    smooth: FloatImage = ndimage.gaussian_filter(image * inside, sigma) / np.maximum(weight, 1e-6)
    return smooth


def find(image: FloatImage) -> list[Blob]:
    """The blobs of one frame, strongest first."""
    mask = tissue(image)
    contrast = _contrast(image, mask)
    if contrast is None:
        return []
    limit = MAX_SHARE * float(mask.sum())
    blobs = [blob for sign in (1.0, -1.0) for blob in _components(contrast, sign, limit)]
    ranked = sorted(blobs, key=lambda b: (-b.strength, b.y0, b.x0))
    return [blob for place, blob in enumerate(ranked) if not any(_is_halo(blob, other) for other in ranked[:place])]


def _components(contrast: _Contrast, sign: float, limit: float) -> list[Blob]:
    own = sign * contrast.own
    other_side = np.maximum(ndimage.maximum_filter(sign * contrast.mirrored, size=SYMMETRY_SLACK), 0.0)
    excess = own - other_side
    labels, count = ndimage.label((excess > MIN_CONTRAST) & (own > contrast.floor))
    if count == 0:
        return []
    totals = ndimage.sum_labels(excess, labels, np.arange(1, count + 1))
    areas = np.bincount(labels.ravel(), minlength=count + 1)[1:]
    return [
        _blob(place, float(total) * area / _size(place), sign > 0)
        for place, total, area in zip(ndimage.find_objects(labels), totals, areas.tolist(), strict=True)
        if MIN_AREA <= area <= limit and area >= MIN_FILL * _size(place)
    ]


def _blob(place: tuple[slice, ...], strength: float, bright: bool) -> Blob:
    rows, columns = place
    return Blob(columns.start, rows.start, columns.stop, rows.stop, strength, bright)


def _size(place: tuple[slice, ...]) -> int:
    rows, columns = place
    return int((rows.stop - rows.start) * (columns.stop - columns.start))


def _is_halo(blob: Blob, stronger: Blob) -> bool:
    """Smoothing surrounds a bright finding with a dark ring, and a dark one with a bright ring."""
    if blob.bright == stronger.bright:
        return False
    width = min(blob.x1, stronger.x1) - max(blob.x0, stronger.x0)
    height = min(blob.y1, stronger.y1) - max(blob.y0, stronger.y0)
    area = (stronger.x1 - stronger.x0) * (stronger.y1 - stronger.y0)
    return width > 0 and height > 0 and width * height >= HALO * area
