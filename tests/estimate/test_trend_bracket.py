"""Trends of shares and quantiles: their bands cover, whatever people are like."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import noutput as no
from noutput.estimate.intervals import Intervals
from noutput.estimate.slack.places import Places
from noutput.estimate.trend_bracket import (
    _bracket,
    _crossing,
    average_scores,
    quantile_series,
    quantile_trend,
    share_series,
    share_trend,
    steady,
)

ROUNDS = 20
PEOPLE: dict[str, Callable[[np.random.Generator, int], np.ndarray]] = {
    "lognormal": lambda rng, n: np.clip(rng.lognormal(0.8, 0.6, n), 0.0, 10.0),
    "zeros": lambda rng, n: np.clip(rng.lognormal(0.8, 0.6, n), 0.0, 10.0) * rng.integers(0, 2, n),
    "spikes": lambda rng, n: rng.choice([0.0, 0.0, 1.0, 4.0, 4.0, 9.0], n),
}
TABLE = no.design(1.0, question=no.Number(0, 10)).mechanism


def tallies(
    table: no.TableMechanism, people: str, reports: int, rng: np.random.Generator
) -> list[no.Tally]:
    drawn = (PEOPLE[people](rng, reports) for _ in range(ROUNDS))
    return [no.Tally.of(table, table.privatize(each / 5.0 - 1.0, rng=rng)) for each in drawn]


def covered(table: no.TableMechanism, people: str, reports: int, repetitions: int) -> list[float]:
    """Return how often bands cover: two shares and two quantiles."""
    rng = np.random.default_rng(23)
    everybody = PEOPLE[people](rng, 400_000)
    found = []
    for _ in range(repetitions):
        rounds = tallies(table, people, reports, rng)
        row = []
        for at in (1.0, 4.0):
            share = float(np.mean(everybody < at))
            band = share_trend(table, rounds, at / 5.0 - 1.0, None, 0.95)
            row.append(np.mean((band.low <= share) & (share <= band.high)))
        for level in (0.5, 0.9):
            value = np.quantile(everybody, level, method="inverted_cdf") / 5.0 - 1.0
            band = quantile_trend(table, rounds, level, None, 0.95)
            row.append(np.mean((band.low <= value + 1e-9) & (value - 1e-9 <= band.high)))
        found.append(row)
    return [float(each) for each in np.mean(found, axis=0)]


@pytest.mark.parametrize("people", list(PEOPLE))
def test_bands_cover_where_people_stay_the_same(people: str) -> None:
    """The middles of slack intervals, smoothed, covered 5% to 20%: all rounds had their bias."""
    assert min(covered(TABLE, people, 2_000, 2)) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("reports", [2_000, 10_000])
@pytest.mark.parametrize("people", list(PEOPLE))
@pytest.mark.parametrize("epsilon", [1.0, 4.0])
def test_bands_cover(people: str, reports: int, epsilon: float) -> None:
    table = no.design(epsilon, question=no.Number(0, 10)).mechanism
    assert min(covered(table, people, reports, 12)) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("people", list(PEOPLE))
def test_bands_of_tables_for_distributions_cover(people: str) -> None:
    table = no.design(4.0, 64, objective="distribution").mechanism
    assert min(covered(table, people, 10_000, 12)) >= 0.93


def test_bands_are_shorter_than_single_rounds_and_follow_a_change() -> None:
    rng = np.random.default_rng(2)
    rounds = (
        tallies(TABLE, "lognormal", 10_000, rng)[:10] + tallies(TABLE, "zeros", 10_000, rng)[:10]
    )
    band = share_trend(TABLE, rounds, -0.2, None, 0.95)
    single = Intervals(TABLE, rounds[0], no.Interval(0, 10), named=[4.0]).cdf([4.0])
    assert np.mean(band.high - band.low) < 0.85 * float(single[1][0] - single[0][0])
    assert band.low[0] < 0.835 < band.high[0]
    assert band.low[-1] < 0.917 < band.high[-1]
    series = [each[0] for each in share_series(TABLE, rounds, -0.2) if isinstance(each, tuple)]
    assert min(series[10:]) > np.mean(series[:10])
    (fall,) = no.find_shifts(quantile_series(TABLE, rounds, 0.5))
    assert fall.direction == "down"
    assert fall.alarm in (10, 11)
    assert quantile_trend(TABLE, rounds, 0.5, None, 0.95).jumps.argmax() == 10


def test_scores_bracket_the_share_at_every_number() -> None:
    """Also with a number that lies between two places, and at those of the table."""
    x = np.linspace(-1.0, 1.0, 4001)
    for at in (-0.2, 0.1234, float(Places(TABLE).x[20])):
        found = _bracket(TABLE, 40_000.0, at)
        rows = TABLE.probabilities(x)
        assert np.all(rows @ found.lower <= (x < at) + 1e-9)
        assert np.all(rows @ found.upper >= (x < at) - 1e-9)


def test_rounds_without_reports_and_tables_that_tell_nothing() -> None:
    rng = np.random.default_rng(4)
    rounds = [
        *tallies(TABLE, "lognormal", 500, rng)[:4],
        None,
        no.Tally(TABLE.fingerprint, (0,) * 128),
    ]
    band = share_trend(TABLE, rounds, -0.2, None, 0.95)
    assert np.all((band.low < 0.835) & (band.high > 0.835))
    assert (
        share_series(TABLE, rounds, -0.2)[4:]
        == quantile_series(TABLE, rounds, 0.5)[4:]
        == [None] * 2
    )
    assert quantile_series(TABLE, [None], 0.5) == [None]
    duchi = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    few = [no.Tally(duchi.fingerprint, (50, 50))] * 3
    wide = share_trend(duchi, few, 0.0, None, 0.95)
    assert np.all(wide.high - wide.low > 0.9)
    whole = quantile_trend(duchi, few, 0.01, None, 0.95)
    assert np.all(whole.low == -1.0)


def test_cuts_are_found_for_all_rounds_at_once() -> None:
    cuts = np.arange(100.0)
    truth = np.array([3, 3, 60, 98, 0])
    last, first = _crossing(cuts, lambda place: place <= truth, len(truth))
    assert (last == truth).all()
    assert (first == truth + 1).all()
    many = np.arange(99)
    last, first = _crossing(cuts, lambda place: place <= many, len(many))
    assert np.all((last <= many) & (many < first))


def test_errors_of_a_round_hardly_depend_on_its_value() -> None:
    """Skew scores: weighted by their own sample variances, rounds have a mean that is too low."""
    rng = np.random.default_rng(5)
    rows = np.array([[0.97, 0.03]])
    counts = rng.binomial(100, 0.03, 400).tolist()
    rounds = [no.Tally("", (100 - each, each)) for each in counts]
    found = [
        each
        for each in average_scores(np.array([0.0, 1.0]), rows, rounds)
        if isinstance(each, tuple)
    ]
    values, errors = np.array(found).T
    mean = np.average(values, weights=errors**-2.0)
    assert mean == pytest.approx(values.mean(), abs=0.02 * values.std())
    steadied = steady([(1.0, 1.0), None, (1.0, 3.0)], [10**6, 0, 10**6])
    assert steadied[0] == (1.0, 1.0)
    assert steadied[1] is None
    assert isinstance(steadied[2], tuple)
    assert steadied[2][1] == pytest.approx(3.0, rel=1e-2)  # many reports tell their own variance
