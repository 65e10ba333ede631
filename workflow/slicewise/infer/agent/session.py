"""One question's session with the tools: from the store where it can, else from a server that is opened late.

A call whose observation is stored needs no server. The first one that is not opens a fresh server and makes the
session's earlier calls there again, also those that another process has stored meanwhile; their observations must
equal the stored ones, so a store never hides that a tool or a file has changed.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from slicewise.errors import UserError
from slicewise.infer.agent.tools import Observation, Server, Toolbox
from slicewise.infer.agent.toolstore import ToolStore, call_key

LATE = "the call took longer than"  # what the server says when its time limit strikes
_IDS = ("volume_id", "mask_id", "id")


class LateToolError(Exception):
    """A call ran into the time limit: a fault of the machine, which is never stored as an observation."""


class Session:
    """The tools of one question."""

    def __init__(self, toolbox: Toolbox, store: ToolStore, files: str) -> None:
        """Bind what it works with.

        Args:
            toolbox: Opens servers.
            store: Keeps observations.
            files: Digest of the case's files.
        """
        self._toolbox, self._store, self._files = toolbox, store, files
        self._server: Server | None = None
        self._done: list[tuple[str, dict[str, Any], Observation]] = []
        self._applied = 0  # calls that the server has made; another process may store the next one meanwhile
        self._opened: list[str] = []

    def call(self, tool: str, arguments: Mapping[str, Any]) -> tuple[str, Observation]:
        """Make a call that passed the agent's own check; returns its key and what it gave.

        Raises:
            LateToolError: The call took too long.
            UserError: An earlier call of the session gives something else now than what is stored of it.
        """
        key = call_key(tool, arguments, self._files, self._opened)
        found = self._store.get(key)
        if found is None:
            found = self._live().call(tool, arguments)
            if not found.ok and LATE in found.text:
                raise LateToolError(f"the tool '{tool}' took too long on this machine: run again to go on")
            self._store.put(key, found)
            self._applied += 1
        self._done.append((tool, dict(arguments), found))
        self._remember(found)
        return key, found

    def _live(self) -> Server:
        """The server, caught up with every call that was taken from the store since."""
        if self._server is None:
            self._server = self._toolbox.open()
        for tool, arguments, expected in self._done[self._applied :]:
            again = self._server.call(tool, arguments)
            if again.digest != expected.digest:
                raise UserError(
                    f"the tool '{tool}' with {arguments} gives something else than what is stored of it; the tools or "
                    "the files have changed: remove the store of tool calls (data/store/tools.sqlite)."
                )
            self._applied += 1
        return self._server

    def _remember(self, found: Observation) -> None:
        numbers = json.loads(found.structured)
        for name in _IDS:
            given = numbers.get(name) if found.ok else None
            if isinstance(given, str) and given not in self._opened:
                self._opened.append(given)

    def close(self) -> None:
        """End the server, if one was opened."""
        if self._server is not None:
            self._server.close()
            self._server = None
