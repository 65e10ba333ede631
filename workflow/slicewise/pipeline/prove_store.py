"""The replies behind a number: every key that an artifact names is in the store, sound, and says what was used."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from slicewise import artifacts, layout
from slicewise.jobs import ReportJob, ReportModel
from slicewise.llm.records import Record, read_shard

SHARDS = layout.STORE / "shards"
OWN = ("baseline", "file")  # backends whose answers no language model was asked for


def faults(job: ReportJob, root: Path) -> Iterator[tuple[str, str, str]]:
    """(Subject, state, detail) of every shard, and of every reply that a file of the run names."""
    stored: dict[str, Record] = {}
    for path in sorted((root / SHARDS).glob("*.jsonl")):
        name = (SHARDS / path.name).as_posix()
        found, wrong = read_shard(path)
        if artifacts.sha256_file(path) != path.stem:
            wrong = [f"{name}: its content does not match its name", *wrong]
        for fault in wrong[:3]:
            yield name, "broken", fault
        if not wrong:
            yield name, "holds", f"{len(found)} replies"
        for record in found:
            old = stored.get(record.key)
            stored[record.key] = record if old is None or record.rank < old.rank else old
    for benchmark in job.benchmarks:
        for model in job.models:
            if model.backend not in OWN:
                yield from _replies(root, stored, layout.answers(benchmark, model.name), "text", "request_key")
            yield from _replies(root, stored, layout.score(benchmark, model.name, "judge"), "reply", "request_key")


def _replies(root: Path, stored: dict[str, Record], path: Path, text: str, key: str) -> Iterator[tuple[str, str, str]]:
    """Every reply of one file that is missing from the store or is another text there."""
    if not (root / path).is_file():
        return
    read = artifacts.read_rows(root / path)
    told = [*read, *({**m, "sample_id": row["sample_id"]} for row in read for m in row.get("members") or ())]
    rows = [row for row in told if row[key] and row[text] is not None]
    wrong = 0
    for row in rows:
        record = stored.get(row[key])
        if record is None:
            detail = f"the reply {row[key][:12]} of {row['sample_id']} is in no shard; run `slicewise store share`"
        elif artifacts.storable(record.reply.text or "") != row[text]:
            detail = f"the reply {row[key][:12]} of {row['sample_id']} reads otherwise in the store"
        else:
            continue
        wrong += 1
        if wrong <= 3:
            yield path.as_posix(), "broken", detail
    if rows and not wrong:
        yield path.as_posix(), "holds", f"{len(rows)} replies in the store"


def keys(root: Path, benchmark: str, model: ReportModel, metrics: Sequence[str]) -> list[str]:
    """The store keys of the answers behind a model's numbers and, with AR among the metrics, of the verdicts."""
    paths = [] if model.backend in OWN else [layout.answers(benchmark, model.name)]
    if "reasoning" in metrics:
        paths.append(layout.score(benchmark, model.name, "judge"))
    found: set[str] = set()
    for path in paths:
        if (root / path).is_file():
            rows = artifacts.read_rows(root / path)
            found |= {row["request_key"] for row in rows} | {
                m["request_key"] for r in rows for m in r.get("members") or ()
            }
    return sorted(key for key in found if key)
