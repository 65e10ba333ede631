"""Tables 1, 2, 4 and 5 of CT-Flow in the published layout: our rows first, then the printed ones."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import pandas as pd

from slicewise.benchmarks import ct
from slicewise.benchmarks.published_ct import CITATION, Name, Row, printed
from slicewise.jobs import ReportJob, ReportModel
from slicewise.report import collect
from slicewise.report.grids import Grid
from slicewise.report.render import number, percent
from slicewise.report.tables import INCOMPLETE, MISSING, PROXY

OURS, PUBLISHED = "this run", "published"
_MODES = {"slice": "slices", "ctflow": "CT-Flow", "finetuned": "fine-tuned", "native3d": "native 3D"}
_RAD_TEXT = ("bleu4", "rouge_l", "bertscore")


class Book:
    """Looks up our cells by benchmark family, model and column."""

    def __init__(self, cells: pd.DataFrame, job: ReportJob) -> None:
        """Bind the cells of a run.

        Args:
            cells: The columns of :data:`slicewise.report.ct.collect.CELLS`.
            job: The report's settings.
        """
        self.job = job
        self._cells = {(r["benchmark"], r["model"], r["column"]): r for r in collect.records(cells)}

    def benchmarks(self, family: str) -> list[str]:
        """The run's benchmarks of a family."""
        return [name for name in self.job.benchmarks if ct.ct_benchmark(name).family == family]

    def show(self, benchmark: str | None, model: str, column: str) -> str:
        """A cell times 100 with its marks, or a dash."""
        row: Mapping[str, Any] = self._cells.get((benchmark, model, column), {})
        if not row or pd.isna(row["value"]):
            return MISSING
        proxy = column.endswith("judge") and self.job.judge_is_proxy
        proxy |= column.endswith("bertscore") and self.job.bertscore_encoder != "roberta-large"
        return percent(row["value"]) + PROXY * proxy + INCOMPLETE * bool(row["incomplete"])


def mode_of(model: ReportModel) -> str:
    """How a model of ours sees the volume."""
    if model.backend == "agent":
        off = sorted({2, 3, 4} - set(model.tool_classes or ()))
        return "CT-Flow" + "".join(f" w/o cls.{number}" for number in off)
    if model.backend == "baseline":
        return "reads the gold" if model.baseline == "oracle" else "blind"
    return "answers" if model.backend == "file" else "slices"


def notes(job: ReportJob) -> list[str]:
    """What a reader must know before comparing."""
    made = [
        "Ours count every case: an answer that cannot be read counts 0. Published denominators vary (see the audit).",
        f"Published numbers: {CITATION}, as printed.",
    ]
    asked = [ct.ct_benchmark(name) for name in job.benchmarks]
    if any(one.source == "phantom" for one in asked):
        made.append(
            "ctflowbench-demo asks about synthetic phantoms: no number of it may be compared with a published one."
        )
    if any(one.source == "ct-rate" for one in asked):
        made.append("The published CT-FlowBench was never released: ours is built anew, so its items are other ones.")
    drawn = [one for one in asked if one.sampling is not None]
    made += [f"{one.id}: questions drawn as '{one.sampling}'; the published draw is not stated." for one in drawn]
    if not any(one.family == "rad3d" for one in asked):
        return made  # nothing is judged or compared as text
    if job.judge_is_proxy:
        made.append(f"{PROXY} The judge '{job.judge}' is a local stand-in, not a language model.")
    if job.bertscore_encoder != "roberta-large":
        made.append(f"{PROXY} BERTScore reads with '{job.bertscore_encoder}' instead of roberta-large.")
    return made


def _ours(job: ReportJob) -> Iterable[ReportModel]:
    return job.models


def _theirs(name: Name, columns: Sequence[str], words: Sequence[str] = ()) -> list[tuple[str, ...]]:
    return [
        (row.model, *(_MODES.get(row.words[w], row.words[w]) for w in words), PUBLISHED, *_numbers(row, columns))
        for row in printed(name)
    ]


def _numbers(row: Row, columns: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"{row.values[column]:.2f}" if column in row.values else MISSING for column in columns)


def table1(book: Book) -> Grid:
    """Main results: 3D-RAD text metrics, judge and accuracy; CT-FlowBench by scenario."""
    headers = (
        "Model", "Mode", "Source", "BLEU-4", "ROUGE-L", "BERTScore", "Judge", "Acc.", "QA", "SM", "DI", "Avg.",
    )  # fmt: skip
    rad = next(iter(book.benchmarks("rad3d")), None)
    bench = next(iter(book.benchmarks("ctflowbench")), None)
    rows = [
        (
            model.title, mode_of(model), OURS,
            *(book.show(rad, model.name, key) for key in (*_RAD_TEXT, "judge", "avg")),
            *(book.show(bench, model.name, key) for key in (*ct.SCENARIOS, "avg")),
        )
        for model in _ours(book.job)
    ]  # fmt: skip
    columns = (
        "rad_bleu4", "rad_rougeL", "rad_bertscore", "rad_llm_judge", "rad_acc", "fb_QA", "fb_SM", "fb_DI", "fb_avg",
    )  # fmt: skip
    theirs = [
        (row.model, "CT-Flow" if row.values["tool_use"] else "native 3D", PUBLISHED, *_numbers(row, columns))
        for row in printed("table1")
    ]
    return Grid("Table 1: 3D-RAD and CT-FlowBench", headers, (*rows, *theirs), text_columns=3)


def table2(rows: Sequence[Mapping[str, Any]], job: ReportJob) -> Grid:
    """Tool use per case: calls, errors by kind, success, agreement with the gold order."""
    headers = (
        "Model", "Benchmark", "Source", "Calls", "Name err.", "Args err.", "Domain err.", "Format err.", "Success %",
        "SOP agreement %", "Excess calls", "Order viol.",
    )  # fmt: skip
    titles = {model.name: model.title for model in job.models}
    ours = [
        (
            titles[row["model"]], row["benchmark"], OURS,
            *(number(row[key], 3) for key in ("calls", "name_errors", "argument_errors", "domain_errors")),
            number(row["format_errors"], 3), percent(row["success"], 1), percent(row["sop_agreement"], 1),
            number(row["excess_calls"]), number(row["order_violations"]),
        )
        for row in map(_known, rows)
    ]  # fmt: skip
    theirs = []
    for row in printed("table2"):
        for prefix, benchmark in (("rad", "3D-RAD"), ("fb", "CT-FlowBench")):
            calls, name, args = (row.values[f"{prefix}_{key}"] for key in ("calls", "name_err", "args_err"))
            success = f"{100 * (1 - (name + args) / calls):.1f}"
            rest = (MISSING, MISSING, success, MISSING, MISSING, MISSING)
            theirs.append((row.model, benchmark, PUBLISHED, f"{calls:.3f}", f"{name:.3f}", f"{args:.3f}", *rest))
    return Grid("Table 2: tool use per case", headers, (*ours, *theirs), text_columns=3)


def _known(row: Mapping[str, Any]) -> dict[str, Any]:
    return {key: float("nan") if value is None else value for key, value in row.items()}


def violations(rows: Sequence[Mapping[str, Any]], job: ReportJob) -> Grid:
    """Rules of the system prompt that were broken, per case; nothing of this is published."""
    headers = (
        "Model", "Benchmark", "Claim before load", "Picture not interpreted", "Raw coordinates", "Unit missing",
        "Box repaired", "Tokens",
    )  # fmt: skip
    titles = {model.name: model.title for model in job.models}
    keys = ("claim_before_load", "picture_not_interpreted", "raw_coordinates", "missing_unit", "repaired", "tokens")
    made = tuple((titles[row["model"]], row["benchmark"], *(number(row[key], 3) for key in keys)) for row in rows)
    return Grid("Broken rules per case", headers, made, text_columns=2)


def table4(book: Book) -> Grid:
    """3D-RAD by task, with and without tools."""
    metrics = ("bleu4", "rouge_l", "bertscore")
    headers = (
        "Model", "Mode", "Source",
        *(f"T{task} {title}" for task in (1, 2, 3) for title in ("BLEU-4", "ROUGE-L", "BERT")),
        "T4", "T5", "T6", "Avg.", "T3 value", "BLEU-1",
    )  # fmt: skip
    rows = []
    for benchmark in book.benchmarks("rad3d"):
        for model in book.job.models:
            text = (book.show(benchmark, model.name, f"{t}_{m}") for t in ct.RAD3D_OPEN for m in metrics)
            closed = (book.show(benchmark, model.name, key) for key in (*ct.RAD3D_CLOSED, "avg", "t3_value", "bleu1"))
            source = f"{OURS}, {ct.ct_benchmark(benchmark).sampling}"
            rows.append((model.title, mode_of(model), source, *text, *closed))
    columns = (
        *(f"t{task}_{key}" for task in (1, 2, 3) for key in ("bleu", "rouge", "bert")), "t4_acc", "t5_acc", "t6_acc",
        "avg", "", "",
    )  # fmt: skip
    theirs = _theirs("table4", columns, ("mode",))
    return Grid("Table 4: 3D-RAD by task", headers, (*rows, *theirs), text_columns=3)


def text(rows: Sequence[Mapping[str, Any]], job: ReportJob) -> Grid:
    """BLEU in every way that it is computed, with the ceiling that a copy of the reference would reach."""
    headers = (
        "Model", "Benchmark", "Task", "n", "BLEU-4 corpus", "BLEU-1 corpus", "BLEU-4 samples, effective order",
        "BLEU-4 samples, all orders", "its ceiling",
    )  # fmt: skip
    titles = {model.name: model.title for model in job.models}
    keys = ("corpus", "corpus_bleu1", "effective", "unsmoothed", "ceiling")
    made = tuple(
        (titles[row["model"]], row["benchmark"], row["task"], str(row["n"]), *(percent(row[key]) for key in keys))
        for row in rows
    )
    return Grid("BLEU of the open tasks", headers, made, text_columns=3)


def table5(book: Book) -> Grid:
    """CT-FlowBench by scenario, with and without tools."""
    headers = ("Model", "Mode", "Source", "Scenario 1 (QA)", "Scenario 2 (SM)", "Scenario 3 (DI)", "Avg.")
    rows = [
        (model.title, mode_of(model), OURS, *(book.show(benchmark, model.name, key) for key in (*ct.SCENARIOS, "avg")))
        for benchmark in book.benchmarks("ctflowbench")
        for model in book.job.models
    ]
    theirs = _theirs("table5", ("scenario1", "scenario2", "scenario3", "avg"), ("mode",))
    return Grid("Table 5: CT-FlowBench by scenario", headers, (*rows, *theirs), text_columns=3)


def intervals(cells: pd.DataFrame, job: ReportJob) -> Grid:
    """Every accuracy with its interval over patients, n and what could not be read."""
    titles = {model.name: model.title for model in job.models}
    wanted = {*ct.SCENARIOS, *ct.RAD3D_CLOSED}
    made = [
        (
            titles[row["model"]], row["benchmark"], row["column"], percent(row["value"]),
            f"[{percent(row['low'], 1)}, {percent(row['high'], 1)}]", str(row["n"]), str(row["clusters"]),
            percent(row["coverage"], 1),
        )
        for row in collect.records(cells)
        if row["column"] in wanted
    ]  # fmt: skip
    headers = ("Model", "Benchmark", "Column", "Accuracy", "Interval", "n", "Patients", "Coverage %")
    return Grid(f"Accuracies with {100 * job.report.confidence:g} % intervals", headers, tuple(made), text_columns=3)
