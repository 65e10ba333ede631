"""Volumes, views, measurements, segmentation and radiomics: plain functions on arrays.

Conventions of the whole package: arrays are C-ordered ``(z, y, x)`` in canonical LPS (x grows to the patient's Left, y
to Posterior, z to Superior); lengths are mm, volumes mL, intensities HU; a point is a voxel ``(z, y, x)`` unless it is
named ``lps_mm``, which is ``(x, y, z)`` in mm.
"""
