"""``slicewise serve``: the imaging tools over the Model Context Protocol."""

from __future__ import annotations

from pathlib import Path

import click


@click.command(short_help="Serve the CT tools to any MCP client.")
@click.option("--data-root", required=True, type=click.Path(path_type=Path), help="The only folder that may be read.")
@click.option(
    "--suite", "suites", multiple=True,
    help="observation, measurement or analytics; repeat for several, default all. ingestion is always on.",
)  # fmt: skip
@click.option("--http", is_flag=True, help="Streamable HTTP at http://HOST:PORT/mcp instead of standard input/output.")
@click.option("--host", default="127.0.0.1", show_default=True, help="Loopback address for --http.")
@click.option("--port", default=8765, show_default=True, type=click.IntRange(1, 65535), help="Port for --http.")
@click.option("--timeout", default=120.0, show_default=True, type=click.FloatRange(min=1), help="Seconds for one call.")
def serve(data_root: Path, suites: tuple[str, ...], http: bool, host: str, port: int, timeout: float) -> None:
    """Serve tools that look at and measure CT volumes to any MCP client."""
    from slicewise.imaging.limits import Limits
    from slicewise.mcp import server

    built = server.build(data_root, suites or None, Limits(seconds=timeout))
    if http:
        server.serve_http(built, host, port)
    else:
        server.serve_stdio(built)
