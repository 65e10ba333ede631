"""What is declared of a judge: something that rates how well a text says what a reference says."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Annotated, Literal

from pydantic import Field

from slicewise.endpoints import Endpoint
from slicewise.settings import Name, Settings, known


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


def check_judges(judges: Mapping[str, Judge], encoders: Collection[str]) -> None:
    """Make sure that a proxy's encoder and a panel's members exist; members rate under the card's rubric.

    Raises:
        ValueError: One does not.
    """
    rating = [name for name, judge in judges.items() if isinstance(judge, LlmJudge) and judge.rubric == "card"]
    for name, judge in judges.items():
        if isinstance(judge, ProxyJudge):
            known(f"judges.{name}.encoder", judge.encoder, encoders)
        if isinstance(judge, PanelJudge):
            for member in judge.members:
                known(f"judges.{name}.members", member, rating)
            if len(set(judge.members)) != len(judge.members):
                raise ValueError(f"judges.{name}.members: a judge is listed twice in {judge.members}")


def check_suite_judges(suite: str, judge: str, released_judge: str | None, judges: Mapping[str, Judge]) -> None:
    """Make sure that a suite's judges exist and that each stands where its rubric belongs.

    Raises:
        ValueError: One does not.
    """
    known(f"suites.{suite}.judge", judge, judges)
    released = [name for name, one in judges.items() if isinstance(one, LlmJudge) and one.rubric == "released"]
    if judge in released:
        raise ValueError(f"suites.{suite}.judge: '{judge}' has rubric 'released'; name it under 'released_judge'")
    if released_judge is not None:
        known(f"suites.{suite}.released_judge", released_judge, released)
