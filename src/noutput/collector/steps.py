"""Steps: when the next counts of a question are published."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from noutput import _checks
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from noutput.campaign.segments import Segments

__all__ = ["Steps"]

_LARGEST = 10**12


@dataclass(frozen=True, slots=True)
class Steps:
    """How many new reports there must be between two published states of a question.

    Parameters
    ----------
    least : int
        The fewest, 500 by default.
    share : float
        The fewest as a share of the reports that are published already, a tenth by default: so
        steps grow with a campaign, and a billion reports are published in about 140 of them.

    Notes
    -----
    Whether a step is due depends on how many reports there are, never on what they say. The
    reports of a step are seen as counts of their own, the difference of two published states:
    what is promised to a person is what the counts of *their* step reveal, see
    ``docs/privacy.md``.

    Examples
    --------
    >>> steps = Steps()
    >>> steps.size(0), steps.size(5_000), steps.size(1_000_000)
    (500, 500, 100000)
    >>> Steps(1, 0.1).size(30)
    3
    >>> steps.is_due(1_000, 1_499, closed=False), steps.is_due(1_000, 1_500, closed=False)
    (False, True)
    """

    least: int = 500
    share: float = 0.1

    def __post_init__(self) -> None:
        _checks.whole("least", self.least, 1, _LARGEST)
        if not 0.0 <= _checks.finite("share", self.share) <= 1.0:
            raise InvalidArgumentError("share", "lie between 0 and 1", self.share)

    def at_least(self, segments: Segments | None) -> int:
        """Return how many reports every step of a campaign has: with labels, their minimum, too.

        Examples
        --------
        >>> from noutput.campaign.segments import Segments
        >>> platforms = {"platform": ("ios", "android")}
        >>> [Steps().at_least(Segments(platforms, minimum)) for minimum in (100, 2_000)]
        [500, 2000]
        """
        return self.least if segments is None else max(self.least, segments.minimum)

    def size(self, published: int) -> int:
        """Return how many new reports the next step has at least."""
        return max(self.least, math.ceil(round(self.share * published, 6)))

    def is_due(self, published: int, counted: int, *, closed: bool, beside: int = 0) -> bool:
        """Say whether the next step is complete.

        After the campaign was closed, a last step needs the fewest reports, whatever the share.
        Where nothing was published before, neither of this wave nor `beside` it, all reports are
        one step, however few they are.
        """
        new = counted - published
        if closed:
            return new >= (self.least if published or beside else 1)
        return new >= self.size(published)
