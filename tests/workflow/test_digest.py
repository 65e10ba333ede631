"""The code digest: its closure is what Python imports, and an edit changes exactly the digests that it should."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from slicewise.pipeline import rules
from slicewise.pipeline.digest import ROOT, closure, code_digest

FILES = {
    "slicewise/__init__.py": "",
    "slicewise/a.py": "from slicewise import b\nimport slicewise.deep.c\n",
    "slicewise/b.py": "def f():\n    from slicewise.lazy import g\n    return g\n",
    "slicewise/lazy.py": "g = 1\n",
    "slicewise/unused.py": "",
    "slicewise/typed.py": "",
    "slicewise/deep/__init__.py": "",
    "slicewise/deep/c.py": "from . import d\nfrom .. import typed_user\n",
    "slicewise/deep/d.py": "import os\n",
    "slicewise/deep/words.csv": "x\n",
    "slicewise/deep/site/page.css": "a {}\n",
    "slicewise/typed_user.py": (
        "from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    from slicewise import typed\nelse:\n"
        "    from slicewise import at_run_time\n"
    ),
    "slicewise/at_run_time.py": "",
}


@pytest.fixture
def toy(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    return tmp_path


def test_closure_follows_every_form_of_import(toy: Path) -> None:
    found = {path.relative_to(toy).as_posix() for path in closure(["slicewise.a"], root=toy)}
    assert found == set(FILES) - {"slicewise/unused.py", "slicewise/typed.py"}


@pytest.mark.parametrize("name", FILES)
def test_digest_changes_with_exactly_the_files_of_the_closure(toy: Path, name: str) -> None:
    before = code_digest("slicewise.a", root=toy)
    (toy / name).write_text(FILES[name] + "# edited\n")
    reached = name not in ("slicewise/unused.py", "slicewise/typed.py")
    assert (code_digest("slicewise.a", root=toy) != before) == reached


def test_digest_is_blind_to_time_and_line_ends(toy: Path) -> None:
    before = code_digest("slicewise.a", root=toy)
    path = toy / "slicewise/b.py"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r\n"))
    assert code_digest("slicewise.a", root=toy) == before


def test_an_import_that_the_command_does_not_use_is_left_out_but_not_its_other_importers(toy: Path) -> None:
    edge = ("slicewise.b", "slicewise.lazy")
    names = [path.name for path in closure(["slicewise.a"], {edge}, toy)]
    assert "lazy.py" not in names
    (toy / "slicewise/deep/d.py").write_text("import slicewise.lazy\n")
    assert "lazy.py" in [path.name for path in closure(["slicewise.a"], {edge}, toy)]


def test_a_module_that_does_not_exist_is_an_error(toy: Path) -> None:
    with pytest.raises(ValueError, match=r"no module 'slicewise\.nowhere'"):
        code_digest("slicewise.nowhere", root=toy)


@pytest.mark.parametrize("command", sorted(rules.ENTRY))
def test_closure_holds_what_python_really_imports(command: str) -> None:
    """Independent oracle: the modules that a fresh interpreter has loaded after importing the entry modules."""
    script = (
        f"import importlib, sys\nfor name in {rules.ENTRY[command]!r}: importlib.import_module(name)\n"
        "print(*(m.__file__ for n, m in sys.modules.items() if n.partition('.')[0] == 'slicewise'), sep='\\n')"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {Path(line).resolve() for line in done.stdout.splitlines()}
    assert loaded <= set(closure(rules.ENTRY[command]))


# What an edit of a file re-runs, of every kind of job that the workflow has.
JOBS = [
    ("demo",),
    ("fetch",),
    ("data",),
    ("infer", "baseline"),
    ("infer", "file"),
    ("infer", "openai"),
    ("parse",),
    *(("score", metric, "card") for metric in (*rules.MODEL_METRICS, *rules.SUITE_METRICS)),
    ("report", "tables"),
    ("report", "figures"),
    ("report", "site"),
]


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("package")
    shutil.copytree(ROOT / "slicewise", root / "slicewise", ignore=shutil.ignore_patterns("__pycache__"))
    return root


def edited(package: Path, name: str) -> set[tuple[str, ...]]:
    """The jobs whose digest an edit of a file changes."""
    path = package / "slicewise" / name
    original = path.read_bytes()
    rules.code.cache_clear()
    before = {job: rules.code(*job, root=package) for job in JOBS}
    path.write_bytes(original + b"\n# edited\n")
    rules.code.cache_clear()
    after = {job: rules.code(*job, root=package) for job in JOBS}
    path.write_bytes(original)
    return {job for job in JOBS if before[job] != after[job]}
