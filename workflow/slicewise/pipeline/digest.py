"""Which code a job runs, as one digest.

Snakemake sees a rule's shell command, not the modules behind it. Every rule therefore carries the digest of the
import closure of the modules that its command uses: an edited helper re-runs exactly the rules that import it, and
touching or checking out a file re-runs nothing.
"""

from __future__ import annotations

import ast
import hashlib
from collections.abc import Collection, Iterable, Iterator
from functools import cache
from pathlib import Path

PACKAGE = "slicewise"
ROOT = Path(__file__).resolve().parents[2]  # the folder that holds the package
Edges = Collection[tuple[str, str]]  # (module, the module that it imports)
DATA_SUFFIXES = (".csv", ".css", ".j2", ".jinja", ".js", ".json", ".txt")


def code_digest(*modules: str, without: Edges = frozenset(), root: Path = ROOT) -> str:
    """SHA-256 (16 hex digits) over the names and bytes of every file that the modules can reach.

    Args:
        modules: Dotted names of the entry modules.
        without: Imports that the command does not make use of, such as those of the other metrics' engines.
        root: The folder that holds the package.

    Raises:
        ValueError: A module does not exist.
    """
    digest = hashlib.sha256()
    for file in closure(modules, without, root):
        digest.update(file.relative_to(root).as_posix().encode())
        digest.update(hashlib.sha256(file.read_bytes().replace(b"\r\n", b"\n")).digest())
    return digest.hexdigest()[:16]


def closure(modules: Iterable[str], without: Edges = frozenset(), root: Path = ROOT) -> list[Path]:
    """The source files that the modules import, themselves included, and the data files beside them, sorted.

    Imports inside functions count; those under ``if TYPE_CHECKING`` do not, since they never run. A module brings
    its parent packages along, because Python runs them first.
    """
    queue = list(modules)
    for name in queue:
        if _file(name, root) is None:
            raise ValueError(f"no module '{name}' under {root}")
    found: dict[str, Path] = {}
    while queue:
        name = queue.pop()
        file = _file(name, root)
        if name in found or file is None:
            continue
        found[name] = file
        queue.extend(_parents(name))
        queue.extend(other for other in _imports(file, name) if (name, other) not in without)
    files = set(found.values())
    for file in list(files):
        files.update(_data_files(file))
    return sorted(files)


def _parents(name: str) -> Iterator[str]:
    parts = name.split(".")
    for end in range(1, len(parts)):
        yield ".".join(parts[:end])


def _file(name: str, root: Path) -> Path | None:
    base = root.joinpath(*name.split("."))
    for candidate in (base.with_suffix(".py") if base.name else base, base / "__init__.py"):
        if candidate.is_file():
            return candidate
    return None


def _data_files(file: Path) -> Iterator[Path]:
    """Package data (published rows, templates, style sheets) that the code of the same folder reads."""
    if file.name != "__init__.py" and not (file.parent / "__init__.py").is_file():
        return
    for path in file.parent.iterdir():
        if path.suffix in DATA_SUFFIXES and path.is_file():
            yield path
    for folder in file.parent.iterdir():
        if folder.is_dir() and not (folder / "__init__.py").exists():
            yield from (path for path in folder.rglob("*") if path.suffix in DATA_SUFFIXES and path.is_file())


def _imports(file: Path, name: str) -> tuple[str, ...]:
    package = name if file.name == "__init__.py" else name.rpartition(".")[0]
    return _imports_of(file.read_bytes(), package)


@cache
def _imports_of(source: bytes, package: str) -> tuple[str, ...]:
    found: list[str] = []
    for node in _running_code(ast.parse(source)):
        if isinstance(node, ast.Import):
            found += (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, package)
            found += (base, *(f"{base}.{alias.name}" for alias in node.names))
    return tuple(name for name in found if name == PACKAGE or name.startswith(f"{PACKAGE}."))


def _running_code(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below, without the bodies of ``if TYPE_CHECKING``."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test):
            for other in child.orelse:
                yield other
                yield from _running_code(other)
            continue
        yield child
        yield from _running_code(child)


def _absolute(node: ast.ImportFrom, package: str) -> str:
    if not node.level:
        return node.module or ""
    parts = package.split(".")
    base = parts[: len(parts) - node.level + 1]
    return ".".join([*base, *([node.module] if node.module else [])])
