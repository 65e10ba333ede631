"""Suite 3, detailed measurement: single slices, three planes, sizes in mm, geometry."""

import math
from typing import Annotated, Any, Literal

from fastmcp.tools.base import ToolResult
from pydantic import Field

from slicewise.imaging import centreline, edit, measure, sheets, views
from slicewise.imaging.anatomy import LABELS
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.hounsfield import distribution
from slicewise.imaging.render import Canvas, check_side
from slicewise.imaging.segment import heuristic
from slicewise.imaging.volume import Mask, Volume
from slicewise.imaging.windows import choose
from slicewise.mcp.arguments import (
    DEFAULT_SIDE,
    Label,
    Level,
    MaskId,
    OptionalMaskId,
    OptionalVoxel,
    Plane,
    Preset,
    Side,
    VolumeId,
    Voxel,
    Width,
)
from slicewise.mcp.pictures import drawn_on, projected_line
from slicewise.mcp.reply import reply, window_facts
from slicewise.mcp.suite import Suite

_ORTHO_SIDE = 1024
_MOST_POINTS = 200


class Measurement(Suite):
    """Slices, sizes and geometry."""

    name = "measurement"
    tools = (
        "view_slice",
        "view_ortho",
        "measure_distance",
        "measure_max_diameter",
        "find_organ_center",
        "extract_vessel_centerline",
        "auto_crop_body",
        "edit_geometry",
    )
    impure = frozenset({"auto_crop_body", "edit_geometry"})

    def view_slice(
        self,
        volume_id: VolumeId,
        index: Annotated[int | None, Field(description="Slice index, from 0.")] = None,
        position_mm: Annotated[float | None, Field(description="LPS position of the slice, instead of index.")] = None,
        plane: Plane = "axial",
        preset: Preset = "soft_tissue",
        window: Width = None,
        level: Level = None,
        roi: Annotated[
            list[int] | None,
            Field(description="Part of the picture [y0, x0, y1, x1] in slice pixels.", min_length=4, max_length=4),
        ] = None,
        mask_id: OptionalMaskId = None,
        size_px: Side = DEFAULT_SIDE,
    ) -> ToolResult:
        """One slice, or an enlarged part of it, with the HU statistics of what is shown."""
        space = self.workspace
        volume = space.volume(volume_id)
        shown = choose(volume, preset, window, level)
        side = check_side(size_px, space.limits.max_side_px)
        at = slice_index(volume, plane, index, position_mm)
        view = views.slice_view(volume, plane, at)
        labels = None if mask_id is None else views.plane_of(space.mask_on(mask_id, volume).labels, plane, at)
        if roi is not None:
            y0, x0, y1, x1 = roi
            view = views.cropped(view, (y0, x0, y1, x1))
            labels = None if labels is None else labels[y0:y1, x0:x1]
        canvas = Canvas(view, shown, side)
        if labels is not None:
            canvas.overlay(labels)
        canvas.annotate(f"{plane} {at}  W{shown.width:g} L{shown.level:g}")
        found = distribution(view.values, bins=2)
        data = {
            "volume_id": volume_id,
            "plane": plane,
            "index": at,
            "position_mm": position_of(volume, plane, at),
            "roi": roi,
            "window": window_facts(shown),
            "hu": {"mean": found.mean, "sd": found.sd, "min": found.minimum, "max": found.maximum},
        }
        return reply(f"{plane} slice {at}, {shown.name} window.", data, canvas.picture())

    def view_ortho(
        self,
        volume_id: VolumeId,
        center: OptionalVoxel = None,
        preset: Preset = "soft_tissue",
        crosshair: Annotated[bool, Field(description="Draw the point in every plane.")] = True,
        window: Width = None,
        level: Level = None,
        mask_id: OptionalMaskId = None,
        size_px: Side = _ORTHO_SIDE,
    ) -> ToolResult:
        """Axial, coronal and sagittal plane through one point, side by side in true proportion."""
        space = self.workspace
        volume = space.volume(volume_id)
        shown = choose(volume, preset, window, level)
        side = check_side(size_px, space.limits.max_side_px)
        point = sheets.middle(volume.grid.shape) if center is None else voxel_in(volume, center)
        labels = None if mask_id is None else space.mask_on(mask_id, volume).labels
        picture = sheets.ortho(volume, point, shown, side, crosshair=crosshair, labels=labels)
        data = {
            "volume_id": volume_id,
            "indices": {"axial": point[0], "coronal": point[1], "sagittal": point[2]},
            "window": window_facts(shown),
        }
        return reply(f"Three planes through voxel {list(point)}, {shown.name} window.", data, picture)

    def measure_distance(
        self,
        volume_id: VolumeId,
        p1: Voxel,
        p2: Voxel,
        space: Annotated[
            Literal["voxel", "lps_mm"], Field(description="Points as voxels [z, y, x] or as LPS [x, y, z] in mm.")
        ] = "voxel",
    ) -> ToolResult:
        """Straight distance between two points in mm; drawn when both lie in one slice."""
        volume = self.workspace.volume(volume_id)
        found = measure.distance(volume.grid, p1, p2, space=space)
        picture = drawn_on(volume, [found.ends]) if len(on_planes(found.ends)) else None
        data = {"volume_id": volume_id, "distance_mm": found.mm, "delta_mm": found.delta_mm, "voxels": found.ends}
        return reply(f"{found.mm:.2f} mm.", data, picture)

    def measure_max_diameter(
        self,
        mask_id: MaskId,
        label: Label = 1,
        mode: Annotated[
            Literal["axial_recist", "3d"],
            Field(description="Long and short axis in an axial slice, or the 3-D length."),
        ] = "axial_recist",
        component: Annotated[
            Literal["largest", "all"], Field(description="The largest connected part, or all voxels of the label.")
        ] = "largest",
    ) -> ToolResult:
        """Longest diameter of a label in mm, with the perpendicular short axis in axial_recist mode."""
        mask = self.workspace.mask(mask_id)
        found = measure.max_diameter(mask, label, mode=mode, component=component)
        volume = self.workspace.volume_of(mask)
        lines = [found.long_ends, *([found.short_ends] if found.short_ends else [])]
        picture = drawn_on(volume, lines, mask.labels) if volume and found.slice is not None else None
        data = {
            "mask_id": mask_id,
            "label": label,
            "mode": mode,
            "long_mm": found.long_mm,
            "short_mm": found.short_mm,
            "slice": found.slice,
            "endpoints": {"long": found.long_ends, "short": found.short_ends},
            "resolution_mm": found.resolution_mm,
        }
        short = "" if found.short_mm is None else f" x {found.short_mm:.1f}"
        return reply(f"{found.long_mm:.1f}{short} mm (resolution {found.resolution_mm:.2f} mm).", data, picture)

    def find_organ_center(
        self,
        mask_id: Annotated[str | None, Field(description="Id of a mask; or give volume_id and name.")] = None,
        label: Label = 1,
        volume_id: Annotated[str | None, Field(description="Id of a volume, with name.")] = None,
        name: Annotated[str | None, Field(description="Name of an organ to segment, such as lung_left.")] = None,
    ) -> ToolResult:
        """Centre of mass of a label or of a named organ, and whether it lies inside."""
        mask, number = self._organ(mask_id, label, volume_id, name)
        found = measure.centre(mask, number)
        data = {
            "label": number,
            "name": name or mask.names.get(number),
            "backend": mask.backend,
            "centroid_zyx": found.zyx,
            "centroid_lps_mm": None if mask.grid.spacing is None else mask.grid.lps(found.zyx),
            "inside": found.inside,
            "nearest_inside": found.nearest_inside,
        }
        place = ", ".join(f"{at:.1f}" for at in found.zyx)
        return reply(f"Centre at voxel [{place}], {'inside' if found.inside else 'outside'} the region.", data)

    def _organ(self, mask_id: str | None, label: int, volume_id: str | None, name: str | None) -> tuple[Mask, int]:
        if mask_id is not None and volume_id is None and name is None:
            return self.workspace.mask(mask_id), label
        if mask_id is None and volume_id is not None and name is not None:
            return heuristic(self.workspace.volume(volume_id), [name]), LABELS.get(name, label)
        raise ImagingError(Code.FORMAT, "give either mask_id with label, or volume_id with name.")

    def extract_vessel_centerline(
        self,
        mask_id: MaskId,
        label: Label = 1,
        start: OptionalVoxel = None,
        end: OptionalVoxel = None,
        smooth_mm: Annotated[float, Field(description="Smoothing of the path in mm; 0 for none.", ge=0, le=50)] = 5.0,
    ) -> ToolResult:
        """Centreline of a tube such as a vessel or airway: path, length, tortuosity and radius in mm."""
        mask = self.workspace.mask(mask_id)
        found = centreline.centreline(mask, label, start=start, end=end, smooth_mm=smooth_mm)
        step = max(1, math.ceil(len(found.voxels) / _MOST_POINTS))
        points = [*found.voxels[:-1:step].tolist(), found.voxels[-1].tolist()]
        volume = self.workspace.volume_of(mask)
        low, mean, high = found.radius_mm
        data = {
            "mask_id": mask_id,
            "label": label,
            "length_mm": found.length_mm,
            "tortuosity": found.tortuosity,
            "radius_mm": {"min": low, "mean": mean, "max": high},
            "polyline_mm": [[round(at, 2) for at in mask.grid.lps(point)] for point in points],
        }
        picture = None if volume is None else projected_line(volume, points)
        return reply(f"{found.length_mm:.1f} mm long, mean radius {mean:.1f} mm.", data, picture)

    def auto_crop_body(
        self,
        volume_id: VolumeId,
        threshold_hu: Annotated[float, Field(description="What is above it counts as patient.")] = -300.0,
        margin_mm: Annotated[float, Field(description="Margin around the patient in mm.", ge=0, le=1000)] = 10.0,
    ) -> ToolResult:
        """Cut the empty surroundings away; returns a new volume."""
        volume = self.workspace.volume(volume_id)
        bounds = edit.body_bounds(volume, threshold_hu, margin_mm)
        cropped = edit.crop(volume, bounds)
        removed = 1 - cropped.hu.size / volume.hu.size
        data = {
            "volume_id": self.workspace.add_volume(cropped),
            "source_id": volume_id,
            "bbox": [list(pair) for pair in bounds],
            "shape_zyx": cropped.grid.shape,
            "removed_fraction": removed,
        }
        return reply(f"Removed {removed:.0%} of the voxels.", data)

    def edit_geometry(
        self,
        id: Annotated[str, Field(description="Id of a volume or a mask.")],
        op: Annotated[
            Literal["resample_iso", "crop", "flip", "dilate", "erode", "open", "close", "fill", "largest"],
            Field(description="What to do; the last six work on masks."),
        ],
        value_mm: Annotated[
            float | None, Field(description="Voxel size for resample_iso, radius for dilate, erode, open, close.")
        ] = None,
        bbox_zyx: Annotated[
            list[list[int]] | None,
            Field(
                description="For crop: [[z0, z1], [y0, y1], [x0, x1]], ends not included.", min_length=3, max_length=3
            ),
        ] = None,
        axis: Annotated[Literal["z", "y", "x"] | None, Field(description="For flip.")] = None,
    ) -> ToolResult:
        """Make a new volume or mask: resample, crop, flip, or morphology. The old one stays as it is."""
        space = self.workspace
        old = space.thing(id)
        new: Volume | Mask
        if op == "resample_iso":
            new = edit.resample_iso(old, _needed(value_mm, op, "value_mm"), space.limits)
        elif op == "crop":
            new = edit.crop(old, _bounds(_needed(bbox_zyx, op, "bbox_zyx")))
        elif op == "flip":
            new = edit.flip(old, _needed(axis, op, "axis"))
        elif isinstance(old, Mask):
            new = edit.morph(old, op, 0.0 if op in ("fill", "largest") else _needed(value_mm, op, "value_mm"))
        else:
            raise ImagingError(Code.FORMAT, f"'{op}' works on masks; {id} is a volume.")
        new_id = space.add_volume(new) if isinstance(new, Volume) else space.add_mask(new)
        data = {"id": new_id, "source_id": id, "op": op, "before": _geometry(old), "after": _geometry(new)}
        return reply(f"{op}: {new_id}.", data)


def slice_index(volume: Volume, plane: views.Plane, index: int | None, position_mm: float | None) -> int:
    """The slice that is meant: an index, the nearest to a position, or the middle.

    Raises:
        ImagingError: ``E_BAD_INDEX`` for both, or outside the volume.
    """
    axis = views.AXIS[plane]
    if index is not None and position_mm is not None:
        raise ImagingError(Code.BAD_INDEX, "give either index or position_mm.")
    if position_mm is not None:
        step, first = volume.grid.mm[axis], position_of(volume, plane, 0)
        index = math.floor((position_mm - (first or 0.0)) / step + 0.5) if math.isfinite(position_mm) else -1
    size = volume.grid.shape[axis]
    at = size // 2 if index is None else index
    if not 0 <= at < size:
        raise ImagingError(Code.BAD_INDEX, f"{plane} slice {at} is outside 0..{size - 1}.")
    return at


def position_of(volume: Volume, plane: views.Plane, index: int) -> float | None:
    """LPS coordinate across the plane, at the first voxel of the slice; ``None`` without spacing."""
    if volume.grid.spacing is None:
        return None
    axis = views.AXIS[plane]
    zyx = [0.0, 0.0, 0.0]
    zyx[axis] = float(index)
    return volume.grid.lps(zyx)[2 - axis]


def voxel_in(volume: Volume, point: list[float]) -> tuple[int, int, int]:
    """The voxel that holds a point.

    Raises:
        ImagingError: ``E_BAD_INDEX``.
    """
    if not volume.grid.contains(point):
        raise ImagingError(Code.BAD_INDEX, f"{point} lies outside the shape {list(volume.grid.shape)}.")
    z, y, x = (min(size - 1, max(0, round(at))) for at, size in zip(point, volume.grid.shape, strict=True))
    return z, y, x


def on_planes(ends: tuple[tuple[float, ...], tuple[float, ...]]) -> list[int]:
    """Axes along which both ends have the same whole index."""
    return [axis for axis in range(3) if abs(ends[0][axis] - ends[1][axis]) < 1e-6]


def _needed(value: Any, op: str, name: str) -> Any:
    if value is None:
        raise ImagingError(Code.FORMAT, f"'{op}' needs {name}.")
    return value


def _bounds(box: list[list[int]]) -> tuple[tuple[int, int], tuple[int, int], tuple[int, int]]:
    if any(len(pair) != 2 for pair in box):
        raise ImagingError(Code.BAD_INDEX, "bbox_zyx: expected [[z0, z1], [y0, y1], [x0, x1]].")
    (z0, z1), (y0, y1), (x0, x1) = box
    return (z0, z1), (y0, y1), (x0, x1)


def _geometry(thing: Volume | Mask) -> dict[str, Any]:
    facts: dict[str, Any] = {
        "shape_zyx": thing.grid.shape,
        "spacing_mm": thing.grid.spacing,
        "origin": thing.grid.origin,
    }
    if isinstance(thing, Mask):
        facts["labels"] = thing.counts
    return facts
