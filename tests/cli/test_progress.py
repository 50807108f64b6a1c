from __future__ import annotations

import io
import sys
import threading
from collections.abc import Callable

import pytest

from noutput.cli.progress import delayed_progress


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class Impatient:
    """A timer whose time has come when it starts."""

    daemon = False

    def __init__(self, _seconds: float, action: Callable[[], object]) -> None:
        self.start = action

    def cancel(self) -> None: ...

    def join(self) -> None: ...


def show_on(screen: io.StringIO, monkeypatch: pytest.MonkeyPatch) -> None:
    """Done inside each test: pytest itself puts standard error back after fixtures."""
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")


def test_the_bar_appears_on_a_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    show_on(terminal := Terminal(), monkeypatch)
    monkeypatch.setattr(threading, "Timer", Impatient)
    with delayed_progress("Working") as bar:
        bar(0.25)
        bar(1.0)
    assert "Working" in terminal.getvalue()


def test_short_work_shows_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    show_on(terminal := Terminal(), monkeypatch)
    monkeypatch.setattr("noutput.cli.progress._PATIENCE", 3600.0)
    with delayed_progress("Working") as bar:
        bar(1.0)
    assert "Working" not in terminal.getvalue()


def test_a_file_gets_no_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    show_on(file := io.StringIO(), monkeypatch)
    monkeypatch.setattr(threading, "Timer", Impatient)
    with delayed_progress("Working") as bar:
        bar(0.5)
    assert file.getvalue() == ""
