"""A progress bar that appears only where the work takes longer than a second."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["delayed_progress"]

_PATIENCE = 1.0


@contextmanager
def delayed_progress(label: str) -> Iterator[Callable[[float], None]]:
    """Give a function that takes the share of the work done, and draws it when it takes long.

    The bar goes to standard error, and only where that is a terminal.
    """
    if not sys.stderr.isatty():
        yield lambda _share: None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

    bar = Progress(
        TextColumn(label),
        BarColumn(),
        TextColumn("{task.percentage:.0f}%"),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
    task = bar.add_task(label, total=1.0)
    timer = threading.Timer(_PATIENCE, bar.start)
    timer.daemon = True
    timer.start()
    try:
        yield lambda share: bar.update(task, completed=share)
    finally:
        timer.cancel()
        timer.join()
        bar.stop()
