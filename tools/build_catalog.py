"""Build the catalogs of designs that ship with the package: `make catalog`.

Every finished design is kept in a folder, so an interrupted run continues where it stopped.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import click

from noutput.designs import catalog
from noutput.designs.design import design
from noutput.designs.objective import Objective, VarianceNorm
from noutput.designs.optimal import optimize_sizes
from noutput.designs.result import Design, certify

_TARGET = Path("src/noutput/designs")
_SLACK = 1e-7


def _optimal(epsilon: float, objective: VarianceNorm) -> list[Design]:
    """Design every size up to 16."""
    goal = Objective.parse(objective)
    solutions = optimize_sizes(epsilon, objective).values()
    return [certify(epsilon, solution, goal, "optimal") for solution in solutions]


def _numerical(epsilon: float, objective: VarianceNorm) -> list[Design]:
    """Design the best size up to 16, as the paper's evaluation uses it."""
    return [design(epsilon, None, objective, "numerical")]


@dataclass(frozen=True, slots=True)
class _Catalog:
    make: Callable[[float, VarianceNorm], list[Design]]
    epsilons: tuple[float, ...]


_CATALOGS: Mapping[str, _Catalog] = MappingProxyType(
    {
        "optimal": _Catalog(_optimal, catalog.EPSILONS),
        "numerical": _Catalog(_numerical, catalog.NUMERICAL_EPSILONS),
    }
)


def _solve(method: str, epsilon: float, objective: VarianceNorm, folder: Path) -> list[str]:
    """Return the documents of some designs; a finished file is not made again."""
    path = folder / f"{method}-{epsilon:g}-{objective}.json"
    if path.exists():
        documents: list[str] = json.loads(path.read_text())
        return documents
    os.environ["NOUTPUT_CACHE"] = ""  # what is shipped is made from nothing
    documents = [found.to_json() for found in _CATALOGS[method].make(epsilon, objective)]
    part = path.with_suffix(".part")
    part.write_text(json.dumps(documents))
    part.replace(path)
    return documents


def _check(designs: list[Design]) -> None:
    """Refuse a catalog in which more outputs or more epsilon would make things worse."""
    values = {(d.objective.name, d.mechanism.epsilon, d.mechanism.n_outputs): d for d in designs}
    for (objective, epsilon, size), found in sorted(values.items()):
        for (other, smaller, fewer), rival in values.items():
            comparable = other == objective and smaller <= epsilon and fewer <= size
            if comparable and found.value > rival.value * (1.0 + _SLACK):
                raise SystemExit(
                    f"{objective}, epsilon {epsilon}, N {size}: {found.value} is worse than "
                    f"{rival.value} at epsilon {smaller}, N {fewer}"
                )


@click.command()
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("results/catalog"))
@click.option(
    "--method", "methods", type=click.Choice(list(_CATALOGS)), multiple=True,
    default=list(_CATALOGS), help="A catalog to build; repeat for more [default: all].",
)  # fmt: skip
def main(jobs: int, folder: Path, methods: tuple[str, ...]) -> None:
    """Solve, check and write every design of the catalogs."""
    folder.mkdir(parents=True, exist_ok=True)
    for method in methods:
        _build(method, jobs, folder)


def _build(method: str, jobs: int, folder: Path) -> None:
    wanted = [(e, name) for e in _CATALOGS[method].epsilons for name in catalog.OBJECTIVES]
    found: dict[tuple[str, float, int], Design] = {}
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(_solve, method, *job, folder) for job in wanted]
        with click.progressbar(as_completed(futures), len(futures), label=method) as bar:
            for future in bar:
                for document in future.result():
                    one = Design.from_json(document)
                    mechanism = one.mechanism
                    found[one.objective.name, mechanism.epsilon, mechanism.n_outputs] = one
    designs = [found[key] for key in sorted(found)]
    _check(designs)
    target = _TARGET / f"{method}.zip"
    catalog.write(designs, target)
    click.echo(f"{len(designs)} designs, {target.stat().st_size / 1e6:.2f} MB in {target}")


if __name__ == "__main__":
    main()
