"""The two things that tools work on: a volume and a mask of it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.grid import Bools, Bounds, Grid, Int16s

Labels = npt.NDArray[np.integer[Any]]
AIR_HU = -1024


@dataclass(frozen=True, slots=True)
class HuCheck:
    """Whether intensities look like Hounsfield units.

    Attributes:
        air_peak: The most frequent value near -1000, or ``None`` when there is hardly any air.
        suspect: The values do not look like HU.
        reason: Why, in words; empty when not suspect.
        padding_value: The value outside the reconstructed field, before it was set to -1024; ``None`` without padding.
        padding_voxels: How many voxels had it.
    """

    air_peak: int | None
    suspect: bool
    reason: str = ""
    padding_value: int | None = None
    padding_voxels: int = 0


@dataclass(frozen=True, eq=False)
class Volume:
    """One scan.

    Attributes:
        hu: Intensities ``(z, y, x)``, read-only int16; HU when ``is_hu``, else arbitrary units.
        grid: Where the voxels lie.
        is_hu: Whether intensities are Hounsfield units.
        check: The air-peak check.
        orientation_in: Orientation of the file, as the directions in which its x, y, z indices grow (``LPS``).
        facts: Technical properties that hold no personal data, such as modality and kernel.
        warnings: What the reader noticed.
        gaps_mm: Smallest and largest distance of slices where these are not uniform.
        owner: The object whose memory ``hu`` borrows.
    """

    hu: Int16s = field(repr=False)
    grid: Grid
    is_hu: bool
    check: HuCheck
    orientation_in: str = "LPS"
    facts: Mapping[str, Any] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()
    gaps_mm: tuple[float, float] | None = None
    owner: object = field(default=None, repr=False)

    def __post_init__(self) -> None:
        if self.hu.flags.writeable:
            self.hu.setflags(write=False)

    @cached_property
    def sha256(self) -> str:
        """Digest of shape, spacing, place and intensities."""
        return digest(self.hu, self.grid)

    @property
    def nbytes(self) -> int:
        """Bytes of the intensities."""
        return self.hu.nbytes

    @cached_property
    def extremes(self) -> tuple[int, int]:
        """Smallest and largest intensity."""
        return int(self.hu.min()), int(self.hu.max())

    def require_hu(self) -> None:
        """Refuse intensities that are not HU.

        Raises:
            ImagingError: ``E_HU_SUSPECT``.
        """
        if not self.is_hu:
            raise ImagingError(
                Code.HU_SUSPECT,
                f"the intensities are not known to be Hounsfield units ({self.check.reason or 'no CT'}); load the "
                "volume with hu_policy 'rescale' and its slope and intercept, or with 'as_is' if they are HU.",
            )


@dataclass(frozen=True, eq=False)
class Mask:
    """Labelled regions of a volume.

    Attributes:
        labels: ``(z, y, x)`` unsigned integers, 0 is background; read-only.
        grid: Where the voxels lie.
        names: Name of each label that has one.
        backend: What made it: ``file``, ``heuristic``, ``totalsegmentator`` or ``edit``.
        note: What a reader should know of its quality.
    """

    labels: Labels = field(repr=False)
    grid: Grid
    names: Mapping[int, str] = field(default_factory=dict)
    backend: str = "file"
    note: str = ""

    def __post_init__(self) -> None:
        if self.labels.flags.writeable:
            self.labels.setflags(write=False)

    @cached_property
    def sha256(self) -> str:
        """Digest of shape, spacing, place and labels."""
        return digest(self.labels, self.grid)

    @property
    def nbytes(self) -> int:
        """Bytes of the labels."""
        return self.labels.nbytes

    @cached_property
    def counts(self) -> dict[int, int]:
        """Voxels of each label that is there, without the background."""
        found = np.bincount(self.labels.reshape(-1))
        return {label: int(count) for label, count in enumerate(found) if label and count}

    def region(self, label: int) -> tuple[Bools, Bounds]:
        """The box around a label and the label inside it.

        Returns:
            ``(inside, bounds)``: a boolean array and where it lies in the volume, ``((z0, z1), (y0, y1), (x0, x1))``.

        Raises:
            ImagingError: ``E_EMPTY_MASK`` when no voxel has the label.
        """
        if label not in self.counts:
            there = ", ".join(map(str, self.counts)) or "none"
            raise ImagingError(Code.EMPTY_MASK, f"no voxel has label {label}; labels of this mask: {there}.")
        inside = self.labels == label
        bounds = bounding_box(inside)
        return np.ascontiguousarray(cut(inside, bounds)), bounds


def digest(array: npt.NDArray[Any], grid: Grid) -> str:
    """SHA-256 over type, shape, place (rounded to 1e-4) and values."""
    place = [*(grid.spacing or ()), *grid.origin, *(cosine for row in grid.direction for cosine in row)]
    # Adding 0.0 turns -0.0 into 0.0, which is the same place.
    head = f"{array.dtype.str}|{array.shape}|{[round(number, 4) + 0.0 for number in place]}"
    found = hashlib.sha256(head.encode())
    found.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
    return found.hexdigest()


def bounding_box(inside: Bools) -> Bounds:
    """Half-open bounds of the true voxels of a non-empty array."""
    z, y, x = (_ends(inside, axes) for axes in ((1, 2), (0, 2), (0, 1)))
    return z, y, x


def _ends(inside: Bools, others: tuple[int, int]) -> tuple[int, int]:
    where = np.flatnonzero(inside.any(axis=others))
    return int(where[0]), int(where[-1]) + 1


def grown(bounds: Bounds, margin: tuple[int, int, int], shape: tuple[int, int, int]) -> Bounds:
    """Bounds with a margin in voxels, kept inside the volume."""
    one, two, three = (
        (max(0, low - more), min(size, high + more))
        for (low, high), more, size in zip(bounds, margin, shape, strict=True)
    )
    return one, two, three


def cut(array: npt.NDArray[Any], bounds: Bounds) -> npt.NDArray[Any]:
    """``array[z0:z1, y0:y1, x0:x1]``, a view."""
    (z0, z1), (y0, y1), (x0, x1) = bounds
    return array[z0:z1, y0:y1, x0:x1]
