"""A suite: a class whose methods are tools."""

from __future__ import annotations

from typing import ClassVar

from fastmcp import FastMCP

from slicewise.mcp.guard import Guard
from slicewise.mcp.workspace import Workspace


class Suite:
    """Base of the four suites.

    Attributes:
        name: Name of the suite.
        tools: Names of its methods that are tools, in order.
        impure: Those whose result may change between calls, or that must register something each time.
    """

    name: ClassVar[str]
    tools: ClassVar[tuple[str, ...]]
    impure: ClassVar[frozenset[str]] = frozenset()

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace

    def server(self, guard: Guard) -> FastMCP:
        """A server with the tools of this suite; arguments are validated strictly, unknown ones refused."""
        server: FastMCP = FastMCP(self.name, strict_input_validation=True, mask_error_details=True)
        for name in self.tools:
            server.tool(guard.wrap(getattr(self, name), pure=name not in self.impure), name=name)
        return server
