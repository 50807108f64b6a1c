r"""Resolution of a table: which numbers its reports tell apart.

Notes
-----
Tables for distributions and balanced ones have cells: the chances of the outputs jump from one cell
to the next, and inside of a cell they hardly change. Those of tables for the mean change gradually.
There, the reports of n people who all have the number x differ from those of people who all have
:math:`x + d` by :math:`n d^2 I(x)` in the misfit, with :math:`I = \sum_j p_j'^2 / p_j`. Below 3.84,
the two are not told apart at a level of 95%.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput._numbers import show
from noutput.estimate.evidence import Evidence, unpacked
from noutput.estimate.slack.places import NARROW
from noutput.interval import UNIT, IntervalLike
from noutput.mechanisms.base import check_channel

if TYPE_CHECKING:
    from noutput.estimate.counts import CellModel

__all__ = ["Resolution", "resolution"]

_CHI_SQUARE = 3.84
_EVEN = 1.01  # cells that differ by less are called equal


@dataclass(frozen=True)
class Resolution:
    """Which numbers the reports of a mechanism tell apart.

    Parameters
    ----------
    cells : tuple of floats, optional
        The edges of the cells, in the units of the bounds. None: there are none.
    apart : float, optional
        How far apart two numbers must be to be told apart if all people have the same one, where
        there are no cells and a number of reports was given.
    reports : int, optional

    Examples
    --------
    >>> import noutput as no
    >>> print(no.resolution(no.design(2.0, 64, objective="distribution").mechanism, (0, 128)))
    64 cells of width 2.0: inside of one, numbers are hardly told apart
    """

    cells: tuple[float, ...] | None
    apart: float | None = None
    reports: int | None = None

    def __str__(self) -> str:
        if self.cells is not None:
            widths = [end - start for start, end in pairwise(self.cells)]
            least, most = min(widths), max(widths)
            size = f"width {show(most)}"
            if most > _EVEN * least:
                size = f"widths from {show(least)} to {show(most)}"
            return f"{len(widths)} cells of {size}: inside of one, numbers are hardly told apart"
        if self.apart is None:
            return "no cells: what is told apart depends on the number of reports"
        return (
            f"no cells: with {self.reports:,} reports, numbers closer than {show(self.apart)} are "
            "not told apart, even if all people have the same one"
        )


def resolution(
    mechanism: CellModel | Evidence, bounds: IntervalLike = UNIT, *, reports: int | None = None
) -> Resolution:
    """Say which numbers the reports of a mechanism tell apart.

    Parameters
    ----------
    mechanism : TableMechanism, or any mechanism with a transition matrix; or Evidence
        Evidence takes the place of the bounds, too.
    bounds : Interval or pair of numbers
        The user's units; [-1, 1] by default.
    reports : int, optional
        How many there will be: what mechanisms without cells tell apart depends on it.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(1.0, 16, objective="worst").mechanism
    >>> print(resolution(m, (0, 100), reports=20_000))
    no cells: with 20,000 reports, numbers closer than 0.70 are not told apart, even if all people \
have the same one
    >>> resolution(m).cells is None
    True
    """
    channel, _, units = unpacked(mechanism, None, bounds)
    check_channel(channel, "corners", "probabilities")
    count = None if reports is None else _checks.whole("reports", reports, 1, 1 << 1000)
    corners = np.asarray(channel.corners(), np.float64)
    gaps = np.diff(corners)
    starts = corners[1:][gaps < NARROW]
    if starts.size:
        edges = [-1.0, *starts.tolist(), 1.0]
        return Resolution(tuple(units.from_unit(edge) for edge in edges), None, count)
    if count is None:
        return Resolution(None)
    rows = np.asarray(channel.probabilities(corners), np.float64)
    chances = np.maximum((rows[1:] + rows[:-1]) / 2.0, np.finfo(np.float64).tiny)
    information = ((np.diff(rows, axis=0) / gaps[:, None]) ** 2 / chances).sum(axis=1)
    least = float(information.min())
    apart = math.sqrt(_CHI_SQUARE / least / count) if least > 0.0 else math.inf
    return Resolution(None, min(apart, 2.0) * units.half_width, count)
