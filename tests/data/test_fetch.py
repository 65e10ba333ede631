"""Fetching, against servers on loopback: huggingface_hub's real client, broken connections, wrong bytes, refusals."""

from __future__ import annotations

import hashlib
import importlib.util
import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from click.testing import CliRunner
from pytest_httpserver import HTTPServer
from slicewise.cli import cli
from slicewise.data import download, fetch
from slicewise.errors import UserError
from werkzeug import Request, Response


def _sibling(name: str) -> ModuleType:
    """Import a helper beside this file; tests are no package."""
    spec = importlib.util.spec_from_file_location(name, Path(__file__).with_name(f"{name}.py"))
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


hub_server = _sibling("hub_server")
COMMIT, OLD_COMMIT = hub_server.COMMIT, hub_server.OLD_COMMIT

BIG = "knee/test/image_qa/questions.json"
SMALL = "brain/test/image_qa/questions.json"
FILES = {
    BIG: b"[" + b'{"question": "?"},' * 40_000 + b"{}]",
    SMALL: b'[{"question": "Where?"}]',
    "brain/test/volume_qa/questions.json": b"[1]",
    "README.md": b"# data\n",
    "images.tar": b"not wanted",
}
WANTED = sorted(set(FILES) - {"images.tar"})


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[Any]:
    repository = hub_server.Hub(
        files=dict(FILES), large=frozenset({BIG}), old_files={"README.md": b"old", SMALL: b"[0]"}
    )
    monkeypatch.setenv("HF_HUB_DISABLE_XET", "1")
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", False)  # read once, at its import
    monkeypatch.setenv("HF_HOME", str(tmp_path / "home"))
    for name in ("HF_TOKEN", "HUGGING_FACE_HUB_TOKEN", "HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.delenv(name, raising=False)
    with hub_server.HubServer(repository) as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        yield served


def source(revision: str = "main", repo: str = "owner/data") -> fetch.HubSource:
    return fetch.HubSource(repo, revision, "data.sgmri", fetch.SGMRI_PATTERNS)


def contents(folder: Path) -> dict[str, bytes]:
    files = (p for p in folder.rglob("*") if p.is_file() and p.name != fetch.LOCK)
    return {p.relative_to(folder).as_posix(): p.read_bytes() for p in files}


def test_a_branch_is_resolved_and_recorded(hub: Any, tmp_path: Path) -> None:
    lock = fetch.from_hub(source(), tmp_path / "out")
    assert contents(tmp_path / "out") == {name: FILES[name] for name in WANTED}
    assert (lock.repo, lock.revision, lock.commit) == ("owner/data", "main", COMMIT)
    raw = json.loads((tmp_path / "out" / fetch.LOCK).read_text())
    assert [f["path"] for f in raw["files"]] == WANTED
    assert {f["path"]: f["sha256"] for f in raw["files"]} == {
        name: hashlib.sha256(FILES[name]).hexdigest() for name in WANTED
    }
    assert fetch.verify(tmp_path / "out", lock) == []


def test_a_second_fetch_downloads_nothing_and_a_pinned_one_asks_nothing(hub: Any, tmp_path: Path) -> None:
    fetch.from_hub(source(), tmp_path)
    before = (tmp_path / fetch.LOCK).read_bytes()
    hub.requests.clear()
    fetch.from_hub(source(), tmp_path)
    assert hub.downloads() == []
    assert (tmp_path / fetch.LOCK).read_bytes() == before
    fetch.from_hub(source(COMMIT), tmp_path)
    hub.requests.clear()
    assert fetch.from_hub(source(COMMIT), tmp_path).commit == COMMIT
    assert hub.requests == []


def test_two_folders_get_the_same_bytes(hub: Any, tmp_path: Path) -> None:
    for name in "ab":
        fetch.from_hub(source(), tmp_path / name)
    assert (tmp_path / "a" / fetch.LOCK).read_bytes() == (tmp_path / "b" / fetch.LOCK).read_bytes()
    assert contents(tmp_path / "a") == contents(tmp_path / "b")


def test_a_connection_that_drops_in_mid_file_is_resumed(hub: Any, tmp_path: Path) -> None:
    piece = 10 * 2**20  # huggingface_hub writes, and so resumes, in pieces of 10 MiB
    hub.files[BIG] = bytes(range(256)) * (piece // 256) + b"the rest" * 1_000
    hub.drop_after = {BIG: piece + 5_000}
    fetch.from_hub(source(), tmp_path)
    assert (tmp_path / BIG).read_bytes() == hub.files[BIG]
    assert hub.ranges == [f"bytes={piece}-"]


def test_a_killed_fetch_goes_on_with_the_missing_files(hub: Any, tmp_path: Path) -> None:
    fetch.from_hub(source(), tmp_path)
    (tmp_path / fetch.LOCK).unlink()
    (tmp_path / SMALL).write_bytes(b"[{")
    (tmp_path / fetch.STAGING).mkdir()
    hub.requests.clear()
    fetch.from_hub(source(), tmp_path)
    assert hub.downloads() == [SMALL]
    assert contents(tmp_path) == {name: FILES[name] for name in WANTED}


@pytest.mark.parametrize("name", [BIG, SMALL])
def test_a_corrupted_body_is_fetched_again(hub: Any, tmp_path: Path, name: str) -> None:
    hub.corrupt[name] = 1
    fetch.from_hub(source(), tmp_path)
    assert contents(tmp_path)[name] == FILES[name]
    assert hub.downloads().count(name) == 2


def test_a_body_that_stays_corrupted_is_refused(hub: Any, tmp_path: Path) -> None:
    hub.corrupt[SMALL] = 99
    with pytest.raises(UserError, match=rf"{SMALL}: the checksum .* 3 times") as error:
        fetch.from_hub(source(), tmp_path)
    assert "HF_ENDPOINT" in str(error.value)
    assert not (tmp_path / SMALL).exists()
    assert not (tmp_path / fetch.LOCK).exists()


def test_files_of_an_earlier_revision_do_not_stay(hub: Any, tmp_path: Path) -> None:
    fetch.from_hub(source(), tmp_path)
    (tmp_path / "mine.json").write_text("[]")
    fetch.from_hub(source(OLD_COMMIT), tmp_path)
    assert contents(tmp_path) == {"README.md": b"old", SMALL: b"[0]", "mine.json": b"[]"}


def test_a_gated_repository_says_what_to_do(hub: Any, tmp_path: Path) -> None:
    hub.gated = True
    with pytest.raises(UserError, match="is gated; accept its conditions there, then set HF_TOKEN"):
        fetch.from_hub(source(), tmp_path)


@pytest.mark.parametrize("kind", ["gated", "private"])
def test_the_token_opens_it(hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str) -> None:
    setattr(hub, kind, True)
    monkeypatch.setenv("HF_TOKEN", hub.token)
    assert fetch.from_hub(source(), tmp_path).commit == COMMIT


REFUSED = [
    ("main", "owner/nothing", r"datasets/owner/nothing: was not found, or is private; check 'data.sgmri.repo'"),
    ("v9", "owner/data", r"data.sgmri.revision: 'v9' does not exist"),
    ("0" * 40, "owner/data", r"data.sgmri.revision: '0{40}' does not exist"),
    ("main", "not a name", r"data.sgmri.repo: 'not a name' is no repository name"),
]


@pytest.mark.parametrize(("revision", "repo", "message"), REFUSED)
def test_what_does_not_exist_is_named(hub: Any, tmp_path: Path, revision: str, repo: str, message: str) -> None:
    with pytest.raises(UserError, match=message):
        fetch.from_hub(source(revision, repo), tmp_path)
    assert not (tmp_path / fetch.LOCK).exists()


def test_a_private_repository_without_a_token(hub: Any, tmp_path: Path) -> None:
    hub.private = True
    with pytest.raises(UserError, match="set HF_TOKEN"):
        fetch.from_hub(source(), tmp_path)


def test_offline_is_one_sentence(hub: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv("HF_ENDPOINT", f"http://127.0.0.1:{closed.getsockname()[1]}")
        with pytest.raises(UserError, match=r"cannot be fetched .*; check the connection"):
            fetch.from_hub(source(), tmp_path)


def test_no_file_of_the_wanted_kind(hub: Any, tmp_path: Path) -> None:
    wanted = fetch.HubSource("owner/data", "main", "data.sgmri", ("*.parquet",))
    with pytest.raises(UserError, match=r"has no file like \['\*.parquet'\]"):
        fetch.from_hub(wanted, tmp_path)


def test_a_damaged_lock_is_named(tmp_path: Path) -> None:
    (tmp_path / fetch.LOCK).write_text('{"repo": 1')
    with pytest.raises(UserError, match=r"slicewise-fetch.json: is damaged"):
        fetch.read_lock(tmp_path)


def test_the_command_prints_the_commit_to_pin(hub: Any, tmp_path: Path) -> None:
    arguments = ["data", "fetch", "sgmri", "--out", str(tmp_path), "--repo", "owner/data"]
    result = CliRunner().invoke(cli, [*arguments, "--params", str(_params())])
    assert result.exit_code == 0, result.output
    assert f"data.sgmri.revision: {COMMIT}" in result.output


def _params() -> Path:
    return Path(__file__).parents[2] / "params.yaml"


# --- fastMRI+ -------------------------------------------------------------------------------------------------------

CSV = {"brain.csv": b"file,slice\n" * 9_000, "knee.csv": b"file,slice\nk,1\n"}
EXPECTED = {name: hashlib.sha256(content.rstrip(b"\n")).hexdigest() for name, content in CSV.items()}


@pytest.fixture
def raw(httpserver: HTTPServer, monkeypatch: pytest.MonkeyPatch) -> HTTPServer:
    monkeypatch.setenv(fetch.FASTMRI_PLUS_URL_VARIABLE, httpserver.url_for("/mirror/"))
    monkeypatch.setattr(download, "PAUSE", 0.001)
    return httpserver


def serve(raw: HTTPServer, name: str, content: bytes, ranges: list[str] | None = None) -> None:
    def handler(request: Request) -> Response:
        wanted = request.headers.get("Range", "")
        if ranges is not None:
            ranges.append(wanted)
        if not wanted:
            return Response(content)
        start = int(wanted.removeprefix("bytes=").rstrip("-"))
        if start >= len(content):
            return Response(status=416)
        span = f"bytes {start}-{len(content) - 1}/{len(content)}"
        return Response(content[start:], status=206, headers={"Content-Range": span})

    raw.expect_request(f"/mirror/abc/Annotations/{name}").respond_with_handler(handler)


def test_the_annotations_are_fetched_once(raw: HTTPServer, tmp_path: Path) -> None:
    for name, content in CSV.items():
        serve(raw, name, content)
    assert fetch.fastmri_plus("abc", tmp_path / "new", EXPECTED) == tmp_path / "new"
    assert {p.name: p.read_bytes() for p in (tmp_path / "new").iterdir()} == CSV
    asked = len(raw.log)
    fetch.fastmri_plus("abc", tmp_path / "new", EXPECTED)
    assert len(raw.log) == asked


@pytest.mark.parametrize("part", [CSV["brain.csv"][:5_000], CSV["brain.csv"], CSV["brain.csv"] + b"more"])
def test_a_part_of_an_earlier_run_is_used(raw: HTTPServer, tmp_path: Path, part: bytes) -> None:
    ranges: list[str] = []
    serve(raw, "brain.csv", CSV["brain.csv"], ranges)
    (tmp_path / "brain.csv.part").write_bytes(part)
    fetch.fastmri_plus("abc", tmp_path, {"brain.csv": EXPECTED["brain.csv"]})
    assert (tmp_path / "brain.csv").read_bytes() == CSV["brain.csv"]
    assert ranges[0] == f"bytes={len(part)}-"
    assert not (tmp_path / "brain.csv.part").exists()


def test_a_damaged_part_is_dropped(raw: HTTPServer, tmp_path: Path) -> None:
    serve(raw, "brain.csv", CSV["brain.csv"])
    (tmp_path / "brain.csv.part").write_bytes(b"x" * 100)
    fetch.fastmri_plus("abc", tmp_path, {"brain.csv": EXPECTED["brain.csv"]})
    assert (tmp_path / "brain.csv").read_bytes() == CSV["brain.csv"]


def test_windows_line_ends_are_the_same_file(raw: HTTPServer, tmp_path: Path) -> None:
    serve(raw, "knee.csv", CSV["knee.csv"].replace(b"\n", b"\r\n"))
    fetch.fastmri_plus("abc", tmp_path, {"knee.csv": EXPECTED["knee.csv"]})


def test_other_bytes_are_refused(raw: HTTPServer, tmp_path: Path) -> None:
    serve(raw, "knee.csv", b"<html>sign in</html>")
    with pytest.raises(UserError, match=r"checksum is not the expected one.*'data.fastmri_plus'"):
        fetch.fastmri_plus("abc", tmp_path, {"knee.csv": EXPECTED["knee.csv"]})
    assert list(tmp_path.iterdir()) == []


def test_a_dropped_connection_is_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    content = CSV["brain.csv"]
    repository = hub_server.Hub(files={"brain.csv": content}, drop_after={"brain.csv": 30_000})
    monkeypatch.setattr(download, "PAUSE", 0.001)
    with hub_server.HubServer(repository) as served:
        url = f"{served.url}/datasets/owner/data/resolve/{COMMIT}/brain.csv"
        download.download(url, tmp_path / "brain.csv", lambda path: path.read_bytes() == content, "ask somebody.")
    assert repository.ranges == ["bytes=30000-"]


def test_a_server_that_fails_now_and_then_is_asked_again(raw: HTTPServer, tmp_path: Path) -> None:
    raw.expect_ordered_request("/mirror/abc/Annotations/knee.csv").respond_with_data(status=503)
    raw.expect_ordered_request("/mirror/abc/Annotations/knee.csv").respond_with_data(CSV["knee.csv"])
    fetch.fastmri_plus("abc", tmp_path, {"knee.csv": EXPECTED["knee.csv"]})


def test_offline_names_the_setting(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(download, "PAUSE", 0.001)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        monkeypatch.setenv(fetch.FASTMRI_PLUS_URL_VARIABLE, f"http://127.0.0.1:{closed.getsockname()[1]}")
        with pytest.raises(UserError, match=r"cannot be reached .* set 'data.fastmri_plus' to their folder"):
            fetch.fastmri_plus(fetch.FASTMRI_PLUS_COMMIT, tmp_path)


def test_a_missing_file_is_one_sentence(raw: HTTPServer, tmp_path: Path) -> None:
    raw.expect_request("/mirror/abc/Annotations/knee.csv").respond_with_data(status=404)
    with pytest.raises(UserError, match="the server answered 404"):
        fetch.fastmri_plus("abc", tmp_path, {"knee.csv": "0"})


def test_an_unknown_commit_has_no_checksum(tmp_path: Path) -> None:
    with pytest.raises(UserError, match=r"data.fastmri_plus_commit: no checksums are known for 'ffff'"):
        fetch.fastmri_plus("ffff", tmp_path)
