"""A fixed clinical protocol in the agent's place: no language model, only tools and rules.

It shows that the benchmark can be solved with the tools, and what each class of tools is worth to it. It works as a
reader would: load, look at the marked regions, measure what is asked, look once at the place, answer with the option
that lies nearest to what was measured. It reads the question by fixed patterns and gives up, with the first option,
where it does not understand it or a tool is switched off.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from slicewise.infer.agent import protocol
from slicewise.infer.agent.policy import Case, Note
from slicewise.infer.agent.tools import Tool
from slicewise.llm.request import Request

_REGIONS = re.compile(r"\bregions? (?P<first>\d+)(?: and (?P<second>\d+))?", re.IGNORECASE)
_VALUE = re.compile(r"(?P<value>-?\d+(?:\.\d+)?)\s*(?P<unit>mm|mL|HU)\b")
# HU: air, fat, fluid, soft tissue, calcium.
NATURE = ((-2000.0, -300.0, "air"), (-300.0, -25.0, "fat"), (-25.0, 16.0, "fluid"), (16.0, 200.0, "soft-tissue"))
DENSE = "calcification"

Ask = tuple[str, dict[str, Any]]
Numbers = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Chart:
    """What the protocol knows at a point: results by call, in the order of the calls."""

    case: Case
    volume: str
    mask: str
    regions: tuple[int, ...]
    results: tuple[Numbers | None, ...]


@dataclass(frozen=True, slots=True)
class Plan:
    """How one kind of question is answered.

    Attributes:
        pattern: What the question says.
        calls: The calls after loading, from what is known so far; ``None`` when there is nothing more to ask.
        answer: The letter, from all results; ``None`` when they do not tell.
    """

    pattern: re.Pattern[str]
    calls: Callable[[Chart], Ask | None]
    answer: Callable[[Chart], str | None]


class ClinicalProtocol:
    """The policy; it has no memory of its own and reads the conversation anew at every turn."""

    def next(self, case: Case, notes: Sequence[Note], tools: Sequence[Tool]) -> Request | str:
        """The next turn as text."""
        names = {tool.name for tool in tools}
        done = [note for note in notes if note.role == "user" and note.tool is not None]
        last = done[-1] if done else None
        ask = self._next_call(case, done)
        if ask is not None and ask[0] in names:
            return protocol.action(_thought(last, f"call {ask[0]}"), *ask)
        letter = self._letter(case, done) if ask is None else None
        said = "The measurement decides." if letter else "The tools at hand do not decide; the first option is given."
        choice = letter or min(case.item.options, default="")
        return protocol.final(_thought(last, "answer"), f"{said} \\boxed{{{choice or 'unknown'}}}")

    def _next_call(self, case: Case, done: Sequence[Note]) -> Ask | None:
        if not done:
            return "load_data", {"path": case.volume}
        if case.labels is None or not done[0].ok:
            return None
        first = json.loads(done[0].structured)
        if len(done) == 1:
            return "load_mask", {"path": case.labels, "volume_id": first["volume_id"]}
        if not done[1].ok:
            return None
        plan, chart = _plan(case), _chart(case, done)
        return None if plan is None or None in chart.results else plan.calls(chart)

    def _letter(self, case: Case, done: Sequence[Note]) -> str | None:
        plan = _plan(case)
        if plan is None or len(done) < 2:
            return None
        chart = _chart(case, done)
        return None if None in chart.results else plan.answer(chart)


def _thought(last: Note | None, plan: str) -> str:
    if last is None:
        return f"ANALYSIS: Nothing is loaded yet. INCONCLUSIVE. PLAN: {plan}."
    seen = "The picture shows the place that is asked about, as expected. " if last.png is not None else ""
    verdict = "SUSPICIOUS" if last.ok else "INCONCLUSIVE"
    what = "returned its numbers" if last.ok else "failed"
    return f"ANALYSIS: {seen}The tool {last.tool} {what}. {verdict}. PLAN: {plan}."


def _plan(case: Case) -> Plan | None:
    head = case.item.question.split("\n")[0]
    return next((plan for plan in PLANS if plan.pattern.search(head)), None)


def _chart(case: Case, done: Sequence[Note]) -> Chart:
    volume, mask = (json.loads(note.structured) for note in done[:2])
    match = _REGIONS.search(case.item.question)
    regions = tuple(int(number) for number in match.groups() if number) if match else ()
    results = tuple(json.loads(note.structured) if note.ok else None for note in done[2:])
    return Chart(case, volume.get("volume_id", ""), mask.get("mask_id", ""), regions, results)


# --- one kind of question after the other ---------------------------------------------------------------------------


def _in_turn(*makers: Callable[[Chart], Ask]) -> Callable[[Chart], Ask | None]:
    """Calls that are made one after the other."""
    return lambda chart: makers[len(chart.results)](chart) if len(chart.results) < len(makers) else None


def _diameter(chart: Chart) -> Ask:
    return "measure_max_diameter", {"mask_id": chart.mask, "label": chart.regions[0]}


def _shape(chart: Chart) -> Ask:
    return "analyze_shape_properties", {"mask_id": chart.mask, "label": chart.regions[0]}


def _density(chart: Chart) -> Ask:
    numbers = {"volume_id": chart.volume, "mask_id": chart.mask, "label": chart.regions[0]}
    return "analyze_hu_distribution", numbers


def _centre(place: int) -> Callable[[Chart], Ask]:
    return lambda chart: ("find_organ_center", {"mask_id": chart.mask, "label": chart.regions[place]})


def _labels(chart: Chart) -> Ask:
    return "inspect_mask_labels", {"mask_id": chart.mask}


def _look(chart: Chart) -> Ask:
    (centre,) = [r["centroid_zyx"] for r in chart.results if r and "centroid_zyx" in r][:1]
    return "view_slice", {"volume_id": chart.volume, "index": round(centre[0]), "preset": "soft_tissue"}


def _distance(chart: Chart) -> Ask:
    one, two = (r["centroid_zyx"] for r in chart.results[:2] if r)
    return "measure_distance", {"volume_id": chart.volume, "p1": one, "p2": two}


def _lungs(chart: Chart) -> Ask:
    return "segment_total_anatomy", {"volume_id": chart.volume, "names": ["lung_left", "lung_right"]}


def _lung_labels(chart: Chart) -> Ask:
    return "inspect_mask_labels", {"mask_id": (chart.results[1] or {})["mask_id"]}


def _nearest(chart: Chart, value: float) -> str | None:
    """The option whose number lies nearest to a measured value."""
    found = {letter: _VALUE.search(text) for letter, text in chart.case.item.options.items()}
    numbers = {letter: float(match["value"]) for letter, match in found.items() if match}
    return min(numbers, key=lambda letter: (abs(numbers[letter] - value), letter)) if numbers else None


def _saying(chart: Chart, *words: str) -> str | None:
    """The option that holds all words."""
    hits = [letter for letter, text in chart.case.item.options.items() if all(w in text.lower() for w in words)]
    return hits[0] if len(hits) == 1 else None


def _answer_place(chart: Chart) -> str | None:
    centre, _, labels = chart.results[:3]
    if not centre or not labels:
        return None
    lungs = {lung["name"]: lung for lung in labels["labels"]}
    z, _, x = centre["centroid_zyx"]
    boxes = [lung["bbox_zyx"] for lung in lungs.values()]
    if {"lung_left", "lung_right"} - set(lungs):
        return None
    low, high = min(box[0][0] for box in boxes), max(box[0][1] for box in boxes)
    gaps = {side: abs(x - lungs[f"lung_{side}"]["centroid"][2]) for side in ("left", "right")}
    side = min(gaps, key=lambda name: gaps[name])
    share = (z + 0.5 - low) / (high - low)
    zone = "lower" if share < 1 / 3 else "upper" if share > 2 / 3 else "middle"
    return _saying(chart, zone, side)


def _answer_nature(chart: Chart) -> str | None:
    mean = (chart.results[0] or {})["mean"]
    word = next((name for low, high, name in NATURE if low <= mean < high), DENSE)
    return _saying(chart, word)


def _answer_measurable(chart: Chart) -> str | None:
    long = (chart.results[0] or {})["long_mm"]
    return _saying(chart, "at least 10 mm") if long >= 10 else _saying(chart, "below 10 mm")


def _answer_band(chart: Chart) -> str | None:
    """The option whose limits hold the longest diameter."""
    long = (chart.results[0] or {})["long_mm"]
    for letter, text in sorted(chart.case.item.options.items()):
        edges = [float(number) for number in re.findall(r"\d+(?:\.\d+)?", text)]
        if text.startswith("below"):
            edges.insert(0, 0.0)
        elif text.startswith("above"):
            edges.append(math.inf)
        if len(edges) == 2 and edges[0] < long <= edges[1]:
            return letter
    return None


def _answer_height(chart: Chart) -> str | None:
    heights = {entry["id"]: entry["centroid"][0] for entry in (chart.results[0] or {})["labels"]}
    asked = {letter: int(text.split()[-1]) for letter, text in chart.case.item.options.items()}
    return max(asked, key=lambda letter: heights.get(asked[letter], float("-inf")))


def _value(place: int, key: str) -> Callable[[Chart], str | None]:
    return lambda chart: _nearest(chart, (chart.results[place] or {})[key])


def _pattern(text: str) -> re.Pattern[str]:
    return re.compile(text, re.IGNORECASE)


PLANS = (
    Plan(_pattern(r"size band"), _in_turn(_diameter), _answer_band),
    Plan(_pattern(r"RECIST"), _in_turn(_diameter), _answer_measurable),
    Plan(_pattern(r"diameter"), _in_turn(_diameter), _value(0, "long_mm")),
    Plan(_pattern(r"volume of"), _in_turn(_shape), _value(0, "voxel_volume_ml")),
    Plan(_pattern(r"mean attenuation"), _in_turn(_density), _value(0, "mean")),
    Plan(_pattern(r"most likely"), _in_turn(_density, _centre(0), _look), _answer_nature),
    Plan(_pattern(r"part of the lungs"), _in_turn(_centre(0), _lungs, _lung_labels, _look), _answer_place),
    Plan(_pattern(r"how far apart"), _in_turn(_centre(0), _centre(1), _distance), _value(2, "distance_mm")),
    Plan(_pattern(r"nearest to the head"), _in_turn(_labels), _answer_height),
)
