from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import nnls
from scipy.stats import binom

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.estimate import maximum
from noutput.estimate.goodness import (
    _count_larger,
    _fill,
    check_possible,
    conditional_goodness_of_fit,
)
from noutput.estimate.maximum import maximize
from noutput.mechanisms.answers import AnswerMechanism
from noutput.mechanisms.base import Channel
from noutput.mechanisms.binning import middles
from noutput.mechanisms.direct_encoding import DirectEncoding
from noutput.mechanisms.table import TableMechanism
from tests.estimate.answer_tables import whole
from tests.estimate.samples import (
    EPSILONS,
    SHAPES,
    Array,
    campaigns,
    population,
    reference_em,
    sixteen,
)
from tests.registered import NAMES, make

LEVEL = 0.05
CORNERS = ([0.3], [1.0], [-1.0, 1.0], [-0.9, 0.1, 0.8])


def alarms(table: Channel, counts: NDArray[np.int64], replicates: int) -> float:
    rng = np.random.default_rng(1)
    tallies = [no.Tally(table.fingerprint, tuple(row)) for row in counts.tolist()]
    found = [no.goodness_of_fit(table, t, replicates=replicates, rng=rng) for t in tallies]
    return float(np.mean([result.p_value <= LEVEL for result in found]))


def at_points(
    table: TableMechanism, points: list[float], people: int, size: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    chances = table.probabilities(np.array(points)).mean(axis=0)
    return rng.multinomial(people, chances / chances.sum(), size=size)


def poisoned(table: TableMechanism, x: Array, share: float, rng: np.random.Generator) -> no.Tally:
    reports = np.asarray(table.privatize(x, rng=rng))
    reports[: round(share * len(reports))] = table.n_outputs - 1
    return no.Tally.of(table, reports)


@pytest.mark.parametrize("shape", SHAPES)
def test_honest_campaigns_rarely_alarm(shape: str, rng: np.random.Generator) -> None:
    table = sixteen(1.0)
    counts = campaigns(table, shape, 50_000, 40, rng)
    assert alarms(table, counts, 39) <= 0.15  # 40 campaigns: 3 standard errors above 5%


@pytest.mark.parametrize("shape", SHAPES)
def test_forged_reports_are_detected(shape: str, rng: np.random.Generator) -> None:
    table = sixteen(1.0)
    hits = 0
    for _ in range(10):
        people = rng.choice(population(shape), 50_000)
        tally = poisoned(table, people, 0.05, rng)
        hits += no.goodness_of_fit(table, tally, replicates=39, rng=rng).p_value <= LEVEL
    assert hits == 10


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("people", [1_000, 50_000])
def test_the_level_holds_everywhere(people: int, epsilon: float) -> None:
    """Smooth populations, and the corners of what is possible, where the test is sharpest."""
    table = sixteen(epsilon)
    rng = np.random.default_rng(people)
    for shape in SHAPES:
        assert alarms(table, campaigns(table, shape, people, 200, rng), 39) <= 0.065
    corners = [alarms(table, at_points(table, x, people, 200, rng), 39) for x in CORNERS]
    assert np.mean(corners) <= 0.065
    assert max(corners) <= 0.1  # 200 campaigns each


def test_the_statistic_is_that_of_the_best_mixture(five_outputs: TableMechanism) -> None:
    rows = five_outputs.weights / five_outputs.scale
    counts = np.array([900, 1, 50, 1, 40])
    shares = counts / counts.sum()
    best = reference_em(shares, rows, 5_000) @ rows
    brute = 2.0 * float(counts @ np.log(shares / best))
    tally = no.Tally(five_outputs.fingerprint, tuple(counts.tolist()))
    found = no.goodness_of_fit(five_outputs, tally, rng=np.random.default_rng(0))
    assert brute > 1.0
    assert found.statistic == pytest.approx(brute, abs=1e-3)
    assert found.degrees_of_freedom >= 1


def test_what_a_mixture_explains_has_no_deviance(five_outputs: TableMechanism) -> None:
    middle = (five_outputs.weights.sum(axis=0) // 1_000).tolist()
    tally = no.Tally(five_outputs.fingerprint, tuple(middle))
    found = no.goodness_of_fit(five_outputs, tally, rng=np.random.default_rng(0))
    assert found.statistic < 1e-2 * sum(middle) * 1e-6
    assert found.degrees_of_freedom == 0
    assert found.p_value == 1.0


CHANNELS = [name for name in NAMES if isinstance(make(name, 1.0), Channel)]


@pytest.mark.parametrize("name", CHANNELS)
def test_people_who_all_have_one_number_rarely_alarm(name: str) -> None:
    """Here the true probabilities are a corner, wherever that lies."""
    found, rng = make(name, 4.0), np.random.default_rng(5)
    for x in (0.3013, -0.77):
        chances = found.probabilities(x)
        counts = rng.multinomial(50_000, chances / chances.sum(), size=6)
        assert alarms(found, counts, 39) <= 0.34


@pytest.mark.parametrize("bins", [300, 1000])
def test_many_bins_of_direct_encoding_are_quick_and_rarely_alarm(bins: int) -> None:
    found, rng = DirectEncoding(2.0, bins=bins), np.random.default_rng(6)
    honest = rng.multinomial(100_000, found.probabilities(0.1), size=3)
    assert alarms(found, honest, 199) == 0.0
    forged = np.full((1, bins), 10)
    forged[0, 3] = 5_000
    assert alarms(found, forged, 199) == 1.0


@pytest.mark.parametrize("name", CHANNELS)
def test_every_row_is_a_mixture_of_the_corners(name: str) -> None:
    found = make(name, 2.0)
    corners = found.probabilities(found.corners())
    rows = found.probabilities(np.random.default_rng(7).uniform(-1.0, 1.0, 5))
    for row in rows:
        weights, distance = nnls(corners.T, row)
        assert weights.sum() == pytest.approx(1.0)
        assert distance < 1e-12


def test_the_maximum_over_a_diagonal_is_that_of_the_interior_point_method() -> None:
    rows = DirectEncoding(1.0, bins=12).probabilities(middles(12))
    shares = np.random.default_rng(8).dirichlet(np.full(12, 0.7), size=20)
    found, general = _fill(shares, rows), maximize(shares, rows, np.full(20, 1e-12)).probabilities
    assert np.abs(found - general).max() < 1e-5
    assert np.all(found >= 0.0)
    assert np.abs(found.sum(axis=1) - 1.0).max() < 1e-12


def test_simulation_ends_when_the_answer_is_settled() -> None:
    """Honest counts take few campaigns, forged ones all of them, and six times as many."""
    table = sixteen(1.0)
    honest = no.Tally.of(table, table.privatize(population("skewed"), np.random.default_rng(1)))
    found = no.goodness_of_fit(table, honest, rng=np.random.default_rng(2))
    assert found.replicates < 199
    assert found.p_value >= 0.1
    forged = no.Tally(table.fingerprint, (*[0] * 15, 1_000))
    found = no.goodness_of_fit(table, forged, rng=np.random.default_rng(2))
    assert (found.replicates, found.p_value) == (1199, 1 / 1200)


def test_every_estimate_has_a_p_value() -> None:
    table = sixteen(1.0)
    honest = no.Tally.of(table, table.privatize(population("skewed"), np.random.default_rng(1)))
    forged = no.Tally(table.fingerprint, (*[0] * 15, 1_000))
    assert no.estimate_distribution(table, honest).p_value > 0.01
    estimate = no.estimate_distribution(table, forged)
    assert estimate.p_value == 1 / 1200  # small enough to be called likely
    assert estimate.goodness_of_fit is estimate.goodness_of_fit
    assert estimate.p_value == no.estimate_distribution(table, forged).p_value


def test_bad_arguments_are_refused(five_outputs: TableMechanism) -> None:
    with pytest.raises(InvalidArgumentError, match="tally"):
        no.goodness_of_fit(five_outputs, no.Tally("other", (1, 1, 1, 1, 1)))
    good = no.Tally(five_outputs.fingerprint, (1, 1, 1, 1, 1))
    with pytest.raises(InvalidArgumentError, match="replicates"):
        no.goodness_of_fit(five_outputs, good, replicates=0)


def steps_of_newton(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Return a list that grows by the number of systems that are solved at once."""
    counted: list[int] = []
    begin = maximum._Newton.__init__

    def count(self: maximum._Newton, path: maximum._Path, theta: Array) -> None:
        counted.append(len(path.bins))
        begin(self, path, theta)

    monkeypatch.setattr(maximum._Newton, "__init__", count)
    return counted


def wide_table() -> AnswerMechanism:
    """Return a table with 64 answers and 128 outputs, near ones likelier."""
    distance = np.abs(np.linspace(0.0, 1.0, 64)[:, None] - np.linspace(0.0, 1.0, 128))
    return whole(np.exp(1.0 - np.minimum(6.0 * distance, 1.0)))


@pytest.mark.parametrize("place", [0, 64, 127])
def test_forged_counts_of_a_wide_table_take_few_operations(
    place: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The simulated campaigns need no fit: those of the observed counts prove them likelier."""
    table = wide_table()
    counts = tuple(100 if output == place else 0 for output in range(128))
    solved = steps_of_newton(monkeypatch)
    found = no.goodness_of_fit(
        table, no.Tally(table.fingerprint, counts), rng=np.random.default_rng(0)
    )
    assert (found.p_value, found.replicates) == (1 / 1200, 1199)
    assert sum(solved) <= maximum.MAX_ITERATIONS


@pytest.mark.parametrize("people", [89, 5_000])
def test_equal_answers_take_few_operations(people: int, monkeypatch: pytest.MonkeyPatch) -> None:
    table = wide_table()
    counts = np.random.default_rng(2).multinomial(people, table.table()[20])
    solved = steps_of_newton(monkeypatch)
    tally = no.Tally(table.fingerprint, tuple(counts.tolist()))
    found = no.goodness_of_fit(table, tally, rng=np.random.default_rng(0))
    assert found.p_value > 0.1
    assert sum(solved) <= 4 * maximum.MAX_ITERATIONS


def test_what_is_not_fitted_counts_as_larger(monkeypatch: pytest.MonkeyPatch) -> None:
    """A p-value of fewer operations is at least as large as that of all."""
    table = sixteen(1.0)
    rng = np.random.default_rng(4)
    for share in (0.0, 0.01, 0.02):
        chances = (1.0 - share) * table.probabilities(0.3) + share * (np.arange(16) == 15)
        tally = no.Tally(table.fingerprint, tuple(rng.multinomial(5_000, chances).tolist()))
        full = no.goodness_of_fit(table, tally, rng=np.random.default_rng(0))
        with monkeypatch.context() as patch:
            patch.setattr("noutput.estimate.goodness._FIT_OPERATIONS", 1)
            few = no.goodness_of_fit(table, tally, rng=np.random.default_rng(0))
        assert few.p_value >= min(full.p_value, 0.1)


def test_campaigns_are_compared_as_if_all_were_fitted() -> None:
    table = sixteen(1.0)
    rows = table.probabilities(table.corners())
    again = np.random.default_rng(5).multinomial(2_000, rows[4], size=199) / 2_000
    fits = maximize(again, rows, np.full(199, 1e-12)).probabilities
    deviances = np.array(
        [c[c > 0] @ np.log((c / (fit @ rows))[c > 0]) for c, fit in zip(again, fits, strict=True)]
    )
    for observed in np.sort(deviances)[[150, 185, 190, 198]] + 1e-7:
        larger, simulated, _ = _count_larger(again, rows, fits[0], float(observed), 199)
        assert larger == np.count_nonzero(deviances[:simulated] >= observed)


def test_conditional_test_is_that_of_all_without_simulated_campaigns(
    five_outputs: TableMechanism,
) -> None:
    rng = np.random.default_rng(4)
    for row in at_points(five_outputs, [1.0], 800, 20, rng).tolist():
        tally = no.Tally(five_outputs.fingerprint, tuple(row))
        both = no.goodness_of_fit(five_outputs, tally)
        alone = conditional_goodness_of_fit(five_outputs, tally)
        assert (alone.statistic, alone.degrees_of_freedom) == (
            both.statistic,
            both.degrees_of_freedom,
        )
        assert alone.p_value <= both.p_value
        assert alone.replicates == 0


@pytest.mark.slow
def test_conditional_test_of_few_reports_alarms_rarely() -> None:
    """The rule of adaptive campaigns looks at 500 reports or more, at a level of 0.001."""
    table, rng = no.design(0.5).mechanism, np.random.default_rng(6)
    for points in ([0.0], [-1.0], np.linspace(-1.0, 1.0, 101).tolist()):
        rows = at_points(table, points, 500, 300, rng).tolist()
        tallies = [no.Tally(table.fingerprint, tuple(row)) for row in rows]
        found = [conditional_goodness_of_fit(table, tally).p_value for tally in tallies]
        assert np.mean(np.array(found) < 0.001) < 0.02  # 1%, and chance


def is_possible(mechanism: no.TableMechanism | no.AnswerMechanism, counts: Sequence[int]) -> bool:
    try:
        check_possible(mechanism, no.Tally(mechanism.fingerprint, tuple(counts)))
    except InvalidArgumentError:
        return False
    return True


@pytest.mark.parametrize("n", [2, 50, 400, 3_000])
def test_honest_counts_are_impossible_less_often_than_stated(n: int) -> None:
    """The exact chance, though half of the reports are forged, for the worst of all people."""
    table = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    honest = n // 2
    chance = 0.0
    for count in range(honest + 1):  # of honest reports with the rarer output
        if not is_possible(table, (count, n - count)):
            chance += float(binom.pmf(count, honest, 0.25))
    assert chance < 1e-9
    assert is_possible(table, (0, n)) == (n < 200)


@pytest.mark.parametrize("target", [0, 60, 127])
def test_fewer_than_half_forged_reports_are_shown(target: int) -> None:
    """Whoever forges reports cannot make an estimate disappear."""
    table = no.design(1.0, 128).mechanism
    rng = np.random.default_rng(target)
    for n in (100, 10_000, 1_000_000):
        honest = rng.multinomial(n, table.probabilities(np.array([-1.0]))[0])
        forged = np.where(np.arange(128) == target, n, 0)
        assert is_possible(table, (honest + forged).tolist())
        assert not is_possible(table, (honest + 9 * forged).tolist())
