"""`noutput reproduce`: the paper's figures and tables, and whether its claims hold."""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import click

from noutput._progress import shown_progress

if TYPE_CHECKING:
    from noutput.evaluation.scenarios import Scenario

__all__ = ["command"]

_FIGURES = (
    "example", "worst-case-variance", "worst-case-rmse", "mean", "distribution", "variance", "bits",
)  # fmt: skip
_MOST_JOBS = 1024
_SILENCE = 60.0  # seconds between two lines of progress in a log


def _jobs(_context: click.Context, _option: click.Parameter, value: str) -> int:
    """Read a number of processes; "auto" is one for every core that this process may use."""
    if value == "auto":
        usable = getattr(os, "sched_getaffinity", None)
        return len(usable(0)) if usable else os.cpu_count() or 1
    if not value.isdecimal() or not 1 <= int(value) <= _MOST_JOBS:
        raise click.BadParameter(f"{value!r} is not 'auto' or a number from 1 to {_MOST_JOBS}.")
    return int(value)


@click.command(name="reproduce")
@click.argument("figures", nargs=-1, metavar="[FIGURE]...", type=click.Choice(_FIGURES))
@click.option(
    "--runs", type=click.IntRange(2, 100_000), help="Number of runs per setting [default: 100]."
)
@click.option(
    "--jobs", default="auto", show_default=True, callback=_jobs, help="Number of processes."
)
@click.option(
    "--data", type=click.Path(exists=True, file_okay=False, path_type=Path),
    help="Folder with the datasets [default: $NOUTPUT_DATA, the cache, a download].",
)  # fmt: skip
@click.option(
    "--out", type=click.Path(file_okay=False, writable=True, path_type=Path),
    default=Path("results"), show_default=True, help="Folder for the results.",
)  # fmt: skip
@click.option("--quick", is_flag=True, help="5 runs at three epsilons: a first look in minutes.")
@click.option(
    "--seed", type=click.IntRange(0), default=1, show_default=True, help="Seed of all noise."
)
@click.option(
    "--dataset", "datasets", multiple=True, metavar="NAME|FILE.csv",
    help="A dataset, or a file of your own; repeat for more. uniform, beta, bimodal and spike need "
    "no file.",
)  # fmt: skip
@click.option(
    "--bounds", multiple=True, metavar="COLUMN=LOWER:UPPER",
    help="The range of a column of your own files [default: from its smallest to its largest "
    "number]; repeat for more.",
)  # fmt: skip
def command(
    figures: tuple[str, ...],
    runs: int | None,
    jobs: int,
    data: Path | None,
    out: Path,
    quick: bool,
    seed: int,
    datasets: tuple[str, ...],
    bounds: tuple[str, ...],
) -> None:
    """Reproduce FIGUREs of the paper (all if none is named) and check its claims.

    FIGURE is example (Figure 1), worst-case-variance (Figure 2), worst-case-rmse (Figure 3), mean
    (Figure 4), distribution (Figure 5), variance (Figure 6) or bits (Table 1).

    Results are stored in the folder as they are computed. After an interruption the same command
    continues, with the same results; if none is missing, it only draws the figures.

    A file of your own has a header and one row per person; its columns of numbers are used.
    """
    from noutput.evaluation.run import Stopped, execute

    scenario = _scenario(figures, runs, data, seed, datasets, bounds, quick=quick)
    out.mkdir(parents=True, exist_ok=True)
    start = time.perf_counter()
    try:
        with _progress() as progress:
            outcome = execute(scenario, out / "units.jsonl", jobs, progress, _warn)
    except Stopped:
        click.echo(
            f"\nStopped. What is finished is in {out}; the same command continues.", err=True
        )
        sys.exit(130)
    from noutput.evaluation.publish import publish

    report = publish(outcome, out)
    seconds = time.perf_counter() - start
    click.echo(f"{report.summary()}\nEverything is in {out} ({seconds:.0f} s): open index.html.")


def _warn(text: str) -> None:
    click.echo(f"Warning: {text}.", err=True)


def _scenario(
    figures: tuple[str, ...],
    runs: int | None,
    data: Path | None,
    seed: int,
    datasets: tuple[str, ...],
    bounds: tuple[str, ...],
    *,
    quick: bool,
) -> Scenario:
    from dataclasses import replace

    from noutput import _checks
    from noutput.evaluation.datasets import LABELS
    from noutput.evaluation.own_data import ENDINGS, own_files, parse_bounds
    from noutput.evaluation.scenarios import FULL, QUICK

    chosen = QUICK if quick else FULL
    paths = [name for name in datasets if name.endswith(ENDINGS)]
    for name in set(datasets) - set(paths):
        _checks.choice("dataset", name, (*LABELS, "FILE.csv"))
    own = own_files(paths, map(parse_bounds, bounds))
    named = {file.path: file.name for file in own}
    return replace(
        chosen,
        runs=runs or chosen.runs,
        seed=seed,
        figures=tuple(name for name in chosen.figures if not figures or name in figures),
        datasets=tuple(named.get(name, name) for name in datasets) or chosen.datasets,
        own=own,
        folder=None if data is None else str(data),
    )


@contextmanager
def _progress() -> Iterator[Callable[[float], None]]:
    """Draw a bar on a terminal, and write a line now and then into a log."""
    if sys.stderr.isatty():
        with shown_progress("Reproducing") as bar:
            yield bar
        return
    start = last = time.monotonic()

    def log(share: float) -> None:
        nonlocal start, last
        now = time.monotonic()
        if not share:  # designs are ready, the simulation begins
            start = last = now
        elif now - last >= _SILENCE:
            last = now
            left = (now - start) / share * (1.0 - share)
            click.echo(f"{share:.0%} done, about {left / 60.0:.0f} min left", err=True)

    yield log
