"""The digital phantom of the Image Biomarker Standardisation Initiative and its reference values.

Published in the IBSI reference manual (arXiv:1612.07003, CC BY 4.0): 5 x 4 x 4 voxels of 2 mm, values are grey levels.
The aggregation of the co-occurrence features is 3D, averaged over directions.
"""

import numpy as np

SPACING = (2.0, 2.0, 2.0)
LEVELS = np.asarray([
    "14411 14611 41641 44641",
    "14411 11611 11311 44611",
    "14411 11111 11911 11611",
    "14411 11111 11111 11611",
])  # fmt: skip
INSIDE = np.asarray([
    "11111 11111 11111 11111",
    "11111 11111 01111 11111",
    "11100 11111 11011 11111",
    "11100 11111 11111 11111",
])  # fmt: skip


def volume_and_region() -> tuple[np.ndarray, np.ndarray]:
    """Grey levels ``(z, y, x)`` and the region."""
    values, inside = (
        np.asarray([[[int(digit) for digit in row] for row in plane.split()] for plane in planes], dtype=np.int16)
        for planes in (LEVELS, INSIDE)
    )
    return values, inside > 0


# Feature: value as published, tolerance as published (0: to the digits shown).
REFERENCE = {
    "morph_volume": ("556", 4), "morph_vol_approx": ("592", 4), "morph_area_mesh": ("388", 3),
    "morph_av": ("0.698", 0.004), "morph_comp_1": ("0.0411", 0.0003), "morph_comp_2": ("0.599", 0.004),
    "morph_sph_dispr": ("1.19", 0.01), "morph_sphericity": ("0.843", 0.005), "morph_asphericity": ("0.186", 0.001),
    "morph_com": ("0.672", 0.004), "morph_diam": ("13.1", 0.1), "morph_pca_maj_axis": ("11.4", 0.1),
    "morph_pca_min_axis": ("9.31", 0.06), "morph_pca_least_axis": ("8.54", 0.05),
    "morph_pca_elongation": ("0.816", 0.005), "morph_pca_flatness": ("0.749", 0.005),
    "morph_vol_dens_aabb": ("0.869", 0.005), "morph_area_dens_aabb": ("0.866", 0.005),
    "morph_vol_dens_aee": ("1.17", 0.01), "morph_vol_dens_conv_hull": ("0.961", 0.006),
    "morph_area_dens_conv_hull": ("1.03", 0.01), "morph_integ_int": ("1200", 10),
    "stat_mean": ("2.15", 0), "stat_var": ("3.05", 0), "stat_skew": ("1.08", 0), "stat_kurt": ("-0.355", 0),
    "stat_median": ("1", 0), "stat_min": ("1", 0), "stat_p10": ("1", 0), "stat_p90": ("4", 0), "stat_max": ("6", 0),
    "stat_iqr": ("3", 0), "stat_range": ("5", 0), "stat_mad": ("1.55", 0), "stat_rmad": ("1.11", 0),
    "stat_medad": ("1.15", 0), "stat_cov": ("0.812", 0), "stat_qcod": ("0.6", 0), "stat_energy": ("567", 0),
    "stat_rms": ("2.77", 0), "ih_entropy": ("1.27", 0), "ih_uniformity": ("0.512", 0),
    "cm_joint_max": ("0.503", 0), "cm_joint_avg": ("2.14", 0), "cm_joint_var": ("3.1", 0), "cm_joint_entr": ("2.4", 0),
    "cm_diff_avg": ("1.43", 0), "cm_diff_var": ("3.06", 0), "cm_diff_entr": ("1.56", 0), "cm_sum_avg": ("4.29", 0),
    "cm_sum_var": ("7.07", 0), "cm_sum_entr": ("1.92", 0), "cm_energy": ("0.303", 0), "cm_contrast": ("5.32", 0),
    "cm_dissimilarity": ("1.43", 0), "cm_inv_diff": ("0.677", 0), "cm_inv_diff_norm": ("0.851", 0),
    "cm_inv_diff_mom": ("0.618", 0), "cm_inv_diff_mom_norm": ("0.898", 0), "cm_inv_var": ("0.0604", 0),
    "cm_corr": ("0.157", 0), "cm_auto_corr": ("5.06", 0), "cm_clust_tend": ("7.07", 0),
    "cm_clust_shade": ("16.6", 0), "cm_clust_prom": ("145", 0), "cm_info_corr1": ("-0.157", 0),
    "cm_info_corr2": ("0.52", 0),
}  # fmt: skip
