"""Evidence: reports of several tables about one population."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias, cast

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.counts import check_tally, check_unit, on_unit
from noutput.estimate.stacked import Layer, StackedChannel
from noutput.estimate.stacked_answers import StackedAnswers
from noutput.interval import UNIT, Interval, IntervalLike, as_interval, scale_to_unit
from noutput.mechanisms.answers import AnswerMechanism
from noutput.mechanisms.base import check_channel
from noutput.tally import Tally

if TYPE_CHECKING:
    from noutput.mechanisms.base import CellModel, Channel

__all__ = ["Evidence", "Part", "PartLike", "unpacked"]

_TRIPLE = "be (mechanism, tally, bounds), with bounds such as (0, 100), or None for answers"


class Part(NamedTuple):
    """Reports of one table.

    Parameters
    ----------
    mechanism : Channel or AnswerMechanism
        What made the reports.
    tally : Tally
        Their counts. It may be empty.
    bounds : Interval
        The units of the table's inputs: numbers beyond were moved to the nearer end. Answers have
        no units: [-1, 1] stands in their place.
    """

    mechanism: Channel
    tally: Tally
    bounds: Interval


PartLike: TypeAlias = Part | tuple[Any, Tally, IntervalLike | None]


@dataclass(frozen=True, init=False)
class Evidence:
    """Reports of several tables about one population, such as the waves of a campaign.

    Parameters
    ----------
    parts : sequence of (mechanism, tally, bounds)
        At least one. The bounds are those that the part's devices clip numbers to, in the units
        that all parts share; None for answers, which have none, and of which all parts have the
        same number. Parts with the same table and bounds become one.
    choices : int
        Where the tables or bounds of later parts were chosen by the counts of earlier ones: how
        many choices there were. Guaranteed intervals allow for all of them.

    Attributes
    ----------
    parts : tuple of Part

    Notes
    -----
    Every estimator takes evidence in place of a mechanism, a tally and bounds. That of one part
    gives the results of the part. Several parts are a stacked table, whose likelihood is that of
    all parts together: see `noutput.estimate.stacked`. All people are taken to be drawn from one
    population, whichever part they are in; `goodness_of_fit` notices where they are not.

    Numbers beyond a part's bounds count as its ends in that part, and the stacked table says so:
    nothing is lost by clipping, but only parts with wider bounds tell how far beyond they are.

    Examples
    --------
    >>> import numpy as np, noutput as no
    >>> m, rng = no.design(1.0, 16).mechanism, np.random.default_rng(7)
    >>> minutes = rng.gamma(4.0, 10.0, 20_000)  # nobody knew that few exceed 120
    >>> wide, narrow = no.Interval(0, 600), no.Interval(0, 120)
    >>> first = no.Tally.of(m, m.privatize(wide.to_unit(minutes[:4_000], clip=True), rng))
    >>> rest = no.Tally.of(m, m.privatize(narrow.to_unit(minutes[4_000:], clip=True), rng))
    >>> both = Evidence([(m, first, wide), (m, rest, narrow)])
    >>> both.total, both.bounds, len(both.parts)
    (20000, Interval(lower=0.0, upper=600.0), 2)
    >>> found = no.estimate_mean(both)
    >>> bool(abs(found.value - minutes.mean()) < 2.0)
    True
    >>> low, high = found.interval()
    >>> bool(low < minutes.mean() < high)
    True
    >>> no.estimate_distribution(both, bins=120).quantile(0.5) < 60.0
    True

    Evidence adds up:

    >>> Evidence([(m, first, wide)]) + Evidence([(m, rest, narrow)]) == both
    True

    Ratings, choices and yes/no of several tables:

    >>> low, high = (no.design(epsilon, answers=[1, 2, 3]).mechanism for epsilon in (1.0, 2.0))
    >>> tallies = [no.Tally.of(each, each.privatize([0, 1, 2] * 500)) for each in (low, high)]
    >>> stars = Evidence([(low, tallies[0], None), (high, tallies[1], None)])
    >>> no.estimate_answers(stars, question=no.Scale(1, 2, 3)).n_reports, stars.has_answers
    (3000, True)

    The stacked table has the outputs of both:

    >>> both.channel.n_cells, len(both.tally.counts)
    (32, 32)
    """

    parts: tuple[Part, ...]
    choices: int

    def __init__(self, parts: Iterable[PartLike], *, choices: int = 1) -> None:
        merged: dict[tuple[str, Interval], Part] = {}
        for index, given in enumerate(_listed(parts)):
            part = _checked(f"parts[{index}]", given)
            key = part.mechanism.fingerprint, part.bounds
            known = merged.get(key)
            merged[key] = part if known is None else part._replace(tally=known.tally + part.tally)
        if not merged:
            raise InvalidArgumentError("parts", "have at least one part", [])
        _check_alike([part.mechanism for part in merged.values()])
        object.__setattr__(self, "parts", tuple(merged.values()))
        object.__setattr__(self, "choices", _checks.whole("choices", choices, 1, 1 << 62))

    def __add__(self, other: Evidence) -> Evidence:
        if not isinstance(other, Evidence):
            return NotImplemented
        given = [
            (part.mechanism, part.tally, None if each.has_answers else part.bounds)
            for each in (self, other)
            for part in each.parts
        ]
        return Evidence(given, choices=self.choices * other.choices)

    @cached_property
    def bounds(self) -> Interval:
        """Where people's numbers lie: from the smallest lower to the largest upper bound."""
        lower = min(part.bounds.lower for part in self.parts)
        return Interval(lower, max(part.bounds.upper for part in self.parts))

    @property
    def has_answers(self) -> bool:
        """Whether the reports are about a question with answers, not about a number."""
        return isinstance(self.parts[0].mechanism, AnswerMechanism)

    @cached_property
    def total(self) -> int:
        """How many reports all parts have."""
        return sum(part.tally.total for part in self.parts)

    @cached_property
    def _counted(self) -> tuple[Part, ...]:
        """The parts with reports, or the first one."""
        return tuple(part for part in self.parts if part.tally.total) or self.parts[:1]

    @cached_property
    def channel(self) -> CellModel:
        """What made the counts of `tally`: the mechanism of a single part, or a stacked table."""
        counted, bounds = self._counted, self.bounds
        if self.has_answers and len(counted) > 1:
            made = [(cast("Any", part.mechanism), part.tally.total) for part in counted]
            return cast("CellModel", StackedAnswers(made))
        if len(counted) == 1 and (counted[0].bounds == bounds or not self.total):
            return counted[0].mechanism
        layers = []
        for part in counted:
            ends = scale_to_unit(np.array([part.bounds.lower, part.bounds.upper]), bounds).tolist()
            layers.append(Layer(part.mechanism, ends[0], ends[1], part.tally.total))
        return StackedChannel(layers, self.choices)

    @cached_property
    def tally(self) -> Tally:
        """The counts of all parts with reports, one after the other."""
        if not isinstance(self.channel, StackedChannel | StackedAnswers):
            return self._counted[0].tally
        counts = [count for part in self._counted for count in part.tally.counts]
        return Tally(self.channel.fingerprint, tuple(counts))


def unpacked(
    mechanism: Any, tally: object, bounds: IntervalLike = UNIT
) -> tuple[Any, Any, Interval]:
    """Return what made the reports, their counts and the bounds, of evidence or as they are.

    Raises
    ------
    InvalidArgumentError
        If a tally or bounds are given besides evidence, which has its own.
    """
    if not isinstance(mechanism, Evidence):
        units = as_interval(bounds)
        return on_unit(mechanism, units), tally, units
    if tally is not None:
        rule = "be left out: the evidence has tallies of its own"
        raise InvalidArgumentError("tally", rule, type(tally).__name__)
    if bounds is not UNIT:
        raise InvalidArgumentError("bounds", "be left out: the evidence has its own", bounds)
    return mechanism.channel, mechanism.tally, mechanism.bounds


def _listed(parts: Iterable[PartLike]) -> list[PartLike]:
    try:
        return list(parts)
    except TypeError:
        rule = "be a sequence of (mechanism, tally, bounds)"
        raise InvalidArgumentError("parts", rule, type(parts).__name__) from None


def _check_alike(mechanisms: list[Any]) -> None:
    """Refuse numbers beside answers, and questions with other numbers of answers."""
    sizes = [getattr(each, "n_answers", None) for each in mechanisms]
    if any(size != sizes[0] for size in sizes):
        told = ["numbers" if size is None else f"{size} answers" for size in sizes]
        rule = "all be about numbers, or about a question with as many answers"
        raise InvalidArgumentError("parts", rule, told)


def _checked(name: str, given: object) -> Part:
    """Return a part; a design stands for its mechanism."""
    if not isinstance(given, tuple | list) or len(given) != 3:
        raise InvalidArgumentError(name, _TRIPLE, given)
    mechanism, tally, bounds = given
    mechanism = getattr(mechanism, "mechanism", mechanism)
    if isinstance(mechanism, AnswerMechanism):
        if bounds is not None:
            raise InvalidArgumentError(f"{name}.bounds", "be None for answers", bounds)
        check_tally(mechanism, tally, mechanism.n_outputs)
        return Part(cast("Channel", mechanism), tally, UNIT)
    check_channel(mechanism, "fingerprint", "n_cells", "probabilities", "corners", "transition")
    units = as_interval(bounds, f"{name}.bounds")
    channel = cast("Channel", on_unit(mechanism, units))
    check_unit(channel)
    check_tally(channel, tally, channel.n_cells)
    return Part(channel, tally, units)
