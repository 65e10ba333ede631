"""The one folder that tools may read."""

from __future__ import annotations

import os
from pathlib import Path, PurePosixPath

from slicewise.errors import UserError
from slicewise.imaging.faults import Code, ImagingError

_LONGEST = 1024


class DataRoot:
    """Resolves the names that a client sends, and nothing outside the folder."""

    def __init__(self, folder: Path) -> None:
        """Take a folder as the root.

        Args:
            folder: An existing folder.

        Raises:
            UserError: There is no such folder.
        """
        if not folder.is_dir():
            raise UserError(f"--data-root: '{folder}' is no folder; give the folder that holds the volumes.")
        self.folder = folder.resolve()

    def find(self, name: str) -> Path:
        """The path of a name.

        Absolute names, ``..``, backslashes, NUL and links anywhere below the root are refused, for a folder also links
        among its files, so that no file outside the root is ever opened. The messages hold no path of the machine.

        Raises:
            ImagingError: ``E_NOT_FOUND``.
        """
        parts = PurePosixPath(name).parts
        if not name or len(name) > _LONGEST or "\\" in name or "\0" in name or name.startswith(("/", "~")):
            raise ImagingError(Code.NOT_FOUND, "a path is relative to the data root, such as 'case1/ct.nii.gz'.")
        if ".." in parts:
            raise ImagingError(Code.NOT_FOUND, "a path may not contain '..'; it is relative to the data root.")
        at = self.folder
        for part in parts:
            at = at / part
            if at.is_symlink():
                raise ImagingError(Code.NOT_FOUND, "links are not followed; put the files themselves below the root.")
        if not at.exists():
            raise ImagingError(Code.NOT_FOUND, "there is no file or folder of that name in the data root.")
        if at.is_dir():
            with os.scandir(at) as entries:
                if any(entry.is_symlink() for entry in entries):
                    raise ImagingError(Code.NOT_FOUND, "the folder holds links, which are not followed.")
        return at
