"""Bounds that look at all columns at once, where there are too many to enumerate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from noutput.designs.answers.bound import find_bound, optimum
from noutput.designs.answers.certificate import AnswerCertificate, prove
from noutput.designs.answers.objective import AnswerObjective
from noutput.designs.answers.relaxation import relaxed
from noutput.errors import InvalidArgumentError

CDF = AnswerObjective("cdf", 10)
FOUND = optimum(1.0, CDF)
INFLUENCE, MULTIPLIERS, DIAGONAL = relaxed(FOUND)
CERTIFICATE = AnswerCertificate(
    tuple((FOUND.population / FOUND.population.sum()).tolist()),
    tuple(map(tuple, INFLUENCE.tolist())),
    tuple(MULTIPLIERS.tolist()),
    tuple(DIAGONAL.tolist()),
)


def test_the_relaxation_proves_a_little_less_than_all_columns() -> None:
    exact = find_bound(1.0, CDF).value
    assert 0.9 * exact < prove(1.0, CDF.factor, CERTIFICATE) <= exact


def test_the_same_numbers_hold_for_every_column() -> None:
    """Without the diagonal, the checker looks at all columns, and finds none that is violated."""
    every = prove(1.0, CDF.factor, replace(CERTIFICATE, diagonal=()))
    assert every >= prove(1.0, CDF.factor, CERTIFICATE) - 1e-9


@pytest.mark.parametrize("place", [0, 4])
def test_another_diagonal_proves_less(place: int) -> None:
    for change in (-0.05, 0.05):
        forged = DIAGONAL.copy()
        forged[place] += change * np.abs(DIAGONAL).max()
        changed = replace(CERTIFICATE, diagonal=tuple(forged.tolist()))
        assert prove(1.0, CDF.factor, changed) < prove(1.0, CDF.factor, CERTIFICATE)


def test_a_diagonal_has_one_number_more_than_answers() -> None:
    with pytest.raises(InvalidArgumentError, match="11 finite numbers on its diagonal"):
        prove(1.0, CDF.factor, replace(CERTIFICATE, diagonal=(0.0, 0.0)))


@pytest.mark.slow
def test_twenty_answers_have_a_proven_gap() -> None:
    cdf = AnswerObjective("cdf", 20)
    bound = find_bound(1.0, cdf)
    assert bound.certificate.diagonal
    assert optimum(1.0, cdf).value / bound.value - 1.0 < 0.02
