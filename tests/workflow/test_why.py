"""What would run and why, from the words of a dry run."""

from __future__ import annotations

import pytest
from slicewise.pipeline import why

NAMED = [{"name": "x", "v": 1}, {"name": "y", "v": 1}]
SAID = """Building DAG of jobs...
Job stats:
job      count
score    1

[Mon Nov 30 11:32:43 2026]
rule score_model:
    input: a.parquet, b.parquet
    output: results/score/x/m/grounding.parquet
    log: logs/score/x/m/grounding.log
    jobid: 60
    benchmark: benchmarks_out/score/x/m/grounding.tsv
    reason: Params have changed since last execution: before: 'a' now: 'b'; Updated input files: a.parquet
    wildcards: benchmark=x, model=m, metric=grounding
    resources: tmpdir=/tmp
[Mon Nov 30 11:32:43 2026]
localrule data_demo:
    output: data/demo/manifest.json, data/demo/other.json
    jobid: 3
    benchmark: benchmarks_out/data/demo.tsv
    reason: Missing output files: data/demo/manifest.json
    resources: tmpdir=/tmp
[Mon Nov 30 11:32:43 2026]
localrule all:
    input: results/x
    jobid: 0
    reason: Input files updated by another job: results/x
"""


def test_the_jobs_of_a_dry_run() -> None:
    score, demo = why.parse(SAID)
    assert (score.rule, score.outputs) == ("score_model", ("results/score/x/m/grounding.parquet",))
    assert score.timing == "score/x/m/grounding"
    assert demo.outputs == ("data/demo/manifest.json", "data/demo/other.json")
    assert demo.reason == "Missing output files: data/demo/manifest.json"
    assert list(why.parse("Nothing to be done (all requested files are present and up to date).")) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        ({"a": 1}, {"a": 1}, []),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": 1, "c": 3}}, ["a.c: 2 -> 3"]),
        ({"a": 1}, {}, ["a: 1 -> null"]),
        ({"m": NAMED}, {"m": [{"name": "y", "v": 2}, NAMED[0]]}, ["m.y.v: 1 -> 2"]),
        ({"l": ["x"]}, {"l": ["x", "y"]}, ['l: ["x"] -> ["x", "y"]']),
    ],
)  # fmt: skip
def test_settings_that_changed_are_named(old: object, new: object, expected: list[str]) -> None:
    assert list(why.differences(old, new)) == expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        (
            "Config MD5: 1\nBuilding DAG...\nMissingRuleException:\nNo rule to produce x (if).\nUsing p.\n",
            "MissingRuleException: No rule to produce x (if).",
        ),
        ("Error: No Snakefile found, tried Snakefile.\n", "Error: No Snakefile found, tried Snakefile."),
        ("something\nelse\n", "something else"),
    ],
)
def test_what_a_failed_dry_run_says(said: str, expected: str) -> None:
    assert why.fault(said) == expected
