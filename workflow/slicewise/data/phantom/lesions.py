"""Planted findings: an irregular blob in space, its pixels on each frame, and the tight box around them."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from slicewise.data.phantom.texture import Field, ellipse, generator, grid, inside, smooth_noise
from slicewise.data.questions import Finding

EDGE = 0.5  # pixels whose share of the finding is at least this belong to it


@dataclass(frozen=True, slots=True)
class Lesion:
    """One planted finding. Lengths are pixels of the 320 grid; frames count from 0.

    Attributes:
        label: fastMRI+ label.
        look: What the painter of the anatomy makes of it.
        y: Row of the centre.
        x: Column of the centre.
        ry: Half height on its central frame.
        rx: Half width on its central frame.
        frame: Central frame.
        reach: Frames on either side on which it is still seen.
        turn: Radians by which it is turned.
        rough: Irregularity of the outline as a share of the radius.
    """

    label: str
    look: str
    y: float
    x: float
    ry: float
    rx: float
    frame: int
    reach: int
    turn: float = 0.0
    rough: float = 0.12

    def share(self, frame: int, size: int, seed: int, scale: float = 1.0) -> Field | None:
        """How much of each pixel belongs to it in [0, 1], or ``None`` on frames that it does not reach.

        Args:
            frame: 0-based frame.
            size: Rows and columns of the frame.
            seed: Seed of the volume.
            scale: 1 for the whole, less for its inner part.
        """
        away = abs(frame - self.frame)
        if away > self.reach:
            return None
        radius = min(self.ry, self.rx)
        y, x = grid(size)
        rng = generator(seed, "lesion", self.label, self.frame, round(self.x), frame)
        step = max(4.0, radius) * size / 320
        wobble = smooth_noise(rng, y.shape, (step, step)) * np.float32(self.rough * radius)
        shrink = scale * float(np.sqrt(1 - (away / (self.reach + 1)) ** 2))
        drift = 0.8 * (frame - self.frame)
        distance = ellipse(y, x, self.y + drift, self.x + drift / 2, self.ry * shrink, self.rx * shrink, self.turn)
        return inside(distance + wobble * scale, float(np.clip(0.14 * radius, 0.8, 3.0)))


def boxed(label: str, share: Field, frame: int) -> Finding | None:
    """The tight box around the pixels of a finding on 0-based ``frame``; ``None`` when it has none there."""
    rows, columns = np.nonzero(share >= EDGE)
    if rows.size == 0:
        return None
    x, y = int(columns.min()), int(rows.min())
    return Finding(frame + 1, x, y, int(columns.max()) + 1 - x, int(rows.max()) + 1 - y, label)
