"""Strata: the rounds and combinations of labels that a campaign's reports are counted by."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from noutput.campaign.campaign import Campaign
    from noutput.campaign.segments import Segments

__all__ = ["NOT_TOLD", "Selection", "Strata"]

NOT_TOLD = ""  # in place of a label

Longs: TypeAlias = np.ndarray[Any, np.dtype[np.int64]]
Mask: TypeAlias = np.ndarray[Any, np.dtype[np.bool_]]


@dataclass(frozen=True, slots=True)
class Strata:
    """Numbers of rounds and combinations of labels.

    Parameters
    ----------
    rounds : int
        How many rounds there are; 1 without a schedule.
    segments : Segments, optional
        The labels.

    Notes
    -----
    All combinations of a round come before those of the next. Two more kinds of strata have reports
    that were counted elsewhere, and are published (`noutput.collector.publishing`): with segments,
    the one after the combinations of a round has those *without labels*, and where there are
    several rounds, the last stratum has those *without labels and rounds*. They are no combination:
    who tells no label has the combination 0, and its label is "not told".

    Examples
    --------
    >>> from noutput.campaign.segments import Segments
    >>> strata = Strata(rounds=4, segments=Segments({"platform": ("ios", "android")}))
    >>> strata.combinations, strata.size, strata.number(2, 1), strata.number(2, 3)
    (3, 20, 9, 11)
    >>> strata.are_counted(np.array([9, 11, 19])).tolist()
    [True, False, False]
    >>> Strata().size
    1
    """

    rounds: int = 1
    segments: Segments | None = None

    @classmethod
    def of(cls, campaign: Campaign) -> Strata:
        """Return the strata of a campaign."""
        return cls(campaign.n_rounds, campaign.segments)

    @property
    def combinations(self) -> int:
        """How many combinations of labels a round has."""
        return 1 if self.segments is None else self.segments.n_combinations

    @property
    def each(self) -> int:
        """How many strata a round has."""
        return self.combinations + (self.segments is not None)

    @property
    def size(self) -> int:
        """How many strata there are."""
        return (self.rounds + (self.rounds > 1)) * self.each

    def number(self, round_number: int, combination: int) -> int:
        """Return the stratum of a combination in a round."""
        return round_number * self.each + combination

    def renumbered(self, stratum: int) -> int:
        """Return a stratum as it is numbered here, of one that `Campaign.stratum` numbers."""
        return stratum if self.segments is None else stratum + stratum // self.combinations

    def numbers(self, strata: Longs) -> Longs:
        """Return many strata as `renumbered` does."""
        return strata if self.segments is None else strata + strata // self.combinations

    def rounds_of(self, strata: Longs) -> Longs:
        """Return the rounds of strata; one more than the last is that of no round."""
        return strata // self.each

    def combinations_of(self, strata: Longs) -> Longs:
        """Return the combinations of strata; one more than the last is that of no labels."""
        return strata % self.each

    def are_counted(self, strata: Longs) -> Mask:
        """Say of strata whether reports are counted in them, and not only published."""
        labeled = self.combinations_of(strata) < self.combinations
        return labeled & (self.rounds_of(strata) < self.rounds)


@dataclass(frozen=True, slots=True)
class Selection:
    """Which strata are put together: those with some labels, in some rounds.

    Parameters
    ----------
    labels : tuple of (str, str)
        Name and label of segments, an empty label for those who did not tell; all reports,
        also those without labels, if not given.
    rounds : (int, int), optional
        The first and the last round; all, if not given.

    Examples
    --------
    >>> from noutput.campaign.segments import Segments
    >>> strata = Strata(2, Segments({"platform": ("ios", "web"), "plan": ("free", "paid")}))
    >>> Selection((("platform", "web"),), (1, 1)).has(strata, np.arange(20)).nonzero()[0]
    array([16, 17, 18])
    """

    labels: tuple[tuple[str, str], ...] = ()
    rounds: tuple[int, int] | None = None

    @classmethod
    def read(
        cls, segments: Segments | None, labels: Iterable[str], rounds: str | None, n_rounds: int
    ) -> Selection:
        """Read what is asked for: labels such as "platform:ios", rounds such as "3-7" or "3".

        Raises
        ------
        InvalidArgumentError
            If the campaign has no such label or round.
        """
        return cls(tuple(sorted(_labels(segments, labels).items())), _rounds(rounds, n_rounds))

    def __bool__(self) -> bool:
        return bool(self.labels) or self.rounds is not None

    @property
    def text(self) -> str:
        """What is selected, in words."""
        told = [f"{name} {label or 'not told'}" for name, label in self.labels]
        if self.rounds is not None:
            first, last = self.rounds
            told.append(f"round {first}" if first == last else f"rounds {first} to {last}")
        return ", ".join(told) or "all"

    def has(self, strata: Strata, numbers: Longs) -> Mask:
        """Say which strata are selected."""
        kept = np.ones(len(numbers), np.bool_)
        if self.rounds is not None:
            rounds = strata.rounds_of(numbers)
            kept &= (self.rounds[0] <= rounds) & (rounds <= self.rounds[1])
        if self.labels and strata.segments is not None:
            combinations = strata.combinations_of(numbers)
            kept &= combinations < strata.combinations
            kept &= self._combinations(strata.segments)[
                np.minimum(combinations, strata.combinations - 1)
            ]
        return kept

    def _combinations(self, segments: Segments) -> Mask:
        """Say which combinations have the labels."""
        wanted = dict(self.labels)
        found = np.ones(1, np.bool_)
        for name, labels in segments.names:
            digits = np.ones(len(labels) + 1, np.bool_)
            if name in wanted:
                digits[:] = False
                digits[1 + labels.index(wanted[name]) if wanted[name] else 0] = True
            found = np.logical_and.outer(found, digits).ravel()
        return found


def _labels(segments: Segments | None, labels: Iterable[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    known = {} if segments is None else dict(segments.names)
    for each in labels:
        name, _, label = each.partition(":")
        if name not in known:
            rule = f"be one of {', '.join(known)}, a colon and a label" if known else "be absent"
            raise InvalidArgumentError("segment", rule, each[:100])
        if label not in (NOT_TOLD, *known[name]):
            rule = f"be a label of {name}: {', '.join(known[name])}, or nothing for not told"
            raise InvalidArgumentError("segment", rule, each[:100])
        if found.setdefault(name, label) != label:
            raise InvalidArgumentError("segment", f"name {name} once", each[:100])
    return found


def _rounds(rounds: str | None, n_rounds: int) -> tuple[int, int] | None:
    if rounds is None:
        return None
    first, dash, last = rounds.partition("-")
    rule = f"be the number of a round, or of two with - between them, from 0 to {n_rounds - 1}"
    if not (_is_number(first) and (_is_number(last) if dash else True)):
        raise InvalidArgumentError("rounds", rule, rounds[:100])
    pair = int(first), int(last) if dash else int(first)
    if not 0 <= pair[0] <= pair[1] < n_rounds:
        raise InvalidArgumentError("rounds", rule, rounds[:100])
    return pair


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit() and len(text) <= 4
