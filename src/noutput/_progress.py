"""Progress bars of long calls, in terminals and notebooks; nothing elsewhere.

A bar appears where a call takes longer than a second, on the terminal of the standard error or in
the cell of a notebook, and vanishes when the call ends. Pipes, files, worker threads and servers
get none. ``NOUTPUT_PROGRESS=off`` in the environment turns bars off everywhere.
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Protocol, TypeAlias

__all__ = ["Progress", "shown_progress"]

Progress: TypeAlias = Callable[[float], None]
"""Called with the share of the work that is done, from 0 to 1."""

_PATIENCE = 1.0  # seconds before a bar appears
_WIDTH = 30
_STEP = 0.01  # of the work, between two drawings
_SWITCH = "NOUTPUT_PROGRESS"
_active = threading.Lock()  # of several calls within each other, the outermost has the bar


@contextmanager
def shown_progress(label: str, wanted: Progress | None = None) -> Iterator[Progress]:
    """Give a function that takes the share of the work done, and draws it when it takes long.

    Parameters
    ----------
    label : str
        What is being done: "Designing".
    wanted : callable, optional
        The caller's own function, which is given back: then no bar is drawn.

    Examples
    --------
    >>> with shown_progress("Counting") as progress:  # no terminal, so nothing is drawn
    ...     for step in range(10):
    ...         progress((step + 1) / 10)
    """
    screen = None if wanted is not None else _screen()
    if screen is None or not _active.acquire(blocking=False):
        yield wanted or _nothing
        return
    bar = _Bar(label, screen)
    timer = threading.Timer(_PATIENCE, bar.appear)
    timer.daemon = True
    timer.start()
    try:
        yield bar.move
    finally:
        timer.cancel()
        timer.join()
        bar.vanish()
        _active.release()


def _nothing(_share: float) -> None:
    """Draw nothing."""


class _Screen(Protocol):
    """Where a bar is drawn; the latest drawing replaces the one before."""

    def draw(self, label: str, share: float, rest: str) -> None: ...

    def clear(self) -> None: ...


def _screen() -> _Screen | None:
    if os.environ.get(_SWITCH, "").lower() in ("off", "0", "no"):
        return None
    if threading.current_thread() is not threading.main_thread():
        return None  # a server's work, or a caller's
    ipython: Any = sys.modules.get("IPython")
    shell = None if ipython is None else ipython.get_ipython()
    if getattr(shell, "kernel", None) is not None:
        return _Notebook()
    if sys.stderr.isatty() and os.environ.get("TERM") != "dumb":
        return _Terminal()
    return None


class _Bar:
    """A bar that is drawn once it has appeared, and then at every percent."""

    def __init__(self, label: str, screen: _Screen) -> None:
        self._label = label
        self._screen = screen
        self._lock = threading.Lock()
        self._start = time.monotonic()
        self._share = self._drawn = 0.0
        self._visible = False

    def appear(self) -> None:
        with self._lock:
            self._visible = True
            self._draw()

    def move(self, share: float) -> None:
        with self._lock:
            self._share = min(max(share, 0.0), 1.0)
            if self._visible and abs(self._share - self._drawn) >= _STEP:
                self._draw()

    def vanish(self) -> None:
        with self._lock:
            if self._visible:
                self._screen.clear()
            self._visible = False

    def _draw(self) -> None:
        self._drawn = self._share
        passed = time.monotonic() - self._start
        left = passed * (1.0 - self._share) / self._share if self._share > 0.0 else None
        self._screen.draw(self._label, self._share, "" if left is None else _in_words(left))


def _in_words(seconds: float) -> str:
    """Write how long something will take.

    Examples
    --------
    >>> _in_words(7.3), _in_words(95.0), _in_words(7_300.0)
    ('about 8 s left', 'about 2 min left', 'about 122 min left')
    """
    if seconds < 60.0:
        return f"about {int(seconds) + 1} s left"
    return f"about {round(seconds / 60.0)} min left"


class _Terminal:
    """The last line of the standard error."""

    def __init__(self) -> None:
        self._length = 0

    def draw(self, label: str, share: float, rest: str) -> None:
        full = round(_WIDTH * share)
        text = f"{label} …"
        if share > 0.0:
            text = f"{label} {'█' * full}{'░' * (_WIDTH - full)} {share:4.0%}  {rest}"
        self._write(f"\r{text.ljust(self._length)}")
        self._length = len(text)

    def clear(self) -> None:
        self._write(f"\r{' ' * self._length}\r")

    def _write(self, text: str) -> None:
        encoding = sys.stderr.encoding or "ascii"
        sys.stderr.write(text.encode(encoding, "replace").decode(encoding))
        sys.stderr.flush()


class _Notebook:
    """An output of the cell that runs, empty in the end."""

    def __init__(self) -> None:
        self._handle: Any = None

    def draw(self, label: str, share: float, rest: str) -> None:
        value = f' value="{share:.3f}"' if share > 0.0 else ""
        done = f"{share:.0%}" if share > 0.0 else ""
        self._show(
            {
                "text/plain": f"{label} {done} {rest}".rstrip(),
                "text/html": f"{label} <progress{value}></progress> {done} {rest}",
            }
        )

    def clear(self) -> None:
        self._show({"text/plain": ""})

    def _show(self, data: dict[str, str]) -> None:
        if self._handle is None:
            display = importlib.import_module("IPython.display").display
            self._handle = display(data, raw=True, display_id=True)
        else:
            self._handle.update(data, raw=True)
