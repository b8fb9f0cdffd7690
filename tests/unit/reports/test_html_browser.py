"""The pages in a headless browser: both themes, wide and narrow, nothing fetched, nothing hidden. Skipped without Chromium."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from html_support import answering, browse, frames, measured, project, report
from html_support import browser as needs_browser
from simulated import compared

from reports.html.page import report_page
from reports.html.palette import ROLES

COLOURS = {
    theme: tuple(int(ROLES["page"][index][at : at + 2], 16) for at in (1, 3, 5)) for index, theme in enumerate(("light", "dark"))
}


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A page with everything on it."""
    needs_browser()
    root = project(tmp_path_factory.mktemp("project"))
    return report_page(report(root, answering(), simulation=compared()))


def test_the_page_fits_reads_well_and_follows_the_theme(page: str, tmp_path: Path) -> None:
    found = measured(page, tmp_path)
    assert set(found) == {"1280-light", "1280-dark", "390-light", "390-dark"}
    for frame, seen in found.items():
        width, _, theme = frame.partition("-")
        other = "light" if theme == "dark" else "dark"
        assert seen["overflow"] == 0, frame
        assert seen["texts"] > 300, frame
        assert seen["dim"] == [], frame
        assert seen["background"] == f"rgb{COLOURS[theme]}", frame
        assert seen["toggled"] == f"rgb{COLOURS[other]}", "the switch needs no script"
        assert seen["scripts"] == 0
        assert len(seen["charts"]) >= 8, frame
        assert max(seen["charts"]) > (900 if width == "1280" else 300), frame


def test_each_theme_and_width_is_drawn(page: str, tmp_path: Path) -> None:
    from PIL import Image

    file, picture = tmp_path / "frames.html", tmp_path / "picture.png"
    file.write_text(frames(page, 1400))
    browse(tmp_path, "--window-size=3340,1400", f"--screenshot={picture}", f"file://{file}")
    image = Image.open(picture).convert("RGB")
    left = 0
    for frame, width in (("light", 1280), ("dark", 1280), ("light", 390), ("dark", 390)):
        part = image.crop((left, 0, left + width, 1400))
        assert part.getpixel((3, 3)) == COLOURS[frame]
        counted = sorted(part.getcolors(part.width * part.height) or (), reverse=True)
        assert counted[0][0] < part.width * part.height * 0.9, "more than an empty page"
        blue = tuple(int(ROLES["own"][frame == "dark"][at : at + 2], 16) for at in (1, 3, 5))
        assert {colour: number for number, colour in counted}.get(blue, 0) > 2000, "bars"
        left += width


class _Seen(BaseHTTPRequestHandler):
    """Answers everything, and remembers what was asked for."""

    page = ""
    asked: list[str]

    def do_GET(self) -> None:
        type(self).asked.append(self.path)
        body = self.page.encode() if self.path == "/" else b"1"
        self.send_response(200)
        self.send_header("Content-Type", "text/html" if self.path == "/" else "text/javascript")
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Quiet."""


@contextmanager
def served(page: str) -> Iterator[tuple[str, list[str]]]:
    """The page on a server of its own: its URL, and all paths that are asked for."""
    handler = type("Seen", (_Seen,), {"page": page, "asked": []})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/", handler.asked  # type: ignore[attr-defined]
    finally:
        server.shutdown()
        server.server_close()


TRIES = (
    "<img src='/img'><script src='/script'></script><link rel='stylesheet' href='/style'><iframe src='/frame'></iframe>"
    "<style>body{background:url(/background)}</style><object data='/object'></object>"
)


@pytest.mark.parametrize("protected", [True, False])
def test_nothing_is_fetched_even_if_somebody_got_markup_in(page: str, protected: bool, tmp_path: Path) -> None:
    page = page.replace('<main id="content"', f'{TRIES}<main id="content"')
    if not protected:
        page = page.replace("Content-Security-Policy", "X-Nothing")
    with served(page) as (url, asked):
        browse(tmp_path, "--dump-dom", url)
        found = {path for path in asked if path not in ("/", "/favicon.ico")}
    assert bool(found) is not protected, found
