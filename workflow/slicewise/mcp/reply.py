"""What a tool returns: one sentence, the numbers as structured content, and at most one picture."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from fastmcp.tools.base import ToolResult
from fastmcp.utilities.types import Image
from mcp_types import TextContent

from slicewise.imaging.render import Picture
from slicewise.imaging.windows import Window

_DIGITS = 6
_TEXT_LIMIT = 4000


def reply(summary: str, data: Mapping[str, Any], picture: Picture | None = None) -> ToolResult:
    """The result of a call.

    Args:
        summary: One sentence for the reader.
        data: The numbers; tuples become lists, floats are rounded to 6 decimals. It is repeated as JSON in the text,
            for clients that show no structured content, unless it is long.
        picture: The picture, described under ``image``.
    """
    content = dict(data)
    if picture is not None:
        content["image"] = {
            "width": picture.width,
            "height": picture.height,
            "pixels_sha256": picture.sha256,
            "pixel_to_voxel": picture.affine,
        }
    plain = _plain(content)
    text = json.dumps(plain, separators=(",", ":"), allow_nan=False)
    said = f"{summary}\n{text}" if len(text) <= _TEXT_LIMIT else summary
    blocks: list[Any] = [TextContent(type="text", text=said)]
    if picture is not None:
        blocks.append(Image(data=picture.png, format="png").to_image_content())
    return ToolResult(content=blocks, structured_content=plain)


def window_facts(window: Window) -> dict[str, Any]:
    """A window as data."""
    return {"name": window.name, "window": window.width, "level": window.level}


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(one) for key, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if isinstance(value, float):
        return round(value, _DIGITS) + 0.0 if math.isfinite(value) else None
    return value
