"""Rows of ``choice``: accuracy of the multiple-choice tasks on CT, with every case in the denominator."""

from __future__ import annotations

from collections.abc import Iterator

from slicewise.benchmarks.ct import RAD3D_CLOSED, SCENARIOS
from slicewise.score import answer_rows
from slicewise.score.paths import Paths
from slicewise.score.rows import Row, parser_version, side_by_side
from slicewise.score.signature import signature

TASKS = (*SCENARIOS, *RAD3D_CLOSED)


def rows(protocol: str, paths: Paths) -> Iterator[list[Row]]:
    """One row per multiple-choice item; a reading that failed has no value and counts 0 in the mean.

    Raises:
        UserError: A file is missing or does not fit.
    """
    constant = signature("choice", protocol, {"parser": parser_version(paths.parsed), **paths.declared})
    batches = side_by_side(
        paths.samples, paths.parsed, tasks=TASKS, sample_columns=answer_rows.SAMPLE_COLUMNS,
        parsed_columns=answer_rows.PARSED_COLUMNS,
    )  # fmt: skip
    none = answer_rows.Cosines()
    for batch in batches:
        yield [
            {**paths.ids(sample), **answer_rows.answer_row(sample, parsed, none), "signature": constant}
            for sample, parsed in batch
        ]
