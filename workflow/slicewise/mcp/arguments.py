"""Types of the tools' arguments, with the descriptions that a client shows to its model."""

from typing import Annotated, Literal

from pydantic import Field

from slicewise.imaging.render import DEFAULT_SIDE, LEAST_SIDE
from slicewise.imaging.windows import PRESETS

VolumeId = Annotated[str, Field(description="Id of an open volume, from load_data.")]
MaskId = Annotated[str, Field(description="Id of a mask, from load_mask or segment_total_anatomy.")]
OptionalMaskId = Annotated[str | None, Field(description="Id of a mask to draw on the picture.")]
Label = Annotated[int, Field(description="Label number inside the mask.", ge=1, le=65535)]
Plane = Annotated[Literal["axial", "coronal", "sagittal"], Field(description="Viewing plane.")]
Preset = Annotated[str | None, Field(description=f"Window preset: {', '.join(PRESETS)}.")]
Width = Annotated[float | None, Field(description="Window width in HU; overrides the preset, together with level.")]
Level = Annotated[float | None, Field(description="Window level in HU; overrides the preset, together with window.")]
Side = Annotated[int, Field(description=f"Longest side of the picture in pixels, from {LEAST_SIDE}.")]
Voxel = Annotated[list[float], Field(description="Voxel position [z, y, x].", min_length=3, max_length=3)]
OptionalVoxel = Annotated[
    list[float] | None, Field(description="Voxel position [z, y, x].", min_length=3, max_length=3)
]
Slab = Annotated[
    list[int] | None, Field(description="First and last slice index, both included.", min_length=2, max_length=2)
]
BinWidth = Annotated[float, Field(description="Width of a grey level in HU.", gt=0)]

__all__ = [
    "DEFAULT_SIDE",
    "BinWidth",
    "Label",
    "Level",
    "MaskId",
    "OptionalMaskId",
    "OptionalVoxel",
    "Plane",
    "Preset",
    "Side",
    "Slab",
    "VolumeId",
    "Voxel",
    "Width",
]
