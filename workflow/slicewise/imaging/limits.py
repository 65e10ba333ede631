"""What one request may cost."""

from __future__ import annotations

from dataclasses import dataclass

from slicewise.imaging.faults import Code, ImagingError


@dataclass(frozen=True, slots=True)
class Limits:
    """Bounds of one workspace.

    Attributes:
        max_voxels: Voxels of one volume.
        max_file_bytes: Bytes of one file.
        max_files: Files of one series.
        max_volumes: Open volumes; the one that was used least recently is closed first.
        max_masks: Kept masks, likewise.
        max_open_bytes: Bytes of all open volumes, and of all kept masks; the newest one is always kept.
        max_side_px: Longest side of a picture.
        max_roi_voxels: Voxels of a region whose shape or texture is described.
        seconds: Wall time of one call.
    """

    max_voxels: int = 2**28
    max_file_bytes: int = 2**31
    max_files: int = 4096
    max_volumes: int = 4
    max_masks: int = 16
    max_open_bytes: int = 2**31
    max_side_px: int = 1024
    max_roi_voxels: int = 20_000_000
    seconds: float = 120.0

    def check_voxels(self, sizes: tuple[int, ...], what: str = "the volume") -> None:
        """Refuse more voxels than allowed.

        Raises:
            ImagingError: ``E_LIMIT``.
        """
        voxels = 1
        for size in sizes:
            voxels *= size
        if voxels > self.max_voxels:
            raise ImagingError(
                Code.LIMIT,
                f"{what} would have {voxels} voxels, more than the {self.max_voxels} allowed; crop it or use a "
                "coarser grid.",
            )
