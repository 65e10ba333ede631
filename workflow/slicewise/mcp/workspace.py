"""What is open: volumes and masks under ids made from their content, within bounds.

An id is the same whenever and wherever the same voxels are loaded, so a recorded session can be replayed and compared.
"""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from pathlib import Path
from threading import RLock
from typing import TypeVar

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.limits import Limits
from slicewise.imaging.volume import Mask, Volume
from slicewise.mcp.root import DataRoot

Thing = TypeVar("Thing")
_REMEMBERED = 256


class Workspace:
    """The state behind one server. Volumes and masks never change, so only the register needs the lock."""

    def __init__(self, root: Path, limits: Limits | None = None) -> None:
        """Open nothing yet.

        Args:
            root: The folder that may be read.
            limits: Bounds; defaults as in :class:`slicewise.imaging.limits.Limits`.
        """
        self.root = DataRoot(root)
        self.limits = limits or Limits()
        self.lock = RLock()
        self.evictions = 0
        self._volumes: OrderedDict[str, Volume] = OrderedDict()
        self._masks: OrderedDict[str, Mask] = OrderedDict()
        self._closed: OrderedDict[str, None] = OrderedDict()

    def add_volume(self, volume: Volume) -> str:
        """Register a volume; the least recently used one is closed when there are too many."""
        name = f"{'ct' if volume.is_hu else 'img'}-{volume.sha256[:12]}"
        self._add(self._volumes, name, volume, self.limits.max_volumes)
        return name

    def add_mask(self, mask: Mask) -> str:
        """Register a mask, likewise."""
        names = "|".join(f"{label}={name}" for label, name in sorted(mask.names.items()))
        digest = hashlib.sha256(f"{mask.sha256}|{mask.backend}|{names}".encode()).hexdigest()
        name = f"mask-{digest[:12]}"
        self._add(self._masks, name, mask, self.limits.max_masks)
        return name

    def volume(self, volume_id: str) -> Volume:
        """An open volume.

        Raises:
            ImagingError: ``E_NOT_LOADED``.
        """
        return self._get(self._volumes, volume_id, "volume", "load_data")

    def mask(self, mask_id: str) -> Mask:
        """A kept mask.

        Raises:
            ImagingError: ``E_NOT_LOADED``.
        """
        return self._get(self._masks, mask_id, "mask", "load_mask or segment_total_anatomy")

    def mask_on(self, mask_id: str, volume: Volume) -> Mask:
        """A mask that must lie on a volume.

        Raises:
            ImagingError: ``E_NOT_LOADED`` or ``E_GEOMETRY_MISMATCH``.
        """
        mask = self.mask(mask_id)
        wrong = volume.grid.mismatch(mask.grid)
        if wrong:
            raise ImagingError(Code.GEOMETRY_MISMATCH, f"mask {mask_id} does not lie on the volume: {wrong}.")
        return mask

    def thing(self, name: str) -> Volume | Mask:
        """A volume or a mask by its id.

        Raises:
            ImagingError: ``E_NOT_LOADED``.
        """
        return self.mask(name) if name.startswith("mask-") else self.volume(name)

    def volume_of(self, mask: Mask) -> Volume | None:
        """The most recently used open volume that a mask lies on, for a picture of it."""
        with self.lock:
            return next((one for one in reversed(self._volumes.values()) if not one.grid.mismatch(mask.grid)), None)

    def _add(self, register: OrderedDict[str, Thing], name: str, thing: Thing, most: int) -> None:
        with self.lock:
            register[name] = thing
            register.move_to_end(name)
            self._closed.pop(name, None)
            while len(register) > most or (len(register) > 1 and _bytes(register) > self.limits.max_open_bytes):
                oldest, _ = register.popitem(last=False)
                self._closed[oldest] = None
                self.evictions += 1
            while len(self._closed) > _REMEMBERED:
                self._closed.popitem(last=False)

    def _get(self, register: OrderedDict[str, Thing], name: str, kind: str, how: str) -> Thing:
        with self.lock:
            if name in register:
                register.move_to_end(name)
                return register[name]
            open_now = ", ".join(register) or "none"
            closed = name in self._closed
        why = f"{kind} '{name}' was closed to stay within bounds" if closed else f"no {kind} '{name}' is open"
        raise ImagingError(Code.NOT_LOADED, f"{why}; call {how} first. Open: {open_now}.")


def _bytes(register: OrderedDict[str, Thing]) -> int:
    return sum(one.nbytes for one in register.values() if isinstance(one, (Volume, Mask)))
