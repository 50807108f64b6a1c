"""The work of a unit: simulated collections, and the errors of the estimates from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noutput.estimate import em, methods
from noutput.estimate.attributes import choose_attributes
from noutput.estimate.counts import Counts, supported, transition_matrix
from noutput.estimate.distance import wasserstein
from noutput.estimate.fit import mean_log_likelihood
from noutput.evaluation.scenarios import (
    BINS,
    CAMPAIGN_PEOPLE,
    CAMPAIGNS_PER_RUN,
    CONTENDERS,
    READING_RUNS,
    READINGS,
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

__all__ = ["Measures", "compute", "true_variances"]

Array: TypeAlias = "NDArray[np.float64]"
Measures: TypeAlias = dict[str, list[float]]
"""One number per run for every measure; "predicted" has one number, from theory, and the other
readings of the paper's stopping rule have the first runs only."""


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
    everybody = np.full((CAMPAIGNS_PER_RUN, CAMPAIGN_PEOPLE), x)
    errors = []
    for run in range(unit.first, unit.first + unit.runs):
        reports = mechanism.privatize(everybody, rng=_generator(unit, run))
        errors.append(float(np.mean((mechanism.decode(reports).mean(axis=1) - x) ** 2)))
    return {"mean": errors}


def _collections(unit: Unit, data: Dataset, mechanism: Mechanism) -> Measures:
    """Let everybody report one attribute drawn at random, and estimate all there is to learn."""
    entry = CONTENDERS[unit.mechanism]
    collected = [
        _Collection(data, mechanism, _generator(unit, run))
        for run in range(unit.first, unit.first + unit.runs)
    ]
    found: Measures = {}
    if entry.for_means:
        means = np.stack([one.means for one in collected])
        truth = data.values.mean(axis=0)
        found["mean"] = ((means - truth) ** 2).mean(axis=1).tolist()
    if entry.estimators:
        counts = np.stack([one.counts for one in collected])
        totals = np.stack([one.totals for one in collected])
        for estimator in _estimators(unit):
            fitted = _fit(mechanism, estimator, counts, totals)
            found |= _distribution_errors(estimator, fitted, data)
    return found


def _estimators(unit: Unit) -> list[str]:
    """Return the estimators of a unit; other readings of the paper take part in few runs."""
    _, *others = READINGS
    skipped = set(others if unit.first >= READING_RUNS else ())
    return [name for name in CONTENDERS[unit.mechanism].estimators if name not in skipped]


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
        fitted = _maximize(Counts(shares, sums), theta, estimator)
    result: Array = fitted.reshape(*shape, BINS)
    return result


def _maximize(counts: Counts, theta: Array, estimator: str) -> Array:
    """Fit histograms; for EM, by one of the readings of the paper's stopping rule."""
    if estimator not in READINGS:
        tolerance = "auto" if estimator == "gp" else TOLERANCE
        return methods.fit(counts, theta, estimator, tolerance).probabilities
    limit = np.full(len(counts), TOLERANCE)
    if estimator == "em-sum":
        limit /= counts.totals
    if estimator == "em-relative":
        # from where EM is about to stop, the log-likelihood itself changes by less than 1%
        near = em.maximize(counts.shares, theta, limit).probabilities
        limit *= np.abs(mean_log_likelihood(counts.shares, near, theta))
    return em.maximize(counts.shares, theta, limit).probabilities


def _distribution_errors(estimator: str, fitted: Array, data: Dataset) -> Measures:
    """Compare histograms with the true ones, and their variances with both true variances."""
    distance = np.asarray(wasserstein(fitted, data.histograms(BINS)))
    found = {f"wasserstein/{estimator}": distance.mean(axis=1).tolist()}
    for truth, variances in true_variances(data).items():
        errors = (_spread(fitted) - variances) ** 2
        found[f"variance/{estimator}/{truth}"] = errors.mean(axis=1).tolist()
    return found


def _spread(histograms: Array) -> Array:
    """Return the variance of histograms, with every bin at its center."""
    centers = middles(BINS)
    result: Array = histograms @ centers**2 - (histograms @ centers) ** 2
    return result


def true_variances(data: Dataset) -> dict[str, Array]:
    """Return what may be called the true variance of every attribute.

    "values" is the variance of the numbers. "bins" is that of their histogram with every bin at
    its center, which is all that the paper's estimate can find.
    """
    return {"values": data.values.var(axis=0), "bins": _spread(data.histograms(BINS))}
