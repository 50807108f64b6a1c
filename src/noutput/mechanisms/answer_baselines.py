"""Mechanisms of the literature for one of k answers, as certified tables."""

from __future__ import annotations

import math
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.certified import MAX_ANSWERS, MAX_OUTPUTS
from noutput.mechanisms.quantize import quantize_answers

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

    from noutput.mechanisms.answers import AnswerMechanism

__all__ = ["ANSWER_MECHANISMS", "answer_mechanism", "best_subset_size"]


def best_subset_size(epsilon: float, n_answers: int) -> int:
    r"""Return how many answers each output of the best subset selection stands for.

    It is the d with the largest :math:`d (k - d) / (d e^\epsilon + k - d)^2` (Ye and Barg, IEEE
    Transactions on Information Theory 64, 2018, doi:10.1109/TIT.2018.2809790).
    """
    sizes = np.arange(1, n_answers)
    spread = sizes * (n_answers - sizes) / (sizes * math.exp(epsilon) + n_answers - sizes) ** 2
    return int(sizes[spread.argmax()])


def _direct(epsilon: float, k: int) -> NDArray[np.float64]:
    """One output per answer (Kairouz, Oh and Viswanath, 2016: k-ary randomized response)."""
    return _likely(epsilon, np.eye(k))


def _subsets(epsilon: float, k: int) -> NDArray[np.float64]:
    """One output per subset of d answers."""
    size = best_subset_size(epsilon, k)
    if math.comb(k, size) > MAX_OUTPUTS:
        rule = (
            f"have at most {MAX_OUTPUTS} outputs; subset selection needs {math.comb(k, size)} at "
            f"epsilon {epsilon}"
        )
        raise InvalidArgumentError("n_answers", rule, k)
    members = np.zeros((math.comb(k, size), k))
    for row, chosen in enumerate(combinations(range(k), size)):
        members[row, list(chosen)] = 1.0
    return _likely(epsilon, members)


def _thresholds(epsilon: float, k: int) -> NDArray[np.float64]:
    """Randomized response to "is it above?", for one of the k - 1 edges drawn at random."""
    above = (np.arange(k) > np.arange(k - 1)[:, None]).astype(np.float64)
    return _likely(epsilon, np.concatenate([1.0 - above[::-1], above]))


def _bits(k: int, own: float, other: float) -> NDArray[np.float64]:
    """One output per vector of k bits, each of which is 1 with one of two probabilities."""
    if 1 << k > MAX_OUTPUTS:
        rule = f"be at most {MAX_OUTPUTS.bit_length() - 1} for an encoding in k bits"
        raise InvalidArgumentError("n_answers", rule, k)
    bits = np.arange(1 << k)[:, None] >> np.arange(k) & 1
    chance = np.where(np.eye(k, dtype=bool), own, other)  # of bit j for answer i
    return np.asarray(np.prod(np.where(bits, chance[:, None], 1.0 - chance[:, None]), axis=2))


def _oue(epsilon: float, k: int) -> NDArray[np.float64]:
    """Optimized unary encoding (Wang, Blocki, Li and Jha, 2017)."""
    return _bits(k, 0.5, 1.0 / (math.exp(epsilon) + 1.0))


def _sue(epsilon: float, k: int) -> NDArray[np.float64]:
    """Symmetric unary encoding, the basic form of RAPPOR (Erlingsson, Pihur, Korolova, 2014)."""
    own = 1.0 / (1.0 + math.exp(-epsilon / 2.0))
    return _bits(k, own, 1.0 - own)


ANSWER_MECHANISMS: dict[str, Callable[[float, int], NDArray[np.float64]]] = {
    "direct-encoding": _direct,
    "subset-selection": _subsets,
    "threshold": _thresholds,
    "oue": _oue,
    "sue": _sue,
}
"""The probabilities of every mechanism, of shape (k, outputs), by its name."""


def answer_mechanism(name: str, epsilon: float, n_answers: int) -> AnswerMechanism:
    """Return a mechanism of the literature for one of k answers, as a certified table.

    Parameters
    ----------
    name : str
        "direct-encoding" (one output per answer), "subset-selection" (one per subset of the best
        size), "threshold" (each person is asked about one edge between ordered answers), "oue" and
        "sue" (one per vector of k bits, up to 8 answers).
    epsilon : float
    n_answers : int
        From 2 to 64.

    Raises
    ------
    InvalidArgumentError
        If there is no such mechanism, or it needs more than 256 outputs.

    Examples
    --------
    >>> [answer_mechanism(name, 1.0, 4).n_outputs for name in ANSWER_MECHANISMS]
    [4, 4, 6, 16, 16]
    >>> answer_mechanism("direct-encoding", 1.0, 4).privacy_loss() <= 1.0
    True
    """
    make = ANSWER_MECHANISMS[_checks.choice("name", name, ANSWER_MECHANISMS)]
    epsilon = _checks.positive("epsilon", epsilon)
    k = _checks.whole("n_answers", n_answers, 2, MAX_ANSWERS)
    return quantize_answers(epsilon, make(epsilon, k))


def _likely(epsilon: float, members: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return a table of equally heavy columns, e^epsilon times as likely for their members."""
    entries = (1.0 + np.expm1(epsilon) * members).T
    return np.asarray(entries / entries.sum(axis=1, keepdims=True))
