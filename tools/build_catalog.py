"""Build the catalog of designs that ships with the package: `make catalog`.

Every finished design is kept in a folder, so an interrupted run continues where it stopped.
"""

from __future__ import annotations

import json
import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import Literal

import click

from noutput.designs import catalog
from noutput.designs.objective import Objective
from noutput.designs.optimal import optimize_sizes
from noutput.designs.result import Design
from noutput.mechanisms.quantize import quantize

_TARGET = Path("src/noutput/designs/optimal.zip")
_SLACK = 1e-7


def _solve(epsilon: float, objective: Literal["worst", "average"], folder: Path) -> list[str]:
    """Design every size up to 16 and return the documents; a finished file is not made again."""
    path = folder / f"{epsilon:g}-{objective}.json"
    if path.exists():
        documents: list[str] = json.loads(path.read_text())
        return documents
    goal = Objective.parse(objective)
    documents = []
    for solution in optimize_sizes(epsilon, objective).values():
        mechanism = quantize(epsilon, solution.outputs, solution.probabilities)
        design = Design(
            mechanism,
            goal,
            "optimal",
            goal.value(mechanism),
            solution.iterations,
            solution.converged,
        )
        documents.append(design.to_json())
    part = path.with_suffix(".part")
    part.write_text(json.dumps(documents))
    part.replace(path)
    return documents


def _check(designs: list[Design]) -> None:
    """Refuse a catalog in which more outputs or more epsilon would make things worse."""
    values = {(d.objective.name, d.mechanism.epsilon, d.mechanism.n_outputs): d for d in designs}
    for (objective, epsilon, size), design in sorted(values.items()):
        for (other, smaller, fewer), rival in values.items():
            comparable = other == objective and smaller <= epsilon and fewer <= size
            if comparable and design.value > rival.value * (1.0 + _SLACK):
                raise SystemExit(
                    f"{objective}, epsilon {epsilon}, N {size}: {design.value} is worse than "
                    f"{rival.value} at epsilon {smaller}, N {fewer}"
                )


@click.command()
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("results/catalog"))
def main(jobs: int, folder: Path) -> None:
    """Solve, check and write every design of the catalog."""
    folder.mkdir(parents=True, exist_ok=True)
    wanted = [
        (epsilon, objective) for epsilon in catalog.EPSILONS for objective in catalog.OBJECTIVES
    ]
    found: dict[tuple[str, float, int], Design] = {}
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(_solve, *job, folder) for job in wanted]
        with click.progressbar(as_completed(futures), len(futures), label="Designs") as bar:
            for future in bar:
                for document in future.result():
                    design = Design.from_json(document)
                    mechanism = design.mechanism
                    found[design.objective.name, mechanism.epsilon, mechanism.n_outputs] = design
    designs = [found[key] for key in sorted(found)]
    _check(designs)
    catalog.write(designs, _TARGET)
    click.echo(f"{len(designs)} designs, {_TARGET.stat().st_size / 1e6:.2f} MB in {_TARGET}")


if __name__ == "__main__":
    main()
