"""The simulation behind the tables of docs/statistics.md, run small."""

from __future__ import annotations

import importlib.util
import math
import sys
from pathlib import Path
from types import ModuleType

import numpy as np
import pytest

SCRIPT = Path(__file__).parents[2] / "benchmarks/statistics_simulation.py"


@pytest.fixture(scope="module")
def simulation() -> ModuleType:
    spec = importlib.util.spec_from_file_location("statistics_simulation", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("kind", ["score", "yes/no"])
def test_pairs_have_the_true_difference_that_they_are_made_with(simulation: ModuleType, kind: str) -> None:
    generator = np.random.default_rng(1)
    sums, counts = simulation.differences(generator, 20_000, 0.1, kind)
    assert sums.sum() / counts.sum() == pytest.approx(0.1, abs=0.01)


@pytest.mark.parametrize("kind", ["score", "yes/no"])
def test_paired_intervals_cover_and_the_test_holds_its_size(simulation: ModuleType, kind: str) -> None:
    number = 300
    covered, size, power, effect = simulation.paired(kind, 40, number, seed=5)
    assert covered >= 0.95 - 3 * math.sqrt(0.95 * 0.05 / number)
    assert size <= 0.05 + 3 * math.sqrt(0.95 * 0.05 / number)
    assert power == pytest.approx(0.77, abs=0.1)
    assert 0 < effect < 0.2


def test_holm_holds_the_error_of_a_whole_table(simulation: ModuleType) -> None:
    plain, corrected = simulation.familywise(40, 150, seed=6)
    assert plain > 0.15
    assert corrected <= 0.05 + 3 * math.sqrt(0.95 * 0.05 / 150)
