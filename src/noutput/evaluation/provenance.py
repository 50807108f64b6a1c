"""Provenance of a result: versions and the commit."""

from __future__ import annotations

import platform
import subprocess
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from noutput import __version__

__all__ = ["commit", "versions"]

_PACKAGES = ("numpy", "scipy", "matplotlib", "pyarrow")


@cache
def commit() -> str | None:
    """Return the commit of this source tree, with "+" where files differ; None outside of one."""
    here = Path(__file__).parent
    try:
        name, changed = (
            subprocess.run(
                ["git", "-C", str(here), *command],  # noqa: S607 (whichever git the user has)
                capture_output=True,
                text=True,
                check=True,
                timeout=10,
            ).stdout.strip()
            for command in (["rev-parse", "--short=12", "HEAD"], ["status", "--porcelain", "."])
        )
    except (OSError, subprocess.SubprocessError):
        return None
    return f"{name}+" if changed else name


def versions() -> dict[str, str]:
    """Return the versions of everything that numbers depend on."""
    found = {"noutput": __version__, "python": platform.python_version()}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            found[package] = "none"
    return found
