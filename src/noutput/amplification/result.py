"""Guarantee of published counts: what is claimed, to whom, and how it was proven."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

__all__ = ["PublishedPrivacy", "round_up"]


def round_up(value: float, digits: int = 3) -> str:
    """Return a positive number as text with a few digits, never below the number.

    Examples
    --------
    >>> round_up(0.0443521), round_up(1e-8), round_up(4.0), round_up(0.0)
    ('0.0444', '1e-08', '4', '0')
    """
    if value <= 0.0 or not math.isfinite(value):
        return f"{value:g}"
    text = f"{value:.{digits}g}"
    if float(text) < value:
        unit = 10.0 ** (math.floor(math.log10(value)) - digits + 1)
        text = f"{float(text) + unit:.{digits}g}"
    return text


@dataclass(frozen=True)
class PublishedPrivacy:
    r"""Central guarantee of published counts of reports: (epsilon, delta), with its certificate.

    Attributes
    ----------
    epsilon, delta : float
        Whatever set of counts somebody looks at, its probability changes by at most a factor of
        :math:`e^\epsilon` and a summand delta if one person's value is replaced by another. Both
        are upper bounds.
    reports : int
        How many reports are counted together, the person's own included. All must be drawn as the
        table says: reports of people who forge or reveal theirs do not count.
    local_epsilon : float
        The loss of a report itself, which holds against the collector.
    method : str
        ``"normal"``, ``"lattice"``, or ``"local"`` where nothing below 99% of the local epsilon
        was proven: then epsilon is the local one, and delta is 0.
    rows : pair of int
        The rows of the table that need this epsilon: the worst two inputs.
    gamma : float
        The share of a report that does not depend on the value.
    tilt : float
        Lambda of the exponential tilt.
    lattice : int
        Points of the lattice, 0 where there is none.
    step : float
        Its step.
    errors : dict
        Parts of delta that bound the errors of the numerical steps. They are included in delta.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.design(1.0, 16, "worst").mechanism
    >>> found = no.published_privacy(m, reports=1_000_000, delta=1e-8)
    >>> found.amplified, found.method, sorted(found.rows), sorted(found.errors)
    (True, 'normal', [0, 15], ['normal'])
    >>> print(found.for_operator)
    Who sees the single reports, as the operator of the collector does, ... epsilon 1 ...
    >>> print(found.for_readers)
    Who sees only the published counts ... epsilon 0.00496 ... 1e-08, ... 999,999 others ...
    >>> found.to_dict()["reports"]
    1000000
    """

    epsilon: float
    delta: float
    reports: int
    local_epsilon: float
    method: str
    rows: tuple[int, int]
    gamma: float
    tilt: float = 0.0
    lattice: int = 0
    step: float = 0.0
    errors: dict[str, float] = field(default_factory=dict)

    @property
    def amplified(self) -> bool:
        """Whether the counts are proven to reveal less than a report does."""
        return self.epsilon < self.local_epsilon

    @property
    def for_operator(self) -> str:
        """What holds against whoever sees single reports."""
        return (
            "Who sees the single reports, as the operator of the collector does, learns at most "
            f"epsilon {round_up(self.local_epsilon)} about one person, without exception."
        )

    @property
    def for_readers(self) -> str:
        """What holds against whoever sees the published counts only."""
        others = f"{self.reports - 1:,} others"
        if not self.amplified:
            return (
                f"Who sees only the published counts of {self.reports:,} reports learns at most "
                f"the same, epsilon {round_up(self.epsilon)}: so few reports hide nobody."
            )
        return (
            "Who sees only the published counts learns at most "
            f"epsilon {round_up(self.epsilon)} about one person, except with probability "
            f"{round_up(self.delta)}, if at least {others} answered honestly and neither ids nor "
            "times nor the order of reports are published."
        )

    def to_dict(self) -> dict[str, object]:
        """Return all parts, for JSON."""
        return {
            "epsilon": self.epsilon,
            "delta": self.delta,
            "reports": self.reports,
            "local_epsilon": self.local_epsilon,
            "method": self.method,
            "rows": list(self.rows),
            "gamma": self.gamma,
            "lattice": self.lattice,
            "step": self.step,
            "tilt": self.tilt,
            "errors": dict(self.errors),
        }
