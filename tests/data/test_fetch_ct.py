"""``slicewise data fetch rad3d|ct-rate`` against the local hub: what is taken, what is left, gated access."""

from __future__ import annotations

import importlib.util
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import yaml
from click.testing import CliRunner
from slicewise.cli import cli
from slicewise.errors import UserError


def _sibling(name: str) -> ModuleType:
    full = f"slicewise_tests_ct_{name}"
    spec = importlib.util.spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[full] = module
    spec.loader.exec_module(module)
    return module


hub_server = _sibling("hub_server")
SCAN = "dataset/valid_fixed/valid_1/valid_1_a"
FILES = {
    "README.md": b"#",
    "task4/test.csv": b"Task\n",
    "test.zip": b"zip",
    "dataset/radiology_text_reports/validation_reports.csv": b"VolumeName\n",
    f"{SCAN}/valid_1_a_1.nii.gz": b"one",
    f"{SCAN}/valid_1_a_2.nii.gz": b"two",
}


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # read once, at its import
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with hub_server.HubServer(hub_server.Hub(files=dict(FILES))) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        yield served


@pytest.fixture
def settings(tmp_path: Path) -> Path:
    raw = yaml.safe_load((Path(__file__).parents[2] / "params.yaml").read_text(encoding="utf-8"))
    for name in ("rad3d", "ct_rate"):
        raw["data"][name] |= {"repo": "owner/data", "path": str(tmp_path / name)}
    path = tmp_path / "params.yaml"
    path.write_text(yaml.safe_dump(raw), encoding="utf-8")
    return path


def _fetch(*arguments: str) -> str:
    result = CliRunner().invoke(cli, ["data", "fetch", *arguments])
    if isinstance(result.exception, UserError):
        raise result.exception
    assert result.exit_code == 0, result.output
    return result.output


def _there(folder: Path) -> set[str]:
    return {p.relative_to(folder).as_posix() for p in folder.rglob("*") if p.is_file()} - {"slicewise-fetch.json"}


def test_3d_rad_without_and_with_its_archive(hub: Any, settings: Path, tmp_path: Path) -> None:
    said = _fetch("rad3d", "--params", str(settings))
    assert f"data.rad3d.revision: {hub_server.COMMIT}" in said
    assert "task4/test.csv" in _there(tmp_path / "rad3d")
    assert "test.zip" not in _there(tmp_path / "rad3d")
    _fetch("rad3d", "--images", "--params", str(settings))
    assert "test.zip" in _there(tmp_path / "rad3d")


def test_ct_rate_takes_reports_and_the_named_volumes(hub: Any, settings: Path, tmp_path: Path) -> None:
    _fetch("ct-rate", "--params", str(settings))
    assert not any(name.endswith(".nii.gz") for name in _there(tmp_path / "ct_rate"))
    names = tmp_path / "volumes.txt"
    names.write_text("valid_1_a_2\n")
    _fetch("ct-rate", "--volumes", str(names), "--params", str(settings))
    assert {name for name in _there(tmp_path / "ct_rate") if name.endswith(".gz")} == {f"{SCAN}/valid_1_a_2.nii.gz"}


def test_gated_access_says_what_to_do(hub: Any, settings: Path) -> None:
    hub.gated = True
    with pytest.raises(UserError, match=r"data\.ct_rate|gated|HF_TOKEN"):
        _fetch("ct-rate", "--params", str(settings))
