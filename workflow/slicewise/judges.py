"""What is declared of a judge: something that rates how well a text says what a reference says."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from slicewise.endpoints import Endpoint
from slicewise.settings import Name, Settings


class ProxyJudge(Settings):
    """An embedding-based stand-in for a judge: offline, marked ``proxy`` wherever its numbers show."""

    kind: Literal["proxy"]
    encoder: Name


class LlmJudge(Settings):
    """A language model that rates a text from 1 to 10 for accuracy, relevance and helpfulness.

    Attributes:
        endpoint: Where it is served, how it samples, what it costs.
        rubric: ``card`` (the question is shown, the verdict is JSON) or ``released`` (protocol ``reference``: three
            numbers, divided by what the judge gives the reference itself).
    """

    kind: Literal["llm"]
    endpoint: Endpoint
    rubric: Literal["card", "released"] = "card"


class PanelJudge(Settings):
    """Several judges whose mean counts; what each one says is kept."""

    kind: Literal["panel"]
    members: list[Name] = Field(min_length=2)


Judge = Annotated[ProxyJudge | LlmJudge | PanelJudge, Field(discriminator="kind")]
