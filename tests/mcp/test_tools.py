"""All 24 tools on a phantom whose every number is known."""

from __future__ import annotations

import base64
import hashlib
import io
import json
import math
from typing import Any

import numpy as np
import pytest
from PIL import Image
from slicewise.mcp.server import TOOLS

from .conftest import Desk, World, talk

NAMES = [
    "load_data", "load_mask", "inspect_metadata", "inspect_mask_labels", "search_anatomy_names", "list_window_presets",
    "view_montage", "view_mip", "view_minip", "view_avgip", "view_slice", "view_ortho", "measure_distance",
    "measure_max_diameter", "find_organ_center", "extract_vessel_centerline", "auto_crop_body", "edit_geometry",
    "segment_total_anatomy", "analyze_hu_distribution", "analyze_shape_properties", "extract_radiomics_signature",
    "visualize_radiomics_chart", "analyze_lesion_texture",
]  # fmt: skip


def picture_of(result: Any) -> np.ndarray[Any, Any]:
    """The one picture of a result; its digest is that of the structured content."""
    (image,) = [block for block in result.content if block.type == "image"]
    opened = Image.open(io.BytesIO(base64.b64decode(image.data)))
    pixels = np.asarray(opened)
    digest = hashlib.sha256(f"{opened.mode}|{opened.size}|".encode() + pixels.tobytes()).hexdigest()
    assert digest == result.structured_content["image"]["pixels_sha256"]
    assert max(opened.size) <= 1030
    return pixels


def nodule(world: World) -> Any:
    return max((fact for fact in world.chest.facts if fact.kind == "nodule"), key=lambda fact: fact.volume_ml)


def test_the_24_tools_have_their_names_and_strict_schemas(world: World, desk: Desk) -> None:
    tools = desk.loop.run_until_complete(desk.client.list_tools())
    assert [tool.name for tool in tools] == NAMES
    assert [name for names in TOOLS.values() for name in names] == NAMES
    for tool in tools:
        assert tool.input_schema["additionalProperties"] is False
        assert tool.description
        for field in tool.input_schema["properties"].values():
            assert field["description"]


def test_load_and_inspect(world: World, desk: Desk, volume_id: str, mask_id: str) -> None:
    loaded = desk.ok("load_data", path="chest.nii.gz")
    hu = world.chest.hu
    assert loaded["volume_id"] == volume_id
    assert loaded["shape_zyx"] == list(hu.shape)
    assert loaded["spacing_mm"] == list(world.chest.spacing)
    assert (loaded["hu_min"], loaded["hu_max"]) == (hu.min(), hu.max())
    assert loaded["hu_check"]["air_peak"] == -1000
    facts = desk.ok("inspect_metadata", volume_id=volume_id)
    assert facts["fov_mm"] == {"z": 224.0, "y": 336.0, "x": 336.0}
    assert facts["z_range_mm"] == [1.75, 222.25]
    assert set(desk.ok("inspect_metadata", volume_id=volume_id, fields=["modality"])) == {"volume_id", "modality"}
    assert "E_NOT_FOUND" in desk.error("inspect_metadata", volume_id=volume_id, fields=["PatientName"])
    labels = {one["id"]: one for one in desk.ok("inspect_mask_labels", mask_id=mask_id)["labels"]}
    for fact in world.chest.facts:
        found = labels[world.label(fact.mask)]
        assert found["volume_ml"] == pytest.approx(fact.volume_ml, abs=1e-5)
        if fact.kind == "nodule":
            assert math.dist(found["centroid"], fact.centre_zyx) < 0.5
            assert found["components"] == 1


def test_names_and_presets(desk: Desk) -> None:
    best = desk.ok("search_anatomy_names", query="left lung")["matches"][0]
    assert (best["name"], best["available_backend"]) == ("lung_left", "heuristic")
    assert desk.ok("search_anatomy_names", query="qqqq")["matches"] == []
    presets = {one["name"]: (one["window"], one["level"]) for one in desk.ok("list_window_presets")["presets"]}
    assert presets["lung"] == (1500, -600)
    assert presets["soft_tissue"] == (400, 40)
    assert presets["bone"] == (2000, 500)


def test_views(world: World, desk: Desk, volume_id: str, mask_id: str) -> None:
    montage = desk.call("view_montage", volume_id=volume_id, n=9, range=[10, 50], mask_id=mask_id)
    assert montage.structured_content["indices"] == [10, 15, 20, 25, 30, 35, 40, 45, 50]
    assert picture_of(montage).ndim == 3
    for tool in ("view_mip", "view_minip", "view_avgip"):
        result = desk.call(tool, volume_id=volume_id, thickness_mm=30.0, center=56)
        assert result.structured_content["slab"] == [52, 61]
        assert result.structured_content["thickness_mm"] == 30.0
        assert picture_of(result).ndim == 2
    assert desk.ok("view_mip", volume_id=volume_id)["slab"] == [0, 111]
    at = [round(n) for n in nodule(world).centre_zyx]
    one = desk.call("view_slice", volume_id=volume_id, index=at[0], preset="lung")
    plane = world.chest.hu[at[0]]
    assert one.structured_content["hu"]["mean"] == pytest.approx(plane.mean(), abs=1e-5)
    assert one.structured_content["hu"]["max"] == plane.max()
    # The pixel over the middle of the nodule is as bright as its density says.
    matrix = np.asarray(one.structured_content["image"]["pixel_to_voxel"])
    column, row = (at[2] - matrix[2, 2]) / matrix[2, 0], (at[1] - matrix[1, 2]) / matrix[1, 1]
    expected = (nodule(world).hu + 1350) * 255 / 1500
    assert picture_of(one)[round(row), round(column)] == pytest.approx(expected, abs=1)
    same = desk.ok("view_slice", volume_id=volume_id, position_mm=1.75 + 3.5 * at[0] + 1.0, preset="lung")
    assert same["index"] == at[0]
    assert same["image"] == one.structured_content["image"]
    part = desk.call("view_slice", volume_id=volume_id, index=at[0], roi=[at[1] - 6, at[2] - 6, at[1] + 6, at[2] + 6])
    assert (
        part.structured_content["hu"]["max"]
        == world.chest.hu[at[0], at[1] - 6 : at[1] + 6, at[2] - 6 : at[2] + 6].max()
    )
    ortho = desk.call("view_ortho", volume_id=volume_id, center=at)
    assert ortho.structured_content["indices"] == {"axial": at[0], "coronal": at[1], "sagittal": at[2]}
    assert picture_of(ortho).shape[1] == pytest.approx(1024, abs=4)


def test_sizes(world: World, desk: Desk, volume_id: str, mask_id: str) -> None:
    line = desk.call("measure_distance", volume_id=volume_id, p1=[30, 20, 20], p2=[30, 60, 50])
    assert line.structured_content["distance_mm"] == pytest.approx(150.0)  # 40 x 3 and 30 x 3 mm
    assert picture_of(line).ndim == 3
    loose = desk.call("measure_distance", volume_id=volume_id, p1=[1.0, 2.0, 3.0], p2=[4.0, 6.0, 8.0])
    assert len(loose.content) == 1
    for fact in world.chest.facts:
        if fact.kind != "nodule":
            continue
        label = world.label(fact.mask)
        found = desk.ok("measure_max_diameter", mask_id=mask_id, label=label)
        assert found["resolution_mm"] == 3.0
        assert abs(found["long_mm"] - fact.diameter_mm) <= 3.0
        assert abs(found["slice"] - fact.centre_zyx[0]) <= 1
        solid = desk.ok("measure_max_diameter", mask_id=mask_id, label=label, mode="3d")
        assert fact.diameter_mm - 2 * 3.5 <= solid["long_mm"] <= fact.diameter_mm + 1e-6
        centre = desk.ok("find_organ_center", mask_id=mask_id, label=label)
        assert math.dist(centre["centroid_zyx"], fact.centre_zyx) < 0.5
        assert centre["inside"]
    lung = desk.ok("find_organ_center", volume_id=volume_id, name="lung_left")
    truth = np.argwhere(world.chest.masks["lung_left"]).mean(axis=0)
    assert math.dist(lung["centroid_zyx"], truth) < 1
    assert lung["centroid_lps_mm"][0] > 0  # the patient's left


def test_the_trachea_and_bronchi_have_the_length_they_were_built_with(
    world: World, desk: Desk, volume_id: str, mask_id: str
) -> None:
    height = 64 * 3.5
    carina = np.asarray([0.0, 2.0, 0.62 * height])
    top = np.asarray([0.0, -4.0, height + 20])
    inside = carina + (top - carina) * ((height - carina[2]) / (top[2] - carina[2]))
    expected = float(np.linalg.norm(inside - carina)) + math.dist(carina, (42.0, 6.0, 0.5 * height))
    result = desk.call("extract_vessel_centerline", mask_id=mask_id, label=world.label("airway"))
    found = result.structured_content
    # The cut at the top of the volume is a flat end: the path ends a radius below it.
    assert found["length_mm"] == pytest.approx(expected - 9.0, rel=0.06)
    assert 5 < found["radius_mm"]["mean"] < 10
    assert picture_of(result).ndim == 3


def test_geometry(world: World, desk: Desk, volume_id: str, mask_id: str) -> None:
    cropped = desk.ok("auto_crop_body", volume_id=volume_id)
    z, y, x = (slice(*pair) for pair in cropped["bbox"])
    assert np.count_nonzero(world.chest.masks["body"][z, y, x]) == np.count_nonzero(world.chest.masks["body"])
    assert cropped["removed_fraction"] == pytest.approx(1 - math.prod(cropped["shape_zyx"]) / world.chest.hu.size)
    even = desk.ok("edit_geometry", id=volume_id, op="resample_iso", value_mm=4.0)
    assert even["after"]["spacing_mm"] == [4.0, 4.0, 4.0]
    assert even["before"]["shape_zyx"] == [64, 112, 112]
    part = desk.ok("edit_geometry", id=mask_id, op="crop", bbox_zyx=[[0, 10], [0, 112], [0, 112]])
    assert part["after"]["shape_zyx"] == [10, 112, 112]
    grown = desk.ok("edit_geometry", id=mask_id, op="dilate", value_mm=4.0)
    label = str(world.label(nodule(world).mask))
    assert grown["after"]["labels"][label] >= grown["before"]["labels"][label]
    assert "E_FORMAT" in desk.error("edit_geometry", id=volume_id, op="dilate", value_mm=4.0)
    assert "E_FORMAT" in desk.error("edit_geometry", id=volume_id, op="crop")
    assert "E_LIMIT" in desk.error("edit_geometry", id=volume_id, op="resample_iso", value_mm=0.01)


def test_segmentation_is_honest(world: World, desk: Desk, volume_id: str) -> None:
    result = desk.call("segment_total_anatomy", volume_id=volume_id)
    found = result.structured_content
    assert found["backend"] == "heuristic"
    assert "heuristic" in found["quality_note"]
    assert picture_of(result).ndim == 3
    listed = {one["name"]: one for one in desk.ok("inspect_mask_labels", mask_id=found["mask_id"])["labels"]}
    voxel = math.prod(world.chest.spacing) / 1000
    for name in ("lung_left", "lung_right", "bone"):
        truth = np.count_nonzero(world.chest.masks[name]) * voxel
        assert listed[name]["volume_ml"] == pytest.approx(truth, rel=0.02)
    for name, prefix in (("liver", "E_BACKEND_UNAVAILABLE"), ("liverr", "E_UNKNOWN_ANATOMY")):
        assert desk.error("segment_total_anatomy", volume_id=volume_id, names=[name]).startswith(prefix)
    assert desk.error("segment_total_anatomy", volume_id=volume_id, backend="totalsegmentator").startswith("E_BACKEND")


def test_analysis(world: World, desk: Desk, volume_id: str, mask_id: str) -> None:
    for fact in world.chest.facts:
        label = world.label(fact.mask)
        inside = world.chest.hu[world.chest.masks[fact.mask]]
        found = desk.ok("analyze_hu_distribution", volume_id=volume_id, mask_id=mask_id, label=label)
        assert (found["n"], found["min"], found["max"]) == (inside.size, inside.min(), inside.max())
        assert found["mean"] == pytest.approx(fact.hu)  # no noise: exact
    big = nodule(world)
    label = world.label(big.mask)
    shape = desk.ok("analyze_shape_properties", mask_id=mask_id, label=label)
    assert shape["voxel_volume_ml"] == pytest.approx(big.volume_ml, abs=1e-5)
    assert shape["mesh_volume_ml"] == pytest.approx(big.volume_ml, rel=0.06)  # a mesh cuts the corners of few voxels
    lung = world.chest.masks["lung_left"]
    mesh = desk.ok("analyze_shape_properties", mask_id=mask_id, label=world.label("lung_left"))
    assert mesh["voxel_volume_ml"] == pytest.approx(np.count_nonzero(lung) * 0.0315, abs=1e-3)
    assert mesh["mesh_volume_ml"] == pytest.approx(mesh["voxel_volume_ml"], rel=0.02)
    signature = desk.ok("extract_radiomics_signature", volume_id=volume_id, mask_id=mask_id, label=label)
    assert signature["features"]["stat_mean"] == big.hu
    assert set(signature["ibsi_ids"]) == set(signature["features"])
    assert "only 1 grey levels" in signature["warnings"][0]
    bars = desk.call(
        "visualize_radiomics_chart", signature=signature["features"], features=["stat_mean", "morph_volume"]
    )
    assert bars.structured_content["values"]["stat_mean"] == big.hu
    picture_of(bars)
    picture_of(desk.call("visualize_radiomics_chart", volume_id=volume_id, mask_id=mask_id, label=label, kind="radar"))
    texture = desk.call("analyze_lesion_texture", volume_id=volume_id, mask_id=mask_id, label=label)
    assert texture.structured_content["rim_mean_hu"] == big.hu
    assert texture.structured_content["entropy"] == 0
    picture_of(texture)


def test_text_repeats_the_numbers_and_results_repeat_to_the_byte(world: World, desk: Desk, volume_id: str) -> None:
    first = desk.call("view_slice", volume_id=volume_id, index=3)
    summary, _, numbers = first.content[0].text.partition("\n")
    assert summary == "axial slice 3, soft_tissue window."
    assert json.loads(numbers) == first.structured_content

    async def session(client: Any) -> Any:
        loaded = await client.call_tool("load_data", {"path": "chest.nii.gz"})
        return await client.call_tool("view_slice", {"volume_id": loaded.structured_content["volume_id"], "index": 3})

    from slicewise.mcp.server import build

    again = talk(build(world.root), session)
    assert again.structured_content == first.structured_content
    assert again.content[1].data == first.content[1].data


def test_suites_can_be_switched_off(world: World) -> None:
    from slicewise.mcp.server import build

    async def names(client: Any) -> list[str]:
        return [tool.name for tool in await client.list_tools()]

    assert talk(build(world.root, ["analytics"]), names) == [*TOOLS["ingestion"], *TOOLS["analytics"]]
    assert talk(build(world.root, []), names) == list(TOOLS["ingestion"])
