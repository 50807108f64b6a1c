"""What a unit computes: simulated collections, and the errors of what is learned from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noutput.estimate import methods
from noutput.estimate.attributes import choose_attributes
from noutput.estimate.channel import Counts, supported, transition_matrix
from noutput.estimate.distance import wasserstein
from noutput.evaluation.scenarios import (
    BINS,
    CAMPAIGN_PEOPLE,
    CAMPAIGNS_A_RUN,
    MECHANISMS,
    TOLERANCE,
)
from noutput.evaluation.seeds import generator
from noutput.evaluation.theory import campaign_error, mean_square_error, worst_input
from noutput.mechanisms.binning import middles, norm_sub
from noutput.mechanisms.categorical import FrequencyOracle

if TYPE_CHECKING:
    from typing import Any

    from numpy.typing import NDArray

    from noutput.evaluation.datasets import Dataset
    from noutput.evaluation.units import Unit
    from noutput.mechanisms.base import Mechanism

__all__ = ["Measures", "compute"]

Array: TypeAlias = "NDArray[np.float64]"
Measures: TypeAlias = dict[str, list[float]]
"""One number a run for every measure; "predicted" has one number, from theory."""


def compute(unit: Unit, data: Dataset | None, mechanism: Mechanism) -> Measures:
    """Return the errors of every run of a unit, averaged over attributes."""
    found = _campaigns(unit, mechanism) if data is None else _collections(unit, data, mechanism)
    if unit.first == 0 and "mean" in found:  # once a cell is enough
        found["predicted"] = [
            campaign_error(mechanism, CAMPAIGN_PEOPLE)
            if data is None
            else mean_square_error(mechanism, data)
        ]
    return found


def _generator(unit: Unit, run: int) -> np.random.Generator:
    return generator(unit.seed, unit.task, unit.dataset, unit.mechanism, unit.epsilon, run)


def _campaigns(unit: Unit, mechanism: Mechanism) -> Measures:
    """Let people with the least favorable number report, and compare the mean of the reports."""
    x = worst_input(mechanism)
    everybody = np.full((CAMPAIGNS_A_RUN, CAMPAIGN_PEOPLE), x)
    errors = []
    for run in range(unit.first, unit.first + unit.runs):
        reports = mechanism.privatize(everybody, rng=_generator(unit, run))
        errors.append(float(np.mean((mechanism.decode(reports).mean(axis=1) - x) ** 2)))
    return {"mean": errors}


def _collections(unit: Unit, data: Dataset, mechanism: Mechanism) -> Measures:
    """Let everybody report one attribute drawn at random, and estimate all there is to learn."""
    entry = MECHANISMS[unit.mechanism]
    collected = [
        _Collection(data, mechanism, _generator(unit, run))
        for run in range(unit.first, unit.first + unit.runs)
    ]
    found: Measures = {}
    if entry.unbiased:
        means = np.stack([one.means for one in collected])
        truth = data.values.mean(axis=0)
        found["mean"] = ((means - truth) ** 2).mean(axis=1).tolist()
    if entry.estimators:
        counts = np.stack([one.counts for one in collected])
        totals = np.stack([one.totals for one in collected])
        for estimator in entry.estimators:
            fitted = _fit(mechanism, estimator, counts, totals)
            found |= _distribution_errors(estimator, fitted, data)
    return found


class _Collection:
    """The reports of one run, counted by attribute.

    Parameters
    ----------
    data : Dataset
    mechanism : Mechanism
    rng : numpy Generator
        Draws which attribute everybody reports, then the reports.
    """

    def __init__(self, data: Dataset, mechanism: Any, rng: np.random.Generator) -> None:
        size = data.n_attributes
        attribute = choose_attributes(data.people, size, rng)[:, 0]
        numbers = data.values[np.arange(data.people), attribute]
        self.totals: Array = np.bincount(attribute, minlength=size).astype(np.float64)
        if not hasattr(type(mechanism), "cells"):  # bits of their own: counts are enough
            groups = [numbers[attribute == place] for place in range(size)]
            self.counts: Array = np.array([mechanism.simulate(x, rng) for x in groups], np.float64)
            return
        reports = mechanism.privatize(numbers, rng=rng)
        cells = mechanism.n_cells
        place = attribute * cells + mechanism.cells(reports)
        counts = np.bincount(place, minlength=size * cells).reshape(size, cells)
        self.counts = counts.astype(np.float64)
        sums = np.bincount(attribute, mechanism.decode(reports), minlength=size)
        self.means: Array = sums / self.totals


def _fit(mechanism: Any, estimator: str, counts: Array, totals: Array) -> Array:
    """Return the histograms of all runs and attributes, of shape (runs, attributes, bins)."""
    shape = totals.shape
    rows, sums = counts.reshape(-1, counts.shape[-1]), totals.reshape(-1)
    if estimator == "shares":
        if not isinstance(mechanism, FrequencyOracle):
            raise TypeError(f"{type(mechanism).__name__} is no frequency oracle")
        fitted = np.array(
            [norm_sub(mechanism.estimate(row, int(n))) for row, n in zip(rows, sums, strict=True)]
        )
    else:
        shares, theta = supported(rows / sums[:, None], transition_matrix(mechanism, BINS))
        tolerance = "auto" if estimator == "gp" else TOLERANCE
        fitted = methods.fit(Counts(shares, sums), theta, estimator, tolerance).probabilities
    result: Array = fitted.reshape(*shape, BINS)
    return result


def _distribution_errors(estimator: str, fitted: Array, data: Dataset) -> Measures:
    """Compare histograms with the true ones, and their variances with the true ones."""
    distance = np.asarray(wasserstein(fitted, data.histograms(BINS)))
    centers = middles(BINS)
    mean = fitted @ centers
    variance = fitted @ centers**2 - mean**2
    truth = data.values.var(axis=0)
    return {
        f"wasserstein/{estimator}": distance.mean(axis=1).tolist(),
        f"variance/{estimator}": ((variance - truth) ** 2).mean(axis=1).tolist(),
    }
