r"""Stacked tables: the reports of several tables about one population as those of one.

Notes
-----
Part j has :math:`n_j` of n reports. Its devices move numbers beyond the bounds :math:`[l_j, u_j]`
to the nearer end before they draw from the table :math:`P_j`. A cell of the stack is an output i of
a part j, with the chance

.. math:: P(j, i \mid x) = \frac{n_j}{n}\, P_j\big(i \mid \min(\max(x, l_j), u_j)\big) .

*Rows stay linear.* A table's row is linear in x between its knots, and constant where numbers are
clipped. So the stacked row is linear between the knots of all parts, the ends of their bounds
included: these are the corners, and no row lies outside of what their rows span.

*The likelihood is the same.* Given the :math:`n_j`, the counts :math:`c_{ji}` of a part are
multinomial, and the parts are independent. With :math:`q_{ji} = \int P(j, i \mid x)\, d\pi(x)`,
the likelihood of a population :math:`\pi` is, up to what does not depend on it,

.. math:: \prod_j \prod_i \Big(\frac{n}{n_j}\, q_{ji}\Big)^{c_{ji}}
          = \Big(\prod_j \Big(\frac{n}{n_j}\Big)^{n_j}\Big) \prod_{j, i} q_{ji}^{c_{ji}} ,

a constant times that of one multinomial over the stack. So every maximum and every ratio of
likelihoods is that of the stack. Pearson's misfit is the same, too:
:math:`\frac{n}{q_{ji}} (q_{ji} - \frac{c_{ji}}{n})^2 = \frac{n_j}{p_{ji}} (p_{ji} -
\frac{c_{ji}}{n_j})^2` with :math:`p_{ji} = q_{ji} n / n_j`. What differs is that the
:math:`n_j` do not vary: a part's cells add up to what they must, one degree of freedom per part.

*Bounds for sums of scores hold.* If :math:`M_j` is the largest expectation of
:math:`e^{\lambda b}` over a part's reports, then :math:`\prod_j M_j^{n_j} \le
(\sum_j \frac{n_j}{n} M_j)^n` since the logarithm is concave: Chernoff's bound for n reports of the
stack holds for parts of given sizes. For scores with two values it is that of
Hoeffding (1956), "On the distribution of the number of successes in independent trials",
10.1214/aoms/1177728178.

*Bounds that were chosen by reports.* If part 2's table and bounds were chosen after part 1's counts
were seen, then given those counts part 2's reports are independent draws from a fixed table, and
the choice itself says nothing more about the population: it is a function of counts that are in the
likelihood already. So the likelihood, as a function of the population, is that above. At the true
population, part 1's misfit has its distribution whatever is chosen afterward, and part 2's has its
own given part 1: their sum is distributed as if nothing had been chosen. What the choice can
change is the error of scores that depend on it, since they are applied to the counts that chose
them. A guaranteed interval is therefore computed at the level :math:`1 - (1 - \text{level}) / C`
where one of C lists of parts was chosen: whichever of them is wrong for its own list, with a
probability of at most :math:`(1 - \text{level}) / C`, the one that was chosen is among them.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.estimate.slack.places import linear_knots
from noutput.mechanisms import moments
from noutput.mechanisms.sampling import unit_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.estimate.counts import Array
    from noutput.mechanisms.base import Channel

__all__ = ["Layer", "StackedChannel"]


@dataclass(frozen=True, eq=False)
class Layer:
    """One part of a stack.

    Parameters
    ----------
    channel : Channel
    lower, upper : float
        Its bounds, as numbers of [-1, 1].
    reports : int
        At least one.
    """

    channel: Channel
    lower: float
    upper: float
    reports: int

    @property
    def is_whole(self) -> bool:
        """Whether nothing is clipped."""
        return self.lower <= -1.0 and self.upper >= 1.0

    def own(self, x: Array) -> Array:
        """Return numbers of the stack in the part's own units, clipped."""
        if self.is_whole:
            return x
        inside = np.clip(x, self.lower, self.upper)
        own = (inside - self.lower) / (self.upper - self.lower) * 2.0 - 1.0
        return np.clip(own, -1.0, 1.0)

    def knots(self) -> Array:
        """Return the numbers of the stack between which the part's rows are linear."""
        own = linear_knots(self.channel)
        if self.is_whole:
            return own
        return np.clip(
            self.lower + (own + 1.0) / 2.0 * (self.upper - self.lower), self.lower, self.upper
        )


class StackedChannel:
    """Several parts as one model: its cells are the cells of the parts, one after the other.

    Parameters
    ----------
    layers : sequence of Layer
        At least one.
    choices : int
        How many stacks there were to choose from by reports; 1 if none was chosen so.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> stack = StackedChannel([Layer(m, -1.0, 1.0, 100), Layer(m, -1.0, 0.0, 300)])
    >>> stack.n_cells, stack.corners().tolist()
    (4, [-1.0, 0.0, 1.0])
    >>> stack.probabilities([0.0, 1.0]).tolist()  # beyond 0 the second part is clipped
    [[0.125, 0.125, 0.1875, 0.5625], [0.0625, 0.1875, 0.1875, 0.5625]]
    >>> stack.transition(1).round(4).tolist()
    [[0.125, 0.125, 0.2812, 0.4688]]
    """

    def __init__(self, layers: list[Layer], choices: int = 1) -> None:
        self.layers = tuple(layers)
        self.choices = choices
        self.reports = sum(layer.reports for layer in layers)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the parts' fingerprints, bounds and numbers of reports."""
        lines = [
            f"{layer.channel.fingerprint} {layer.lower.hex()} {layer.upper.hex()} {layer.reports}\n"
            for layer in self.layers
        ]
        return hashlib.sha256("".join(["noutput-stacked 1\n", *lines]).encode()).hexdigest()

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, StackedChannel):
            return NotImplemented
        return self.fingerprint == other.fingerprint

    def __hash__(self) -> int:
        return hash(self.fingerprint)

    @property
    def epsilon(self) -> float:
        """The largest privacy loss of the parts: every person reports in one of them."""
        return max(layer.channel.epsilon for layer in self.layers)

    @property
    def n_cells(self) -> int:
        """How many cells all parts have."""
        return sum(layer.channel.n_cells for layer in self.layers)

    @cached_property
    def groups(self) -> tuple[tuple[slice, int], ...]:
        """The cells of every part, and how many reports it has."""
        ends = np.cumsum([0, *(layer.channel.n_cells for layer in self.layers)]).tolist()
        return tuple(
            (slice(start, end), layer.reports)
            for start, end, layer in zip(ends[:-1], ends[1:], self.layers, strict=True)
        )

    @cached_property
    def shares(self) -> tuple[float, ...]:
        """The share of every part in all reports."""
        return tuple(layer.reports / self.reports for layer in self.layers)

    def probabilities(self, x: ArrayLike) -> Array:
        """Return P(part and output | x), of shape ``x.shape + (cells,)``."""
        numbers = unit_array(x)
        parts = [
            share * layer.channel.probabilities(layer.own(numbers))
            for layer, share in zip(self.layers, self.shares, strict=True)
        ]
        return np.concatenate(parts, axis=-1)

    @cached_property
    def _corners(self) -> Array:
        knots = np.concatenate([layer.knots() for layer in self.layers])
        found = np.unique(np.concatenate([[-1.0, 1.0], knots]))
        found.flags.writeable = False
        return found

    @cached_property
    def rows(self) -> Array:
        """The rows at the corners."""
        return self.probabilities(self._corners)

    def corners(self) -> Array:
        """Return the knots of all parts, and the ends of their bounds."""
        return self._corners

    def transition(self, bins: int = 64) -> Array:
        """Return P(part and output | x uniform in a bin), of shape (bins, cells)."""
        count = _checks.whole("bins", bins, 1, 1 << 16)
        return self.averages(np.linspace(-1.0, 1.0, count + 1))

    def averages(self, edges: Array) -> Array:
        """Return the rows of people who are spread evenly between edges from -1 to 1."""
        return moments.bin_means(self._corners, self.rows, edges)
