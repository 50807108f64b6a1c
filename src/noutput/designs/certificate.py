r"""The checker of certificates for lower bounds, in exact rational arithmetic.

This module shares no code with the search that found the certificate, and uses no
floating-point arithmetic: every float of the certificate is read as the exact fraction it is.

Notes
-----
**What is proven.** Let a mechanism be :math:`\varepsilon`-LDP with any output space, and let each
output y stand for a number a(y) such that the mean of a given input x is x, for every x in
[-1, 1]. Write :math:`E = e^\varepsilon`. Take finitely many inputs :math:`x_k` with rows
:math:`P_k`, numbers :math:`\lambda_k \ge 0, \nu_k, \mu_k`, and
:math:`\varphi_k(a) = \lambda_k a^2 - \nu_k a - \mu_k`. If

.. math:: c(a) = \sum_k \big[\varphi_k(a) + (E - 1) \min(0, \varphi_k(a))\big] \ge 0
   \quad \text{for all real } a,

then :math:`\sum_k \lambda_k \operatorname{E}[a^2 | x_k] \ge \sum_k (\mu_k + \nu_k x_k)`.
*Proof.* Let m be the infimum of the measures :math:`P_k`. By privacy
:math:`P_k = m + h_k` with :math:`0 \le h_k \le (E - 1) m`. Hence
:math:`\int \varphi_k\,dP_k \ge \int [\varphi_k + (E - 1) \min(0, \varphi_k)]\,dm`, and adding up,
:math:`\sum_k \int \varphi_k\,dP_k \ge \int c\,dm \ge 0`. The left side is
:math:`\sum_k (\lambda_k \operatorname{E}[a^2|x_k] - \nu_k x_k - \mu_k)`.

*Worst case.* The variance at :math:`x_k` is :math:`\operatorname{E}[a^2|x_k] - x_k^2`, so with
:math:`\Lambda = \sum_k \lambda_k > 0` the worst-case variance is at least
:math:`\sum_k (\mu_k + \nu_k x_k - \lambda_k x_k^2) / \Lambda`.

*Average.* Cut [-1, 1], in ascending order, into cells whose prior masses are
:math:`\lambda_k / \Lambda`, and let :math:`x_k` be the mean of the prior on its cell. The mixture
of the rows of all inputs in a cell, weighted by the prior, is again a row: it has mean
:math:`x_k`, its second moment is the cell's average second moment, and a mixture of rows that
satisfy privacy pairwise satisfies privacy. The statement above for these rows bounds the average
second moment *of the continuous prior*, and the average variance is at least
:math:`\sum_k (\mu_k + \nu_k x_k) / \Lambda - \int x^2 w(x)\,dx`. Nothing rests on the rounding
of the inputs: the checker computes the means itself, exactly. An input with
:math:`\lambda_k = 0` is no cell but one more row of the mechanism, at this very input.

*Repair.* If the minimum of c is :math:`-\delta < 0`, lower the :math:`\mu_k` by :math:`d_k \ge 0`
with :math:`\sum_k d_k = \delta`. Each :math:`\varphi_k` rises by :math:`d_k`, and
:math:`t \mapsto t + (E - 1) \min(0, t)` has slopes of at least one, so c rises by at least
:math:`\delta` everywhere. The bound falls by :math:`\delta`.

**How c is minimized.** :math:`\varphi_k` is negative on one interval; its ends are irrational, so
rational :math:`\tilde\alpha_k, \tilde\beta_k` near them are used. Let q(a) be c with the term
:math:`\min(0, \varphi_k)` replaced by :math:`\varphi_k` inside
:math:`[\tilde\alpha_k, \tilde\beta_k]` and by 0 outside. By convexity of :math:`\varphi_k`, if the
derivative is :math:`\le 0` at :math:`\tilde\alpha_k` and :math:`\ge 0` at :math:`\tilde\beta_k`,
the replacement is wrong by at most
:math:`e_k = \max(|\varphi_k(\tilde\alpha_k)|, |\varphi_k(\tilde\beta_k)|)` anywhere. So
:math:`c \ge q - (E - 1) \sum_k e_k`, and q is a convex quadratic with rational coefficients
between neighboring breakpoints, whose minimum is found exactly. The quality of the rational
roots affects only how much is lost, never whether the bound is true. A rational upper bound on
E is on the safe side, because c decreases in E.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.designs.objective import VarianceNorm

__all__ = ["EPSILON_RANGE", "Bound", "Certificate", "check", "verify"]

EPSILON_RANGE = (0.05, 12.0)
"""Privacy losses for which designs and bounds are searched."""


_PRECISION = 2**96
_ROUND_OFF = Fraction(1, 10**9)


@dataclass(frozen=True)
class Certificate:
    """The numbers that prove a lower bound; each sequence has one entry per input.

    ``prior`` holds bin weights on equal bins of [-1, 1] for the average objective; ``None`` is
    the uniform prior. For the average the inputs are ascending and are the means of the cells.
    """

    epsilon: float
    inputs: tuple[float, ...]
    lambdas: tuple[float, ...]
    nus: tuple[float, ...]
    mus: tuple[float, ...]
    objective: VarianceNorm = "worst"
    prior: tuple[float, ...] | None = None


@dataclass(frozen=True)
class Bound:
    """A proven lower bound and the certificate that proves it."""

    value: float
    certificate: Certificate


def check(certificate: Certificate) -> float:
    """Return the largest float that the certificate proves to be a lower bound.

    Raises
    ------
    InvalidArgumentError
        If the certificate is malformed, or proves nothing because c is unbounded below.

    Examples
    --------
    One input, no privacy: the variance at 0 is at least 0.

    >>> check(Certificate(1.0, (0.0,), (1.0,), (0.0,), (0.0,)))
    0.0
    """
    inputs, lambdas, nus, mus = _exact_numbers(certificate)
    total = sum(lambdas, Fraction(0))
    if abs(total - 1) > _ROUND_OFF:
        raise InvalidArgumentError("lambdas", "add up to 1", float(total))
    growth = _exponential_above(Fraction(certificate.epsilon))
    deficit = max(Fraction(0), -_minimum(lambdas, nus, mus, growth))
    if certificate.objective == "worst":
        subtracted = sum(
            (weight * x * x for weight, x in zip(lambdas, inputs, strict=True)), Fraction(0)
        )
    else:
        masses = _prior_masses(certificate.prior)
        inputs = _cell_means(masses, [weight / total for weight in lambdas], inputs)
        subtracted = total * _second_moment(masses)
    linear = sum((mu + nu * x for mu, nu, x in zip(mus, nus, inputs, strict=True)), Fraction(0))
    return _float_below((linear - subtracted - deficit) / total)


def verify(certificate: Certificate, claimed: float) -> float:
    """Return the proven bound, or raise an error where it does not reach the claimed one."""
    proven = check(certificate)
    if not proven >= claimed:
        raise InvalidArgumentError("claimed", f"be at most the proven bound {proven!r}", claimed)
    return proven


def _exact_numbers(certificate: Certificate) -> list[list[Fraction]]:
    if certificate.objective not in ("worst", "average"):
        raise InvalidArgumentError("objective", "be 'worst' or 'average'", certificate.objective)
    if certificate.objective == "worst" and certificate.prior is not None:
        raise InvalidArgumentError("prior", "be None for the worst case", certificate.prior)
    if not math.isfinite(certificate.epsilon) or not 0 < certificate.epsilon <= 50:
        raise InvalidArgumentError("epsilon", "be in (0, 50]", certificate.epsilon)
    if not certificate.inputs:
        raise InvalidArgumentError("inputs", "not be empty", ())
    return [_exact(certificate, name) for name in ("inputs", "lambdas", "nus", "mus")]


def _exact(certificate: Certificate, name: str) -> list[Fraction]:
    numbers: Sequence[float] = getattr(certificate, name)
    if len(numbers) != len(certificate.inputs):
        rule = f"have one entry per input ({len(certificate.inputs)})"
        raise InvalidArgumentError(name, rule, len(numbers))
    for number in numbers:
        if not math.isfinite(number):
            raise InvalidArgumentError(name, "be finite", number)
        if name == "inputs" and abs(number) > 1:
            raise InvalidArgumentError("inputs", "be in [-1, 1]", number)
        if name == "lambdas" and number < 0:
            raise InvalidArgumentError("lambdas", "be >= 0", number)
    return [Fraction(number) for number in numbers]


def _exponential_above(exponent: Fraction) -> Fraction:
    """Return a rational number slightly above e^exponent, for exponent > 0."""
    # Squaring e^(exponent / 2^6) keeps the Taylor series short; every step rounds up.
    small = exponent / 64
    term = total = Fraction(1)
    for n in range(1, 40):
        term = _ceil(term * small / n)
        total += term
    # The tail after 39 terms is below the last term, because small < 1.
    total += term
    for _ in range(6):
        total = _ceil(total * total)
    return total


def _ceil(number: Fraction) -> Fraction:
    scaled = number * _PRECISION
    return Fraction(-(-scaled.numerator // scaled.denominator), _PRECISION)


def _near_root(square: Fraction) -> Fraction:
    """Return a rational number close to the square root."""
    shift = max(0, 256 - square.numerator.bit_length() + square.denominator.bit_length())
    shift += shift % 2
    scaled = (square.numerator << shift) // square.denominator
    return Fraction(math.isqrt(scaled), 1 << (shift // 2))


def _negative_interval(
    weight: Fraction, nu: Fraction, mu: Fraction
) -> tuple[Fraction | None, Fraction | None, Fraction] | None:
    """Return rational ends (None: infinite) of where phi < 0, and the error e; None if nowhere."""
    if weight == 0:
        if nu == 0:
            return (None, None, Fraction(0)) if mu > 0 else None
        root = -mu / nu
        return (root, None, Fraction(0)) if nu > 0 else (None, root, Fraction(0))
    quarter = nu * nu / 4 + weight * mu
    if quarter <= 0:
        return None
    middle, width = nu / (2 * weight), _near_root(quarter) / weight
    # Short fractions keep what follows fast; the error bound below pays for the rounding.
    step = _granularity(middle, width)
    low = min(Fraction(math.floor((middle - width) / step)) * step, middle)
    high = max(Fraction(math.ceil((middle + width) / step)) * step, middle)

    def phi(at: Fraction) -> Fraction:
        return weight * at * at - nu * at - mu

    return low, high, max(abs(phi(low)), abs(phi(high)))


def _granularity(middle: Fraction, width: Fraction) -> Fraction:
    size = abs(middle) + width
    exponent = size.numerator.bit_length() - size.denominator.bit_length() - 80
    return Fraction(2) ** exponent


def _minimum(
    lambdas: list[Fraction], nus: list[Fraction], mus: list[Fraction], growth: Fraction
) -> Fraction:
    """Return a lower bound on the minimum of c over all real numbers."""
    gain = growth - 1
    square, linear, constant = sum(lambdas, Fraction(0)), sum(nus, Fraction(0)), sum(mus)
    constant = Fraction(constant)
    error = Fraction(0)
    changes: list[tuple[Fraction, int, int]] = []
    for k, (weight, nu, mu) in enumerate(zip(lambdas, nus, mus, strict=True)):
        interval = _negative_interval(weight, nu, mu)
        if interval is None:
            continue
        low, high, wrong = interval
        error += wrong
        if low is None:
            square, linear, constant = (
                square + gain * weight,
                linear + gain * nu,
                constant + gain * mu,
            )
        else:
            changes.append((low, 1, k))
        if high is not None:
            changes.append((high, -1, k))
    changes.sort(key=lambda change: change[0])
    values: list[Fraction] = []
    left: Fraction | None = None
    for right, sign, k in [*changes, (None, 0, 0)]:
        values.append(_piece_minimum(square, linear, constant, left, right))
        square += sign * gain * lambdas[k]
        linear += sign * gain * nus[k]
        constant += sign * gain * mus[k]
        left = right
    return min(values) - gain * error


def _piece_minimum(
    square: Fraction,
    linear: Fraction,
    constant: Fraction,
    left: Fraction | None,
    right: Fraction | None,
) -> Fraction:
    """Return the minimum of square a^2 - linear a - constant between left and right."""
    if square == 0:
        if (linear > 0 and right is None) or (linear < 0 and left is None):
            raise InvalidArgumentError("c", "be bounded below", "a piece that falls without end")
        at = right if linear > 0 else left
        return -constant if at is None else -linear * at - constant
    at = linear / (2 * square)
    if left is not None and at < left:
        at = left
    if right is not None and at > right:
        at = right
    return (square * at - linear) * at - constant


def _prior_masses(prior: tuple[float, ...] | None) -> list[Fraction]:
    weights = (1.0,) if prior is None else prior
    if not weights or any(not math.isfinite(weight) or weight < 0 for weight in weights):
        raise InvalidArgumentError("prior", "have finite weights >= 0", weights)
    exact = [Fraction(weight) for weight in weights]
    total = sum(exact, Fraction(0))
    if total <= 0:
        raise InvalidArgumentError("prior", "have a positive sum", weights)
    return [weight / total for weight in exact]


def _second_moment(masses: list[Fraction]) -> Fraction:
    bins = len(masses)
    total = Fraction(0)
    for index, mass in enumerate(masses):
        left = Fraction(2 * index, bins) - 1
        right = Fraction(2 * index + 2, bins) - 1
        total += mass * (left * left + left * right + right * right) / 3
    return total


def _cell_means(
    masses: list[Fraction], cells: list[Fraction], claimed: list[Fraction]
) -> list[Fraction]:
    """Cut the prior, in ascending order, into cells of the given masses; return their means."""
    width = Fraction(2, len(masses))
    means = []
    index, used = 0, Fraction(0)
    for cell, claim in zip(cells, claimed, strict=True):
        if cell == 0:
            means.append(claim)
            continue
        moment, wanted = Fraction(0), cell
        while wanted > 0:
            part = min(wanted, masses[index] - used)
            if part > 0:
                start = index * width - 1 + width * used / masses[index]
                moment += part * (start + width * part / masses[index] / 2)
                used, wanted = used + part, wanted - part
            if used == masses[index] and wanted > 0:
                index, used = index + 1, Fraction(0)
        mean = moment / cell
        if abs(mean - claim) > _ROUND_OFF:
            rule = f"be the means of the prior's cells, here {float(mean)!r}"
            raise InvalidArgumentError("inputs", rule, float(claim))
        means.append(mean)
    return means


def _float_below(number: Fraction) -> float:
    """Return the largest float that is not above the number."""
    try:
        nearest = float(number)
    except OverflowError:
        return -math.inf if number < 0 else math.nextafter(math.inf, 0.0)
    return nearest if Fraction(nearest) <= number else math.nextafter(nearest, -math.inf)
