"""Comparisons and trends as JSON, and as CSV: the figures of the documents, one per line."""

from __future__ import annotations

import csv
import io
import json
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

__all__ = ["as_json", "comparison_csv", "harmless", "trend_csv"]

_COMPARED = ("kind", "statistic", "first", "second", "reports", "value", "standard_error", "low",
             "high")  # fmt: skip
_ROUNDS = ("round", "start", "end", "is_over", "is_whole", "reports", "value",
           "standard_error", "low", "high", "trend", "trend_low", "trend_high", "jump")  # fmt: skip


def as_json(found: Mapping[str, Any]) -> bytes:
    """Return a document as JSON."""
    return json.dumps(found, allow_nan=False).encode()


def comparison_csv(found: Mapping[str, Any]) -> bytes:
    """Return a comparison: estimates of groups, differences of pairs, and standardized ones."""
    reports = {row["group"]: row["reports"] for row in found["groups"]}
    return _written(_COMPARED, _compared(found["statistics"], reports))


def _compared(
    statistics: Iterable[Mapping[str, Any]], reports: Mapping[str, int]
) -> Iterable[Sequence[object]]:
    for each in statistics:
        name = harmless(each["name"])
        for row in each["estimates"]:
            group = row["group"]
            yield ("estimate", name, harmless(group), "", reports[group], row["value"],
                   row["standard_error"], *row["interval"])  # fmt: skip
        for row in each["differences"] or ():
            yield ("difference", name, harmless(row["first"]), harmless(row["second"]), "",
                   row["value"], row["standard_error"], row["low"], row["high"])  # fmt: skip
        known = each["standardized"]
        if known is not None and known["value"] is not None:
            yield ("standardized", name, "", "", "", known["value"], known["standard_error"],
                   *known["interval"])  # fmt: skip


def trend_csv(found: Mapping[str, Any]) -> bytes:
    """Return a trend, one line per round."""
    return _written(_ROUNDS, map(_round, found["rounds"]))


def _round(row: Mapping[str, Any]) -> Sequence[object]:
    known, smoothed = row["estimate"], row["trend"]
    estimate = (
        ("",) * 4
        if known is None
        else (known["value"], known["standard_error"], *known["interval"])
    )
    point = (
        ("",) * 4
        if smoothed is None
        else (smoothed["value"], *smoothed["interval"], smoothed["jump"])
    )
    over, whole = ("true" if row[name] else "false" for name in ("is_over", "is_whole"))
    head = (row["round"], row["start"], row["end"], over, whole, row["reports"])
    return (*head, *estimate, *point)


def harmless(text: str) -> str:
    """Return a text that no spreadsheet takes for a formula.

    Examples
    --------
    >>> harmless("=1+1"), harmless("4.1")
    ("'=1+1", '4.1')
    """
    return f"'{text}" if text[:1] in ("=", "+", "-", "@") else text


def _written(names: Sequence[str], rows: Iterable[Sequence[object]]) -> bytes:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\r\n")
    writer.writerow(names)
    writer.writerows(rows)
    return text.getvalue().encode()
