"""The settings of the last run, so that a commit can tell whether they are those of ``params.yaml``."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from slicewise import artifacts
from slicewise.params import Params

FILE = Path(".snakemake/ran.json")


def record(settings: Params, root: Path = Path()) -> None:
    """Write down the settings that a run starts with."""
    artifacts.write_json(root / FILE, settings.model_dump(mode="json"))


def differences(settings: Params, root: Path = Path()) -> list[str]:
    """How the settings of the last run differ from ``settings``; empty when they agree or no run is recorded.

    Returns:
        Phrases such as ``suite ran as "open", params.yaml says "demo"``.
    """
    path = root / FILE
    if not path.is_file():
        return []
    last = json.loads(path.read_text(encoding="utf-8"))
    return list(_differences(last, settings.model_dump(mode="json"), ""))


def _differences(last: Any, now: Any, where: str) -> Iterator[str]:
    if isinstance(last, dict) and isinstance(now, dict):
        for key in sorted({*last, *now}):
            yield from _differences(last.get(key), now.get(key), f"{where}.{key}" if where else key)
    elif last != now:
        yield f"{where} ran as {_short(last)}, params.yaml says {_short(now)}"


def _short(value: Any) -> str:
    text = json.dumps(value, ensure_ascii=False)
    return text if len(text) <= 60 else f"{text[:57]}..."
