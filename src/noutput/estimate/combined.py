r"""The mean of several parts of evidence: unbiased parts and their likelihood.

Notes
-----
*By scores.* Where one part covers the bounds of all, there are unbiased scores of the stacked table
(`noutput.estimate.stacked_scores`), or nearly unbiased ones with a bound on their bias
(`noutput.estimate.mean_scores`). The variance of their average is
:math:`\sum_j \frac{n_j}{n} s_j^2 / n` with the sample variances :math:`s_j^2` of the parts' scores:
how many reports a part has is given and adds nothing.

*Combined.* Most people may be in a part with narrow bounds. The mean of their clipped numbers,
:math:`E \min(\max(X, l), u)`, is known well and without bias. What lies beyond is told by the parts
with wider bounds alone, of which nobody knows more than their few reports say. The slack interval
(`noutput.estimate.slack`) has the means of all populations that fit the reports of all parts: it is
short on the side on which nothing can lie beyond, and as long as it must be on the other. Its
value is the clipped mean, moved into the slack interval of 80%: what was clipped
counts as far as the reports demand it. The threshold of that interval does not depend on the
support of the fit (`noutput.estimate.slack.path.steady_ends`): else one report more could make the
value jump. The guaranteed interval is that of
`noutput.estimate.slack.guaranteed`.

Which of both is taken depends on the tables, the bounds and the numbers of reports alone: the one
with the shorter interval for people who are spread evenly over the bounds of the lead, by a few
simulated campaigns with a fixed seed whose parts have as many reports as the nearest powers of 2.
Scores must be clearly shorter to be taken where the lead clips: their error is that of the part
with the widest bounds, however few reports it has.
"""

from __future__ import annotations

import math
from functools import lru_cache
from typing import TYPE_CHECKING

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.estimate.counts import check_table
from noutput.estimate.intervals import FEW
from noutput.estimate.mean_estimate import MeanEstimate
from noutput.estimate.mean_scores import (
    can_gain,
    decoded_scores,
    half_width,
    limited_scores,
    scores_for,
)  # fmt: skip
from noutput.estimate.mean_slack import SHORTER, SlackMean, end_scores, held_mean
from noutput.estimate.resample import redraw_parts
from noutput.estimate.slack.guaranteed import Guaranteed
from noutput.estimate.slack.intervals import Slack, Statistics
from noutput.estimate.stacked import Layer, StackedChannel
from noutput.estimate.stacked_scores import clipped_scores, lead, reference, unbiased_scores

if TYPE_CHECKING:
    from noutput.estimate.counts import Array
    from noutput.estimate.mean_scores import MeanScores
    from noutput.interval import Interval
    from noutput.tally import Tally

__all__ = ["combined_mean"]

_LEVEL = 0.95
_NEAR = 0.8  # level of the interval that a clipped mean is moved into
_CAMPAIGNS = 2  # that are simulated


def combined_mean(
    stack: StackedChannel,
    tally: Tally,
    bounds: Interval,
    *,
    method: str = "auto",
    influence: float | None = None,
) -> MeanEstimate:
    """Estimate the mean from the counts of a stacked table; see `estimate_mean`."""
    for layer in stack.layers:
        check_table(layer.channel)
    shares = np.array([count / tally.total for count in tally.counts])
    covered = unbiased_scores(stack) is not None
    if not covered and (method != "auto" or influence is not None):
        rule = "be left out: no part's bounds cover those of all, so no scores tell the mean"
        name, given = ("method", method) if method != "auto" else ("influence", influence)
        raise InvalidArgumentError(name, rule, given)
    free = method == "auto" and influence is None
    if not covered or (free and _fit_is_shorter(_rounded(stack))):
        return _by_fit(stack, shares, bounds)
    scores = _scores(stack) if method == "auto" else decoded_scores(stack)
    if influence is not None and np.ptp(scores.values) > 2.0 * influence:
        scores = limited_scores(stack, influence)
    return _by_scores(stack, scores, shares, bounds)


def _scores(stack: StackedChannel) -> MeanScores:
    """Return the best scores; where the lead clips, a little bias is of no use."""
    return scores_for(stack, stack.reports) if lead(stack).is_whole else decoded_scores(stack)


def _by_scores(
    stack: StackedChannel, scores: MeanScores, shares: Array, bounds: Interval
) -> MeanEstimate:
    """Return the average of scores."""
    mean = math.fsum((shares * scores.values).tolist())
    error = math.sqrt(_variance(stack, scores.values, shares) / stack.reports)
    error *= bounds.half_width
    return MeanEstimate(
        bounds.from_unit(mean),
        error,
        error,
        stack.reports,
        float(np.ptp(scores.values)) * bounds.half_width,
        bounds,
        scores.bias_bound * bounds.half_width,
        choices=stack.choices,
    )


def _variance(stack: StackedChannel, values: Array, shares: Array) -> float:
    """Return the variance of a report's score within its part, averaged over the reports."""
    total = 0.0
    for (cells, reports), share in zip(stack.groups, stack.shares, strict=True):
        own, rows, scores = shares[cells] / share, stack.rows[:, cells] / share, values[cells]
        sample = float(own @ (scores - own @ scores) ** 2) * reports / max(reports - 1, 1)
        noise = rows @ scores**2 - (rows @ scores) ** 2
        total += share * max(sample, float(noise.min()))
    return total


def _by_fit(stack: StackedChannel, shares: Array, bounds: Interval) -> MeanEstimate:
    """Return the clipped mean, as far as populations that fit allow for it."""
    few = stack.reports < FEW
    reports = float(stack.reports)
    ends = (Guaranteed if few else Slack)(stack, shares, reports, _LEVEL)
    certain = Guaranteed(stack, shares, reports, _LEVEL)
    clipped, whole = clipped_scores(stack), lead(stack).is_whole
    name, spans, held = "slack" if whole else "combined", [float(np.ptp(clipped))], None
    if isinstance(ends, Slack):
        if whole:
            spans += [float(np.ptp(each)) for each in end_scores(ends)]
        else:
            held = held_mean(ends, stack, shares, _NEAR, bounds)
    slack = SlackMean(bounds, ends, clipped, certain, name, held)
    low, high = slack.interval(_LEVEL)
    value = (low + high) / 2.0
    if held is not None:
        value = min(max(held.value, low), high)
    elif not whole:
        near = slack.interval(_NEAR)
        value = min(max(bounds.from_unit(float(shares @ clipped)), near[0]), near[1])
        spans = [2.0 * reports]  # nobody knows how far one of few reports moves a guaranteed end
    error = (high - low) / 2.0 / half_width(1.0, 0.0, _LEVEL)
    return MeanEstimate(
        value,
        error,
        error,
        stack.reports,
        max(spans) * bounds.half_width,
        bounds,
        slack=slack,
        choices=stack.choices,
    )


def _rounded(stack: StackedChannel) -> StackedChannel:
    """Return the stack with powers of 2 as numbers of reports: many stacks share a forecast."""
    return StackedChannel(
        [
            Layer(layer.channel, layer.lower, layer.upper, 1 << round(math.log2(layer.reports)))
            for layer in stack.layers
        ]
    )


@lru_cache(maxsize=256)
def _fit_is_shorter(stack: StackedChannel) -> bool:
    """Say whether the slack interval is clearly shorter than that of scores.

    Where the lead clips, it suffices that it is not clearly longer: the clipped mean has by far the
    smaller error if few people are beyond, and scores know no more than the widest part.
    """
    if stack.reports < FEW or (lead(stack).is_whole and not can_gain(stack)):
        return False
    even = reference(stack)
    parts = [(cells.stop - cells.start, reports) for cells, reports in stack.groups]
    widths = []
    for shares in redraw_parts(even, parts, _CAMPAIGNS, np.random.default_rng(0)):
        low, high = Statistics(Slack(stack, shares, float(stack.reports), _LEVEL)).mean()
        widths.append((high - low) / 2.0)
    scores = _scores(stack)
    error = math.sqrt(_variance(stack, scores.values, even) / stack.reports)
    limit = SHORTER if lead(stack).is_whole else 1.0 / SHORTER
    return float(np.mean(widths)) < limit * half_width(error, scores.bias_bound, _LEVEL)
