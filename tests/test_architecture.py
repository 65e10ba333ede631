"""The shape of the package: imports run one way, modules stay small, the command line starts fast."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import slicewise

PACKAGE = Path(slicewise.__file__).parent
MODULES = sorted(PACKAGE.rglob("*.py"))

# Each group may import from itself and from the groups before it.
LAYERS = [
    {"errors", "outcome", "geometry", "artifacts", "params", "settings", "endpoints", "judges", "models", "layout"},
    {"imaging", "llm", "benchmarks"},
    {"jobs"},
    {"parse"},
    {"mcp"},
    {"data", "infer"},
    {"score"},
    {"report"},
    {"pipeline"},
    {"cli"},
]
LEVEL = {name: level for level, names in enumerate(LAYERS) for name in names}
MAY_IMPORT_REFERENCE = ("parse/run.py", "score/", "cli/")
MAX_LINES = 400


def name_of(path: Path) -> str:
    return path.relative_to(PACKAGE).as_posix()


def group(module: str) -> str | None:
    """``parse`` for ``slicewise.parse.answers``; ``None`` for the package itself and for other packages."""
    parts = module.split(".")
    return parts[1] if parts[0] == "slicewise" and len(parts) > 1 else None


def imports(path: Path) -> Iterator[str]:
    """Every module of ours that a file imports, inside functions and for types as well."""
    for node in ast.walk(ast.parse(path.read_bytes())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.level:
                package = (path.parent / "x").parents[node.level - 1].relative_to(PACKAGE.parent)
                yield ".".join([*package.parts, *(node.module or "").split(".")]).rstrip(".")
            elif node.module == "slicewise":
                yield from (f"slicewise.{alias.name}" for alias in node.names if alias.name != "__version__")
            elif node.module:
                yield node.module


def own_group(path: Path) -> str:
    return path.relative_to(PACKAGE).parts[0].removesuffix(".py")


def test_every_module_has_a_layer() -> None:
    groups = {own_group(path) for path in MODULES} - {"__init__", "reference"}
    assert groups <= set(LEVEL)


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_imports_run_one_way(path: Path) -> None:
    own = own_group(path)
    found = {group(module) for module in imports(path)} - {None, "__init__"}
    if own == "reference":
        assert found <= {"reference"}
        return
    if "reference" in found:
        assert name_of(path).startswith(MAY_IMPORT_REFERENCE)
        found.remove("reference")
    if own == "__init__":
        assert not found
        return
    if own == "cli" and path.name == "__init__.py":
        found.discard("pipeline")
    wrong = {other for other in found if LEVEL[str(other)] > LEVEL[own]}
    assert not wrong, f"{name_of(path)} imports {wrong}"
    same_layer = {other for other in found if other != own and LEVEL[str(other)] == LEVEL[own] and LEVEL[own] > 1}
    assert not same_layer, f"{name_of(path)} imports its neighbour {same_layer}"


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_modules_are_small(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MAX_LINES


def test_the_command_line_loads_nothing_heavy() -> None:
    script = "import sys, slicewise.cli; print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    heavy = {"torch", "pandas", "numpy", "pyarrow", "transformers", "matplotlib", "scipy", "sentence_transformers"}
    assert not heavy & set(done.stdout.split())
