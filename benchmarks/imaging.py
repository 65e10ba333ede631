"""Imaging: views, projections and loading against their floors on 512 x 512 x 300 voxels.

    python -m benchmarks.imaging                 100 turns, 3 of the slow ones (about a minute)
    python -m benchmarks.imaging --turns 20

The floor of a view is what no implementation can avoid: reading the voxels once (a projection), or encoding the PNG (a
slice). The floor of loading is SimpleITK's own ReadImage. Ours and the floor take turns in one process; the best of
each counts, because a neighbour on the machine only ever adds time.
"""

from __future__ import annotations

import argparse
import io
import json
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import SimpleITK as sitk
from PIL import Image
from slicewise.data.phantom.chest import chest_grid, make_chest
from slicewise.imaging import hounsfield, load, render, sheets, views, windows
from slicewise.imaging.volume import Volume

from benchmarks.arms import RESULTS, machine

SHAPE = (300, 512, 512)
WINDOW = windows.PRESETS["soft_tissue"]


@dataclass(frozen=True)
class Case:
    """One operation.

    Attributes:
        name: What it does.
        ours: Does it.
        floor: Does what cannot be avoided.
        floor_name: What that is.
        most_ms: The promise in ms, or ``None``.
        most_ratio: The promise as a multiple of the floor, or ``None``.
        slow: Run a few turns only.
    """

    name: str
    ours: Callable[[], Any]
    floor: Callable[[], Any] | None
    floor_name: str
    most_ms: float | None = None
    most_ratio: float | None = None
    slow: bool = False


def png(values: np.ndarray[Any, Any]) -> bytes:
    """The PNG of a gray plane, level 1."""
    buffer = io.BytesIO()
    Image.fromarray(values).save(buffer, "PNG", compress_level=1)
    return buffer.getvalue()


def picture(view: views.View) -> render.Picture:
    """A view as the tools show it."""
    canvas = render.Canvas(view, WINDOW)
    canvas.annotate("caption")
    return canvas.picture()


def cases(volume: Volume, straight: Path, turned: Path) -> list[Case]:
    """All operations on one volume."""
    hu = volume.hu
    gray = windows.apply(hu[150], WINDOW)
    found = [
        Case("slice with PNG", lambda: picture(views.slice_view(volume, "axial", 150)), lambda: png(gray),
             "PNG, level 1", 15.0, 2.0),
        Case("slice, pixels only", lambda: windows.apply(views.slice_view(volume, "axial", 150).values, WINDOW),
             None, "", 1.0),
    ]  # fmt: skip
    planes: tuple[views.Plane, ...] = ("axial", "coronal", "sagittal")
    for axis, plane in enumerate(planes):
        count = hu.shape[axis]
        found.append(
            Case(f"MIP {plane}", lambda p=plane, n=count: views.project(volume, p, (0, n), "max"),  # type: ignore[misc]
                 lambda a=axis: hu.max(axis=a), "one pass", 20.0, 2.0)  # type: ignore[misc]
        )  # fmt: skip
    found += [
        Case("average, coronal", lambda: views.project(volume, "coronal", (0, 512), "mean"),
             lambda: np.add.reduce(hu, axis=1, dtype=np.int32), "one pass of sums", None, 2.0),
        Case("MIP coronal with PNG", lambda: picture(views.project(volume, "coronal", (0, 512), "max")), None, ""),
        Case("three planes, 1024 px", lambda: sheets.ortho(volume, (150, 256, 256), WINDOW, 1024), None, ""),
        Case("montage of 20, 1024 px",
             lambda: sheets.montage(volume, "axial", views.spread(0, 299, 20), WINDOW, 1024), None, ""),
        Case("HU distribution, all voxels", lambda: hounsfield.distribution(hu), None, "", slow=True),
        Case("load .nii.gz", lambda: load.load(straight), lambda: sitk.ReadImage(str(straight)), "SimpleITK ReadImage",
             None, 1.5, slow=True),
        Case("load .nii.gz stored as RAS", lambda: load.load(turned), lambda: sitk.ReadImage(str(turned)),
             "SimpleITK ReadImage", slow=True),
        Case("load and identify (SHA-256)", lambda: load.load(straight).sha256,
             lambda: sitk.ReadImage(str(straight)), "SimpleITK ReadImage", slow=True),
    ]  # fmt: skip
    return found


def measure(case: Case, turns: int) -> dict[str, Any]:
    """Best ms of ours and of the floor, taking turns."""
    best: dict[str, float] = {}
    for _ in range(min(turns, 3) if case.slow else turns):
        for name, work in (("ours", case.ours), ("floor", case.floor)):
            if work is not None:
                begun = time.perf_counter()
                work()
                best[name] = min(best.get(name, float("inf")), 1000 * (time.perf_counter() - begun))
    ratio = best["ours"] / best["floor"] if "floor" in best else None
    kept = (case.most_ms is None or best["ours"] <= case.most_ms) and (
        case.most_ratio is None or ratio is None or ratio <= case.most_ratio
    )
    promise = [f"{case.most_ms:g} ms"] if case.most_ms else []
    promise += [f"{case.most_ratio:g} x floor"] if case.most_ratio else []
    return {
        "operation": case.name,
        "ms": round(best["ours"], 2),
        "floor": case.floor_name,
        "floor_ms": round(best["floor"], 2) if "floor" in best else None,
        "ratio": None if ratio is None else round(ratio, 2),
        "promise": ", ".join(promise),
        "kept": kept if promise else None,
    }


def write(rows: list[dict[str, Any]], about: dict[str, Any]) -> None:
    """Write ``results/bench/imaging.{md,json}`` and print the former."""
    title = f"Imaging: {' x '.join(map(str, SHAPE))} voxels int16, best of several turns"
    lines = [f"# {title}", "", ", ".join(f"{key} {value}" for key, value in about.items()), ""]
    lines += ["| operation | ms | floor | floor ms | ratio | promise | kept |", "|---|---:|---|---:|---:|---|---|"]
    for row in rows:
        cells = [row[key] for key in ("operation", "ms", "floor", "floor_ms", "ratio", "promise")]
        kept = {True: "yes", False: "NO", None: ""}[row["kept"]]
        lines.append("| " + " | ".join("" if cell is None else str(cell) for cell in (*cells, kept)) + " |")
    RESULTS.mkdir(parents=True, exist_ok=True)
    record = {"title": title, "about": about, "rows": rows}
    (RESULTS / "imaging.json").write_text(json.dumps(record, indent=1) + "\n", encoding="utf-8")
    (RESULTS / "imaging.md").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print("\n".join(lines))


def gate(volume: Volume, other: Volume) -> None:
    """Correctness first: projections equal numpy, and both files give the same volume."""
    for axis, plane in enumerate(views.AXIS):
        shown = views.project(volume, plane, (0, volume.hu.shape[axis]), "max").values
        if not np.array_equal(shown, views.oriented(volume.hu.max(axis=axis), plane)):
            raise SystemExit(f"correctness gate: the {plane} projection differs from numpy")
    if volume.sha256 != other.sha256:
        raise SystemExit("correctness gate: the same scan stored as LPS and as RAS differs")


def main() -> None:
    """Make the volume, check, measure, write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--turns", type=int, default=100)
    turns = parser.parse_args().turns
    chest = make_chest(1, shape=SHAPE, spacing=(1.0, 0.7, 0.7), noise_hu=12.0)
    with tempfile.TemporaryDirectory() as folder:
        straight, turned = Path(folder) / "lps.nii.gz", Path(folder) / "ras.nii.gz"
        load.save(straight, chest.hu, chest_grid(chest))
        sitk.WriteImage(sitk.DICOMOrient(sitk.ReadImage(str(straight)), "RAS"), str(turned), useCompression=True)
        volume = load.load(straight)
        gate(volume, load.load(turned))
        rows = [measure(case, turns) for case in cases(volume, straight, turned)]
    write(rows, machine(["numpy", "pillow", "simpleitk"]))


if __name__ == "__main__":
    main()
