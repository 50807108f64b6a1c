"""Two private columns of a dataframe: report one of them per row, estimate both, town by town.

Works alike with pandas, Polars, PyArrow, DuckDB and Spark frames; this one is for Polars::

    pip install '.[polars]'  # in the folder of the project; docs/install.md has other ways
    python examples/dataframe.py
"""

from __future__ import annotations

import numpy as np
import polars as pl

import noutput as no
from noutput import frames

PEOPLE = 200_000
EPSILON = 1.0
BOUNDS = {"minutes": no.Interval(0, 180), "salary": no.Interval(0, 200_000)}


def make_people() -> pl.DataFrame:
    """People of three towns, whose numbers differ."""
    rng = np.random.default_rng(1)
    town = rng.integers(0, 3, PEOPLE)
    minutes = rng.lognormal(np.array([3.0, 3.3, 3.9])[town], 0.5)
    salary = rng.gamma(6.0, np.array([6_000.0, 8_000.0, 9_500.0])[town])
    return pl.DataFrame(
        {
            "town": np.array(["Ashby", "Brook", "Cliff"])[town],
            "minutes": np.clip(minutes, 0, 180),
            "salary": np.clip(salary, 0, 200_000),
        }
    )


def main() -> None:
    """Privatize, count, estimate, and compare with the truth."""
    people = make_people()
    mechanism = no.design(EPSILON).mechanism

    # One of the two columns is drawn for every row, so that a row costs EPSILON and not twice as
    # much. `town` is public, so it is kept; nothing else leaves.
    reports = frames.privatize(
        people, list(BOUNDS), mechanism=mechanism, bounds=BOUNDS, keep="town", one_per_row=True
    )
    print("What may leave the building:")
    print(reports.head(4))

    print("\ntown     column      reports       truth    estimate        95% interval   median")
    for town in sorted(people["town"].unique()):
        here = people.filter(pl.col("town") == town)
        answers = reports.filter(pl.col("town") == town)
        for column, bounds in BOUNDS.items():
            counts = frames.tally(answers, column, mechanism)
            mean = no.estimate_mean(mechanism, counts, bounds)
            shape = no.estimate_distribution(mechanism, counts, bounds=bounds)
            low, high = mean.interval(0.95)
            truth = here[column].to_numpy().mean()
            print(
                f"{town:8} {column:8} {counts.total:10,} {truth:11,.1f} "
                f"{mean.value:11,.1f} {low:9,.1f} to {high:8,.1f} {shape.quantile(0.5):8,.0f}"
            )


if __name__ == "__main__":
    main()
