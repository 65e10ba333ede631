"""A fake server in a thread of its own, and a store in a fresh folder."""

from __future__ import annotations

import asyncio
import importlib.util
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from slicewise.endpoints import Endpoint, Prices
from slicewise.llm.store import Store


def helper(name: str) -> ModuleType:
    """A module that lies beside the tests: they are no package, and some run as programs too."""
    full = f"slicewise_tests_{name}"
    if full not in sys.modules:
        spec = importlib.util.spec_from_file_location(full, Path(__file__).with_name(f"{name}.py"))
        assert spec is not None
        assert spec.loader is not None
        sys.modules[full] = module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
    return sys.modules[full]


@pytest.fixture
def helpers() -> Callable[[str], ModuleType]:
    """Loads a module that lies beside the tests."""
    return helper


class Running:
    """A server that runs, and an endpoint that points at it."""

    def __init__(self, server: Any, port: int) -> None:
        self.server, self.port = server, port

    @property
    def requests(self) -> int:
        return int(self.server.requests)

    def endpoint(self, **changes: Any) -> Endpoint:
        values: dict[str, Any] = {
            "provider": "local",
            "model": "test-model",
            "base_url": f"http://127.0.0.1:{self.port}/v1",
            "api_key_env": None,
            "concurrency": 16,
            "timeout": 10.0,
            "prices": Prices(input=1.0, output=2.0, cached_input=0.5),
        }
        return Endpoint(**(values | changes))


StartServer = Callable[..., Running]


@pytest.fixture
def start_server() -> Iterator[StartServer]:
    """Start fake servers; all stop at the end of the test."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, daemon=True)
    thread.start()
    module = helper("fake_server")

    def start(**settings: Any) -> Running:
        server = module.FakeServer(**settings)
        port = asyncio.run_coroutine_threadsafe(module.serve(server, 0), loop).result(10)
        return Running(server, port)

    yield start
    loop.call_soon_threadsafe(loop.stop)
    thread.join(5)


@pytest.fixture
def store(tmp_path: Path) -> Iterator[Store]:
    with Store(tmp_path / "store") as opened:
        yield opened
