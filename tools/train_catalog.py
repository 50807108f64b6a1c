"""Train the catalogs of designs for distributions and of balanced designs that ship.

``make catalog`` calls it. Every finished design is kept in a folder, so an interrupted run
continues where it stopped. The arithmetic is pinned (`_PINNED`), so that another run gives the same
tables bit for bit, with any number of jobs, on every x86-64 machine with AVX2 that has the locked
versions of numpy and scipy. ``--check`` trains again and compares with what ships, table by table;
give it a folder of its own.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import click

from noutput.designs import balanced, catalog, distribution
from noutput.designs.design import design
from noutput.designs.objective import Objective
from noutput.designs.result import Design, certify

if TYPE_CHECKING:
    from noutput.designs.solution import Solution

_PINNED = {
    "OPENBLAS_NUM_THREADS": "1",
    "OPENBLAS_CORETYPE": "Haswell",
    "NPY_DISABLE_CPU_FEATURES": "X86_V4 AVX512_ICL AVX512_SPR",
}
"""One thread and the instructions of AVX2: sums are rounded in the same order everywhere."""
_OBJECTIVES = ("balanced", "distribution")
_SHIPPED = Path("src/noutput/designs")


class _Task(NamedTuple):
    objective: str
    epsilon: float
    size: int

    def path(self, folder: Path) -> Path:
        return folder / f"{self.objective}-{self.epsilon:g}-{self.size}.json"


def _solve(task: _Task) -> Solution:
    if task.objective == "distribution":
        return distribution.solve(task.epsilon, task.size)
    best = design(task.epsilon, balanced.base_size(task.size, task.epsilon), "worst")
    if best.lower_bound is None:
        raise click.ClickException(f"no lower bound is known for epsilon {task.epsilon}")
    return balanced.solve(best.mechanism, best.lower_bound, task.size)


def _train(task: _Task, folder: Path) -> str:
    """Train one table and return its document; a finished one is not trained again."""
    path = task.path(folder)
    if path.exists():
        return path.read_text()
    goal = Objective.parse(task.objective)
    found = certify(task.epsilon, _solve(task), goal, catalog.method_for(goal))
    part = path.with_suffix(".part")
    part.write_text(found.to_json())
    part.replace(path)
    return found.to_json()


def _train_all(tasks: list[_Task], folder: Path, jobs: int) -> list[Design]:
    found = {}
    with ProcessPoolExecutor(jobs) as pool:
        futures = {pool.submit(_train, task, folder): task for task in tasks}
        for future in as_completed(futures):
            task = futures[future]
            if future.exception() is not None:  # the finished ones are kept; begin no others
                pool.shutdown(wait=False, cancel_futures=True)
            found[task] = Design.from_json(future.result())
            gap = f", gap {found[task].gap:.2%}" if task.objective == "balanced" else ""
            click.echo(
                f"{task.objective}, epsilon {task.epsilon:g}, N {task.size}: "
                f"{found[task].value:.5f}{gap}  ({len(found)} of {len(tasks)})"
            )
    return [found[task] for task in tasks]


def _differences(designs: list[Design], tasks: list[_Task]) -> int:
    """Print which designs differ from what ships; return how many do."""
    count = 0
    for task, found in zip(tasks, designs, strict=True):
        goal = Objective.parse(task.objective)
        ships = catalog.shipped(task.epsilon, task.size, goal, catalog.method_for(goal))
        if ships is None or ships.mechanism.to_json() != found.mechanism.to_json():
            count += 1
            click.echo(f"{task.objective}, epsilon {task.epsilon:g}, N {task.size}: differs")
    click.echo(f"{len(tasks) - count} of {len(tasks)} designs are the same bit for bit")
    return count


@click.command()
@click.option("--objective", "objectives", multiple=True, type=click.Choice(_OBJECTIVES))
@click.option("--epsilon", "epsilons", multiple=True, type=float)
@click.option("--size", "sizes", multiple=True, type=int)
@click.option("--jobs", type=click.IntRange(1), default=os.cpu_count() or 1, show_default=True)
@click.option("--folder", type=click.Path(path_type=Path), default=Path("results/trained"))
@click.option("--check", is_flag=True, help="Compare with what ships instead of writing.")
def main(
    objectives: tuple[str, ...],
    epsilons: tuple[float, ...],
    sizes: tuple[int, ...],
    jobs: int,
    folder: Path,
    *,
    check: bool,
) -> None:
    """Train and write every design of the catalogs, or check some of them."""
    if (epsilons or sizes) and not check:
        raise click.UsageError("--epsilon and --size need --check: a catalog is written as a whole")
    if unknown := set(epsilons) - set(catalog.TRAINED_EPSILONS):
        raise click.UsageError(f"the catalog has no epsilon {sorted(unknown)}")
    folder.mkdir(parents=True, exist_ok=True)
    failed = 0
    for objective in objectives or _OBJECTIVES:
        tasks = [
            _Task(objective, epsilon, size)
            for epsilon in epsilons or catalog.TRAINED_EPSILONS
            for size in catalog.trained_sizes(Objective.parse(objective), epsilon)
            if not sizes or size in sizes
        ]
        tasks.sort(key=lambda task: -task.size)  # the longest first
        designs = _train_all(tasks, folder, jobs)
        if check:
            failed += _differences(designs, tasks)
            continue
        target = _SHIPPED / f"{catalog.method_for(Objective.parse(objective))}.zip"
        designs.sort(key=lambda each: (each.mechanism.epsilon, each.mechanism.n_outputs))
        catalog.write(designs, target)
        click.echo(f"{len(designs)} designs, {target.stat().st_size / 1e6:.2f} MB in {target}")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    if any(os.environ.get(name) != value for name, value in _PINNED.items()):
        command = [sys.executable, "-m", "tools.train_catalog", *sys.argv[1:]]
        os.execve(sys.executable, command, os.environ | _PINNED)  # noqa: S606 - numpy reads them once
    main()
