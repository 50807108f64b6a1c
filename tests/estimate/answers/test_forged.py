"""How far forged reports move shares."""

from __future__ import annotations

import numpy as np
import pytest

import noutput as no
from noutput.errors import InvalidArgumentError
from noutput.estimate.answers.scores import fixed_scores


@pytest.mark.parametrize("epsilon", [0.5, 1.0, 3.0])
def test_liars_move_yes_by_at_most_the_bound(epsilon: float) -> None:
    """Every way in which one or two of 40 people can lie, by brute force."""
    table = no.design(epsilon, question=no.YesNo()).mechanism
    assert isinstance(table, no.AnswerMechanism)
    assert table.n_outputs == 2
    for yes in range(41):
        honest = no.estimate_answers(table, no.Tally(table.fingerprint, (40 - yes, yes)))
        for k in (1, 2):
            limit = honest.poisoning_bound(k)
            for lie in range(max(yes - k, 0), min(yes + k, 40) + 1):
                other = no.estimate_answers(table, no.Tally(table.fingerprint, (40 - lie, lie)))
                assert np.all(np.abs(other.shares - honest.shares) <= limit + 1e-12)
    assert limit == pytest.approx(2 / 40 / np.tanh(epsilon / 2), rel=1e-6)


def test_fixed_scores_keep_to_the_bound() -> None:
    table = no.design(1.0, question=no.Scale(1, 2, 3, 4, 5)).mechanism
    assert isinstance(table, no.AnswerMechanism)
    scores = fixed_scores(table)
    honest = no.estimate_answers(table, no.Tally(table.fingerprint, (10,) * table.n_outputs))
    moves = np.abs(scores[:, None, :] - scores[None, :, :]).max(axis=(0, 1)) / honest.n_reports
    assert honest.poisoning_bound(1) == pytest.approx(moves)


def test_more_forged_reports_than_reports_are_refused() -> None:
    table = no.design(1.0, question=no.YesNo()).mechanism
    found = no.estimate_answers(table, no.Tally(table.fingerprint, (3, 4)))
    with pytest.raises(InvalidArgumentError, match="forged must be a whole number from 0 to 7"):
        found.poisoning_bound(8)
