"""``kill -9`` in the middle of a run with faults: the small version of the law in ``tests/laws``."""

from __future__ import annotations

from pathlib import Path
from typing import Any


def test_a_killed_run_goes_on_without_buying_again(helpers: Any, tmp_path: Path) -> None:
    helpers("kill").check(helpers("many"), tmp_path, processes=3, calls=120, seed=11)
