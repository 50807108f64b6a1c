"""Train the catalog of designs for distributions that ships with the package.

Training begins at epsilon = 1.5 and goes on to both sides, each table from the one before. Every
finished design is kept in a folder, so an interrupted run continues where it stopped.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import click

from noutput.designs import catalog
from noutput.designs.distribution import solve
from noutput.designs.objective import Objective
from noutput.designs.result import Design
from noutput.mechanisms.quantize import quantize

_TARGET = Path("src/noutput/designs/trained.zip")
_FIRST = 1.5
_GOAL = Objective.parse("distribution")


def _train(epsilon: float, size: int, near: Design | None, folder: Path) -> Design:
    """Train one table; a finished one is not trained again."""
    path = folder / f"{epsilon:g}-{size}.json"
    if path.exists():
        return Design.from_json(path.read_text())
    found = solve(epsilon, size, None if near is None else near.mechanism)
    mechanism = quantize(epsilon, found.outputs, found.probabilities)
    value = _GOAL.value(mechanism)
    design = Design(mechanism, _GOAL, "trained", value, found.iterations, converged=True)
    part = path.with_suffix(".part")
    part.write_text(design.to_json())
    part.replace(path)
    return design


def _branch(size: int, epsilons: list[float], folder: Path) -> list[str]:
    """Train one size at the first epsilon and then along a list of others."""
    near = None
    documents = []
    for epsilon in epsilons:
        near = _train(epsilon, size, near, folder)
        documents.append(near.to_json())
    return documents


@click.command()
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("results/trained"))
def main(jobs: int, folder: Path) -> None:
    """Train and write every design of the catalog."""
    folder.mkdir(parents=True, exist_ok=True)
    grid = catalog.TRAINED_EPSILONS
    up = [epsilon for epsilon in grid if epsilon >= _FIRST]
    down = [epsilon for epsilon in reversed(grid) if epsilon <= _FIRST]
    found: dict[tuple[float, int], Design] = {}
    with ProcessPoolExecutor(jobs) as pool:
        for branches in ([[_FIRST]], [up, down]):
            futures = [
                pool.submit(_branch, size, branch, folder)
                for size in reversed(catalog.TRAINED_SIZES)
                for branch in branches
            ]
            for future in as_completed(futures):
                for document in future.result():
                    design = Design.from_json(document)
                    mechanism = design.mechanism
                    found[mechanism.epsilon, mechanism.n_outputs] = design
                    click.echo(
                        f"epsilon {mechanism.epsilon:g}, N {mechanism.n_outputs}: "
                        f"error {design.value:.5f}"
                    )
    catalog.write([found[key] for key in sorted(found)], _TARGET)
    click.echo(f"{len(found)} designs, {_TARGET.stat().st_size / 1e6:.2f} MB in {_TARGET}")


if __name__ == "__main__":
    main()
