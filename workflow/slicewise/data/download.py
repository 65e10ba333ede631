"""Downloading one file over HTTP: resumed where it broke off, also by a later run, and kept only when it is whole.

``httpx2`` is the client: huggingface_hub and openai stand on it, so it is here already; pooch, the usual choice for
data files, starts again from the first byte after a break.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from http import HTTPStatus
from pathlib import Path

import httpx2
from tqdm import tqdm

from slicewise.errors import UserError

TRIES = 4  # without a new byte in between
PAUSE = 1.0  # seconds, doubled with every try
TIMEOUT = httpx2.Timeout(30.0, connect=10.0)


def download(url: str, path: Path, intact: Callable[[Path], bool], advice: str) -> None:
    """Fetch ``url`` into ``path``.

    Args:
        url: Where the file is.
        path: Where it goes; until it is whole it is called ``<path>.part``.
        intact: Whether the downloaded file is the expected one.
        advice: What the user can do when it fails; the end of the message.

    Raises:
        UserError: The server cannot be reached, refuses, or twice sends other bytes than expected.
    """
    part = path.with_name(f"{path.name}.part")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UserError(f"{path.parent}: cannot be created ({error.strerror}).") from error
    for _ in range(2):  # a part left by an earlier run may be damaged: then once more from the start
        _fetch(url, part, advice)
        if intact(part):
            os.replace(part, path)
            return
        part.unlink()
    raise UserError(f"{url}: the file's checksum is not the expected one, twice; the source was changed: {advice}")


def _fetch(url: str, part: Path, advice: str) -> None:
    """Write ``part`` to its end, resuming after every break."""
    failures = 0
    while True:
        before = _size(part)
        try:
            _stream(url, part, advice)
            return
        except httpx2.TransportError as error:
            failures = failures + 1 if _size(part) == before else 1
            if failures >= TRIES:
                raise UserError(f"{url}: cannot be reached ({str(error) or type(error).__name__}): {advice}") from error
            time.sleep(PAUSE * 2 ** (failures - 1))


def _size(path: Path) -> int:
    return path.stat().st_size if path.exists() else 0


def _stream(url: str, part: Path, advice: str) -> None:
    start = _size(part)
    headers = {"Accept-Encoding": "identity", **({"Range": f"bytes={start}-"} if start else {})}
    with httpx2.stream("GET", url, headers=headers, follow_redirects=True, timeout=TIMEOUT) as response:
        if response.status_code == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
            return  # nothing lies behind the part's end: it is whole, or wrong, which the checksum tells
        if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
            raise httpx2.RemoteProtocolError(f"status {response.status_code}")
        if response.is_error:
            raise UserError(f"{url}: the server answered {response.status_code} {response.reason_phrase}: {advice}")
        resumed = response.headers.get("Content-Range", "").startswith(f"bytes {start}-")
        whole = int(response.headers.get("Content-Length", 0)) + (start if resumed else 0)
        with (
            part.open("ab" if resumed else "wb") as handle,
            tqdm(
                total=whole or None,
                initial=start if resumed else 0,
                unit="B",
                unit_scale=True,
                desc=part.stem,
                disable=None,
            ) as bar,
        ):
            for chunk in response.iter_bytes():  # as received, so that a break loses nothing
                handle.write(chunk)
                bar.update(len(chunk))
