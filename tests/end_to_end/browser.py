"""Real Chromium, watched: nothing may go wrong in its console, and nothing may leave the site."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import (
    Browser,
    BrowserContext,
    ConsoleMessage,
    Page,
    expect,
    sync_playwright,
)

_NAMES = ("chromium", "chromium-browser", "google-chrome")
_OPTIONS = (
    "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
)  # fmt: skip
_PATIENCE = 20_000  # milliseconds
WIDE, PHONE = (1280, 800), (390, 844)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser of this machine, or skip the tests that need one."""
    path = next(filter(None, map(shutil.which, _NAMES)), None)
    if path is None:
        reason = f"none of {', '.join(_NAMES)} is installed"
        if os.environ.get("CI") == "true":
            pytest.fail(reason)
        pytest.skip(reason)
    expect.set_options(timeout=_PATIENCE)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(_OPTIONS))
        yield browser
        browser.close()


@dataclass
class Visitor:
    """Somebody with a browser of their own."""

    context: BrowserContext
    site: str
    allowed: tuple[str, ...] = ()
    complaints: list[str] = field(default_factory=list)
    requests: list[tuple[str, str, str | None]] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.context.on("request", self._note)
        self.page = self.open()

    def open(self) -> Page:
        page = self.context.new_page()
        page.on("console", self._listen)
        page.on("pageerror", lambda error: self.complaints.append(str(error)))
        page.set_default_timeout(_PATIENCE)
        return page

    def _note(self, request: Any) -> None:
        self.requests.append((request.method, request.url, request.post_data))

    def _listen(self, message: ConsoleMessage) -> None:
        if message.type in ("error", "warning"):
            self.complaints.append(message.text)

    def go(self, path: str) -> Page:
        self.page.goto(self.site + path)
        return self.page

    def posts(self) -> list[tuple[str, str | None]]:
        return [(url, body) for method, url, body in self.requests if method == "POST"]

    def check(self) -> None:
        """Nothing went wrong, and nothing went elsewhere."""
        wrong = [text for text in self.complaints if not any(a in text for a in self.allowed)]
        assert wrong == []
        assert self.requests
        elsewhere = [url for _, url, _ in self.requests if not url.startswith(f"{self.site}/")]
        assert [url for url in elsewhere if not url.startswith("blob:" + self.site)] == []


@contextmanager
def visit(
    browser: Browser, site: str, size: tuple[int, int] = WIDE, scheme: Any = "light",
    **options: Any,
) -> Iterator[Visitor]:  # fmt: skip
    viewport: Any = {"width": size[0], "height": size[1]}
    context = browser.new_context(viewport=viewport, color_scheme=scheme, **options)
    visitor = Visitor(context, site)
    yield visitor
    context.close()
    visitor.check()


def results(name: str) -> Path:
    """Return where a picture is kept for people to look at."""
    folder = Path("results") / "dashboard"
    folder.mkdir(parents=True, exist_ok=True)
    return folder / name
