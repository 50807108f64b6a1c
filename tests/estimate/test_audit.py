from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest

import noutput as no
from noutput.estimate.audit import Audit, audit
from noutput.mechanisms import exact
from noutput.mechanisms.hybrid import REPORT
from noutput.mechanisms.piecewise import pm
from noutput.mechanisms.square_wave import half_width, square_wave
from noutput.mechanisms.unary_encoding import oue
from tests.float_window import FloatWindow
from tests.registered import NAMES, make

EPSILONS = (0.5, 1.0, 2.0, 4.0)
SAMPLES = 40_000

Numbers: TypeAlias = np.ndarray[Any, np.dtype[np.float64]]
Rng: TypeAlias = Any  # a numpy Generator, or None for secure randomness
Sampler: TypeAlias = Callable[[Numbers, Rng], Any]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("name", NAMES)
def test_every_mechanism_passes_closely(name: str, epsilon: float) -> None:
    found = audit(make(name, epsilon), samples=SAMPLES, rng=np.random.default_rng(1))
    assert found.passed
    assert found.claim == epsilon
    assert found.epsilon_lower_bound > 0.8 * epsilon - 0.05


def mass_of_a_point(epsilon: float) -> Sampler:
    """Square Wave whose window has the mass p instead of 2 b p."""
    b, c = half_width(epsilon), np.exp(epsilon)
    p = min(c / (2.0 * b * c + 1.0), 1.0)

    def sampler(x: Numbers, rng: Rng) -> Any:
        v = (x + 1.0) / 2.0
        inside = v + rng.uniform(-b, b, x.size)
        outside = rng.uniform(0.0, 1.0, x.size) - b
        outside += 2.0 * b * (outside > v - b)
        return np.where(rng.random(x.size) < p, inside, outside)

    return sampler


def equal_sides(epsilon: float) -> Sampler:
    """Square Wave that chooses left and right of the window with equal chances."""
    found = square_wave(epsilon)
    window = 2.0 * found.half_width * found.outside_density * np.exp(epsilon)

    def sampler(x: Numbers, rng: Rng) -> Any:
        left = rng.uniform(-found.reach, x - found.half_width)
        right = rng.uniform(x + found.half_width, found.reach)
        outside = np.where(rng.random(x.size) < 0.5, left, right)
        inside = x + rng.uniform(-1.0, 1.0, x.size) * found.half_width
        return np.where(rng.random(x.size) < window, inside, outside)

    return sampler


def unscaled_thresholds(epsilon: float) -> Sampler:
    """A table whose 32-bit thresholds are compared with numbers of 31 bits."""
    table: Any = no.mechanism("three-output", epsilon)
    sums = np.cumsum(table.weights, axis=1)

    def sampler(x: Numbers, rng: Rng) -> Any:
        row = np.searchsorted(table.knots, x, side="right") - 1
        row = np.minimum(row, len(table.knots) - 1)
        return (rng.integers(0, exact.SCALE // 2, x.size)[:, None] >= sums[row]).sum(axis=1)

    return sampler


def larger_epsilon(epsilon: float) -> Sampler:
    """PM made for 1.2 epsilon."""
    return no.mechanism("pm", 1.2 * epsilon).privatize


def fixed_bit(epsilon: float) -> Sampler:
    """OUE that reports one of its bits as it is."""
    found = oue(epsilon, 64)

    def sampler(x: Numbers, rng: Rng) -> Any:
        bits = found.unpack(found.privatize(x, rng))
        bits[:, 37] = np.floor((x + 1.0) * 32.0) == 37
        return np.packbits(bits, axis=1, bitorder="little")

    return sampler


def floats_of_pm(epsilon: float) -> Sampler:
    """PM that adds floats: its density is right, the low bits of its reports are not."""
    return FloatWindow(pm(epsilon))


def floats_of_square_wave(epsilon: float) -> Sampler:
    """Square Wave that adds floats."""
    return FloatWindow(square_wave(epsilon))


def floats_of_hybrid(epsilon: float) -> Sampler:
    """Records of two kinds of reports, of which one has a number that adds floats."""
    piecewise = FloatWindow(pm(epsilon))
    duchi: Any = no.mechanism("duchi", epsilon)

    def sampler(x: Numbers, rng: Rng) -> Any:
        reports = np.empty(x.size, REPORT)
        reports["part"] = rng.random(x.size) < 0.5
        others = duchi.decode(duchi.privatize(x, rng))
        reports["value"] = np.where(reports["part"], piecewise(x, rng), others)
        return reports

    return sampler


def laplace(epsilon: float) -> Sampler:
    """Laplace noise as everybody writes it first."""
    return lambda x, rng: x + rng.laplace(0.0, 2.0 / epsilon, x.size)


FLOATS = (floats_of_pm, floats_of_square_wave, floats_of_hybrid, laplace)
BROKEN = (mass_of_a_point, equal_sides, unscaled_thresholds, larger_epsilon, fixed_bit, *FLOATS)


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("broken", BROKEN)
def test_broken_samplers_are_caught(broken: Callable[[float], Sampler], epsilon: float) -> None:
    found = audit(broken(epsilon), epsilon, samples=SAMPLES, rng=np.random.default_rng(1))
    assert not found.passed
    assert found.epsilon_lower_bound > epsilon


@pytest.mark.parametrize("broken", FLOATS)
def test_low_bits_give_floats_away(broken: Callable[[float], Sampler]) -> None:
    """Thousands of reports at one input are impossible at the other."""
    found = audit(broken(1.0), 1.0, samples=SAMPLES, rng=np.random.default_rng(2))
    assert found.event.startswith("lowest set bit of ")
    assert found.counts[0] > 300
    assert found.counts[1] == 0


@pytest.mark.parametrize("seed", range(5))
def test_low_bits_that_tell_nothing_raise_no_alarm(seed: int) -> None:
    def multiples(x: Numbers, rng: Rng) -> Any:
        own = rng.random(x.size) < 0.6
        return rng.random(x.size) + np.where((x > 0.0) == own, 3.0, 0.0)

    loss = float(np.log(1.5))
    assert audit(multiples, loss, samples=SAMPLES, rng=np.random.default_rng(seed)).passed
    assert audit(pm(1.0), samples=SAMPLES, rng=np.random.default_rng(seed)).passed


def test_the_event_says_what_gave_it_away() -> None:
    found = audit(fixed_bit(1.0), 1.0, samples=5000, rng=np.random.default_rng(1))
    assert found.event in ("bit 37 = 0", "bit 37 = 1")
    inside = [x for x in found.inputs if abs(x - 37.5 / 32.0 + 1.0) <= 0.5 / 32.0]
    assert len(inside) == 1
    found = audit(no.mechanism("duchi", 1.0), 0.5, samples=20_000, rng=np.random.default_rng(1))
    assert not found.passed
    assert found.event in ("report = 0", "report = 1")
    assert found.counts[0] > found.counts[1]


def test_the_bound_holds_as_often_as_it_says() -> None:
    """Randomized response has exactly the loss 1: a bound above it is a false alarm."""
    found: Any = no.mechanism("duchi", 1.0)
    alarms = sum(
        not audit(
            found, samples=2000, confidence=0.9, inputs=[-1.0, 1.0], rng=np.random.default_rng(i)
        ).passed
        for i in range(200)
    )
    assert alarms <= 30


def test_other_shapes_of_reports_are_understood() -> None:
    rng = np.random.default_rng(1)

    def plain_bits(x: Numbers, _: Rng) -> Any:
        return np.stack([rng.random(x.size) < 0.5, x > 0.0, rng.random(x.size) < 0.1], axis=1)

    def whole_bits(x: Numbers, _: Rng) -> Any:
        return plain_bits(x, None).astype(np.int64)

    def records(x: Numbers, _: Rng) -> Any:
        reports = np.empty(x.size, [("noise", float), ("sign", int)])
        reports["noise"], reports["sign"] = rng.random(x.size), np.sign(x)
        return reports

    def nothing(x: Numbers, _: Rng) -> Any:
        return rng.random(x.size)

    assert audit(plain_bits, 1.0, samples=4000).event in ("bit 1 = 0", "bit 1 = 1")
    assert not audit(whole_bits, 1.0, samples=4000).passed
    found = audit(records, 1.0, samples=4000)
    assert not found.passed
    assert "cells of noise, sign" in found.event
    assert audit(nothing, 0.01, samples=4000).passed


def leaking_integer(dtype: Any, high: int) -> Sampler:
    """A sign in the last bit of a large whole number: floats cannot tell."""

    def sampler(x: Numbers, _: Rng) -> Any:
        return np.full(x.size, high, dtype) - (x > 0.0).astype(dtype)

    return sampler


def hidden_sign(width: int) -> Sampler:
    """A sign in the parity of fair bits: each alone tells nothing."""

    def sampler(x: Numbers, rng: Rng) -> Any:
        bits = rng.integers(0, 2, (x.size, width))
        bits[:, -1] = (bits[:, :-1].sum(axis=1) + (x > 0.0)) % 2
        return bits

    return sampler


def few_rows(x: Numbers, rng: Rng) -> Any:
    """Forty bits that repeat two: the second is masked by the first."""
    return np.repeat(hidden_sign(2)(x, rng), 20, axis=1)


def parity(x: Numbers, rng: Rng) -> Any:
    """A sign in the last bit of numbers that never repeat."""
    return 2 * rng.integers(-(1 << 60), 1 << 60, x.size) + (x > 0.0)


LEAKS = {
    "parity": parity,
    "signed": leaking_integer(np.int64, (1 << 60) + 1),
    "largest": leaking_integer(np.uint64, (1 << 64) - 1),
    "two bits": hidden_sign(2),
    "sixteen bits": hidden_sign(16),
    "few rows": few_rows,
}


@pytest.mark.parametrize("name", LEAKS)
def test_leaks_that_hide_are_caught(name: str) -> None:
    found = audit(LEAKS[name], 2.0, samples=20_000, rng=np.random.default_rng(1))
    assert not found.passed


def test_whole_numbers_are_named_exactly() -> None:
    found = audit(LEAKS["largest"], 2.0, samples=2000, rng=np.random.default_rng(1))
    largest = (1 << 64) - 1
    assert found.event in (f"report = {largest - 1}", f"report in [{largest}, inf)")


def test_many_different_whole_numbers_are_read() -> None:
    def sampler(x: Numbers, rng: Rng) -> Any:
        reports = rng.integers(-(1 << 62), 1 << 62, x.size)
        return np.where(rng.random(x.size) < 0.5, reports, (1 << 61) + (x > 0.0))

    assert not audit(sampler, 2.0, samples=20_000, rng=np.random.default_rng(1)).passed


def test_reports_of_signed_and_unsigned_numbers_are_not_mixed() -> None:
    def sampler(x: Numbers, _: Rng) -> Any:
        return np.zeros(x.size, np.int64 if x[0] > 0.0 else np.uint64)

    with pytest.raises(no.InvalidArgumentError, match="reports of one type"):
        audit(sampler, 1.0, samples=1000)


def test_screening_keeps_few_reports_however_many_are_counted() -> None:
    sizes: list[int] = []

    def sampler(x: Numbers, rng: Rng) -> Any:
        sizes.append(x.size)
        if len(sizes) > 300:
            raise InterruptedError
        return rng.random(x.size)

    with pytest.raises(InterruptedError):
        audit(sampler, 1.0, samples=1 << 30, rng=np.random.default_rng(1))
    assert sum(sizes[:129]) <= 1 << 20


def test_a_seed_gives_the_same_on_every_processor() -> None:
    """Sorting is done by other instructions there, which leave equal numbers in another order."""
    script = """
import numpy as np
from noutput.estimate.audit import audit
from noutput.mechanisms.piecewise import pm
print(audit(pm(1.0), 1.0, rng=np.random.default_rng(1)))
"""
    names = " ".join(np.show_config(mode="dicts")["SIMD Extensions"].get("found", []))
    first, second = (
        subprocess.run(
            [sys.executable, "-c", script], env=os.environ | {"NPY_DISABLE_CPU_FEATURES": disabled},
            capture_output=True, text=True, check=True,
        ).stdout
        for disabled in ("", names)
    )  # fmt: skip
    assert first == second


def test_secure_randomness_is_audited_too() -> None:
    """Unseeded on purpose; a private sampler fails once in a hundred million runs."""
    table = no.mechanism("three-output", 1.0)
    assert audit(table, samples=20_000, confidence=1.0 - 1e-8).passed


def test_arguments_are_checked() -> None:
    table = no.mechanism("duchi", 1.0)
    with pytest.raises(no.InvalidArgumentError, match="epsilon must be a positive"):
        audit(lambda x, _: x)
    with pytest.raises(no.InvalidArgumentError, match="sampler must be a mechanism or callable"):
        audit(3, 1.0)  # type: ignore[arg-type]
    with pytest.raises(no.InvalidArgumentError, match="confidence"):
        audit(table, confidence=1.0)
    with pytest.raises(no.InvalidArgumentError, match="inputs"):
        audit(table, inputs=[0.0])
    with pytest.raises(no.InvalidArgumentError, match="inputs must be different numbers"):
        audit(table, inputs=[0.0, 1.0, -0.0])
    with pytest.raises(no.InvalidArgumentError, match="inputs must have from 2 to 1024"):
        audit(table, inputs=np.linspace(-1.0, 1.0, 1025))
    with pytest.raises(no.InvalidArgumentError, match="one report for each"):
        audit(lambda x, _: x[:3], 1.0, samples=1000)
    with pytest.raises(no.InvalidArgumentError, match="sampler must make numbers"):
        audit(lambda x, _: np.stack([x, x], axis=1), 1.0, samples=1000)


def test_a_result_knows_whether_it_passed() -> None:
    found = Audit(1.0, 1.0, 0.9, (0.0, 1.0), "report = 1", (3, 1), 9)
    assert found.passed
    with pytest.raises(AttributeError):
        found.claim = 2.0  # type: ignore[misc]
