"""A small, honest tree of results: two benchmarks, four models, every outcome, real frames, no network."""

from __future__ import annotations

import hashlib
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image
from slicewise import artifacts, layout
from slicewise.benchmarks import sgmri
from slicewise.jobs import ReportJob, ReportModel
from slicewise.params import ReportSettings
from slicewise.score import schemas

VOLUMES = 12
SIZE = 96
SCHEMAS = {metric: schemas.schema(metric) for metric in ("answer", "reasoning", "grounding")}
FAILURES = ("unparsed", "refused", "empty", "truncated", "api_error", "judge_error", "missing_frames")


def make_job(**changes: Any) -> ReportJob:
    values: dict[str, Any] = {
        "suite": "demo",
        "benchmarks": ["sgmri-demo-image", "sgmri-demo-volume"],
        "models": [
            ReportModel(name="oracle", title="oracle", backend="baseline", baseline="oracle"),
            ReportModel(name="always-yes", title="always-yes", backend="baseline", baseline="always-yes"),
            ReportModel(name="reader", title="Reader_7B & co", backend="file"),
            ReportModel(name="absent", title="absent", backend="file"),
        ],
        "protocol": "card",
        "judge": "proxy",
        "judge_is_proxy": True,
        "bertscore_encoder": "minilm",
        "bertscore_rescale": False,
        "report": ReportSettings(bootstrap_draws=200, example_pages=6),
    }
    return ReportJob(**{**values, **changes})


def _frame(root: Path, name: str, seed: int) -> dict[str, Any]:
    path = Path("data/demo") / f"{name}.png"
    (root / path).parent.mkdir(parents=True, exist_ok=True)
    y, x = np.mgrid[0:SIZE, 0:SIZE] - SIZE / 2
    noise = np.random.default_rng(seed).normal(0, 8, (SIZE, SIZE))
    pixels = np.where(x**2 / 1600 + y**2 / 1900 < 1, 110 + 20 * np.cos(x / 6) * np.cos(y / 7), 8) + noise
    Image.fromarray(pixels.clip(0, 255).astype("uint8")).save(root / path)
    return {"number": 1, "path": str(path), "width": SIZE, "height": SIZE, "sha256": None}


def make_samples(root: Path, benchmark: str, with_frames: bool) -> list[dict[str, Any]]:
    level = sgmri.benchmark(benchmark).level
    rows = []
    for v in range(VOLUMES):
        domain = "brain" if v % 2 else "knee"
        normal = v % 5 == 4
        n_frames = 1 if level == "image" else 4
        empty = {"number": 1, "path": None, "width": SIZE, "height": SIZE, "sha256": None}
        frames = [
            {**(_frame(root, f"{level}-{v}-{i}", 100 * v + i) if with_frames else empty), "number": i + 1}
            for i in range(n_frames)
        ]
        boxes = [
            {
                "frame": b % n_frames,
                "x0": 20.0 + 9 * b,
                "y0": 24.0 + v,
                "x1": 44.0 + 9 * b,
                "y1": 48.0 + v,
                "label": "a",
            }
            for b in range(0 if normal else 1 + v % 3)
        ]
        for task in sgmri.TASKS[level]:
            rows.append(  # noqa: PERF401
                {
                    "sample_id": f"{domain}-{level}-v{v:02d}-{task}",
                    "benchmark": benchmark,
                    "level": level,
                    "domain": domain,
                    "volume_id": f"v{v:02d}",
                    "modality": ("T1", "FLAIR")[v % 4 == 1] if domain == "brain" else None,
                    "task": task,
                    "question_type": "open_ended"
                    if task == "captioning" or (task == "diagnosis" and v % 3 == 0)
                    else "closed_ended",
                    "question": "?",
                    "options": None,
                    "answer": ("no" if normal else "yes") if task == "detection" else str(1 + v % 3),
                    "reasoning": None,
                    "labels": [] if normal else ["Lacunar infarct", "Mass"][: 1 + v % 2],
                    "boxes": boxes,
                    "frames": frames,
                    "n_frames": n_frames,
                    "flags": [],
                }
            )
    return rows


def _outcome(model: str, rng: Random) -> str:
    if model == "absent":
        return "not_run"
    if model == "reader" and rng.random() < 0.4:
        return rng.choice(FAILURES)
    return "ok"


def _fill(row: dict[str, Any], schema: pa.Schema) -> dict[str, Any]:
    return {name: row.get(name) for name in schema.names}


def _base(sample: dict[str, Any], model: str, value: float | None, outcome: str) -> dict[str, Any]:
    return {
        "sample_id": sample["sample_id"],
        "benchmark": sample["benchmark"],
        "model": model,
        "value": value if outcome == "ok" else None,
        "outcome": outcome,
        "flags": [],
        "signature": "test",
    }


def _answer(sample: dict[str, Any], model: str, outcome: str, rng: Random) -> dict[str, Any]:
    gold = sample["answer"]
    kind = {"detection": "yes_no", "counting": "count"}.get(sample["task"], "short_text")
    wrong = {"yes": "no", "no": "yes"}.get(gold, "2")
    reading = {"oracle": gold, "always-yes": "yes"}.get(model, gold if rng.random() < 0.7 else wrong)
    extra = {"kind": kind, "reading": reading if outcome == "ok" else None, "gold": gold}
    return {**_base(sample, model, float(reading == gold), outcome), **extra}


def _grounding(sample: dict[str, Any], model: str, outcome: str, rng: Random) -> dict[str, Any]:
    n_gold = len(sample["boxes"])
    n_pred = {"oracle": n_gold, "always-yes": 0}.get(model, 2) if outcome == "ok" else 0
    ious = [1.0 if model == "oracle" else round(rng.uniform(0.05, 0.9), 3) for _ in range(min(n_gold, n_pred))]
    value = sum(ious) / n_gold if n_gold else None
    row: dict[str, Any] = {
        "n_gold": n_gold, "n_gold_excluded": 0, "n_pred": n_pred, "n_emitted": n_pred, "n_matched": len(ious),
        "iou_sum": sum(ious), "ious": ious + [0.0] * (n_gold - len(ious)),
        "v_precision_aware": sum(ious) / max(n_gold, n_pred, 1),
        "frame_precision": 1.0, "frame_recall": 1.0, "frame_f1": 1.0,
        "frame_offsets": [0 if model == "oracle" else rng.choice([-1, 0, 0, 1, 2]) for _ in range(n_pred)],
        "false_positives_on_normal": 0 if n_gold else n_pred,
    }  # fmt: skip
    for cut in (10, 25, 50):
        tp = sum(i >= cut / 100 for i in ious)
        p, r = (tp / n_pred if n_pred else 0.0), (tp / n_gold if n_gold else 0.0)
        row |= {f"tp_{cut}": tp, f"p_{cut}": p, f"r_{cut}": r, f"f1_{cut}": 2 * p * r / (p + r) if p + r else 0.0}
    if n_gold == 0 and outcome == "ok":
        outcome = "no_reference"
    return {**_base(sample, model, value, outcome), **row}


def _parsed(sample: dict[str, Any], model: str, rng: Random) -> dict[str, Any]:
    shift = 0 if model == "oracle" else rng.choice([4, 9])
    boxes = [{**b, "x0": b["x0"] + shift, "x1": b["x1"] + shift} for b in sample["boxes"]]
    boxes = {"always-yes": [], "absent": None}.get(model, boxes)
    row: dict[str, Any] = dict.fromkeys(artifacts.PARSED.names)
    row |= {"sample_id": sample["sample_id"], "benchmark": sample["benchmark"], "model": model, "kind": "none"}
    for part in ("answer", "text", "boxes"):
        row |= {f"{part}_outcome": "ok", f"{part}_stage": "x", f"{part}_flags": []}
    return {**row, "boxes": boxes, "boxes_emitted": len(boxes or []), "rejected": [], "parser": "1"}


def make_tree(root: Path, job: ReportJob | None = None, with_frames: bool = True, shuffle: int = 0) -> ReportJob:
    """Write the tree below ``root``; ``shuffle`` changes only the order in which rows are made."""
    job = job or make_job()
    for benchmark in job.benchmarks:
        samples = make_samples(root, benchmark, with_frames)
        artifacts.write_rows(root / layout.samples(benchmark), samples, artifacts.SAMPLES)
        for model in job.models:
            _write_model(root, benchmark, model.name, samples, shuffle)
    return job


def _write_model(root: Path, benchmark: str, model: str, samples: list[dict[str, Any]], shuffle: int) -> None:
    rows: dict[str, list[dict[str, Any]]] = {"answer": [], "reasoning": [], "grounding": []}
    parsed = []
    for sample in Random(shuffle).sample(samples, len(samples)):  # noqa: S311
        rng = Random(hashlib.sha256(f"{benchmark}{model}{sample['sample_id']}".encode()).hexdigest())  # noqa: S311
        outcome = _outcome(model, rng)
        if sgmri.applies("answer", sample["task"], sample["question_type"], True):
            rows["answer"].append(_answer(sample, model, outcome, rng))
        if sgmri.applies("reasoning", sample["task"], sample["question_type"], True):
            value = {"oracle": 0.98, "always-yes": 0.11}.get(model, round(rng.uniform(0.2, 0.5), 6))
            rows["reasoning"].append({**_base(sample, model, value, outcome), "proxy": True})
        if sgmri.applies("grounding", sample["task"], sample["question_type"], True):
            rows["grounding"].append(_grounding(sample, model, outcome, rng))
            parsed.append(_parsed(sample, model, rng))
    for metric, made in rows.items():
        schema = SCHEMAS[metric]
        artifacts.write_rows(root / layout.score(benchmark, model, metric), [_fill(r, schema) for r in made], schema)
    artifacts.write_rows(root / layout.parsed(benchmark, model), parsed, artifacts.PARSED)


@pytest.fixture(scope="session")
def tree(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReportJob, Path]:
    """A tree without any report."""
    root = tmp_path_factory.mktemp("tree")
    return make_tree(root), root


@pytest.fixture(scope="session")
def reported(tmp_path_factory: pytest.TempPathFactory) -> tuple[ReportJob, Path]:
    """A tree with tables, figures and the page."""
    from slicewise.report import run

    root = tmp_path_factory.mktemp("reported")
    job = make_tree(root)
    run.tables(job, root)
    run.figures(job, root)
    run.site(job, root)
    return job, root


@pytest.fixture(scope="session")
def make() -> Any:
    """The builders: ``make.job(**changes)``, ``make.tree(root, job, ...)``."""
    from types import SimpleNamespace

    return SimpleNamespace(job=make_job, tree=make_tree, samples=make_samples, schemas=SCHEMAS)
