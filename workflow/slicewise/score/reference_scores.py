"""What the released scorer makes of each item, as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import pyarrow as pa

from slicewise import artifacts

THRESHOLDS = ("0.1", "0.25", "0.5")

REFERENCE_SCORES = artifacts.table_schema(
    "reference_scores",
    [
        ("position", pa.int64(), False),  # in the file, after the drop of doubled questions
        ("sample_id", pa.string(), False),
        *((name, pa.string(), False) for name in ("dataset", "level", "qa_type", "task")),
        *((name, pa.float64(), True) for name in ("a_score", "ar_score", "v_score", "map")),
        ("answer", pa.string(), True),  # the text that A was computed on
        ("n_pred", pa.int32(), True),
        ("n_gold", pa.int32(), True),
        *((f"{name}@{t}", pa.float64(), True) for t in THRESHOLDS for name in ("P", "R", "F1")),
        *((name, pa.float64(), True) for name in ("gpt_score", "bert_score", "bleu", "rouge_l")),
        ("signature", pa.string(), False),
    ],
    ["position"],
)


def reference_rows(items: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Rows of :data:`REFERENCE_SCORES` from the items of the reference room, as dictionaries of their fields."""
    return [_reference_row(position, item) for position, item in enumerate(items)]


def _reference_row(position: int, item: Mapping[str, Any]) -> dict[str, Any]:
    grounding, ar = item["grounding"] or {}, item["ar"] or {}
    detection = grounding.get("detection") or {}
    return {
        "position": position,
        "sample_id": item["sample_id"],
        **item["groups"],
        **{name: item["scores"].get(name) for name in ("a_score", "ar_score", "v_score", "map")},
        "answer": item["answer"],
        "n_pred": len(item["pred_boxes"]) if grounding else None,
        "n_gold": len(item["gold_boxes"]) if grounding else None,
        **{f"{name}@{t}": detection.get(f"{name}@{t}") for t in THRESHOLDS for name in ("P", "R", "F1")},
        **{name: ar.get(name) for name in ("gpt_score", "bert_score", "bleu", "rouge_l")},
        "signature": "released scorer|protocol:reference",
    }
