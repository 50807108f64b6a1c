from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import ArrayLike

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.estimate.choices import DEFAULT_METHOD, METHODS
from noutput.estimate.fit import mean_log_likelihood
from noutput.mechanisms.table import TableMechanism
from tests.estimate.samples import SHAPES, Array, campaigns, population, reference_em, sixteen
from tests.tables import window_table


def tally_of(table: TableMechanism, shape: str, people: int = 20_000, seed: int = 0) -> no.Tally:
    rng = np.random.default_rng(seed)
    return no.Tally(table.fingerprint, tuple(campaigns(table, shape, people, 1, rng)[0].tolist()))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("shape", SHAPES)
def test_finds_the_distribution(shape: str, method: str) -> None:
    table = sixteen(3.0)
    found = no.estimate_distribution(table, tally_of(table, shape, 200_000), method=method)
    truth = np.histogram(population(shape), 64, (-1.0, 1.0))[0] / 20_000
    assert found.converged
    assert no.wasserstein(found.probabilities, truth) < (0.06 if method == "ems" else 0.03)
    assert found.mean == pytest.approx(population(shape).mean(), abs=0.02)
    assert found.variance == pytest.approx(population(shape).var(), abs=0.02)


def test_auto_is_a_hundredth_of_a_report() -> None:
    table = sixteen(1.0)
    tally = tally_of(table, "skewed", 5_000)
    auto = no.estimate_distribution(table, tally, method="em")
    fixed = no.estimate_distribution(table, tally, method="em", tolerance=0.01 / 5_000)
    assert auto.tolerance == "auto"
    assert np.array_equal(auto.probabilities, fixed.probabilities)
    paper = no.estimate_distribution(table, tally, method="em", tolerance=1e-5)
    assert paper.iterations < auto.iterations


def test_the_likelihood_is_of_all_reports() -> None:
    table = sixteen(1.0)
    tally = tally_of(table, "skewed", 5_000)
    found = no.estimate_distribution(table, tally, bins=32)
    chances = found.probabilities @ table.transition(32)
    expected = sum(c * np.log(q) for c, q in zip(tally.counts, chances, strict=True))
    assert found.log_likelihood == pytest.approx(expected)
    assert found.n_reports == 5_000


def test_agrees_with_plain_em() -> None:
    table = sixteen(1.0)
    tally = tally_of(table, "two-humped", 1_000)
    found = no.estimate_distribution(table, tally, bins=16, method="em", tolerance=1e-4)
    shares = np.array(tally.counts) / 1_000
    plain = reference_em(shares, table.transition(16), found.iterations)
    assert np.abs(found.probabilities - plain).max() < 1e-10


@pytest.mark.parametrize("method", METHODS)
def test_a_stack_equals_one_by_one(method: str) -> None:
    table = sixteen(1.0)
    tallies = [tally_of(table, shape, 3_000, seed) for shape in SHAPES for seed in range(3)]
    stack = no.estimate_distribution(table, tallies, method=method)
    for tally, found in zip(tallies, stack, strict=True):
        one = no.estimate_distribution(table, tally, method=method)
        # the maximum may be reached by many histograms, but by one vector of chances only
        seen = table.transition(64) if method == "mle" else np.eye(64)
        assert np.abs((found.probabilities - one.probabilities) @ seen).max() < 1e-12
        assert found.iterations == one.iterations
        assert found.log_likelihood == pytest.approx(one.log_likelihood, rel=1e-12)
    assert no.estimate_distribution(table, [], method=method) == []


def test_cdf_and_quantile_are_inverse() -> None:
    table = sixteen(3.0)
    bounds = no.Interval(0.0, 180.0)
    found = no.estimate_distribution(table, tally_of(table, "two-humped"), bounds=bounds)
    q = np.linspace(0.01, 0.99, 50)
    assert np.allclose(found.cdf(found.quantile(q)), q)
    assert found.cdf(0.0) == 0.0
    assert found.cdf(180.0) == pytest.approx(1.0)
    assert found.cdf([-5.0, 200.0]).tolist() == [0.0, 1.0]  # type: ignore[union-attr]
    assert isinstance(found.quantile(0.5), float)
    assert np.all(np.diff(found.quantile([0.0, 0.25, 0.5, 0.75, 1.0])) > 0.0)
    assert found.edges[[0, -1]].tolist() == [0.0, 180.0]


def histogram(probabilities: list[float]) -> no.DistributionEstimate:
    table = sixteen(1.0)
    base = no.estimate_distribution(table, tally_of(table, "skewed"), bins=len(probabilities))
    return replace(base, probabilities=np.array(probabilities))


def test_quantiles_pass_over_empty_bins() -> None:
    found = histogram([0.0, 0.5, 0.0, 0.5])
    assert found.quantile([0.25, 0.5, 0.75]).tolist() == [-0.25, 0.0, 0.75]  # type: ignore[union-attr]
    assert found.quantile(1.0) == 1.0
    assert found.mean == pytest.approx(0.25)
    assert found.variance == pytest.approx(0.25 + 0.5**2 / 12.0)


def test_samples_follow_the_histogram(rng: np.random.Generator) -> None:
    found = histogram([0.1, 0.4, 0.0, 0.5])
    drawn = found.sample(100_000, rng)
    shares = np.histogram(drawn, found.edges)[0] / 100_000
    assert np.abs(shares - found.probabilities).max() < 0.01
    assert found.sample(0, rng).shape == (0,)


class Certain:
    """A channel whose second output never happens."""

    @property
    def fingerprint(self) -> str:
        return "certain"

    def transition(self, bins: int = 64) -> Array:
        share = (np.arange(bins) + 0.5) / bins
        return np.stack([share, np.zeros(bins), 1.0 - share], axis=1)

    def probabilities(self, x: ArrayLike) -> Array:
        share = (np.asarray(x, np.float64) + 1.0) / 2.0
        return np.stack([share, 0.0 * share, 1.0 - share], axis=-1)

    def corners(self) -> Array:
        return np.array([-1.0, 1.0])


@pytest.mark.parametrize("method", METHODS)
def test_impossible_outputs_are_harmless_until_counted(method: str) -> None:
    channel: Any = Certain()
    found = no.estimate_distribution(channel, no.Tally("certain", (70, 0, 30)), method=method)
    assert np.isfinite(found.probabilities).all()
    assert np.isfinite(found.log_likelihood)
    assert found.mean == pytest.approx(0.4, abs=0.05)
    assert found.p_value > 0.5
    assert np.isfinite(np.asarray(found.interval()[0])).all()
    with pytest.raises(InvalidArgumentError, match="output 1"):
        no.estimate_distribution(channel, no.Tally("certain", (70, 1, 30)), method=method)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("counts", [(1, 0, 0, 0, 0), (0, 0, 5, 0, 0), (10**30, 0, 0, 0, 10**30)])
def test_extreme_counts_never_give_nan(
    five_outputs: TableMechanism, counts: tuple[int, ...], method: str
) -> None:
    tally = no.Tally(five_outputs.fingerprint, counts)
    found = no.estimate_distribution(five_outputs, tally, bins=16, method=method)
    assert np.isfinite(found.probabilities).all()
    assert found.probabilities.sum() == pytest.approx(1.0)


def test_two_outputs_leave_much_open() -> None:
    table = window_table(1.0, 2, 2, 0.5)
    for method in METHODS:
        found = no.estimate_distribution(
            table, no.Tally(table.fingerprint, (400, 600)), method=method
        )
        chances = found.probabilities @ table.transition(64)
        assert chances[1] == pytest.approx(0.6, abs=0.03)


def test_bad_arguments_are_refused(five_outputs: TableMechanism) -> None:
    good = no.Tally(five_outputs.fingerprint, (3, 1, 4, 1, 5))
    wrong: list[dict[str, object]] = [
        {"bins": 1},
        {"bins": 1.5},
        {"method": "best"},
        {"method": "em", "tolerance": 0.0},
        {"method": "em", "tolerance": "fast"},
        {"tolerance": 1e-5},
    ]
    for arguments in wrong:
        with pytest.raises(InvalidArgumentError):
            no.estimate_distribution(five_outputs, good, **arguments)  # type: ignore[call-overload]
    for tally in (
        no.Tally("other", (3, 1, 4, 1, 5)),
        no.Tally(five_outputs.fingerprint, (1, 2)),
        no.Tally(five_outputs.fingerprint, (0, 0, 0, 0, 0)),
    ):
        with pytest.raises(InvalidArgumentError, match="tally"):
            no.estimate_distribution(five_outputs, tally)
    found = no.estimate_distribution(five_outputs, good)
    with pytest.raises(InvalidArgumentError, match="q must"):
        found.quantile(1.5)
    with pytest.raises(InvalidArgumentError, match="level"):
        found.interval(level=0.0)
    with pytest.raises(InvalidArgumentError, match="rng"):
        found.draws(3, rng=7)  # type: ignore[arg-type]
    em = no.estimate_distribution(five_outputs, good, method="em")
    with pytest.raises(InvalidArgumentError, match="others have no posterior"):
        em.draws(3)
    with pytest.raises(InvalidArgumentError, match="statistic"):
        found.interval("median")


def test_estimates_cannot_be_changed(five_outputs: TableMechanism) -> None:
    tally = no.Tally(five_outputs.fingerprint, (3, 1, 4, 1, 5))
    found = no.estimate_distribution(five_outputs, tally)
    with pytest.raises(ValueError, match="read-only"):
        found.probabilities[0] = 1.0
    with pytest.raises(AttributeError):
        found.method = "gp"  # type: ignore[misc]


def test_there_is_one_default_method(five_outputs: TableMechanism) -> None:
    """Of Python, the command line, the collector, frames and plans."""
    from noutput.cli.estimate import command
    from noutput.estimate.summary import summarize

    tally = no.Tally(five_outputs.fingerprint, (30, 10, 40, 10, 50))
    found = no.estimate_distribution(five_outputs, tally)
    assert found.method == DEFAULT_METHOD == "gp"
    assert no.estimate_variance(five_outputs, tally).distribution.method == DEFAULT_METHOD
    assert summarize(five_outputs, tally, no.Number(0, 1)).distribution.method == DEFAULT_METHOD
    (option,) = [each for each in command.params if each.name == "method"]
    assert option.default == DEFAULT_METHOD


def test_likelihood_ignores_what_was_not_counted() -> None:
    assert mean_log_likelihood(np.array([1.0, 0.0]), np.array([1.0]), np.array([[1.0, 0.0]])) == 0.0
