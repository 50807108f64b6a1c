"""The estimator of the mean of people's numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import InvalidArgumentError
from noutput.estimate.combined import combined_mean
from noutput.estimate.counts import check_table, check_tally
from noutput.estimate.evidence import Evidence, unpacked
from noutput.estimate.input_variance import input_variance
from noutput.estimate.mean_estimate import MeanEstimate
from noutput.estimate.mean_scores import decoded_scores, limited_scores, reports_for, scores_for
from noutput.estimate.mean_scores import half_width as normal_half_width
from noutput.estimate.mean_slack import SlackMean, is_shorter, reports_with_slack, slack_mean
from noutput.estimate.stacked import StackedChannel
from noutput.interval import UNIT, IntervalLike

if TYPE_CHECKING:
    from noutput.estimate.mean_scores import MeanScores
    from noutput.interval import Interval
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["MeanEstimate", "estimate_mean", "reports_needed"]

_METHODS = ("auto", "unbiased")
_LEVEL = 0.95


def estimate_mean(
    mechanism: TableMechanism | Evidence,
    tally: Tally | None = None,
    bounds: IntervalLike = UNIT,
    *,
    people: int | None = None,
    method: str = "auto",
    influence: float | None = None,
) -> MeanEstimate:
    r"""Estimate the mean of the people's numbers from their reports.

    Parameters
    ----------
    mechanism : TableMechanism or Evidence
        What made the reports. Evidence takes the place of the tally and the bounds, too.
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
    influence : float, optional
        How much a report may count for, at most: the mean of n people is moved by one report by
        at most `influence` times the width of the bounds, divided by n. It limits what people
        who lie can do; the result's `poisoning_bound` says how much that is. The price is a bias
        that `bias_bound` bounds, and for which intervals allow.

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

    An honest answer in the clear has an influence of 1. A report has at least
    :math:`1 / \tanh(\epsilon / 2)` where the mean is unbiased, whatever the mechanism: that is what
    noise costs against people who lie. With a limit, the scores are those whose bias is the
    smallest possible within it (`noutput.estimate.mean_scores.limited_scores`). They depend on the
    table alone, so the guaranteed interval holds.

    References
    ----------
    Cheu, Smith and Ullman (2021), "Manipulation attacks in local differential privacy",
    10.48550/arXiv.1909.09630.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> estimate_mean(m, no.Tally.of(m, [0, 1, 1, 1]), (0, 10)).value
    10.0
    >>> tally = no.Tally(m.fingerprint, (4_000, 6_000))
    >>> limited = estimate_mean(m, tally, (0, 10), influence=1.5)
    >>> round(limited.value, 9), limited.bias_bound, limited.poisoning_bound(100)
    (6.5, 1.25, 0.15)
    """
    table, counted, units = unpacked(mechanism, tally, bounds)
    if not isinstance(table, StackedChannel):
        check_table(table)
    check_tally(table, counted, table.n_cells)
    n = counted.total
    if n < 2:
        raise InvalidArgumentError("tally", "have at least two reports", n)
    if people is not None and not _checks.whole("people", people, 1, 1 << 1100) >= n:
        raise InvalidArgumentError("people", f"be at least the number of reports, {n}", people)
    _checks.choice("method", method, _METHODS)
    limit = None if influence is None else _checks.positive("influence", influence)
    if isinstance(table, StackedChannel):
        if people is not None:
            rule = "be left out where evidence has several parts"
            raise InvalidArgumentError("people", rule, people)
        return combined_mean(table, counted, units, method=method, influence=limit)
    return _mean(table, counted, units, people, method, limit)


def _mean(
    mechanism: TableMechanism,
    tally: Tally,
    bounds: Interval,
    people: int | None,
    method: str,
    influence: float | None,
) -> MeanEstimate:
    """Estimate the mean from the reports of one table."""
    n = tally.total
    scores = scores_for(mechanism, n) if method == "auto" else decoded_scores(mechanism)
    if influence is not None:
        scores = _limited(mechanism, scores, influence)
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
    if method == "auto" and influence is None and is_shorter(mechanism, n):
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


def _limited(mechanism: TableMechanism, scores: MeanScores, influence: float) -> MeanScores:
    """Return the scores where they keep to the limit, else others that do."""
    values = scores.values
    return scores if np.ptp(values) <= 2.0 * influence else limited_scores(mechanism, influence)


def reports_needed(
    mechanism: TableMechanism | Evidence, tally: Tally | None, found: MeanEstimate, wanted: float
) -> float:
    """Return about how many reports such as these make half the 95% interval as short as wanted.

    Parameters
    ----------
    mechanism, tally
        As in `estimate_mean`. Of evidence with several parts, all grow alike.
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
    table, counted, _ = unpacked(mechanism, tally)
    if isinstance(table, StackedChannel):
        return max(1.0, half / wanted) ** 2 * found.n_reports
    if found.by_scores is not None and found.bounds is not None:
        if half <= wanted:
            return float(found.n_reports)
        unit, n = found.bounds.half_width, found.n_reports
        slack = reports_with_slack(table, n, half / unit, wanted / unit)
        return min(slack, reports_needed(table, counted, found.by_scores, wanted))
    if found.bounds is None or not found.bias_bound:
        ratio = half / wanted
        return found.n_reports * ratio * ratio  # infinite for the smallest targets
    if half <= wanted:
        return float(found.n_reports)
    shares = np.array([count / counted.total for count in counted.counts])
    return reports_for(
        table, lambda scores: scores.variance(shares), wanted / found.bounds.half_width
    )
