"""Two sets of results side by side: which settings differ, which items changed and why, and what that did to scores."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa

from slicewise import artifacts, layout
from slicewise.benchmarks import sgmri
from slicewise.errors import UserError
from slicewise.report import blind, collect
from slicewise.report import statistics as st
from slicewise.report.cells import DECIMALS
from slicewise.report.sides import Difference, Side, differences

METRICS = {"answer": "A", "reasoning": "AR", "grounding": "V"}
ALPHA = 0.05
# The links of an item's chain, and the kinds of settings that can change each of them.
LINKS = {
    "item": ("items",),
    "answer": ("model", "prompt", "frames sent"),
    "reading": ("parser",),
    "A": ("encoder", "scoring"),
    "AR": ("judge", "encoder", "scoring"),
    "V": ("scoring",),
}
_CODE = {  # the code that can change a score, among all code of the stage
    "A": ("score.answer", "score.similarity"),
    "AR": tuple(f"score.{name}" for name in ("reasoning", "bleu", "rouge_l", "bertscore", "judge")),
    "V": ("score.grounding",),
}
_ITEM = ("question", "question_type", "options", "answer", "reasoning", "labels", "boxes", "frames")
_ANSWER = ("text", "outcome")
_READING = (
    *("kind", "answer", "letters", "count", "answer_outcome"),
    *("text", "text_outcome", "boxes", "boxes_outcome", "rejected"),
)

CHANGES = artifacts.table_schema(
    "changes",
    [
        ("benchmark", pa.string(), False),
        ("model_a", pa.string(), False),
        ("model_b", pa.string(), False),
        ("sample_id", pa.string(), False),
        ("task", pa.string(), False),
        ("changed", pa.string(), False),  # of item, answer, reading, A, AR, V; or only in a, only in b
        ("because", pa.string(), False),  # the settings that differ and can change the first link that changed
        ("text_a", pa.string(), True),
        ("text_b", pa.string(), True),
        ("reading_a", pa.string(), True),
        ("reading_b", pa.string(), True),
        *((f"{m}_{side}", pa.float64(), True) for m in METRICS.values() for side in "ab"),
        *((f"{m}_outcome_{side}", pa.string(), True) for m in METRICS.values() for side in "ab"),
    ],
    ["benchmark", "model_a", "model_b", "sample_id"],
)
CONTRASTS = artifacts.table_schema(
    "contrasts",
    [
        ("position", pa.int64(), False),
        ("benchmark", pa.string(), False),
        ("model_a", pa.string(), False),
        ("model_b", pa.string(), False),
        ("column", pa.string(), False),
        ("a", pa.float64(), True),  # mean over the pairs
        ("b", pa.float64(), True),
        ("difference", pa.float64(), True),  # b - a
        ("low", pa.float64(), True),  # CR1 and Student t
        ("high", pa.float64(), True),
        ("p", pa.float64(), True),  # sign-flip permutation by volume, two-sided
        ("p_holm", pa.float64(), True),  # over all comparisons of the table
        ("effect_size", pa.float64(), True),  # d_z over volumes
        ("detectable", pa.float64(), True),
        ("n", pa.int64(), False),  # pairs
        ("clusters", pa.int64(), False),
        ("moved", pa.int64(), False),  # pairs whose two values differ
        ("only_a", pa.int64(), False),  # items in the mean of one side only
        ("only_b", pa.int64(), False),
        ("verdict", pa.string(), False),  # better | worse | not shown | same | not tested
        ("proxy", pa.bool_(), False),
    ],
    ["position"],
)
ANOTHER = "another model"
UNKNOWN = "no setting that is known differs"


@dataclass(frozen=True)
class Comparison:
    """Everything that :func:`compare` found.

    Attributes:
        a: One side.
        b: The other; differences are b - a.
        settings: The settings and the code that differ.
        changes: Rows of ``CHANGES``, one per changed item and model.
        contrasts: Rows of ``CONTRASTS``.
    """

    a: Side
    b: Side
    settings: list[Difference]
    changes: list[dict[str, Any]]
    contrasts: list[dict[str, Any]]

    @property
    def worse(self) -> list[dict[str, Any]]:
        """The comparisons in which b is worse than a, corrected p below 0.05."""
        return [row for row in self.contrasts if row["verdict"] == "worse"]

    @property
    def reasons(self) -> dict[tuple[str, str], int]:
        """(Reason, links that changed) to the number of items, the most first."""
        return dict(Counter((row["because"], row["changed"]) for row in self.changes).most_common())


def compare(a: Side, b: Side, pairs: Sequence[tuple[str, str]] | None = None) -> Comparison:
    """Compare two sides on the items and models that they share.

    Args:
        a: One side.
        b: The other; differences are b - a.
        pairs: Which model of a stands against which of b; by default each against itself.

    Raises:
        UserError: The sides share no benchmark or no model, or a file is missing.
    """
    benchmarks = [name for name in a.job.benchmarks if name in b.job.benchmarks]
    names = {m.name for m in b.job.models}
    pairs = list(pairs or ((m.name, m.name) for m in a.job.models if m.name in names))
    for where, found, side in (("model", pairs, b), ("benchmark", benchmarks, b)):
        if not found:
            raise UserError(f"compare: {a.name} and {side.name} share no {where}; expected at least one in both.")
    _check(a, [pair[0] for pair in pairs])
    _check(b, [pair[1] for pair in pairs])
    settings = differences(a, b)
    changes = [row for name in benchmarks for pair in pairs for row in _changes(a, b, name, pair, settings)]
    return Comparison(a, b, settings, changes, _contrasts(a, b, benchmarks, pairs))


def _check(side: Side, models: Sequence[str]) -> None:
    known = [model.name for model in side.job.models]
    for model in models:
        if model not in known:
            raise UserError(f"compare: {side.name} has no model '{model}'; expected one of {known}.")


# --- items ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Chains:
    """One model's rows by sample, from item to scores."""

    items: Mapping[str, Mapping[str, Any]]
    answers: Mapping[str, Mapping[str, Any]]
    parsed: Mapping[str, Mapping[str, Any]]
    scores: Mapping[str, Mapping[str, Mapping[str, Any]]]


def _chains(side: Side, benchmark: str, model: str) -> _Chains:
    def rows(path: Path) -> dict[str, Mapping[str, Any]]:
        full = side.root / path
        return {row["sample_id"]: row for row in artifacts.read_rows(full)} if full.is_file() else {}

    scores = {title: rows(layout.score(benchmark, model, metric)) for metric, title in METRICS.items()}
    answers, parsed = rows(layout.answers(benchmark, model)), rows(layout.parsed(benchmark, model))
    return _Chains(rows(layout.samples(benchmark)), answers, parsed, scores)


def _changes(
    a: Side, b: Side, benchmark: str, pair: tuple[str, str], settings: Sequence[Difference]
) -> Iterator[dict[str, Any]]:
    one, other = _chains(a, benchmark, pair[0]), _chains(b, benchmark, pair[1])
    mine = [d for d in settings if d.model in (None, *pair)]
    for key in sorted({*one.items, *other.items}):
        changed = list(_links(one, other, key))
        if changed:
            item = one.items.get(key) or other.items[key]
            yield {
                "benchmark": benchmark,
                "model_a": pair[0],
                "model_b": pair[1],
                "sample_id": key,
                "task": item["task"],
                "changed": ", ".join(changed),
                "because": _because(changed[0], mine) if pair[0] == pair[1] else ANOTHER,
                **_shown(one, key, "a"),
                **_shown(other, key, "b"),
            }


def _links(one: _Chains, other: _Chains, key: str) -> Iterator[str]:
    """The links of an item's chain that differ, in their order."""
    if (key in one.items) != (key in other.items):
        yield "only in a" if key in one.items else "only in b"
        return
    for link, a, b, names in (
        ("item", one.items, other.items, _ITEM),
        ("answer", one.answers, other.answers, _ANSWER),
        ("reading", one.parsed, other.parsed, _READING),
        *((title, one.scores[title], other.scores[title], ("value", "outcome")) for title in METRICS.values()),
    ):
        left, right = a.get(key), b.get(key)
        if (left is None) != (right is None) or (
            left is not None and right is not None and any(left[name] != right[name] for name in names)
        ):
            yield link


def _because(link: str, settings: Sequence[Difference]) -> str:
    """The settings that differ and can change a link; those of the items where an item is on one side only."""
    kinds = LINKS.get(link, LINKS["item"])
    names = [
        d.name for d in settings if d.kind in kinds and (d.words[0] != "code" or d.words[1] in _CODE.get(link, d.words))
    ]
    return ", ".join(names) or UNKNOWN


def _shown(chains: _Chains, key: str, side: str) -> dict[str, Any]:
    parsed = chains.parsed.get(key)
    answer = chains.answers.get(key)
    shown: dict[str, Any] = {
        f"text_{side}": answer["text"] if answer else None,
        f"reading_{side}": reading(parsed) if parsed else None,
    }
    for title, rows in chains.scores.items():
        row = rows.get(key)
        shown[f"{title}_{side}"] = row["value"] if row else None
        shown[f"{title}_outcome_{side}"] = row["outcome"] if row else None
    return shown


def reading(parsed: Mapping[str, Any]) -> str:
    """What was read, as one line: the answer, the boxes, or why there is none."""
    if parsed["kind"] != "none":
        return str(parsed["answer"] if parsed["answer"] is not None else parsed["answer_outcome"])
    if parsed["boxes"]:
        return "; ".join(_box(box) for box in parsed["boxes"])
    return str(parsed["text"] if parsed["text"] is not None else parsed["text_outcome"])


def _box(box: Mapping[str, Any]) -> str:
    corners = ", ".join(f"{box[name]:.6g}" for name in ("x0", "y0", "x1", "y1"))
    return f"{'no frame' if box['frame'] is None else 'frame ' + str(box['frame'] + 1)} [{corners}]"


# --- scores ---------------------------------------------------------------------------------------------------------


def _contrasts(a: Side, b: Side, benchmarks: list[str], pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    one, other = counted(a, benchmarks), counted(b, benchmarks)
    rows: list[dict[str, Any]] = []
    for benchmark in benchmarks:
        left, right = one[one["benchmark"] == benchmark], other[other["benchmark"] == benchmark]
        volumes = np.unique(np.concatenate([left["volume_id"].to_numpy(str), right["volume_id"].to_numpy(str)]))
        for x, y in pairs:
            mine, theirs = left[left["model"] == x], right[right["model"] == y]
            for column in collect.columns(benchmark):
                named = {"benchmark": benchmark, "model_a": x, "model_b": y, "column": column}
                proxy = collect.is_proxy(a.job, column) or collect.is_proxy(b.job, column)
                members = collect.columns(benchmark)[:-1] if column == sgmri.AVERAGE else [column]
                rows.append({**named, **contrast(mine, theirs, volumes, members, b), "proxy": proxy})
    return judged(rows)


def judged(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The rows numbered, with Holm's correction over all of them and a verdict each."""
    adjusted = st.holm([row["p"] for row in rows])
    return [
        {**row, "position": i, "p_holm": None if p is None else round(p, DECIMALS), "verdict": _verdict(row, p)}
        for i, (row, p) in enumerate(zip(rows, adjusted, strict=True))
    ]


def counted(side: Side, benchmarks: list[str]) -> pd.DataFrame:
    """The items of a side that enter a mean."""
    items = collect.items(side.job.model_copy(update={"benchmarks": benchmarks}), side.root)
    return items[items["counted"]]


def contrast(
    mine: pd.DataFrame, theirs: pd.DataFrame, volumes: np.ndarray[Any, Any], members: list[str], side: Side
) -> dict[str, Any]:
    """Their mean minus mine over the pairs of one column, or of the plain mean over several for Avg.

    Args:
        mine: Counted items of one model, as :func:`counted` gives them.
        theirs: The same of the other.
        volumes: All volumes, sorted.
        members: Keys of the columns.
        side: Whose report settings give confidence and seed.
    """
    x, y = (frame[frame["column"].isin(members)] for frame in (mine, theirs))
    both = x.merge(y[["sample_id", "column", "x"]], on=["sample_id", "column"], suffixes=("", "_y"))
    row: dict[str, Any] = {
        **dict.fromkeys(("a", "b", "difference", "low", "high", "p", "effect_size", "detectable")),
        "n": 0,
        "clusters": 0,
        "moved": int((both["x"] != both["x_y"]).sum()),
        "only_a": len(x) - len(both),
        "only_b": len(y) - len(both),
    }
    paired = blind.pair(y, x, volumes, members)
    if paired is None:
        return row
    means = both.groupby("column")[["x", "x_y"]].mean().mean()
    found = {"a": round(float(means["x"]), DECIMALS), "b": round(float(means["x_y"]), DECIMALS)}
    return {**row, **found, **blind.contrast(paired, side.job), "n": paired.n, "clusters": paired.parts.size}


def _verdict(row: Mapping[str, Any], p: float | None) -> str:
    if p is None:
        return "not tested"
    if row["moved"] == 0:
        return "same"
    if p >= ALPHA:
        return "not shown"
    return "better" if row["difference"] > 0 else "worse"
