"""AR: what is compared, and how the parts make one number."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from slicewise.outcome import MACHINE_FAILURES, MODEL_FAILURES, Outcome
from slicewise.score import reasoning
from slicewise.score.reasoning import Part

UNIT = st.floats(0, 1)
OUTCOMES = st.sampled_from([o for o in Outcome if o is not Outcome.OK])
PARTS = st.one_of(UNIT.map(lambda v: Part(v, Outcome.OK)), OUTCOMES.map(lambda o: Part(None, o)), st.none())


def parts(**values: float | Outcome | None) -> dict[str, Part | None]:
    return {
        name: Part(None, value) if isinstance(value, Outcome) else None if value is None else Part(value, Outcome.OK)
        for name, value in values.items()
    }


@pytest.mark.parametrize(
    ("judge", "bertscore", "bleu", "rouge_l", "value"),
    [
        (1, 1, 1, 1, 1.0),
        (0, 0, 0, 0, 0.0),
        (1, 0, 0, 0, 0.4),
        (0, 1, 0, 0, 0.2),
        (0, 0, 1, 0, 0.2),
        (0, 0, 0, 1, 0.2),
        (0.7, 0.5, 0.1, 0.3, 0.46),
    ],
)
def test_weights(judge: float, bertscore: float, bleu: float, rouge_l: float, value: float) -> None:
    combined = reasoning.combine(parts(judge=judge, bertscore=bertscore, bleu=bleu, rouge_l=rouge_l))
    assert combined.value == pytest.approx(value, abs=1e-12)
    assert combined.outcome is Outcome.OK


@pytest.mark.parametrize("missing", ["judge", "bertscore", "bleu", "rouge_l"])
def test_a_missing_part_makes_ar_null_with_its_outcome(missing: str) -> None:
    values: dict[str, Any] = {"judge": 1.0, "bertscore": 1.0, "bleu": 1.0, "rouge_l": 1.0, missing: Outcome.JUDGE_ERROR}
    combined = reasoning.combine(parts(**values))
    assert (combined.value, combined.outcome) == (None, Outcome.JUDGE_ERROR)
    assert combined.flags == (f"missing:{missing}",)


def test_a_part_without_a_row_is_not_run() -> None:
    combined = reasoning.combine(parts(judge=None, bertscore=1.0, bleu=1.0, rouge_l=1.0))
    assert (combined.value, combined.outcome) == (None, Outcome.NOT_RUN)


def test_a_failure_of_the_machinery_wins() -> None:
    combined = reasoning.combine(
        parts(judge=Outcome.EMPTY, bertscore=Outcome.EMPTY, bleu=Outcome.API_ERROR, rouge_l=1.0)
    )
    assert combined.outcome is Outcome.API_ERROR


def test_an_output_that_failed_as_a_whole_needs_no_flags() -> None:
    failed = dict.fromkeys(("judge", "bertscore", "bleu", "rouge_l"), Outcome.REFUSED)
    assert reasoning.combine(parts(**failed)) == reasoning.Combined(None, Outcome.REFUSED)


@given(st.fixed_dictionaries(dict.fromkeys(("judge", "bertscore", "bleu", "rouge_l"), PARTS)))
def test_laws(given_parts: dict[str, Part | None]) -> None:
    combined = reasoning.combine(given_parts)
    complete = all(part and part.value is not None for part in given_parts.values())
    assert (combined.value is not None) == complete == (combined.outcome is Outcome.OK)
    if combined.value is not None:
        assert 0 <= combined.value <= 1
    elif any(part and part.outcome in MACHINE_FAILURES for part in given_parts.values()):
        assert combined.outcome in MACHINE_FAILURES


def strip(text: str) -> str:
    return text.replace("<box>", "").strip()


def sample(**changes: Any) -> dict[str, Any]:
    return {"sample_id": "x", "task": "captioning", "question": "?", "answer": "gold", "reasoning": "why", **changes}


def texts(text: str | None = "seen", outcome: str = "ok", reference: str = "answer", **changes: Any) -> reasoning.Texts:
    return reasoning.texts(sample(**changes), {"text": text, "text_outcome": outcome}, reference, strip)


class TestTexts:
    def test_visible_output_against_gold_answer(self) -> None:
        assert texts().pair == ("seen", "gold")

    def test_reasoning_joins_the_reference_on_request(self) -> None:
        assert texts(reference="answer+reasoning").pair == ("seen", "gold why")
        assert texts(reference="answer+reasoning", reasoning=None).pair == ("seen", "gold")

    def test_localization_is_stripped_on_both_sides(self) -> None:
        assert texts("left <box>", task="localization", answer="right <box>").pair == ("left", "right")
        assert texts("left <box>", answer="right <box>").pair == ("left <box>", "right <box>")

    def test_empty_after_stripping_is_compared_and_flagged(self) -> None:
        found = texts("<box>", task="localization")
        assert (found.pair, found.outcome, found.flags) == (("", "gold"), Outcome.OK, ("empty_after_stripping",))

    def test_empty_reference(self) -> None:
        found = texts(task="localization", answer="<box>")
        assert (found.candidate, found.outcome) == (None, Outcome.NO_REFERENCE)

    @pytest.mark.parametrize("outcome", sorted(MODEL_FAILURES | MACHINE_FAILURES))
    def test_failures_are_carried_even_over_an_empty_reference(self, outcome: Outcome) -> None:
        found = texts(None, str(outcome), task="localization", answer="<box>")
        assert (found.candidate, found.outcome) == (None, outcome)
        with pytest.raises(ValueError, match="nothing to compare"):
            _ = found.pair
