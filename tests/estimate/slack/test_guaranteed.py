"""Guaranteed intervals: the inequality behind the proof, and coverage with few reports."""

from __future__ import annotations

import numpy as np

from noutput.estimate.slack import places as goals_of
from noutput.estimate.slack.guaranteed import Guaranteed
from noutput.estimate.slack.intervals import Statistics
from tests.tables import window_table

TABLE = window_table(1.0, 6, 9, 0.4)


def test_ends_cover_with_few_reports() -> None:
    rng = np.random.default_rng(6)
    for x, shares in (([-1.0], [1.0]), ([-1.0, 1.0], [0.5, 0.5]), ([0.1, 0.7], [0.3, 0.7])):
        mean = float(np.dot(x, shares))
        chances = np.array(shares) @ TABLE.probabilities(np.array(x))
        hits = 0
        for _ in range(40):
            counts = rng.multinomial(30, chances / chances.sum())
            low, high = Statistics(Guaranteed(TABLE, counts / 30, 30.0, 0.95)).mean()
            hits += int(low <= mean <= high)
        assert hits >= 38


def test_scores_do_not_depend_on_the_reports() -> None:
    one = Guaranteed(TABLE, np.eye(6)[0], 1_000.0, 0.95)
    other = Guaranteed(TABLE, np.eye(6)[5], 1_100.0, 0.95)
    goals = np.array([goals_of.position(one.places).upper])
    np.testing.assert_array_equal(one.scores(goals), other.scores(goals))
    expectations = one.scores(goals) @ one.places.program.rows.T
    assert np.all(expectations >= goals - 1e-12)
