r"""Guaranteed intervals: with a proof for every population and every number of reports.

Notes
-----
Scores :math:`b_j` whose expectations are nowhere below a statistic,
:math:`\sum_j W_{kj} b_j \ge \ell^+_k` at all places, have an average that is too large on average,
whatever the people's numbers are. The scores depend on the table and on the number of reports (as
a power of 2), never on what the reports say, so the exact interval for the average of fixed scores
(`noutput.estimate.answers.exact`, Chernoff's bound over all populations) has an upper end that is
below the statistic with a probability of at most :math:`\alpha / 2`. Lower ends are the same for
the negative statistic. Each interval holds on its own; no region for all statistics at once is
needed, which would be wider.

The scores are those that would be best for slack intervals if people were spread evenly: the dual
solution of that convex problem. Whether they are best does not matter for the proof.
"""

from __future__ import annotations

from copy import copy
from dataclasses import dataclass, field
from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.slack.chernoff import upper_ends
from noutput.estimate.slack.path import best_scores
from noutput.estimate.slack.places import Places
from noutput.estimate.slack.program import BestFit

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.estimate.counts import Array, Channel

__all__ = ["Guaranteed"]

_LARGEST = 2.0**60
_FEWEST = 64.0  # fewer reports share their scores
_THRESHOLD = 4.0
_KEPT = 64  # sets of statistics whose scores are known


class Guaranteed:
    """Upper ends that are too low with a probability of at most (1 - level) / 2, always.

    Parameters
    ----------
    channel, shares, reports, level, named
        As in `noutput.estimate.slack.intervals.Slack`.
    """

    def __init__(
        self,
        channel: Channel,
        shares: Array,
        reports: float,
        level: float,
        named: Sequence[float] = (),
    ) -> None:
        self.places = Places(channel, named)
        self._shares = shares
        self._reports = reports
        self._alpha = 1.0 - level
        even = np.asarray(channel.transition(1), np.float64)[0]
        self._even: Array = even / even.sum()
        self._power = float(2.0 ** np.round(np.log2(min(max(reports, _FEWEST), _LARGEST))))

    @cached_property
    def _reference(self) -> BestFit:
        return BestFit(self.places.program, self._even, self._power)

    def scores(self, goals: Array) -> Array:
        """Return scores of the outputs whose expectations are nowhere below statistics."""
        rows = self.places.program.rows
        scores = _known_scores(_Question(goals.tobytes(), rows.tobytes(), self._power, self, goals))
        result: Array = scores + (goals - scores @ rows.T).max(axis=1)[:, None]
        return result

    def upper(self, goals: Array) -> Array:
        """Return upper ends of statistics."""
        rows = self.places.program.rows
        found = upper_ends(
            rows, self.scores(goals), self._shares, self._reports, self._alpha
        )  # fmt: skip
        result: Array = np.minimum(found, goals.max(axis=1))
        return result

    def at_level(self, level: float) -> Guaranteed:
        """Return ends at another level."""
        result = copy(self)
        result._alpha = 1.0 - level  # noqa: SLF001 (another of the same kind)
        return result

    def shared(self, parts: int) -> Guaranteed:
        """Return ends that hold together: each may be wrong with a part of the probability."""
        result = copy(self)
        result._alpha = self._alpha / parts  # noqa: SLF001 (another of the same kind)
        return result

    @property
    def center(self) -> float:
        """The middle: data must not choose it."""
        return 0.0

    def best_scores(self, goals: Array) -> Array:
        """Return the scores for statistics, but for constants."""
        return best_scores(self._reference, goals, _THRESHOLD)


@dataclass(frozen=True)
class _Question:
    """Statistics and the table: no reports, so that scores are found once for many campaigns."""

    goals_bytes: bytes
    rows_bytes: bytes
    power: float
    asked: Guaranteed = field(compare=False)
    goals: Array = field(compare=False)


@lru_cache(maxsize=_KEPT)
def _known_scores(question: _Question) -> Array:
    scores = question.asked.best_scores(question.goals)
    scores.flags.writeable = False
    return scores
