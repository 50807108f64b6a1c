from __future__ import annotations

import numpy as np
import pytest

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.table import TableMechanism
from tests.estimate.samples import SHAPES, population, sixteen

PEOPLE = 6_000


@pytest.mark.parametrize("each", [1, 2, 3])
def test_everybody_reports_on_different_attributes(each: int, rng: np.random.Generator) -> None:
    chosen = no.choose_attributes(PEOPLE, 5, rng, each=each)
    assert chosen.shape == (PEOPLE, each)
    assert all(len(set(row)) == each for row in chosen[:200].tolist())
    shares = np.bincount(chosen.ravel(), minlength=5) / (PEOPLE * each)
    assert np.abs(shares - 0.2).max() < 0.02
    assert no.choose_attributes(3, 2, rng, each=2).sum(axis=1).tolist() == [1, 1, 1]


def test_a_seed_chooses_the_same_in_the_same_order_on_every_processor() -> None:
    chosen = no.choose_attributes(50, 400, np.random.default_rng(7), each=200)
    keys = np.random.default_rng(7).random((50, 400))
    assert np.all(np.diff(np.take_along_axis(keys, chosen, axis=1)) > 0.0)


@pytest.mark.parametrize("each", [1, 2])
def test_intervals_cover_each_mean(each: int, rng: np.random.Generator) -> None:
    table = sixteen(3.0 / each)
    values = np.stack([population(shape)[:PEOPLE] for shape in SHAPES], axis=1)
    everybody = values.mean(axis=0)
    population_hits, people_hits, together = np.zeros(3), np.zeros(3), 0
    runs = 400
    for _ in range(runs):
        chosen = no.choose_attributes(PEOPLE, 3, rng, each=each)
        mine = np.take_along_axis(values, chosen, axis=1)
        tallies = no.Tally.by_attribute(table, chosen, table.privatize(mine, rng=rng), 3)
        found = no.estimate_means(table, tallies, each=each)
        low, high = found.interval()
        population_hits += (low <= everybody) & (everybody <= high)
        low, high = found.interval(of="respondents")
        people_hits += (low <= everybody) & (everybody <= high)
        low, high = found.interval(simultaneous=True)
        together += bool(np.all((low <= everybody) & (everybody <= high)))
    assert np.all(people_hits / runs >= 0.92)
    assert np.all(population_hits >= people_hits)
    assert together / runs >= 0.92


def test_units_may_differ(five_outputs: TableMechanism) -> None:
    tallies = [no.Tally(five_outputs.fingerprint, (1, 2, 3, 4, 5))] * 2
    bounds = [no.Interval(0.0, 1.0), no.Interval(0.0, 100.0)]
    found = no.estimate_means(five_outputs, tallies, bounds)
    assert found.values[1] == pytest.approx(100.0 * found.values[0])
    assert found.standard_errors[1] == pytest.approx(100.0 * found.standard_errors[0])


def test_bad_arguments_are_refused(five_outputs: TableMechanism) -> None:
    tallies = [no.Tally(five_outputs.fingerprint, (1, 2, 3, 4, 5))] * 2
    with pytest.raises(InvalidArgumentError, match="tallies"):
        no.estimate_means(five_outputs, [])
    with pytest.raises(InvalidArgumentError, match="bounds"):
        no.estimate_means(five_outputs, tallies, [no.Interval(0.0, 1.0)])
    with pytest.raises(InvalidArgumentError, match="each"):
        no.estimate_means(five_outputs, tallies, each=3)
    uneven = [tallies[0], no.Tally(five_outputs.fingerprint, (1, 1, 0, 0, 0))]
    with pytest.raises(InvalidArgumentError, match="one report per person"):
        no.estimate_means(five_outputs, uneven, each=2)
    with pytest.raises(InvalidArgumentError, match="level"):
        no.estimate_means(five_outputs, tallies).interval(1.5)
    with pytest.raises(InvalidArgumentError, match="each"):
        no.choose_attributes(3, 2, np.random.default_rng(0), each=3)
