"""The estimator of the mean of people's numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.counts import check_table, check_tally
from noutput.estimate.input_variance import input_variance
from noutput.estimate.mean_scores import decoded_scores, reports_for, scores_for
from noutput.estimate.mean_scores import half_width as normal_half_width
from noutput.estimate.mean_slack import SlackMean, is_shorter, reports_with_slack, slack_mean
from noutput.interval import UNIT, IntervalLike, as_interval

if TYPE_CHECKING:
    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["MeanEstimate", "estimate_mean", "reports_needed"]

_KINDS = ("normal", "guaranteed")
_SUBJECTS = ("population", "respondents")
_METHODS = ("auto", "unbiased")
_LEVEL = 0.95


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
    slack : SlackMean, optional
        What the interval is made from where that is the shortest. Then the value is the middle of
        the 95% interval, and both standard errors are half of it divided by 1.96.
    by_scores : MeanEstimate, optional
        The estimate by scores, where there is a shorter slack interval: what the guaranteed
        interval is made from.

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
    slack: SlackMean | None = field(default=None, repr=False, compare=False)
    by_scores: MeanEstimate | None = field(default=None, repr=False, compare=False)

    @property
    def method(self) -> str:
        """What the value and its interval are.

        The average of decoded reports is "unbiased", that of other scores "nearly unbiased", and
        "slack" is the middle of all means of populations that fit the reports.
        """
        if self.slack is not None:
            return "slack"
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
            "slack", the interval that is not the guaranteed one is a slack interval, from the
            smallest to the largest mean of all populations that fit the reports.
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
        covered it.

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
            return self.slack.interval(level)
        half = self.half_width(level, kind=kind, of=of)
        return self._possible(self.value - half), self._possible(self.value + half)

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
            low, high = self.slack.interval(level)
            return (high - low) / 2.0
        if kind == "guaranteed":
            return self._bernstein(1.0 - level) + self.bias_bound
        error = self.standard_error if of == "population" else self.respondents_error
        return normal_half_width(error, self.bias_bound, level)

    def _possible(self, end: float) -> float:
        """Move the end of an interval into the bounds."""
        if self.bounds is None:
            return end
        return min(max(end, self.bounds.lower), self.bounds.upper)

    def _bernstein(self, delta: float) -> float:
        logarithm = math.log(4.0 / delta)
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
        interval, to first order: good for a few percent of forged reports.

        Examples
        --------
        >>> MeanEstimate(0.0, 0.01, 0.01, 1000, 4.0).poisoning_bound(50)
        0.2
        """
        count = _checks.whole("forged", forged, 0, self.n_reports)
        return self.report_range * (count / self.n_reports)


def _check_interval(level: float, kind: str, of: str) -> None:
    _checks.inner_share("level", level)
    _checks.choice("kind", kind, _KINDS)
    _checks.choice("of", of, _SUBJECTS)


def estimate_mean(
    mechanism: TableMechanism,
    tally: Tally,
    bounds: IntervalLike = UNIT,
    *,
    people: int | None = None,
    method: str = "auto",
) -> MeanEstimate:
    r"""Estimate the mean of the people's numbers from their reports.

    Parameters
    ----------
    mechanism : TableMechanism
        What made the reports.
    tally : Tally
        At least two reports of this mechanism.
    bounds : Interval or pair of numbers
        The user's units; [-1, 1] by default.
    people : int, optional
        How many people took part, where only some of them, drawn at random, reported on this
        attribute. They are the respondents then. By default all who took part reported.
    method : {"auto", "unbiased"}
        By default the estimate with the shortest interval, by the table and the number of reports
        alone; the result's `method` says which: "unbiased", "nearly unbiased" or "slack".
        "unbiased" always averages the decoded reports: for averages over many small groups, whose
        biases would not cancel.

    Notes
    -----
    Every report decodes to an unbiased estimate of one person's number, so their average is
    unbiased. Its variance is that of a decoded report divided by n, estimated by the sample
    variance :math:`s^2`, or by the smallest noise that the table can have where :math:`s^2` is
    smaller, as for a few reports that all agree. This counts the noise of the mechanism and the
    spread of the numbers, :math:`\sigma^2`; for the mean of just these people the second part is
    no error, and

    .. math:: \frac{s^2 - \sigma^2}{n} + \frac{\sigma^2}{n}\left(1 - \frac{n}{\text{people}}\right)

    remains, where the last factor is the share of the people who did not report on this
    attribute. The spread is estimated from the counts as far as the table tells squares apart
    (`noutput.estimate.input_variance`), never too large by design. Duchi's two outputs tell nothing
    about it: there the two errors are equal.

    A table for distributions tells much about the mean that the decoded reports do not use. There
    the average of other scores has a smaller variance and a bias of at most `bias_bound`, which
    its intervals allow for: see `noutput.estimate.mean_scores`. Where it is at least 8% shorter,
    the interval is a slack interval: see `noutput.estimate.mean_slack`.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> estimate_mean(m, no.Tally.of(m, [0, 1, 1, 1]), (0, 10)).value
    10.0
    """
    bounds = as_interval(bounds)
    check_table(mechanism)
    check_tally(mechanism, tally, mechanism.n_outputs)
    n = tally.total
    if n < 2:
        raise InvalidArgumentError("tally", "have at least two reports", n)
    if people is not None and not _checks.whole("people", people, 1, 1 << 1100) >= n:
        raise InvalidArgumentError("people", f"be at least the number of reports, {n}", people)
    _checks.choice("method", method, _METHODS)
    scores = scores_for(mechanism, n) if method == "auto" else decoded_scores(mechanism)
    values = scores.values.tolist()
    shares = [count / n for count in tally.counts]
    mean = math.fsum(c * b for c, b in zip(shares, values, strict=True))
    second = math.fsum(c * (b - mean) ** 2 for c, b in zip(shares, values, strict=True))
    variance = max(second * (n / (n - 1)), scores.smallest_noise)
    known = input_variance(mechanism, scores, shares, mean, variance)
    known *= n / (n if people is None else people)
    found = MeanEstimate(
        bounds.from_unit(mean),
        math.sqrt(variance / n) * bounds.half_width,
        math.sqrt(max(variance - known, 0.0) / n) * bounds.half_width,
        n,
        (max(values) - min(values)) * bounds.half_width,
        bounds,
        scores.bias_bound * bounds.half_width,
    )
    if method == "auto" and is_shorter(mechanism, n):
        return _with_slack(slack_mean(mechanism, np.array(shares), n, bounds), found)
    return found


def _with_slack(slack: SlackMean, by_scores: MeanEstimate) -> MeanEstimate:
    """Return the estimate whose interval is a slack interval."""
    bounds = slack.bounds
    low, high = slack.interval(_LEVEL)
    error = (high - low) / 2.0 / normal_half_width(1.0, 0.0, _LEVEL)
    span = float(slack.scores.max() - slack.scores.min()) * bounds.half_width
    return MeanEstimate(
        (low + high) / 2.0,
        error,
        error,
        by_scores.n_reports,
        span,
        bounds,
        slack=slack,
        by_scores=by_scores,
    )


def reports_needed(
    mechanism: TableMechanism, tally: Tally, found: MeanEstimate, wanted: float
) -> float:
    """Return about how many reports such as these make half the 95% interval as short as wanted.

    Parameters
    ----------
    mechanism, tally
        As in `estimate_mean`.
    found : MeanEstimate
        What it found.
    wanted : float
        Half the width of the interval of the mean, in the units of the bounds; above 0.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tally = no.Tally(m.fingerprint, (400, 600))
    >>> found = no.estimate_mean(m, tally)
    >>> round(reports_needed(m, tally, found, found.half_width() / 2.0))
    4000
    """
    half = found.half_width()
    if found.by_scores is not None and found.bounds is not None:
        if half <= wanted:
            return float(found.n_reports)
        unit, n = found.bounds.half_width, found.n_reports
        slack = reports_with_slack(mechanism, n, half / unit, wanted / unit)
        return min(slack, reports_needed(mechanism, tally, found.by_scores, wanted))
    if found.bounds is None or not found.bias_bound:
        ratio = half / wanted
        return found.n_reports * ratio * ratio  # infinite for the smallest targets
    if half <= wanted:
        return float(found.n_reports)
    shares = np.array([count / tally.total for count in tally.counts])
    return reports_for(
        mechanism, lambda scores: scores.variance(shares), wanted / found.bounds.half_width
    )
