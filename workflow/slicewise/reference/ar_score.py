"""AR-Score of the released scorer: judge, BERTScore, BLEU and ROUGE-L with weights that spread themselves.

The judge and the encoder come from outside as :class:`ArHooks`; BLEU is NLTK's and ROUGE-L rouge_score's, as
released. The released judge prompt is not reproduced: :func:`judge_prompt` is worded by this project after
the description (three ratings from 1 to 10 for accuracy, relevance and helpfulness, the question not shown),
so replies, and with them AR, are comparable with the published ones in their arithmetic only.

Source: recorded behaviour of the released evaluator (see ``docs/reference-protocol.md``).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, TypedDict

JUDGE_WEIGHT = 0.4


class JudgeFailure(Exception):
    """Raised by a judge hook when the call itself failed; the released scorer counts that as 0.0."""


@dataclass(frozen=True, slots=True)
class ArHooks:
    """What AR needs from outside.

    Attributes:
        judge: Prompt to reply text, raising :class:`JudgeFailure` when there is none; None when no judge is
            configured. Any other exception is a fault of the machinery and passes through.
        bert_f1: (candidate, reference) to rescaled BERTScore F1, or None when it is unavailable.
    """

    judge: Callable[[str], str] | None = None
    bert_f1: Callable[[str, str], float | None] | None = None


class ArParts(TypedDict):
    """AR and its parts; a part that is None was dropped and its weight spread over the rest."""

    gpt_score: float | None
    bert_score: float | None
    bleu: float | None
    rouge_l: float | None
    ar: float | None


def bleu(candidate: str, reference: str) -> float:
    """Sentence BLEU-4, NLTK method 1, on lower-cased white-space tokens; 0 when either side is empty.

    Args:
        candidate: Model text.
        reference: Gold text.

    Returns:
        A value in [0, 1]; below 1 for identical texts of fewer than four tokens.
    """
    from nltk.translate.bleu_score import SmoothingFunction, sentence_bleu

    tokens, gold_tokens = candidate.lower().split(), reference.lower().split()
    if not tokens or not gold_tokens:
        return 0.0
    return float(sentence_bleu([gold_tokens], tokens, smoothing_function=SmoothingFunction().method1))


def rouge_l(candidate: str, reference: str) -> float:
    """ROUGE-L F with the Porter stemmer.

    Args:
        candidate: Model text.
        reference: Gold text.

    Returns:
        A value in [0, 1]; 0 when either side has no token.
    """
    return float(_rouge_scorer().score(reference, candidate)["rougeL"].fmeasure)


def judge_prompt(candidate: str, reference: str) -> str:
    """Build the judge's prompt, in this project's words (see the module's docstring).

    Args:
        candidate: The text to be rated.
        reference: The gold text.

    Returns:
        The prompt; the reply must be three numbers separated by commas.
    """
    return (
        "Rate a radiology answer by comparing it with the reference answer.\n\n"
        f"Reference answer:\n{reference}\n\n"
        f"Answer to rate:\n{candidate}\n\n"
        "Give three whole numbers from 1 to 10: how accurate the answer is, how relevant it is to the question, "
        "and how helpful it is. Reply with the three numbers only, separated by commas, for example: 5,5,5"
    )


def judge_ratings(reply: str) -> float | None:
    """Read a judge's reply as released: split at commas, each part a bare number.

    Args:
        reply: The judge's text.

    Returns:
        The mean of three numbers divided by 10, whatever their range; None when there are not exactly three.

    Raises:
        ValueError: When a part is not a bare number ("7/10", "**7**", "Accuracy: 7", an empty reply).
    """
    numbers = [float(part) for part in reply.strip().split(",")]
    return sum(numbers) / 3 / 10 if len(numbers) == 3 else None


def gpt_score(candidate: str, reference: str, judge: Callable[[str], str] | None) -> float | None:
    """Judge the candidate, judge the reference against itself, and divide.

    Args:
        candidate: The text to be rated.
        reference: The gold text.
        judge: The judge hook, or None when there is no judge.

    Returns:
        The ratio, capped at 1; 0.0 when a call fails or a reply does not read as numbers; None without a judge
        or when the candidate's reply has another count of numbers than three. Without a usable self-rating the
        candidate's own rating is kept (inferred, not recorded).
    """
    if judge is None:
        return None
    try:
        rating = judge_ratings(judge(judge_prompt(candidate, reference)))
        if rating is None:
            return None
        own = judge_ratings(judge(judge_prompt(reference, reference)))
    except (JudgeFailure, ValueError):
        return 0.0
    return min(rating / own if own and own > 0 else rating, 1.0)


def ar_score(prediction: str, gold: str, hooks: ArHooks) -> ArParts:
    """Score one text against its gold answer.

    With a judge, it weighs 0.4 and the text metrics that are there share 0.6; without one they share 1. Nothing
    is clipped below: a negative BERTScore lowers AR. An empty gold text is scored like any other.

    Args:
        prediction: Model text; localization texts are stripped of locations by the caller.
        gold: Gold answer; the gold reasoning is never used.
        hooks: Judge and encoder.

    Returns:
        The parts and AR.
    """
    judged = gpt_score(prediction, gold, hooks.judge)
    bert = hooks.bert_f1(prediction, gold) if hooks.bert_f1 else None
    parts = {"bert_score": bert, "bleu": bleu(prediction, gold), "rouge_l": rouge_l(prediction, gold)}
    present = [value for value in parts.values() if value is not None]
    share = (1.0 if judged is None else 1.0 - JUDGE_WEIGHT) / len(present)
    total = sum(share * value for value in present)
    if judged is not None:
        total += JUDGE_WEIGHT * judged
    return {
        "gpt_score": judged,
        "bert_score": bert,
        "bleu": parts["bleu"],
        "rouge_l": parts["rouge_l"],
        "ar": total,
    }


@cache
def _rouge_scorer() -> Any:
    from rouge_score import rouge_scorer

    return rouge_scorer.RougeScorer(["rougeL"], use_stemmer=True)
