"""Trends in simulations: how often bands cover the true values, and how often alarms are false.

``python -m benchmarks.trends`` measures the series of `GOALS`, of which the documentation gives
figures; ``--family choice`` those of `CHOICE`, by which the models' grid and weights and the
allowances of the alarm were chosen. Nothing was chosen by the series of `GOALS`: when a first
measurement of both families had shown that the grid of nuggets was too coarse, `GOALS` got new
sizes and seeds.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import click
import numpy as np

import noutput as no

__all__ = ["CHOICE", "GOALS", "Series", "alarms_per_year", "covered", "simulate"]

_SEEDS = {"choice": 1, "goals": 3}
_SIZES = (0.3, 0.5, 0.8, 1.3, 4.0)
_DAYS = 365  # rounds of a year

Array = np.ndarray[Any, np.dtype[np.float64]]


class Series(NamedTuple):
    """A kind of series; sizes are in standard errors of a round, on average."""

    kind: str
    size: float
    shape: float = 0.0  # persistence, period, degrees of freedom, or white per step
    cycle: int | None = None  # that is named


CHOICE = (
    Series("constant", 0.0),
    *(Series("uniform", size) for size in (0.25, 0.5, 1.1, 2.0, 10.0, 100.0)),
    *(Series("student", size, 4.0) for size in (0.5, 1.0)),
    *(Series("moving average", size) for size in (0.5, 1.2)),
    *(Series("autoregressive", *pair) for pair in ((0.5, 0.5), (3.0, 0.5), (1.0, 0.75))),
    *(Series("autoregressive", size, 0.97) for size in (1.0, 4.0, 12.0)),
    *(Series("walk and white", size, 0.5 / size) for size in (0.3, 1.0, 2.0, 10.0, 100.0)),
    Series("line", 0.2),
    *(Series("sine", *pair) for pair in ((1.0, 10.0), (2.0, 20.0))),
    *(Series("pattern", size, 5.0, 5) for size in (1.0, 3.0, 15.0)),
)
GOALS = (
    *(Series("white", size) for size in _SIZES),
    *(Series("autoregressive", size, phi) for phi in (0.3, 0.6, 0.9) for size in _SIZES),
    *(Series("pattern", size, 7.0, 7) for size in _SIZES),
    *(Series("walk", size) for size in _SIZES),
)


def simulate(series: Series, rounds: int, rng: np.random.Generator) -> Array:
    """Return the true values of a series."""
    return series.size * _SHAPES[series.kind](rounds, series.shape, rng)


def _autoregressive(rounds: int, persistence: float, rng: np.random.Generator) -> Array:
    values: Array = rng.normal(size=rounds)
    for t in range(1, rounds):
        values[t] = persistence * values[t - 1] + np.sqrt(1.0 - persistence**2) * values[t]
    return values


def _pattern(rounds: int, length: float, rng: np.random.Generator) -> Array:
    return np.resize(rng.normal(size=int(length)), rounds)


def _sine(rounds: int, period: float, rng: np.random.Generator) -> Array:
    return np.sin(2.0 * np.pi * (np.arange(rounds) / period + rng.uniform()))


def _moving_average(rounds: int, _: float, rng: np.random.Generator) -> Array:
    return np.convolve(rng.normal(size=rounds + 2), np.full(3, 3.0**-0.5), "valid")


_SHAPES: dict[str, Callable[[int, float, np.random.Generator], Array]] = {
    "constant": lambda rounds, *_: np.zeros(rounds),
    "white": lambda rounds, _, rng: rng.normal(size=rounds),
    "uniform": lambda rounds, _, rng: rng.uniform(-(3.0**0.5), 3.0**0.5, rounds),
    "student": lambda rounds, freedom, rng: (
        rng.standard_t(freedom, rounds) * np.sqrt(1.0 - 2.0 / freedom)
    ),
    "moving average": _moving_average,
    "autoregressive": _autoregressive,
    "walk": lambda rounds, _, rng: np.cumsum(rng.normal(size=rounds)),
    "walk and white": lambda rounds, nugget, rng: (
        np.cumsum(rng.normal(size=rounds)) + nugget * rng.normal(size=rounds)
    ),
    "line": lambda rounds, *_: np.arange(float(rounds)),
    "sine": _sine,
    "pattern": _pattern,
}


def _estimates(
    series: Series, rounds: int, rng: np.random.Generator
) -> tuple[Array, list[tuple[float, float]]]:
    """Return the true values, and estimates of them, whose errors are known and differ."""
    truth = simulate(series, rounds, rng)
    errors = np.exp(0.2 * rng.normal(size=rounds))
    values = truth + errors * rng.normal(size=rounds)
    return truth, list(zip(values.tolist(), errors.tolist(), strict=True))


def covered(
    series: Series, rounds: int, repetitions: int, rng: np.random.Generator
) -> tuple[float, float, float]:
    """Return how often bands of 95% cover, and error and width as multiples of single rounds'."""
    inside, squares, widths = [], [], []
    for _ in range(repetitions):
        truth, estimates = _estimates(series, rounds, rng)
        trend = no.trend(estimates, cycle=series.cycle)
        errors = np.array(estimates)[:, 1]
        inside.append(np.mean((trend.low <= truth) & (truth <= trend.high)))
        squares.append(np.mean((trend.values - truth) ** 2) / np.mean(errors**2))
        widths.append(np.mean(trend.high - trend.low) / np.mean(2.0 * 1.96 * errors))
    return float(np.mean(inside)), float(np.sqrt(np.mean(squares))), float(np.mean(widths))


def alarms_per_year(series: Series, years: int, rng: np.random.Generator) -> float:
    """Return how many alarms per year there are, at one per year."""
    series_of_years = (_estimates(series, _DAYS, rng)[1] for _ in range(years))
    return sum(len(no.find_shifts(each, cycle=series.cycle)) for each in series_of_years) / years


@click.command()
@click.option("--family", type=click.Choice(["goals", "choice"]), default="goals")
@click.option("--repetitions", default=200, show_default=True, help="Series per figure.")
@click.option("--years", default=100, show_default=True, help="Years of alarms per figure.")
@click.option("--rounds", multiple=True, type=int, default=(12, 30, 100), show_default=True)
def main(family: str, repetitions: int, years: int, rounds: Iterable[int]) -> None:
    """Print coverage and alarms per year."""
    for number, series in enumerate(GOALS if family == "goals" else CHOICE):
        figures = []
        for count in rounds:
            rng = np.random.default_rng([_SEEDS[family], number, count])
            share, error, width = covered(series, count, repetitions, rng)
            figures.append(f"{count} rounds: {share:.1%} covered, error {error:.2f}, {width:.2f}")
        rng = np.random.default_rng([_SEEDS[family], number])
        figures.append(f"{alarms_per_year(series, years, rng):.2f} alarms per year")
        name = f"{series.kind} {series.size:g}" + (f", {series.shape:g}" if series.shape else "")
        click.echo(f"{name}: {'; '.join(figures)}")


if __name__ == "__main__":
    main()
