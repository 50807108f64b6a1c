r"""Several tables about one question with answers, as one model.

Notes
-----
Part j has :math:`n_j` of n reports and the table :math:`P_j`. Its share of the stacked table is
:math:`W_{x, ji} = (n_j / n) P_j(i \mid x)`, whose rows add up to 1. Scores with
:math:`\sum_{ji} W_{x, ji} s_{ji} = a_x` make the average over all reports unbiased given the
:math:`n_j`: part j adds :math:`(n_j / n) \sum_i P_j(i \mid \pi) s_{ji}` to its mean. The best
scores weight every part by what it tells.

*Intervals* are those of n reports that are drawn from the stacked table, where the numbers
:math:`n_j` would be random as well. Given them the variance is smaller by that between the parts'
mean scores, and the best scores make these means equal at the population that they are for. Exact
intervals hold, too: by the inequality of arithmetic and geometric means,
:math:`\prod_j (\sum_x \pi_x M_{xj})^{n_j} \le (\sum_j (n_j / n) \sum_x \pi_x M_{xj})^n`, which is
the bound of `noutput.estimate.answers.exact` for the stacked table. Where scores have two values
only, the number of reports with the larger one is a sum of unequal coins, whose tails are at most
those of the binomial distribution with the same mean (Hoeffding, 1956).

*Bias.* The scores that estimates average are chosen by the other reports. With one table that
leaves them exactly unbiased. Given the :math:`n_j` it leaves a bias of the order 1/n, far below
the standard error of the order :math:`1 / \sqrt n`. Exact intervals use fixed scores, which have
none.

References
----------
Hoeffding (1956), "On the distribution of the number of successes in independent trials",
10.1214/aoms/1177728178.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.mechanisms.answers import AnswerMechanism

__all__ = ["StackedAnswers"]


class StackedAnswers:
    """Several answer tables as one: its outputs are those of the parts, one after the other.

    Parameters
    ----------
    parts : sequence of (AnswerMechanism, int)
        At least one table with its number of reports, above 0. All have as many answers.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> stack = StackedAnswers([(m, 100), (m, 300)])
    >>> stack.n_answers, stack.n_outputs, stack.table().tolist()
    (2, 4, [[0.1875, 0.0625, 0.5625, 0.1875], [0.0625, 0.1875, 0.1875, 0.5625]])
    """

    def __init__(self, parts: Sequence[tuple[AnswerMechanism, int]]) -> None:
        self.parts = tuple(parts)
        self.reports = sum(reports for _, reports in parts)

    @cached_property
    def fingerprint(self) -> str:
        """SHA-256 of the parts' fingerprints and numbers of reports."""
        lines = [f"{mechanism.fingerprint} {reports}\n" for mechanism, reports in self.parts]
        return hashlib.sha256("".join(["noutput-answers 1\n", *lines]).encode()).hexdigest()

    @property
    def epsilon(self) -> float:
        """The largest privacy loss of the parts: every person reports in one of them."""
        return max(mechanism.epsilon for mechanism, _ in self.parts)

    @property
    def n_answers(self) -> int:
        """How many answers there are."""
        return self.parts[0][0].n_answers

    @property
    def n_outputs(self) -> int:
        """How many outputs all parts have."""
        return sum(mechanism.n_outputs for mechanism, _ in self.parts)

    @property
    def spare_outputs(self) -> int:
        """How many degrees of freedom counts have beyond the shares and the parts' totals."""
        return self.n_outputs - len(self.parts) + 1 - self.n_answers

    @cached_property
    def groups(self) -> tuple[tuple[slice, int], ...]:
        """The outputs of every part, and how many reports it has."""
        ends = np.cumsum([0, *(mechanism.n_outputs for mechanism, _ in self.parts)]).tolist()
        return tuple(
            (slice(start, end), reports)
            for start, end, (_, reports) in zip(ends[:-1], ends[1:], self.parts, strict=True)
        )

    def table(self) -> Array:
        """Return P(part and output | answer), of shape (answers, outputs)."""
        rows = [reports / self.reports * mechanism.table() for mechanism, reports in self.parts]
        return np.concatenate(rows, axis=1)

    def __repr__(self) -> str:
        return f"StackedAnswers(n_answers={self.n_answers}, n_parts={len(self.parts)})"
