"""Style sheets, scripts and templates, read once."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from pathlib import PurePosixPath
from typing import TYPE_CHECKING, Any

from noutput._extras import need

if TYPE_CHECKING:
    from jinja2 import Environment

__all__ = ["Asset", "assets", "templates"]

_TYPES = {
    ".css": "text/css; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".svg": "image/svg+xml",
    "": "text/plain; charset=utf-8",
}
_NAMES = (
    "style.css", "theme.js", "live.js", "chart.js", "history.js", "rounds.js", "try.js",
    "noutput.min.js", "icon.svg", "uplot/uPlot.iife.min.js", "uplot/uPlot.min.css", "uplot/LICENSE",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Asset:
    """A file that pages refer to."""

    content: bytes
    media_type: str
    tag: str


@cache
def assets() -> dict[str, Asset]:
    """Return all files by name."""
    folder = files("noutput.collector.dashboard").joinpath("static")
    result = {}
    for name in _NAMES:
        content = folder.joinpath(*name.split("/")).read_bytes()
        tag = hashlib.sha256(content).hexdigest()[:16]
        result[name] = Asset(content, _TYPES[PurePosixPath(name).suffix], f'"{tag}"')
    return result


@cache
def templates() -> Environment:
    """Return the templates; whatever is put into one is escaped."""
    need("jinja2", "collector")
    from jinja2 import Environment, PackageLoader, StrictUndefined

    options: dict[str, Any] = {"trim_blocks": True, "lstrip_blocks": True}
    loader = PackageLoader("noutput.collector.dashboard")
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, **options)
