"""CT-Flow (arXiv 2603.00123) and 3D-RAD: tools by class, benchmarks, tasks, columns, and which metric applies."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from slicewise.errors import UserError, did_you_mean

# Table 3 of the paper: class -> tools. Class 1 is always on; 2, 3 and 4 are what the ablations switch off.
TOOL_CLASSES: dict[int, tuple[str, ...]] = {
    1: (
        "load_data", "load_mask", "inspect_metadata", "inspect_mask_labels", "search_anatomy_names",
        "list_window_presets",
    ),
    2: ("view_montage", "view_mip", "view_minip", "view_avgip"),
    3: (
        "view_slice", "view_ortho", "measure_distance", "measure_max_diameter", "find_organ_center",
        "extract_vessel_centerline", "auto_crop_body", "edit_geometry",
    ),
    4: (
        "segment_total_anatomy", "analyze_hu_distribution", "analyze_shape_properties",
        "extract_radiomics_signature", "visualize_radiomics_chart", "analyze_lesion_texture",
    ),
}  # fmt: skip
CLASS_NAMES = {1: "Data ingestion", 2: "Global observation", 3: "Detailed measurement", 4: "Advanced analytics"}
TOOLS = tuple(name for names in TOOL_CLASSES.values() for name in names)

Family = Literal["ctflowbench", "rad3d"]
SCENARIOS = {"qa": "QA", "sm": "SM", "di": "DI"}
SCENARIO_TITLES = {"qa": "Quantitative analysis", "sm": "Spatial mapping", "di": "Diagnostic inference"}
RAD3D_TASKS = ("t1", "t2", "t3", "t4", "t5", "t6")
RAD3D_OPEN = ("t1", "t2", "t3")
RAD3D_CLOSED = ("t4", "t5", "t6")
RAD3D_TITLES = {
    "t1": "Medical image observation",
    "t2": "Anomaly detection",
    "t3": "Medical computation",
    "t4": "Existence detection",
    "t5": "Static temporal diagnosis",
    "t6": "Longitudinal temporal diagnosis",
}


@dataclass(frozen=True, slots=True)
class CtBenchmark:
    """A CT benchmark id and what it stands for."""

    id: str
    family: Family
    source: Literal["phantom", "ct-rate", "rad3d"]
    sampling: Literal["released", "balanced"] | None = None

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics of its items."""
        return METRICS[self.family]


METRICS: dict[Family, tuple[str, ...]] = {
    "ctflowbench": ("choice", "tool_use"),
    "rad3d": ("choice", "ct_text", "bertscore", "judge", "tool_use"),
}
CT_METRICS = ("choice", "ct_text", "tool_use")

CT_BENCHMARKS: dict[str, CtBenchmark] = {
    b.id: b
    for b in (
        CtBenchmark("ctflowbench-demo", "ctflowbench", "phantom"),
        CtBenchmark("ctflowbench", "ctflowbench", "ct-rate"),
        CtBenchmark("rad3d-released", "rad3d", "rad3d", "released"),
        CtBenchmark("rad3d-balanced", "rad3d", "rad3d", "balanced"),
    )
}


def is_ct(benchmark_id: str) -> bool:
    """Whether the id names a CT benchmark."""
    return benchmark_id in CT_BENCHMARKS


def ct_benchmark(benchmark_id: str) -> CtBenchmark:
    """The CT benchmark of that id.

    Raises:
        UserError: No CT benchmark has the id.
    """
    if benchmark_id not in CT_BENCHMARKS:
        raise UserError(
            f"benchmark '{benchmark_id}' is unknown; expected one of {sorted(CT_BENCHMARKS)}."
            f"{did_you_mean(benchmark_id, CT_BENCHMARKS)}"
        )
    return CT_BENCHMARKS[benchmark_id]


def class_of(tool: str) -> int | None:
    """The class of a tool, or ``None`` for a tool that the paper does not have."""
    return next((number for number, names in TOOL_CLASSES.items() if tool in names), None)


_VOLUME = re.compile(r"(?P<scan>(?P<patient>(?P<split>[a-z]+)_\d+)_[a-z]+)_\d+")


def patient_of(volume_id: str) -> str:
    """The patient of a volume named as in CT-RATE (``valid_12_a_1``); intervals are clustered by it."""
    match = _VOLUME.fullmatch(volume_id)
    return match["patient"] if match else volume_id


def places(volume_id: str) -> list[str]:
    """Where a volume may lie below the data root: flat, as CT-RATE lays it out, or preprocessed."""
    found = [f"volumes/{volume_id}.nii.gz"]
    match = _VOLUME.fullmatch(volume_id)
    if match:
        found += [
            f"{top}{match['split']}{suffix}/{match['patient']}/{match['scan']}/{volume_id}.nii.gz"
            for top in ("dataset/", "")
            for suffix in ("_fixed", "")
        ]
    return [*found, f"volumes/{volume_id}.npy"]


SOP_ARROW = " > "


def write_sop(tools: tuple[str, ...]) -> str:
    """The gold order of tools as the items of CT-FlowBench carry it in ``reasoning``."""
    return SOP_ARROW.join(tools)


def read_sop(reasoning: str | None) -> tuple[str, ...]:
    """The gold order of tools of an item; empty when its ``reasoning`` is something else."""
    found = tuple((reasoning or "").split(SOP_ARROW))
    return found if found and all(class_of(name) for name in found) else ()
