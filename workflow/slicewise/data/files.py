"""Finding and opening the released SGMRI-VQA files.

Two layouts are known: folders ``{brain,knee}/{train,test}/{image_qa,volume_qa}/*.json``, and single files
``gpt4o_{domain}_{split}_{image,volume}_qa_..._qa_pairs.json`` in any folder (the first release, and the place where
the generators wrote). ``val`` and ``test`` name the same split (SGMRI-VQA README and its cleaning scripts).
"""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

from slicewise.benchmarks.sgmri import DOMAINS, Level
from slicewise.errors import UserError

_LEGACY_NAME = re.compile(r"gpt4o_(brain|knee)_(train|val|test)_(image|volume)_qa_.*qa_pairs\.json")
_FOLDERS = {"image_qa": "image", "volume_qa": "volume"}
_SPLITS = {"train": "train", "val": "test", "test": "test"}


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A released file and what its path says about it.

    Attributes:
        path: The file.
        name: Its path below the data folder, with forward slashes, as messages and artifacts name it.
        source: What may hold this domain, split and level only once: the folder, or the legacy file itself.
    """

    path: Path
    name: str
    domain: str
    split: str
    level: str
    source: str


def discover(root: Path, split: str, level: Level, domains: Sequence[str] = DOMAINS) -> list[SourceFile]:
    """The files of one split and level, sorted by path.

    Args:
        root: The data folder; both layouts are looked for at any depth.
        split: ``test`` (or its synonym ``val``) or ``train``.
        level: ``image`` or ``volume``.
        domains: The anatomies that must be there.

    Raises:
        UserError: The folder is missing, an anatomy has no file, or two places hold the same part, as when both
            layouts or both ``val`` and ``test`` lie side by side.
    """
    files = [file for file in present(root, split, level) if file.domain in domains]
    for domain in domains:
        _one_source(Path(root), split, level, domain, {f.source for f in files if f.domain == domain})
    return files


def present(root: Path, split: str, level: Level) -> list[SourceFile]:
    """All files of one split and level, of whatever anatomy and in whatever places, sorted by path.

    Raises:
        UserError: The folder is missing.
    """
    root = Path(root)
    if not root.is_dir():
        raise UserError(
            f"{root}: no such folder; expected the released SGMRI-VQA files: set 'data.sgmri.path', "
            "or run `slicewise data fetch sgmri`."
        )
    found = (_classify(path, root) for path in sorted(root.rglob("*.json")))
    return [f for f in found if f is not None and f.split == _SPLITS[split] and f.level == level]


def _classify(path: Path, root: Path) -> SourceFile | None:
    """What the path says, or ``None`` for a JSON file that is none of the released question files."""
    relative = path.relative_to(root)
    name = relative.as_posix()
    if any(part.startswith(".") for part in relative.parts) or not path.is_file():
        return None
    legacy = _LEGACY_NAME.fullmatch(path.name)
    if legacy:
        domain, split, level = legacy.groups()
        return SourceFile(path, name, domain, _SPLITS[split], level, name)
    # The data folder itself may be one of the named folders, such as .../brain.
    parts = path.resolve().parts[-4:-1]
    if len(parts) == 3 and parts[0] in DOMAINS and parts[1] in _SPLITS and parts[2] in _FOLDERS:
        return SourceFile(path, name, parts[0], _SPLITS[parts[1]], _FOLDERS[parts[2]], relative.parent.as_posix())
    return None


def _one_source(root: Path, split: str, level: str, domain: str, sources: set[str]) -> None:
    if not sources:
        raise UserError(
            f"{root}: has no {level}-level questions of the split '{split}' for the {domain}; expected "
            f"'{domain}/{split}/{level}_qa/*.json' or 'gpt4o_{domain}_{split}_{level}_qa_*_qa_pairs.json' "
            "(val and test are the same split)."
        )
    if len(sources) > 1:
        raise UserError(
            f"{root}: the {level}-level questions of the split '{split}' for the {domain} lie in {len(sources)} "
            f"places, {sorted(sources)}; expected one (val and test are the same split): move the others away."
        )


def read_array(file: SourceFile) -> list[Any]:
    """The JSON array of a released file.

    Raises:
        UserError: The file cannot be read, is no UTF-8 text or no JSON, or holds something else than a list of
            at least one record.
    """
    try:
        text = file.path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise UserError(f"{file.path}: is not UTF-8 text (byte {error.start}); fetch the file again.") from error
    except OSError as error:
        raise UserError(f"{file.path}: cannot be read ({error.strerror}).") from error
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except json.JSONDecodeError as error:
        raise UserError(
            f"{file.path}: is not valid JSON ({error.msg} at line {error.lineno}, column {error.colno}); "
            "expected a list of records: fetch the file again."
        ) from error
    except ValueError as error:
        raise UserError(f"{file.path}: {error}; JSON knows no such number: correct the record.") from error
    if not isinstance(value, list) or not value:
        found = "an empty list" if value == [] else f"a JSON {_kind(value)}"
        raise UserError(f"{file.path}: found {found}, expected a list of at least one record: fetch the file again.")
    return value


def _no_constant(name: str) -> NoReturn:
    raise ValueError(f"holds the number {name}")


def _kind(value: Any) -> str:
    return "object" if isinstance(value, dict) else type(value).__name__
