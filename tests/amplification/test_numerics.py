"""Every numerical step errs by no more than its bound says."""

from __future__ import annotations

import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

import noutput as no
from noutput.amplification.lattice import _power, _rounding, lattice_bounds, split
from noutput.amplification.law import Blanket, Laws
from noutput.amplification.normal import normal_bound
from noutput.amplification.pairs import Problem
from noutput.amplification.screening import screen
from noutput.amplification.tilt import best_tilts, tilt
from tests.amplification.truth import random_table


def laws_of(values: list[float], probabilities: list[float]) -> Laws:
    return Laws(np.array([values]), np.array(probabilities), 1.0)


def trinomial_delta(laws: Laws, reports: int) -> float:
    """Return E[(Z_1 + ... + Z_n)_+] / n for two values and 0, by summing over all counts."""
    (a, b), (p, q) = laws.values[0], laws.probabilities
    i, j = np.meshgrid(np.arange(reports + 1), np.arange(reports + 1), indexing="ij")
    fits = i + j <= reports
    i, j = i[fits], j[fits]
    logs = np.array([math.lgamma(k + 1) for k in range(reports + 1)])
    chance = logs[reports] - logs[i] - logs[j] - logs[reports - i - j]
    chance += i * math.log(p) + j * math.log(q) + (reports - i - j) * math.log(laws.rest)
    return float(np.exp(chance) @ np.maximum(i * a + j * b, 0.0)) / reports


LAWS = [
    laws_of([2.0, -2.2], [0.25, 0.25]),
    laws_of([5.0, -5.5], [0.05, 0.06]),
    laws_of([1.0, -0.4], [0.1, 0.6]),
]


@pytest.mark.parametrize("laws", LAWS)
@pytest.mark.parametrize("reports", [5, 40, 300])
def test_both_bounds_lie_above_the_exact_sum(laws: Laws, reports: int) -> None:
    truth = trinomial_delta(laws, reports)
    for factor in (0.5, 1.0, 2.0):  # any tilt proves a bound
        tilts = factor * best_tilts(laws, reports)
        normal, shares = normal_bound(laws, reports, tilts)
        assert math.log(truth) <= normal[0] + 1e-12
        assert 0.0 < shares[0] <= 1.0
        for size in (64, 1024, 8192):
            found = lattice_bounds(laws, reports, float(tilts[0]), size)
            assert found.log_delta[0] >= math.log(truth)
    tilting = float(best_tilts(laws, reports)[0])
    fine = lattice_bounds(laws, reports, tilting, 8192)
    assert math.exp(fine.log_delta[0]) == pytest.approx(truth, rel=2e-2)


def test_values_are_rounded_up() -> None:
    table = random_table(np.random.default_rng(3), 5, 6)
    blanket = Blanket.of(table.weights)
    for c in (1e-9, 0.0123, 1.7):
        laws = blanket.laws(np.array([0, 3]), np.array([4, 1]), c)
        for values, (own, other) in zip(laws.values, ((0, 4), (3, 1)), strict=True):
            for value, r, s, m in zip(
                values.tolist(),
                blanket.rows[own].tolist(),
                blanket.rows[other].tolist(),
                blanket.minima.tolist(),
                strict=True,
            ):
                exact = (r - (1 + Fraction(c)) * s) / m
                assert exact <= Fraction(value) <= exact + Fraction(1e-12)
    assert Fraction(blanket.gamma) == Fraction(int(table.weights.min(axis=0).sum()), 1 << 32)


def test_a_split_keeps_the_mean_or_raises_it() -> None:
    values = np.random.default_rng(4).normal(0.0, 50.0, 500)
    for step in (0.37, 3e-5, 11.0):
        below, shares = split(values, step)
        for value, place, share in zip(
            values.tolist(), below.tolist(), shares.tolist(), strict=True
        ):
            kept = (place + Fraction(share)) * Fraction(step)
            assert share <= 1.0
            assert Fraction(value) <= kept <= Fraction(value) + Fraction(1e-10)


def test_the_moment_is_an_upper_bound() -> None:
    laws = LAWS[2]
    for tilting in (1e-5, 0.1, 3.0, 90.0):
        found = tilt(laws, np.array([tilting])).log_moment[0]
        with localcontext() as context:
            context.prec = 60
            pairs = zip(laws.probabilities.tolist(), laws.values[0].tolist(), strict=True)
            moment = Decimal(1)  # P(Z = 0) is what the others leave, exactly
            for chance, value in pairs:
                moment += Decimal(chance) * ((Decimal(tilting) * Decimal(value)).exp() - 1)
            truth = moment.ln()
            assert truth <= Decimal(float(found)) <= truth + Decimal("1e-12")


@pytest.mark.parametrize("reports", [7, 60])
def test_rounding_of_the_transform_stays_within_its_bound(reports: int) -> None:
    """The same power of the law, once by FFT and once in whole numbers."""
    size = 32
    law = np.zeros(size)
    law[[0, 1, 5, 30]] = [0.5, 0.25, 0.15, 0.1]
    wholes = [int(Fraction(p) * 2**60) for p in law.tolist()]
    power = [1] + [0] * (size - 1)
    for _ in range(reports):
        following = [0] * size
        for place, mass in enumerate(power):
            for move in (0, 1, 5, 30):
                following[(place + move) % size] += mass * wholes[move]
        power = following
    truth = np.array([float(Fraction(mass, 2 ** (60 * reports))) for mass in power])
    found = np.fft.irfft(_power(np.fft.rfft(law), reports), size)
    spread = np.array([math.sqrt(float(law @ law))])
    allowed = _rounding(reports, size, spread, laws_of([1.0], [0.5]), 1.0)[0]
    assert 0.0 < float(np.linalg.norm(found - truth)) <= allowed < 1e-9


def test_a_small_window_adds_its_wrap_around() -> None:
    laws = LAWS[1]
    tilting = float(best_tilts(laws, 5_000)[0])
    fine = lattice_bounds(laws, 5_000, tilting, 1 << 14)
    assert 0.0 < fine.wrap_around[0] < 1e-8 * math.exp(fine.log_delta[0])
    assert 0.0 < fine.rounding[0] < 1e-4 * math.exp(fine.log_delta[0])
    previous = fine.log_delta[0]
    for size in (4096, 1024, 256):
        coarse = lattice_bounds(laws, 5_000, tilting, size).log_delta[0]
        assert coarse > previous
        previous = coarse


@pytest.mark.parametrize(("epsilon", "reports"), [(1.0, 1_000), (4.0, 10_000)])
def test_two_lattices_differ_by_less_than_one_percent(epsilon: float, reports: int) -> None:
    table = no.design(epsilon, 16, "worst")
    sizes = (1 << 13, 1 << 15)
    both = [no.published_privacy(table, reports=reports, lattice=size) for size in sizes]
    assert [found.lattice for found in both] == list(sizes)
    assert both[1].epsilon <= both[0].epsilon * (1.0 + 1e-3)
    assert both[0].epsilon == pytest.approx(both[1].epsilon, rel=1e-2)


def test_lattice_and_normal_approximation_agree() -> None:
    table = no.design(2.0, 16, "worst")
    normal = no.published_privacy(table, reports=100_000)
    on_lattice = no.published_privacy(table, reports=100_000, lattice=1 << 17)
    assert (normal.method, on_lattice.method) == ("normal", "lattice")
    assert normal.epsilon == pytest.approx(on_lattice.epsilon, rel=1e-2)


@pytest.mark.parametrize("reports", [2, 100, 10_000, 10**9])
def test_no_pair_is_left_out_wrongly(reports: int) -> None:
    rng = np.random.default_rng(reports)
    for _ in range(5):
        problem = Problem(Blanket.of(random_table(rng, 6, 4).weights), reports)
        c = 0.3 / math.sqrt(reports)
        worst = problem.bound(*problem.likely_worst(), c)
        wanted = worst.log_delta - 0.5
        blocks = screen(problem.blanket, reports, c, worst.tilt, wanted)
        kept = {pair for first, second in blocks for pair in zip(first, second, strict=True)}
        for first in range(len(problem.blanket.rows)):
            for second in range(len(problem.blanket.rows)):
                if first != second and (first, second) not in kept:
                    assert problem.bound(first, second, c).log_delta <= wanted + 0.1
