"""A signature of a region: shape, first-order and co-occurrence features with their codes in the standard."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slicewise.imaging import firstorder, glcm, shape
from slicewise.imaging.edit import crop, resample_iso
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Bools, Triple
from slicewise.imaging.limits import Limits
from slicewise.imaging.volume import Mask, Volume, cut, grown

CLASSES = ("shape", "firstorder", "glcm")
FEW_BINS = 8

# Name -> permanent code of the reference manual (Image Biomarker Standardisation Initiative, arXiv:1612.07003).
IBSI_IDS = {
    "morph_volume": "RNU0", "morph_vol_approx": "YEKZ", "morph_area_mesh": "C0JK", "morph_av": "2PR5",
    "morph_comp_1": "SKGS", "morph_comp_2": "BQWJ", "morph_sph_dispr": "KRCK", "morph_sphericity": "QCFX",
    "morph_asphericity": "25C7", "morph_com": "KLMA", "morph_diam": "L0JK", "morph_pca_maj_axis": "TDIC",
    "morph_pca_min_axis": "P9VJ", "morph_pca_least_axis": "7J51", "morph_pca_elongation": "Q3CK",
    "morph_pca_flatness": "N17B", "morph_vol_dens_aabb": "PBX1", "morph_area_dens_aabb": "R59B",
    "morph_vol_dens_aee": "6BDE", "morph_vol_dens_conv_hull": "R3ER", "morph_area_dens_conv_hull": "7T7F",
    "morph_integ_int": "99N0", "stat_mean": "Q4LE", "stat_var": "ECT3", "stat_skew": "KE2A", "stat_kurt": "IPH6",
    "stat_median": "Y12H", "stat_min": "1GSF", "stat_p10": "QG58", "stat_p90": "8DWT", "stat_max": "84IY",
    "stat_iqr": "SALO", "stat_range": "2OJQ", "stat_mad": "4FUA", "stat_rmad": "1128", "stat_medad": "N72L",
    "stat_cov": "7TET", "stat_qcod": "9S40", "stat_energy": "N8CA", "stat_rms": "5ZWQ", "ih_entropy": "TLU2",
    "ih_uniformity": "BJ5W", "cm_joint_max": "GYBY", "cm_joint_avg": "60VM", "cm_joint_var": "UR99",
    "cm_joint_entr": "TU9B", "cm_diff_avg": "TF7R", "cm_diff_var": "D3YU", "cm_diff_entr": "NTRS",
    "cm_sum_avg": "ZGXS", "cm_sum_var": "OEEB", "cm_sum_entr": "P6QZ", "cm_energy": "8ZQL", "cm_contrast": "ACUI",
    "cm_dissimilarity": "8S9J", "cm_inv_diff": "IB1Z", "cm_inv_diff_norm": "NDRX", "cm_inv_diff_mom": "WF0Z",
    "cm_inv_diff_mom_norm": "1QCO", "cm_inv_var": "E8JP", "cm_corr": "NI2N", "cm_auto_corr": "QWB0",
    "cm_clust_tend": "DG8W", "cm_clust_shade": "7NFM", "cm_clust_prom": "AE86", "cm_info_corr1": "R8DG",
    "cm_info_corr2": "JN9H",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Region:
    """A region ready to be described: its box, one voxel of margin included where there is room."""

    values: npt.NDArray[np.int16]
    inside: Bools
    spacing: Triple


@dataclass(frozen=True, slots=True)
class Signature:
    """Features of a region.

    Attributes:
        features: Value by name; ``None`` where the feature is not defined.
        n_voxels: Voxels of the region.
        n_bins: Levels from the lowest to the highest.
        bin_width_hu: Width of a level.
        warnings: What makes the numbers less useful.
    """

    features: dict[str, float | None]
    n_voxels: int
    n_bins: int
    bin_width_hu: float
    warnings: tuple[str, ...]


def region_of(
    volume: Volume,
    mask: Mask,
    label: int,
    limits: Limits,
    resample_mm: float | None = None,
    margin_mm: float = 0.0,
) -> Region:
    """Cut a labelled region out of a volume, resampled to cubic voxels on demand.

    Args:
        volume: The volume.
        mask: A mask of it.
        label: Its label.
        limits: Bounds of size.
        resample_mm: Voxel size to resample to.
        margin_mm: How much of the surroundings to keep, at least two voxels.

    Raises:
        ImagingError: ``E_GEOMETRY_MISMATCH`` when mask and volume differ; ``E_EMPTY_MASK``; ``E_LIMIT`` for too large a
            region.
    """
    wrong = volume.grid.mismatch(mask.grid)
    if wrong:
        raise ImagingError(Code.GEOMETRY_MISMATCH, f"the mask does not lie on the volume: {wrong}.")
    if mask.counts.get(label, 0) > limits.max_roi_voxels:
        raise ImagingError(
            Code.LIMIT,
            f"label {label} has {mask.counts[label]} voxels, more than the {limits.max_roi_voxels} allowed here; "
            "resample or crop first.",
        )
    _, bounds = mask.region(label)
    z, y, x = (2 + math.ceil(margin_mm / step) for step in mask.grid.mm)
    box = grown(bounds, (z, y, x), mask.grid.shape)
    if resample_mm is None:
        return Region(cut(volume.hu, box), np.ascontiguousarray(cut(mask.labels, box) == label), volume.grid.mm)
    # The mask is resampled with the volume, by the nearest voxel.
    part = resample_iso(crop(volume, box), resample_mm, limits)
    inside = resample_iso(crop(mask, box), resample_mm, limits).labels == label
    if not inside.any():
        raise ImagingError(Code.EMPTY_MASK, f"label {label} vanishes at {resample_mm} mm; use smaller voxels.")
    return Region(part.hu, inside, part.grid.mm)


def signature(region: Region, classes: Iterable[str] = CLASSES, *, bin_width_hu: float = 25.0) -> Signature:
    """Features of a region.

    Args:
        region: From :func:`region_of`.
        classes: Any of ``shape``, ``firstorder``, ``glcm``.
        bin_width_hu: Width of a grey level for ``glcm`` and the entropy and uniformity of ``firstorder``.

    Raises:
        ImagingError: ``E_FORMAT`` for an unknown class; ``E_LIMIT`` for too many grey levels.
    """
    wanted = set(classes)
    if not wanted or wanted - set(CLASSES):
        raise ImagingError(Code.FORMAT, f"classes {sorted(wanted)}: expected some of {', '.join(CLASSES)}.")
    levels = glcm.discretise(region.values, region.inside, bin_width_hu)
    found: dict[str, float | None] = {}
    if "shape" in wanted:
        found |= {f"morph_{name}": value for name, value in shape.features(region.inside, region.spacing).items()}
        found["morph_com"] = shape.centre_shift(region.inside, region.inside, region.values, region.spacing)
        volume = found["morph_volume"]
        found["morph_integ_int"] = None if volume is None else volume * float(region.values[region.inside].mean())
    if "firstorder" in wanted:
        found |= {f"stat_{name}": value for name, value in firstorder.features(region.values[region.inside]).items()}
        found |= {f"ih_{k}": v for k, v in firstorder.histogram_features(levels[region.inside]).items()}
    if "glcm" in wanted:
        found |= {f"cm_{name}": value for name, value in glcm.features(levels).items()}
    n_bins = int(levels.max())
    few = n_bins < FEW_BINS
    warnings = (f"only {n_bins} grey levels at a bin width of {bin_width_hu:g} HU: texture is flat",) if few else ()
    return Signature(found, int(region.inside.sum()), n_bins, bin_width_hu, warnings)


@dataclass(frozen=True, slots=True)
class Texture:
    """How uneven a lesion is.

    Attributes:
        values: Co-occurrence contrast, correlation, entropy and inverse difference moment; entropy and uniformity.
        core_hu: Mean HU deeper than ``rim_mm``; ``None`` when nothing is that deep.
        rim_hu: Mean HU of the rest.
        shell_hu: Mean HU around the lesion, within ``rim_mm``; ``None`` at the edge of the volume.
        rim_mm: Depth of the rim.
        n_bins: Grey levels.
    """

    values: dict[str, float | None]
    core_hu: float | None
    rim_hu: float
    shell_hu: float | None
    rim_mm: float
    n_bins: int


def texture(region: Region, *, bin_width_hu: float = 25.0, shell_mm: float = 0.0) -> Texture:
    """Texture of a region, and its core against its rim.

    Args:
        region: From :func:`region_of`.
        bin_width_hu: Width of a grey level.
        shell_mm: Depth of the rim, and width of the shell around; 0 takes the largest voxel side.

    Raises:
        ImagingError: ``E_LIMIT`` for too many levels or a depth outside 0..50 mm.
    """
    from scipy import ndimage

    if not 0 <= shell_mm <= 50:
        raise ImagingError(Code.LIMIT, f"shell_mm {shell_mm}: expected 0 to 50.")
    depth = shell_mm or max(region.spacing)
    levels = glcm.discretise(region.values, region.inside, bin_width_hu)
    pairs = glcm.features(levels)
    values = {f"glcm_{name}": pairs[name] for name in ("contrast", "corr", "joint_entr", "inv_diff_mom")}
    values |= firstorder.histogram_features(levels[region.inside])
    within = ndimage.distance_transform_edt(np.pad(region.inside, 1), sampling=region.spacing)[1:-1, 1:-1, 1:-1]
    beyond = ndimage.distance_transform_edt(~region.inside, sampling=region.spacing)
    deep = within > depth + 1e-9
    around = (beyond > 0) & (beyond <= depth + 1e-9)
    return Texture(
        values,
        _mean(region.values, deep),
        float(region.values[region.inside & ~deep].mean()),
        _mean(region.values, around),
        depth,
        int(levels.max()),
    )


def _mean(values: npt.NDArray[np.int16], where: Bools) -> float | None:
    return float(values[where].mean()) if where.any() else None
