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


def _module() -> ModuleType:
    name = "slicewise_tests_fake_server"
    if name not in sys.modules:
        spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name("fake_server.py"))
        assert spec is not None
        assert spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules[name] = module
        spec.loader.exec_module(module)
    return sys.modules[name]


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
    module = _module()

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
