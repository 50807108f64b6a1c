"""Estimates as one table, a row a number."""

from __future__ import annotations

import csv
import io
from itertools import pairwise
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["estimates_csv"]

_HEAD = ("attribute", "unit", "reports", "statistic", "from", "to", "value", "low", "high")


def estimates_csv(estimates: dict[str, Any]) -> str:
    """Return the estimates of a campaign as CSV.

    Parameters
    ----------
    estimates : dict
        As `noutput.collector.http.models.EstimatesModel` describes it.

    Notes
    -----
    The columns from and to are the ends of a bin, or the share that a quantile is for; low and
    high are the ends of the interval. A "share" is of a bin of the distribution, a "histogram"
    of a bar of the picture; "goodness_of_fit" is a p-value, and has no interval.
    """
    target = io.StringIO()
    writer = csv.writer(target)
    writer.writerow(_HEAD)
    for each in estimates["attributes"]:
        head = (each["name"], _harmless(each["unit"]), each["reports"])
        writer.writerows((*head, *row) for row in _rows(each))
    return target.getvalue()


def _rows(each: dict[str, Any]) -> Iterator[tuple[Any, ...]]:
    if each["mean"] is None:
        return
    yield ("mean", "", "", each["mean"]["value"], *each["mean"]["interval"])
    yield ("variance", "", "", each["variance"]["value"], *each["variance"]["interval"])
    for quantile in each["quantiles"]:
        yield ("quantile", quantile["share"], "", quantile["value"], *quantile["interval"])
    if each["goodness_of_fit"] is not None:
        yield ("goodness_of_fit", "", "", each["goodness_of_fit"], "", "")
    for statistic, name in (("histogram", "histogram"), ("share", "distribution")):
        found = each[name]
        columns = (found["probabilities"], found["lower"], found["upper"])
        for (low, high), *values in zip(pairwise(found["edges"]), *columns, strict=True):
            yield (statistic, low, high, *values)


def _harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text
