"""Suite 1, data ingestion: load and inspect. It is always on."""

from typing import Annotated, Any, Literal

from fastmcp.tools.base import ToolResult
from pydantic import Field
from scipy import ndimage

from slicewise.imaging import anatomy, load, totalseg
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.morphology import parts
from slicewise.imaging.volume import Mask, Volume
from slicewise.imaging.windows import PRESETS
from slicewise.mcp.arguments import MaskId, VolumeId
from slicewise.mcp.reply import reply
from slicewise.mcp.suite import Suite

_PATH = "Path relative to the data root: a file (.nii.gz, .nii, .nrrd, .npy, .dcm) or a folder of slices."


class Ingestion(Suite):
    """Workspace: volumes, masks and what is known of them."""

    name = "ingestion"
    tools = (
        "load_data",
        "load_mask",
        "inspect_metadata",
        "inspect_mask_labels",
        "search_anatomy_names",
        "list_window_presets",
    )
    impure = frozenset({"load_data", "load_mask"})

    def load_data(
        self,
        path: Annotated[str, Field(description=_PATH)],
        series_uid: Annotated[str | None, Field(description="Which DICOM series, when there are several.")] = None,
        hu_policy: Annotated[
            Literal["auto", "as_is", "rescale"], Field(description="How to reach HU; auto is right for most files.")
        ] = "auto",
        slope: Annotated[float | None, Field(description="Rescale slope from outside the file.")] = None,
        intercept: Annotated[float | None, Field(description="Rescale intercept from outside the file.")] = None,
    ) -> ToolResult:
        """Load a CT volume and check it; every other tool needs the volume_id it returns."""
        space = self.workspace
        volume = load.load(
            space.root.find(path), series_uid=series_uid, policy=hu_policy, slope=slope, intercept=intercept,
            limits=space.limits,
        )  # fmt: skip
        volume_id = space.add_volume(volume)
        low, high = volume.extremes
        check = volume.check
        data = {
            "volume_id": volume_id,
            "shape_zyx": volume.grid.shape,
            "spacing_mm": volume.grid.spacing,
            "origin": volume.grid.origin,
            "orientation_in": volume.orientation_in,
            "hu_min": low,
            "hu_max": high,
            "is_hu": volume.is_hu,
            "hu_check": {
                "air_peak": check.air_peak,
                "suspect": check.suspect,
                "reason": check.reason or None,
                "padding_value": check.padding_value,
                "padding_voxels": check.padding_voxels,
            },
            "nonuniform_gap_mm": volume.gaps_mm,
            "warnings": volume.warnings,
            "sha256": volume.sha256,
        }
        size = " x ".join(map(str, volume.grid.shape))
        unit = "HU" if volume.is_hu else "arbitrary units"
        notes = f" Warnings: {'; '.join(volume.warnings)}." if volume.warnings else ""
        return reply(f"Loaded {volume_id}: {size} voxels (z, y, x), {low} to {high} {unit}.{notes}", data)

    def load_mask(
        self,
        path: Annotated[str, Field(description=_PATH)],
        volume_id: VolumeId,
        resample: Annotated[
            Literal["never", "nearest"], Field(description="nearest maps a mask on another grid onto the volume.")
        ] = "never",
    ) -> ToolResult:
        """Load a label mask that belongs to an open volume; its geometry is checked."""
        space = self.workspace
        volume = space.volume(volume_id)
        mask, matched = load.load_mask(space.root.find(path), volume.grid, resample=resample, limits=space.limits)
        mask_id = space.add_mask(mask)
        data = {"mask_id": mask_id, "labels": mask.counts, "geometry_match": matched}
        return reply(f"Loaded {mask_id} with labels {', '.join(map(str, mask.counts))}.", data)

    def inspect_metadata(
        self,
        volume_id: VolumeId,
        fields: Annotated[list[str] | None, Field(description="Which fields; default all.")] = None,
    ) -> ToolResult:
        """Technical facts of a volume: modality, spacing, field of view, kernel. Nothing that tells who was scanned."""
        facts = metadata(self.workspace.volume(volume_id))
        unknown = sorted(set(fields or ()) - set(facts))
        if unknown:
            raise ImagingError(Code.NOT_FOUND, f"no field {', '.join(unknown)}; expected some of {', '.join(facts)}.")
        shown = {name: facts[name] for name in fields or facts}
        return reply(f"{len(shown)} facts of {volume_id}.", {"volume_id": volume_id, **shown})

    def inspect_mask_labels(self, mask_id: MaskId) -> ToolResult:
        """Every label of a mask: name, voxels, volume, bounding box, centre and number of connected parts."""
        mask = self.workspace.mask(mask_id)
        labels = [label_facts(mask, label) for label in mask.counts]
        return reply(f"{mask_id} has {len(labels)} labels.", {"mask_id": mask_id, "labels": labels})

    def search_anatomy_names(
        self,
        query: Annotated[str, Field(description="What to look for, such as 'left lung'.", max_length=100)],
        limit: Annotated[int, Field(description="How many names at most.", ge=1, le=50)] = 10,
    ) -> ToolResult:
        """Find the names under which anatomy can be segmented, and which backend can do it here."""
        total = None if totalseg.missing() else "totalsegmentator"
        matches = [
            {
                "name": match.name,
                "label_set": match.label_set,
                "score": match.score,
                "available_backend": "heuristic" if match.label_set == "heuristic" else total,
            }
            for match in anatomy.search(query, limit)
        ]
        return reply(f"{len(matches)} names like '{query}'.", {"matches": matches})

    def list_window_presets(self) -> ToolResult:
        """The display windows: name, width and level in HU."""
        presets = [{"name": one.name, "window": one.width, "level": one.level} for one in PRESETS.values()]
        return reply(f"{len(presets)} presets.", {"presets": presets})


def metadata(volume: Volume) -> dict[str, Any]:
    """The whitelist of facts; ``None`` where the file did not say."""
    grid = volume.grid
    facts = volume.facts
    extent = None if grid.spacing is None else [n * mm for n, mm in zip(grid.shape, grid.spacing, strict=True)]
    z_range = None
    if grid.spacing is not None:
        z_range = [grid.lps((0, 0, 0))[2], grid.lps((grid.shape[0] - 1, 0, 0))[2]]
    return {
        "modality": facts.get("modality"),
        "is_hu": volume.is_hu,
        "shape_zyx": grid.shape,
        "spacing_mm": grid.spacing,
        "slice_thickness_mm": facts.get("slice_thickness_mm"),
        "fov_mm": extent and {"z": extent[0], "y": extent[1], "x": extent[2]},
        "reconstruction_diameter_mm": facts.get("reconstruction_diameter_mm"),
        "kernel": facts.get("kernel"),
        "kvp": facts.get("kvp"),
        "z_range_mm": z_range,
        "contrast": facts.get("contrast"),
        "orientation_in": volume.orientation_in,
        "nonuniform_gap_mm": volume.gaps_mm,
    }


def label_facts(mask: Mask, label: int) -> dict[str, Any]:
    """What there is to say about one label."""
    inside, bounds = mask.region(label)
    _, sizes = parts(inside)
    centre = ndimage.center_of_mass(inside)
    voxels = mask.counts[label]
    return {
        "id": label,
        "name": mask.names.get(label),
        "voxels": voxels,
        "volume_ml": None if mask.grid.spacing is None else voxels * mask.grid.voxel_ml,
        "bbox_zyx": [list(pair) for pair in bounds],
        "centroid": [float(at) + low for at, (low, _) in zip(centre, bounds, strict=True)],
        "components": int((sizes > 0).sum()),
    }
