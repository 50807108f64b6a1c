"""Estimates of means: values, standard errors and intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from noutput import _checks
from noutput.estimate.mean_scores import half_width as normal_half_width
from noutput.estimate.possible import possible_ends

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.estimate.mean_slack import HeldMean
    from noutput.interval import Interval

__all__ = ["MeanEstimate", "SlackEnds"]

_KINDS = ("normal", "guaranteed")
_SUBJECTS = ("population", "respondents")


class SlackEnds(Protocol):
    """Where slack intervals come from: `SlackMean`, or shares of numbers."""

    @property
    def name(self) -> str:
        """What the value is: "slack" or "combined"."""

    @property
    def held(self) -> HeldMean | None:
        """The value of combined evidence."""

    def interval(self, level: float, kind: str = "normal") -> tuple[float, float]:
        """Return the ends at a level."""

    def split(self, level: float, parts: Array) -> Array | None:
        """Return the ends with parts of a level's threshold, of shape (parts, 2).

        None where there is no threshold, since the ends are guaranteed.
        """


@dataclass(frozen=True, slots=True)
class MeanEstimate:
    """An estimate of a mean, in the units of the bounds that it was made with.

    Parameters
    ----------
    value : float
    standard_error : float
        For the mean of the population that the people were drawn from.
    respondents_error : float
        For the mean of just these people: never larger.
    n_reports : int
    report_range : float
        The distance between the largest and the smallest number that a report can stand for.
    bounds : Interval, optional
        Where the people's numbers lie, and so their mean. The value may lie outside, since it is
        unbiased or nearly so; intervals end at the bounds. None: they may be anywhere.
    bias_bound : float
        How far off the value is on average, at most, whatever the people's numbers are. It is
        no part of the standard errors, but of every interval.
    slack : SlackEnds, optional
        What the interval is made from where that is the shortest. Then both standard errors are
        half of the 95% interval divided by 1.96, and `method` says what the value is.
    by_scores : MeanEstimate, optional
        The estimate by scores, where there is a shorter slack interval: what the guaranteed
        interval is made from.
    choices : int
        Among how many lists of parts reports have chosen: guaranteed intervals allow for all.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tally = no.Tally(m.fingerprint, (4_000, 6_000))
    >>> mean = no.estimate_mean(m, tally, no.Interval(0, 10))
    >>> mean.value, round(mean.standard_error, 3), mean.n_reports
    (7.0, 0.098, 10000)
    >>> mean.method, mean.bias_bound
    ('unbiased', 0.0)
    """

    value: float
    standard_error: float
    respondents_error: float
    n_reports: int
    report_range: float
    bounds: Interval | None = None
    bias_bound: float = 0.0
    slack: SlackEnds | None = field(default=None, repr=False, compare=False)
    by_scores: MeanEstimate | None = field(default=None, repr=False, compare=False)
    choices: int = field(default=1, repr=False)

    @property
    def method(self) -> str:
        """What the value and its interval are.

        The average of decoded reports is "unbiased", that of other scores "nearly unbiased", and
        "slack" is the middle of all means of populations that fit the reports. "combined" is that
        of evidence with several parts: the unbiased mean of numbers clipped to the bounds of the
        part that knows it best, moved as far as the reports of all parts demand it.
        """
        if self.slack is not None:
            return self.slack.name
        return "nearly unbiased" if self.bias_bound else "unbiased"

    def interval(
        self, level: float = 0.95, *, kind: str = "normal", of: str = "population"
    ) -> tuple[float, float]:
        r"""Return a confidence interval for the mean.

        Parameters
        ----------
        level : float
        kind : {"normal", "guaranteed"}
            The normal interval covers the mean with a probability close to `level` from a few
            hundred reports on. The guaranteed interval covers it with at least this probability
            for any number of reports and any distribution; it is wider. Where `method` is
            "slack" or "combined", the interval that is not the guaranteed one is a slack interval,
            from the smallest to the largest mean of all populations that fit the reports.
        of : {"population", "respondents"}
            The mean of the population that the people were drawn from, or of just these people.
            The latter is known better: which people were drawn adds no error. Slack intervals
            hold for both and make no difference.

        Notes
        -----
        The guaranteed interval is the empirical Bernstein bound on both sides: for n reports
        with sample variance V within a range R, and :math:`\delta = 1 - \text{level}`, its half
        width is

        .. math:: \sqrt{2 V \ln(4 / \delta) / n} + \frac{7 R \ln(4 / \delta)}{3 (n - 1)} .

        It holds for independent reports that need not be alike, so for both means; `of` does
        not change it. The bias bound of a nearly unbiased estimate is added to it.

        The normal interval of an unbiased estimate with standard error s has the half width
        :math:`z\,s`, with z = 1.96 for a level of 95%. That of a nearly unbiased one allows for the
        largest possible bias :math:`\delta`: its half width is :math:`c\,s`, where a normal
        number with mean :math:`\delta / s` and variance 1 lies between -c and c with the
        probability `level`.

        Both kinds are cut at the bounds: the mean lies within them, so what is cut off never
        covered it. A value beyond them has the interval of one at the bound: see
        `noutput.estimate.possible`.

        References
        ----------
        Maurer and Pontil (2009), "Empirical Bernstein bounds and sample-variance penalization",
        COLT, 10.48550/arXiv.0907.3740.
        Armstrong and Kolesar (2018), "Optimal inference in a class of regression models",
        10.3982/ECTA14434.

        Examples
        --------
        >>> import noutput as no
        >>> mean = MeanEstimate(7.0, 0.5, 0.4, 100, 20.0, no.Interval(0, 10))
        >>> [round(end, 2) for end in mean.interval()]
        [6.02, 7.98]
        >>> [round(end, 2) for end in mean.interval(kind="guaranteed")]
        [3.45, 10.0]
        >>> biased = MeanEstimate(7.0, 0.5, 0.4, 100, 20.0, no.Interval(0, 10), bias_bound=0.25)
        >>> [round(end, 2) for end in biased.interval()]
        [5.91, 8.09]
        """
        _check_interval(level, kind, of)
        if self.by_scores is not None and kind == "guaranteed":
            return self.by_scores.interval(level, kind=kind, of=of)
        if self.slack is not None:
            return self.slack.interval(level, kind)
        half = self.half_width(level, kind=kind, of=of)
        low, high = self.value - half, self.value + half
        if self.bounds is None:
            return low, high
        ends = possible_ends(self.value, low, high, self.bounds.lower, self.bounds.upper)
        return float(ends[0]), float(ends[1])

    def half_width(
        self, level: float = 0.95, *, kind: str = "normal", of: str = "population"
    ) -> float:
        """Return half the width of an interval before it is cut at the bounds.

        Examples
        --------
        >>> round(MeanEstimate(7.0, 0.5, 0.4, 100, 20.0).half_width(of="respondents"), 3)
        0.784
        """
        _check_interval(level, kind, of)
        if self.by_scores is not None and kind == "guaranteed":
            return self.by_scores.half_width(level, kind=kind, of=of)
        if self.slack is not None:
            low, high = self.slack.interval(level, kind)
            return (high - low) / 2.0
        if kind == "guaranteed":
            return self._bernstein(1.0 - level) + self.bias_bound
        error = self.standard_error if of == "population" else self.respondents_error
        return normal_half_width(error, self.bias_bound, level)

    def _bernstein(self, delta: float) -> float:
        logarithm = math.log(4.0 * self.choices / delta)
        range_term = 7.0 * self.report_range * logarithm / (3.0 * (self.n_reports - 1))
        return math.sqrt(2.0 * logarithm) * self.standard_error + range_term

    def poisoning_bound(self, forged: int) -> float:
        """Return how far this many forged reports can have moved the estimate, at most.

        Notes
        -----
        A forged report can stand for any number of the range whatever the person's own is, so
        each moves the mean of n reports by at most the range divided by n:
        :math:`(a_N - a_1) k / n` for k of them and outputs from :math:`a_1` to :math:`a_N`, in
        units of half the bounds' width. That is :math:`2 a_N k / n` for a symmetric table.
        Where `method` is "slack" the range is that of what a report adds to the middle of the
        interval, or to an end where that is more. Where it is "combined" the value is a mean of
        clipped numbers that two ends hold: see `noutput.estimate.mean_slack.HeldMean`. Many reports
        may move it farther than their number times what one can do, because an end that was far
        away has reached it. Both are no proofs: that of "slack" is to first order, and that of
        "combined" was compared with the worst outputs in random campaigns, up to a percent of
        forged reports. Such a value stays within the bounds, and so does what moves it.

        Examples
        --------
        >>> MeanEstimate(0.0, 0.01, 0.01, 1000, 4.0).poisoning_bound(50)
        0.2
        """
        count = _checks.whole("forged", forged, 0, self.n_reports)
        moved = self.report_range * (count / self.n_reports)
        if self.slack is None or self.bounds is None:
            return moved
        if self.slack.held is not None:
            moved = self.slack.held.moved(count)
        return min(moved, 2.0 * self.bounds.half_width)


def _check_interval(level: float, kind: str, of: str) -> None:
    _checks.inner_share("level", level)
    _checks.choice("kind", kind, _KINDS)
    _checks.choice("of", of, _SUBJECTS)
