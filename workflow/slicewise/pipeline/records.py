"""Snakemake's records of how each file was made, and its marks on files that are not finished."""

from __future__ import annotations

from base64 import urlsafe_b64decode
from collections.abc import Iterable, Iterator
from pathlib import Path

METADATA = Path(".snakemake/metadata")
INCOMPLETE = Path(".snakemake/incomplete")
IN_GIT = "results/report/metrics.json"


def files(folder: Path) -> Iterator[tuple[str, Path]]:
    """The recorded path of every record of a folder, and the record's own file.

    Snakemake names a record by the URL-safe base64 of the path; a name longer than the file system allows is cut
    into folders that start with ``@``.
    """
    if not folder.is_dir():
        return
    for path in sorted(folder.rglob("*")):
        if path.is_file() and path.name != "migration_underway":
            parts = path.relative_to(folder).parts
            encoded = "".join(part.removeprefix("@") for part in parts)
            yield urlsafe_b64decode(encoded).decode(), path


def traced(root: Path) -> set[str]:
    """The paths whose making is recorded."""
    return {path for path, _ in files(root / METADATA)}


def incomplete(root: Path) -> set[str]:
    """The paths that a job had started to write when its run was cut off."""
    return {path for path, _ in files(root / INCOMPLETE)}


def untraced(wanted: Iterable[str], root: Path) -> list[str]:
    """Those of the wanted files that exist, finished, although nothing records how they were made.

    Snakemake cannot tell whether such a file belongs to the settings, and would take it as it is. A file that git
    holds comes with every clone, ahead of its records, and is made again together with those that DVC holds.
    """
    known = traced(root) | incomplete(root) | {IN_GIT}
    return [path for path in wanted if path not in known and (root / path).exists()]


def remove(paths: Iterable[str], root: Path) -> None:
    """Drop the records and the marks of some paths."""
    unwanted = set(paths)
    for folder in (root / METADATA, root / INCOMPLETE):
        for path, record in list(files(folder)):
            if path in unwanted:
                record.unlink()
