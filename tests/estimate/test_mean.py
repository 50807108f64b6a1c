from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.table import TableMechanism
from tests.estimate.samples import EPSILONS, SHAPES, campaigns, population, sixteen
from tests.tables import window_table

PAGES = Path(__file__).parents[2] / "docs"
CAMPAIGNS = 2_000
PEOPLE = 1_000


def covered(
    estimates: list[no.MeanEstimate], truth: float, kind: str = "normal", of: str = "population"
) -> float:
    ends = np.array([estimate.interval(0.95, kind=kind, of=of) for estimate in estimates])
    return float(np.mean((ends[:, 0] <= truth) & (truth <= ends[:, 1])))


def estimates_of(mechanism: TableMechanism, counts: NDArray[np.int64]) -> list[no.MeanEstimate]:
    tallies = (no.Tally(mechanism.fingerprint, tuple(row)) for row in counts.tolist())
    return [no.estimate_mean(mechanism, tally) for tally in tallies]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("shape", SHAPES)
def test_intervals_cover_the_mean_of_the_population(
    shape: str, epsilon: float, rng: np.random.Generator
) -> None:
    table = sixteen(epsilon)
    found = estimates_of(table, campaigns(table, shape, PEOPLE, CAMPAIGNS, rng))
    truth = float(population(shape).mean())
    assert 0.935 <= covered([replace(each, bounds=None) for each in found], truth) <= 0.965
    assert covered(found, truth) >= 0.935  # more where the mean is as near to a bound as its reach
    assert covered(found, truth, kind="guaranteed") >= 0.95
    free = replace(found[0], bounds=None)
    narrow, wide = free.interval(), free.interval(kind="guaranteed")
    assert wide[0] < narrow[0] < narrow[1] < wide[1]


def test_a_guaranteed_interval_covers_with_few_reports(rng: np.random.Generator) -> None:
    table = sixteen(3.0)
    found = estimates_of(table, campaigns(table, "skewed", 12, CAMPAIGNS, rng))
    assert covered(found, float(population("skewed").mean()), kind="guaranteed") >= 0.95


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_squared_error_is_the_average_variance(epsilon: float, rng: np.random.Generator) -> None:
    table = sixteen(epsilon)
    people = population("two-humped")[:200]
    reports = table.privatize(np.tile(people, (20_000, 1)), rng=rng)
    errors = table.outputs[reports].mean(axis=1) - people.mean()
    expected = table.variance(people).mean() / len(people)
    assert abs(np.mean(errors**2) / expected - 1.0) < 0.03


@pytest.mark.parametrize("epsilon", [1.0, 3.0])
def test_the_respondents_mean_is_known_better(epsilon: float, rng: np.random.Generator) -> None:
    table = sixteen(epsilon)
    people = np.repeat([-1.0, 1.0], PEOPLE // 2)
    reports = np.asarray(table.privatize(np.tile(people, (CAMPAIGNS, 1)), rng=rng))
    counts = np.stack([np.bincount(row, minlength=table.n_outputs) for row in reports])
    found = estimates_of(table, counts)
    truth = float(people.mean())
    assert 0.94 <= covered(found, truth, of="respondents") <= 0.985
    assert covered(found, truth) > covered(found, truth, of="respondents")
    noise = table.variance(people).mean() / PEOPLE
    typical = np.mean([estimate.respondents_error**2 for estimate in found])
    assert noise * 0.98 <= typical < 1.05 * noise + 0.02 / PEOPLE


def test_two_outputs_say_nothing_about_the_spread() -> None:
    table = window_table(1.0, 2, 2, 0.5)
    found = no.estimate_mean(table, no.Tally(table.fingerprint, (500, 500)))
    assert found.respondents_error == found.standard_error


def test_a_sample_of_the_people_lies_between(five_outputs: TableMechanism) -> None:
    tally = no.Tally(five_outputs.fingerprint, (300, 100, 50, 100, 300))
    alone = no.estimate_mean(five_outputs, tally)
    some = no.estimate_mean(five_outputs, tally, people=2 * tally.total)
    assert alone.respondents_error < some.respondents_error < some.standard_error
    ratio = (some.standard_error**2 - some.respondents_error**2) / (
        alone.standard_error**2 - alone.respondents_error**2
    )
    assert ratio == pytest.approx(0.5)


def test_units_scale_everything(five_outputs: TableMechanism) -> None:
    tally = no.Tally(five_outputs.fingerprint, (300, 100, 400, 100, 500))
    plain = no.estimate_mean(five_outputs, tally)
    minutes = no.estimate_mean(five_outputs, tally, no.Interval(0.0, 180.0))
    assert minutes.value == pytest.approx(90.0 + 90.0 * plain.value)
    assert minutes.standard_error == pytest.approx(90.0 * plain.standard_error)
    assert minutes.respondents_error == pytest.approx(90.0 * plain.respondents_error)
    for kind in ("normal", "guaranteed"):
        low, high = minutes.interval(kind=kind)
        assert high - minutes.value == pytest.approx(minutes.value - low)
        plain_low, _ = plain.interval(kind=kind)
        assert low == pytest.approx(90.0 + 90.0 * plain_low)


def test_the_poisoning_bound_is_reached(five_outputs: TableMechanism) -> None:
    fingerprint = five_outputs.fingerprint
    honest = no.estimate_mean(five_outputs, no.Tally(fingerprint, (100, 0, 0, 0, 0)))
    forged = no.estimate_mean(five_outputs, no.Tally(fingerprint, (90, 0, 0, 0, 10)))
    assert forged.value - honest.value == pytest.approx(honest.poisoning_bound(10))
    assert honest.poisoning_bound(10) == pytest.approx(2.0 * five_outputs.outputs[-1] * 0.1)
    with pytest.raises(InvalidArgumentError, match="forged"):
        honest.poisoning_bound(101)


@pytest.mark.parametrize("page", ["privacy.md", "estimation.md"])
def test_the_poisoning_bound_of_the_pages_holds_for_any_table(page: str) -> None:
    """The formula as the page has it, for a table that reaches farther to one side."""
    (formula,) = re.findall(r"\$(\([^$]*\) k / m)\$", (PAGES / page).read_text(encoding="utf-8"))
    table = no.design(1.0, 4, "average", prior=[8, 4, 2, 1]).mechanism
    names = {"a_1": table.outputs[0], "a_N": table.outputs[-1], "k": 10, "m": 100}
    half_width = 90.0
    said = half_width * eval(formula.replace(" k", " * k"), {}, names)  # noqa: S307
    bounds = no.Interval(0.0, 180.0)
    ends = [(100, 0, 0, 0), (90, 0, 0, 10)]
    low, high = (no.estimate_mean(table, no.Tally(table.fingerprint, end), bounds) for end in ends)
    assert high.value - low.value == pytest.approx(said)
    assert low.poisoning_bound(10) == pytest.approx(said)
    assert said != pytest.approx(half_width * 2.0 * table.outputs[-1] * 0.1, rel=0.01)


def test_huge_counts_are_no_problem(five_outputs: TableMechanism) -> None:
    small = no.estimate_mean(five_outputs, no.Tally(five_outputs.fingerprint, (1, 2, 3, 4, 5)))
    huge_tally = no.Tally(five_outputs.fingerprint, tuple(n * 10**200 for n in (1, 2, 3, 4, 5)))
    huge = no.estimate_mean(five_outputs, huge_tally)
    assert huge.value == pytest.approx(small.value)
    assert huge.standard_error < 1e-90


def test_bad_arguments_are_refused(five_outputs: TableMechanism) -> None:
    tally = no.Tally(five_outputs.fingerprint, (3, 1, 4, 1, 5))
    with pytest.raises(InvalidArgumentError, match="tally"):
        no.estimate_mean(five_outputs, no.Tally("other", (3, 1, 4, 1, 5)))
    with pytest.raises(InvalidArgumentError, match="two reports"):
        no.estimate_mean(five_outputs, no.Tally(five_outputs.fingerprint, (1, 0, 0, 0, 0)))
    with pytest.raises(InvalidArgumentError, match="5 counts"):
        no.estimate_mean(five_outputs, no.Tally(five_outputs.fingerprint, (1, 1)))
    with pytest.raises(InvalidArgumentError, match="people"):
        no.estimate_mean(five_outputs, tally, people=13)
    estimate = no.estimate_mean(five_outputs, tally)
    with pytest.raises(InvalidArgumentError, match="level"):
        estimate.interval(1.0)
    with pytest.raises(InvalidArgumentError, match="kind"):
        estimate.interval(kind="exact")
    with pytest.raises(InvalidArgumentError, match="of"):
        estimate.interval(of="everybody")


@pytest.mark.parametrize("place", range(5))
def test_reports_that_all_agree_are_not_certain(place: int, five_outputs: TableMechanism) -> None:
    counts = tuple(7 * (index == place) for index in range(5))
    found = no.estimate_mean(five_outputs, no.Tally(five_outputs.fingerprint, counts))
    least = (float(five_outputs.variance(five_outputs.knots).min()) / 7) ** 0.5
    assert found.standard_error == pytest.approx(least)
    assert found.respondents_error == pytest.approx(least)


def test_more_reports_than_a_float_can_count_are_refused(five_outputs: TableMechanism) -> None:
    tally = no.Tally(five_outputs.fingerprint, (10**400, 1, 1, 1, 1))
    with pytest.raises(InvalidArgumentError, match="tally must have at most 1e300 reports"):
        no.estimate_mean(five_outputs, tally)
    with pytest.raises(InvalidArgumentError, match="tally must have at most 1e300 reports"):
        no.estimate_means(five_outputs, [tally, tally])
    with pytest.raises(InvalidArgumentError, match="tally must have at most 1e300 reports"):
        no.estimate_distribution(five_outputs, tally)
    with pytest.raises(InvalidArgumentError, match="tally must have at most 1e300 reports"):
        no.goodness_of_fit(five_outputs, tally)
