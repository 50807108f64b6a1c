r"""Random histograms that tables are trained on: what people's numbers may look like.

Notes
-----
No dataset takes part. A histogram of 64 equal bins of [-1, 1] belongs to one of six families:

===========  =====  ==============================================================
family       share  what it is
===========  =====  ==============================================================
indicators    0.10  two atoms, at both ends: yes or no
levels        0.12  atoms at 3 to 13 equal steps, with Dirichlet shares: ratings, counts
edges         0.17  exponential or beta, heaped at one end, often with an atom there
mixtures      0.28  one to three of beta, exponential, normal, an atom, and the even shape
peaks         0.16  Student's t of any width, 1.5 to 30 degrees of freedom, often at an end
smooth        0.17  one to three broad humps, without any atom
===========  =====  ==============================================================

Half of all histograms are mirrored, so their distribution is symmetric.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from scipy import special

from noutput.designs.solution import Array

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["BINS", "draw_histograms"]

Family: TypeAlias = Callable[[np.random.Generator, int], Array]

BINS = 64
_EDGES = np.linspace(-1.0, 1.0, BINS + 1)
_MOST_LEVELS = 13
_MOST_PARTS = 3


def draw_histograms(rng: np.random.Generator, count: int) -> Array:
    """Draw histograms, an array of shape (count, 64).

    Examples
    --------
    >>> import numpy as np
    >>> drawn = draw_histograms(np.random.default_rng(1), 10)
    >>> drawn.shape, bool(np.allclose(drawn.sum(axis=1), 1.0))
    ((10, 64), True)
    """
    result = _choose(rng, count, _FAMILIES)
    mirrored = rng.random(count) < 0.5
    result[mirrored] = result[mirrored, ::-1]
    result /= result.sum(axis=1, keepdims=True)
    return result


def _choose(rng: np.random.Generator, count: int, families: dict[Family, float]) -> Array:
    """Draw every histogram from a family that is chosen by its share."""
    kinds = rng.choice(len(families), count, p=list(families.values()))
    result = np.empty((count, BINS))
    for kind, family in enumerate(families):
        mine = kinds == kind
        result[mine] = family(rng, int(mine.sum()))
    return result


def _log_uniform(rng: np.random.Generator, low: float, high: float, count: int) -> Array:
    return np.exp(rng.uniform(np.log(low), np.log(high), count))


def _differences(cumulative: Array) -> Array:
    """Return histograms from distribution functions at the edges, scaled to add up to 1."""
    parts = np.maximum(np.diff(cumulative, axis=1), 0.0)
    result: Array = parts / np.maximum(parts.sum(axis=1, keepdims=True), 1e-300)
    return result


def _beta(first: Array, second: Array) -> Array:
    share = (_EDGES + 1.0) / 2.0
    return _differences(np.asarray(special.betainc(first[:, None], second[:, None], share)))


def _exponential(scale: Array) -> Array:
    return _differences(-np.exp(-(_EDGES + 1.0) / (2.0 * scale[:, None])))


def _normal(center: Array, spread: Array) -> Array:
    return _differences(special.ndtr((_EDGES - center[:, None]) / spread[:, None]))


def _atoms(places: NDArray[np.intp]) -> Array:
    result = np.zeros((len(places), BINS))
    result[np.arange(len(places)), places] = 1.0
    return result


def _any_beta(rng: np.random.Generator, count: int) -> Array:
    return _beta(
        _log_uniform(rng, 0.37, 12.0, count),
        _log_uniform(rng, 0.37, 12.0, count),
    )


def _any_exponential(rng: np.random.Generator, count: int) -> Array:
    return _exponential(_log_uniform(rng, 0.005, 0.5, count))


def _any_normal(rng: np.random.Generator, count: int) -> Array:
    return _normal(rng.uniform(-0.8, 0.8, count), _log_uniform(rng, 0.03, 0.4, count))


def _end_atom(_rng: np.random.Generator, count: int) -> Array:
    return _atoms(np.zeros(count, np.intp))


def _any_atom(rng: np.random.Generator, count: int) -> Array:
    return _atoms(rng.integers(BINS, size=count))


def _even(_rng: np.random.Generator, count: int) -> Array:
    return np.full((count, BINS), 1.0 / BINS)


def _broad_beta(rng: np.random.Generator, count: int) -> Array:
    return _beta(_log_uniform(rng, 1.0, 9.0, count), _log_uniform(rng, 1.0, 9.0, count))


def _broad_normal(rng: np.random.Generator, count: int) -> Array:
    return _normal(rng.uniform(-0.8, 0.8, count), _log_uniform(rng, 0.1, 0.5, count))


def _mixed(rng: np.random.Generator, count: int, families: dict[Family, float]) -> Array:
    """Mix one to three members with Dirichlet shares."""
    parts = rng.integers(1, _MOST_PARTS + 1, count)
    shares = rng.standard_exponential((_MOST_PARTS, count))
    shares *= np.arange(_MOST_PARTS)[:, None] < parts
    shares /= shares.sum(axis=0)
    result = np.zeros((count, BINS))
    for share in shares:
        result += share[:, None] * _choose(rng, count, families)
    return result


def _indicators(rng: np.random.Generator, count: int) -> Array:
    result = np.zeros((count, BINS))
    result[:, 0] = rng.beta(0.6, 0.6, count)
    result[:, -1] = 1.0 - result[:, 0]
    return result


def _levels(rng: np.random.Generator, count: int) -> Array:
    result = np.zeros((count, BINS))
    sizes = rng.integers(3, _MOST_LEVELS + 1, count)
    shapes = _log_uniform(rng, 0.37, 2.7, count)
    weights = rng.standard_gamma(shapes[:, None], (count, _MOST_LEVELS)) + 1e-9
    for size in range(3, _MOST_LEVELS + 1):
        mine = np.flatnonzero(sizes == size)
        places = np.minimum(np.linspace(0.0, BINS, size).astype(np.intp), BINS - 1)
        chosen = weights[mine, :size]
        result[mine[:, None], places] = chosen / chosen.sum(axis=1, keepdims=True)
    return result


def _edge_shapes(rng: np.random.Generator, count: int) -> Array:
    shape = _exponential(_log_uniform(rng, 0.003, 0.4, count))
    beta = _beta(_log_uniform(rng, 0.37, 2.7, count), _log_uniform(rng, 1.65, 55.0, count))
    result = np.where(rng.random((count, 1)) < 0.5, shape, beta)
    return _inflate(rng, result, 0.4, 1.0, np.zeros(count, np.intp))


def _peaks(rng: np.random.Generator, count: int) -> Array:
    anywhere = rng.uniform(-1.0, 1.0, count)
    near_the_end = 2.0 * rng.beta(0.7, 3.0, count) - 1.0
    center = np.where(rng.random(count) < 0.5, anywhere, near_the_end)
    spread = _log_uniform(rng, 0.004, 0.35, count)
    freedom = rng.choice([1.5, 3.0, 30.0], count)
    position = (_EDGES - center[:, None]) / spread[:, None]
    result = _differences(special.stdtr(freedom[:, None], position))
    places = np.where(rng.random(count) < 0.7, 0, rng.integers(BINS, size=count))
    return _inflate(rng, result, 0.3, 0.6, places)


def _inflate(
    rng: np.random.Generator, shapes: Array, chance: float, most: float, places: NDArray[np.intp]
) -> Array:
    """Add an atom of up to `most` at a place, to some of the shapes."""
    share = rng.random(len(shapes)) * most * (rng.random(len(shapes)) < chance)
    return (1.0 - share[:, None]) * shapes + share[:, None] * _atoms(places)


def _mixtures(rng: np.random.Generator, count: int) -> Array:
    parts = (_any_beta, _any_exponential, _any_normal, _end_atom, _any_atom, _even)
    return _mixed(rng, count, {part: 1.0 / len(parts) for part in parts})


def _smooth(rng: np.random.Generator, count: int) -> Array:
    return _mixed(rng, count, {_broad_beta: 0.5, _broad_normal: 0.5})


_FAMILIES: dict[Family, float] = {
    _indicators: 0.10,
    _levels: 0.12,
    _edge_shapes: 0.17,
    _mixtures: 0.28,
    _peaks: 0.16,
    _smooth: 0.17,
}
