"""Around every tool: time limit, stable errors, and a memory of pictures that were made already."""

from __future__ import annotations

import functools
import inspect
import json
from collections import OrderedDict
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from concurrent.futures import TimeoutError as LateError
from threading import Lock
from typing import Any

from fastmcp.exceptions import ToolError
from fastmcp.tools.base import ToolResult

from slicewise.imaging.faults import Code, ImagingError
from slicewise.mcp.workspace import Workspace

_WORKERS = 4
_KEPT = 64


class Guard:
    """Runs tools for one workspace."""

    def __init__(self, workspace: Workspace) -> None:
        self.workspace = workspace
        self._pool = ThreadPoolExecutor(_WORKERS, thread_name_prefix="slicewise-tool")
        self._lock = Lock()
        self._memory: OrderedDict[str, ToolResult] = OrderedDict()
        self._evictions = 0

    def wrap(self, tool: Callable[..., ToolResult], *, pure: bool) -> Callable[..., ToolResult]:
        """The tool as it is registered.

        Args:
            tool: A bound method of a suite.
            pure: Its result depends on its arguments alone; then it is remembered until something is closed.

        Returns:
            A function of the same signature that raises ``ToolError`` with the stable code of the fault. A call that
            takes longer than the limit is answered with ``E_LIMIT``; its work ends in the background, and no more than
            a few run at once.
        """
        signature = inspect.signature(tool, eval_str=True)

        @functools.wraps(tool)
        def call(*args: Any, **kwargs: Any) -> ToolResult:
            bound = signature.bind(*args, **kwargs)
            bound.apply_defaults()
            key = f"{tool.__name__}|{json.dumps(bound.arguments, sort_keys=True, default=str)}"
            kept = self._recall(key) if pure else None
            if kept is not None:
                return kept
            result = self._run(functools.partial(tool, **bound.arguments))
            if pure:
                self._keep(key, result)
            return result

        call.__signature__ = signature  # type: ignore[attr-defined]
        call.__annotations__ = {name: one.annotation for name, one in signature.parameters.items()}
        call.__annotations__["return"] = ToolResult
        del call.__wrapped__
        return call

    def _run(self, work: Callable[[], ToolResult]) -> ToolResult:
        seconds = self.workspace.limits.seconds
        task: Future[ToolResult] = self._pool.submit(work)
        try:
            return task.result(timeout=seconds)
        except ImagingError as error:
            raise ToolError(str(error)) from error
        except LateError as error:
            task.cancel()
            raise ToolError(
                f"{Code.LIMIT}: the call took longer than {seconds:g} s; crop or resample first."
            ) from error
        except MemoryError as error:
            raise ToolError(
                f"{Code.LIMIT}: the call needs more memory than there is; crop or resample first."
            ) from error

    def _recall(self, key: str) -> ToolResult | None:
        with self._lock:
            if self._evictions != self.workspace.evictions:
                # Something was closed: what it gave must be an error again, whatever happened to be remembered.
                self._memory.clear()
                self._evictions = self.workspace.evictions
            return self._memory.get(key)

    def _keep(self, key: str, result: ToolResult) -> None:
        with self._lock:
            self._memory[key] = result
            while len(self._memory) > _KEPT:
                self._memory.popitem(last=False)
