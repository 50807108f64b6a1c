"""Train the catalog of designs for distributions that ships with the package.

Every finished design is kept in a folder, so an interrupted run continues where it stopped.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import click

from noutput.designs import catalog
from noutput.designs.distribution import solve
from noutput.designs.objective import Objective
from noutput.designs.result import Design, certify

_TARGET = Path("src/noutput/designs/trained.zip")
_GOAL = Objective.parse("distribution")


def _train(epsilon: float, size: int, folder: Path) -> str:
    """Train one table and return its document; a finished one is not trained again."""
    path = folder / f"{epsilon:g}-{size}.json"
    if path.exists():
        return path.read_text()
    design = certify(epsilon, solve(epsilon, size), _GOAL, "trained")
    part = path.with_suffix(".part")
    part.write_text(design.to_json())
    part.replace(path)
    return design.to_json()


@click.command()
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("results/trained"))
def main(jobs: int, folder: Path) -> None:
    """Train and write every design of the catalog."""
    folder.mkdir(parents=True, exist_ok=True)
    designs = []
    with ProcessPoolExecutor(jobs) as pool:
        futures = [
            pool.submit(_train, epsilon, size, folder)
            for size in reversed(catalog.TRAINED_SIZES)
            for epsilon in catalog.TRAINED_EPSILONS
        ]
        for future in as_completed(futures):
            design = Design.from_json(future.result())
            designs.append(design)
            table = design.mechanism
            click.echo(f"epsilon {table.epsilon:g}, N {table.n_outputs}: {design.value:.5f}")
    designs.sort(key=lambda design: (design.mechanism.epsilon, design.mechanism.n_outputs))
    catalog.write(designs, _TARGET)
    click.echo(f"{len(designs)} designs, {_TARGET.stat().st_size / 1e6:.2f} MB in {_TARGET}")


if __name__ == "__main__":
    main()
