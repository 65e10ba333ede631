"""Boxes in native pixels.

Inside Slicewise a box is ``x0, y0, x1, y1`` in native pixels of its frame: continuous coordinates, origin at the top
left, no +1. ``frame`` is the 0-based position in the list of frames shown, or ``None`` when the text named none.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum


class Convention(StrEnum):
    """How a model writes the four numbers of a box. Declared per checkpoint, never inferred."""

    ABS_XYXY_ORIGINAL = "abs_xyxy_original"
    ABS_XYXY_RESIZED = "abs_xyxy_resized"
    ABS_XYWH_ORIGINAL = "abs_xywh_original"
    ABS_CXCYWH_ORIGINAL = "abs_cxcywh_original"
    REL_XYXY_0_1000 = "rel_xyxy_0_1000"
    REL_XYXY_0_999 = "rel_xyxy_0_999"
    REL_YXYX_0_1000 = "rel_yxyx_0_1000"
    REL_XYXY_0_1 = "rel_xyxy_0_1"
    REL_XYXY_PERCENT = "rel_xyxy_percent"
    REL_XYXY_0_1_SQUARE_PAD = "rel_xyxy_0_1_square_pad"
    REL_XYXY_0_999_SQUARE_PAD = "rel_xyxy_0_999_square_pad"
    REL_XYWH_0_1 = "rel_xywh_0_1"
    REL_CXCYWH_0_1 = "rel_cxcywh_0_1"
    LOC1024_YXYX = "loc1024_yxyx"
    LOC1000_XYXY_BIN_CENTRE = "loc1000_xyxy_bin_centre"
    KOSMOS_PATCH32 = "kosmos_patch32"


@dataclass(frozen=True, slots=True, order=True)
class Box:
    """One rectangle on one frame.

    Attributes:
        frame: 0-based position in the list of frames shown; ``None`` when unknown.
        x0: Left edge, native pixels.
        y0: Top edge, native pixels.
        x1: Right edge, native pixels.
        y1: Bottom edge, native pixels.
        label: What the box shows, as written; ``None`` when unnamed.
    """

    frame: int | None
    x0: float
    y0: float
    x1: float
    y1: float
    label: str | None = None

    @property
    def area(self) -> float:
        """Area in square pixels; 0 for a degenerate box."""
        return max(0.0, self.x1 - self.x0) * max(0.0, self.y1 - self.y0)

    @property
    def key(self) -> tuple[int | None, float, float, float, float]:
        """What makes two boxes exact duplicates: frame and corners, not the label."""
        return (self.frame, self.x0, self.y0, self.x1, self.y1)


def iou(a: Box, b: Box) -> float:
    """Intersection over union of two boxes in [0, 1]; frames are not compared; 0 when either has no area."""
    width = min(a.x1, b.x1) - max(a.x0, b.x0)
    height = min(a.y1, b.y1) - max(a.y0, b.y0)
    if width <= 0 or height <= 0:
        return 0.0
    shared = width * height
    union = a.area + b.area - shared
    return shared / union if union > 0 else 0.0
