"""One side of a comparison: a folder of results, the settings that made them, and the code that ran."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from slicewise import artifacts, jobs, layout, params
from slicewise.benchmarks import ct
from slicewise.errors import UserError
from slicewise.jobs import ReportJob, ReportModel
from slicewise.params import PARAMS_FILE, Params, ReportSettings

Words = tuple[str, ...]

# What a setting concerns, by the first word of its name; of a model's settings, by the third.
KINDS = {
    "data": "items",
    "benchmarks": "items",
    "parser": "parser",
    "parse": "parser",
    "judge": "judge",
    "bertscore": "encoder",
    "similarity": "encoder",
    "score": "scoring",
    "report": "report",
}
CODE_KINDS = {"data": "items", "infer": "model", "parse": "parser", "score": "scoring"}
MODEL_KINDS = {
    "prompt": "prompt",
    "bbox_convention": "parser",
    "frame_base": "parser",
    "view": "frames sent",
    "seed": "frames sent",
}


@dataclass(frozen=True)
class Side:
    """One set of results.

    Attributes:
        name: What the user called it.
        root: Folder that holds ``results/``.
        job: The settings of its report.
        settings: The settings that change a value, by the words of their names (a model's name may hold dots); empty
            when the folder has no ``params.yaml``.
        code: ``stage`` or ``stage.metric`` to the digest of the code that made its files; empty when unknown.
    """

    name: str
    root: Path
    job: ReportJob
    settings: Mapping[Words, Any] = field(default_factory=dict)
    code: Mapping[str, str] = field(default_factory=dict)


def only_sgmri(command: str, job: ReportJob) -> None:
    """Refuse a suite on CT, whose tables have other columns.

    Raises:
        UserError: The suite is on CT.
    """
    found = [benchmark for benchmark in job.benchmarks if ct.is_ct(benchmark)]
    if found:
        raise UserError(
            f"{command}: suite '{job.suite}' is on CT ({found[0]}), whose tables have other columns; expected a suite "
            "of SGMRI benchmarks."
        )


def load(name: str, root: Path, code: Mapping[str, str] | None = None) -> Side:
    """The side that lies in a folder.

    Args:
        name: What to call it.
        root: Folder that holds ``results/`` and, usually, ``params.yaml``.
        code: Digests of the code, where they are recorded.

    Raises:
        UserError: The folder has no scores, or its settings cannot be read.
    """
    if not (root / layout.stage("score")).is_dir():
        raise UserError(f"{name}: has no {layout.stage('score')}; expected a folder or a revision with scores.")
    if not (root / PARAMS_FILE).is_file():
        return Side(name, root, _found(name, root), {}, code or {})
    settings = params.load(root / PARAMS_FILE)
    job = jobs.report_job(settings)
    only_sgmri(f"compare: {name}", job)
    return Side(name, root, job, {**effective(settings), **_parsers(root)}, code or {})


def _parsers(root: Path) -> dict[Words, str]:
    """The versions of the parser in the parsed files."""
    found: set[str] = set()
    for path in sorted((root / layout.stage("parse")).glob("*/*/parsed.parquet")):
        found |= set(artifacts.read_table(path, columns=["parser"]).column("parser").to_pylist())
    return {("parser", "version"): ", ".join(sorted(found))} if found else {}


def _found(name: str, root: Path) -> ReportJob:
    """The report's settings of a folder without ``params.yaml``, from its files."""
    paths = sorted((root / layout.stage("score")).glob("*/*/answer.parquet"))
    if not paths:
        raise UserError(f"{name}: {root / layout.stage('score')} holds no answer.parquet; expected a model's scores.")
    signatures = {text for path in paths for text in artifacts.read_table(path).column("signature").to_pylist()}
    protocols = {word.split(":", 1)[1] for text in signatures for word in text.split("|") if word[:9] == "protocol:"}
    proxy = any(
        any(artifacts.read_table(path.with_name("reasoning.parquet"), columns=["proxy"])["proxy"].to_pylist())
        for path in paths
        if path.with_name("reasoning.parquet").is_file()
    )
    names = dict.fromkeys(path.parent.name for path in paths)
    return ReportJob(
        suite=name,
        benchmarks=list(dict.fromkeys(path.parent.parent.name for path in paths)),
        models=[ReportModel(name=n, title=n, backend="file") for n in names],
        protocol=protocols.pop() if len(protocols) == 1 else "card",
        judge="unknown",
        judge_is_proxy=proxy,
        bertscore_encoder="unknown",
        bertscore_rescale=False,
        report=ReportSettings(),
    )


def effective(settings: Params) -> dict[Words, Any]:
    """The settings that reach a job of the active suite, by the words of their names, without how calls are bought."""
    suite = settings.active
    judge = settings.judges[suite.judge_of(settings.score.protocol)]
    score = settings.score.model_dump(mode="json")
    encoder = score.pop("similarity")
    members = getattr(judge, "members", None) or []
    tree: dict[str, Any] = {
        "suite": settings.suite,
        "benchmarks": suite.benchmarks,
        "data": {b: jobs.data_job(settings, b).data.model_dump(mode="json") for b in suite.benchmarks},
        "models": {m: _model(settings, m) for m in suite.models},
        "parse": settings.parse.model_dump(mode="json"),
        "similarity": {"name": encoder, **settings.encoders[encoder].model_dump(mode="json")},
        "judge": {"is": suite.judge_of(settings.score.protocol), **judge.model_dump(mode="json")},
        "bertscore": {
            "rescale": suite.bertscore.rescale,
            "is": suite.bertscore.encoder,
            **settings.encoders[suite.bertscore.encoder].model_dump(mode="json"),
        },
        "score": score,
        "report": settings.report.model_dump(mode="json"),
    }
    tree["judge"]["of"] = {name: settings.judges[name].model_dump(mode="json") for name in members}
    return dict(flat(tree))


def _model(settings: Params, name: str) -> dict[str, Any]:
    declared: dict[str, Any] = settings.model(name).model_dump(mode="json")
    return {key: value for key, value in declared.items() if key not in ("name", "title")}


def flat(value: Any, words: Words = ()) -> Iterator[tuple[Words, Any]]:
    """Names and values of a tree of mappings."""
    if isinstance(value, Mapping) and value:
        for key, inner in value.items():
            yield from flat(inner, (*words, str(key)))
    elif not isinstance(value, Mapping):
        yield words, value


def kind(words: Words) -> str:
    """What a setting concerns: items, model, prompt, frames sent, parser, judge, encoder, scoring, report, suite."""
    if words[0] == "code":
        return CODE_KINDS[words[1].partition(".")[0]]
    if words[0] != "models":
        return KINDS.get(words[0], "suite")
    if len(words) > 3 and words[2:4] == ("endpoint", "images"):
        return "frames sent"
    return MODEL_KINDS.get(words[2], "model") if len(words) > 2 else "suite"


@dataclass(frozen=True, slots=True)
class Difference:
    """A setting that differs.

    Attributes:
        words: Its name.
        kind: What it concerns.
        a: Its value on one side; ``None`` where it has none.
        b: On the other.
    """

    words: Words
    kind: str
    a: Any
    b: Any

    @property
    def name(self) -> str:
        """Dotted name."""
        return ".".join(self.words)

    @property
    def model(self) -> str | None:
        """The model that it belongs to, where it belongs to one."""
        return self.words[1] if self.words[0] == "models" and len(self.words) > 1 else None


def differences(a: Side, b: Side) -> list[Difference]:
    """The settings and the code that differ, by name; only what both sides have in common is gone into."""
    models = {m.name for m in a.job.models} & {m.name for m in b.job.models}
    shared = {"models": models, "data": set(a.job.benchmarks) & set(b.job.benchmarks)}
    found = []
    for words in sorted({*a.settings, *b.settings}) if a.settings and b.settings else ():
        if words[0] in shared and words[1] not in shared[words[0]]:
            continue
        if a.settings.get(words) != b.settings.get(words):
            found.append(Difference(words, kind(words), a.settings.get(words), b.settings.get(words)))
    if {m.name for m in a.job.models} != {m.name for m in b.job.models}:
        found.append(Difference(("models",), "suite", *([m.name for m in side.job.models] for side in (a, b))))
    other = [stage for stage in sorted({*a.code} & {*b.code}) if a.code[stage] != b.code[stage]]
    return [*found, *(Difference(("code", s), kind(("code", s)), a.code[s], b.code[s]) for s in other)]
