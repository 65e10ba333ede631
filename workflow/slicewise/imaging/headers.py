"""Headers of NIfTI and NRRD files, read before any pixel so that bad or huge files cost nothing.

Only single files are accepted: a header that names another file could reach outside the folder that is served.
"""

from __future__ import annotations

import gzip
import math
import struct
import zlib
from pathlib import Path

from slicewise.imaging.faults import Code, ImagingError
from slicewise.imaging.limits import Limits

_NIFTI_BYTES = 348
_NIFTI2_BYTES = 540
_NIFTI_NUMBERS = {2: 8, 4: 16, 8: 32, 16: 32, 64: 64, 256: 8, 512: 16, 768: 32, 1024: 64, 1280: 64}
_NRRD_HEADER_BYTES = 65536


def check_nifti(path: Path, limits: Limits) -> None:
    """Check the header of a ``.nii`` or ``.nii.gz`` file.

    Raises:
        ImagingError: ``E_FORMAT`` or ``E_LIMIT``.
    """
    head = _start(path, _NIFTI_BYTES, packed=path.name.endswith(".gz"))
    order = "<" if head[:4] == struct.pack("<i", _NIFTI_BYTES) else ">"
    if struct.unpack(order + "i", head[:4])[0] != _NIFTI_BYTES or head[344:348] != b"n+1\0":
        what = "NIfTI-2" if _NIFTI2_BYTES in (*struct.unpack("<i", head[:4]), *struct.unpack(">i", head[:4])) else "no"
        raise ImagingError(Code.FORMAT, f"the file is {what} NIfTI-1 in one file (magic n+1); convert it.")
    dims = struct.unpack(order + "8h", head[40:56])
    datatype = struct.unpack(order + "h", head[70:72])[0]
    pixdim = struct.unpack(order + "8f", head[76:108])
    sizes = dims[1 : 1 + max(0, min(7, dims[0]))]
    check_sizes(sizes, limits)
    check_spacing(pixdim[1:4])
    if datatype not in _NIFTI_NUMBERS:
        raise ImagingError(Code.FORMAT, f"NIfTI data type {datatype} is no plain number (colour or complex?).")


def check_nrrd(path: Path, limits: Limits) -> None:
    """Check the header of a ``.nrrd`` file; detached data files are refused.

    Raises:
        ImagingError: ``E_FORMAT`` or ``E_LIMIT``.
    """
    head = _start(path, _NRRD_HEADER_BYTES, packed=False, exact=False)
    if not head.startswith(b"NRRD"):
        raise ImagingError(Code.FORMAT, "the file does not start with NRRD.")
    text, found, _ = head.replace(b"\r\n", b"\n").partition(b"\n\n")
    if not found:
        raise ImagingError(Code.FORMAT, "the NRRD header has no end; detached data files are not read.")
    fields: dict[str, str] = {}
    for line in text.decode("latin-1").splitlines()[1:]:
        name, colon, value = line.partition(":")
        if colon and not line.startswith("#") and not value.startswith("="):
            fields[name.strip().lower().replace(" ", "")] = value.strip()
    if "datafile" in fields:
        raise ImagingError(Code.FORMAT, "the NRRD header names another data file; save it as one .nrrd file.")
    try:
        sizes = tuple(int(word) for word in fields.get("sizes", "").split())
    except ValueError as error:
        raise ImagingError(Code.FORMAT, f"NRRD sizes '{fields['sizes']}' are no integers.") from error
    check_sizes(sizes, limits)
    if "nan" in (fields.get("spacedirections", "") + fields.get("spacings", "")).lower():
        raise ImagingError(Code.FORMAT, "the NRRD spacing is NaN; write the real spacing into the header.")


def check_sizes(sizes: tuple[int, ...], limits: Limits) -> None:
    """Three dimensions of at least one voxel, and not too many voxels.

    Raises:
        ImagingError: ``E_FORMAT`` or ``E_LIMIT``.
    """
    if len(sizes) < 3 or any(size < 1 for size in sizes) or any(size != 1 for size in sizes[3:]):
        raise ImagingError(Code.FORMAT, f"the file has sizes {list(sizes)}, expected one 3-D volume of single numbers.")
    limits.check_voxels(sizes)


def check_spacing(spacing: tuple[float, ...]) -> None:
    """Finite spacing above zero.

    Raises:
        ImagingError: ``E_FORMAT``.
    """
    if not all(math.isfinite(step) and 1e-3 <= abs(step) <= 1e3 for step in spacing):
        raise ImagingError(Code.FORMAT, f"spacing {list(spacing)} is not between 0.001 and 1000 mm; mend the header.")


def _start(path: Path, count: int, *, packed: bool, exact: bool = True) -> bytes:
    try:
        with gzip.open(path) if packed else path.open("rb") as file:
            head = file.read(count)
    except (gzip.BadGzipFile, EOFError, zlib.error) as error:
        raise ImagingError(Code.FORMAT, "the file is no gzip file, or is cut off.") from error
    if exact and len(head) < count:
        raise ImagingError(Code.FORMAT, f"the file ends after {len(head)} bytes, within its header.")
    return head
