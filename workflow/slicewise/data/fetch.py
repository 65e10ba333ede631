"""Fetching data sets: any repository of the Hugging Face Hub at a pinned commit, and the fastMRI+ annotations.

Every fetched folder gets a ``slicewise-fetch.json``: repository, revision asked for, the commit it stood for, and each
file with its size and SHA-256. It holds no time and no host, so two people who fetch the same commit get the same
bytes.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path

from slicewise import artifacts
from slicewise.data import hub
from slicewise.data.download import download
from slicewise.errors import UserError

LOCK = "slicewise-fetch.json"
STAGING = ".download"
SGMRI_PATTERNS = ("*.json", "*.md", "LICENSE*")  # the questions; no images are released
_COMMIT = re.compile(r"[0-9a-f]{40}")

FASTMRI_PLUS_URL = "https://raw.githubusercontent.com/microsoft/fastmri-plus"
FASTMRI_PLUS_URL_VARIABLE = "SLICEWISE_FASTMRI_PLUS_URL"  # a mirror
FASTMRI_PLUS_FOLDER = Path("data/fastmri_plus")
FASTMRI_PLUS_COMMIT = "67ed9a68"  # the start of the commit whose files have these checksums
# SHA-256 of the text with line feeds, without a last line feed: git writes either kind of line end on checkout.
FASTMRI_PLUS_SHA256 = {
    "brain.csv": "7c0a1e099e61b8cd2319ee22690d5ede46bf8a93d180b3836cb9884bd0bd8617",
    "knee.csv": "1fca2f3342a38f71e86118f0d9214cb64bcb714fe107da9791d29561c5481ddb",
}


@dataclass(frozen=True, slots=True)
class HubSource:
    """A data set on the Hub.

    Attributes:
        repo: ``owner/name`` of the dataset repository.
        revision: Branch, tag or commit; a branch or tag is resolved to its commit, which is recorded.
        setting: Where the settings name it, for messages, such as ``data.sgmri``.
        patterns: Shell patterns of the files wanted; ``*`` crosses folders.
    """

    repo: str
    revision: str
    setting: str
    patterns: tuple[str, ...] = ("*",)


@dataclass(frozen=True, slots=True)
class Locked:
    """A fetched file: path below the folder, size in bytes, SHA-256."""

    path: str
    size: int
    sha256: str


@dataclass(frozen=True, slots=True)
class Lock:
    """What a folder was fetched from."""

    repo: str
    revision: str
    commit: str
    files: tuple[Locked, ...]


def from_hub(source: HubSource, out: Path) -> Lock:
    """Fetch a data set into ``out`` and return what was fetched.

    Files that are already there and whole are not fetched again; a broken connection is resumed; every file is
    checked against the Hub's checksum before it gets its name; files of an earlier revision that the new one no
    longer has are removed. With a pinned commit and a whole folder nothing is asked of the network.

    Raises:
        UserError: The Hub cannot be reached, the repository is gated or missing, the revision does not exist, or a
            file's checksum is wrong twice.
    """
    before = read_lock(out)
    if before and _is_pinned_and_whole(source, before, out):
        return before
    with hub.user_errors(source.repo, source.revision, source.setting):
        commit, listed = hub.listing(source.repo, source.revision)
    wanted = [file for file in listed if any(fnmatchcase(file.path, p) for p in source.patterns)]
    if not wanted:
        raise UserError(
            f"{source.setting}: the repository '{source.repo}' at {commit[:12]} has no file like "
            f"{list(source.patterns)}; expected a data set: check '{source.setting}.repo'."
        )
    _remove_stale(before, {file.path for file in wanted}, out)
    staging = out / STAGING
    with hub.user_errors(source.repo, source.revision, source.setting), hub.progress(wanted) as bar:
        for file in wanted:
            if hub.is_intact(out / file.path, file):
                bar.update(file.size)
                continue
            hub.download(source.repo, commit, file, staging, out / file.path, bar)
    shutil.rmtree(staging, ignore_errors=True)
    files = tuple(Locked(file.path, file.size, sha256(out / file.path)) for file in wanted)
    lock = Lock(source.repo, source.revision, commit, tuple(sorted(files, key=lambda f: f.path)))
    artifacts.write_json(out / LOCK, asdict(lock))
    return lock


def _is_pinned_and_whole(source: HubSource, lock: Lock, out: Path) -> bool:
    pinned = _COMMIT.fullmatch(source.revision) is not None and lock.commit == source.revision
    return pinned and lock.repo == source.repo and not verify(out, lock)


def _remove_stale(before: Lock | None, wanted: set[str], out: Path) -> None:
    for file in before.files if before else ():
        if file.path not in wanted:
            (out / file.path).unlink(missing_ok=True)


def read_lock(out: Path) -> Lock | None:
    """The lock of a fetched folder, or ``None``.

    Raises:
        UserError: The lock is damaged.
    """
    path = out / LOCK
    try:
        raw = json.loads(path.read_text(encoding="utf-8"))
        return Lock(raw["repo"], raw["revision"], raw["commit"], tuple(Locked(**file) for file in raw["files"]))
    except FileNotFoundError:
        return None
    except (ValueError, TypeError, KeyError) as error:
        raise UserError(f"{path}: is damaged ({error}); delete it and fetch again.") from error


def verify(out: Path, lock: Lock) -> list[str]:
    """What is missing or changed in a fetched folder, one line per file."""
    faults = []
    for file in lock.files:
        path = out / file.path
        if not path.is_file():
            faults.append(f"{path}: missing")
        elif path.stat().st_size != file.size or sha256(path) != file.sha256:
            faults.append(f"{path}: changed since it was fetched")
    return faults


def sha256(path: Path) -> str:
    """SHA-256 of a file, read in pieces."""
    with path.open("rb") as handle:
        return hashlib.file_digest(handle, "sha256").hexdigest()


def text_sha256(path: Path) -> str:
    """SHA-256 of a text file whatever its line ends: CRLF counts as LF, a last line end as none."""
    return hashlib.sha256(path.read_bytes().replace(b"\r\n", b"\n").rstrip(b"\n")).hexdigest()


def _is_text(digest: str, path: Path) -> bool:
    return text_sha256(path) == digest


def fastmri_plus(
    commit: str = FASTMRI_PLUS_COMMIT, out: Path = FASTMRI_PLUS_FOLDER, expected: Mapping[str, str] | None = None
) -> Path:
    """Fetch ``brain.csv`` and ``knee.csv`` of fastMRI+ at a pinned commit and return their folder.

    Args:
        commit: The commit of ``microsoft/fastmri-plus``.
        out: Where they go; files that are there and whole are kept.
        expected: Checksums by file name (:func:`text_sha256`); default: those of the pinned commit.

    Raises:
        UserError: The server cannot be reached, or a file is not the expected one.
    """
    advice = (
        "check the connection, or download brain.csv and knee.csv of github.com/microsoft/fastmri-plus by hand and "
        "set 'data.fastmri_plus' to their folder."
    )
    if expected is None and not commit.startswith(FASTMRI_PLUS_COMMIT):
        raise UserError(
            f"data.fastmri_plus_commit: no checksums are known for '{commit}', only for "
            f"'{FASTMRI_PLUS_COMMIT}…': {advice}"
        )
    base = os.environ.get(FASTMRI_PLUS_URL_VARIABLE, FASTMRI_PLUS_URL).rstrip("/")
    for name, digest in (expected or FASTMRI_PLUS_SHA256).items():
        target = out / name
        if not (target.is_file() and text_sha256(target) == digest):
            url = f"{base}/{commit}/Annotations/{name}"
            download(url, target, partial(_is_text, digest), advice)
    return out
