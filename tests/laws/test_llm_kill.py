"""2,000 calls, 30 % faults, 16 processes, ``kill -9`` at a drawn moment: nothing is lost and nothing bought twice."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

pytestmark = pytest.mark.laws

LLM = Path(__file__).parents[1] / "llm"


def helper(name: str) -> ModuleType:
    """A module of the tests of ``llm``."""
    spec = importlib.util.spec_from_file_location(f"slicewise_laws_{name}", LLM / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_a_killed_run_loses_nothing_and_buys_nothing_twice(tmp_path: Path) -> None:
    helper("kill").check(helper("many"), tmp_path, processes=16, calls=2000, seed=2604)
