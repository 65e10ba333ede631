"""``dvc.lock`` as evidence: what it says of the settings and of every file, and whether the folder still agrees.

The hashes are computed here, as DVC defines them, so a proof asks no tool and needs no cache: the MD5 of a file, and
for a folder the MD5 of the sorted list of its files' hashes.
"""

from __future__ import annotations

import hashlib
import json
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from slicewise.errors import UserError

FILE = Path("dvc.lock")
_IGNORED = ("__pycache__",)
_SUFFIXES = (".pyc", ".tmp", "-wal", "-shm")


@dataclass(frozen=True)
class Lock:
    """What ``dvc.lock`` holds.

    Attributes:
        outs: Path to hash of every output of a stage.
        deps: (Stage, path) to hash of everything that a stage depends on.
        params: Stage to the settings that it ran with.
    """

    outs: Mapping[str, str]
    deps: Mapping[tuple[str, str], str]
    params: Mapping[str, Any]


def read(root: Path) -> Lock:
    """Read the lock.

    Raises:
        UserError: It is missing or cannot be read.
    """
    path = root / FILE
    if not path.is_file():
        raise UserError(f"{path}: not found; expected the record of a version: run `slicewise commit` or `dvc repro`.")
    try:
        stages = yaml.safe_load(path.read_bytes())["stages"]
        outs = {out["path"]: str(out["md5"]) for stage in stages.values() for out in stage.get("outs", ())}
        deps = {(name, d["path"]): str(d["md5"]) for name, stage in stages.items() for d in stage.get("deps", ())}
        params = {name: stage.get("params", {}).get("params.yaml") for name, stage in stages.items()}
    except (yaml.YAMLError, KeyError, TypeError, AttributeError, UnicodeDecodeError) as error:
        raise UserError(
            f"{path}: cannot be read ({' '.join(str(error).split())[:120]}); get it back with `git checkout {FILE}`."
        ) from error
    return Lock(outs, deps, params)


def md5_file(path: Path) -> str:
    """MD5 of a file, as DVC takes it."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, lambda: hashlib.md5(usedforsecurity=False)).hexdigest()


def files(folder: Path) -> dict[str, str]:
    """Relative path to MD5 of every file of a folder that DVC would track, sorted."""
    found = {}
    for path in sorted(folder.rglob("*")):
        relative = path.relative_to(folder)
        if not path.is_file() or set(relative.parts) & set(_IGNORED) or path.name.endswith(_SUFFIXES):
            continue
        if path.name != ".gitignore":
            found[relative.as_posix()] = md5_file(path)
    return found


def md5_folder(listed: Mapping[str, str]) -> str:
    """DVC's hash of a folder with these files."""
    entries = [{"md5": listed[name], "relpath": name} for name in sorted(listed)]
    text = json.dumps(entries, sort_keys=True).encode("utf-8")
    return f"{hashlib.md5(text, usedforsecurity=False).hexdigest()}.dir"


def changed(root: Path, path: str, recorded: str, cache: Path | None) -> list[str] | None:
    """The files of an output that are not as recorded: ``[]`` when all are, ``None`` when it is not here at all.

    Args:
        root: The project.
        path: Path of the output.
        recorded: Its hash in the lock.
        cache: DVC's cache, which may hold the list of the folder's files; without it the folder itself is named.
    """
    place = root / path
    if not recorded.endswith(".dir"):
        return None if not place.is_file() else [] if md5_file(place) == recorded else [path]
    if not place.is_dir():
        return None
    found = files(place)
    if md5_folder(found) == recorded:
        return []
    listed = _listed(recorded, cache)
    if listed is None:
        return [path]
    names = [name for name in sorted({*found, *listed}) if found.get(name) != listed.get(name)]
    return [f"{path}/{name}" for name in names]


def _listed(recorded: str, cache: Path | None) -> dict[str, str] | None:
    """The files of a folder as they were recorded, from DVC's cache; ``None`` when the cache lacks or belies them."""
    if cache is None:
        return None
    place = cache / "files" / "md5" / recorded[:2] / recorded[2:]
    if not place.is_file() or f"{md5_file(place)}.dir" != recorded:
        return None
    return {entry["relpath"]: entry["md5"] for entry in json.loads(place.read_bytes())}


def cache_of(root: Path) -> Path | None:
    """DVC's cache of a project, if it is where it usually is."""
    place = root / ".dvc" / "cache"
    return place if place.is_dir() else None


def unversioned(root: Path, names: tuple[str, ...]) -> Iterator[tuple[str, str]]:
    """Files whose bytes are neither those that git has staged nor those of the last commit, each with the reason.

    Nothing for a folder that is in no git repository.
    """
    if _git(root, "rev-parse", "--is-inside-work-tree") is None:
        return
    for name in names:
        if not (root / name).is_file():
            yield name, "is not here"
            continue
        own = _git(root, "hash-object", "--", name)
        staged = _git(root, "rev-parse", "--verify", "--quiet", f":./{name}")
        committed = _git(root, "rev-parse", "--verify", "--quiet", f"HEAD:./{name}")
        if own not in (staged, committed):
            known = staged or committed
            yield name, "is not the one that git holds" if known else "is in no version: `git add` it"


def _git(root: Path, *arguments: str) -> str | None:
    done = subprocess.run(["git", *arguments], cwd=root, capture_output=True, text=True, check=False)
    return done.stdout.strip() if done.returncode == 0 else None
