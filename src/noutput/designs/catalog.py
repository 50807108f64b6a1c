"""Designs that are ready: those shipped with the package, and those this machine has made.

The shipped catalog is one zip file with a design document for every privacy budget, objective
and number of outputs. What else was designed once is kept as a file in the user's cache folder;
``NOUTPUT_CACHE`` names another folder, and an empty value turns the cache off.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from contextlib import suppress
from functools import cache
from importlib.resources import as_file, files
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from noutput.designs import document
from noutput.errors import NoutputError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from noutput.designs.design import Design
    from noutput.designs.objective import Objective

__all__ = [
    "EPSILONS",
    "OBJECTIVES",
    "SIZES",
    "cache_folder",
    "cached",
    "keep",
    "shipped",
    "shipped_sizes",
    "write",
]

EPSILONS = tuple(k / 4 for k in range(1, 33))
SIZES = (2, 3, 4, 5, 8, 16)
OBJECTIVES = ("worst", "average")
_FILE = "catalog.zip"
_EPOCH = (1980, 1, 1, 0, 0, 0)


def _member(epsilon: float, objective: str, n_outputs: int) -> str:
    return f"{epsilon:g}/{objective}/{n_outputs}.json"


@cache
def _archive() -> zipfile.ZipFile | None:
    resource = files("noutput.designs").joinpath(_FILE)
    if not resource.is_file():
        return None
    with as_file(resource) as path:
        return zipfile.ZipFile(BytesIO(path.read_bytes()))


def shipped_sizes(epsilon: float, objective: Objective) -> list[int]:
    """Return for which numbers of outputs the catalog has a design."""
    archive = _archive()
    if archive is None or objective.prior is not None:
        return []
    prefix = f"{epsilon:g}/{objective.name}/" if epsilon in EPSILONS else "none"
    names = (name for name in archive.namelist() if name.startswith(prefix))
    return sorted(int(Path(name).stem) for name in names)


def shipped(epsilon: float, n_outputs: int, objective: Objective) -> Design | None:
    """Return a design of the catalog; its table is certified on the way."""
    if n_outputs not in shipped_sizes(epsilon, objective):
        return None
    archive = _archive()
    assert archive is not None  # noqa: S101 (shipped_sizes has read it)
    text = archive.read(_member(epsilon, objective.name, n_outputs))
    return document.load(text, trusted=True)


def write(designs: Iterable[Design], path: Path) -> None:
    """Write a catalog; the same designs give the same bytes."""
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for design in designs:
            name = _member(
                design.mechanism.epsilon, design.objective.name, design.mechanism.n_outputs
            )
            archive.writestr(zipfile.ZipInfo(name, _EPOCH), design.to_json(), zipfile.ZIP_DEFLATED)


def cache_folder() -> Path | None:
    """Return where designs made on this machine are kept, or None where nothing is kept."""
    chosen = os.environ.get("NOUTPUT_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    from platformdirs import user_cache_path

    return user_cache_path("noutput", appauthor=False)


def _cache_file(epsilon: float, n_outputs: int, objective: Objective) -> Path | None:
    folder = cache_folder()
    if folder is None:
        return None
    key = json.dumps([document.VERSION, epsilon, n_outputs, objective.spelling, objective.prior])
    return folder / f"design-{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def cached(epsilon: float, n_outputs: int, objective: Objective) -> Design | None:
    """Return a design from the cache; a corrupt or foreign file counts as none."""
    path = _cache_file(epsilon, n_outputs, objective)
    if path is None:
        return None
    try:
        found = document.load(path.read_bytes())
    except (OSError, NoutputError):
        return None
    wanted = (epsilon, objective, "optimal")
    if (found.mechanism.epsilon, found.objective, found.method) != wanted:
        return None
    return found if found.mechanism.n_outputs <= n_outputs else None


def keep(design: Design, n_outputs: int) -> None:
    """Keep a design for the next time; concurrent writers and full disks do no harm."""
    path = _cache_file(design.mechanism.epsilon, n_outputs, design.objective)
    if path is None:
        return
    with suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".design-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                file.write(design.to_json())
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
