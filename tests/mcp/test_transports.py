"""The served process, over standard input and output and over HTTP, with the public client."""

from __future__ import annotations

import http.client
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from fastmcp.client.transports import StdioTransport

from .conftest import World, talk

ENVIRONMENT = {**os.environ, "OMP_NUM_THREADS": "1"}


def command(root: Path, *options: str) -> list[str]:
    return [str(Path(sys.executable).parent / "slicewise"), "serve", "--data-root", str(root), *options]


async def session(client: Any) -> dict[str, Any]:
    names = [tool.name for tool in await client.list_tools()]
    loaded = await client.call_tool("load_data", {"path": "chest.nii.gz"})
    volume = loaded.structured_content["volume_id"]
    shown = await client.call_tool("view_slice", {"volume_id": volume, "index": 20})
    escape = await client.call_tool("load_data", {"path": "../x"}, raise_on_error=False)
    return {"names": len(names), "kinds": [block.type for block in shown.content], "error": escape.content[0].text}


EXPECTED_KINDS = ["text", "image"]


def test_standard_input_and_output(world: World) -> None:
    program, *arguments = command(world.root)
    transport = StdioTransport(program, arguments, env=ENVIRONMENT)
    found = talk(transport, session)
    assert found["names"] == 24
    assert found["kinds"] == EXPECTED_KINDS
    assert found["error"].startswith("E_NOT_FOUND: ")


def test_http(world: World) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    options = command(world.root, "--http", "--port", str(port), "--suite", "measurement")
    with subprocess.Popen(options, env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL) as server:
        try:
            _wait_for(port, server)
            found = talk(f"http://127.0.0.1:{port}/mcp", session)
            foreign = _status(port, "attacker.example")
        finally:
            server.terminate()
    assert 400 <= foreign < 500  # a page on another site cannot reach the tools through the browser
    assert found["names"] == 14
    assert found["kinds"] == EXPECTED_KINDS
    assert found["error"].startswith("E_NOT_FOUND: ")


def _status(port: int, host: str) -> int:
    """Status of a request that names another host, as a rebound DNS name would."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=10)
    body = '{"jsonrpc":"2.0","id":1,"method":"ping"}'
    headers = {"Host": host, "Content-Type": "application/json", "Accept": "application/json, text/event-stream"}
    connection.request("POST", "/mcp", body, headers)
    return connection.getresponse().status


def _wait_for(port: int, server: subprocess.Popen[bytes], seconds: float = 30.0) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if server.poll() is not None:
            pytest.fail(f"the server ended with status {server.returncode}")
        with socket.socket() as probe:
            probe.settimeout(0.5)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
        time.sleep(0.1)
    pytest.fail("the server did not open its port")


def test_the_command_says_what_is_wrong(tmp_path: Path) -> None:
    done = subprocess.run(command(tmp_path / "none"), capture_output=True, text=True, env=ENVIRONMENT, check=False)
    assert done.returncode == 2
    assert "--data-root" in done.stderr
    assert "Traceback" not in done.stderr
