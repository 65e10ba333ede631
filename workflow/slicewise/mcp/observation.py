"""Suite 2, global observation: the whole volume at a glance."""

from typing import Annotated, Any

from fastmcp.tools.base import ToolResult
from pydantic import Field

from slicewise.imaging import views
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.render import Canvas, check_side
from slicewise.imaging.sheets import montage
from slicewise.imaging.volume import Volume
from slicewise.imaging.windows import choose
from slicewise.mcp.arguments import DEFAULT_SIDE, Level, OptionalMaskId, Plane, Preset, Side, Slab, VolumeId, Width
from slicewise.mcp.reply import reply, window_facts
from slicewise.mcp.suite import Suite

Thickness = Annotated[float | None, Field(description="Thickness of the slab in mm, around center.", gt=0)]
Center = Annotated[int | None, Field(description="Slice index in the middle of the slab; default the middle.")]
_SHEET_SIDE = 1024
_SLAB_MM = 30.0


class Observation(Suite):
    """Montage and projections."""

    name = "observation"
    tools = ("view_montage", "view_mip", "view_minip", "view_avgip")

    def view_montage(
        self,
        volume_id: VolumeId,
        plane: Plane = "axial",
        n: Annotated[int, Field(description="Number of slices.", ge=4, le=36)] = 20,
        range: Slab = None,
        preset: Preset = "soft_tissue",
        mask_id: OptionalMaskId = None,
        window: Width = None,
        level: Level = None,
        size_px: Side = _SHEET_SIDE,
    ) -> ToolResult:
        """Evenly spread slices of one plane on a sheet, each with its index."""
        space = self.workspace
        volume = space.volume(volume_id)
        shown = choose(volume, preset, window, level)
        side = check_side(size_px, space.limits.max_side_px)
        low, high = whole_or(range, volume, plane)
        indices = views.spread(low, high, n)
        labels = None if mask_id is None else space.mask_on(mask_id, volume).labels
        picture = montage(volume, plane, indices, shown, side, labels)
        data = {"volume_id": volume_id, "plane": plane, "indices": indices, "window": window_facts(shown)}
        return reply(f"{len(indices)} {plane} slices from {low} to {high}, {shown.name} window.", data, picture)

    def view_mip(
        self,
        volume_id: VolumeId,
        plane: Plane = "coronal",
        slab: Slab = None,
        thickness_mm: Thickness = None,
        center: Center = None,
        preset: Preset = "bone",
        window: Width = None,
        level: Level = None,
        size_px: Side = DEFAULT_SIDE,
    ) -> ToolResult:
        """Maximum intensity projection: dense things such as nodules, bone and calcification stand out."""
        return self._project("max", volume_id, plane, (slab, thickness_mm, center), (preset, window, level), size_px)

    def view_minip(
        self,
        volume_id: VolumeId,
        plane: Plane = "coronal",
        slab: Slab = None,
        thickness_mm: Thickness = None,
        center: Center = None,
        preset: Preset = "lung",
        window: Width = None,
        level: Level = None,
        size_px: Side = DEFAULT_SIDE,
    ) -> ToolResult:
        """Minimum intensity projection: airways and emphysema stand out; 30 mm in the middle unless a slab is given."""
        return self._project("min", volume_id, plane, (slab, thickness_mm, center), (preset, window, level), size_px)

    def view_avgip(
        self,
        volume_id: VolumeId,
        plane: Plane = "coronal",
        slab: Slab = None,
        thickness_mm: Thickness = None,
        center: Center = None,
        preset: Preset = "soft_tissue",
        window: Width = None,
        level: Level = None,
        size_px: Side = DEFAULT_SIDE,
    ) -> ToolResult:
        """Average intensity projection, a thick slice with less noise; 30 mm in the middle unless a slab is given."""
        return self._project("mean", volume_id, plane, (slab, thickness_mm, center), (preset, window, level), size_px)

    def _project(
        self, how: views.Projection, volume_id: str, plane: views.Plane, place: tuple[Any, Any, Any],
        look: tuple[str | None, float | None, float | None], size_px: int,
    ) -> ToolResult:  # fmt: skip
        space = self.workspace
        volume = space.volume(volume_id)
        shown = choose(volume, *look)
        side = check_side(size_px, space.limits.max_side_px)
        slab, thickness_mm, center = place
        if how != "max" and volume.grid.spacing and slab is None and thickness_mm is None:
            thickness_mm = _SLAB_MM  # through the whole body the air around it hides everything
        low, high = slab_of(volume, plane, slab, thickness_mm, center)
        canvas = Canvas(views.project(volume, plane, (low, high + 1), how), shown, side)
        canvas.annotate(f"{how} {plane} {low}-{high}")
        step = volume.grid.spacing and volume.grid.spacing[views.AXIS[plane]]
        data = {
            "volume_id": volume_id,
            "plane": plane,
            "slab": [low, high],
            "thickness_mm": step and step * (high - low + 1),
            "window": window_facts(shown),
        }
        summary = f"{how} projection of {plane} slices {low} to {high}, {shown.name} window."
        return reply(summary, data, canvas.picture())


def whole_or(span: list[int] | None, volume: Volume, plane: views.Plane) -> tuple[int, int]:
    """First and last index of a range, default the whole volume.

    Raises:
        ImagingError: ``E_BAD_INDEX``.
    """
    last = volume.grid.shape[views.AXIS[plane]] - 1
    low, high = span or (0, last)
    if not 0 <= low <= high <= last:
        raise ImagingError(Code.BAD_INDEX, f"{[low, high]} does not fit {plane} slices 0..{last}.")
    return low, high


def slab_of(
    volume: Volume, plane: views.Plane, slab: list[int] | None, thickness_mm: float | None, center: int | None
) -> tuple[int, int]:
    """First and last index of a slab, given as such or by its thickness.

    Raises:
        ImagingError: ``E_BAD_INDEX`` when it leaves the volume; ``E_FORMAT`` for both kinds or without spacing.
    """
    if thickness_mm is None and center is None:
        return whole_or(slab, volume, plane)
    if slab is not None or thickness_mm is None:
        raise ImagingError(Code.FORMAT, "give either slab, or thickness_mm with or without center.")
    last = volume.grid.shape[views.AXIS[plane]] - 1
    middle = last // 2 if center is None else center
    if not 0 <= middle <= last:
        raise ImagingError(Code.BAD_INDEX, f"center {middle} is outside {plane} slices 0..{last}.")
    count = min(last + 1, max(1, round(thickness_mm / volume.grid.mm[views.AXIS[plane]])))
    low = min(max(0, middle - (count - 1) // 2), last + 1 - count)
    return low, low + count - 1
