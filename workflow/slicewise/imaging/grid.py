"""Where voxels lie in the patient."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from slicewise.imaging.faults import Code, ImagingError

Triple = tuple[float, float, float]
Index = tuple[int, int, int]
Bounds = tuple[tuple[int, int], tuple[int, int], tuple[int, int]]
Floats = npt.NDArray[np.float64]
Bools = npt.NDArray[np.bool_]
Int16s = npt.NDArray[np.int16]

IDENTITY: tuple[Triple, Triple, Triple] = ((1.0, 0.0, 0.0), (0.0, 1.0, 0.0), (0.0, 0.0, 1.0))
_TOLERANCE_MM = 0.01
_TOLERANCE_COSINE = 1e-3


@dataclass(frozen=True, slots=True)
class Grid:
    """Shape and place of a volume.

    Attributes:
        shape: Voxels in z, y, x.
        spacing: Distance of voxel centres in z, y, x in mm; ``None`` when the file did not say.
        origin: LPS position ``(x, y, z)`` in mm of the centre of voxel ``(0, 0, 0)``.
        direction: Rows of the matrix whose columns are the LPS unit vectors of the x, y and z axis of the array;
            close to the identity, because arrays are kept in canonical orientation.
    """

    shape: Index
    spacing: Triple | None
    origin: Triple = (0.0, 0.0, 0.0)
    direction: tuple[Triple, Triple, Triple] = IDENTITY

    @property
    def mm(self) -> Triple:
        """Spacing in z, y, x.

        Raises:
            ImagingError: ``E_FORMAT`` when the spacing is unknown, because then nothing can be measured.
        """
        if self.spacing is None:
            raise ImagingError(
                Code.FORMAT,
                "the volume has no spacing, so nothing can be measured in mm; use the view tools, or load the "
                "original DICOM or NIfTI file.",
            )
        return self.spacing

    @property
    def voxel_ml(self) -> float:
        """Volume of one voxel in mL."""
        z, y, x = self.mm
        return z * y * x / 1000.0

    def _matrix(self) -> Floats:
        z, y, x = self.mm
        matrix: Floats = np.asarray(self.direction, dtype=np.float64) * np.asarray([x, y, z])
        return matrix

    def lps(self, zyx: Sequence[float]) -> Triple:
        """LPS position ``(x, y, z)`` in mm of a voxel position ``(z, y, x)``, which may be fractional."""
        found = self._matrix() @ np.asarray(zyx, dtype=np.float64)[::-1] + np.asarray(self.origin)
        return (float(found[0]), float(found[1]), float(found[2]))

    def voxel(self, lps_mm: Sequence[float]) -> Triple:
        """Voxel position ``(z, y, x)`` of an LPS position; the inverse of :meth:`lps`."""
        found = np.linalg.solve(self._matrix(), np.asarray(lps_mm, dtype=np.float64) - np.asarray(self.origin))
        return (float(found[2]), float(found[1]), float(found[0]))

    def contains(self, zyx: Sequence[float]) -> bool:
        """Whether a voxel position lies inside the volume, up to the outer faces of the voxels."""
        return all(-0.5 <= at <= size - 0.5 for at, size in zip(zyx, self.shape, strict=True))

    def cropped(self, bounds: Bounds) -> Grid:
        """The grid of ``array[z0:z1, y0:y1, x0:x1]``."""
        start = tuple(low for low, _ in bounds)
        shape = (bounds[0][1] - bounds[0][0], bounds[1][1] - bounds[1][0], bounds[2][1] - bounds[2][0])
        return replace(self, shape=shape, origin=self.lps(start) if self.spacing else self.origin)

    def mismatch(self, other: Grid) -> str | None:
        """How two grids differ, in words, or ``None``; positions may differ by 0.01 mm, cosines by 0.001."""
        if self.shape != other.shape:
            return f"shape {list(other.shape)} instead of {list(self.shape)}"
        if self.spacing is None or other.spacing is None:
            return None if self.spacing == other.spacing else "only one of them has a spacing"
        if not np.allclose(self.spacing, other.spacing, atol=1e-4, rtol=1e-4):
            return f"spacing {list(other.spacing)} instead of {list(self.spacing)} mm"
        if not np.allclose(self.direction, other.direction, atol=_TOLERANCE_COSINE):
            return "another orientation"
        if not np.allclose(self.origin, other.origin, atol=_TOLERANCE_MM):
            return f"origin {list(other.origin)} instead of {list(self.origin)} mm"
        return None
