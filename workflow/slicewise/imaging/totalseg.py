"""TotalSegmentator as an optional backend: looked for when it is asked for, never downloaded, never phoning home.

It is used only when the package is installed and its weights lie in the folder that ``TOTALSEG_WEIGHTS_PATH`` names.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from slicewise.imaging.anatomy import TOTAL
from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.orient import to_lps
from slicewise.imaging.volume import Mask, Volume

WEIGHTS = "TOTALSEG_WEIGHTS_PATH"


def missing() -> str | None:
    """Why the backend cannot be used, or ``None``."""
    if importlib.util.find_spec("totalsegmentator") is None:
        return "the package TotalSegmentator is not installed"
    folder = os.environ.get(WEIGHTS)
    if not folder or not Path(folder).is_dir():
        return f"{WEIGHTS} does not name a folder with weights"
    return None


def segment(volume: Volume, names: Iterable[str] | None = None, *, fast: bool = True) -> Mask:
    """Segment with TotalSegmentator's task "total".

    Args:
        volume: A CT in HU.
        names: Classes to segment; default all.
        fast: The 3 mm model.

    Raises:
        ImagingError: ``E_BACKEND_UNAVAILABLE`` when it is not installed or fails; ``E_EMPTY_MASK`` when it finds
            nothing (wasserth/TotalSegmentator#110: an empty result is no success); ``E_UNKNOWN_ANATOMY``.
    """
    why = missing()
    if why:
        raise ImagingError(Code.BACKEND_UNAVAILABLE, f"totalsegmentator: {why}.")
    volume.require_hu()
    wanted = None if names is None else list(dict.fromkeys(names))
    for name in wanted or ():
        if name not in TOTAL:
            raise ImagingError(Code.UNKNOWN_ANATOMY, f"'{name}' is no class of TotalSegmentator's task total.")
    importlib.import_module("totalsegmentator.config").set_config_key("send_usage_stats", False)
    run = importlib.import_module("totalsegmentator.python_api").totalsegmentator
    classes = importlib.import_module("totalsegmentator.map_to_binary").class_map["total"]
    nibabel = importlib.import_module("nibabel")
    affine = np.eye(4)
    z, y, x = volume.grid.mm
    to_ras = np.diag([-1.0, -1.0, 1.0])
    affine[:3, :3] = to_ras @ np.asarray(volume.grid.direction) @ np.diag([x, y, z])
    affine[:3, 3] = to_ras @ np.asarray(volume.grid.origin)
    image = nibabel.Nifti1Image(np.ascontiguousarray(volume.hu.T), affine)
    try:
        done = run(image, None, fast=fast, roi_subset=wanted, device="cpu", quiet=True)
    except (RuntimeError, OSError, ValueError) as error:
        raise ImagingError(Code.BACKEND_UNAVAILABLE, f"totalsegmentator failed ({type(error).__name__}).") from error
    found = np.asarray(done.dataobj).astype(np.uint8)
    cosines = to_ras @ np.asarray(done.affine)[:3, :3] / np.linalg.norm(np.asarray(done.affine)[:3, :3], axis=0)
    array, _, _ = to_lps(found.T, (x, y, z), volume.grid.origin, cosines)
    if array.shape != volume.grid.shape:
        raise ImagingError(Code.GEOMETRY_MISMATCH, "totalsegmentator returned a mask of another shape.")
    mask = Mask(
        np.ascontiguousarray(array), volume.grid, dict(classes), "totalsegmentator", "3 mm model" if fast else ""
    )
    if not mask.counts:
        raise ImagingError(Code.EMPTY_MASK, "totalsegmentator found nothing in this volume.")
    return mask
