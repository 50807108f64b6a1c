r"""Inverses: the reports, or the epsilon of a report, that a wanted central epsilon needs.

Notes
-----
*More reports never hurt.* With one more honest report, the adversary of
`noutput.amplification.law` gets one more draw from the blanket with probability gamma, and it can
add such a draw by itself: the bound for n + 1 reports is a processed form of that for n. So what is
proven for n reports holds for every larger number, and bisection over n is sound; the number that
is returned has been verified itself.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from noutput import _checks
from noutput.amplification.published import (
    DELTA,
    MOST_REPORTS,
    Certified,
    Designed,
    Task,
    published_privacy,
)
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from noutput.amplification.result import PublishedPrivacy

__all__ = ["largest_report_epsilon", "reports_needed"]

_DIGITS = 3  # of a number of reports: it is rounded up to them


def reports_needed(
    mechanism: Certified | Designed, *, epsilon: float, delta: float = DELTA
) -> PublishedPrivacy:
    """Return the guarantee with the fewest reports whose counts keep to a central epsilon.

    Parameters
    ----------
    mechanism
        As in `published_privacy`.
    epsilon, delta : float
        What published counts may reveal about one person.

    Returns
    -------
    PublishedPrivacy
        Its `reports` is the number needed, rounded up to three digits; it holds for more, too.

    Raises
    ------
    InvalidArgumentError
        If not even 10^12 reports are enough.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(4.0, 16, "worst").mechanism
    >>> found = no.reports_needed(m, epsilon=0.1)
    >>> 200_000 < found.reports < 220_000, found.epsilon <= 0.1
    (True, True)
    """
    wanted = _checks.positive("epsilon", epsilon)
    chance = _checks.inner_share("delta", delta)

    def enough(count: int) -> PublishedPrivacy | None:
        task = Task.of(mechanism, count)
        if wanted >= task.loss:
            return task.local()
        if task.delta(wanted).delta > chance:
            return None
        found = task.privacy(chance)
        return found if found.epsilon <= wanted else None

    best = enough(1)
    if best is not None:
        return best
    low, high = 1, 16
    while (best := enough(high)) is None:
        if high >= MOST_REPORTS:
            raise InvalidArgumentError("epsilon", f"be reached by {MOST_REPORTS} reports", epsilon)
        low, high = high, min(8 * high, MOST_REPORTS)
    while high - low > _unit(high):
        middle = _rounded((low + high) // 2)
        if not low < middle < high:
            break
        found = enough(middle)
        if found is None:
            low = middle
        else:
            best, high = found, middle
    return best


def _unit(count: int) -> int:
    return int(10 ** max(len(str(count)) - _DIGITS, 0))


def _rounded(count: int) -> int:
    """Round up to a few digits."""
    unit = _unit(count)
    return -(-count // unit) * unit


def largest_report_epsilon(
    family: Callable[[float], Certified | Designed],
    epsilons: Sequence[float],
    *,
    published_epsilon: float,
    reports: int,
    delta: float = DELTA,
) -> tuple[float, PublishedPrivacy] | None:
    """Return the largest epsilon of a report whose counts keep to a central epsilon.

    Parameters
    ----------
    family : callable
        Returns the table, or the design, for an epsilon.
    epsilons : sequence of floats
        What may be chosen, such as the epsilons of the catalog.
    published_epsilon, delta : float
        What published counts may reveal about one person.
    reports : int
        How many reports are counted together.

    Returns
    -------
    pair of float and PublishedPrivacy, or None
        An epsilon and what its table reveals; None where the smallest is too large.

    Notes
    -----
    The search halves the list, so it assumes that a larger epsilon reveals more. Whether or not
    that is true of a family, the table that is returned has been verified.

    Examples
    --------
    >>> import noutput as no
    >>> epsilon, found = no.largest_report_epsilon(
    ...     lambda e: no.design(e, 16, "worst"), [0.5, 1.0, 2.0, 4.0, 8.0],
    ...     published_epsilon=0.1, reports=1_000_000,
    ... )
    >>> epsilon, found.epsilon <= 0.1
    (4.0, True)
    """
    wanted = _checks.positive("published_epsilon", published_epsilon)
    choices = sorted(_checks.positive("epsilons", choice) for choice in epsilons)
    best: tuple[float, PublishedPrivacy] | None = None
    low, high = 0, len(choices)
    while low < high:
        middle = (low + high) // 2
        choice = choices[middle]
        found = published_privacy(family(choice), reports=reports, delta=delta)
        if found.epsilon <= wanted:
            best, low = (choice, found), middle + 1
        else:
            high = middle
    return best
