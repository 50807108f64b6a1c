"""Build the catalog of designs that ships with the package: `make catalog`.

Every finished design is kept in a folder, so an interrupted run continues where it stopped.
"""

from __future__ import annotations

import os
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import click

from noutput.designs import catalog
from noutput.designs.design import Design

_TARGET = Path("src/noutput/designs/catalog.zip")
_SLACK = 1e-9


def _solve(epsilon: float, objective: str, size: int | None, folder: str) -> str:
    """Design in a worker whose cache is the build folder; return the document."""
    os.environ["NOUTPUT_CACHE"] = folder
    os.environ.setdefault("OMP_NUM_THREADS", "1")
    import noutput

    return noutput.design(epsilon, size, objective).to_json()


def _check(designs: list[Design]) -> None:
    """Refuse a catalog in which more outputs or more epsilon would make things worse."""
    values = {(d.objective.name, d.mechanism.epsilon, d.mechanism.n_outputs): d for d in designs}
    for (objective, epsilon, size), design in sorted(values.items()):
        for (other, smaller, fewer), rival in values.items():
            if other == objective and smaller <= epsilon and fewer <= size:
                if design.value > rival.value * (1.0 + _SLACK):
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
        (epsilon, objective, size)
        for objective in catalog.OBJECTIVES
        for epsilon in catalog.EPSILONS
        for size in (*catalog.SIZES, None)
    ]
    found: dict[tuple[str, float, int], Design] = {}
    with ProcessPoolExecutor(jobs) as pool:
        futures = [pool.submit(_solve, *job, str(folder)) for job in wanted]
        with click.progressbar(as_completed(futures), len(futures), label="Designs") as bar:
            for future in bar:
                design = Design.from_json(future.result())
                key = (design.objective.name, design.mechanism.epsilon, design.mechanism.n_outputs)
                found[key] = design
    designs = [found[key] for key in sorted(found)]
    _check(designs)
    catalog.write(designs, _TARGET)
    click.echo(f"{len(designs)} designs, {_TARGET.stat().st_size / 1e6:.2f} MB in {_TARGET}")


if __name__ == "__main__":
    main()
