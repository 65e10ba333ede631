"""Bad input of every kind: a stable error, the server alive, nothing outside the root, memory bounded."""

from __future__ import annotations

import asyncio
import gzip
import os
import resource
import struct
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from slicewise.errors import UserError
from slicewise.imaging.limits import Limits
from slicewise.imaging.volume import Mask
from slicewise.mcp.analytics import Analytics
from slicewise.mcp.server import build, serve_http
from slicewise.mcp.workspace import Workspace

from .conftest import Desk, World


@pytest.fixture
def secret(tmp_path: Path) -> Path:
    """A root with links out of it and a volume beside it."""
    root = tmp_path / "root"
    (root / "case" / "deep").mkdir(parents=True)
    np.save(tmp_path / "secret.npy", np.arange(1000, dtype=np.int16).reshape(10, 10, 10) - 1000)
    np.save(root / "case" / "deep" / "ct.npy", np.arange(1000, dtype=np.int16).reshape(10, 10, 10) - 1000)
    os.symlink(tmp_path / "secret.npy", root / "link.npy")
    os.symlink(tmp_path, root / "out")
    (root / "series").mkdir()
    os.symlink(tmp_path / "secret.npy", root / "series" / "a.dcm")
    os.mkfifo(root / "pipe.npy")
    return root


@pytest.mark.parametrize(
    "path",
    [
        "../secret.npy", "case/../../secret.npy", "link.npy", "out/secret.npy", "out", "series", "/etc/passwd",
        "~/secret.npy", "..\\secret.npy", "case\\deep", "a\0b", "", "x" * 5000, "pipe.npy", "case/none.npy",
        "file:///etc/passwd",
    ],
)  # fmt: skip
def test_nothing_outside_the_root_is_read(secret: Path, path: str) -> None:
    desk = Desk(secret)
    try:
        text = desk.error("load_data", path=path)
        assert text.startswith("E_NOT_FOUND: ")
        assert str(secret.parent) not in text
        assert desk.ok("load_data", path="case/deep/ct.npy")["shape_zyx"] == [10, 10, 10]
    finally:
        desk.close()


def test_bombs_and_giants_are_refused_without_memory(tmp_path: Path) -> None:
    head = bytearray(352)
    head[0:4] = struct.pack("<i", 348)
    head[40:56] = struct.pack("<8h", 3, 1000, 1000, 1000, 1, 1, 1, 1)
    head[70:74] = struct.pack("<2h", 4, 16)
    head[76:108] = struct.pack("<8f", *[1.0] * 8)
    head[108:112] = struct.pack("<f", 352.0)
    head[344:348] = b"n+1\0"
    (tmp_path / "bomb.nii.gz").write_bytes(gzip.compress(bytes(head) + bytes(2 * 10**7)))
    small = bytearray(head)
    small[40:56] = struct.pack("<8h", 3, 4, 4, 4, 1, 1, 1, 1)
    (tmp_path / "tail.nii.gz").write_bytes(gzip.compress(bytes(small) + bytes(range(128)) + bytes(5 * 10**7)))
    desk = Desk(tmp_path)
    try:
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        assert desk.error("load_data", path="bomb.nii.gz").startswith("E_LIMIT: ")
        assert desk.ok("load_data", path="tail.nii.gz")["shape_zyx"] == [4, 4, 4]  # what follows is never unpacked
        assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 60_000  # KiB
    finally:
        desk.close()


@pytest.mark.parametrize(
    ("tool", "arguments", "prefix"),
    [
        ("view_slice", {"index": 10**9}, "E_BAD_INDEX"),
        ("view_slice", {"index": -1}, "E_BAD_INDEX"),
        ("view_slice", {"position_mm": 1e300}, "E_BAD_INDEX"),
        ("view_slice", {"index": 1, "position_mm": 1.0}, "E_BAD_INDEX"),
        ("view_slice", {"index": 1, "size_px": 10**6}, "E_LIMIT"),
        ("view_slice", {"index": 1, "roi": [0, 0, 0, 0]}, "E_BAD_INDEX"),
        ("view_slice", {"index": 1, "window": -5.0, "level": 0.0}, "E_BAD_WINDOW"),
        ("view_slice", {"index": 1, "preset": "lungs"}, "E_BAD_WINDOW"),
        ("view_slice", {"index": 1, "mask_id": "mask-0"}, "E_NOT_LOADED"),
        ("view_montage", {"range": [5, 2]}, "E_BAD_INDEX"),
        ("view_mip", {"slab": [0, 10**6]}, "E_BAD_INDEX"),
        ("view_mip", {"slab": [0, 3], "thickness_mm": 3.0}, "E_FORMAT"),
        ("view_ortho", {"center": [0, 0, 10**6]}, "E_BAD_INDEX"),
        ("measure_distance", {"p1": [0, 0, 0], "p2": [0, 0, 10**9]}, "E_BAD_INDEX"),
        ("edit_geometry", {"op": "resample_iso", "value_mm": 0.05}, "E_LIMIT"),
        ("edit_geometry", {"op": "resample_iso", "value_mm": -1.0}, "E_LIMIT"),
        ("edit_geometry", {"op": "crop", "bbox_zyx": [[0, 10**6], [0, 1], [0, 1]]}, "E_BAD_INDEX"),
        ("edit_geometry", {"op": "flip"}, "E_FORMAT"),
        ("analyze_hu_distribution", {"range": [5, 5]}, "E_BAD_WINDOW"),
        ("analyze_hu_distribution", {"mask_id": "mask-0"}, "E_NOT_LOADED"),
        ("visualize_radiomics_chart", {}, "E_FORMAT"),
        ("find_organ_center", {}, "E_FORMAT"),
    ],
)
def test_bad_requests_give_stable_errors(
    desk: Desk, volume_id: str, tool: str, arguments: dict[str, Any], prefix: str
) -> None:
    key = "id" if tool == "edit_geometry" else "volume_id"
    assert desk.error(tool, **{key: volume_id}, **arguments).startswith(f"{prefix}: ")
    assert desk.ok("view_slice", volume_id=volume_id, index=1)["index"] == 1


@pytest.mark.parametrize(
    "arguments",
    [
        {"index": "3"}, {"index": 3.0}, {"index": True}, {"index": 3, "surprise": 1}, {"index": [3]},
        {"index": 3, "plane": "Axial"}, {"index": 3, "roi": [1, 2, 3]},
    ],
)  # fmt: skip
def test_arguments_are_validated_strictly(desk: Desk, volume_id: str, arguments: dict[str, Any]) -> None:
    assert "validation error" in desk.error("view_slice", volume_id=volume_id, **arguments)


def test_whole_numbers_are_fine_where_floats_are_meant(desk: Desk, volume_id: str) -> None:
    assert desk.ok("measure_distance", volume_id=volume_id, p1=[1, 2, 3], p2=[1.5, 2, 3])["distance_mm"] == 1.75


def test_unknown_tools_and_closed_volumes(world: World) -> None:
    desk = Desk(world.root, limits=Limits(max_volumes=2, max_masks=1))
    try:
        assert "Unknown tool" in desk.error("execute_python_code", code="1")
        first = desk.ok("load_data", path="chest.nii.gz")["volume_id"]
        desk.ok("view_slice", volume_id=first, index=1)
        part = desk.ok("auto_crop_body", volume_id=first)["volume_id"]
        desk.ok("view_slice", volume_id=first, index=2)
        desk.ok("edit_geometry", id=first, op="flip", axis="x")
        # The cropped one was used least recently; what was remembered of a closed volume is forgotten with it.
        assert "was closed" in desk.error("view_slice", volume_id=part, index=1)
        desk.ok("edit_geometry", id=first, op="flip", axis="z")
        desk.ok("edit_geometry", id=first, op="flip", axis="y")
        assert desk.ok("load_data", path="chest.nii.gz")["volume_id"] == first
    finally:
        desk.close()


def test_open_volumes_are_bounded_in_bytes(world: World) -> None:
    desk = Desk(world.root, limits=Limits(max_open_bytes=2 * world.chest.hu.nbytes))
    try:
        first = desk.ok("load_data", path="chest.nii.gz")["volume_id"]
        for axis in ("x", "y"):
            desk.ok("edit_geometry", id=first, op="flip", axis=axis)
        found = [desk.call("edit_geometry", id=first, op="flip", axis="z").is_error]
        assert found == [False]
        last = desk.ok("edit_geometry", id=first, op="resample_iso", value_mm=2.0)["id"]  # larger than the bound alone
        assert desk.ok("view_slice", volume_id=last, index=1)["index"] == 1
        assert "was closed" in desk.error("view_slice", volume_id=first, index=1)
    finally:
        desk.close()


def test_many_calls_at_once_are_all_answered(desk: Desk, volume_id: str) -> None:
    async def all_at_once() -> list[int]:
        calls = (desk.client.call_tool("view_slice", {"volume_id": volume_id, "index": z}) for z in range(24))
        return [one.structured_content["index"] for one in await asyncio.gather(*calls)]

    assert desk.loop.run_until_complete(all_at_once()) == list(range(24))


def test_a_call_that_takes_too_long_is_answered_and_the_server_lives(
    world: World, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(self: Analytics, *_: Any, **__: Any) -> None:
        time.sleep(2)

    monkeypatch.setattr(Workspace, "mask", slow)
    desk = Desk(world.root, limits=Limits(seconds=1.0))
    try:
        volume = desk.ok("load_data", path="chest.nii.gz")["volume_id"]
        begun = time.monotonic()
        assert "E_LIMIT: the call took longer than 1 s" in desk.error("inspect_mask_labels", mask_id="mask-1")
        assert time.monotonic() - begun < 1.9
        assert desk.ok("view_slice", volume_id=volume, index=1)["index"] == 1
    finally:
        desk.close()


def test_a_mask_of_another_volume_does_not_pass(world: World, desk: Desk, volume_id: str, mask_id: str) -> None:
    other = desk.ok("auto_crop_body", volume_id=volume_id)["volume_id"]
    for tool, arguments in (
        ("view_slice", {"index": 1}),
        ("analyze_hu_distribution", {}),
        ("extract_radiomics_signature", {}),
    ):
        assert desk.error(tool, volume_id=other, mask_id=mask_id, **arguments).startswith("E_GEOMETRY_MISMATCH: ")
    assert desk.error("load_mask", path="chest-labels.nii.gz", volume_id=other).startswith("E_GEOMETRY_MISMATCH: ")


def test_what_is_no_ct_cannot_be_measured_in_hu(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    np.save(tmp_path / "mr.npy", rng.integers(0, 800, (8, 20, 20)).astype(np.int16))
    desk = Desk(tmp_path)
    try:
        loaded = desk.ok("load_data", path="mr.npy")
        assert loaded["is_hu"] is False
        assert "E_HU_SUSPECT" in loaded["warnings"][0]
        name = loaded["volume_id"]
        assert desk.ok("view_slice", volume_id=name, index=2)["window"]["name"] == "own range"
        assert desk.error("analyze_hu_distribution", volume_id=name).startswith("E_HU_SUSPECT: ")
        assert desk.error("segment_total_anatomy", volume_id=name).startswith("E_HU_SUSPECT: ")
        assert desk.error("measure_distance", volume_id=name, p1=[0, 0, 0], p2=[1, 1, 1]).startswith("E_FORMAT: ")
    finally:
        desk.close()


def test_an_unexpected_fault_shows_no_internals(world: World, desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*_: Any) -> Mask:
        raise RuntimeError(f"internals of {world.root}")

    monkeypatch.setattr(Workspace, "mask", broken)
    text = desk.error("inspect_mask_labels", mask_id="mask-1")
    assert str(world.root) not in text
    assert "internals" not in text


def test_only_this_machine_is_served_over_http(world: World) -> None:
    for host in ("0.0.0.0", "example.org", "192.168.0.1"):  # noqa: S104
        with pytest.raises(UserError, match="not of this machine"):
            serve_http(build(world.root), host, 8765)


def test_a_root_or_suite_that_is_not_there(world: World, tmp_path: Path) -> None:
    with pytest.raises(UserError, match="is no folder"):
        build(tmp_path / "none")
    with pytest.raises(UserError, match="Did you mean 'measurement'"):
        build(world.root, ["measurment"])
