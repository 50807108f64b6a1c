"""Comparison of groups of people: differences of means, and means for a known population."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from itertools import combinations
from typing import TYPE_CHECKING, Any

from scipy.special import ndtr
from scipy.stats import studentized_range

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.differences import SPLITS, split_difference
from noutput.estimate.mean_scores import half_width
from noutput.estimate.possible import possible_ends

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.estimate.mean import MeanEstimate

__all__ = ["GroupDifference", "StandardizedMean", "compare_groups", "standardize"]

_SMALLEST_TOTAL = 1e-12
_MOST_SPLIT = 12  # groups whose thresholds are split: each takes 8 intervals


@dataclass(frozen=True, slots=True)
class GroupDifference:
    """Difference of the means of two groups: the first less the second.

    Parameters
    ----------
    first, second : str
        The groups' names.
    value, standard_error : float
    low, high : float
        The ends of its interval, which covers together with those of all other pairs.

    Examples
    --------
    >>> GroupDifference("ios", "web", 1.2, 0.3, 0.6, 1.8).is_clear
    True
    """

    first: str
    second: str
    value: float
    standard_error: float
    low: float
    high: float

    @property
    def is_clear(self) -> bool:
        """Whether the interval leaves out 0: the means differ."""
        return self.low > 0.0 or self.high < 0.0


@dataclass(frozen=True, slots=True)
class StandardizedMean:
    """Mean of a population with known shares of the groups.

    Parameters
    ----------
    value, standard_error, bias_bound : float
        As in `MeanEstimate`.
    parts : tuple of (float, MeanEstimate)
        The share and the estimate of every group.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> mean = no.estimate_mean(m, no.Tally(m.fingerprint, (4_000, 6_000)), (0, 10))
    >>> found = no.standardize({"young": mean, "old": mean}, {"young": 1, "old": 1})
    >>> [round(end, 2) for end in found.interval()]
    [6.86, 7.14]
    """

    value: float
    standard_error: float
    bias_bound: float
    parts: tuple[tuple[float, MeanEstimate], ...]

    def interval(self, level: float = 0.95, *, kind: str = "normal") -> tuple[float, float]:
        """Return a confidence interval for the mean of the population.

        Parameters
        ----------
        level : float
        kind : {"normal", "guaranteed"}
            As in `MeanEstimate.interval`. Guaranteed intervals, and those of groups whose
            estimates are slack intervals, are the weighted sums of the groups' own, each at the
            level :math:`1 - (1 - level) / k`, so that all k hold together.
        """
        _checks.inner_share("level", level)
        _checks.choice("kind", kind, ("normal", "guaranteed"))
        together = [estimate for _, estimate in self.parts]
        if kind == "normal" and not any(each.slack for each in together):
            half = half_width(self.standard_error, self.bias_bound, level)
            low, high = self.value - half, self.value + half
            low, high = map(float, possible_ends(self.value, low, high, *self._limits))
            return low, high
        each_level = 1.0 - (1.0 - level) / len(self.parts)
        ends = [
            (share * low, share * high)
            for share, estimate in self.parts
            for low, high in (estimate.interval(each_level, kind=kind),)
        ]
        return math.fsum(low for low, _ in ends), math.fsum(high for _, high in ends)

    @property
    def _limits(self) -> tuple[float, float]:
        """Where the mean can be."""
        bounds = [(share, _range(estimate)) for share, estimate in self.parts]
        return (
            math.fsum(share * low for share, (low, _) in bounds),
            math.fsum(share * high for share, (_, high) in bounds),
        )


def compare_groups(
    groups: Mapping[str, MeanEstimate], *, level: float = 0.95, reference: str | None = None
) -> list[GroupDifference]:
    r"""Return the differences of means between groups, with simultaneous intervals.

    Parameters
    ----------
    groups : mapping of str to MeanEstimate
        Groups of different people.
    level : float
        The chance that all intervals cover together.
    reference : str, optional
        The group that all others are compared with; all pairs are if not given.

    Notes
    -----
    The intervals of unbiased estimates are those of Tukey and Kramer with the known noise: half
    widths of :math:`q / \sqrt 2` standard errors of the difference, with the quantile q of the
    range of k normal numbers, which are conservative for unequal groups (Hayter, 1984,
    10.1214/aos/1176346392). The bias bounds of nearly unbiased ones are added up, and allowed for
    as in `MeanEstimate.interval`.

    Where all estimates are slack intervals, of 12 groups at most, both groups of a pair share one
    threshold (`noutput.estimate.differences`), at the level :math:`1 - (1 - level) / p` for p
    pairs. Where some are, or of more groups, all differences are those of the groups' own
    intervals, each at the level :math:`1 - (1 - level) / k`.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> counts = {"ios": (4_000, 6_000), "android": (4_600, 5_400), "web": (4_590, 5_410)}
    >>> groups = {
    ...     name: no.estimate_mean(m, no.Tally(m.fingerprint, each), (0, 10))
    ...     for name, each in counts.items()
    ... }
    >>> for each in no.compare_groups(groups):
    ...     print(each.first, each.second, round(each.value, 2), each.is_clear)
    ios android 1.2 True
    ios web 1.18 True
    android web -0.02 False
    """
    _checks.inner_share("level", level)
    if len(groups) < 2:
        raise InvalidArgumentError("groups", "be at least two", len(groups))
    if reference is not None and reference not in groups:
        raise InvalidArgumentError("reference", f"be one of {sorted(groups)}", reference)
    if reference is None:
        pairs = list(combinations(groups, 2))
    else:
        pairs = [(name, reference) for name in groups if name != reference]
    if any(each.slack for each in groups.values()):
        by_splits = _by_splits(groups, pairs, 1.0 - (1.0 - level) / len(pairs))
        if by_splits is not None:
            return by_splits
        return _by_own_intervals(groups, pairs, 1.0 - (1.0 - level) / len(groups))
    pair_level = _pair_level(level, len(groups))
    return [_difference(groups, *pair, pair_level) for pair in pairs]


def standardize(
    groups: Mapping[str, MeanEstimate], shares: Mapping[str, float]
) -> StandardizedMean:
    """Return the mean of a population whose shares of the groups are known.

    Parameters
    ----------
    groups : mapping of str to MeanEstimate
    shares : mapping of str to float
        The share of the population in every group, or numbers proportional to it, such as how
        many people there are; 0 for a group that is not to count. Its names are those of the
        groups.

    Notes
    -----
    People who report are no random sample: where iPhones report more often, their mean counts
    for more. Weighting each group's mean with its known share corrects what the groups differ in
    (post-stratification), and nothing else.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> groups = {
    ...     "young": no.estimate_mean(m, no.Tally(m.fingerprint, (4_000, 6_000)), (0, 10)),
    ...     "old": no.estimate_mean(m, no.Tally(m.fingerprint, (500, 500)), (0, 10)),
    ... }
    >>> mean = no.standardize(groups, {"young": 1, "old": 3})
    >>> mean.value, round(mean.standard_error, 3)
    (5.5, 0.239)
    """
    if set(groups) != set(shares):
        different = sorted(set(groups) ^ set(shares))
        raise InvalidArgumentError("shares", f"have the names {sorted(groups)}", different)
    for name, share in shares.items():
        if not (math.isfinite(share) and share >= 0.0):
            raise InvalidArgumentError(f"shares[{name!r}]", "be finite and at least 0", share)
    total = math.fsum(shares.values())
    if not total > _SMALLEST_TOTAL:
        raise InvalidArgumentError("shares", "add up to more than 0", total)
    parts = tuple((shares[name] / total, each) for name, each in groups.items())
    return StandardizedMean(
        math.fsum(share * each.value for share, each in parts),
        math.hypot(*(share * each.standard_error for share, each in parts)),
        math.fsum(share * each.bias_bound for share, each in parts),
        tuple(part for part in parts if part[0] > 0.0),
    )


@lru_cache(maxsize=256)
def _pair_level(level: float, groups: int) -> float:
    """Return the level of one pair at which the intervals of all pairs hold together."""
    if groups == 2:
        return level
    quantile = float(studentized_range.ppf(level, groups, math.inf)) / math.sqrt(2.0)
    return float(1.0 - 2.0 * ndtr(-quantile))


def _difference(
    groups: Mapping[str, MeanEstimate], first: str, second: str, level: float
) -> GroupDifference:
    one, other = groups[first], groups[second]
    value = one.value - other.value
    error = math.hypot(one.standard_error, other.standard_error)
    half = half_width(error, one.bias_bound + other.bias_bound, level)
    (lower, upper), (other_lower, other_upper) = _range(one), _range(other)
    limits = lower - other_upper, upper - other_lower
    low, high = possible_ends(value, value - half, value + half, *limits)
    return GroupDifference(first, second, value, error, float(low), float(high))


def _range(estimate: MeanEstimate) -> tuple[float, float]:
    """Return the smallest and the largest mean that there can be."""
    if estimate.bounds is None:
        return -math.inf, math.inf
    return estimate.bounds.lower, estimate.bounds.upper


def _by_splits(
    groups: Mapping[str, MeanEstimate], pairs: list[tuple[str, str]], level: float
) -> list[GroupDifference] | None:
    """Return differences of pairs that share one threshold; None where there is none."""
    if len(groups) > _MOST_SPLIT or not all(each.slack for each in groups.values()):
        return None
    ends: dict[str, Array] = {}
    for name, each in groups.items():
        found = None if each.slack is None else each.slack.split(level, SPLITS)
        if found is None:
            return None
        ends[name] = found
    return [
        _slack_difference(groups, pair, split_difference(ends[pair[0]], ends[pair[1]]))
        for pair in pairs
    ]


def _by_own_intervals(
    groups: Mapping[str, MeanEstimate], pairs: list[tuple[str, str]], level: float
) -> list[GroupDifference]:
    ends = {name: each.interval(level) for name, each in groups.items()}
    return [
        _slack_difference(
            groups,
            (first, second),
            (ends[first][0] - ends[second][1], ends[first][1] - ends[second][0]),
        )
        for first, second in pairs
    ]


def _slack_difference(
    groups: Mapping[str, MeanEstimate], pair: tuple[str, str], ends: tuple[Any, Any]
) -> GroupDifference:
    one, other = (groups[name] for name in pair)
    error = math.hypot(one.standard_error, other.standard_error)
    return GroupDifference(*pair, one.value - other.value, error, float(ends[0]), float(ends[1]))
