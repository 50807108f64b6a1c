"""A progress bar that appears only where the work takes longer than a second."""

from __future__ import annotations

import sys
import time
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
    begun = time.monotonic()

    def report(share: float) -> None:
        if not bar.live.is_started and time.monotonic() - begun > _PATIENCE:
            bar.start()
        bar.update(task, completed=share)

    try:
        yield report
    finally:
        bar.stop()
