"""The tools as the agent sees them, its own check of a call, and a connection to a tool server.

A server answers an unknown tool, a wrong argument and a fault of the data with the same kind of error. The agent
therefore checks a call before it is made: the name against the tools it was given, the arguments against the tool's
JSON schema. Only what passes both reaches the server, and what then fails is a domain error.
"""

from __future__ import annotations

import asyncio
import base64
import hashlib
import threading
from collections.abc import Coroutine, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, Protocol, TypeVar

from slicewise import artifacts
from slicewise.benchmarks.ct import TOOL_CLASSES, class_of

T = TypeVar("T")
CALL_SECONDS = 180.0


@dataclass(frozen=True)
class Tool:
    """A tool that may be called.

    Attributes:
        name: Its name.
        description: What it does, for the model.
        schema: JSON schema of its arguments.
    """

    name: str
    description: str
    schema: Mapping[str, Any]

    @cached_property
    def _validator(self) -> Any:
        from jsonschema import Draft202012Validator

        return Draft202012Validator(dict(self.schema))

    def fault(self, arguments: Mapping[str, Any]) -> str | None:
        """What is wrong with the arguments, or ``None``."""
        errors = sorted(self._validator.iter_errors(dict(arguments)), key=lambda e: (list(map(str, e.path)), e.message))
        if not errors:
            return None
        first = errors[0]
        where = ".".join(str(part) for part in first.path)
        return f"{where}: {first.message}" if where else str(first.message)

    def shown(self) -> dict[str, Any]:
        """The tool as the system prompt lists it."""
        return {"name": self.name, "description": self.description, "arguments": dict(self.schema)}


@dataclass(frozen=True, slots=True)
class Observation:
    """What a call gave.

    Attributes:
        ok: Whether the tool succeeded.
        text: What the model reads.
        structured: The numbers, as canonical JSON; ``{}`` when there are none.
        png: A picture, if the tool made one.
    """

    ok: bool
    text: str
    structured: str = "{}"
    png: bytes | None = None

    @property
    def picture(self) -> str | None:
        """SHA-256 of the picture."""
        return None if self.png is None else hashlib.sha256(self.png).hexdigest()

    @property
    def digest(self) -> str:
        """What two runs of a call must agree on: success, text, numbers and picture."""
        return artifacts.sha256_json([self.ok, self.text, self.structured, self.picture])


class Server(Protocol):
    """One fresh session of a tool server."""

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Observation:
        """Call a tool; a fault of the data is an observation that is not ``ok``."""
        ...

    def close(self) -> None:
        """End the session."""
        ...


class Toolbox(Protocol):
    """Where sessions come from."""

    def tools(self) -> list[Tool]:
        """Every tool of the server, in its order."""
        ...

    def open(self) -> Server:
        """A fresh session, with nothing loaded."""
        ...


def allowed(tools: Iterable[Tool], classes: Iterable[int]) -> list[Tool]:
    """The tools of the classes that are switched on; class 1 always is."""
    on = {1, *classes}
    return [tool for tool in tools if class_of(tool.name) in on]


class McpToolbox:
    """The project's own tool server over a folder of volumes, in this process, through an ordinary MCP client."""

    def __init__(self, root: Path) -> None:
        """Bind what it works with.

        Args:
            root: The folder that the tools may read.
        """
        self.root = root

    @cached_property
    def _listed(self) -> list[Tool]:
        session = McpServer(self.root)
        try:
            found = session.listed()
        finally:
            session.close()
        order = {name: place for place, name in enumerate(n for names in TOOL_CLASSES.values() for n in names)}
        return sorted(found, key=lambda tool: order.get(tool.name, len(order)))

    def tools(self) -> list[Tool]:
        """Every tool, in the order of the published list."""
        return self._listed

    def open(self) -> McpServer:
        """A server of its own, so that nothing of another question is open in it."""
        return McpServer(self.root)


class McpServer:
    """An in-memory client of a fresh server; its event loop runs in a thread of its own."""

    def __init__(self, root: Path) -> None:
        from fastmcp import Client

        from slicewise.mcp.server import build

        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, name="agent-tools", daemon=True)
        self._thread.start()
        client: Any = Client(build(root))
        self._client = client
        self._wait(self._client.__aenter__())  # closed by close()

    def _wait(self, work: Coroutine[Any, Any, T]) -> T:
        return asyncio.run_coroutine_threadsafe(work, self._loop).result(CALL_SECONDS)

    def listed(self) -> list[Tool]:
        """The tools as the server lists them."""
        found = self._wait(self._client.list_tools())
        return [Tool(one.name, " ".join((one.description or "").split()), dict(one.input_schema)) for one in found]

    def call(self, tool: str, arguments: Mapping[str, Any]) -> Observation:
        """Call a tool."""
        result = self._wait(self._client.call_tool(tool, dict(arguments), raise_on_error=False))
        texts = [block.text for block in result.content if block.type == "text"]
        images = [block.data for block in result.content if block.type == "image"]
        structured = {} if result.is_error else result.structured_content or {}
        png = base64.b64decode(images[0]) if images else None
        return Observation(not result.is_error, "\n".join(texts), artifacts.canonical_json(structured), png)

    def close(self) -> None:
        """Close the client and its thread."""
        try:
            self._wait(self._client.__aexit__(None, None, None))
        finally:
            self._loop.call_soon_threadsafe(self._loop.stop)
            self._thread.join(10)
            self._loop.close()
