"""Wrong arguments of the public functions get an error that says what is wanted."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noutput as no

M = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
T = no.Tally(M.fingerprint, (400, 600))
LEVEL = "level must lie strictly between 0 and 1; found 'a'"
TALLY = r"tally must be a Tally, as Tally.of\(mechanism, reports\) makes; found "


def distribution() -> Any:
    return no.estimate_distribution(M, T)


CASES: dict[str, tuple[Callable[..., Any], str]] = {
    "a list of counts": (lambda a: no.estimate_mean(M, a), TALLY + "'str'"),
    "a distribution of counts": (lambda a: no.estimate_distribution(M, [a]), TALLY + "'str'"),
    "a distribution of one": (lambda _: no.estimate_distribution(M, 400), TALLY + "'int'"),  # type: ignore[call-overload]
    "goodness of counts": (lambda a: no.goodness_of_fit(M, a), TALLY + "'str'"),
    "one tally for several": (lambda _: no.estimate_means(M, T), "be a sequence of tallies"),  # type: ignore[arg-type]
    "a sum of numbers": (lambda _: no.Tally.sum([1, 2]), "tallies must be tallies; found 'int'"),  # type: ignore[list-item]
    "level of a mean": (lambda a: no.estimate_mean(M, T).interval(a), LEVEL),
    "level of means": (lambda a: no.estimate_means(M, [T]).interval(a), LEVEL),
    "level of a distribution": (lambda a: distribution().interval("mean", level=a), LEVEL),
    "people as text": (
        lambda a: no.estimate_mean(M, T, people=a),
        "people must be a whole number not below 1; found 'a'",
    ),
    "cdf of text": (lambda a: distribution().cdf(a), "x must be numbers; found 'a'"),
    "cdf of nothing": (lambda _: distribution().cdf(None), "x must be numbers; found None"),
    "quantile of text": (lambda a: distribution().quantile(a), "q must be numbers; found 'a'"),
    "distance of texts": (lambda a: no.wasserstein(a, a), "p must be numbers; found 'a'"),
    "truth values": (
        lambda _: M.privatize(np.array([True])),
        r"x must be numbers in \[-1, 1\], 0 and 1 for truth values; found array\(\[ True\]\)",
    ),
    "truth values with units": (
        lambda _: no.Interval(0, 1).to_unit([True]),
        "values must be numbers, 0 and 1 for truth values",
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_wrong_arguments(case: str) -> None:
    call, message = CASES[case]
    with pytest.raises(no.InvalidArgumentError, match=message):
        call("a")
