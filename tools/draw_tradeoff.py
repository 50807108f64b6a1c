"""Draw the trade-off between mean and distribution: `python -m tools.draw_tradeoff`.

Writes `docs/images/tradeoff.csv`, `.svg` and `.png`, and prints the numbers. The limits take about
ten minutes; with `--mechanisms` those of the file stay, and only the mechanisms are evaluated
again.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from pathlib import Path

import click

import noutput as no
from noutput.designs.tradeoff import CELLS, best_cdf, best_tradeoff, cdf_error, least_variance
from noutput.mechanisms.base import Channel

__all__ = ["BEST", "EPSILONS", "LIMIT", "MECHANISMS", "POINTS", "Point", "evaluate", "read"]

FOLDER = Path(__file__).parents[1] / "docs" / "images"
POINTS = FOLDER / "tradeoff.csv"
EPSILONS = (1.0, 3.0)
LIMIT, BEST = "limit", "best"

MECHANISMS: dict[str, dict[str, int]] = {
    "pm": {},
    "pm-sub": {},
    "pm-opt": {},
    "hybrid": {},
    "square-wave": {},
    "duchi": {},
    "three-output": {},
    "n-output": {"n_outputs": 16},
    "n-output-distribution": {"n_outputs": 64},
    "n-output-balanced": {},
}
"""Registered names and options; names that the registry does not know are left out."""

_SLACKS = {
    1.0: (0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3),
    3.0: (0.0005, 0.002, 0.005, 0.01, 0.02, 0.035, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 0.7),
}
_TOLERANCE = 1e-3


@dataclass(frozen=True)
class Point:
    """A point of the figure.

    Parameters
    ----------
    epsilon : float
    name : str
        A registered mechanism; "limit" is what no mechanism with this variance can be better
        than, "best" what none with any variance can be better than.
    slack : float
        The worst-case variance relative to the proven lower bound, minus 1.
    error : float
        The criterion of `noutput.designs.tradeoff`. For limits that of the best table of cells.
    bound : float
        For limits, what is proven.
    """

    epsilon: float
    name: str
    slack: float
    error: float
    bound: float


def evaluate(epsilon: float) -> Iterator[Point]:
    """Evaluate the mechanisms that are registered."""
    criterion, least = cdf_error(epsilon), _lower_bound(epsilon)
    for name, options in MECHANISMS.items():
        if name not in no.MECHANISMS:
            continue
        mechanism = no.mechanism(name, epsilon, **options)
        assert isinstance(mechanism, Channel)  # noqa: S101
        error = criterion.value(mechanism.transition(CELLS))
        yield Point(epsilon, name, mechanism.worst_variance() / least - 1.0, error, error)


def limits(epsilon: float) -> Iterator[Point]:
    """Compute the limit from the smallest variance on, each from the columns of the last."""
    least = _lower_bound(epsilon)
    columns = least_variance(epsilon).columns
    for slack in _SLACKS[epsilon]:
        found = best_tradeoff(epsilon, (1.0 + slack) * least, columns, tolerance=_TOLERANCE)
        columns = found.columns
        yield Point(epsilon, LIMIT, slack, found.value, found.bound or 0.0)
    best = best_cdf(epsilon, tolerance=_TOLERANCE)
    yield Point(epsilon, BEST, float("inf"), best.value, best.bound or 0.0)


def _lower_bound(epsilon: float) -> float:
    """Return the proven bound of the worst-case variance, from the catalog."""
    return no.design(epsilon, 16).lower_bound or 0.0


def read() -> list[Point]:
    """Read the points of the file."""
    with POINTS.open(encoding="utf-8", newline="") as file:
        return [
            Point(name=row.pop("name"), **{key: float(value) for key, value in row.items()})
            for row in csv.DictReader(file)
        ]


def _write(points: Iterable[Point]) -> None:
    with POINTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, [field.name for field in fields(Point)], lineterminator="\n")
        writer.writeheader()
        for point in points:
            row = {
                key: value if isinstance(value, str) else f"{value:.6g}"
                for key, value in asdict(point).items()
            }
            writer.writerow(row)


@click.command()
@click.option("--mechanisms", is_flag=True, help="Keep the limits of the file.")
def main(*, mechanisms: bool) -> None:
    """Compute the points, write them and draw them."""
    from tools.tradeoff_figure import draw

    if mechanisms:
        found = [point for point in read() if point.name in (LIMIT, BEST)]
    else:
        found = []
        for epsilon in EPSILONS:
            for point in limits(epsilon):
                click.echo(f"{point}")
                found.append(point)
    found += [point for epsilon in EPSILONS for point in evaluate(epsilon)]
    _write(found)
    draw(read(), FOLDER / "tradeoff")
    for point in found:
        click.echo(f"{point.epsilon:g} {point.name:22} {point.slack:8.2%} {point.error:.4f}")


if __name__ == "__main__":
    main()
