"""The page: complete, self-contained, accessible, and clean in a real browser."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from slicewise.jobs import ReportJob
from slicewise.report import run

Tree = tuple[ReportJob, Path]
VOID = {"meta", "link", "img", "br", "input", "hr"}


class Page(HTMLParser):
    """Elements with their attributes; fails on a tag that closes another one."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.elements: list[tuple[str, dict[str, str | None]]] = []
        self.open: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def all(self, tag: str) -> list[dict[str, Any]]:
        return [attributes for name, attributes in self.elements if name == tag]


@pytest.fixture(scope="module")
def text(reported: Tree) -> str:
    return (reported[1] / run.PAGE).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> Page:
    return Page(text)


def test_every_element_is_closed(page: Page) -> None:
    assert page.open == []


def test_links_are_relative_and_lead_to_files(reported: Tree, page: Page) -> None:
    folder = (reported[1] / run.PAGE).parent
    targets = [a["href"] for a in page.all("a")] + [i["src"] for i in page.all("img")]
    ids = {attributes.get("id") for _, attributes in page.elements}
    assert len(targets) > 50
    for target in targets:
        if target.startswith("#"):
            assert target[1:] in ids
        else:
            assert (folder / target).is_file(), target
    assert page.all("script") == []
    assert [link["href"] for link in page.all("link")] == ["data:,"]


def test_tables_can_be_read_aloud(page: Page) -> None:
    assert len(page.all("table")) == len(page.all("caption")) > 10
    assert all(th.get("scope") in ("col", "row", "rowgroup") for th in page.all("th"))
    images = page.all("img")
    assert len(images) == 14
    assert all(len(image["alt"]) > 20 for image in images)
    assert page.all("html")[0]["lang"] == "en"
    identifiers = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(identifiers) == len(set(identifiers))


def test_the_page_says_what_it_must(text: str) -> None:
    for words in (
        "Research use, not for clinical decisions.",
        "83.33",
        "Reader_7B &amp; co",
        "Ours (Qwen3-VL-8B-SGMRIVQA)",
        "proxy, a local stand-in",
        "the complete value lies in",
        "better than blind",
        "Settings signature",
        "results/score/sgmri-demo-image/oracle/answer.parquet",
        "prefers-color-scheme: dark",
    ):
        assert words in text, words
    assert len(re.findall(r"<code>[0-9a-f]{64}</code>", text)) == 1 + 2 * (1 + 4 * 3)


# --- in a browser ----------------------------------------------------------------------------------------------------

_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update"),
    *("--enable-logging=stderr", "--virtual-time-budget=10000"),
)
_PROBE = """<script>addEventListener("load", () => {
  const images = [...document.images], loaded = images.filter(i => i.complete && i.naturalWidth > 0).length;
  document.title = [loaded, images.length, document.querySelectorAll("table caption").length,
                    document.documentElement.scrollWidth <= innerWidth].join(" ");
})</script>"""


def browse(page: Path, profile: Path) -> tuple[str, list[str]]:
    """Title that the probe wrote, and what the console said."""
    browser = shutil.which("chromium")
    if browser is None:
        message = "Chromium is not installed (Debian package chromium): the page was not opened in a browser"
        if os.environ.get("REQUIRE_ALL") == "1":
            pytest.fail(message)
        pytest.skip(message)
    done = subprocess.run(
        [browser, *_FLAGS, f"--user-data-dir={profile}", "--window-size=1200,900", "--dump-dom", page.as_uri()],
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    title = re.search(r"<title>(.*?)</title>", done.stdout)
    assert title is not None
    return title[1], [line for line in done.stderr.splitlines() if "CONSOLE" in line]


@pytest.fixture
def probed(reported: Tree, tmp_path: Path) -> Path:
    """A copy of the page beside its figures, with the probe in it."""
    folder = tmp_path / "report"
    shutil.copytree((reported[1] / run.PAGE).parent, folder)
    text = (folder / "index.html").read_text(encoding="utf-8")
    (folder / "index.html").write_text(text.replace("</head>", _PROBE + "</head>", 1), encoding="utf-8")
    return folder / "index.html"


def test_browser_shows_tables_and_images_without_a_complaint(probed: Path, tmp_path: Path, page: Page) -> None:
    title, console = browse(probed, tmp_path / "profile")
    assert title == f"14 14 {len(page.all('caption'))} true"
    assert console == []


def test_the_browser_test_can_fail(probed: Path, tmp_path: Path) -> None:
    next(probed.parent.joinpath("figures").glob("scores-*.png")).unlink()
    text = probed.read_text(encoding="utf-8")
    probed.write_text(text.replace("</body>", "<script>undefined_function()</script></body>"), encoding="utf-8")
    title, console = browse(probed, tmp_path / "profile")
    assert title.startswith("13 14 ")
    assert any("undefined_function" in line for line in console)
