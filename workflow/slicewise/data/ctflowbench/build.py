"""Items of CT-FlowBench: from phantoms, or from CT-RATE's reports."""

from __future__ import annotations

import csv
import random
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicewise import artifacts
from slicewise.benchmarks.ct import SCENARIOS, write_sop
from slicewise.data import ids
from slicewise.data.ctflowbench import chest, rate
from slicewise.data.ctflowbench.questions import LETTERS, Draft, drafts
from slicewise.data.ctflowbench.reports import grade
from slicewise.data.ctflowbench.sop import sop
from slicewise.errors import UserError
from slicewise.params import ChestSettings, DataSettings


@dataclass(frozen=True, slots=True)
class Report:
    """A report of CT-RATE: the volume's name without suffix, findings, impression."""

    volume_id: str
    findings: str
    impression: str


def read_reports(path: Path) -> list[Report]:
    """The reports of a CSV in CT-RATE's columns, each volume once.

    Raises:
        UserError: The file is missing or lacks a column.
    """
    if not path.is_file():
        raise UserError(f"{path}: not found; expected reports in CT-RATE's columns.")
    with path.open(encoding="utf-8-sig", newline="") as handle:
        reader = csv.DictReader(handle)
        missing = {"VolumeName", "Findings_EN", "Impressions_EN"} - set(reader.fieldnames or ())
        if missing:
            raise UserError(f"{path}: has no column {sorted(missing)}, found {list(reader.fieldnames or ())}.")
        found = {
            row["VolumeName"].removesuffix(".nii.gz"): (row["Findings_EN"] or "", row["Impressions_EN"] or "")
            for row in reader
        }
    return [Report(name, *texts) for name, texts in sorted(found.items())]


def phantoms(settings: ChestSettings, benchmark: str) -> list[dict[str, Any]]:
    """Rows of the samples table from the chest phantoms.

    Raises:
        UserError: The phantoms are missing, or do not belong to the settings.
    """
    folder = settings.path
    regions = chest.read_regions(folder)
    reports = {report.volume_id: report for report in read_reports(folder / chest.REPORTS)}
    made: list[tuple[str, Draft]] = []
    for volume_id in sorted(regions):
        draw = random.Random(f"{settings.seed}:{volume_id}")  # noqa: S311 - questions, not secrets
        made += [(volume_id, draft) for draft in drafts(regions[volume_id], draw)]
    chosen = select(made, settings.per_scenario, settings.seed)
    frames = {name: list(shown_slices(folder / "slices" / name)) for name in regions}
    return _rows(chosen, benchmark, reports, frames, marked=True)


def from_reports(settings: DataSettings, benchmark: str) -> list[dict[str, Any]]:
    """Rows of the samples table from CT-RATE's reports; no region is marked there, so a place is named in words.

    Raises:
        UserError: The reports are missing.
    """
    rated = settings.ct_rate
    reports = {report.volume_id: report for report in read_reports(rated.reports)}
    made: list[tuple[str, Draft]] = []
    for volume_id, report in sorted(reports.items()):
        draw = random.Random(f"{rated.seed}:{volume_id}")  # noqa: S311 - questions, not secrets
        made += [(volume_id, draft) for draft in rate.drafts(report.findings, draw)]
    chosen = select(made, rated.per_scenario, rated.seed)
    frames = {name: list(shown_slices(rated.path / "slices" / name)) for name in {name for name, _ in chosen}}
    return _rows(chosen, benchmark, reports, frames, marked=False)


def select(made: Sequence[tuple[str, Draft]], per_scenario: int, seed: int) -> list[tuple[str, Draft]]:
    """So many questions of each scenario, round robin over aspects and then over volumes, by a seeded order."""
    chosen: list[tuple[str, Draft]] = []
    for scenario in SCENARIOS:
        groups: dict[str, list[tuple[str, Draft]]] = defaultdict(list)
        for volume_id, draft in made:
            if draft.scenario == scenario:
                groups[draft.aspect].append((volume_id, draft))
        for aspect, group in groups.items():
            random.Random(f"{seed}:{scenario}:{aspect}").shuffle(group)  # noqa: S311 - a sample, not a secret
        chosen += _round_robin([groups[aspect] for aspect in sorted(groups)], per_scenario)
    return chosen


def _round_robin(groups: list[list[tuple[str, Draft]]], count: int) -> list[tuple[str, Draft]]:
    taken: list[tuple[str, Draft]] = []
    depth = 0
    while len(taken) < count and any(depth < len(group) for group in groups):
        taken += [group[depth] for group in groups if depth < len(group)]
        depth += 1
    return taken[:count]


def shown_slices(folder: Path) -> Iterator[dict[str, Any]]:
    """The slices of a volume as frames of the samples table; none when they have not been made."""
    from PIL import Image

    for number, path in enumerate(sorted(folder.glob("*.png")), start=1):
        with Image.open(path) as image:
            width, height = image.size
        yield {
            "number": number,
            "path": path.as_posix(),
            "width": width,
            "height": height,
            "sha256": artifacts.sha256_file(path),
        }


def _rows(
    chosen: Iterable[tuple[str, Draft]], benchmark: str, reports: dict[str, Report],
    frames: dict[str, list[dict[str, Any]]], *, marked: bool,
) -> list[dict[str, Any]]:  # fmt: skip
    pairs = list(chosen)
    identities = [
        ids.Identity("chest", "volume", volume_id, None, draft.scenario, [draft.question, draft.answer])
        for volume_id, draft in pairs
    ]
    rows = []
    for given, (volume_id, draft) in zip(ids.assign(identities), pairs, strict=True):
        report = reports[volume_id]
        kind = grade(report.findings, report.impression).type
        rows.append(
            {
                "sample_id": given.id,
                "benchmark": benchmark,
                "level": "volume",
                "domain": "chest",
                "volume_id": volume_id,
                "modality": "CT",
                "task": draft.scenario,
                "question_type": "single_choice",
                "question": draft.question,
                "options": dict(zip(LETTERS, draft.options, strict=True)),
                "answer": draft.answer,
                "reasoning": write_sop(sop(draft.aspect, marked=marked)),
                "labels": [f"type {kind}", draft.aspect, draft.kind],
                "boxes": [],
                "frames": frames.get(volume_id, []),
                "n_frames": len(frames.get(volume_id, [])),
                "flags": [],
            }
        )
    return rows
