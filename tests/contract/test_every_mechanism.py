"""What holds for every mechanism of the registry; a new entry is tested by being there."""

from __future__ import annotations

import math
import pickle
from inspect import signature
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2, chisquare

import noutput as no
from noutput.mechanisms.base import Channel, ExactMechanism, Mechanism
from noutput.mechanisms.table import TableMechanism
from noutput.mechanisms.unary_encoding import UnaryEncoding
from tests.float_window import FloatWindow
from tests.registered import DESIGNED, NAMES, TRAINED, make

DRAWS = 200_000
LEVEL = 1e-5


@st.composite
def cases(draw: st.DrawFn) -> tuple[str, float]:
    """Return a name and an epsilon; designs take time, so theirs come from a few."""
    name = draw(st.sampled_from(NAMES))
    some = st.sampled_from([0.5, 1.0, 2.0, 4.0])
    return name, draw(some if name in DESIGNED else st.floats(0.05, 8.0))


inputs = st.lists(st.floats(-1.0, 1.0), min_size=2, max_size=8)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_a_mechanism_that_says_what_it_is(name: str) -> None:
    found = make(name, 2.0)
    assert isinstance(found, Mechanism)
    assert found.epsilon == 2.0
    assert found.bits >= 1
    assert found.exact is True
    assert isinstance(found, ExactMechanism)
    assert found.bits <= 25 or isinstance(found, UnaryEncoding)


@settings(max_examples=200)
@given(case=cases(), x=inputs)
def test_probabilities_are_valid_and_private(case: tuple[str, float], x: list[float]) -> None:
    found = make(*case)
    epsilon = case[1]
    if isinstance(found, Channel):
        rows = found.probabilities(x)
        assert rows.min() >= 0.0
        assert np.abs(rows.sum(axis=-1) - 1.0).max() < 1e-12
        assert rows.max(axis=0) == pytest.approx(
            np.minimum(rows.max(axis=0), math.exp(epsilon) * rows.min(axis=0)), rel=1e-9
        )
    assert found.privacy_loss() <= epsilon


def worst_loss(found: Any, reports: Any, x: float, others: list[float]) -> float:
    """Return the largest loss of reports at x against other inputs; infinite if impossible."""
    own = found.log_likelihood(reports, x)
    assert own.shape == (len(reports),)
    with np.errstate(invalid="ignore"):
        losses = [own - found.log_likelihood(reports, other) for other in others]
    return float(np.max(np.nan_to_num(losses, nan=math.inf, posinf=math.inf)))


@settings(max_examples=200)
@given(case=cases(), x=inputs, seed=st.integers(0, 2**32))
def test_every_report_is_about_as_likely_for_every_input(
    case: tuple[str, float], x: list[float], seed: int
) -> None:
    """The promise itself, for whole reports: not for cells, and not on average."""
    found = make(*case)
    reports = found.privatize(np.full(200, x[0]), np.random.default_rng(seed))
    assert np.isfinite(found.log_likelihood(reports, x[0])).all()
    assert worst_loss(found, reports, x[0], [*x[1:], -1.0, 1.0]) <= case[1] + 1e-9
    assert worst_loss(found, reports, x[0], [*x[1:], -1.0, 1.0]) <= found.privacy_loss() + 1e-9


@pytest.mark.parametrize("name", NAMES)
def test_likelihoods_are_those_of_the_reports(name: str) -> None:
    """Ratios of counts at two inputs follow them: a likelihood of another law would not."""
    found = make(name, 1.0)
    pools = [
        found.privatize(np.full(DRAWS, x), np.random.default_rng(seed))
        for seed, x in enumerate((-0.8, 0.7))
    ]
    ratios = [found.log_likelihood(pool, 0.7) - found.log_likelihood(pool, -0.8) for pool in pools]
    # E[e^ratio] at the first input is 1, and so is E[e^-ratio] at the second
    for sample in (np.exp(ratios[0]), np.exp(-ratios[1])):
        assert abs(sample.mean() - 1.0) < 5.0 * sample.std() / math.sqrt(DRAWS) + 1e-12
    assert ratios[1].mean() > ratios[0].mean() + 0.01


@pytest.mark.parametrize("name", ["pm", "pm-sub", "pm-opt", "square-wave"])
def test_a_sampler_of_floats_breaks_the_promise(name: str) -> None:
    found = make(name, 1.0)
    reports = FloatWindow(found)(np.full(200, 0.3), np.random.default_rng(1))
    assert worst_loss(found, reports, 0.3, [-1.0, 1.0]) == math.inf


@settings(max_examples=200)
@given(case=cases(), bins=st.integers(1, 12))
def test_transitions_are_averages(case: tuple[str, float], bins: int) -> None:
    found = make(*case)
    if isinstance(found, UnaryEncoding):
        return
    sizes = {"output_bins": 12} if "output_bins" in signature(found.transition).parameters else {}
    coarse, fine = found.transition(bins, **sizes), found.transition(3 * bins, **sizes)
    assert fine.min() >= -1e-15
    assert np.abs(fine.sum(axis=1) - 1.0).max() < 1e-12
    assert coarse == pytest.approx(fine.reshape(bins, 3, -1).mean(axis=1), abs=1e-12)


@settings(max_examples=100)
@given(case=cases(), x=inputs, prior=st.lists(st.floats(0.1, 9.0), min_size=1, max_size=6))
def test_variances_are_consistent(
    case: tuple[str, float], x: list[float], prior: list[float]
) -> None:
    found = make(*case)
    worst = found.worst_variance()
    assert found.variance(x).max() <= worst * (1.0 + 1e-9)
    middles = (np.arange(60_000) + 0.5) / 30_000 - 1.0
    curve = found.variance(middles)
    assert curve.max() == pytest.approx(worst, rel=1e-4)
    weights = np.repeat(prior, 60_000 // len(prior))
    assert found.average_variance(prior) == pytest.approx(weights @ curve / weights.sum(), rel=1e-4)
    assert found.average_variance() == pytest.approx(curve.mean(), rel=1e-4)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("name", NAMES)
def test_the_sampler_has_the_stated_moments(name: str, epsilon: float) -> None:
    found = make(name, epsilon)
    for seed, x in enumerate((-1.0, 0.3, 0.97)):
        values = found.decode(found.privatize(np.full(DRAWS, x), np.random.default_rng(seed)))
        mean, variance = float(found.mean(x)), float(found.variance(x))
        fourth = np.mean((values - mean) ** 4)
        assert abs(values.mean() - mean) < 5.0 * math.sqrt(variance / DRAWS)
        assert abs(values.var() - variance) < 5.0 * math.sqrt((fourth - variance**2) / DRAWS) + 1e-3
        middle = 1.0 / getattr(found, "bins", math.inf)
        assert abs(mean - x) <= middle + 1e-12


def fit(found: Any, reports: Any, x: float) -> float:
    """Return the p-value of reports at x, by chi-square."""
    if isinstance(found, UnaryEncoding):
        shares = found.bit_probabilities(x)
        spread = len(reports) * shares * (1.0 - shares)
        score = np.sum((found.counts(reports) - len(reports) * shares) ** 2 / spread)
        return float(chi2.sf(score, found.bins))
    shares = found.probabilities(x)
    counts = np.bincount(found.cells(reports), minlength=len(shares))
    used = shares > 1e-12
    assert counts[~used].sum() == 0
    return float(chisquare(counts[used], shares[used] / shares.sum() * len(reports)).pvalue)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
@pytest.mark.parametrize("name", NAMES)
def test_the_sampler_fits_its_probabilities(name: str, epsilon: float) -> None:
    found = make(name, epsilon)
    for seed, x in enumerate((-1.0, -0.413, 0.0, 0.6, 1.0)):
        reports = found.privatize(np.full(DRAWS, x), np.random.default_rng(seed))
        assert fit(found, reports, x) > LEVEL


@pytest.mark.parametrize("name", NAMES)
def test_a_sampler_for_another_epsilon_is_rejected(name: str) -> None:
    found, other = make(name, 2.0), make(name, 2.5 if name in TRAINED else 2.4)
    reports = other.privatize(np.full(DRAWS, 1.0), np.random.default_rng(1))
    if name == "hybrid":  # the numbers of its Duchi part are others, and refused
        with pytest.raises(no.InvalidArgumentError, match="reports must be records"):
            found.cells(reports)
        reports["value"][reports["part"] == 0] *= found.duchi.outputs[1] / other.duchi.outputs[1]
    assert fit(found, reports, 1.0) < 1e-12


@pytest.mark.parametrize("name", NAMES)
def test_chunks_and_shapes_change_nothing(name: str) -> None:
    found = make(name, 1.0)
    x = np.random.default_rng(1).uniform(-1.0, 1.0, 40_000)
    whole = found.privatize(x, np.random.default_rng(2))
    rng = np.random.default_rng(2)
    parts = [found.privatize(part, rng) for part in np.split(x, [1, 7, 20_001])]
    assert np.array_equal(whole, np.concatenate(parts))
    square = found.privatize(x.reshape(200, 200), np.random.default_rng(2))
    assert np.array_equal(square.reshape(whole.shape), whole)
    turned = found.privatize(x.reshape(200, 200).T, np.random.default_rng(2))
    assert np.array_equal(turned[0, 0], whole[0])
    assert len(found.privatize(x[:0])) == 0


@pytest.mark.parametrize("name", NAMES)
def test_one_number_gives_one_report(name: str) -> None:
    found = make(name, 1.0)
    one = found.privatize(0.25, np.random.default_rng(3))
    same = found.privatize([0.25], np.random.default_rng(3))
    assert np.array_equal(np.asarray(one), same[0])


@pytest.mark.parametrize("name", NAMES)
def test_randomness_is_secure_unless_seeded(name: str) -> None:
    found = make(name, 1.0)
    x = np.zeros(500)
    assert not np.array_equal(found.privatize(x), found.privatize(x))
    with pytest.raises(no.InvalidArgumentError, match="rng must be a numpy Generator"):
        found.privatize(x, 7)


@pytest.mark.parametrize("name", NAMES)
def test_bad_numbers_are_refused(name: str) -> None:
    found = make(name, 1.0)
    for bad in (np.nan, np.inf, -np.inf, 1.0000001, -2.0):
        with pytest.raises(no.InvalidArgumentError, match=r"x(\[1\])? must be a number in"):
            found.privatize([0.0, bad])
        with pytest.raises(no.InvalidArgumentError):
            found.privatize(bad)
        with pytest.raises(no.InvalidArgumentError):
            found.variance([bad])
        with pytest.raises(no.InvalidArgumentError):
            found.mean([bad])
    with pytest.raises(no.InvalidArgumentError):
        found.privatize(["a"])
    with pytest.raises(no.InvalidArgumentError):
        found.privatize([np.nan], clip=True)
    clipped = found.privatize([-7.0, np.inf], np.random.default_rng(1), clip=True)
    assert np.array_equal(clipped, found.privatize([-1.0, 1.0], np.random.default_rng(1)))


@pytest.mark.parametrize("name", NAMES)
def test_it_cannot_be_changed(name: str) -> None:
    found = make(name, 1.0)
    with pytest.raises(AttributeError):
        found.epsilon = 9.0
    with pytest.raises(AttributeError):
        del found.epsilon


@pytest.mark.parametrize("name", NAMES)
def test_it_survives_a_pickle(name: str) -> None:
    found = make(name, 1.0)
    again = pickle.loads(pickle.dumps(found))  # noqa: S301 (our own bytes)
    assert again == found
    assert hash(again) == hash(found)
    assert found != make(name, 2.0)


@pytest.mark.parametrize("name", NAMES)
def test_tables_survive_json(name: str) -> None:
    found = make(name, 1.0)
    if isinstance(found, TableMechanism):
        assert TableMechanism.from_json(found.to_json()) == found
