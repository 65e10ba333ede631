"""Every tool on a real de-identified abdominal CT series, without error."""

from __future__ import annotations

from pathlib import Path

from .conftest import Desk


def test_every_tool_works_on_a_real_series(real_series: Path) -> None:
    desk = Desk(real_series.parent)
    try:
        loaded = desk.ok("load_data", path=real_series.name)
        volume = loaded["volume_id"]
        assert loaded["is_hu"]
        assert not loaded["hu_check"]["suspect"]
        assert loaded["hu_min"] >= -1100
        facts = desk.ok("inspect_metadata", volume_id=volume)
        assert facts["modality"] == "CT"
        assert not set(facts) & {"PatientName", "PatientID", "StudyDate", "path"}
        segmented = desk.ok("segment_total_anatomy", volume_id=volume)
        mask, labels = segmented["mask_id"], segmented["labels"]
        bone = labels["bone"]
        for tool in ("view_montage", "view_mip", "view_minip", "view_avgip", "view_slice", "view_ortho"):
            assert desk.ok(tool, volume_id=volume)["image"]["width"] <= 1024
        desk.ok("inspect_mask_labels", mask_id=mask)
        desk.ok("measure_distance", volume_id=volume, p1=[1, 10, 10], p2=[1, 50, 40])
        assert desk.ok("measure_max_diameter", mask_id=mask, label=bone)["long_mm"] > 30
        desk.ok("find_organ_center", mask_id=mask, label=bone)
        lung = labels.get("lung_right", bone)
        desk.ok("extract_vessel_centerline", mask_id=mask, label=lung)
        assert 0 < desk.ok("auto_crop_body", volume_id=volume)["removed_fraction"] < 1
        desk.ok("edit_geometry", id=volume, op="resample_iso", value_mm=4.0)
        fat = desk.ok("analyze_hu_distribution", volume_id=volume, mask_id=mask, label=labels["fat"])
        assert -120 < fat["mean"] < -50
        desk.ok("analyze_shape_properties", mask_id=mask, label=lung)
        desk.ok("extract_radiomics_signature", volume_id=volume, mask_id=mask, label=lung)
        desk.ok("visualize_radiomics_chart", volume_id=volume, mask_id=mask, label=lung)
        desk.ok("analyze_lesion_texture", volume_id=volume, mask_id=mask, label=lung)
        desk.ok("search_anatomy_names", query="liver")
        desk.ok("list_window_presets")
    finally:
        desk.close()
