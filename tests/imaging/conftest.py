"""Small volumes and DICOM series with known content."""

from __future__ import annotations

import locale
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import SimpleITK as sitk
from slicewise.imaging.grid import Grid
from slicewise.imaging.hu import check
from slicewise.imaging.volume import Volume

WriteSeries = Callable[..., Path]


@pytest.fixture(autouse=True)
def _own_locale() -> Iterator[None]:
    """ITK's DICOM writer leaves the process in the locale "C", which would make later tests read files as ASCII."""
    before = locale.setlocale(locale.LC_ALL)
    yield
    locale.setlocale(locale.LC_ALL, before)


@pytest.fixture
def write_series(tmp_path: Path) -> WriteSeries:
    """Write a DICOM series; ``skip`` leaves slices out, ``positions`` moves them, ``tags`` adds to the header."""

    def write(
        values: np.ndarray[Any, Any],
        *,
        spacing: tuple[float, float, float] = (3.0, 1.5, 1.5),
        name: str = "series",
        uid: str = "1.2.3.4",
        skip: tuple[int, ...] = (),
        positions: list[tuple[float, float, float]] | None = None,
        tags: dict[str, str] | None = None,
        reverse_numbers: bool = False,
    ) -> Path:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        writer = sitk.ImageFileWriter()
        writer.KeepOriginalImageUIDOn()
        count = len(values)
        for z, plane in enumerate(values):
            if z in skip:
                continue
            image = sitk.GetImageFromArray(plane.astype(np.int16))
            image.SetSpacing((spacing[2], spacing[1]))
            place = positions[z] if positions else (-10.0, -20.0, 5.0 + z * spacing[0])
            number = count - z if reverse_numbers else z + 1
            header = {
                "0008|0060": "CT",
                "0008|0016": "1.2.840.10008.5.1.4.1.1.2",
                "0008|0018": f"{uid}.{z + 1}",
                "0020|000d": "1.2.3",
                "0020|000e": uid,
                "0020|0013": str(number),
                "0020|0032": "\\".join(map(str, place)),
                "0020|0037": "1\\0\\0\\0\\1\\0",
                "0018|0050": str(spacing[0]),
                "0028|1052": "-1024",
                "0028|1053": "1",
                **(tags or {}),
            }
            for key, value in header.items():
                image.SetMetaData(key, value)
            writer.SetFileName(str(folder / f"{uid}-{z:03d}.dcm"))
            writer.Execute(image)
        return folder

    return write


def volume_of(hu: np.ndarray[Any, Any], spacing: tuple[float, float, float] | None = (2.0, 1.0, 1.0)) -> Volume:
    values = np.ascontiguousarray(hu.astype(np.int16))
    shape = (values.shape[0], values.shape[1], values.shape[2])
    return Volume(values, Grid(shape, spacing), True, check(values))
