"""The store as one Parquet table and as totals, for analysis."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa

from slicewise import artifacts
from slicewise.llm.records import Record
from slicewise.llm.store import Store

CALLS = artifacts.declare(
    "calls",
    [
        ("key", pa.string(), False),
        ("provider", pa.string(), True),
        ("model", pa.string(), True),
        ("draw", pa.int32(), False),
        ("prompt", pa.string(), False),  # the texts of all messages; an image stands as <image sha256>
        ("text", pa.string(), True),
        ("finish_reason", pa.string(), True),
        ("served_model", pa.string(), True),
        ("refusal", pa.string(), True),
        ("prompt_tokens", pa.int64(), True),
        ("completion_tokens", pa.int64(), True),
        ("cached_tokens", pa.int64(), True),
        ("cost", pa.float64(), True),
    ],
    ["key"],
)


def export(store: Store, path: Path) -> int:
    """Write every sound record to a Parquet file, sorted by key, without times; returns how many."""
    rows = [_row(record) for record in store.records()]
    artifacts.write_rows(path, rows, CALLS)
    return len(rows)


def _row(record: Record) -> dict[str, Any]:
    request = json.loads(record.request)
    reply = record.reply
    return {
        "key": record.key,
        "provider": request["deployment"].get("provider"),
        "model": request["deployment"].get("model"),
        "draw": request["draw"],
        "prompt": artifacts.storable("\n".join(_texts(request["messages"]))),
        "text": None if reply.text is None else artifacts.storable(reply.text),
        "finish_reason": reply.finish_reason,
        "served_model": reply.served_model,
        "refusal": reply.refusal,
        "prompt_tokens": reply.prompt_tokens,
        "completion_tokens": reply.completion_tokens,
        "cached_tokens": reply.cached_tokens,
        "cost": reply.cost,
    }


def _texts(messages: list[dict[str, Any]]) -> list[str]:
    texts: list[str] = []
    for message in messages:
        for part in message["parts"]:
            words = part["text"] if part["type"] == "text" else f"<image {part['sha256']}>"
            texts.append(f"[{message['role']}] {words}")
    return texts


def summarise(store: Store) -> dict[str, dict[str, Any]]:
    """Calls, tokens and cost by served deployment; a call without a declared price counts as unpriced."""
    totals: dict[str, dict[str, Any]] = {}
    for record in store.records():
        model = str(json.loads(record.request)["deployment"].get("model", "?"))
        row = totals.setdefault(
            model,
            {"calls": 0, "prompt_tokens": 0, "completion_tokens": 0, "cached_tokens": 0, "cost": 0.0, "unpriced": 0},
        )
        row["calls"] += 1
        for name in ("prompt_tokens", "completion_tokens", "cached_tokens"):
            row[name] += getattr(record.reply, name) or 0
        if record.reply.cost is None:
            row["unpriced"] += 1
        else:
            row["cost"] += record.reply.cost
    return dict(sorted(totals.items()))
