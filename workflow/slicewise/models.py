"""What is declared of a model: how it answers, and what its answers look like."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import Field, model_validator

from slicewise.endpoints import Endpoint
from slicewise.geometry import Convention
from slicewise.settings import Name, Settings

BASELINES = ("oracle", "blank", "always-yes", "majority", "random", "prior-box", "blob", "blind-rules")


class ModelBase(Settings):
    """What every model declares.

    Attributes:
        name: The model's name in folders and tables.
        title: How tables print it; the name when absent.
        bbox_convention: How the model writes boxes; declared per checkpoint, never inferred.
        frame_base: The number that the model's text gives to the first frame shown.
    """

    name: Name
    title: str | None = None
    bbox_convention: Convention = Convention.ABS_XYWH_ORIGINAL
    frame_base: Literal[0, 1] = 1


class BaselineModel(ModelBase):
    """A rule or a small classical method that answers in text like any model."""

    backend: Literal["baseline"]
    baseline: Literal["oracle", "blank", "always-yes", "majority", "random", "prior-box", "blob", "blind-rules"]
    seed: int = 0


class FileModel(ModelBase):
    """Answers made elsewhere: CSV or JSONL of ``id, text``, or a released inference file.

    ``path`` may hold ``{benchmark}``, which is replaced by the benchmark's id.
    """

    backend: Literal["file"]
    path: str


class OpenAIModel(ModelBase):
    """A model behind an OpenAI-compatible endpoint.

    Attributes:
        endpoint: Where it is served, how it samples, what it costs.
        prompt: ``minimal`` (the question and nothing else) or ``icl`` (role, contract and one worked example).
        view: ``as_shown``; ``text_only`` sends no image (a blind control); ``shuffled_slices`` shows the slices of a
            volume in a seeded random order under the usual numbering (a control for the use of slice order).
        seed: Seed of the shuffled order.
    """

    backend: Literal["openai"]
    endpoint: Endpoint
    prompt: Literal["minimal", "icl"] = "minimal"
    view: Literal["as_shown", "text_only", "shuffled_slices"] = "as_shown"
    seed: int = 0


class AgentLimits(Settings):
    """When an agent must stop, and how much of its conversation stays.

    Attributes:
        steps: Tool calls a question.
        tokens: Tokens of all requests and replies of a question together.
        seconds: Wall time a question; reaching it is a failure of the machinery, which a later run resumes.
        images: Newest pictures that stay in the conversation.
        observation: Characters of an observation's text.
        reformat: How often in a row a turn that breaks the format may be sent again.
    """

    steps: int = Field(15, ge=1, le=200)
    tokens: int = Field(400_000, ge=1000)
    seconds: float = Field(1800.0, gt=0)
    images: int = Field(4, ge=0, le=50)
    observation: int = Field(4500, ge=200)
    reformat: int = Field(1, ge=0, le=5)


ToolClass = Literal[2, 3, 4]


def _all_classes() -> list[ToolClass]:
    return [2, 3, 4]


class AgentModel(ModelBase):
    """CT-Flow: tools over a volume, around a language model or steered by a fixed protocol.

    Attributes:
        policy: ``model`` (a language model decides) or ``protocol`` (a fixed clinical protocol, without any model).
        of: Name of the declared language model to wrap, or
        endpoint: where one is served.
        tool_classes: Classes of tools that are switched on beside class 1 (ingestion), which always is.
        limits: When it must stop.
        draw: Number of the repeat, for several runs of one question.
    """

    backend: Literal["agent"]
    policy: Literal["model", "protocol"] = "model"
    of: Name | None = None
    endpoint: Endpoint | None = None
    tool_classes: list[ToolClass] = Field(default_factory=_all_classes)
    limits: AgentLimits = AgentLimits()
    draw: int = Field(0, ge=0)

    @model_validator(mode="after")
    def _one_model(self) -> Self:
        given = [name for name in ("of", "endpoint") if getattr(self, name) is not None]
        if self.policy == "model" and len(given) != 1:
            raise ValueError(f"models: agent '{self.name}' needs exactly one of 'of' and 'endpoint'; found {given}")
        if self.policy == "protocol" and given:
            raise ValueError(f"models: agent '{self.name}' follows a protocol and takes no '{given[0]}'")
        return self


AnyModel = BaselineModel | FileModel | OpenAIModel | AgentModel
Model = Annotated[AnyModel, Field(discriminator="backend")]
