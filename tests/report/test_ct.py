"""Suite ct-demo by its functions, from phantoms to tables: what it must show, and that it is the same bytes."""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from slicewise import jobs, layout, params
from slicewise.benchmarks.published_ct import printed
from slicewise.data import run as data
from slicewise.data.ctflowbench import chest
from slicewise.errors import UserError
from slicewise.infer import run as infer
from slicewise.params import Params
from slicewise.parse import run as parse
from slicewise.report import run as report
from slicewise.report.ct import files
from slicewise.score import run as score

BENCHMARK = "ctflowbench-demo"
MODELS = ["oracle", "random", "majority", "blind-rules", "ctflow-protocol", "ctflow-protocol-no3"]
SETTINGS = Path(__file__).parents[2] / "params.yaml"


def _settings() -> Params:
    raw = params.read(SETTINGS)
    raw["suite"] = "ct-demo"
    raw["data"]["chest"] |= {"volumes": 3, "per_scenario": 6}
    raw["suites"]["ct-demo"]["models"] = MODELS
    raw["report"]["bootstrap_draws"] = 100
    return params.validate(raw)


@pytest.fixture(scope="module")
def ran(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Path, Params]]:
    """A finished run; the paths of a run are relative to the project's root."""
    root, before = tmp_path_factory.mktemp("ct"), Path.cwd()
    os.chdir(root)
    settings = _settings()
    chest.make(settings.data.chest, settings.data.chest.path)
    samples = layout.samples(BENCHMARK)
    data.build(jobs.data_job(settings, BENCHMARK), samples, layout.data_summary(BENCHMARK))
    for model in MODELS:
        answers = layout.answers(BENCHMARK, model)
        infer.answer(jobs.infer_job(settings, BENCHMARK, model), samples, answers)
        parse.parse_file(jobs.parse_job(settings, BENCHMARK, model), samples, answers, layout.parsed(BENCHMARK, model))
        for metric in ("choice", "tool_use"):
            score.score_model(jobs.score_job(settings, BENCHMARK, metric), model, Path())
    job = jobs.report_job(settings)
    for stage in (report.tables, report.figures, report.site):
        stage(job, Path())
    yield root, settings
    os.chdir(before)


def _table(root: Path, name: str) -> list[dict[str, str]]:
    with (root / layout.table(name, "csv")).open(encoding="utf-8", newline="") as handle:
        return list(csv.DictReader(handle))


def test_every_promised_file_is_there(ran: tuple[Path, Params]) -> None:
    root, settings = ran
    job = jobs.report_job(settings)
    promised = [*report.table_outputs(job), *report.figure_outputs(job), *report.site_outputs(job)]
    assert all((root / path).is_file() for path in promised)
    made = {p.relative_to(root) for p in (root / layout.stage("report")).rglob("*") if p.is_file()}
    assert made == set(promised)


def test_the_protocol_beats_the_blind_baselines_and_needs_its_tools(ran: tuple[Path, Params]) -> None:
    average = {row["Model"]: float(row["Avg."]) for row in _table(ran[0], "table5") if row["Source"] == "this run"}
    blind = max(average[name] for name in ("random", "majority", "blind-rules"))
    assert average["oracle"] == 100
    assert average["Clinical protocol"] == 100 > blind
    assert average["Clinical protocol w/o cls.3"] < 100


def test_published_rows_stand_beside_as_printed(ran: tuple[Path, Params]) -> None:
    for name in ("table1", "table4", "table5"):
        rows = [row for row in _table(ran[0], name) if row["Source"] == "published"]
        assert [row["Model"] for row in rows] == [row.model for row in printed(name)]  # type: ignore[arg-type]
    last = _table(ran[0], "table1")[-1]
    assert (last["Model"], last["QA"], last["Avg."]) == ("CT-Flow-8B", "42.00", "43.00")


def test_tool_statistics_of_the_protocol(ran: tuple[Path, Params]) -> None:
    row = next(row for row in _table(ran[0], "table2") if row["Model"] == "Clinical protocol")
    assert (row["Name err."], row["Args err."], row["Format err."], row["Success %"]) == ("0.000",) * 3 + ("100.0",)
    assert float(row["Calls"]) >= 3
    assert float(row["SOP agreement %"]) > 80


def test_the_same_scores_give_the_same_bytes(ran: tuple[Path, Params]) -> None:
    root, settings = ran
    job = jobs.report_job(settings)
    paths = [root / path for path in (*report.table_outputs(job), *report.figure_outputs(job), files.PAGE)]
    before = [path.read_bytes() for path in paths]
    for stage in (report.tables, report.figures, report.site):
        stage(job, Path())
    assert [path.read_bytes() for path in paths] == before


def test_a_suite_of_both_kinds_is_refused() -> None:
    settings = _settings()
    suite = settings.active.model_copy(update={"benchmarks": [BENCHMARK, "sgmri-demo-image"]})
    mixed = settings.model_copy(update={"suites": {**settings.suites, "ct-demo": suite}})
    with pytest.raises(UserError, match="mixes CT with other benchmarks"):
        jobs.report_job(mixed)


def test_an_agent_needs_a_benchmark_with_images() -> None:
    with pytest.raises(UserError, match="has no images, which an agent needs"):
        jobs.infer_job(_settings(), "sgmri-open-corrected-image", "ctflow-protocol")


def test_an_agent_takes_the_endpoint_of_the_model_that_it_wraps() -> None:
    settings = _settings()
    job = jobs.infer_job(settings, BENCHMARK, "ctflow-qwen3-vl-8b")
    assert job.model.endpoint == settings.model("qwen3-vl-8b").endpoint  # type: ignore[union-attr]
    assert job.volumes == settings.data.chest.path
