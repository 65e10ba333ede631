"""A run under protocol ``reference``: our samples and answers given to the released scorer's behaviour.

The room of that scorer is handed in by :mod:`slicewise.score.run`; nothing here knows its rules. What it never scores
has no value and is ``no_reference``; an answer that was never made is ``not_run`` and, as released, in no mean; a
failed call is scored by its ``[ERROR: ...]`` text, as released.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Protocol

from slicewise import artifacts
from slicewise.benchmarks.sgmri import A_TASKS, AR_TASKS, V_TASKS
from slicewise.errors import UserError
from slicewise.outcome import Outcome
from slicewise.score.paths import Paths
from slicewise.score.reasoning import Texts
from slicewise.score.rows import Row, side_by_side
from slicewise.score.schemas import IOU_THRESHOLDS
from slicewise.score.signature import signature

NEVER_SCORED = "never_scored_by_reference"
FAILED_CALL_SCORED = "failed_call_scored"
_SAMPLE_COLUMNS = (
    "level", "domain", "volume_id", "question_type", "question", "answer", "labels", "boxes",
)  # fmt: skip
_ANSWER_COLUMNS = ("text", "outcome", "error")


class Scored(Protocol):
    """What the room makes of one result."""

    scores: Mapping[str, float | None]
    answer: str | None
    grounding: Mapping[str, Any] | None
    gold_boxes: Sequence[Any]


ScoreItem = Callable[[Mapping[str, Any]], Any]


def answer_rows(paths: Paths, score_item: ScoreItem) -> Iterator[list[Row]]:
    """Rows of the A-Score."""
    constant = signature("answer", "reference", {})
    for batch in _batches(paths, A_TASKS):
        yield [
            {
                **paths.ids(sample),
                **_value(_scored(paths, score_item, sample, answer), answer, "a_score"),
                "kind": sample["question_type"],
                "gold": sample["answer"],
                "signature": constant,
            }
            for sample, answer in batch
        ]


def grounding_rows(paths: Paths, score_item: ScoreItem) -> Iterator[list[Row]]:
    """Rows of the V-Score with the released precision, recall and F1; single matches are not known."""
    constant = signature("grounding", "reference", {})
    for batch in _batches(paths, V_TASKS):
        yield [_grounding_row(paths, score_item, sample, answer, constant) for sample, answer in batch]


def texts(paths: Paths, strip: Callable[[str], str]) -> Iterator[list[Texts]]:
    """The texts that AR compares: the whole output against the answer, localization stripped as released."""
    for batch in _batches(paths, AR_TASKS):
        yield [_texts(sample, answer, strip) for sample, answer in batch]


def _batches(paths: Paths, tasks: frozenset[str]) -> Iterator[list[tuple[Row, Row]]]:
    return side_by_side(
        paths.samples, paths.answers, tasks=tasks, sample_columns=_SAMPLE_COLUMNS, parsed_columns=_ANSWER_COLUMNS
    )


def output(answer: Mapping[str, Any]) -> str | None:
    """The output as the released runners store it; ``None`` for an answer that was never made."""
    if answer["outcome"] == Outcome.API_ERROR:
        message = str(answer["error"] or "failed")
        return message if message.startswith("[ERROR") else f"[ERROR: {message}]"
    text = answer["text"]
    return None if text is None else str(text)


def result(sample: Mapping[str, Any], text: str) -> dict[str, Any]:
    """One entry of a released inference file.

    Its id tells the released scorer the level. Boxes go along on images only: on volumes that scorer reads them from
    the gold answer.
    """
    image = sample["level"] == "image"
    return {
        "sample_id": f"{sample['domain']}_{'image' if image else 'video'}_qa_{sample['sample_id']}",
        "dataset": sample["domain"],
        "level": f"{sample['level']}_level",
        "volume_id": sample["volume_id"],
        "task": sample["task"],
        "qa_type": sample["question_type"],
        "question": sample["question"],
        "gt_answer": sample["answer"],
        "labels": sample["labels"],
        "bboxes": [_xywh(box) for box in sample["boxes"]] if image else [],
        "model_output": text,
    }


def _xywh(box: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "x": box["x0"],
        "y": box["y0"],
        "width": box["x1"] - box["x0"],
        "height": box["y1"] - box["y0"],
        "label": box["label"],
    }


def _scored(paths: Paths, score_item: ScoreItem, sample: Row, answer: Row) -> Scored | None:
    text = output(answer)
    if text is None:
        return None
    try:
        scored: Scored = score_item(result(sample, text))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise UserError(
            f"{paths.answers}: {sample['sample_id']}: the released scorer stops at this answer "
            f"({type(error).__name__}: {error}); score it under protocol card, or correct the answer."
        ) from error
    return scored


def _value(scored: Scored | None, answer: Row, name: str) -> Row:
    flags = [FAILED_CALL_SCORED] if answer["outcome"] == Outcome.API_ERROR else []
    if scored is None:
        return {"value": None, "outcome": answer["outcome"], "flags": flags}
    value = scored.scores.get(name)
    if value is None:
        return {"value": None, "outcome": str(Outcome.NO_REFERENCE), "flags": [*flags, NEVER_SCORED]}
    return {"value": value, "outcome": str(Outcome.OK), "flags": flags, "reading": scored.answer}


def _grounding_row(paths: Paths, score_item: ScoreItem, sample: Row, answer: Row, constant: str) -> Row:
    scored = _scored(paths, score_item, sample, answer)
    row = {**paths.ids(sample), **_value(scored, answer, "v_score"), "signature": constant}
    row.pop("reading", None)
    grounding = scored.grounding if scored else None
    if scored is None or grounding is None:
        return {**row, "n_gold": 0 if scored else None}
    detection = grounding["detection"] or {}
    columns = {
        f"{column}_{suffix}": detection.get(f"{name}@{threshold}")
        for suffix, threshold in IOU_THRESHOLDS.items()
        for column, name in (("p", "P"), ("r", "R"), ("f1", "F1"))
    }
    n_gold = len(scored.gold_boxes)
    # Recall is hits over gold boxes, so the hits come back exactly.
    columns |= {f"tp_{suffix}": round((columns[f"r_{suffix}"] or 0.0) * n_gold) for suffix in IOU_THRESHOLDS}
    count = {"n_gold": n_gold, "n_pred": grounding["pred_count"], "n_emitted": grounding["pred_count"]}
    return {**row, **count, "iou_sum": (grounding["v_score"] or 0.0) * n_gold, **columns}


def _texts(sample: Row, answer: Row, strip: Callable[[str], str]) -> Texts:
    text, gold = output(answer), sample["answer"]
    if text is None:
        return Texts(sample["sample_id"], None, None, sample["question"], Outcome(answer["outcome"]))
    if sample["task"] == "localization":
        text, gold = strip(text), strip(gold)
    return Texts(sample["sample_id"], text, gold, sample["question"], Outcome.OK)


Combine = Callable[[str, str, float | None, Row | None], Mapping[str, Any]]


def reasoning_rows(paths: Paths, strip: Callable[[str], str], combine: Combine) -> Iterator[list[Row]]:
    """Rows of AR with the released weights, which spread over the parts that are there.

    Args:
        paths: The files of the model; its BERTScore and its judge's verdicts must have been computed.
        strip: The released stripper of localization texts.
        combine: Candidate, reference, BERTScore and the judge's row to the parts and ``ar``. The row is ``None``
            where there is no judge: a proxy is none.
    """
    path = paths.score("bertscore")
    rows = artifacts.read_rows(path, columns=["sample_id", "f1_raw", "f1_rescaled"])
    bert = {row["sample_id"]: row["f1_raw"] if row["f1_rescaled"] is None else row["f1_rescaled"] for row in rows}
    judged, judge = _judged(paths)
    constant = signature("reasoning", "reference", {"judge": judge})
    for batch in texts(paths, strip):
        yield [_reasoning_row(paths, item, bert, judged, combine, constant) for item in batch]


def _judged(paths: Paths) -> tuple[dict[str, Row], str]:
    """The released judge's rows by item and its name; none where the judge is a proxy."""
    columns = ["sample_id", "outcome", "proxy", "judge", "reply", "self_reply"]
    rows = artifacts.read_rows(paths.score("judge"), columns=columns)
    names = {row["judge"] for row in rows if not row["proxy"]}
    if not names:
        return {}, "none"
    return {row["sample_id"]: row for row in rows}, ",".join(sorted(names))


def _reasoning_row(
    paths: Paths,
    item: Texts,
    bert: Mapping[str, float | None],
    judged: Mapping[str, Row],
    combine: Combine,
    constant: str,
) -> Row:
    row = {**paths.ids({"sample_id": item.sample_id}), "flags": [], "proxy": False, "signature": constant}
    if item.outcome is not Outcome.OK:
        return {**row, "value": None, "outcome": str(item.outcome)}
    verdict = judged.get(item.sample_id)
    if verdict is not None and verdict["outcome"] == Outcome.NOT_RUN:
        return {**row, "value": None, "outcome": str(Outcome.NOT_RUN), "flags": ["missing:judge"]}
    parts = combine(*item.pair, bert.get(item.sample_id), verdict)
    released = {"judge": "gpt_score", "bertscore": "bert_score", "bleu": "bleu", "rouge_l": "rouge_l"}
    own = {name: parts[theirs] for name, theirs in released.items()}
    return {**row, "value": parts["ar"], "outcome": str(Outcome.OK), **own}
