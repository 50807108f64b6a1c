r"""Semidefinite relaxation: numbers that prove an inequality for all columns at once.

Notes
-----
Above 16 answers not all columns can be looked at. For :math:`v = c + h\sigma` with signs
:math:`\sigma`, :math:`c, h = (e^\epsilon \pm 1) / 2`, the inequality of a certificate says that a
quadratic form :math:`\tilde\sigma' Q \tilde\sigma` of the signs (with a 1 before them) is not
negative. Its minimum over unit vectors instead of signs is found by moving one vector at a time
(Wang, Chang and Kolter, The mixing method, 2017, arXiv:1706.00476), and is proven by numbers
:math:`d_i`: it is :math:`\sum d_i` where :math:`Q - \mathrm{diag}(d)` has no negative eigenvalue.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noutput.designs.answers.saddle import Saddle
    from noutput.designs.solution import Array

__all__ = ["relaxed"]

_SWEEPS = 300
_STEADY = 1e-9
_HALVINGS = 10
_MOST = 2.0
_SEED = 7


def relaxed(found: Saddle) -> tuple[Array, Array, Array]:
    """Return Z, y and d: those of a solution, scaled until the relaxation proves them."""
    influence, multipliers = found.influence, found.multipliers
    products = np.outer(found.population, multipliers)
    products = (products + products.T) / 2.0
    squares = influence @ influence.T
    low, high = 1.0, _MOST
    best = _diagonal(_signs(high * products - squares, found.epsilon))
    for _ in range(_HALVINGS):
        middle = (low + high) / 2.0
        matrix = _signs(middle * products - squares, found.epsilon)
        diagonal = _diagonal(matrix)
        least = float(np.linalg.eigvalsh(matrix - np.diag(diagonal))[0])
        if diagonal.sum() + len(diagonal) * min(0.0, least) >= 0.0:
            high, best = middle, diagonal
        else:
            low = middle
    # the bound 2 t tr(B'Z) - t^2 high sum(y) is largest at
    step = float(np.sum(found.aim.factor * influence) / (high * multipliers.sum()))
    return step * influence, high * step**2 * multipliers, step**2 * best


def _signs(form: Array, epsilon: float) -> Array:
    """Return the matrix of a quadratic form of columns as one of their signs."""
    middle, half = (np.exp(epsilon) + 1.0) / 2.0, np.expm1(epsilon) / 2.0
    matrix = np.empty((len(form) + 1, len(form) + 1))
    matrix[0, 0] = middle**2 * form.sum()
    matrix[0, 1:] = matrix[1:, 0] = middle * half * form.sum(axis=0)
    matrix[1:, 1:] = half**2 * form
    return matrix


def _diagonal(matrix: Array) -> Array:
    """Return the numbers d of the relaxation."""
    size = len(matrix)
    vectors = np.random.default_rng(_SEED).normal(size=(size, int(np.sqrt(2 * size)) + 3))
    vectors /= np.linalg.norm(vectors, axis=1)[:, None]
    others = matrix - np.diag(np.diag(matrix))
    value = np.inf
    for _ in range(_SWEEPS):
        for place in range(size):
            slope = others[place] @ vectors
            vectors[place] = -slope / max(float(np.linalg.norm(slope)), 1e-300)
        before, value = value, float(np.sum((matrix @ vectors) * vectors))
        if before - value <= _STEADY * abs(value):
            break
    return np.asarray(np.sum((matrix @ vectors) * vectors, axis=1))
