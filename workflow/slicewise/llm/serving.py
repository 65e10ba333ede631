"""Run a model server beside the jobs that ask it: start it on a free port, wait until it answers, say where it is.

``python -m slicewise.llm.serving --out FILE -- vllm serve MODEL --port {port}`` writes the base URL to FILE once the
server lists its models, and stays until the server or the caller ends. ``{port}`` stands for the port.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path

from slicewise.artifacts import write_text
from slicewise.errors import UserError

LOOPBACK = "127.0.0.1"
POLL_SECONDS = 1.0
START_SECONDS = 1800.0  # large weights load slowly


def serve(command: list[str], out: Path, *, seconds: float = START_SECONDS, host: str = LOOPBACK) -> int:
    """Start a server, write its base URL to ``out`` when it is ready, and wait for its end.

    Args:
        command: The server's command; ``{port}`` in it is replaced.
        out: File for the URL.
        seconds: How long the server may take to answer.
        host: Name under which the server's consumers reach it; a service and its consumers share a node.

    Returns:
        The server's exit status.

    Raises:
        UserError: The server ended, or did not answer in time.
    """
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = int(probe.getsockname()[1])
    local = f"http://{LOOPBACK}:{port}/v1"
    with subprocess.Popen([word.replace("{port}", str(port)) for word in command]) as server:
        signal.signal(signal.SIGTERM, lambda *_: server.terminate())
        try:
            _wait(server, f"{local}/models", seconds)
            write_text(out, f"http://{host}:{port}/v1\n")
            return _stay(server)
        finally:
            server.terminate()


def _stay(server: subprocess.Popen[bytes]) -> int:
    """Wait for the server's end, and end it when the caller is gone.

    Snakemake kills a service's shell, not the shell's child.
    """
    caller = os.getppid()
    while (status := server.poll()) is None:
        if os.getppid() != caller:
            server.terminate()
        time.sleep(POLL_SECONDS)
    return status


def _wait(server: subprocess.Popen[bytes], url: str, seconds: float) -> None:
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if server.poll() is not None:
            raise UserError(f"the server ended with {server.returncode} before it answered; its own output says why.")
        try:
            with urllib.request.urlopen(url, timeout=5) as reply:  # noqa: S310 - our own loopback URL
                if reply.status == 200:
                    return
        except (urllib.error.URLError, OSError):
            time.sleep(POLL_SECONDS)
    raise UserError(f"the server did not answer at {url} within {seconds:.0f} s; give it more memory or a GPU.")


def main() -> None:
    """Serve as the command line says."""
    parser = argparse.ArgumentParser(description="Run a model server and write its URL.")
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--host", default=LOOPBACK)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    try:
        sys.exit(serve(options.command, options.out, host=options.host))
    except UserError as error:
        sys.exit(f"slicewise: error: {error}")


if __name__ == "__main__":
    main()
