"""The server: the four suites under one roof, their 24 tools by their own names."""

from __future__ import annotations

import ipaddress
from collections.abc import Iterable
from pathlib import Path

from fastmcp import FastMCP

from slicewise import __version__
from slicewise.errors import UserError, did_you_mean
from slicewise.imaging.limits import Limits
from slicewise.mcp.analytics import Analytics
from slicewise.mcp.guard import Guard
from slicewise.mcp.ingestion import Ingestion
from slicewise.mcp.measurement import Measurement
from slicewise.mcp.observation import Observation
from slicewise.mcp.suite import Suite
from slicewise.mcp.workspace import Workspace

SUITES: dict[str, type[Suite]] = {suite.name: suite for suite in (Ingestion, Observation, Measurement, Analytics)}
TOOLS = {name: tuple(suite.tools) for name, suite in SUITES.items()}

_INSTRUCTIONS = (
    "Tools to look at and measure CT volumes. Start with load_data; it returns the volume_id that the others need. "
    "Voxels are [z, y, x], lengths mm, volumes mL, intensities HU. Errors start with a stable code such as "
    "E_NOT_LOADED. Research use, not for clinical decisions."
)


def build(root: Path, suites: Iterable[str] | None = None, limits: Limits | None = None) -> FastMCP:
    """A server over one data root.

    Args:
        root: The only folder that tools may read.
        suites: Which suites beside ``ingestion``, which is always on; default all.
        limits: Bounds of one workspace.

    Raises:
        UserError: There is no such folder or suite.
    """
    chosen = [*dict.fromkeys(["ingestion", *(SUITES if suites is None else suites)])]
    for name in chosen:
        if name not in SUITES:
            hint = did_you_mean(name, SUITES)
            raise UserError(f"--suite: no suite '{name}'; expected one of {', '.join(SUITES)}.{hint}")
    workspace = Workspace(root, limits)
    guard = Guard(workspace)
    server: FastMCP = FastMCP(
        "slicewise",
        instructions=_INSTRUCTIONS,
        version=__version__,
        strict_input_validation=True,
        mask_error_details=True,
    )
    for name in SUITES:
        if name in chosen:
            server.mount(SUITES[name](workspace).server(guard))
    return server


def serve_stdio(server: FastMCP) -> None:
    """Speak MCP on standard input and output until the client leaves."""
    server.run("stdio", show_banner=False)


def serve_http(server: FastMCP, host: str, port: int) -> None:
    """Speak streamable HTTP at ``http://HOST:PORT/mcp`` until interrupted.

    Raises:
        UserError: The address is not of this machine: there is no login, so nobody else may reach the files.
    """
    try:
        local = host == "localhost" or ipaddress.ip_address(host).is_loopback
    except ValueError:
        local = False
    if not local:
        raise UserError(
            f"--host: '{host}' is not of this machine; expected 127.0.0.1, and a tunnel for other machines."
        )
    server.run("http", show_banner=False, host=host, port=port, host_origin_protection=True)
