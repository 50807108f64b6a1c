r"""Certificate of a lower bound for tables of answers, and its checker.

Notes
-----
Let B be a matrix with one row per answer; an estimate of the shares that is wrong by d costs
:math:`|B'd|^2`. A certificate is three lists of numbers: a population :math:`\pi` (shares, which
add up to 1), a matrix Z of the shape of B, and one number :math:`y_k` per answer. If

.. math::

   |Z'v|^2 \le (\pi'v)\,(y'v) \qquad \text{for all } v \in \{1, e^\epsilon\}^k ,

then in the population :math:`\pi` no unbiased estimate from reports of any
:math:`\epsilon`-locally private mechanism costs less per report than

.. math::

   2\,\mathrm{tr}(B'Z) - \sum_k y_k - \sum_k \pi_k |B_k|^2

beyond what the sample of people costs already. For let W be an unbiased linear estimate from the
outputs of a table P, that is :math:`\sum_j P_j w_j' = 1` (the unit matrix; every mechanism can be
written as a table of columns :math:`P_j = \theta_j v_j`, and the best estimate of one population is
linear). What it costs is :math:`\sum_j (\pi'P_j)\,|B'w_j|^2 - \sum_k \pi_k |B_k|^2`. From
:math:`a|b|^2 \ge 2 b'c - |c|^2 / a` with :math:`a = \pi'P_j`, :math:`b = B'w_j` and
:math:`c = Z'P_j`, and from :math:`\sum_j \theta_j v_j = 1` in every row,

.. math::

   \sum_j (\pi'P_j)\,|B'w_j|^2 \ge 2\,\mathrm{tr}(B'Z) - \sum_j \theta_j \frac{|Z'v_j|^2}{\pi'v_j}
      \ge 2\,\mathrm{tr}(B'Z) - \sum_j \theta_j\,y'v_j = 2\,\mathrm{tr}(B'Z) - \sum_k y_k .

A violation is repaired by raising all :math:`y_k` alike. Only answers where one of the numbers is
not zero take part, so a certificate that uses 16 of 64 answers is checked by looking at
:math:`2^{16}` columns: it is a bound for populations that give no other answers. Where more answers
take part, either all are alike (:math:`Z = \alpha + \beta 1`, equal :math:`\pi_k` and :math:`y_k`),
and one column per size of the subset is looked at, or the certificate has k + 1 more numbers d.
With :math:`v = c + h\sigma` for signs :math:`\sigma`, the inequality says that a quadratic form
:math:`s'Qs` of :math:`s = (1, \sigma)` is not negative. It is at least
:math:`\sum_i d_i + (k + 1) \min(0, \lambda)` with the smallest eigenvalue :math:`\lambda` of
:math:`Q - \mathrm{diag}(d)`. What that lacks is taken off the bound, since raising all
:math:`y_k` by :math:`\delta` raises :math:`(\pi'v)(y'v)` by :math:`k\delta` at least.

*Numbers with cells.* Where rows are linear between two of them, people may be at numbers inside,
and the certificate has two shares a and b per span: those of the places at its two ends. The
chances of outputs are those of the places, and all of the span's people may be at one number. If
the mean is among the statistics and rises by w (in the unit of its column of B) within the span,
what they would cost without privacy is :math:`w^2 ab / (a + b)` less than at the places, so the
bound is larger by that. It holds for all tables with these rows that are linear in between.

This module shares no code with the search for tables and bounds. It computes in floats, and every
sum is moved to the safe side by a relative :math:`10^{-12}`, a hundred times what rounding can do
to sums of 64 terms. Another processor adds up in another order, so `verify` moves sums by half of
that: it is still safe, and accepts what `prove` has returned on any processor.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Array: TypeAlias = NDArray[np.float64]

__all__ = ["MOST_ROWS", "AnswerBound", "AnswerCertificate", "prove", "verify"]

MOST_ROWS = 18
"""How many answers may take part where they are not all alike."""

_ROUNDING = 1e-12
_SUM = 1e-6


@dataclass(frozen=True, slots=True)
class AnswerCertificate:
    r"""The numbers that prove a lower bound.

    Parameters
    ----------
    population : tuple of k floats
        The shares :math:`\pi`; they are divided by their sum, which is 1 up to rounding.
    influence : tuple of k tuples of floats
        The rows of Z.
    multipliers : tuple of k floats
        The numbers y.
    diagonal : tuple of k + 1 floats, optional
        The numbers d, where neither few answers take part nor all are alike.
    """

    population: tuple[float, ...]
    influence: tuple[tuple[float, ...], ...]
    multipliers: tuple[float, ...]
    diagonal: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class AnswerBound:
    """A lower bound and the certificate that proves it."""

    value: float
    certificate: AnswerCertificate


def prove(
    epsilon: float,
    factor: Array,
    certificate: AnswerCertificate,
    spans: NDArray[np.intp] | None = None,
    rises: Array | None = None,
    *,
    rounding: float = _ROUNDING,
) -> float:
    """Return the lower bound that a certificate proves.

    Parameters
    ----------
    epsilon : float
    factor : array of shape (k, r)
        The matrix B.
    certificate : AnswerCertificate
    spans : array of whole numbers, of shape (s, 2), optional
        Of numbers with cells: the rows at both ends of each span. The population then has two
        shares per span.
    rises : array of shape (s,), optional
        The numbers :math:`w^2` of the spans.
    rounding : float
        By what share of their size sums are moved to the safe side.

    Raises
    ------
    InvalidArgumentError
        If it has the wrong shape, no shares, or too many answers to look at all columns.

    Examples
    --------
    Yes/no at epsilon ln 3: nothing beats telling the truth with probability 3/4.

    >>> half = AnswerCertificate((0.5, 0.5), ((1.25, -0.75), (-0.75, 1.25)), (1.25, 1.25))
    >>> round(prove(np.log(3.0), np.eye(2), half), 6)
    1.5
    """
    places, influence, multipliers = _parts(factor, certificate, spans)
    shares, inside = places, 0.0
    if spans is not None and rises is not None:
        shares = np.bincount(spans.ravel(), places, len(factor)).astype(np.float64)
        a, b = places[0::2], places[1::2]
        inside = float(rises @ (a * b / np.maximum(a + b, 1e-300)))
    traces, own = factor * influence, shares * np.square(factor).sum(axis=1)
    terms = 2.0 * traces.sum() - multipliers.sum() - own.sum() + inside
    size = 2.0 * np.abs(traces).sum() + np.abs(multipliers).sum() + own.sum() + inside
    lost = rounding * size
    if certificate.diagonal:
        diagonal = np.array(certificate.diagonal, np.float64)
        parts = shares, influence, multipliers
        lost += max(0.0, -_least_form(epsilon, *parts, diagonal, rounding))
        return float(terms - lost)
    used = (shares != 0.0) | (multipliers != 0.0) | (influence != 0.0).any(axis=1)
    parts = shares[used], influence[used], multipliers[used]
    entries = 1.0 + np.expm1(epsilon) * _subsets(*parts)
    needed = max(0.0, _largest_violation(entries, *parts, rounding))
    return float(terms - needed * np.count_nonzero(used) - lost)


def verify(epsilon: float, factor: Array, certificate: AnswerCertificate, claimed: float) -> None:
    """Raise `InvalidArgumentError` unless a certificate proves the claimed lower bound."""
    proven = prove(epsilon, factor, certificate, rounding=_ROUNDING / 2.0)
    if not claimed <= proven:
        raise InvalidArgumentError("certificate", f"prove a bound of {claimed}", proven)


def _parts(
    factor: Array, certificate: AnswerCertificate, spans: NDArray[np.intp] | None
) -> tuple[Array, Array, Array]:
    shares = np.array(certificate.population, np.float64)
    multipliers = np.array(certificate.multipliers, np.float64)
    lengths = {len(row) for row in certificate.influence}
    shape = (len(certificate.influence), *lengths)
    n_places = len(factor) if spans is None else spans.size
    if shares.shape != (n_places,) or multipliers.shape != factor.shape[:1]:
        rule = f"have {n_places} shares and {len(factor)} multipliers"
        raise InvalidArgumentError("certificate", rule, (shares.size, multipliers.size))
    if shape != factor.shape:
        raise InvalidArgumentError("certificate", f"have a matrix of {factor.shape}", shape)
    influence = np.array(certificate.influence, np.float64)
    if not all(np.isfinite(part).all() for part in (shares, influence, multipliers)):
        raise InvalidArgumentError("certificate", "have finite numbers", certificate.population)
    if shares.min() < 0.0 or not abs(shares.sum() - 1.0) <= _SUM:
        raise InvalidArgumentError("certificate", "have shares that add up to 1", shares.tolist())
    return shares / shares.sum(), influence, multipliers


def _least_form(
    epsilon: float,
    shares: Array,
    influence: Array,
    multipliers: Array,
    diagonal: Array,
    rounding: float,
) -> float:
    """Return what the quadratic form of the signs cannot be below."""
    k = len(shares)
    if diagonal.shape != (k + 1,) or not np.isfinite(diagonal).all():
        rule = f"have {k + 1} finite numbers on its diagonal"
        raise InvalidArgumentError("certificate", rule, diagonal.size)
    mapped = (
        np.hstack([np.full((k, 1), np.exp(epsilon) + 1.0), np.eye(k) * np.expm1(epsilon)]) / 2.0
    )
    product = np.outer(shares @ mapped, multipliers @ mapped)
    squares = influence.T @ mapped
    form = (product + product.T) / 2.0 - squares.T @ squares
    size = np.abs(product).sum() + np.square(np.abs(influence).T @ mapped).sum()
    size += np.abs(diagonal).sum()
    least = float(np.linalg.eigvalsh(form - np.diag(diagonal))[0])
    return float(diagonal.sum() + (k + 1) * (min(0.0, least) - rounding * size))


def _subsets(shares: Array, influence: Array, multipliers: Array) -> Array:
    """Return which answers have the larger entry, one row per column to look at."""
    rows = len(shares)
    if rows <= MOST_ROWS:
        return np.asarray((np.arange(1 << rows)[:, None] >> np.arange(rows) & 1), np.float64)
    alike = len(set(shares.tolist())) == len(set(multipliers.tolist())) == 1
    if influence.shape != (rows, rows) or not alike or not _invariant(influence):
        rule = f"use at most {MOST_ROWS} answers, or all alike"
        raise InvalidArgumentError("certificate", rule, rows)
    return np.asarray(np.arange(rows) < np.arange(rows + 1)[:, None], np.float64)


def _invariant(matrix: Array) -> bool:
    """Return whether no permutation of the answers changes a matrix."""
    wanted = np.full_like(matrix, matrix[0, 1])
    np.fill_diagonal(wanted, matrix[0, 0])
    return bool(np.array_equal(matrix, wanted))


def _largest_violation(
    entries: Array, shares: Array, influence: Array, multipliers: Array, rounding: float
) -> float:
    """Return how much must be added to every multiplier."""
    worst = -np.inf
    sizes = np.abs(influence)
    for part in np.array_split(entries, len(entries) // (1 << 14) + 1):
        squares = np.square(part @ influence).sum(axis=1)
        squares += rounding * np.square(part @ sizes).sum(axis=1)
        price = part @ multipliers - rounding * (part @ np.abs(multipliers))
        total = part.sum(axis=1)
        violation = squares / (part @ shares * (1.0 - rounding)) - price
        worst = max(worst, float(np.max(violation / total * (1.0 + rounding))))
    return worst
