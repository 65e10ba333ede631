"""Audit of CT-Flow's tables: averages, differences, tables against each other, and the claims of the text."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from slicewise.benchmarks.published_ct import Name, Row, printed
from slicewise.report.ct import audit_ctflow_claims as claims
from slicewise.report.ct.finding import Finding, cents, denominators, judged, mean

PAPER = "CT-Flow"
CENT = Decimal("0.01")
ASKED = 200  # questions of a task of 3D-RAD, as stated
BENCH_CASES = 300  # items of CT-FlowBench, as stated
SCENARIOS = ("scenario1", "scenario2", "scenario3")
TASKS = ("t4_acc", "t5_acc", "t6_acc")
TEXT = {"rad_bleu4": "bleu", "rad_rougeL": "rouge", "rad_bertscore": "bert"}


def findings() -> Iterator[Finding]:
    """All findings, arithmetic first."""
    yield _averages("table1", ("fb_QA", "fb_SM", "fb_DI"), "fb_avg")
    yield _averages("table4", TASKS, "avg")
    yield _averages("table5", SCENARIOS, "avg")
    yield _differences("table4")
    yield _differences("table5")
    yield _figure3()
    yield _two_runs()
    yield _text_means()
    yield _denominators()
    yield _dropped_as_wrong()
    yield _thirds()
    yield from claims.findings()


def _averages(name: Name, parts: tuple[str, ...], average: str) -> Finding:
    rows = printed(name)
    off = [
        (row.model, row.words.get("mode", ""), str(row.values[average]), str(cents(exact)))
        for row in rows
        if abs((exact := mean([row.values[part] for part in parts])) - row.values[average]) > CENT / 2 + CENT / 100
    ]
    text = f"{len(rows) - len(off)} of {len(rows)} printed averages equal the plain mean of their three columns."
    verdict = judged(off)
    return Finding(PAPER, f"Averages of {title(name)}", verdict, text, ("Model", "Mode", "Printed", "Mean"), tuple(off))


def title(name: Name) -> str:
    """``Table 4`` for ``table4_printed_deltas``."""
    number = name.split("_")[0].removeprefix("table").removeprefix("fig")
    return f"{'Figure' if name.startswith('fig') else 'Table'} {number}"


def slices_of(name: Name) -> dict[str, Row]:
    """The slice rows of Table 4 or 5 by model."""
    return {row.model: row for row in printed(name) if row.words["mode"] == "slice"}


def _differences(name: Name) -> Finding:
    values = {(row.model, row.words["mode"]): row.values for row in printed(name)}
    deltas = printed("table4_printed_deltas" if name == "table4" else "table5_printed_deltas")
    off, count = [], 0
    for row in deltas:
        for column, shown in row.values.items():
            exact = values[row.model, row.words["mode"]][column] - values[row.model, "slice"][column]
            count += 1
            if exact != shown:
                off.append((row.model, row.words["mode"], column, str(shown), str(exact)))
    text = f"{count - len(off)} of {count} printed differences equal the difference of the printed values."
    rows = ("Model", "Mode", "Column", "Printed", "Recomputed")
    verdict = judged(off)
    return Finding(PAPER, f"Printed differences of {title(name)}", verdict, text, rows, tuple(off))


def _figure3() -> Finding:
    rows = []
    tables: tuple[tuple[str, Name], ...] = (("rad", "table4"), ("fb", "table5"))
    for row in printed("fig3"):
        for prefix, table in tables:
            printed_delta = row.values[f"{prefix}_delta_printed"]
            exact = row.values[f"{prefix}_ctflow"] - row.values[f"{prefix}_slice"]
            deltas = printed("table4_printed_deltas" if table == "table4" else "table5_printed_deltas")
            theirs = next((d.values["avg"] for d in deltas if d.one_name == row.one_name), None)
            if theirs is not None and theirs != printed_delta:
                rows.append((row.model, prefix, str(printed_delta), str(exact), str(theirs)))
    tuned = next(row for row in printed("fig3") if row.one_name == "CT-Flow-8B")
    untuned = next(row for row in printed("fig3") if row.one_name == "Qwen3-VL-8B")
    same = all(tuned.values[k] == untuned.values[k] for k in ("rad_slice", "fb_slice"))
    text = f"{len(rows)} of {2 * len(printed('fig3'))} printed differences of Figure 3 differ from Tables 4 and 5. " + (
        f"The slice bars of {tuned.model} are those of the untuned {untuned.model} ({tuned.values['rad_slice']} and "
        f"{tuned.values['fb_slice']}), so its {tuned.values['rad_delta_printed']} and "
        f"{tuned.values['fb_delta_printed']} mix fine-tuning with tools."
        if same
        else ""
    )
    headers = ("Model", "Panel", "Printed in Figure 3", "Recomputed", "Printed in the table")
    verdict = judged(rows or same)
    return Finding(PAPER, "Figure 3 against Tables 4 and 5", verdict, text, headers, tuple(rows))


def _two_runs() -> Finding:
    modes = {"ctflow", "finetuned", "native3d"}
    table5 = {row.one_name: row for row in printed("table5") if row.words["mode"] in modes}
    pairs = zip(("fb_QA", "fb_SM", "fb_DI", "fb_avg"), (*SCENARIOS, "avg"), strict=True)
    columns = list(pairs)
    rows = []
    shared = 0
    for row in printed("table1"):
        other = table5.get(row.one_name)
        if other is None:
            continue
        shared += 1
        if any(row.values[a] != other.values[b] for a, b in columns):
            left = "/".join(str(row.values[a]) for a, _ in columns)
            rows.append((row.one_name, left, "/".join(str(other.values[b]) for _, b in columns)))
    text = f"{shared} systems stand in Tables 1 and 5; {len(rows)} of them with other numbers" + (
        f" ({rows[0][0]}: {rows[0][1]} against {rows[0][2]}): two different runs." if rows else "."
    )
    headers = ("Model", "Table 1: QA/SM/DI/Avg.", "Table 5")
    return Finding(
        PAPER, "Tables 1 and 5", judged(rows), text, headers, tuple(rows)
    )  # fmt: skip


def _text_means() -> Finding:
    modes = {"ctflow", "finetuned", "native3d"}
    table4 = {row.one_name: row for row in printed("table4") if row.words["mode"] in modes}
    rows, checked = [], 0
    for row in printed("table1"):
        other = table4.get(row.one_name)
        if other is None:
            continue
        checked += 1
        means = {k: mean([other.values[f"t{t}_{short}"] for t in (1, 2, 3)]) for k, short in TEXT.items()}
        if any(abs(means[key] - row.values[key]) > CENT for key in TEXT):
            printed_ = "/".join(str(row.values[key]) for key in TEXT)
            rows.append((row.one_name, printed_, "/".join(str(cents(means[key])) for key in TEXT)))
    fit = f"{checked - len(rows)} of {checked}"
    text = f"Table 1's text metrics are the means of Table 4's tasks 1 to 3 for {fit} systems."
    if rows:
        best = printed("table1")
        rival = next(row for row in best if row.one_name == "M3D-RAD")
        text += (
            f" {rows[0][0]} prints {rows[0][1]} but its tasks average to {rows[0][2]}; with those, it stands below "
            f"{rival.model} ({'/'.join(str(rival.values[key]) for key in TEXT)})."
        )
    headers = ("Model", "Table 1: BLEU-4/ROUGE-L/BERTScore", "Mean of Table 4")
    verdict = judged(rows)
    return Finding(PAPER, "Text metrics of Tables 1 and 4", verdict, text, headers, tuple(rows))


def _impossible() -> list[tuple[Row, str, int, int]]:
    """Accuracies of Table 4 that 200 questions cannot give, with the largest k/n that does."""
    found = []
    for row in printed("table4"):
        for column in TASKS:
            possible = denominators(row.values[column], ASKED)
            if possible and possible[0][1] != ASKED:
                found.append((row, column, *possible[0]))
    return found


def _denominators() -> Finding:
    found = _impossible()
    count = len(TASKS) * len(printed("table4"))
    text = (
        f"With {ASKED} questions a task only multiples of {Decimal(100) / ASKED} can be printed; {len(found)} of "
        f"{count} accuracies of Table 4 are none. The largest that fit reach from {min(n for *_, n in found)} to "
        f"{max(n for *_, n in found)}: cases were left out without a word."
    )
    rows = tuple((r.model, r.words["mode"], c, str(r.values[c]), f"{k}/{n}") for r, c, k, n in found)
    headers = ("Model", "Mode", "Column", "Printed", "Largest fit")
    return Finding(PAPER, "Silent denominators", judged(found), text, headers, rows)


def _dropped_as_wrong() -> Finding:
    right = {(row.one_name, row.words["mode"], column): k for row, column, k, _ in _impossible()}
    rows = []
    for row in printed("table4"):
        key = (row.one_name, row.words["mode"])
        hits = [right.get((*key, column), row.values[column] * ASKED / 100) for column in TASKS]
        strict = cents(mean([Decimal(100) * Decimal(hit) / ASKED for hit in hits]))
        if strict != cents(row.values["avg"]):
            rows.append((row.one_name, row.words["mode"], str(row.values["avg"]), str(strict)))
    tuned = next((row for row in rows if row[1] == "finetuned"), None)
    text = f"If the cases that are missing counted as wrong, {len(rows)} averages of Table 4 would fall"
    text += f"; the fine-tuned model's {tuned[2]} would be {tuned[3]}." if tuned else "."
    return Finding(
        PAPER, "Left-out cases counted as wrong", "note", text, ("Model", "Mode", "Printed", "Strict"), tuple(rows)
    )


def _thirds() -> Finding:
    rows = []
    for row in printed("table2"):
        for column in ("fb_calls", "fb_name_err", "fb_args_err"):
            total = row.values[column] * BENCH_CASES
            nearest = total.to_integral_value()
            if (nearest / BENCH_CASES).quantize(Decimal("0.001")) != row.values[column]:
                rows.append((row.model, column, str(row.values[column]), f"{total.normalize():f} of {BENCH_CASES}"))
    text = (
        f"Counts per case over {BENCH_CASES} items are k/{BENCH_CASES}; {len(rows)} values of Table 2 are not of that "
        "form, so their cases are fewer."
    )
    verdict = judged(rows)
    return Finding(
        PAPER, "Cases behind Table 2", verdict, text, ("Model", "Column", "Printed", "Times 300"), tuple(rows)
    )
