"""Upper ends for many scores at once are those of one at a time."""

from __future__ import annotations

import numpy as np
import pytest

from noutput.estimate.answers.exact import exact_interval
from noutput.estimate.slack.chernoff import upper_ends
from tests.tables import window_table

ALPHA = 0.05


@pytest.mark.parametrize("reports", [2, 40, 5_000])
@pytest.mark.parametrize("outputs", [2, 5, 16])
def test_ends_of_many_scores_are_those_of_each(outputs: int, reports: int) -> None:
    rng = np.random.default_rng(4)
    table = window_table(2.0, outputs, 7, 0.4)
    rows = np.asarray(table.probabilities(np.linspace(-1.0, 1.0, 9)))
    rows /= rows.sum(axis=1, keepdims=True)
    scores = np.vstack([rng.normal(size=(8, outputs)), np.zeros((1, outputs)), np.eye(outputs)])
    for truth in (rows.mean(axis=0), rows[0]):
        shares = rng.multinomial(reports, truth) / reports
        alone = [
            exact_interval(rows, each, rows @ each, shares, float(reports), ALPHA, side=-1.0)[1]
            for each in scores
        ]
        together = upper_ends(rows, scores, shares, float(reports), ALPHA)
        np.testing.assert_allclose(together, alone, rtol=0.0, atol=1e-12)


def test_counts_that_no_population_explains_have_an_end_that_is_possible() -> None:
    rows = np.array([[0.6, 0.3, 0.1], [0.1, 0.3, 0.6]])
    scores = np.array([[-1.0, 0.5, 1.0]])
    shares = np.array([1.0, 0.0, 0.0])
    found = upper_ends(rows, scores, shares, 1e6, ALPHA)
    alone = exact_interval(rows, scores[0], rows @ scores[0], shares, 1e6, ALPHA, side=-1.0)[1]
    least = float((rows @ scores[0]).min())
    assert found.tolist() == [pytest.approx(alone, abs=1e-12)]
    assert least < alone < least + 0.01
