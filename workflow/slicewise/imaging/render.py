"""Pictures of views: gray levels, physical aspect, orientation marks, a scale bar and a caption, as PNG.

Encoding costs more than all the rest, so PNG is written at level 1, and a plain view stays 8-bit gray; colour is only
used where a mask or a measurement is drawn.
"""

from __future__ import annotations

import hashlib
import io
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
from PIL import Image, ImageDraw, ImageFont

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.views import MARKS, Affine, View
from slicewise.imaging.windows import Bytes, Window, apply

Point = tuple[float, float]
Colour = tuple[int, int, int]

DEFAULT_SIDE = 512
LEAST_SIDE = 64
BAR_MM = 50.0
PALETTE: tuple[Colour, ...] = (
    (255, 99, 71),
    (64, 190, 255),
    (255, 210, 60),
    (110, 220, 110),
    (220, 130, 255),
    (255, 160, 190),
    (90, 230, 210),
    (200, 200, 200),
)
LINE: Colour = (255, 225, 50)
SECOND_LINE: Colour = (80, 220, 255)


@dataclass(frozen=True, slots=True)
class Picture:
    """An encoded picture.

    Attributes:
        png: The PNG file.
        width: Pixels.
        height: Pixels.
        sha256: Digest of the pixels, whatever the encoder.
        affine: Rows of the matrix that takes picture ``(column, row, 1)`` to a voxel ``(z, y, x)``; ``None`` for
            pictures of several panels and for charts.
    """

    png: bytes
    width: int
    height: int
    sha256: str
    affine: Affine | None = None


def check_side(side: int, most: int) -> int:
    """The longest side asked for.

    Raises:
        ImagingError: ``E_LIMIT`` outside 64 and the most allowed.
    """
    if not LEAST_SIDE <= side <= most:
        raise ImagingError(Code.LIMIT, f"size_px {side} is outside {LEAST_SIDE}..{most}.")
    return side


class Canvas:
    """A view on its way to a picture: coordinates of drawings are columns and rows of the view."""

    def __init__(
        self, view: View, window: Window, side: int = DEFAULT_SIDE, *, smooth: bool = True, fit: Point | None = None
    ) -> None:
        """Scale the gray levels to the physical aspect.

        Args:
            view: What to show.
            window: Its gray levels.
            side: Longest side in pixels.
            smooth: Interpolate when enlarging; masks and digits do not.
            fit: Pixels per mm in x and y instead of ``side``, so that several panels share a scale.
        """
        rows, columns = view.values.shape
        tall, wide = rows * view.mm[0], columns * view.mm[1]
        scale = fit or (side / max(tall, wide),) * 2
        self.view = view
        self.window = window
        self.size = (max(1, round(wide * scale[0])), max(1, round(tall * scale[1])))
        self.per_mm = scale[0]
        image = Image.fromarray(apply(view.values, window))
        if image.size != self.size:
            image = image.resize(self.size, Image.Resampling.BILINEAR if smooth else Image.Resampling.NEAREST)
        self.image = image

    def at(self, point: Point) -> Point:
        """Picture position of a view position; pixel centres are whole numbers in both."""
        rows, columns = self.view.values.shape
        return (
            (point[0] + 0.5) * self.size[0] / columns - 0.5,
            (point[1] + 0.5) * self.size[1] / rows - 0.5,
        )

    def colour(self) -> ImageDraw.ImageDraw:
        """Switch to colour and give a pen."""
        if self.image.mode != "RGB":
            self.image = self.image.convert("RGB")
        return ImageDraw.Draw(self.image)

    def overlay(self, labels: npt.NDArray[Any], *, strength: float = 0.35) -> None:
        """Tint the labels of a plane of the view's shape, 0 stays gray."""
        plane = Image.fromarray(np.ascontiguousarray(labels).astype(np.int32), mode="I")
        shown = np.asarray(plane.resize(self.size, Image.Resampling.NEAREST))
        if not shown.any():
            return
        self.colour()
        colours = np.asarray(PALETTE, dtype=np.float32)[(shown - 1) % len(PALETTE)]
        pixels = np.asarray(self.image).astype(np.float32)
        inside = shown > 0
        pixels[inside] = pixels[inside] * (1 - strength) + colours[inside] * strength
        self.image = Image.fromarray(np.rint(pixels).astype(np.uint8))

    def line(self, points: Sequence[Point], colour: Colour = LINE, width: int = 2) -> None:
        """A polyline with small ends; positions of the view."""
        pen = self.colour()
        spots = [self.at(point) for point in points]
        if len(spots) > 1:
            pen.line(spots, fill=colour, width=width)
        for x, y in (spots[0], spots[-1]):
            pen.ellipse((x - 3, y - 3, x + 3, y + 3), outline=colour, width=1)

    def cross(self, point: Point) -> None:
        """A cross hair through a position of the view."""
        x, y = self.at(point)
        pen = self.colour()
        pen.line([(x, 0), (x, self.size[1] - 1)], fill=LINE, width=1)
        pen.line([(0, y), (self.size[0] - 1, y)], fill=LINE, width=1)

    def annotate(self, caption: str, *, bar: bool = True) -> None:
        """Orientation letters at the four edges, a 5 cm bar at the lower right, the caption at the lower left."""
        pen = ImageDraw.Draw(self.image)
        width, height = self.size
        size = 14 if min(width, height) >= 150 else 11
        left, right, top, bottom = MARKS[self.view.plane]
        middle, centre = height / 2, width / 2
        spots = ((left, 3, middle, "lm"), (right, width - 3, middle, "rm"), (top, centre, 2, "ma"))
        for letter, x, y, anchor in (*spots, (bottom, centre, height - 2, "md")):
            write(pen, (x, y), letter, size, anchor)
        if caption:
            write(pen, (4, height - 3), caption, size - 2, "ld")
        length = round(BAR_MM * self.per_mm)
        if bar and self.view.measurable and length < 0.7 * width:
            x, y = width - 8, height - 8
            white = _white(self.image)
            pen.line([(x - length, y), (x, y)], fill=white, width=2)
            for end in (x - length, x):
                pen.line([(end, y - 4), (end, y + 1)], fill=white, width=1)
            write(pen, (x - length / 2, y - 3), "5 cm", size - 2, "md")

    def picture(self) -> Picture:
        """Encode, with the affine of the picture's own pixels."""
        rows, columns = self.view.values.shape
        across, down = columns / self.size[0], rows / self.size[1]
        lines = []
        for a, b, c in self.view.affine:
            lines.append((a * across, b * down, c + a * (across - 1) / 2 + b * (down - 1) / 2))
        return encode(self.image, (lines[0], lines[1], lines[2]))


def encode(image: Image.Image, affine: Affine | None = None) -> Picture:
    """PNG at level 1 with the digest of its pixels."""
    pixels = np.asarray(image)
    found = hashlib.sha256(f"{image.mode}|{image.size}|".encode())
    found.update(pixels.tobytes())
    buffer = io.BytesIO()
    image.save(buffer, "PNG", compress_level=1)
    return Picture(buffer.getvalue(), image.size[0], image.size[1], found.hexdigest(), affine)


def write(pen: ImageDraw.ImageDraw, spot: Point, text: str, size: int, anchor: str) -> None:
    """White text with a black rim, readable on any tissue."""
    gray = pen.mode == "L"
    pen.text(
        spot,
        text,
        font=font(size),
        anchor=anchor,
        fill=255 if gray else (255, 255, 255),
        stroke_width=1,
        stroke_fill=0 if gray else (0, 0, 0),
    )


@lru_cache(maxsize=8)
def font(size: int) -> ImageFont.FreeTypeFont | ImageFont.ImageFont:
    """The font that comes with Pillow, so that pictures do not depend on the machine."""
    return ImageFont.load_default(size)


def _white(image: Image.Image) -> int | Colour:
    return 255 if image.mode == "L" else (255, 255, 255)


def paste_all(size: tuple[int, int], parts: Sequence[tuple[Image.Image, tuple[int, int]]]) -> Image.Image:
    """Put pictures on a black sheet; gray unless one of them is in colour."""
    mode = "RGB" if any(part.mode == "RGB" for part, _ in parts) else "L"
    sheet = Image.new(mode, size)
    for part, spot in parts:
        sheet.paste(part, spot)
    return sheet


def gray(values: Bytes) -> Image.Image:
    """A gray image of a byte array."""
    return Image.fromarray(values)
