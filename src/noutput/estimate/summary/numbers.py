"""Summary of a number: mean, variance, quantiles and distribution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from itertools import pairwise
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from noutput import _checks
from noutput._numbers import round_bins, show, tick_labels
from noutput._progress import shown_progress
from noutput.estimate.answers.scores import closest_within
from noutput.estimate.choices import DEFAULT_METHOD, QUARTILES
from noutput.estimate.distribution import DistributionEstimate, estimate_distribution
from noutput.estimate.evidence import Evidence, unpacked
from noutput.estimate.goodness import check_possible
from noutput.estimate.intervals import Intervals
from noutput.estimate.mean import MeanEstimate, estimate_mean
from noutput.estimate.summary.bars import bar_edges, edges_within, told_apart
from noutput.estimate.summary.figure import Bar, Estimate, Histogram
from noutput.estimate.summary.shown import CERTAIN, Shown, forged_words, without_intervals
from noutput.estimate.variance import lead_bounds, variance_within
from noutput.interval import Interval

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from noutput.estimate.counts import Array
    from noutput.estimate.evidence import Part
    from noutput.mechanisms.table import TableMechanism
    from noutput.questions import Number
    from noutput.tally import Tally

__all__ = ["SHARES", "Summary", "number_summaries"]

SHARES = (0.05, 0.25, 0.5, 0.75, 0.95)
_NEARLY_ALL = 0.9  # of all that is possible: an interval as wide tells nothing


@dataclass(frozen=True, eq=False, repr=False)
class Summary(Shown):
    """Everything that is shown about the numbers of one group of people.

    Parameters
    ----------
    question : Number
    epsilon : float
    mean_estimate : MeanEstimate
    distribution : DistributionEstimate
    level : float
        The level of every interval on its own.
    intervals : Intervals
        Those of that level.
    parts : tuple of Part
        What the reports are of, where that is not one table alone.
    inner : Interval, optional
        Narrow bounds that most of the numbers were clipped to: see `lead_bounds`.

    Notes
    -----
    Figures are computed at first use. Values are those of the estimated distribution, moved into
    their intervals.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> way = no.Number(0, 10, "km")
    >>> found = no.summarize(m, no.Tally(m.fingerprint, (4_000, 6_000)), way, bins=8)
    >>> found.reports, found.mean.texts, found.lines["Mean"]
    (10000, ('7.00', '6.81', '7.19'), ('7.00', '6.81', '7.19 km'))
    >>> list(found.figures)[:3], found.variance.low <= found.variance.value <= found.variance.high
    (['Mean', 'Variance', 'Standard deviation'], True)
    >>> found.standard_deviation.value == found.variance.value**0.5, list(found.quantiles)[:2]
    (True, [0.05, 0.25])

    The bars are as many as the reports can tell apart; `fine` has all bins:

    >>> [bar.label for bar in found.bars], len(found.coarse.edges), len(found.fine.edges)
    (['0 to 5', '5 to 10'], 3, 9)
    >>> found.records()[0]["statistic"]
    'mean'

    What forged reports could do, a bias where the table has one, and what nobody can tell:

    >>> found.goodness, found.forged, found.forgery, found.bias_text, found.outside_text
    (1.0, 100, 0.2, '', '')
    >>> found.unknown_text
    'These reports cannot tell the lower quartile: it may be nearly anything.'
    >>> found.notes == [
    ...     f"Forged reports: {found.forged_text}", found.unknown_text, found.assumption_text
    ... ]
    True
    >>> found.interval_kind, found.is_told, found.to_dict()["reports"]
    ('slack', True, 10000)
    >>> found.parts_text  # what tables the reports are of, where there are several
    ''
    """

    question: Number
    epsilon: float
    mean_estimate: MeanEstimate
    distribution: DistributionEstimate
    level: float
    intervals: Intervals
    parts: tuple[Part, ...] = ()
    inner: Interval | None = None

    @cached_property
    def mean(self) -> Estimate:
        """The mean, as `estimate_mean` has it; its interval is proven where all others are."""
        if self.interval_kind == "guaranteed":
            return Estimate(self.mean_estimate.value, *self.intervals.mean())
        return Estimate(self.mean_estimate.value, *self.mean_estimate.interval(self.level))

    @cached_property
    @shown_progress("Estimating")
    def variance(self) -> Estimate:
        """The variance; of numbers clipped as those of the mean, where these are."""
        found = self.distribution
        value = found.variance if self.inner is None else variance_within(found, self.inner)
        return Estimate(value, *self.intervals.variance()).inside

    @cached_property
    @shown_progress("Estimating")
    def quantiles(self) -> Mapping[float, Estimate]:
        """Quantiles by the share of people below, one per share of `SHARES`."""
        values = np.asarray(self.distribution.quantile(SHARES))
        columns = (each.tolist() for each in (values, *self.intervals.quantiles(SHARES)))
        rows = zip(SHARES, *columns, strict=True)
        return {share: Estimate(value, low, high).inside for share, value, low, high in rows}

    @cached_property
    @shown_progress("Estimating")
    def coarse(self) -> Histogram:
        """Wide bins, as many as can be told apart: see `noutput.estimate.summary.bars`."""
        edges, low, high = told_apart(self.intervals, _steps(self.distribution.bounds))
        shares = np.diff(np.asarray(self.distribution.cdf(edges)))
        return _histogram(edges, shares, low, high)

    @cached_property
    @shown_progress("Estimating")
    def _told(self) -> Histogram:
        """The coarse histogram, or where a part has narrow bounds that of these and what is beyond.

        Most of the people are within the bounds that a first wave or a pilot found.
        """
        bounds = self.distribution.bounds
        inner = _narrowest(self.parts)
        if inner is None or inner == bounds:
            return self.coarse
        steps = edges_within(_steps(inner), bounds.lower, bounds.upper)
        beyond = (inner.lower > bounds.lower) + (inner.upper < bounds.upper)
        edges, low, high = told_apart(self.intervals, steps, beyond)
        shares = np.diff(np.asarray(self.distribution.cdf(edges)))
        return _histogram(edges, shares, low, high)

    @cached_property
    def fine(self) -> Histogram:
        """The bins of the distribution, moved into their intervals."""
        found = self.distribution
        low, high = map(
            np.asarray, found.interval("bins", level=self.level, kind=self.interval_kind)
        )
        return _histogram(found.edges, found.probabilities, low, high)

    def cdf_interval(self, at: ArrayLike) -> tuple[Array, Array]:
        """Return the ends of the intervals for the shares of people below numbers.

        Examples
        --------
        >>> import noutput as no
        >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
        >>> found = no.summarize(m, no.Tally(m.fingerprint, (4_000, 6_000)), no.Number(0, 10))
        >>> low, high = found.cdf_interval([5.0])
        >>> bool(low[0] < 0.3 < high[0])
        True
        """
        low, high = self.distribution.interval("cdf", at, level=self.level, kind=self.interval_kind)
        return np.asarray(low), np.asarray(high)

    @property
    def reports(self) -> int:
        """How many reports were counted."""
        return self.mean_estimate.n_reports

    @property
    def figures(self) -> dict[str, Estimate]:
        """All figures by the names that people know."""
        return {
            "Mean": self.mean,
            "Variance": self.variance,
            "Standard deviation": self.standard_deviation,
            **{name: self.quantiles[share] for name, share in QUARTILES.items()},
        }

    @property
    def standard_deviation(self) -> Estimate:
        """The square root of the variance and of the ends of its interval."""
        found = self.variance
        return Estimate(found.value**0.5, found.low**0.5, found.high**0.5)

    @property
    def goodness(self) -> float:
        """How plausible the counts are if nobody forged a report: a p-value."""
        return self.distribution.p_value

    @property
    def forged(self) -> int:
        """One in a hundred reports, at least one."""
        return max(1, self.mean_estimate.n_reports // 100)

    @property
    def forgery(self) -> float:
        """How far the mean can have been moved if so many reports are forged."""
        return self.mean_estimate.poisoning_bound(self.forged)

    @property
    def forged_text(self) -> str:
        """What the test for forged reports says."""
        told = forged_words(self.goodness)
        if self.goodness < CERTAIN:
            return told
        some = "1%" if self.forged > 1 else "one forged report"
        return f"{told}; {some} could move the mean by {show(self.forgery)}"

    @property
    def parts_text(self) -> str:
        """A note on the tables that made the reports; empty where that is one alone."""
        if not self.parts:
            return ""
        told = [
            f"{part.tally.total:,} of {part.bounds.lower:g} to "
            f"{part.bounds.upper:g} (epsilon = {part.mechanism.epsilon:g})"
            for part in self.parts
        ]
        return f"Reports of {len(told)} tables: {', '.join(told)}."

    @property
    def bias_text(self) -> str:
        """A note on the bias of the mean; empty where its estimate is unbiased."""
        bias = self.mean_estimate.bias_bound
        if not bias:
            return ""
        return (
            "Note: the mean's estimate is nearly unbiased: on average it is off by at most "
            f"{show(bias)}, whatever the values are. Its interval allows for that."
        )

    @property
    def outside_text(self) -> str:
        """A note on a mean outside the bounds; empty where it lies inside."""
        if self.question.lower <= self.mean.value <= self.question.upper:
            return ""
        return (
            "Note: the mean's estimate lies outside the bounds, as chance has it with few reports: "
            "only so is it right on average. Its interval keeps to the bounds."
        )

    @property
    def interval_kind(self) -> str:
        """The kind of all intervals but the mean's: "slack", or "guaranteed"."""
        return self.intervals.kind

    @property
    def _mean_kind(self) -> str:
        """The kind of the mean's interval."""
        if self.interval_kind == "guaranteed":
            return "guaranteed"
        return "normal" if self.mean_estimate.slack is None else "slack"

    @property
    def _proven_mean(self) -> tuple[float, float]:
        """The guaranteed interval of the mean: the one that is shown, where it is of this kind."""
        if self.interval_kind == "guaranteed":
            return self.mean.low, self.mean.high
        return self.mean_estimate.interval(self.level, kind="guaranteed")

    @property
    def assumption_text(self) -> str:
        """What the intervals assume, as a sentence."""
        if self.interval_kind == "guaranteed":
            return "The intervals are proven for every distribution and every number of reports."
        return "The intervals hold whatever the distribution is."

    @property
    def unknown_text(self) -> str:
        """A note on what the reports cannot tell; empty where they tell something of all."""
        named = {name: self.quantiles[share] for name, share in QUARTILES.items()}
        wide = _NEARLY_ALL * 2.0 * self.distribution.bounds.half_width
        unknown = [f"the {name.lower()}" for name, each in named.items() if 2.0 * each.half >= wide]
        if not self.is_told:
            unknown.append("how the values are spread")
        if not unknown:
            return ""
        *first, last = unknown
        told = f"{', '.join(first)} and {last}" if first else last
        end = "it may be nearly anything" if not first else "they may be nearly anything"
        return f"These reports cannot tell {told}: {end}."

    @property
    def is_told(self) -> bool:
        """Whether the reports say anything about the shares of the fewest bars."""
        widths = np.subtract(self.coarse.upper, self.coarse.lower)
        return bool(widths.mean() < _NEARLY_ALL)

    @property
    def lines(self) -> dict[str, tuple[str, str, str]]:
        """Mean, standard deviation and quartiles, in the unit of the question."""
        unit = f" {self.question.unit}" if self.question.unit else ""
        found = {name: each.texts for name, each in self.figures.items() if name != "Variance"}
        if self.warning:
            return {name: (value + unit, "", "") for name, (value, _, _) in found.items()}
        return {name: (value, low, high + unit) for name, (value, low, high) in found.items()}

    @property
    def bars(self) -> list[Bar]:
        """The coarse histogram; none where the reports say nothing about it.

        Of evidence with narrow bounds, bars within these, and one for what is beyond on each side.
        """
        if not self.is_told:
            return []
        shown = self._told
        texts = tick_labels(shown.edges)
        ends = [f"{low} to {high}" for low, high in pairwise(texts)]
        return [
            Bar(*row)
            for row in zip(ends, shown.probabilities, shown.lower, shown.upper, strict=True)
        ]

    @property
    def notes(self) -> list[str]:
        """What to know about forged reports, the mean, what nobody can tell, and the intervals."""
        notes = [
            self.parts_text,
            self.bias_text,
            self.outside_text,
            self.unknown_text,
            self.assumption_text,
        ]
        return [f"Forged reports: {self.forged_text}", *(note for note in notes if note)]

    def to_dict(self) -> dict[str, Any]:
        """Return everything as plain JSON."""
        mean, distribution = self.mean_estimate, self.distribution
        found: dict[str, Any] = {
            "question": self.question.to_document(),
            "epsilon": self.epsilon,
            "reports": mean.n_reports,
            "warning": self.warning or None,
            "lower": distribution.bounds.lower,
            "upper": distribution.bounds.upper,
            "level": self.level,
            "intervals": {
                "mean": self._mean_kind,
                "others": self.interval_kind,
                "kind": self.interval_kind,
                "assumption": self.assumption_text,
            },
            "mean": {
                **self.mean.to_dict(),
                "standard_error": mean.standard_error,
                "method": mean.method,
                "bias_bound": mean.bias_bound,
                "influence": mean.poisoning_bound(1),
                "guaranteed_interval": list(self._proven_mean),
                "respondents_interval": list(mean.interval(self.level, of="respondents")),
            },
            "variance": self.variance.to_dict(),
            "standard_deviation": self.standard_deviation.to_dict(),
            "quartiles": [
                {"share": share, **self.quantiles[share].to_dict()} for share in QUARTILES.values()
            ],
            "distribution": {
                "method": distribution.method,
                "converged": distribution.converged,
                "edges": distribution.edges.tolist(),
                "probabilities": distribution.probabilities.tolist(),
            },
            "histogram": asdict(self.coarse),
            "forged_reports": {
                "p_value": self.goodness,
                "one_percent_moves_mean": self.forgery,
            },
        }
        if self.parts:
            found["parts"] = [
                {
                    "reports": part.tally.total,
                    "lower": part.bounds.lower,
                    "upper": part.bounds.upper,
                    "epsilon": part.mechanism.epsilon,
                    "fingerprint": part.mechanism.fingerprint,
                }
                for part in self.parts
            ]
        return without_intervals(found) if self.warning else found

    def records(self) -> list[dict[str, Any]]:
        """Return one row per statistic."""
        rows = [
            {"statistic": name.lower(), "value": each.value, "low": each.low, "high": each.high}
            for name, each in self.figures.items()
        ]
        return without_intervals(rows) if self.warning else rows


@shown_progress("Estimating")
def number_summaries(
    mechanism: TableMechanism | Evidence,
    tally: Tally | None,
    question: Number,
    levels: Iterable[float],
    *,
    people: int | None = None,
    bins: int | None = None,
    method: str = DEFAULT_METHOD,
    kind: str = "slack",
) -> dict[float, Summary]:
    """Return the summary of a number for several levels, at hardly more than the cost of one.

    Notes
    -----
    All intervals but the mean's are of the same fit.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tally = no.Tally(m.fingerprint, (4_000, 6_000))
    >>> found = number_summaries(m, tally, no.Number(0, 10), [0.5, 0.95], bins=8)
    >>> [each.mean.texts for each in found.values()]
    [('7.000', '6.934', '7.066'), ('7.00', '6.81', '7.19')]
    """
    wanted = [_checks.inner_share("level", level) for level in levels]
    bounds = Interval(question.lower, question.upper)
    evidence = mechanism
    if not isinstance(evidence, Evidence):
        evidence = Evidence([(mechanism, cast("Tally", tally), bounds)])
    for part in evidence.parts:
        check_possible(part.mechanism, part.tally)
    mean = estimate_mean(evidence, people=people)
    found = estimate_distribution(evidence, bins=bins, method=method)
    inner = _narrowest(evidence.parts)
    narrow = [] if inner is None or inner == bounds else _steps(inner)
    named = np.concatenate([*_steps(bounds), *narrow])
    model, counted, _ = unpacked(evidence, None)
    intervals = Intervals(model, counted, bounds, kind=kind, named=named)
    epsilon = max(part.mechanism.epsilon for part in evidence.parts)
    parts = evidence.parts if len(evidence.parts) > 1 else ()
    inside = lead_bounds(evidence, bounds)
    return {
        level: Summary(
            question, epsilon, mean, found, level, intervals.at_level(level), parts, inside
        )
        for level in wanted
    }


def _histogram(edges: Array, shares: Array, low: Array, high: Array) -> Histogram:
    """Return shares that add up to 1, moved into their intervals."""
    shown = closest_within(shares, low, high)
    columns = (edges, shown, low, high)
    return Histogram(*((each + 0.0).tolist() for each in columns))  # no negative zero


def _narrowest(parts: Sequence[Part]) -> Interval | None:
    """Return the narrowest bounds of several parts; None of one."""
    if len(parts) < 2:
        return None
    return min((part.bounds for part in parts), key=lambda each: each.half_width)


def _steps(bounds: Interval) -> list[Array]:
    """Return the edges of the bars to choose from, which are round numbers."""
    most = round_bins(bounds.lower, bounds.upper)
    return bar_edges(bounds.lower, bounds.upper, most)
