"""Names of versions: git revisions and DVC experiments, and the code behind a folder's files."""

from __future__ import annotations

import json
import subprocess
from base64 import urlsafe_b64encode
from pathlib import Path

import pytest
from slicewise.cli import cli
from slicewise.errors import UserError
from slicewise.pipeline import revision


def git(root: Path, *arguments: str) -> str:
    identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
    done = subprocess.run(["git", *identity, *arguments], cwd=root, check=True, capture_output=True, text=True)
    return done.stdout.strip()


@pytest.fixture
def repository(tmp_path: Path) -> Path:
    """Two commits and one experiment, as DVC would name it."""
    git(tmp_path, "init", "--quiet", "--initial-branch", "main")
    for number in (1, 2):
        (tmp_path / "file").write_text(str(number))
        git(tmp_path, "add", "file")
        git(tmp_path, "commit", "--quiet", "--message", str(number))
    base = git(tmp_path, "rev-parse", "HEAD")
    git(tmp_path, "update-ref", f"refs/exps/{base[:2]}/{base[2:]}/gold-named", "HEAD~1")
    git(tmp_path, "update-ref", "refs/exps/exec/EXEC_HEAD", "HEAD")
    return tmp_path


def test_revisions_and_experiments_have_commits(repository: Path) -> None:
    first, second = git(repository, "rev-parse", "HEAD~1"), git(repository, "rev-parse", "HEAD")
    assert revision.resolve("main", repository) == second
    assert revision.resolve("HEAD~1", repository) == first
    assert revision.resolve("gold-named", repository) == first
    assert dict(revision.all_experiments(repository)) == {"gold-named": first}


def test_an_unknown_name_suggests_the_nearest(repository: Path) -> None:
    with pytest.raises(UserError, match=r"'gold-name' is neither a folder.*gold-named"):
        revision.resolve("gold-name", repository)


def test_a_folder_without_scores_is_refused(repository: Path) -> None:
    (repository / "empty").mkdir()
    with pytest.raises(UserError, match=r"empty: has no results/score"), revision.side("empty", repository):
        pass


def test_the_code_behind_the_files_comes_from_the_records(tmp_path: Path) -> None:
    folder = tmp_path / ".snakemake/metadata"
    folder.mkdir(parents=True)
    for path, digest in (
        ("results/parse/b/one/parsed.parquet", "0123456789abcdef"),
        ("results/parse/b/two/parsed.parquet", "0123456789abcdef"),
        ("results/score/b/one/answer.parquet", "aaaaaaaaaaaaaaaa"),
        ("results/score/b/two/answer.parquet", "bbbbbbbbbbbbbbbb"),
        ("data/demo/manifest.json", "cccccccccccccccc"),
    ):
        record = {"params": [f"'{digest}'", "'{\"a\": 1}'"]}
        (folder / urlsafe_b64encode(path.encode()).decode()).write_text(json.dumps(record))
    assert revision.code(tmp_path) == {
        "parse": "0123456789abcdef",
        "score.answer": "aaaaaaaaaaaaaaaa, bbbbbbbbbbbbbbbb",
    }
    assert revision.code(tmp_path / "nowhere") == {}
    assert revision.digest_of({"params": ["'{}'"]}) is None


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["compare"], "needs a folder, a git revision or a DVC experiment"),
        (["compare", "a", "b", "--parsers"], "takes one folder or revision"),
        (["compare", "a", "b", "--pair", "x"], "expected two model names"),
    ],
)
def test_wrong_commands_are_one_sentence(arguments: list[str], message: str) -> None:
    with pytest.raises(UserError, match=message):
        cli(arguments, standalone_mode=False)
