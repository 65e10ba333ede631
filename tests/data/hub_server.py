"""A server on loopback that speaks what ``huggingface_hub`` asks of the Hub for one small dataset repository.

Written from the requests that huggingface_hub 2.4 makes: ``GET /api/datasets/{repo}/revision/{revision}``,
``GET /api/datasets/{repo}/tree/{commit}`` (paged by a ``Link`` header), and ``HEAD`` and ``GET``
``/datasets/{repo}/resolve/{commit}/{path}`` with ``ETag``, ``X-Repo-Commit`` and byte ranges. Faults are switched on by
attributes.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OLD_COMMIT = "89abcdef0123456789abcdef0123456789abcdef"


@dataclass
class Hub:
    """The repository and what goes wrong.

    Attributes:
        files: Content by path at the newest commit.
        large: Paths served as large files (their ETag is a SHA-256).
        gated: Resolving a file needs ``token``.
        private: Everything needs ``token``; without it the repository does not exist.
        drop_after: Path -> bytes after which its connection breaks, once.
        corrupt: Path -> how many of its downloads have a flipped byte.
        broken: Every request is answered with status 500.
        requests: ``(method, path)`` in order.
        ranges: ``Range`` headers of downloads in order.
    """

    files: dict[str, bytes]
    repo: str = "owner/data"
    large: frozenset[str] = frozenset()
    old_files: dict[str, bytes] = field(default_factory=dict)
    token: str = "hf_secret"
    gated: bool = False
    private: bool = False
    drop_after: dict[str, int] = field(default_factory=dict)
    corrupt: Counter[str] = field(default_factory=Counter)
    broken: bool = False
    page_size: int = 2
    requests: list[tuple[str, str]] = field(default_factory=list)
    ranges: list[str] = field(default_factory=list)
    url: str = ""

    def at(self, revision: str) -> tuple[str, dict[str, bytes]] | None:
        """Commit and files of a branch, tag or commit."""
        if revision in ("main", "v1", COMMIT):
            return COMMIT, self.files
        return (OLD_COMMIT, self.old_files) if revision == OLD_COMMIT else None

    def downloads(self) -> list[str]:
        """Paths of files that were downloaded, in order."""
        return [
            path.split(f"/resolve/{COMMIT}/")[-1]
            for method, path in self.requests
            if "/resolve/" in path and method == "GET"
        ]


def blob_id(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    hub: Hub

    def do_GET(self) -> None:
        self._answer()

    def do_HEAD(self) -> None:
        self._answer()

    def _answer(self) -> None:
        hub = self.hub
        url = urlsplit(self.path)
        path = unquote(url.path)
        hub.requests.append((self.command, path))
        if hub.broken:
            return self._send(500, b"")
        authorized = self.headers.get("Authorization") == f"Bearer {hub.token}"
        if hub.private and not authorized:
            return self._error(401, "RepoNotFound")
        if info := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/revision/(.+)", path):
            return self._info(info[1], info[2])
        if tree := re.fullmatch(r"/api/datasets/([^/]+/[^/]+)/tree/([^/]+)", path):
            return self._tree(tree[1], tree[2], url.query)
        if file := re.fullmatch(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            if hub.gated and not authorized:
                return self._error(401, "GatedRepo")
            return self._file(file[1], file[2], file[3])
        return self._error(404, "RepoNotFound")

    def _state(self, repo: str, revision: str) -> tuple[str, dict[str, bytes]] | None:
        if repo != self.hub.repo:
            self._error(404, "RepoNotFound")
            return None
        state = self.hub.at(revision)
        if state is None:
            self._error(404, "RevisionNotFound")
        return state

    def _info(self, repo: str, revision: str) -> None:
        if state := self._state(repo, revision):
            siblings = [{"rfilename": name} for name in state[1]]
            body: dict[str, Any] = {
                "id": repo,
                "sha": state[0],
                "private": False,
                "downloads": 0,
                "likes": 0,
                "tags": [],
            }
            self._json({**body, "siblings": siblings})

    def _tree(self, repo: str, revision: str, query: str) -> None:
        if not (state := self._state(repo, revision)):
            return
        names = sorted(state[1])
        start = int(re.search(r"cursor=(\d+)", query)[1]) if "cursor=" in query else 0  # type: ignore[index]
        page = names[start : start + self.hub.page_size]
        entries: list[dict[str, Any]] = [{"type": "directory", "path": "brain", "oid": "0" * 40}] if start == 0 else []
        for name in page:
            content = state[1][name]
            entry: dict[str, Any] = {"type": "file", "path": name, "size": len(content), "oid": blob_id(content)}
            if name in self.hub.large:
                digest = hashlib.sha256(content).hexdigest()
                entry |= {"oid": "1" * 40, "lfs": {"oid": digest, "size": len(content), "pointerSize": 130}}
            entries.append(entry)
        more = start + self.hub.page_size
        link = f'<{self.hub.url}/api/datasets/{repo}/tree/{revision}?recursive=True&cursor={more}>; rel="next"'
        self._json(entries, {"Link": link} if more < len(names) else {})

    def _file(self, repo: str, revision: str, name: str) -> None:
        if not (state := self._state(repo, revision)):
            return
        if name not in state[1]:
            self._error(404, "EntryNotFound")
            return
        content = state[1][name]
        etag = hashlib.sha256(content).hexdigest() if name in self.hub.large else blob_id(content)
        headers = {"ETag": f'"{etag}"', "X-Repo-Commit": state[0], "Accept-Ranges": "bytes"}
        start = 0
        if self.command == "GET":
            if self.hub.corrupt[name] > 0:
                self.hub.corrupt[name] -= 1
                content = bytes([content[0] ^ 1]) + content[1:]
            if wanted := re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", "")):
                self.hub.ranges.append(wanted[0])
                start = int(wanted[1])
                headers["Content-Range"] = f"bytes {start}-{len(content) - 1}/{len(content)}"
        self._send(206 if start else 200, content[start:], headers, self.hub.drop_after.pop(name, None))

    def _json(self, value: Any, headers: dict[str, str] | None = None) -> None:
        self._send(200, json.dumps(value).encode(), {"Content-Type": "application/json", **(headers or {})})

    def _error(self, status: int, code: str) -> None:
        self._send(status, b"{}", {"X-Error-Code": code, "X-Error-Message": code})

    def _send(self, status: int, body: bytes, headers: dict[str, str] | None = None, cut: int | None = None) -> None:
        """Send an answer; with ``cut`` the connection closes after so many bytes of a GET's body."""
        self.send_response(status)
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command == "HEAD":
            if cut is not None:  # keep the fault for the download
                self.hub.drop_after[unquote(self.path).split(f"/resolve/{COMMIT}/")[-1]] = cut
            return
        self.wfile.write(body if cut is None else body[:cut])
        self.wfile.flush()
        if cut is not None:
            self.close_connection = True
            self.connection.close()

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


class HubServer:
    """Serves a :class:`Hub` on a free loopback port while in a ``with`` block."""

    def __init__(self, hub: Hub) -> None:
        handler = type("Handler", (_Handler,), {"hub": hub})
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
        self.hub = hub
        hub.url = f"http://127.0.0.1:{self.server.server_address[1]}"

    def __enter__(self) -> Hub:
        threading.Thread(target=self.server.serve_forever, args=(0.01,), daemon=True).start()
        return self.hub

    def __exit__(self, *_: object) -> None:
        self.server.shutdown()
        self.server.server_close()
