"""Suite 4, advanced analytics: segmentation, HU statistics, shape, radiomics and texture."""

from typing import Annotated, Literal

import numpy as np
from fastmcp.tools.base import ToolResult
from pydantic import Field

from slicewise.imaging import charts, radiomics, shape, totalseg
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.hounsfield import PERCENTILES, distribution
from slicewise.imaging.render import DEFAULT_SIDE, Canvas, Picture
from slicewise.imaging.segment import heuristic, known
from slicewise.imaging.sheets import middle, ortho
from slicewise.imaging.views import cropped, plane_of, slice_view
from slicewise.imaging.volume import Mask, Volume, grown
from slicewise.imaging.windows import Window, choose
from slicewise.mcp.arguments import BinWidth, Label, MaskId, OptionalMaskId, VolumeId
from slicewise.mcp.reply import reply
from slicewise.mcp.suite import Suite

_CHART_FEATURES = (
    "morph_volume", "morph_sphericity", "morph_diam", "stat_mean", "stat_var", "stat_skew", "ih_entropy",
    "cm_contrast", "cm_corr", "cm_joint_entr", "cm_inv_diff_mom",
)  # fmt: skip
_PATCH_MARGIN = 8


class Analytics(Suite):
    """What a region is made of."""

    name = "analytics"
    tools = (
        "segment_total_anatomy",
        "analyze_hu_distribution",
        "analyze_shape_properties",
        "extract_radiomics_signature",
        "visualize_radiomics_chart",
        "analyze_lesion_texture",
    )
    impure = frozenset({"segment_total_anatomy"})

    def segment_total_anatomy(
        self,
        volume_id: VolumeId,
        names: Annotated[
            list[str] | None, Field(description="What to segment, names from search_anatomy_names.", min_length=1)
        ] = None,
        backend: Annotated[
            Literal["auto", "totalsegmentator", "heuristic"], Field(description="auto takes what is available.")
        ] = "auto",
        fast: Annotated[bool, Field(description="Coarser and faster.")] = True,
    ) -> ToolResult:
        """Segment anatomy. The heuristic backend knows body, lungs, airway, bone and fat only, and says so."""
        volume = self.workspace.volume(volume_id)
        mask = _segmented(volume, names, backend, fast=fast)
        mask_id = self.workspace.add_mask(mask)
        picture = ortho(volume, middle(volume.grid.shape), choose(volume, None, None, None), 1024,
                        crosshair=False, labels=mask.labels)  # fmt: skip
        found = {mask.names.get(label, str(label)): label for label in mask.counts}
        missing = sorted(set(mask.names.values()) - set(found)) if mask.backend == "heuristic" else []
        data = {
            "mask_id": mask_id,
            "volume_id": volume_id,
            "labels": found,
            "voxels": mask.counts,
            "not_found": missing,
            "backend": mask.backend,
            "quality_note": mask.note,
        }
        return reply(f"{mask.backend}: {', '.join(found)} as {mask_id}.", data, picture)

    def analyze_hu_distribution(
        self,
        volume_id: VolumeId,
        mask_id: OptionalMaskId = None,
        label: Label = 1,
        bins: Annotated[int, Field(description="Bins of the histogram.", ge=2, le=1024)] = 64,
        range: Annotated[
            list[int] | None,
            Field(
                description="Lowest and highest HU of the histogram; default -1024 to 3071.", min_length=2, max_length=2
            ),
        ] = None,
    ) -> ToolResult:
        """HU statistics and tissue fractions of a region or the whole volume; mind min and max, not the mean alone."""
        volume = self.workspace.volume(volume_id)
        volume.require_hu()
        values = volume.hu
        if mask_id is not None:
            region = radiomics.region_of(volume, self.workspace.mask(mask_id), label, self.workspace.limits)
            values = region.values[region.inside]
        low, high = range or (-1024, 3071)
        found = distribution(np.ascontiguousarray(values), bins=bins, span=(low, high))
        data = {
            "volume_id": volume_id,
            "mask_id": mask_id,
            "label": None if mask_id is None else label,
            "n": found.n,
            "mean": found.mean,
            "sd": found.sd,
            "min": found.minimum,
            "max": found.maximum,
            "percentiles": {f"p{percent}": found.percentiles[percent] for percent in PERCENTILES},
            "modes": found.modes,
            "fractions": found.fractions,
            "histogram": {"low": low, "high": high, "counts": found.counts},
        }
        picture = charts.histogram(found.edges, found.counts, f"HU of {found.n:,} voxels")
        summary = f"{found.n} voxels: mean {found.mean:.1f}, sd {found.sd:.1f}, {found.minimum} to {found.maximum} HU."
        return reply(summary, data, picture)

    def analyze_shape_properties(self, mask_id: MaskId, label: Label = 1) -> ToolResult:
        """Volume, surface, sphericity, axes and 3-D diameter of a label."""
        mask = self.workspace.mask(mask_id)
        count = mask.counts.get(label, 0)
        if count > self.workspace.limits.max_roi_voxels:
            raise ImagingError(Code.LIMIT, f"label {label} has {count} voxels, too many; resample the mask first.")
        inside, _ = mask.region(label)
        found = shape.features(inside, mask.grid.mm)
        data = {
            "mask_id": mask_id,
            "label": label,
            "voxel_volume_ml": found["vol_approx"] / 1000,
            "mesh_volume_ml": found["volume"] / 1000,
            "surface_area_mm2": found["area_mesh"],
            "sphericity": found["sphericity"],
            "axes_mm": [found["pca_maj_axis"], found["pca_min_axis"], found["pca_least_axis"]],
            "max_diameter_3d_mm": found.get("diam"),
            "elongation": found.get("pca_elongation"),
            "flatness": found.get("pca_flatness"),
        }
        return reply(f"{data['voxel_volume_ml']:.2f} mL, sphericity {found['sphericity']:.2f}.", data)

    def extract_radiomics_signature(
        self,
        volume_id: VolumeId,
        mask_id: MaskId,
        label: Label = 1,
        classes: Annotated[
            list[Literal["shape", "firstorder", "glcm"]] | None, Field(description="Default all three.", min_length=1)
        ] = None,
        bin_width_hu: BinWidth = 25.0,
        resample_mm: Annotated[float | None, Field(description="Cubic voxels of that size first.", gt=0)] = None,
    ) -> ToolResult:
        """Radiomic features of a region by the definitions of the IBSI, with their codes."""
        found = self._signature(
            volume_id, mask_id, label, tuple(classes or radiomics.CLASSES), bin_width_hu, resample_mm
        )
        data = {
            "volume_id": volume_id,
            "mask_id": mask_id,
            "label": label,
            "features": found.features,
            "ibsi_ids": {name: radiomics.IBSI_IDS[name] for name in found.features},
            "discretisation": {"method": "fixed bin width", "bin_width_hu": bin_width_hu},
            "aggregation": "3D average over 13 directions",
            "n_voxels": found.n_voxels,
            "n_bins": found.n_bins,
            "resample_mm": resample_mm,
            "warnings": found.warnings,
        }
        warning = f" {found.warnings[0]}." if found.warnings else ""
        return reply(
            f"{len(found.features)} features of {found.n_voxels} voxels, {found.n_bins} levels.{warning}", data
        )

    def visualize_radiomics_chart(
        self,
        signature: Annotated[
            dict[str, float | None] | None, Field(description="Features from extract_radiomics_signature; or give ids.")
        ] = None,
        volume_id: Annotated[str | None, Field(description="Id of a volume, with mask_id.")] = None,
        mask_id: Annotated[str | None, Field(description="Id of a mask, with volume_id.")] = None,
        label: Label = 1,
        features: Annotated[list[str] | None, Field(description="Which features to show.", min_length=1)] = None,
        kind: Annotated[Literal["bar", "radar"], Field(description="Kind of chart.")] = "bar",
    ) -> ToolResult:
        """Draw chosen radiomic features as bars or as a radar."""
        values = signature
        if values is None:
            if volume_id is None or mask_id is None:
                raise ImagingError(Code.FORMAT, "give either signature, or volume_id and mask_id.")
            values = self._signature(volume_id, mask_id, label, radiomics.CLASSES, 25.0, None).features
        wanted = features or [name for name in _CHART_FEATURES if name in values] or list(values)[: charts.MOST_BARS]
        unknown = [name for name in wanted if name not in values]
        if unknown:
            raise ImagingError(Code.NOT_FOUND, f"no feature {', '.join(unknown[:5])} in the signature.")
        shown = {name: value for name in wanted if (value := values[name]) is not None}
        draw = charts.bars if kind == "bar" else charts.radar
        picture = draw(shown, f"{len(shown)} features, logarithmic lengths")
        return reply(f"{kind} chart of {len(shown)} features.", {"values": shown, "kind": kind}, picture)

    def analyze_lesion_texture(
        self,
        volume_id: VolumeId,
        mask_id: MaskId,
        label: Label = 1,
        bin_width_hu: BinWidth = 25.0,
        shell_mm: Annotated[float, Field(description="Depth of the rim in mm; 0 for one voxel.", ge=0, le=50)] = 0.0,
    ) -> ToolResult:
        """Texture of a lesion: co-occurrence, entropy, and HU of its core, rim and surroundings."""
        volume, mask = self.workspace.volume(volume_id), self.workspace.mask(mask_id)
        volume.require_hu()
        region = radiomics.region_of(volume, mask, label, self.workspace.limits, margin_mm=shell_mm)
        found = radiomics.texture(region, bin_width_hu=bin_width_hu, shell_mm=shell_mm)
        data = {
            "volume_id": volume_id,
            "mask_id": mask_id,
            "label": label,
            **found.values,
            "core_mean_hu": found.core_hu,
            "rim_mean_hu": found.rim_hu,
            "shell_mean_hu": found.shell_hu,
            "rim_mm": found.rim_mm,
            "n_bins": found.n_bins,
        }
        summary = f"{found.n_bins} grey levels, entropy {found.values['entropy']:.2f} bits."
        return reply(summary, data, _patch(volume, mask, label))

    def _signature(
        self, volume_id: str, mask_id: str, label: int, classes: tuple[str, ...], width: float, mm: float | None
    ) -> radiomics.Signature:
        volume = self.workspace.volume(volume_id)
        volume.require_hu()
        region = radiomics.region_of(volume, self.workspace.mask(mask_id), label, self.workspace.limits, mm)
        return radiomics.signature(region, classes, bin_width_hu=width)


def _segmented(volume: Volume, names: list[str] | None, backend: str, *, fast: bool) -> Mask:
    """Segment by the backend that is asked for; ``auto`` takes TotalSegmentator where names need it and it is there."""
    if backend == "totalsegmentator":
        return totalseg.segment(volume, names, fast=fast)
    if backend == "auto" and names is not None and not totalseg.missing():
        try:
            known(names)
        except ImagingError as error:
            if error.code is not Code.BACKEND_UNAVAILABLE:
                raise
            return totalseg.segment(volume, names, fast=fast)
    return heuristic(volume, names, fast=fast)


def _patch(volume: Volume, mask: Mask, label: int) -> Picture:
    """The axial slice of a lesion in which it is largest, cut around it, the window from its own HU."""
    inside, bounds = mask.region(label)
    z = int(inside.sum(axis=(1, 2)).argmax())
    values = volume.hu[bounds[0][0] + z, slice(*bounds[1]), slice(*bounds[2])][inside[z]]
    low, high = int(values.min()), int(values.max())
    _, (y0, y1), (x0, x1) = grown(bounds, (0, _PATCH_MARGIN, _PATCH_MARGIN), volume.grid.shape)
    view = cropped(slice_view(volume, "axial", bounds[0][0] + z), (y0, x0, y1, x1))
    canvas = Canvas(view, Window("lesion", max(100, 1.5 * (high - low)), (low + high) / 2), DEFAULT_SIDE)
    canvas.overlay(plane_of(mask.labels == label, "axial", bounds[0][0] + z)[y0:y1, x0:x1], strength=0.15)
    canvas.annotate(f"axial {bounds[0][0] + z}", bar=False)
    return canvas.picture()
