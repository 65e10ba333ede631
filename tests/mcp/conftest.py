"""A data root with a phantom, and a plain client."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from fastmcp import Client
from fastmcp.client.client import CallToolResult
from slicewise.data.phantom.chest import Chest, label_names, make_chest, write_chest
from slicewise.mcp.server import build

SECONDS = 30.0


@dataclass(frozen=True)
class World:
    """A phantom on disk and in memory."""

    root: Path
    chest: Chest

    def label(self, mask: str) -> int:
        """Number of a mask in the label map."""
        return {name: number for number, name in label_names(self.chest).items()}[mask]


@pytest.fixture(scope="session")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    root = tmp_path_factory.mktemp("root")
    chest = make_chest(11, shape=(64, 112, 112), spacing=(3.5, 3.0, 3.0), effusion="right", calcification=True)
    write_chest(chest, root)
    return World(root, chest)


Session = Callable[[Client[Any]], Awaitable[Any]]


def talk(target: Any, session: Session) -> Any:
    """Run a session with the public client."""

    async def run() -> Any:
        async with asyncio.timeout(SECONDS), Client(target) as client:
            return await session(client)

    return asyncio.run(run())


class Desk:
    """One server, called tool by tool over an open client; the loop lives as long as the desk."""

    def __init__(self, root: Path, **options: Any) -> None:
        self.loop = asyncio.new_event_loop()
        self.client = Client(build(root, **options))
        self.loop.run_until_complete(self.client.__aenter__())

    def call(self, tool: str, /, **arguments: Any) -> CallToolResult:
        """The raw result, errors included."""
        waiting = self.client.call_tool(tool, arguments, raise_on_error=False)
        return self.loop.run_until_complete(asyncio.wait_for(waiting, SECONDS))

    def ok(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The structured content of a call that must succeed."""
        result = self.call(tool, **arguments)
        assert not result.is_error, result.content[0].text
        assert result.structured_content is not None
        return result.structured_content

    def error(self, tool: str, /, **arguments: Any) -> str:
        """The text of a call that must fail."""
        result = self.call(tool, **arguments)
        assert result.is_error, result.structured_content
        return str(result.content[0].text)

    def close(self) -> None:
        self.loop.run_until_complete(self.client.__aexit__(None, None, None))
        self.loop.close()


@pytest.fixture(scope="module")
def desk(world: World) -> Iterator[Desk]:
    opened = Desk(world.root)
    yield opened
    opened.close()


@pytest.fixture(scope="module")
def volume_id(desk: Desk) -> str:
    return str(desk.ok("load_data", path="chest.nii.gz")["volume_id"])


@pytest.fixture(scope="module")
def mask_id(desk: Desk, volume_id: str) -> str:
    return str(desk.ok("load_mask", path="chest-labels.nii.gz", volume_id=volume_id)["mask_id"])


@pytest.fixture(scope="session")
def real_series() -> Path:
    """A folder with one real CT series, named by SLICEWISE_CT_SERIES."""
    folder = os.environ.get("SLICEWISE_CT_SERIES", "")
    if not folder or not Path(folder).is_dir():
        if os.environ.get("REQUIRE_ALL") and folder:
            pytest.fail(f"SLICEWISE_CT_SERIES names no folder: {folder}")
        pytest.skip("SLICEWISE_CT_SERIES does not name a folder with a CT series")
    return Path(folder)
