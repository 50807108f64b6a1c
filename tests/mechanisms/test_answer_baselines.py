"""Mechanisms of the literature for answers: their closed forms, and what does not fit."""

from __future__ import annotations

import math

import numpy as np
import pytest

from noutput.errors import InvalidArgumentError
from noutput.mechanisms.answer_baselines import answer_mechanism, best_subset_size


def test_direct_encoding_tells_the_truth_as_often_as_it_may() -> None:
    rows = answer_mechanism("direct-encoding", 1.0, 4).table()
    assert np.diag(rows) == pytest.approx(np.full(4, math.e / (math.e + 3.0)), rel=1e-8)


def test_subsets_have_the_best_size() -> None:
    assert [best_subset_size(epsilon, 11) for epsilon in (0.25, 1.0, 2.0)] == [5, 3, 1]
    assert answer_mechanism("subset-selection", 1.0, 11).n_outputs == math.comb(11, 3)


def test_a_threshold_splits_the_answers_in_two() -> None:
    rows = answer_mechanism("threshold", 1.0, 4).weights
    large = rows > rows.mean(axis=0)
    assert np.array_equal(np.abs(np.diff(large.astype(int), axis=0)).sum(axis=0), np.ones(6))


@pytest.mark.parametrize(("name", "own"), [("oue", 0.5), ("sue", 1.0 / (1.0 + math.exp(-0.5)))])
def test_bits_of_unary_encodings_have_their_probabilities(name: str, own: float) -> None:
    rows = answer_mechanism(name, 1.0, 5).table()
    bits = np.arange(32)[:, None] >> np.arange(5) & 1
    other = 1.0 / (math.e + 1.0) if name == "oue" else 1.0 - own
    wanted = np.where(np.eye(5, dtype=bool), own, other)
    assert rows @ bits == pytest.approx(wanted, rel=1e-7)


@pytest.mark.parametrize(
    ("name", "k", "message"),
    [
        ("oue", 9, "be at most 8"),
        ("subset-selection", 16, "have at most 256 outputs; subset selection needs"),
        ("direct-encoding", 65, "from 2 to 64"),
        ("hadamard", 4, "name"),
    ],
)
def test_what_does_not_fit_is_refused(name: str, k: int, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=message):
        answer_mechanism(name, 1.0, k)
