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
solution of that convex problem. Whether they are best does not matter for the proof. Of several
tables, most of these people are within the bounds of the lead (`noutput.estimate.stacked_scores`).
"""

from __future__ import annotations

from copy import copy
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from noutput.estimate.slack.chernoff import upper_ends
from noutput.estimate.slack.path import best_scores
from noutput.estimate.slack.places import Places
from noutput.estimate.slack.program import BestFit
from noutput.estimate.stacked import StackedChannel
from noutput.estimate.stacked_scores import reference

if TYPE_CHECKING:
    from collections.abc import Sequence

    from noutput.estimate.counts import Array, CellModel

__all__ = ["Guaranteed"]

_LARGEST = 2.0**60
_FEWEST = 64.0  # fewer reports share their scores
_EXCESS = 4.0  # of the misfit, for which scores are best
_ROUNDING = 1e-12  # of sums of scores
_MOST_KNOWN = 4096
_MOSTLY = 0.99  # of the people within the bounds of the lead, where there are several tables
_KNOWN: dict[tuple[str, float, bytes, bytes], Array] = {}


class Guaranteed:
    """Upper ends that are too low with a probability of at most (1 - level) / 2, always.

    Parameters
    ----------
    channel, shares, reports, level, named
        As in `noutput.estimate.slack.intervals.Slack`.
    """

    def __init__(
        self,
        channel: CellModel,
        shares: Array,
        reports: float,
        level: float,
        named: Sequence[float] = (),
    ) -> None:
        self.places = Places(channel, named)
        self._shares = shares
        self._reports = reports
        self._choices = channel.choices if isinstance(channel, StackedChannel) else 1
        self._alpha = (1.0 - level) / self._choices
        self._channel = channel
        self._power = float(2.0 ** np.round(np.log2(min(max(reports, _FEWEST), _LARGEST))))

    @cached_property
    def _reference(self) -> BestFit:
        even = np.asarray(self._channel.transition(1), np.float64)[0]
        if isinstance(self._channel, StackedChannel):
            even = _MOSTLY * reference(self._channel) + (1.0 - _MOSTLY) * even
        return BestFit(self.places.program, even / even.sum(), self._power)

    def scores(self, goals: Array) -> Array:
        """Return scores of the outputs whose expectations are nowhere below statistics.

        No report takes part in them, so they are computed once for all campaigns of a size.
        """
        table = (self._channel.fingerprint, self._power, self.places.x.tobytes())
        keys = [(*table, goal.tobytes()) for goal in goals]
        known = {key: _KNOWN[key] for key in keys if key in _KNOWN}
        missing = [index for index, key in enumerate(keys) if key not in known]
        if missing:
            rows = self.places.program.rows
            found = best_scores(self._reference, goals[missing], _EXCESS)
            found += (goals[missing] - found @ rows.T).max(axis=1)[:, None]
            known.update(zip([keys[index] for index in missing], found, strict=True))
            if len(_KNOWN) + len(known) > _MOST_KNOWN:
                _KNOWN.clear()
            _KNOWN.update(known)
        return np.array([known[key] for key in keys])

    def upper(self, goals: Array) -> Array:
        """Return upper ends of statistics."""
        rows, scores = self.places.program.rows, self.scores(goals)
        found = upper_ends(rows, scores, self._shares, self._reports, self._alpha)
        found += _ROUNDING * np.abs(scores).max(axis=1)
        result: Array = np.minimum(found, goals.max(axis=1))
        return result

    def at_level(self, level: float) -> Guaranteed:
        """Return ends at another level."""
        result = copy(self)
        result._alpha = (1.0 - level) / self._choices  # noqa: SLF001 (another of the same kind)
        return result

    def shared(self, parts: int) -> Guaranteed:
        """Return ends that hold together: each may be wrong with a part of the probability."""
        result = copy(self)
        result._alpha = self._alpha / parts  # noqa: SLF001 (another of the same kind)
        return result

    def smooth(self) -> Guaranteed:
        """Return this: jumps make no difference."""
        return self

    @property
    def center(self) -> float:
        """The middle: data must not choose it."""
        return 0.0
