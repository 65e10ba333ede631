"""Results that the settings do not make are removed, so that what is stored depends on the settings alone.

Snakemake leaves the files of a model that was dropped from the settings where they are. Tracked as they are, they
would make the stored bytes depend on the order of past runs.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

from slicewise import layout
from slicewise.errors import UserError
from slicewise.params import Params
from slicewise.pipeline import lock, records, targets

DEMO = Path("data/demo")
CHEST = "chest"  # below it: the phantoms of another benchmark
SHARDS = layout.STORE / "shards"  # replies by content: never pruned
_KEPT = (".gitignore", ".gitkeep")


def prune(
    params: Params, root: Path = Path(), stages: Iterable[str] = layout.STAGES, dry_run: bool = False
) -> list[Path]:
    """Remove the results that the settings do not make, with Snakemake's records of them.

    Args:
        params: The settings.
        root: The project's root.
        stages: Stages to prune.
        dry_run: Remove nothing.

    Returns:
        The files, relative to ``root``.

    Raises:
        UserError: A run is going on.
    """
    if lock.live(root):
        raise UserError("a run is going on in this folder: wait until it has ended, then prune.")
    stages = list(stages)
    found = orphans(params, root, stages)
    if dry_run:
        return found
    for path in found:
        (root / path).unlink()
    records.remove(_orphaned_records(params, root, stages), root)
    for folder in _folders(stages):
        (root / folder).mkdir(parents=True, exist_ok=True)
        _drop_empty(root / folder)
    return found


def orphans(params: Params, root: Path, stages: Iterable[str] = layout.STAGES) -> list[Path]:
    """Files in the stages' folders that the settings do not make."""
    wanted = {root / path for path in targets.everything(params)}
    found: list[Path] = []
    for folder in (layout.stage(name) for name in stages):
        found += (p for p in _files(root / folder) if p not in wanted and p.name not in _KEPT)
    if "data" in stages:
        used = {True: bool(targets.chest(params)), False: bool(targets.demo(params))}
        chest = root / DEMO / CHEST
        found += (
            p for p in _files(root / DEMO)
            if p.name not in _KEPT and not (used[p.is_relative_to(chest)] and _is_whole(p))
        )  # fmt: skip
    return sorted(path.relative_to(root) for path in found)


def _is_whole(path: Path) -> bool:
    """Whether a file of the phantoms is no leftover of a job that was cut off."""
    return not any(part.endswith(".tmp") for part in path.parts)


def _files(folder: Path) -> Iterator[Path]:
    return (path for path in folder.rglob("*") if path.is_file() or path.is_symlink())


def _folders(stages: Iterable[str]) -> list[Path]:
    """Folders that must exist, if only empty, because they are tracked."""
    return [*(layout.stage(name) for name in stages), DEMO, SHARDS]


def _orphaned_records(params: Params, root: Path, stages: Iterable[str]) -> list[str]:
    wanted = set(targets.strings(targets.everything(params)))
    inside = tuple(f"{folder.as_posix()}/" for folder in _folders(stages))
    recorded = records.traced(root) | records.incomplete(root)
    return [path for path in recorded if path.startswith(inside) and path not in wanted]


def _drop_empty(folder: Path) -> None:
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not any(path.iterdir()):
            path.rmdir()
