"""Files to write: what can be known to fail is refused before the work begins."""

from __future__ import annotations

import os
from pathlib import Path

from noutput.errors import InvalidArgumentError

__all__ = ["PLOT_ENDINGS", "check_target"]

PLOT_ENDINGS = (".png", ".svg", ".pdf")


def check_target(path: Path | None, endings: tuple[str, ...] | None = None) -> None:
    """Refuse a file in a folder that does not exist, or of a kind that cannot be written."""
    if path is None:
        return
    if not path.absolute().parent.is_dir():
        raise InvalidArgumentError("file", "lie in a folder that exists", str(path))
    if not os.access(path if path.exists() else path.absolute().parent, os.W_OK):
        raise InvalidArgumentError("file", "lie where it can be written", str(path))
    if endings is not None and path.suffix.lower() not in endings:
        raise InvalidArgumentError("plot", f"end in {', '.join(endings)}", path.name)
