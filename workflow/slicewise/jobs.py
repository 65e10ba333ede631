"""What one job depends on: the smallest slice of the settings, as one value.

Snakemake records a job's slice and runs the job again when it changes. The command line computes the same slice from
``params.yaml`` when a person runs the command by hand, so both are one way.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal

from slicewise.benchmarks import ct, sgmri
from slicewise.endpoints import LlmSettings
from slicewise.errors import UserError, did_you_mean
from slicewise.geometry import Convention
from slicewise.judges import Judge, LlmJudge, PanelJudge, ProxyJudge
from slicewise.params import (
    AgentModel,
    DataSettings,
    Encoder,
    Model,
    Params,
    ParseSettings,
    ReportSettings,
)
from slicewise.settings import Settings


class DataJob(Settings):
    """Build one benchmark's samples."""

    benchmark: str
    data: DataSettings


class InferJob(Settings):
    """Run one model over one benchmark."""

    benchmark: str
    model: Model
    llm: LlmSettings | None = None  # only for a language model and an agent
    volumes: Path | None = None  # only for an agent: the folder that its tools may read


class ParseJob(Settings):
    """Read one model's answers. Only what changes a reading is here: a new title re-parses nothing."""

    benchmark: str
    model: str
    bbox_convention: Convention
    frame_base: int
    parse: ParseSettings


class ScoreJob(Settings):
    """Compute one metric; fields that the metric does not use are ``None``."""

    metric: str
    benchmark: str
    protocol: str
    ar_reference: str | None = None
    v_gold: str | None = None
    encoder: Encoder | None = None
    rescale: bool | None = None
    precision: Literal["fp32", "bf16"] | None = None
    engine: Literal["torch", "openvino"] | None = None
    judge: Judge | None = None
    judge_name: str | None = None
    judges: dict[str, LlmJudge] | None = None  # the members of a panel
    llm: LlmSettings | None = None  # only for a judge that is a language model


class ReportModel(Settings):
    """A model as the report shows it."""

    name: str
    title: str
    backend: str
    baseline: str | None = None  # which baseline, where it is one: the oracle is not ranked, the blind ones are bars
    of: str | None = None  # the model that an agent wraps
    tool_classes: list[int] | None = None  # of an agent
    prompt: str | None = None  # of a language model
    bbox_convention: Convention | None = None  # as declared; the convention alarm re-reads under the others
    frame_base: int = 1


class ReportJob(Settings):
    """Make tables, figures and the page of a suite."""

    suite: str
    benchmarks: list[str]
    models: list[ReportModel]
    protocol: str
    judge: str
    judge_is_proxy: bool
    judge_model: str | None = None  # the language model behind it, where it is one
    frames: str | None = None  # of the released benchmarks: which frames their models see
    split: str | None = None  # of the released benchmarks
    bertscore_encoder: str
    bertscore_rescale: bool
    report: ReportSettings


def data_job(params: Params, benchmark: str) -> DataJob:
    """The slice of a benchmark's data job: its own source's settings, the others at their defaults."""
    source = ct.ct_benchmark(benchmark).source if ct.is_ct(benchmark) else _sgmri(benchmark).source
    used: dict[str, set[str]] = {
        "phantom": {"chest"},
        "ct-rate": {"ct_rate"},
        "rad3d": {"rad3d", "ct_rate"},
        "released": {"on_bad_record", "sgmri"},
        "open": {"fastmri_plus", "fastmri_plus_commit", "open"},
        "demo": {"on_bad_record", "demo"},
    }
    return DataJob(benchmark=benchmark, data=DataSettings(**params.data.model_dump(include=used[source])))


def _sgmri(benchmark: str) -> sgmri.Benchmark:
    """The benchmark that is none on CT; an id that nobody has is told with all that there are."""
    if benchmark not in sgmri.BENCHMARKS:
        known = [*sgmri.BENCHMARKS, *ct.CT_BENCHMARKS]
        raise UserError(
            f"benchmark '{benchmark}' is unknown; expected one of {sorted(known)}.{did_you_mean(benchmark, known)}"
        )
    return sgmri.benchmark(benchmark)


def infer_job(params: Params, benchmark: str, model: str) -> InferJob:
    """The slice of an inference job; the title of a model is not part of it."""
    declared = params.model(model).model_copy(update={"title": None})
    if not isinstance(declared, AgentModel):
        return InferJob(benchmark=benchmark, model=declared, llm=params.llm if declared.backend == "openai" else None)
    if declared.of is not None:
        wrapped = params.model(declared.of)
        declared = declared.model_copy(update={"of": None, "endpoint": getattr(wrapped, "endpoint", None)})
    return InferJob(benchmark=benchmark, model=declared, llm=params.llm, volumes=_volumes(params, benchmark))


def _volumes(params: Params, benchmark: str) -> Path:
    """The folder that an agent's tools may read."""
    if ct.is_ct(benchmark):
        phantom = ct.ct_benchmark(benchmark).source == "phantom"
        return params.data.chest.path if phantom else params.data.ct_rate.path
    source = _sgmri(benchmark).source
    if source == "open":
        raise UserError(
            f"params.yaml: suites: benchmark '{benchmark}' has no images, which an agent needs; give one that has."
        )
    return params.data.demo.path / "frames" if source == "demo" else params.data.sgmri.frames_root


def parse_job(params: Params, benchmark: str, model: str) -> ParseJob:
    """The slice of a parse job."""
    declared = params.model(model)
    return ParseJob(
        benchmark=benchmark,
        model=model,
        bbox_convention=declared.bbox_convention,
        frame_base=declared.frame_base,
        parse=params.parse,
    )


def score_job(params: Params, benchmark: str, metric: str) -> ScoreJob:
    """The slice of a metric's job."""
    if metric not in ct.CT_METRICS:
        sgmri.applies(metric, "detection", "closed_ended", has_gold_boxes=False)  # refuses an unknown metric
    suite = params.active
    text = metric in ("bleu", "rouge_l", "bertscore", "judge")
    encoder: Encoder | None = None
    if metric == "similarity":
        encoder = params.encoders[params.score.similarity]
    elif metric == "bertscore":
        encoder = params.encoders[suite.bertscore.encoder]
    return ScoreJob(
        metric=metric,
        benchmark=benchmark,
        protocol=params.score.protocol,
        ar_reference=params.score.ar.reference if text else None,
        v_gold=params.score.v.gold if metric == "grounding" else None,
        encoder=encoder,
        rescale=suite.bertscore.rescale if metric == "bertscore" else None,
        precision=suite.bertscore.precision if metric == "bertscore" else None,
        engine=suite.bertscore.engine if metric == "bertscore" else None,
    ).model_copy(update=_judge(params) if metric == "judge" else {})


def _judge(params: Params) -> dict[str, Any]:
    """The fields of a judge's job: its declaration, and the encoder, members and call settings that it uses."""
    name = params.active.judge_of(params.score.protocol)
    judge = params.judges[name]
    released = isinstance(judge, LlmJudge) and judge.rubric == "released"
    if params.score.protocol == "reference" and not released and not isinstance(judge, ProxyJudge):
        raise UserError(
            f"params.yaml: suites.{params.suite}: protocol 'reference' needs a judge with rubric 'released', found "
            f"'{name}'; name one under 'released_judge'."
        )
    return {
        "judge": judge,
        "judge_name": name,
        "encoder": params.encoders[judge.encoder] if isinstance(judge, ProxyJudge) else None,
        "judges": {m: params.judges[m] for m in judge.members} if isinstance(judge, PanelJudge) else None,
        "llm": None if isinstance(judge, ProxyJudge) else params.llm,
    }


def report_job(params: Params) -> ReportJob:
    """The slice of the report.

    Raises:
        UserError: The suite mixes benchmarks on CT with others, which have no table in common.
    """
    suite = params.active
    mixed = {ct.is_ct(name) for name in suite.benchmarks}
    if len(mixed) > 1:
        raise UserError(
            f"params.yaml: suites.{params.suite}.benchmarks: {suite.benchmarks} mixes CT with other benchmarks; make "
            "two suites of them."
        )
    models = [params.model(name) for name in suite.models]
    judge = suite.judge_of(params.score.protocol)
    declared = params.judges[judge]
    asked = [sgmri.benchmark(name) for name in suite.benchmarks if not ct.is_ct(name)]
    released = any(benchmark.source == "released" for benchmark in asked)
    return ReportJob(
        suite=params.suite,
        benchmarks=suite.benchmarks,
        models=[
            ReportModel(
                name=m.name,
                title=m.title or m.name,
                backend=m.backend,
                baseline=getattr(m, "baseline", None),
                of=getattr(m, "of", None),
                tool_classes=getattr(m, "tool_classes", None),
                prompt=getattr(m, "prompt", None),
                bbox_convention=m.bbox_convention,
                frame_base=m.frame_base,
            )
            for m in models
        ],
        protocol=params.score.protocol,
        judge=judge,
        judge_is_proxy=declared.kind == "proxy",
        judge_model=declared.endpoint.model if isinstance(declared, LlmJudge) else None,
        frames=params.data.sgmri.frames.value if released else None,
        split=params.data.sgmri.split if released else None,
        bertscore_encoder=suite.bertscore.encoder,
        bertscore_rescale=suite.bertscore.rescale,
        report=params.report,
    )
