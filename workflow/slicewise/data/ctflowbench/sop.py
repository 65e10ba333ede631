"""Which tools verify a fact, in the order in which a reader would use them: the gold trajectory of an item."""

from __future__ import annotations

from slicewise.benchmarks.ct import class_of

START = ("load_data", "load_mask")
VERIFY: dict[str, tuple[str, ...]] = {
    "diameter": ("measure_max_diameter",),
    "volume": ("analyze_shape_properties",),
    "density": ("analyze_hu_distribution",),
    "place": ("find_organ_center", "segment_total_anatomy", "find_organ_center", "find_organ_center"),
    "distance": ("find_organ_center", "find_organ_center", "measure_distance"),
    "height": ("inspect_mask_labels",),
    "nature": ("analyze_hu_distribution", "view_slice"),
    "measurable": ("measure_max_diameter",),
    "band": ("measure_max_diameter",),
}
WITHOUT_MASK: dict[str, tuple[str, ...]] = {
    "diameter": ("view_slice", "view_ortho", "measure_distance"),
    "density": ("view_slice",),
    "place": ("view_montage", "view_slice", "view_ortho"),
    "nature": ("view_slice", "view_ortho"),
    "measurable": ("view_slice", "view_ortho", "measure_distance"),
    "band": ("view_slice", "view_ortho", "measure_distance"),
}


def sop(aspect: str, *, marked: bool) -> tuple[str, ...]:
    """The gold order of tools for an aspect of a fact.

    Args:
        aspect: What is asked about the fact, such as ``diameter``.
        marked: Whether a label file marks the region; else it must be found by eye.
    """
    tools = (*START, *VERIFY[aspect]) if marked else (START[0], *WITHOUT_MASK[aspect])
    if not all(class_of(tool) for tool in tools):
        raise ValueError(f"the gold order of '{aspect}' names a tool that does not exist: {tools}")
    return tools
