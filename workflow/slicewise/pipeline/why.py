"""What would run and why: Snakemake's reasons in words, DVC's changes beside them, and what it took last time."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from slicewise import jobs, params
from slicewise.errors import UserError
from slicewise.params import PARAMS_FILE, Params
from slicewise.pipeline import lockfile, prove, provenance, records, rules
from slicewise.pipeline.revision import digest_of

_BLOCK = re.compile(r"^(?:local)?(?:rule|checkpoint) (?P<rule>\w+):\n(?P<body>(?:[ \t]+.*\n?)+)", re.MULTILINE)
_FAULT = re.compile(r"^(?:\w+Exception|\w*Error|slicewise: error)\b.*(?:\n.+)?", re.MULTILINE)
_FIELD = re.compile(r"^[ \t]+(?P<name>output|benchmark|reason): (?P<value>.*)$", re.MULTILINE)
# How Snakemake's reasons begin, and what they say.
_WORDS = (
    ("Missing output files", "has no result yet"),
    ("Input files updated by another job", "its inputs change"),
    ("Updated input files", "its inputs changed"),
    ("Set of input files has changed", "it has other inputs"),
    ("Code has changed", "its command changed"),
    ("Params have changed", "its settings or its code changed"),
    ("Software", "its software environment changed"),
    ("Forced", "it is forced"),
    ("Incomplete", "its last run was cut off"),
)


@dataclass(frozen=True, slots=True)
class Job:
    """A job that would run.

    Attributes:
        rule: Its rule.
        outputs: What it makes.
        reason: As Snakemake puts it.
        timing: Name of its last timing.
    """

    rule: str
    outputs: tuple[str, ...]
    reason: str
    timing: str


@dataclass(frozen=True, slots=True)
class Line:
    """Jobs of one rule that would run for one reason.

    Attributes:
        rule: The rule.
        reason: In words; settings that changed are named with both values.
        jobs: How many.
        seconds: What those that have run before took, together.
        untimed: How many have no timing.
    """

    rule: str
    reason: str
    jobs: int
    seconds: float
    untimed: int


def would_run(root: Path, targets: Sequence[str] = ()) -> list[Job]:
    """The jobs that Snakemake would run.

    Raises:
        UserError: The dry run failed.
    """
    command = [sys.executable, "-m", "snakemake", "--dry-run", "--cores", "1", *(("--", *targets) if targets else ())]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    said = done.stdout + done.stderr
    if done.returncode != 0:
        raise UserError(f"why: `snakemake --dry-run` failed: {fault(said)}")
    return list(parse(said))


def fault(said: str) -> str:
    """The error in the words of a dry run that failed, on one line; where none is seen, how they end."""
    found = _FAULT.search(said)
    return " ".join(found[0].split())[:300] if found else " ".join(said.split())[-300:]


def parse(said: str) -> Iterator[Job]:
    """The jobs in the words of a dry run; a target without outputs is no job."""
    for block in _BLOCK.finditer(said):
        fields = {match["name"]: match["value"] for match in _FIELD.finditer(block["body"])}
        if "output" in fields:
            outputs = tuple(part.split(" (")[0] for part in fields["output"].split(", "))
            timing = Path(fields.get("benchmark", "")).with_suffix("").as_posix().partition("/")[2]
            yield Job(block["rule"], outputs, fields.get("reason", ""), timing)


def lines(root: Path, found: Sequence[Job]) -> list[Line]:
    """The jobs by rule and reason, in the order in which they would run."""
    known = dict(records.files(root / records.METADATA))
    settings = params.load(root / PARAMS_FILE)
    job = jobs.report_job(settings)
    made = prove.expected(root, settings, job)
    took = provenance.timings(root / provenance.TIMINGS)
    grouped: dict[tuple[str, str], list[Job]] = {}
    for one in found:
        cfg, code = made.get(one.outputs[0]) or _other(one.rule, settings)
        record = known.get(one.outputs[0])
        changes = list(_changes(json.loads(record.read_text(encoding="utf-8")), cfg, code)) if record else []
        grouped.setdefault((one.rule, _reason(one.reason, changes)), []).append(one)
    return [_line(rule, reason, members, took) for (rule, reason), members in grouped.items()]


def _other(rule: str, settings: Params) -> tuple[str | None, str]:
    """Settings and code digest of a job that is behind no number itself; what is not known is left out."""
    if rule == "data_demo":
        return rules.demo(settings), rules.code("demo")
    return (rules.report(settings) if rule.startswith("report_") else None), ""


def _line(rule: str, reason: str, members: Sequence[Job], took: Mapping[str, Mapping[str, float]]) -> Line:
    known = [took[job.timing]["seconds"] for job in members if "seconds" in took.get(job.timing, {})]
    return Line(rule, reason, len(members), sum(known), len(members) - len(known))


def _reason(said: str, changes: Sequence[str]) -> str:
    words = []
    for part in said.split("; "):
        phrase = next((word for start, word in _WORDS if part.startswith(start)), None)
        if phrase is not None and not (changes and part.startswith("Params")):
            words.append(phrase)
    return "; ".join(dict.fromkeys((*changes, *words))) or " ".join(said.split())[:80]


def _changes(record: dict[str, Any], cfg: str | None, code: str) -> Iterator[str]:
    """How the settings and the code of a job differ from those that its record holds."""
    old = next((value for value in prove.values(record) if value.startswith("{")), None)
    if old is not None and cfg is not None and old != cfg:
        yield from differences(json.loads(old), json.loads(cfg))
    if code and digest_of(record) != code:
        yield "its code changed"


def differences(old: Any, new: Any, where: str = "") -> Iterator[str]:
    """``name: old -> new`` of every setting that differs; lists of named things are compared by name."""
    old, new = (_named(value) for value in (old, new))
    if isinstance(old, dict) and isinstance(new, dict):
        for key in sorted({*old, *new}):
            yield from differences(old.get(key), new.get(key), f"{where}.{key}" if where else str(key))
    elif old != new:
        yield f"{where}: {_short(old)} -> {_short(new)}"


def _named(value: Any) -> Any:
    if isinstance(value, list) and value and all(isinstance(x, dict) and "name" in x for x in value):
        return {x["name"]: x for x in value}
    return value


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 40 else f"{text[:37]}..."


def versions(root: Path) -> Iterator[str]:
    """What differs from the last version in DVC, one phrase per line; nothing when all is as recorded.

    What is not here differs from nothing.
    """
    if not (root / lockfile.FILE).is_file():
        yield f"no version is recorded: there is no {lockfile.FILE}"
        return
    lock = lockfile.read(root)
    now = params.read(root / PARAMS_FILE)
    then = next((value for value in lock.params.values() if value is not None), None)
    yield from (f"params.yaml: {change}" for change in differences(then, now))
    cache = lockfile.cache_of(root)
    recorded = {path: md5 for (_, path), md5 in lock.deps.items()} | dict(lock.outs)
    for path, md5 in recorded.items():
        names = lockfile.changed(root, path, md5, cache)
        if names:
            yield f"{path}: {len(names)} file(s) such as {names[0]}" if names != [path] else path
