"""The results of another version, in a folder of their own: what git and DVC recorded, without touching this one."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory

from slicewise import layout
from slicewise.errors import UserError, did_you_mean
from slicewise.pipeline import records
from slicewise.report import sides
from slicewise.report.sides import Side

TARGETS = tuple(layout.stage(name).as_posix() for name in ("data", "infer", "parse", "score"))
RECORDS = records.METADATA.as_posix()
_CODE = re.compile(r"\A'?([0-9a-f]{16})'?\Z")


@contextmanager
def side(name: str, repository: Path = Path()) -> Iterator[Side]:
    """The side of a comparison that a user names: a folder, a git revision or a DVC experiment.

    Args:
        name: As the user wrote it. A folder wins over a revision of the same name.
        repository: The project.

    Yields:
        The side; the files of a revision are removed afterwards.

    Raises:
        UserError: Nothing has that name, or its results are neither in the cache nor in the remote.
    """
    folder = repository / name
    if folder.is_dir():
        yield sides.load(name, folder, code(folder))
        return
    with TemporaryDirectory(prefix="slicewise-") as temporary:
        clone = Path(temporary) / "clone"
        check_out(name, repository, clone)
        yield sides.load(name, clone, code(clone))


def resolve(name: str, repository: Path = Path()) -> str:
    """The commit of a revision or of a DVC experiment.

    Raises:
        UserError: Neither has that name.
    """
    done = _run(repository, "git", "rev-parse", "--verify", "--quiet", f"{name}^{{commit}}")
    if done.returncode == 0:
        return done.stdout.strip()
    experiments = dict(all_experiments(repository))
    if name in experiments:
        return experiments[name]
    raise UserError(
        f"'{name}' is neither a folder, a git revision nor a DVC experiment of {repository.resolve().name}; "
        f"see `git log` and `dvc exp list --all-commits`.{did_you_mean(name, experiments)}"
    )


def all_experiments(repository: Path = Path()) -> Iterator[tuple[str, str]]:
    """Name and commit of every DVC experiment, by name."""
    done = _run(repository, "git", "for-each-ref", "--format=%(refname) %(objectname)", "refs/exps")
    for line in sorted(done.stdout.splitlines()):
        reference, commit = line.split()
        parts = reference.split("/")
        if len(parts) == 5:  # refs/exps/<two digits>/<the others of the base>/<name>
            yield parts[4], commit


def check_out(name: str, repository: Path, clone: Path) -> None:
    """A clone of the project at a revision, with its results as DVC recorded them.

    The clone shares git's objects and DVC's cache with the project; what the cache lacks is pulled from the remote.

    Raises:
        UserError: See :func:`side`.
    """
    commit = resolve(name, repository)
    repository = repository.resolve()
    _must(name, _run(repository, "git", "clone", "--quiet", "--shared", "--no-checkout", str(repository), str(clone)))
    _must(name, _run(clone, "git", "-c", "advice.detachedHead=false", "checkout", "--quiet", commit))
    private = repository / ".dvc/config.local"
    if private.is_file():  # credentials of the remote
        (clone / ".dvc/config.local").write_bytes(private.read_bytes())
    cache = _run(repository, *_DVC, "cache", "dir")
    _must(name, cache)
    _must(name, _run(clone, *_DVC, "cache", "dir", "--local", str((repository / cache.stdout.strip()).resolve())))
    wanted = [*TARGETS, *([RECORDS] if RECORDS in (clone / "dvc.yaml").read_text(encoding="utf-8") else [])]
    if _run(clone, *_DVC, "checkout", "--quiet", *wanted).returncode != 0:
        done = _run(clone, *_DVC, "pull", "--quiet", *wanted)
        if done.returncode != 0:
            raise UserError(
                f"{name}: its results are neither in the DVC cache nor in the remote "
                f"({' '.join(done.stderr.split())[:200]}); run `dvc fetch` where they were made, or `dvc repro` there."
            )


_DVC = (sys.executable, "-m", "dvc")


def _run(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def _must(name: str, done: subprocess.CompletedProcess[str]) -> None:
    if done.returncode != 0:
        said = " ".join((done.stderr or done.stdout).split())
        raise UserError(f"{name}: `{' '.join(done.args[:4])} ...` failed: {said[:300]}")


def code(root: Path) -> dict[str, str]:
    """``infer``, ``parse``, ``score.answer`` and so on to the digests of the code that made their files.

    Empty for a folder without Snakemake's records.
    """
    found: dict[str, set[str]] = {}
    for path, record in records.files(root / records.METADATA):
        parts = Path(path).parts
        if len(parts) < 3 or parts[0] != layout.RESULTS.name or parts[1] not in ("data", "infer", "parse", "score"):
            continue
        stage = f"score.{Path(path).stem}" if parts[1] == "score" else parts[1]
        digest = digest_of(json.loads(record.read_text(encoding="utf-8")))
        if digest is not None:
            found.setdefault(stage, set()).add(digest)
    return {stage: ", ".join(sorted(digests)) for stage, digests in sorted(found.items())}


def digest_of(record: dict[str, object]) -> str | None:
    """The digest of the code in one of Snakemake's records; ``None`` in a record without one."""
    params = record.get("params")
    for value in params if isinstance(params, list) else ():
        match = _CODE.match(str(value))
        if match:
            return match.group(1)
    return None
