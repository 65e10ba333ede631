"""From every number of a paper table back to its inputs, link by link; each link holds, is broken, or is not here.

The chain of a number: the printed cell, the table's Parquet row, the rows of one score file per item, that file's
hash in ``dvc.lock``, the settings and the digest of the code that made it (Snakemake's record), the readings and
answers behind it likewise, the store keys of answers and verdicts, and the fingerprint of the items. Raw data need
not be here: its hash in the lock is the last link.
"""

from __future__ import annotations

import ast
import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from slicewise import artifacts, jobs, layout, params
from slicewise.benchmarks import ct, sgmri
from slicewise.errors import UserError
from slicewise.jobs import ReportJob, ReportModel
from slicewise.params import PARAMS_FILE, Params
from slicewise.pipeline import lockfile, prove_numbers, prove_store, records, rules, targets
from slicewise.pipeline.digest import PACKAGE, ROOT
from slicewise.pipeline.lockfile import Lock
from slicewise.pipeline.revision import digest_of
from slicewise.report import run

HOLDS, BROKEN, RECORDED = "holds", "broken", "recorded"
# Outputs whose files a number is made of; the others need not be here.
NEEDED = ("results/data", "results/infer", "results/parse", "results/score", "results/report/tables")
Made = dict[str, tuple[str, str]]  # path to the settings and the code digest that make it


@dataclass(frozen=True, slots=True)
class Link:
    """One link of the chains.

    Attributes:
        name: Which link, such as ``lock``.
        subject: The file, the setting or the number that it is about.
        state: ``holds``; ``broken``; or ``recorded``: not here, the lock holds its hash.
        detail: What was found, or what to do.
    """

    name: str
    subject: str
    state: str
    detail: str = ""

    def __str__(self) -> str:
        """``lock: results/score/... is not as recorded``."""
        return f"{self.name}: {self.subject}{f': {self.detail}' if self.detail else ''}"


@dataclass(frozen=True)
class Proof:
    """What a proof found.

    Attributes:
        links: Every link that was checked.
        numbers: One entry per number of a table: where it stands, what it is, and its chain.
    """

    links: list[Link]
    numbers: list[dict[str, Any]] = field(default_factory=list)

    @property
    def broken(self) -> list[Link]:
        """The broken links."""
        return [link for link in self.links if link.state == BROKEN]

    @property
    def recorded(self) -> list[Link]:
        """What is not here."""
        return [link for link in self.links if link.state == RECORDED]


def prove(root: Path, tables: Sequence[str] | None = None) -> Proof:
    """Check every link behind the tables of a run.

    Args:
        root: The project, or a clone of it.
        tables: Benchmarks whose numbers are listed; all by default. The links are checked as a whole.

    Raises:
        UserError: There is no lock or no settings, or a table is unknown.
    """
    lock = lockfile.read(root)
    settings = params.load(root / PARAMS_FILE)
    job = jobs.report_job(settings)
    wanted = _wanted(job, tables)
    made = expected(root, settings, job)
    links = [*_versions(root), *_settings(root, lock), *_lock(root, lock), *_records(root, made)]
    links += [Link("store", *fault) for fault in prove_store.faults(job, root)]
    links += [Link("items", *fault) for fault in _items(job, root)]
    checked = prove_numbers.Checked([], []) if run.is_ct(job) else prove_numbers.check(job, root)
    if run.is_ct(job):
        links.append(Link("number", "CT tables", RECORDED, "only their files are checked, no number is computed again"))
    links += [Link("number", fault.subject, BROKEN, fault.detail) for fault in checked.faults]
    numbers = [_chain(root, lock, made, job, number) for number in checked.numbers if number["benchmark"] in wanted]
    return Proof(links, numbers)


def _wanted(job: ReportJob, tables: Sequence[str] | None) -> list[str]:
    levels = {b: None if ct.is_ct(b) else sgmri.benchmark(b).level for b in job.benchmarks}
    names = sorted({*levels, *filter(None, levels.values())})
    for table in tables or ():
        if table not in names:
            raise UserError(f"prove: the run has no table '{table}'; expected one of {names}.")
    return [b for b, level in levels.items() if not tables or b in tables or level in tables]


# --- versions, settings, files --------------------------------------------------------------------------------------


def _versions(root: Path) -> Iterator[Link]:
    """The records themselves are those of a version."""
    names = (lockfile.FILE.as_posix(), "dvc.yaml", PARAMS_FILE.as_posix())
    wrong = dict(lockfile.unversioned(root, names))
    for name in names:
        yield Link("version", name, BROKEN if name in wrong else HOLDS, wrong.get(name, ""))


def _settings(root: Path, lock: Lock) -> Iterator[Link]:
    now = params.read(root / PARAMS_FILE)
    for stage, then in lock.params.items():
        different = list(_different(then, now, ""))
        detail = f"stage '{stage}' ran with other settings: {', '.join(different[:3])}"
        yield Link("settings", PARAMS_FILE.as_posix(), BROKEN if different else HOLDS, detail if different else stage)


def _different(then: Any, now: Any, where: str) -> Iterator[str]:
    if isinstance(then, dict) and isinstance(now, dict):
        for key in sorted({*then, *now}, key=str):
            yield from _different(then.get(key), now.get(key), f"{where}.{key}" if where else str(key))
    elif then != now:
        yield where or "all of it"


def _lock(root: Path, lock: Lock) -> Iterator[Link]:
    """Every output is as recorded, every stage read what the one before it wrote, and the code is the recorded one."""
    cache = lockfile.cache_of(root)
    for path in (*NEEDED, records.METADATA.as_posix()):
        if path not in lock.outs:
            yield Link("lock", path, BROKEN, f"{lockfile.FILE} does not record it: run `slicewise commit`")
    for path, recorded in lock.outs.items():
        yield from _output(root, path, recorded, cache)
    for (stage, path), recorded in lock.deps.items():
        if path in lock.outs and lock.outs[path] != recorded:
            yield Link("lock", path, BROKEN, f"stage '{stage}' read another version of it ({recorded})")
        elif path not in lock.outs and (root / path).exists():
            state = HOLDS if lockfile.changed(root, path, recorded, cache) == [] else BROKEN
            yield Link(
                "code", path, state, f"stage '{stage}' ran with another version of it" if state == BROKEN else ""
            )


def _output(root: Path, path: str, recorded: str, cache: Path | None) -> Iterator[Link]:
    found = lockfile.changed(root, path, recorded, cache)
    if found is None:
        needed = path in (*NEEDED, records.METADATA.as_posix())
        detail = f"is not here; run `dvc pull {path}`" if needed else f"is not here; recorded as {recorded}"
        yield Link("lock", path, BROKEN if needed else RECORDED, detail)
    elif not found:
        yield Link("lock", path, HOLDS, recorded)
    for name in found or ():
        here = (root / name).exists()
        detail = f"is not what {lockfile.FILE} records" if here else f"is not here; run `dvc pull {path}`"
        yield Link("lock", name, BROKEN, detail)


# --- records: the settings and the code behind each file --------------------------------------------------------------


def _records(root: Path, made: Made) -> Iterator[Link]:
    known = dict(records.files(root / records.METADATA))
    for path, (cfg, digest) in made.items():
        if path not in known:
            yield Link("record", path, BROKEN, "nothing records how it was made; run `dvc pull .snakemake/metadata`")
            continue
        record = json.loads(known[path].read_text(encoding="utf-8"))
        wrong = []
        if cfg not in values(record):
            wrong.append("other settings than params.yaml says")
        if digest_of(record) != digest:
            wrong.append("other code than lies here")
        yield Link("record", path, BROKEN if wrong else HOLDS, f"made with {' and '.join(wrong)}" if wrong else digest)


def values(record: dict[str, Any]) -> list[str]:
    """The values of a rule's params, as they were before Snakemake quoted them."""
    return [str(ast.literal_eval(value)) for value in record.get("params") or () if str(value)[:1] in "'\""]


def expected(root: Path, settings: Params, job: ReportJob) -> Made:
    """Path of every file behind the tables to the settings and the code digest that make it.

    The code is the one that lies in the project; the installed package where the project has none.
    """
    folder = root / "workflow"
    place = folder if (folder / PACKAGE).is_dir() else ROOT
    made: Made = {}
    for benchmark in job.benchmarks:
        code = partial(_digest, rules.data_code, benchmark, root=place)
        made[layout.samples(benchmark).as_posix()] = (rules.data(settings, benchmark), code())
        for model in job.models:
            made |= _of_model(settings, benchmark, model, job.protocol, place)
    tables = layout.table("cells", "parquet")
    if tables in run.table_outputs(job):
        made[tables.as_posix()] = (rules.report(settings), _digest(rules.report_code, settings, "tables", root=place))
    return made


def _of_model(settings: Params, benchmark: str, model: ReportModel, protocol: str, place: Path) -> Made:
    answers, parsed = layout.answers(benchmark, model.name), layout.parsed(benchmark, model.name)
    code = partial(_digest, rules.code, root=place)
    made: Made = {
        answers.as_posix(): (rules.infer(settings, benchmark, model.name), code("infer", model.backend)),
        parsed.as_posix(): (rules.parse(settings, benchmark, model.name), code("parse")),
    }
    for metric in targets.metrics(benchmark):
        path = layout.score(benchmark, model.name, metric).as_posix()
        made[path] = (rules.score(settings, benchmark, metric), code("score", metric, protocol))
    return made


def _digest(compute: Callable[..., str], *arguments: Any, root: Path) -> str:
    """A digest, or ``unknown`` where the project's package has other modules than the one that checks it."""
    try:
        return compute(*arguments, root=root)
    except ValueError:
        return "unknown"


# --- items and chains -----------------------------------------------------------------------------------------------


def _items(job: ReportJob, root: Path) -> Iterator[tuple[str, str, str]]:
    """The fingerprint of each benchmark's items is the one that was noted when they were built."""
    for benchmark in job.benchmarks:
        path, noted = root / layout.samples(benchmark), root / layout.data_summary(benchmark)
        if not (path.is_file() and noted.is_file()):
            continue  # already named as not here
        table = artifacts.canonical(artifacts.read_table(path, artifacts.SAMPLES), artifacts.SAMPLES)
        found = artifacts.logical_digest(table)
        wanted = json.loads(noted.read_text(encoding="utf-8"))["fingerprint"]
        state = HOLDS if found == wanted else BROKEN
        yield layout.samples(benchmark).as_posix(), state, wanted if state == HOLDS else "other items than were built"


def _chain(root: Path, lock: Lock, made: Made, job: ReportJob, number: dict[str, Any]) -> dict[str, Any]:
    """A number with everything that it comes from."""
    benchmark, model = number["benchmark"], number["model"]
    (declared,) = (m for m in job.models if m.name == model)
    metrics = sorted({column.metric for column in sgmri.COLUMNS[sgmri.benchmark(benchmark).level]})
    columns = {column.key: column.metric for column in sgmri.COLUMNS[sgmri.benchmark(benchmark).level]}
    used = metrics if number["column"] == sgmri.AVERAGE else [columns[number["column"]]]
    parts = [part for metric in used for part in rules.PARTS.get(metric, ())]
    paths = [
        *(layout.score(benchmark, model, metric) for metric in (*used, *parts)),
        layout.parsed(benchmark, model),
        layout.answers(benchmark, model),
        layout.samples(benchmark),
    ]
    chain = [
        {
            "file": path.as_posix(),
            "md5": lockfile.md5_file(root / path) if (root / path).is_file() else None,
            "in": next((out for out in lock.outs if path.as_posix().startswith(f"{out}/")), None),
            "settings": artifacts.sha256_json(made[path.as_posix()][0]),
            "code": made[path.as_posix()][1],
        }
        for path in paths
    ]
    return {**number, "files": chain, "store_keys": prove_store.keys(root, benchmark, declared, used)}
