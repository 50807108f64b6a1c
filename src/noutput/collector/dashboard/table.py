"""Estimates as one table, one row per figure."""

from __future__ import annotations

import csv
import io
import math
from dataclasses import astuple
from itertools import pairwise
from typing import TYPE_CHECKING

from noutput.collector.exports import harmless
from noutput.estimate.summary import AnswerSummary, CellSummary
from noutput.questions import Number, YesNo

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from noutput.collector.estimates import QuestionEstimates
    from noutput.estimate.summary import Summary

__all__ = ["estimates_csv"]

_HEAD = (
    "question", "kind", "unit", "reports", "statistic", "answer", "from", "to", "value", "low",
    "high",
)  # fmt: skip


def estimates_csv(questions: Iterable[QuestionEstimates]) -> bytes:
    """Return the estimates of a campaign's questions as CSV.

    Notes
    -----
    The columns from and to are the ends of a cell or bin, or the share that a quantile is for; low
    and high are the ends of the interval. A "share" is of an answer, of a cell of a number with
    edges, or of a bin of another number's distribution; a "histogram" is of a bar of its picture;
    "below" is the share below an edge; "at_most" is the share of an answer and those before it;
    "goodness_of_fit" is a p-value, and has no interval. A quantile that more than two cells may
    hold has no value. Where the reports are probably forged, no interval is claimed, and low and
    high are empty.
    """
    target = io.StringIO()
    writer = csv.writer(target)
    writer.writerow(_HEAD)
    for each in questions:
        found, asked = each.summary, each.question
        if found is None:
            continue
        unit = asked.unit if isinstance(asked, Number) else ""
        head = (asked.name, asked.kind, harmless(unit), each.reports)
        rows = _rows(found)
        if found.warning:
            rows = ((*row[:-2], "", "") for row in rows)
        writer.writerows((*head, *row) for row in rows)
    return target.getvalue().encode()


def _rows(found: Summary | AnswerSummary | CellSummary) -> Iterable[tuple[object, ...]]:
    if isinstance(found, AnswerSummary):
        return _answers(found)
    return _cells(found) if isinstance(found, CellSummary) else _number(found)


def _cells(found: CellSummary) -> Iterator[tuple[object, ...]]:
    yield ("mean", "", "", "", *astuple(found.mean))
    if found.spread is not None:
        yield ("standard_deviation", "", "", "", *astuple(found.spread))
    for share, figure in found.quantiles.items():
        value, low, high = astuple(figure)
        yield ("quantile", "", share, "", "" if math.isnan(value) else value, low, high)
    yield ("goodness_of_fit", "", "", "", found.goodness, "", "")
    for edge, figure in zip(found.edges, found.cdf, strict=True):
        yield ("below", "", "", edge, *astuple(figure))
    for (low, high), figure in zip(found.cells, found.shares, strict=True):
        yield ("share", "", low, high, *astuple(figure))


def _number(found: Summary) -> Iterator[tuple[object, ...]]:
    yield ("mean", "", "", "", *astuple(found.mean))
    yield ("variance", "", "", "", *astuple(found.variance))
    for share, figure in found.quantiles.items():
        yield ("quantile", "", share, "", *astuple(figure))
    yield ("goodness_of_fit", "", "", "", found.goodness, "", "")
    for statistic, bars in (("histogram", found.coarse), ("share", found.fine)):
        columns = (bars.probabilities, bars.lower, bars.upper)
        for (low, high), *values in zip(pairwise(bars.edges), *columns, strict=True):
            yield (statistic, "", low, high, *values)


def _answers(found: AnswerSummary) -> Iterator[tuple[object, ...]]:
    labels = [harmless(label) for label in found.question.labels]
    for statistic, figures in (("share", found.shares), ("at_most", found.unbiased_cdf or ())):
        for label, figure in zip(labels, figures, strict=False):
            yield (statistic, label, "", "", *astuple(figure))
    if found.unbiased_mean is not None and not isinstance(found.question, YesNo):
        yield ("mean", "", "", "", *astuple(found.unbiased_mean))
    named = dict(zip(found.question.answers, labels, strict=True))
    for share, answers in found.quantiles.items():
        yield ("quantile", "", share, "", *(named[answer] for answer in answers))
    yield ("goodness_of_fit", "", "", "", found.goodness, "", "")
