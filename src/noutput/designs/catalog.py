"""The catalog and the cache: designs shipped with the package, and designs made on this machine.

The shipped catalog has one zip file per method, with a design document for every privacy budget,
objective and number of outputs. What else was designed once is kept as a file in the user's cache
folder; ``NOUTPUT_CACHE`` names another folder, and an empty value turns the cache off.
"""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
import zipfile
from contextlib import suppress
from functools import cache
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from noutput.designs import document
from noutput.designs.objective import Objective
from noutput.designs.result import Design, contents, search_bound
from noutput.errors import DesignError, InvalidArgumentError, NoutputError
from noutput.mechanisms import document as table_document

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from noutput.designs.objective import VarianceNorm

__all__ = [
    "EPSILONS",
    "NUMERICAL_EPSILONS",
    "OBJECTIVES",
    "SIZES",
    "TRAINED_EPSILONS",
    "TRAINED_SIZES",
    "cache_folder",
    "cached",
    "default_size",
    "find",
    "keep",
    "lower_bound",
    "method_for",
    "nearest",
    "shipped",
    "smallest",
    "trained_sizes",
    "write",
]

EPSILONS = tuple(k / 4 for k in range(1, 33))
NUMERICAL_EPSILONS = (0.1, *(k / 2 for k in range(1, 17)))
"""Those of the paper's figures: a numerical design takes up to a minute."""
SIZES = tuple(range(2, 17))
TRAINED_EPSILONS = (*(k / 4 for k in range(1, 9)), *(k / 2 for k in range(5, 13)))
"""Those of tables for the distribution and of balanced tables, which take minutes to train."""
TRAINED_SIZES = (16, 32, 64)
OBJECTIVES: tuple[VarianceNorm, ...] = ("worst", "average")
_SAME_VALUE = 1e-4
_TRAINED_SIZE, _SMALL_EPSILON_SIZE = 64, 128
_SMALL_EPSILON = 2.0  # below, balanced tables of 128 outputs have 1 to 2% less error than of 64
_SHIPPED_SIZES = frozenset({*SIZES, *TRAINED_SIZES, _SMALL_EPSILON_SIZE})
_EPOCH = (1980, 1, 1, 0, 0, 0)


def _member(epsilon: float, objective: str, name: object) -> str:
    return f"{epsilon:g}/{objective}/{name}.json"


def method_for(objective: Objective) -> str:
    """Return the method whose catalog has the best designs for an objective."""
    return {"distribution": "trained", "balanced": "balanced"}.get(objective.name, "optimal")


def default_size(objective: Objective, epsilon: float) -> int | None:
    """Return how many outputs a design has where nobody says: the one rule for it.

    None for norms of the variance: the smallest number up to 16 whose value is within 0.01% of
    the best, which the solver or the catalog finds.

    Examples
    --------
    >>> [default_size(Objective.parse(name), 1.0) for name in ("balanced", "distribution", "worst")]
    [128, 64, None]
    """
    if objective.name == "balanced" and epsilon < _SMALL_EPSILON:
        return _SMALL_EPSILON_SIZE
    return _TRAINED_SIZE if objective.r is None else None


def trained_sizes(objective: Objective, epsilon: float) -> tuple[int, ...]:
    """Return for which numbers of outputs the catalog has a trained table."""
    return tuple(sorted({*TRAINED_SIZES, default_size(objective, epsilon) or TRAINED_SIZES[0]}))


@cache
def _archive(method: str) -> zipfile.ZipFile | None:
    resource = files("noutput.designs").joinpath(f"{method}.zip")
    if not resource.is_file():
        return None
    return zipfile.ZipFile(BytesIO(resource.read_bytes()))


def shipped(
    epsilon: float, n_outputs: int | None, objective: Objective, method: str = "optimal"
) -> Design | None:
    """Return a design of the catalog; its table is certified on the way.

    None for `n_outputs` is what `default_size` says.
    """
    n_outputs = n_outputs or default_size(objective, epsilon)
    archive = _archive(method)
    if archive is None or objective.prior is not None:
        return None
    wanted = _member(epsilon, objective.name, "best" if n_outputs is None else n_outputs)
    if wanted not in archive.namelist():
        return None
    bound = archive.read(_member(epsilon, objective.name, "bound"))
    found = Design(**document.read_shipped(archive.read(wanted), bound))
    return found if _answers(found, epsilon, n_outputs, objective, method) else None


def find(epsilon: float, n_outputs: int | None, objective: Objective, method: str) -> Design | None:
    """Return a design that is ready: one of the catalog, or else of the cache.

    None for `n_outputs` is what `default_size` says.
    """
    n_outputs = n_outputs or default_size(objective, epsilon)
    return shipped(epsilon, n_outputs, objective, method) or cached(
        epsilon, n_outputs, objective, method
    )


def nearest(epsilon: float, n_outputs: int | None, objective: Objective) -> Design | None:
    """Return the optimal design for the epsilon of the catalog that is closest."""
    return shipped(min(EPSILONS, key=lambda other: abs(other - epsilon)), n_outputs, objective)


def lower_bound(epsilon: float) -> float | None:
    """Return the worst-case variance that no unbiased mechanism can beat; None if not known.

    It stands in the catalog, or is searched for now, which may take a second.
    """
    worst = Objective.parse("worst")
    ready = shipped(epsilon, None, worst)
    if ready is not None:
        return ready.lower_bound
    with suppress(DesignError):  # the search found no proof
        bound = search_bound(epsilon, worst)
        return None if bound is None else bound.value
    return None


def _answers(
    found: Design, epsilon: float, n_outputs: int | None, objective: Objective, method: str
) -> bool:
    """Return whether a design is what was asked for; names of files round, so they do not tell."""
    if (found.mechanism.epsilon, found.objective, found.method) != (epsilon, objective, method):
        return False
    return n_outputs is None or found.mechanism.n_outputs in _sizes(n_outputs, method)


def _sizes(n_outputs: int, method: str) -> tuple[int, ...]:
    """Return how many outputs a design may have; the paper's may leave out that in the middle."""
    if method == "numerical" and n_outputs % 2:
        return n_outputs - 1, n_outputs
    return (n_outputs,)


def smallest(values: Mapping[int, float]) -> int:
    """Return the smallest size whose value is within 0.01% of the best."""
    best = min(values.values())
    return min(size for size, value in values.items() if value <= best * (1.0 + _SAME_VALUE))


def write(designs: Iterable[Design], path: Path) -> None:
    """Write the catalog of a method; the same designs give the same bytes.

    Of several designs for the same privacy loss and objective, the smallest within 0.01% of
    the best is also stored as such, where `default_size` leaves it to the values. The lower bound
    is stored once.
    """
    members: dict[str, str] = {}
    groups: dict[tuple[float, str], list[Design]] = {}
    for design in designs:
        key = (design.mechanism.epsilon, design.objective.name)
        groups.setdefault(key, []).append(design)
    for (epsilon, objective), group in groups.items():
        sizes = {design.mechanism.n_outputs: design for design in group}
        best = sizes[smallest({size: design.value for size, design in sizes.items()})]
        name = _member(epsilon, objective, "bound")
        if name in members:
            raise InvalidArgumentError("designs", f"have one epsilon named {name}", epsilon)
        members[name] = document.write_proof(best.proof)
        if default_size(best.objective, epsilon) is None:
            members[_member(epsilon, objective, "best")] = document.write(contents(best, None))
        for size, design in sizes.items():
            if size in _SHIPPED_SIZES:
                text = document.write(contents(design, None))
                members[_member(epsilon, objective, size)] = text
    with zipfile.ZipFile(path, "w") as archive:
        for name, text in sorted(members.items()):
            info = zipfile.ZipInfo(name, _EPOCH)
            archive.writestr(info, text, zipfile.ZIP_DEFLATED, compresslevel=9)


def cache_folder() -> Path | None:
    """Return where designs made on this machine are kept, or None where nothing is kept."""
    chosen = os.environ.get("NOUTPUT_CACHE")
    if chosen is not None:
        return Path(chosen) if chosen else None
    from platformdirs import user_cache_path

    return user_cache_path("noutput", appauthor=False)


def _cache_file(
    epsilon: float, n_outputs: int | None, objective: Objective, method: str
) -> Path | None:
    folder = cache_folder()
    if folder is None:
        return None
    key = _request(epsilon, n_outputs, objective, method)
    return folder / f"design-{hashlib.sha256(key.encode()).hexdigest()[:32]}.json"


def _request(epsilon: float, n_outputs: int | None, objective: Objective, method: str) -> str:
    """Return what was asked for, as text: it names the file and is stored in it."""
    return json.dumps(
        [document.VERSION, method, epsilon, n_outputs, objective.spelling, objective.prior]
    )


def cached(
    epsilon: float, n_outputs: int | None, objective: Objective, method: str
) -> Design | None:
    """Return a design from the cache; a corrupt or foreign file counts as none."""
    path = _cache_file(epsilon, n_outputs, objective, method)
    if path is None:
        return None
    try:
        stored = table_document.parse(path.read_bytes())
        if stored.get("request") != _request(epsilon, n_outputs, objective, method):
            return None
        found = Design(**document.read(stored.get("design")))
    except (OSError, NoutputError):
        return None
    return found if _answers(found, epsilon, n_outputs, objective, method) else None


def keep(design: Design, n_outputs: int | None) -> None:
    """Keep a design for the next time; concurrent writers and full disks do no harm."""
    path = _cache_file(design.mechanism.epsilon, n_outputs, design.objective, design.method)
    if path is None:
        return
    with suppress(OSError, NoutputError):  # a bound that was not found is no reason to fail
        text = design.to_json()
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=".design-")
        try:
            with os.fdopen(handle, "w", encoding="utf-8") as file:
                request = _request(
                    design.mechanism.epsilon, n_outputs, design.objective, design.method
                )
                file.write(f'{{"request": {json.dumps(request)}, "design": {text}}}')
            Path(name).replace(path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
