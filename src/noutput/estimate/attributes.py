"""The means of several attributes per person under one privacy budget."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING, cast

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.counts import check_table, check_tally
from noutput.estimate.mean import MeanEstimate, estimate_mean
from noutput.estimate.resample import generator
from noutput.interval import UNIT, Interval, IntervalLike, as_interval

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["AttributeMeans", "choose_attributes", "estimate_means"]

_DRAWN_AT_ONCE = 1 << 22


@dataclass(frozen=True, slots=True)
class AttributeMeans:
    """The means of several attributes, each in its own units.

    Parameters
    ----------
    estimates : tuple of MeanEstimate
        One an attribute.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tallies = [no.Tally(m.fingerprint, (400, 600)), no.Tally(m.fingerprint, (700, 300))]
    >>> means = no.estimate_means(m, tallies)
    >>> means.values.round(2), means.standard_errors.round(3)
    (array([ 0.4, -0.8]), array([0.062, 0.058]))
    >>> low, high = means.interval(simultaneous=True)
    >>> bool(np.all((low < means.values) & (means.values < high)))
    True
    """

    estimates: tuple[MeanEstimate, ...]

    @property
    def values(self) -> Array:
        """The estimated means."""
        return np.array([estimate.value for estimate in self.estimates])

    @property
    def standard_errors(self) -> Array:
        """Their standard errors, for the means of the population."""
        return np.array([estimate.standard_error for estimate in self.estimates])

    def interval(
        self,
        level: float = 0.95,
        *,
        kind: str = "normal",
        of: str = "population",
        simultaneous: bool = False,
    ) -> tuple[Array, Array]:
        """Return the lower and the upper ends of the intervals of all attributes.

        Parameters
        ----------
        level, kind, of
            As in `MeanEstimate.interval`.
        simultaneous : bool
            Whether all intervals together shall cover their means with the probability `level`
            (by Bonferroni's inequality), and not each on its own.
        """
        _checks.inner_share("level", level)
        each = 1.0 - (1.0 - level) / len(self.estimates) if simultaneous else level
        ends = np.array([e.interval(each, kind=kind, of=of) for e in self.estimates])
        return ends[:, 0], ends[:, 1]


def choose_attributes(
    people: int, n_attributes: int, rng: np.random.Generator | None = None, *, each: int = 1
) -> np.ndarray[tuple[int, int], np.dtype[np.intp]]:
    r"""Draw which attributes every person reports on, of shape (people, each).

    Parameters
    ----------
    people, n_attributes : int
    rng : numpy Generator, optional
        For a reproducible choice. It does not depend on anybody's numbers and is sent with the
        report, so it need not be secret.
    each : int
        How many different attributes a person reports on. A mechanism of
        :math:`\epsilon / \text{each}` then keeps the total loss within :math:`\epsilon`. One
        attribute with all of :math:`\epsilon` gives the smaller errors unless :math:`\epsilon`
        is large.

    Examples
    --------
    >>> choose_attributes(4, 10, np.random.default_rng(7), each=2).shape
    (4, 2)
    """
    count = _checks.whole("people", people, 0, 1 << 40)
    size = _checks.whole("n_attributes", n_attributes, 1, 1 << 24)
    wanted = _checks.whole("each", each, 1, size)
    source = generator(rng)
    if wanted == 1:
        return source.integers(0, size, size=(count, 1), dtype=np.intp)
    result = np.empty((count, wanted), np.intp)
    step = max(1, _DRAWN_AT_ONCE // size)
    for start in range(0, count, step):
        keys = source.random((min(step, count - start), size))
        result[start : start + step] = np.argsort(keys, axis=1)[:, :wanted]
    return result


def estimate_means(
    mechanism: TableMechanism,
    tallies: Sequence[Tally],
    bounds: IntervalLike | Sequence[IntervalLike] = UNIT,
    *,
    each: int = 1,
) -> AttributeMeans:
    r"""Estimate the means of several attributes, each from the people who drew it.

    Parameters
    ----------
    mechanism : TableMechanism
        What made all reports; with :math:`\epsilon / \text{each}` where a person makes several.
    tallies : sequence of Tally
        One an attribute, as `Tally.by_attribute` counts them; at least two reports each.
    bounds : Interval or pair of numbers, or a sequence of them
        The units of all attributes, or of each.
    each : int
        How many attributes a person reported on.

    Notes
    -----
    Whoever reports on an attribute was drawn at random, so the average of these reports is
    unbiased for the mean of everybody, and its standard error comes from the number of reports on
    this attribute, not of people. The m people of an attribute are a sample of all n: for the
    mean of just these n people, the spread of the numbers counts by the share
    :math:`1 - m / n`. With `each` = 1, the estimates of different attributes are independent
    given how many people drew them; with more, they are correlated as the numbers of one person
    are, and each interval on its own is right nevertheless.

    References
    ----------
    Wang et al. (2019), "Collecting and analyzing multidimensional data with local differential
    privacy", 10.1109/ICDE.2019.00063.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tallies = no.Tally.by_attribute(m, [0, 1, 0, 1], [1, 0, 0, 0], 2)
    >>> estimate_means(m, tallies).values
    array([ 0., -2.])
    """
    if not isinstance(tallies, Sequence):
        raise InvalidArgumentError("tallies", "be a sequence of tallies", type(tallies).__name__)
    if not tallies:
        raise InvalidArgumentError("tallies", "have at least one tally", tallies)
    units = _units(bounds, len(tallies))
    reports = sum(tally.total for tally in tallies)
    people = -(-reports // _checks.whole("each", each, 1, len(tallies)))
    found = []
    check_table(mechanism)
    for index, (tally, unit) in enumerate(zip(tallies, units, strict=True)):
        check_tally(mechanism, tally, mechanism.n_outputs)
        if tally.total > people:
            rule = f"have at most one report per person ({people})"
            raise InvalidArgumentError(f"tallies[{index}]", rule, tally.total)
        found.append(estimate_mean(mechanism, tally, unit, people=people))
    return AttributeMeans(tuple(found))


def _units(bounds: object, count: int) -> list[Interval]:
    """Return one Interval per attribute, of bounds for all of them or for each."""
    if isinstance(bounds, np.ndarray) and bounds.ndim > 1:
        bounds = list(bounds)
    several = isinstance(bounds, Sequence) and not all(isinstance(end, Real) for end in bounds)
    if not several:
        return [as_interval(bounds)] * count
    each = cast("Sequence[IntervalLike]", bounds)
    if len(each) != count:
        rule = f"have one entry per attribute ({count}), or be one pair for all"
        raise InvalidArgumentError("bounds", rule, len(each))
    return [as_interval(one, f"bounds[{index}]") for index, one in enumerate(each)]
