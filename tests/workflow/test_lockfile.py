"""The lock as evidence: hashes as DVC computes them, and which file is not as recorded."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from slicewise.errors import UserError
from slicewise.pipeline import lockfile

FILES = {"b/two.txt": b"two", "a.txt": b"one", "z/ü ö.bin": bytes(range(256)), "empty": b""}


@pytest.fixture(scope="module")
def added(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder that DVC itself has added, and the hash that it gave it."""
    root = tmp_path_factory.mktemp("dvc")
    for name, content in FILES.items():
        (root / "out" / name).parent.mkdir(parents=True, exist_ok=True)
        (root / "out" / name).write_bytes(content)
    for command in (("init", "--no-scm", "--quiet"), ("add", "--quiet", "out")):
        subprocess.run([sys.executable, "-m", "dvc", *command], cwd=root, check=True, capture_output=True)
    return root, yaml.safe_load((root / "out.dvc").read_text())["outs"][0]["md5"]


def test_the_hash_of_a_folder_is_the_one_that_dvc_gives(added: tuple[Path, str]) -> None:
    root, recorded = added
    assert lockfile.md5_folder(lockfile.files(root / "out")) == recorded
    assert lockfile.changed(root, "out", recorded, lockfile.cache_of(root)) == []


def test_what_is_no_part_of_a_version_does_not_count(added: tuple[Path, str]) -> None:
    root, recorded = added
    (root / "out/__pycache__").mkdir(exist_ok=True)
    (root / "out/__pycache__/x.pyc").write_bytes(b"x")
    (root / "out/.gitignore").write_bytes(b"x")
    assert lockfile.changed(root, "out", recorded, None) == []
    (root / "out/.gitignore").unlink()


def test_the_file_that_changed_is_named(added: tuple[Path, str]) -> None:
    root, recorded = added
    cache = lockfile.cache_of(root)
    path = root / "out/b/two.txt"
    path.write_bytes(b"twp")
    assert lockfile.changed(root, "out", recorded, cache) == ["out/b/two.txt"]
    assert lockfile.changed(root, "out", recorded, None) == ["out"]  # without the cache nobody knows which
    path.unlink()
    assert lockfile.changed(root, "out", recorded, cache) == ["out/b/two.txt"]
    path.write_bytes(b"two")
    (root / "out/more").write_bytes(b"")
    assert lockfile.changed(root, "out", recorded, cache) == ["out/more"]
    (root / "out/more").unlink()
    assert lockfile.changed(root, "gone", recorded, cache) is None
    assert lockfile.changed(root, "out/a.txt", lockfile.md5_file(root / "out/a.txt"), cache) == []
    assert lockfile.changed(root, "out/a.txt", "0" * 32, cache) == ["out/a.txt"]


def test_a_list_that_belies_its_hash_is_not_believed(added: tuple[Path, str]) -> None:
    root, recorded = added
    stored = root / ".dvc/cache/files/md5" / recorded[:2] / recorded[2:]
    kept = stored.read_bytes()
    stored.chmod(0o644)
    stored.write_bytes(kept.replace(b"a.txt", b"x.txt"))
    (root / "out/a.txt").write_bytes(b"changed")
    assert lockfile.changed(root, "out", recorded, lockfile.cache_of(root)) == ["out"]
    (root / "out/a.txt").write_bytes(FILES["a.txt"])
    stored.write_bytes(kept)


def test_files_of_no_version(tmp_path: Path) -> None:
    def git(*arguments: str) -> None:
        identity = ("-c", "user.name=T", "-c", "user.email=t@example.org")
        subprocess.run(["git", *identity, *arguments], cwd=tmp_path, check=True, capture_output=True)

    names = ("kept", "staged", "new", "changed", "gone")
    assert dict(lockfile.unversioned(tmp_path, ())) == {}
    git("init", "--quiet")
    for name in ("kept", "changed"):
        (tmp_path / name).write_text(name)
    git("add", "kept", "changed")
    git("commit", "--quiet", "--message", "first")
    for name in ("staged", "new"):
        (tmp_path / name).write_text(name)
    git("add", "staged")
    (tmp_path / "changed").write_text("Changed")
    assert dict(lockfile.unversioned(tmp_path, names)) == {
        "new": "is in no version: `git add` it",
        "changed": "is not the one that git holds",
        "gone": "is not here",
    }


@pytest.mark.parametrize("text", ["", "stages", "stages: [", "schema: '2.0'\n", "\udcff"])
def test_a_lock_that_cannot_be_read_is_one_sentence(tmp_path: Path, text: str) -> None:
    with pytest.raises(UserError, match=r"dvc.lock: not found"):
        lockfile.read(tmp_path)
    (tmp_path / "dvc.lock").write_bytes(text.encode("utf-8", "surrogateescape"))
    with pytest.raises(UserError, match=r"dvc.lock: cannot be read"):
        lockfile.read(tmp_path)
