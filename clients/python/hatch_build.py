"""Build hook of noutput-client: the modules of noutput that a device needs, under another name.

The list of modules is not kept anywhere: it is what `noutput.campaign` imports. Their text is that
of `src/noutput`, with `noutput` replaced by `noutput_client` in the names of these modules.
"""

from __future__ import annotations

import ast
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

SOURCE = Path(__file__).resolve().parents[2] / "src"
ROOT = "noutput"
NAME = "noutput_client"
START = "noutput.campaign"


class ClientBuildHook(BuildHookInterface):  # type: ignore[misc, type-arg, unused-ignore]
    """Adds the modules to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Write the modules into a folder, and let the wheel take them from there."""
        if self.target_name != "wheel":
            raise ValueError(
                "noutput-client is built as a wheel only (-t wheel): its source is that of noutput"
            )
        self._folder = tempfile.TemporaryDirectory()
        taken = {}
        for place, (name, text) in enumerate(sorted(files(SOURCE).items())):
            path = Path(self._folder.name) / str(place)
            path.write_text(text, encoding="utf-8")
            taken[str(path)] = name
        key = "force_include_editable" if version == "editable" else "force_include"
        build_data[key].update(taken)

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:  # noqa: ARG002 (hatchling's signature)
        """Remove the folder."""
        self._folder.cleanup()


def files(source: Path) -> dict[str, str]:
    """Return the text of every file of the package by its path, without ``__init__.py`` at the top.

    Parameters
    ----------
    source : path
        The folder that holds the package ``noutput``.
    """
    found = {START, *_packages(START)}
    waiting = list(found)
    while waiting:
        for module in _imported(source, waiting.pop()):
            new = {module, *_packages(module)} - found
            found |= new
            waiting += new
    texts = {
        _path(source, module): _path(source, module).read_text(encoding="utf-8") for module in found
    }
    inside = "|".join(sorted({module.split(".")[1] for module in found}))
    pattern = re.compile(rf"\b{ROOT}(?=\.(?:{inside})\b| import (?:{inside})\b)")
    renamed = {
        f"{NAME}/{path.relative_to(source / ROOT).as_posix()}": pattern.sub(NAME, text)
        for path, text in texts.items()
    }
    return {**renamed, f"{NAME}/py.typed": ""}


def _packages(module: str) -> Iterator[str]:
    """Yield the packages that a module is in, without noutput itself."""
    parts = module.split(".")
    return (".".join(parts[:size]) for size in range(2, len(parts)))


def _path(source: Path, module: str) -> Path:
    base = source.joinpath(*module.split("."))
    return base / "__init__.py" if base.is_dir() else base.with_suffix(".py")


def _imported(source: Path, module: str) -> Iterator[str]:
    """Yield the modules of noutput that a module imports anywhere, also for its types only."""
    path = _path(source, module)
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"), path)):
        names = []
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module is not None:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        for name in names:
            if name.startswith(f"{ROOT}.") and _path(source, name).is_file():
                yield name
