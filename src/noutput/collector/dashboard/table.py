"""Estimates as one table, one row per number."""

from __future__ import annotations

import csv
import io
from dataclasses import astuple
from itertools import pairwise
from typing import TYPE_CHECKING

from noutput.questions import Number

if TYPE_CHECKING:
    from collections.abc import Iterator

    from noutput.collector.estimates import CampaignEstimates
    from noutput.estimate.summary import Summary

__all__ = ["estimates_csv"]

_HEAD = ("question", "unit", "reports", "statistic", "from", "to", "value", "low", "high")


def estimates_csv(estimates: CampaignEstimates) -> str:
    """Return the estimates of a campaign as CSV.

    Notes
    -----
    The columns from and to are the ends of a bin, or the share that a quantile is for; low and
    high are the ends of the interval. A "share" is of a bin of the distribution, a "histogram"
    of a bar of the picture; "goodness_of_fit" is a p-value, and has no interval.
    """
    target = io.StringIO()
    writer = csv.writer(target)
    writer.writerow(_HEAD)
    for each in estimates.questions:
        if each.summary is not None and isinstance(each.question, Number):
            head = (each.question.name, _harmless(each.question.unit), each.reports)
            writer.writerows((*head, *row) for row in _rows(each.summary))
    return target.getvalue()


def _rows(found: Summary) -> Iterator[tuple[object, ...]]:
    yield ("mean", "", "", *astuple(found.mean))
    yield ("variance", "", "", *astuple(found.variance))
    for share, figure in found.quantiles.items():
        yield ("quantile", share, "", *astuple(figure))
    yield ("goodness_of_fit", "", "", found.goodness, "", "")
    for statistic, bars in (("histogram", found.coarse), ("share", found.fine)):
        columns = (bars.probabilities, bars.lower, bars.upper)
        for (low, high), *values in zip(pairwise(bars.edges), *columns, strict=True):
            yield (statistic, low, high, *values)


def _harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
