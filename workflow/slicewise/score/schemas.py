"""The columns of each metric's file: the value, its outcome, and the sufficient statistics behind it."""

from __future__ import annotations

import pyarrow as pa

from slicewise.artifacts import score_schema

Fields = list[tuple[str, pa.DataType, bool]]

IOU_THRESHOLDS = {"10": 0.1, "25": 0.25, "50": 0.5}  # column suffix -> IoU from which a match is a detection
_FLOATS = pa.list_(pa.field("item", pa.float64(), nullable=False))
_OFFSETS = pa.list_(pa.field("item", pa.int32(), nullable=False))

_ANSWER: Fields = [
    ("kind", pa.string(), False),  # what was asked for: yes_no, single_choice, ...
    ("reading", pa.string(), True),  # canonical reading of the answer; null when nothing could be read
    ("gold", pa.string(), True),  # canonical reading of the gold; null when the gold cannot be read
    ("keyword_recall", pa.float64(), True),  # open-ended only
    ("similarity", pa.float64(), True),  # open-ended only: the cosine before it is clipped at 0
]
_BERTSCORE: Fields = [
    ("precision", pa.float64(), True),
    ("recall", pa.float64(), True),
    ("f1_raw", pa.float64(), True),
    ("f1_rescaled", pa.float64(), True),  # before clipping; null when no baseline is used
]
_MEMBER = pa.struct(
    [
        pa.field("judge", pa.string(), nullable=False),
        pa.field("value", pa.float64()),
        pa.field("outcome", pa.string(), nullable=False),
        pa.field("accuracy", pa.float64()),
        pa.field("relevance", pa.float64()),
        pa.field("helpfulness", pa.float64()),
        pa.field("reply", pa.string()),
        pa.field("request_key", pa.string()),
    ]
)
_JUDGE: Fields = [
    ("accuracy", pa.float64(), True),
    ("relevance", pa.float64(), True),
    ("helpfulness", pa.float64(), True),
    ("judge", pa.string(), False),
    ("proxy", pa.bool_(), False),
    ("reply", pa.string(), True),  # what a language model wrote
    ("self_reply", pa.string(), True),  # what it wrote of the reference itself (released judge)
    ("request_key", pa.string(), True),  # of the call in the response store
    ("members", pa.list_(_MEMBER), True),  # of a panel
]
_REASONING: Fields = [
    ("judge", pa.float64(), True),
    ("bertscore", pa.float64(), True),
    ("bleu", pa.float64(), True),
    ("rouge_l", pa.float64(), True),
    ("proxy", pa.bool_(), False),
]
# Null throughout where the protocol or the outcome leaves a number unknown.
_GROUNDING: Fields = [
    ("n_gold", pa.int32(), True),  # boxes that V expects
    ("n_gold_excluded", pa.int32(), True),  # gold without area
    ("n_pred", pa.int32(), True),  # after exact duplicates collapse
    ("n_emitted", pa.int32(), True),  # as written
    ("n_matched", pa.int32(), True),
    ("iou_sum", pa.float64(), True),
    ("ious", _FLOATS, True),  # one per gold box, 0 where unmatched
    ("v_precision_aware", pa.float64(), True),
    *(
        field
        for suffix in IOU_THRESHOLDS
        for field in (
            (f"tp_{suffix}", pa.int32(), True),
            (f"p_{suffix}", pa.float64(), True),
            (f"r_{suffix}", pa.float64(), True),
            (f"f1_{suffix}", pa.float64(), True),
        )
    ),
    ("frame_precision", pa.float64(), True),
    ("frame_recall", pa.float64(), True),
    ("frame_f1", pa.float64(), True),
    ("frame_offsets", _OFFSETS, True),
    ("false_positives_on_normal", pa.int32(), True),
]

_INTS = pa.list_(pa.field("item", pa.int32(), nullable=False))
_CT_TEXT: Fields = [  # value: BLEU-4 of the sample, effective order
    ("bleu1", pa.float64(), True),
    ("bleu4_unsmoothed", pa.float64(), True),
    ("ceiling", pa.float64(), True),  # bleu4_unsmoothed of the reference against itself
    ("rouge_l", pa.float64(), True),
    ("value_right", pa.bool_(), True),  # number and unit; null where the gold has no number
    ("matched", _INTS, True),  # n-grams shared with the reference, by order
    ("total", _INTS, True),  # n-grams of the candidate, by order
    ("candidate_tokens", pa.int32(), True),
    ("reference_tokens", pa.int32(), True),
]
_TOOL_USE: Fields = [  # value: share of calls with a right name and right arguments
    *(
        (name, pa.int32(), False)
        for name in (
            "calls", "name_errors", "argument_errors", "domain_errors", "format_errors", "repaired",
            "claim_before_load", "picture_not_interpreted", "raw_coordinates", "missing_unit", "turns",
        )
    ),
    ("tokens", pa.int64(), False),
    ("sop_agreement", pa.float64(), True),
    ("excess_calls", pa.int32(), True),
    ("order_violations", pa.int32(), True),
]  # fmt: skip

EXTRA: dict[str, Fields] = {
    "answer": _ANSWER,
    "similarity": [],
    "bleu": [],
    "rouge_l": [],
    "bertscore": _BERTSCORE,
    "judge": _JUDGE,
    "reasoning": _REASONING,
    "grounding": _GROUNDING,
    "choice": _ANSWER,
    "ct_text": _CT_TEXT,
    "tool_use": _TOOL_USE,
}


def schema(metric: str) -> pa.Schema:
    """Schema of a metric's file, one row per sample to which the metric applies."""
    return score_schema(metric, EXTRA[metric])
