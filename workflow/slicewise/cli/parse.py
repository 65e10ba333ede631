"""``slicewise parse``: read one model's answers, or anybody's case files."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TypeVar

import click

from slicewise.cli.common import job, settings_options
from slicewise.errors import UserError

T = TypeVar("T")
_FILE = click.Path(path_type=Path)


@click.command()
@click.option("--benchmark", metavar="ID", help="Benchmark of the answers.")
@click.option("--model", metavar="NAME", help="Model of the answers.")
@click.option("--samples", type=_FILE, help="The benchmark's samples.parquet.")
@click.option("--answers", type=_FILE, help="The model's answers.parquet.")
@click.option("--cases", type=_FILE, help="Read a case file (JSON Lines of id, kind, text, context) instead.")
@click.option("--check", type=_FILE, help="Read a case file and compare with its 'expected'.")
@click.option("--out", type=_FILE, help="Where the result goes.")
@settings_options
def parse(
    benchmark: str | None,
    model: str | None,
    samples: Path | None,
    answers: Path | None,
    cases: Path | None,
    check: Path | None,
    out: Path | None,
    settings_json: str | None,
    params_file: Path,
) -> None:
    """Read answers, texts and boxes; no inference."""
    if check is not None:
        sys.exit(_check(check))
    if cases is not None:
        _cases(cases, _required(out, "--out"))
        return
    from slicewise.jobs import ParseJob, parse_job
    from slicewise.parse.run import parse_file

    name, by = _required(benchmark, "--benchmark"), _required(model, "--model")
    settings = job(ParseJob, settings_json, params_file, lambda params: parse_job(params, name, by))
    parse_file(settings, _required(samples, "--samples"), _required(answers, "--answers"), _required(out, "--out"))


def _required(value: T | None, option: str) -> T:
    if value is None:
        raise UserError(f"slicewise parse: {option} is missing; expected it, or --cases IN --out OUT, or --check FILE.")
    return value


def _cases(path: Path, out: Path) -> None:
    from slicewise.artifacts import write_text
    from slicewise.parse.cases import answer, read_cases

    lines = [json.dumps(answer(case), ensure_ascii=False, allow_nan=False) for case in read_cases(path)]
    write_text(out, "".join(f"{line}\n" for line in lines))


def _check(path: Path) -> int:
    from slicewise.parse.cases import answer, matches, read_cases

    passed, failed, agree, differ = 0, 0, 0, 0
    for case in read_cases(path):
        if "expected" not in case.record:
            raise UserError(f"{case.where}: field 'expected' is missing; --check compares with it.")
        read = answer(case)
        good = matches(case.kind, read["value"], case.record["expected"])
        if case.record.get("ambiguous"):
            agree, differ = agree + good, differ + (not good)
        else:
            passed, failed = passed + good, failed + (not good)
        if not good:
            kind = "ambiguous, differs" if case.record.get("ambiguous") else "mismatch"
            click.echo(f"{kind}: {case.id} ({case.kind})")
            click.echo(f"  expected {json.dumps(case.record['expected'], ensure_ascii=False)}")
            click.echo(
                f"  read     {json.dumps(read['value'], ensure_ascii=False)}  [{read['outcome']}, {read['stage']}]"
            )
    if agree or differ:
        click.echo(f"ambiguous: {agree} as expected, {differ} otherwise")
    click.echo(f"{passed} passed, {failed} failed")
    return 1 if failed else 0
