"""A comparison as people read it: Markdown, CSV and Parquet."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from slicewise import artifacts
from slicewise.report import collect
from slicewise.report.compare import CHANGES, CONTRASTS, LINKS, Comparison
from slicewise.report.grids import span
from slicewise.report.render import csv_text, grid, number, percent
from slicewise.report.tables import PROXY

SHOWN = 20  # changed items in the text; all of them are in changes.csv
_WIDTH = 60


def markdown(found: Comparison) -> str:
    """Settings that differ, items that changed and why, and the difference of every score."""
    return "\n".join(part for part in _parts(found) if part)


def _parts(found: Comparison) -> Iterator[str]:
    yield f"# {found.b.name} against {found.a.name}\n"
    yield from _settings(found)
    yield from _items(found)
    yield from _scores(found)


def _settings(found: Comparison) -> Iterator[str]:
    yield "## Settings that differ\n"
    if not (found.a.settings and found.b.settings):
        lacking = ", ".join(side.name for side in (found.a, found.b) if not side.settings)
        yield f"Unknown: no params.yaml in {lacking}.\n"
    if found.settings:
        rows = [[d.name, d.kind, _word(d.a), _word(d.b)] for d in found.settings]
        yield grid(["Setting", "Concerns", "a", "b"], rows, 4)
    elif found.a.settings and found.b.settings:
        yield "None.\n"


def _items(found: Comparison) -> Iterator[str]:
    yield f"## Items that changed: {len(found.changes)}\n"
    if not found.changes:
        return
    counts: Counter[tuple[str, str, str]] = Counter()
    for row in found.changes:
        for link in row["changed"].split(", "):
            counts[(row["benchmark"], _models(row), link)] += 1
    keys = list(dict.fromkeys((benchmark, models) for benchmark, models, _ in counts))
    links = [link for link in (*LINKS, "only in a", "only in b") if any(key[2] == link for key in counts)]
    rows = [[*key, *(str(counts[(*key, link)]) for link in links)] for key in keys]
    yield grid(["Benchmark", "Model", *links], rows, 2)
    reasons = [[because, links_of, str(n)] for (because, links_of), n in found.reasons.items()]
    yield grid(["Because of", "What changed", "Items"], reasons, 2)
    first = [
        [row["sample_id"], _models(row), row["changed"], _word(row["reading_a"]), _word(row["reading_b"])]
        for row in found.changes[:SHOWN]
    ]
    yield grid(["Item", "Model", "Changed", "Read in a", "Read in b"], first, 5)
    if len(found.changes) > SHOWN:
        yield f"{len(found.changes) - SHOWN} more are in changes.csv.\n"


def _scores(found: Comparison) -> Iterator[str]:
    job = found.b.job
    yield f"## Scores x 100 on the same items; {100 * job.report.confidence:g} % CR1 t intervals, Holm over all rows\n"
    moved = [row for row in found.contrasts if row["verdict"] != "same"]
    rows = [
        [
            row["benchmark"],
            _models(row),
            collect.column_titles(row["benchmark"])[row["column"]] + PROXY * row["proxy"],
            row["verdict"],
            *(percent(_float(row[name])) for name in ("a", "b", "difference")),
            span(row["low"], row["high"]),
            number(_float(row["p"]), 4),
            number(_float(row["p_holm"]), 4),
            number(_float(row["effect_size"])),
            percent(_float(row["detectable"])),
            str(row["n"]),
        ]
        for row in moved
    ]
    headers = ["Benchmark", "Model", "Column", "Verdict", "a", "b", "b - a", "Interval", "p", "p (Holm)", "d_z"]
    if rows:
        yield grid([*headers, "Detectable", "n"], rows, 4)
    same = len(found.contrasts) - len(moved)
    if same:
        yield f"{same} of {len(found.contrasts)} scores are made of the same values.\n"


def _float(value: Any) -> float | None:
    return None if value is None else float(value)


def _models(row: dict[str, Any]) -> str:
    a, b = str(row["model_a"]), str(row["model_b"])
    return a if a == b else f"{a} -> {b}"


def _word(value: Any) -> str:
    text = "none" if value is None else str(value)
    return text if len(text) <= _WIDTH else f"{text[: _WIDTH - 3]}..."


def write(found: Comparison, folder: Path) -> list[Path]:
    """Write ``compare.md``, and the changed items and the scores as Parquet and CSV.

    Returns:
        The files.
    """
    artifacts.write_text(folder / "compare.md", markdown(found))
    settings = [{"setting": d.name, "concerns": d.kind, "a": _plain(d.a), "b": _plain(d.b)} for d in found.settings]
    artifacts.write_text(folder / "settings.csv", csv_text(("setting", "concerns", "a", "b"), settings))
    written = [folder / "compare.md", folder / "settings.csv"]
    tables: Sequence[tuple[str, Any, Any]] = (
        ("changes", found.changes, CHANGES),
        ("scores", found.contrasts, CONTRASTS),
    )
    for name, rows, schema in tables:
        table = artifacts.write_rows(folder / f"{name}.parquet", rows, schema)
        columns = [column for column in schema.names if column != "position"]
        artifacts.write_text(folder / f"{name}.csv", csv_text(columns, table.to_pylist()))
        written += [folder / f"{name}.parquet", folder / f"{name}.csv"]
    return written


def _plain(value: Any) -> str:
    return "" if value is None else str(value)
