"""Audit of CT-Flow: claims of the text against the printed tables."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

from slicewise.benchmarks.published_ct import printed
from slicewise.report.ct.finding import Finding, cents, judged

PAPER = "CT-Flow"
FLOOR = Decimal(65)  # raw roberta-large F1 of unrelated short texts lies near 80; nothing but empty outputs goes so low
TEXT = ("rad_bleu4", "rad_rougeL", "rad_bertscore", "rad_llm_judge")
Z95 = 1.959964


def findings() -> Iterator[Finding]:
    """Claims in the order of the paper."""
    yield _best_text()
    yield _highest_average()
    yield _gains_named()
    yield _relative_gain()
    yield _success()
    yield _universal()
    yield _many_calls()
    yield _bert_floor()
    yield _constant()
    yield _ties()


def _best_text() -> Finding:
    rows = []
    others = [row for row in printed("table1") if row.words["group"] != "SFT"]
    for tuned in (row for row in printed("table1") if row.words["group"] == "SFT"):
        for column in TEXT:
            above = [o for o in others if o.values[column] > tuned.values[column]]
            rows += [(tuned.model, column, str(tuned.values[column]), o.model, str(o.values[column])) for o in above]
    text = (
        "Claim: the fine-tuned variants consistently have the best BLEU-4, ROUGE-L and BERTScore. "
        f"In Table 1, another system is better in {len(rows)} pairs (judge included)."
    )
    headers = ("Fine-tuned", "Column", "Printed", "Better", "Printed")
    verdict = judged(rows)
    return Finding(PAPER, "Fine-tuned models best in text metrics", verdict, text, headers, tuple(rows))


def _highest_average() -> Finding:
    claimed = Decimal("44.33")
    rows = tuple((r.model, str(r.values["fb_avg"])) for r in printed("table1") if r.values["fb_avg"] > claimed)
    text = f"Claim: the highest average on CT-FlowBench is {claimed}. " + (
        f"{rows[0][0]} has {rows[0][1]} in the same table." if rows else "Table 1 agrees."
    )
    verdict = judged(rows)
    return Finding(PAPER, "Highest average on CT-FlowBench", verdict, text, ("Model", "Avg."), rows)


def _gains_named() -> Finding:
    claimed = {"Gemini-3-Pro": Decimal("10.33"), "GPT-5.2": Decimal("14.00")}
    gains = {row.one_name: row.values["avg"] for row in printed("table5_printed_deltas")}
    rows = []
    for model, gain in claimed.items():
        if gains[model] != gain:
            owner = next((name for name, value in gains.items() if value == gain), "nobody")
            rows.append((model, str(gain), str(gains[model]), owner))
    text = "Claim: Gemini-3-Pro gains 10.33 and GPT-5.2 14.00 points on CT-FlowBench by the tools. " + " ".join(
        f"Table 5 gives {model} {own}; {gain} belongs to {owner}." for model, gain, own, owner in rows
    )
    headers = ("Model", "Claimed", "Table 5", "Whose it is")
    return Finding(
        PAPER, "Gains named in the text", judged(rows), text, headers, tuple(rows)
    )  # fmt: skip


def _relative_gain() -> Finding:
    values = {(row.one_name, row.words["mode"]): row.values["avg"] for row in printed("table4")}
    tuned, tools, slices = (
        values[key] for key in (("CT-Flow-8B", "finetuned"), ("Qwen3-VL-8B", "ctflow"), ("Qwen3-VL-8B", "slice"))
    )
    text = (
        f"The 41 % are {cents(100 * (tuned / tools - 1))} % of {tools}, relative, on 3D-RAD against the untuned model "
        f"with tools: {tuned - tools} points. Against its slices it is {cents(100 * (tuned / slices - 1))} %."
    )
    return Finding(PAPER, "What the 41 % are", "note", text)


def _success() -> Finding:
    rows = []
    for row in printed("table2"):
        shares = [
            100 * (1 - (row.values[f"{p}_name_err"] + row.values[f"{p}_args_err"]) / row.values[f"{p}_calls"])
            for p in ("rad", "fb")
        ]
        rows.append((row.model, *(str(cents(share)) for share in shares)))
    tuned = next(row for row in rows if row[0] == "CT-Flow-8B")
    text = (
        f"1 - (name + argument errors) / calls gives {tuned[2]} % for CT-Flow-8B on CT-FlowBench: the claimed 95 % is "
        "a share of calls, not of cases, and is rounded down."
    )
    return Finding(
        PAPER, "What the 95 % success are", "note", text, ("Model", "3D-RAD %", "CT-FlowBench %"), tuple(rows)
    )


def _universal() -> Finding:
    rows = [
        (row.model, row.words["mode"], column, str(value))
        for name in ("table4_printed_deltas", "table5_printed_deltas")
        for row in printed(name)
        for column, value in row.values.items()
        if value < 0
    ]
    accuracy = [row for row in rows if row[2].endswith("_acc") or row[2].startswith("scenario")]
    text = (
        f"Claim: the tools lift performance universally and in all scenarios. {len(rows)} printed differences are "
        f"negative, {len(accuracy)} of them accuracies, the lowest "
        f"{min(accuracy, key=lambda row: Decimal(row[3]))[3] if accuracy else 'none'}."
    )
    headers = ("Model", "Mode", "Column", "Difference")
    verdict = judged(rows)
    return Finding(PAPER, "Universal gain by tools", verdict, text, headers, tuple(rows))


def _many_calls() -> Finding:
    calls = sorted(((row.values["fb_calls"], row.one_name) for row in printed("table2")), reverse=True)
    order = [name for _, name in calls]
    place = order.index("Qwen3-VL-235B") + 1
    text = (
        f"Claim: Claude and Qwen3-VL-235B make many tool calls. On CT-FlowBench Qwen3-VL-235B is number {place} of "
        f"{len(order)} ({calls[place - 1][0]}); the most has {order[0]} ({calls[0][0]})."
    )
    verdict = judged(place > len(order) / 2)
    rows = tuple((name, str(value)) for value, name in calls)
    return Finding(PAPER, "Who calls many tools", verdict, text, ("Model", "Calls per case"), rows)


def _bert_floor() -> Finding:
    rows = [
        (row.model, row.words["mode"], column, str(value))
        for row in printed("table4")
        for column, value in row.values.items()
        if column.endswith("_bert") and value < FLOOR
    ]
    text = (
        f"{len(rows)} BERTScores of Table 4 lie under {FLOOR}, where raw roberta-large F1 of any two English texts "
        "does not go: a large part of those outputs was empty or scored 0."
    )
    headers = ("Model", "Mode", "Column", "Printed")
    return Finding(PAPER, "BERTScores below the floor", "note" if rows else "consistent", text, headers, tuple(rows))


def _constant() -> Finding:
    columns = ("scenario1", "scenario2", "scenario3")
    same = [row for row in printed("table5") if len({row.values[c] for c in columns}) == 1]
    text = (
        "; ".join(f"{row.model} scores exactly {row.values['scenario1']} in all three scenarios" for row in same)
        or "No system scores the same in all three scenarios"
    )
    return Finding(PAPER, "Equal scores in all scenarios", "note", f"{text}.")


def _ties() -> Finding:
    def half(percent: float, n: int) -> float:
        return 100 * Z95 * math.sqrt(percent / 100 * (1 - percent / 100) / n)

    top = sorted((row.values["fb_avg"] for row in printed("table1")), reverse=True)
    near = [value for value in top if 43 <= value < 45]
    text = (
        f"At 44 %, a 95 % interval is {half(44, 100):.1f} points to each side with 100 items and {half(44, 300):.1f} "
        f"with 300; 600 questions of 3D-RAD at 60 % give {half(60, 600):.1f}. So {', '.join(map(str, near))} are ties."
    )
    return Finding(PAPER, "How much the averages can tell", "note", text)
