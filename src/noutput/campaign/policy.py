"""Policy: what a person allows, whatever a campaign asks for."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass

from noutput import _checks
from noutput._text import check_name
from noutput.errors import InvalidArgumentError, PolicyError

__all__ = ["Policy"]

_DAY = 86_400.0
_ROUNDING = 1.0 + 2.0**-40  # of a sum of decimal fractions: 0.1 + 0.2 is within 0.3


@dataclass(frozen=True, slots=True)
class Policy:
    r"""How much privacy loss a person allows.

    Parameters
    ----------
    epsilon : float
        The largest loss by one campaign: of the report, or of all reports where it asks all of
        its questions. Of a campaign with a schedule, the largest loss per period of it.
    total : float
        The largest sum of losses in any `days` days, over all campaigns.
    days : float
        The length of the period.
    segments : collection of str
        The names of the segments whose labels may leave the device. Labels are not protected; by
        default, none leaves.
    new_roots : bool
        Whether a campaign may be answered whose id the ledger knows by another root. That is right
        where the operator has made the campaign anew; but whoever hands out several documents under
        one id gets several answers of a person, and can tell that they belong together.

    Notes
    -----
    Losses add up: :math:`k` reports about the same person with losses
    :math:`\epsilon_1, \dots, \epsilon_k` together satisfy
    :math:`\sum_j \epsilon_j`-local differential privacy.

    Examples
    --------
    >>> Policy(days=30).seconds, Policy(epsilon=1.0).cost(0.5)
    (2592000.0, 0.5)
    >>> Policy(epsilon=1.0, total=2.0, days=30).check([1.0], 1.0)
    >>> Policy(epsilon=1.0, total=2.0, days=30).check([1.0, 1.0], 1.0)
    Traceback (most recent call last):
        ...
    noutput.errors.PolicyError: the policy allows a total epsilon of 2 in 30 days; 2 of it ...
    """

    epsilon: float = 1.0
    total: float = 4.0
    days: float = 30.0
    segments: Set[str] = frozenset()
    new_roots: bool = False

    def __post_init__(self) -> None:
        for name in ("epsilon", "total", "days"):
            object.__setattr__(self, name, _checks.positive(name, getattr(self, name)))
        found: object = self.segments
        if not isinstance(found, Set | Sequence) or isinstance(found, str):
            raise InvalidArgumentError("segments", "be a set of names", found)
        names = frozenset(check_name("segments", name) for name in found)
        object.__setattr__(self, "segments", names)

    @property
    def seconds(self) -> float:
        """The length of the period in seconds."""
        return self.days * _DAY

    def cost(self, claimed: float, answers: int = 1) -> float:
        """Return what answering a campaign costs: the smaller of two proven bounds of its loss.

        Where a device answers several times per period, `epsilon` bounds all of these together.
        """
        return min(claimed, self.epsilon / answers)

    def allows(self, losses: Iterable[float]) -> bool:
        """Say whether the sum of these losses is within `epsilon`, without any rounding.

        Examples
        --------
        >>> Policy(epsilon=1.0).allows([0.5, 0.5]), Policy(epsilon=1.0).allows([0.5, 0.51])
        (True, False)
        """
        return math.fsum([*losses, -self.epsilon]) <= 0.0  # the sign of an exact sum

    def check(self, spent: Iterable[float], cost: float) -> None:
        """Raise `PolicyError` where answering would exceed the period's total."""
        before = math.fsum(spent)
        if before + cost > self.total * _ROUNDING:
            raise PolicyError(
                f"the policy allows a total epsilon of {self.total:g} in {self.days:g} days; "
                f"{before:g} of it is spent, and this campaign costs {cost:g}"
            )
