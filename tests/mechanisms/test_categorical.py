"""Direct and unary encoding: exact weights, unbiased shares, counts without reports."""

from __future__ import annotations

import contextlib
import math
import tracemalloc
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from noutput.errors import InvalidArgumentError
from noutput.mechanisms import exact
from noutput.mechanisms.direct_encoding import DirectEncoding
from noutput.mechanisms.unary_encoding import UnaryEncoding, oue, sue

MAKERS: dict[str, Any] = {"direct-encoding": DirectEncoding, "oue": oue, "sue": sue}


@given(epsilon=st.floats(0.01, 10.0), bins=st.integers(2, 200))
def test_weights_are_the_published_ones_rounded_to_the_safe_side(epsilon: float, bins: int) -> None:
    c = math.exp(epsilon)
    direct, optimized, symmetric = (make(epsilon, bins) for make in MAKERS.values())
    assert direct.other_weight / exact.SCALE == pytest.approx(1.0 / (c + bins - 1.0), abs=1e-9)
    assert direct.own_weight + (bins - 1) * direct.other_weight == exact.SCALE
    assert optimized.own_weight == exact.SCALE // 2
    assert optimized.other_weight / exact.SCALE == pytest.approx(1.0 / (c + 1.0), abs=1e-9)
    assert symmetric.other_weight / exact.SCALE == pytest.approx(
        1.0 / (math.exp(epsilon / 2.0) + 1.0), abs=1e-9
    )
    for found in (direct, optimized, symmetric):
        assert found.privacy_loss() <= epsilon


@given(epsilon=st.floats(0.1, 6.0), bins=st.integers(2, 60))
def test_weights_are_the_smallest_that_are_private(epsilon: float, bins: int) -> None:
    other = DirectEncoding(epsilon, bins).other_weight - 1
    own = exact.SCALE - (bins - 1) * other
    assert exact.certify([own], [other], epsilon) == 0
    for make in (oue, sue):
        found = make(epsilon, bins)
        own = found.own_weight + (found.own_weight != exact.SCALE // 2)
        with pytest.raises(InvalidArgumentError, match="own_weight must make the odds"):
            UnaryEncoding(epsilon, bins, own_weight=own, other_weight=found.other_weight - 1)


@given(exponent=st.floats(-12.0, 0.5), bins=st.integers(2, 4096))
@example(exponent=-4.0, bins=4095)
def test_direct_encoding_is_private_both_ways_or_refused(exponent: float, bins: int) -> None:
    """Rounded up, the other bins must not become likelier than the own one."""
    epsilon = 10.0**exponent
    found = None
    with contextlib.suppress(InvalidArgumentError):
        found = DirectEncoding(epsilon, bins)
    if found is None:
        assert epsilon < 2.0**-32 * bins * (bins + 1)
        return
    assert found.own_weight > found.other_weight
    ways = [found.own_weight, found.other_weight], [found.other_weight, found.own_weight]
    assert exact.certify(*ways, epsilon) is None
    assert found.privacy_loss() == exact.privacy_loss(*ways)


def test_an_epsilon_too_small_for_the_bins_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="epsilon must be larger for 4095 bins"):
        DirectEncoding(1e-4, bins=4095)


def test_unary_weights_are_checked() -> None:
    with pytest.raises(InvalidArgumentError, match="smaller than own_weight"):
        UnaryEncoding(1.0, 4, own_weight=5, other_weight=5)
    with pytest.raises(InvalidArgumentError, match="other_weight must be a whole number"):
        UnaryEncoding(1.0, 4, own_weight=5, other_weight=0)


@pytest.mark.parametrize("bins", [2, 5, 64, 257])
def test_direct_encoding_uses_every_number_once(bins: int) -> None:
    """Count all outcomes of the lower 32 bits from the borders of their steps."""
    found = DirectEncoding(1.0, bins)
    borders = [0] + [found.own_weight + k * found.other_weight for k in range(bins)]
    assert borders[-1] == exact.SCALE
    words = np.array([b for k in borders[:-1] for b in (k, k - 1) if b >= 0], np.uint64)
    last = np.array([exact.SCALE - 1], np.uint64)
    out = np.empty(len(words) + 1, np.uint16)
    found._draw(np.full(len(out), -1.0), np.concatenate([words, last]), out)
    steps = {int(w): int(o) for w, o in zip(words, out, strict=False)}
    assert [steps[k] for k in borders[:-1]] == list(range(bins))
    assert [steps[k - 1] for k in borders[1:-1]] == list(range(bins - 1))
    assert out[-1] == bins - 1


@pytest.mark.parametrize("name", MAKERS)
def test_shares_are_unbiased_from_reports_and_from_simulated_counts(name: str) -> None:
    found = MAKERS[name](1.0, 12)
    rng = np.random.default_rng(5)
    x = rng.beta(2.0, 5.0, 100_000) * 2.0 - 1.0
    truth = np.histogram(x, 12, (-1.0, 1.0))[0] / len(x)
    own, other = (w / exact.SCALE for w in (found.own_weight, found.other_weight))
    spread = math.sqrt(max(own * (1 - own), other * (1 - other)) / len(x)) / (own - other)
    counted = found.estimate(found.counts(found.privatize(x, rng)), len(x))
    simulated = found.estimate(found.simulate(x, rng), len(x))
    assert np.abs(counted - truth).max() < 5.0 * spread
    assert np.abs(simulated - truth).max() < 5.0 * spread


@pytest.mark.parametrize("name", MAKERS)
def test_simulated_counts_have_the_spread_of_real_ones(name: str) -> None:
    found = MAKERS[name](1.0, 6)
    rng = np.random.default_rng(6)
    x = np.linspace(-1.0, 0.5, 300)
    real = np.array([found.counts(found.privatize(x, rng)) for _ in range(2000)])
    fast = np.array([found.simulate(x, rng) for _ in range(2000)])
    error = real.std(axis=0) * math.sqrt(2.0 / 2000)
    assert np.all(np.abs(real.mean(axis=0) - fast.mean(axis=0)) < 5.0 * error)
    assert fast.var(axis=0) == pytest.approx(real.var(axis=0), rel=0.2)
    assert np.cov(fast.T) == pytest.approx(np.cov(real.T), abs=0.2 * real.var(axis=0).max())


def test_counts_need_no_matrix_of_all_bits() -> None:
    found = oue(1.0, 1024)
    x = np.random.default_rng(1).uniform(-1.0, 1.0, 200_000)
    tracemalloc.start()
    found.simulate(x, np.random.default_rng(2))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 20_000_000


@pytest.mark.parametrize("bins", [2, 7, 8, 9, 65])
def test_packed_bits_unpack(bins: int) -> None:
    found = oue(2.0, bins)
    reports = found.privatize(np.linspace(-1.0, 1.0, 50), np.random.default_rng(1))
    assert reports.shape == (50, -(-bins // 8))
    bits = found.unpack(reports)
    assert bits.shape == (50, bins)
    assert np.array_equal(np.packbits(bits, axis=1, bitorder="little"), reports)
    assert np.array_equal(found.counts(reports), bits.sum(axis=0))


def test_every_bit_is_random() -> None:
    found = sue(2.0, 9)
    for x in (-1.0, 0.0, 1.0):
        counts = found.counts(found.privatize(np.full(2000, x), np.random.default_rng(1)))
        assert counts.min() > 100
        assert counts.max() < 1900


def test_wrong_reports_and_counts_are_refused() -> None:
    direct, unary = DirectEncoding(1.0, 4), oue(1.0, 4)
    with pytest.raises(InvalidArgumentError, match="indexes from 0 to 3"):
        direct.decode([0, 4])
    with pytest.raises(InvalidArgumentError, match="packed bits"):
        unary.decode([[0, 1]])
    with pytest.raises(InvalidArgumentError, match="have 4 entries"):
        unary.estimate([1.0], 3)
    with pytest.raises(InvalidArgumentError, match="n_reports"):
        unary.estimate([1.0, 1.0, 1.0, 1.0], 0)
