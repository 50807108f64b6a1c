"""What holds for every table of answers: designs and mechanisms of the literature alike."""

from __future__ import annotations

import math
import os
import pickle
from functools import cache

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

import noutput as no
from noutput.errors import InvalidArgumentError, PrivacyError
from noutput.mechanisms.answer_baselines import ANSWER_MECHANISMS, answer_mechanism

DRAWS = 100_000
LEVEL = 1e-5
NAMES = (*ANSWER_MECHANISMS, "cdf", "shares", "mean", "balanced")


@cache
def make(name: str, epsilon: float, k: int) -> no.AnswerMechanism:
    if name in ANSWER_MECHANISMS:
        return answer_mechanism(name, epsilon, k)
    return no.design(epsilon, question=no.Scale(*range(k)), objective=name).mechanism


cases = st.tuples(
    st.sampled_from(NAMES), st.sampled_from([0.25, 0.5, 1.0, 2.0, 4.0]), st.integers(2, 6)
)


@settings(max_examples=60, deadline=None)
@given(case=cases)
def test_probabilities_are_valid_and_private(case: tuple[str, float, int]) -> None:
    found, (_, epsilon, k) = make(*case), case
    assert (found.n_answers, found.epsilon, found.exact) == (k, epsilon, True)
    assert np.array_equal(found.weights.sum(axis=1), np.full(k, 1 << 32))
    assert found.weights.min() >= 1
    rows = found.table()
    assert np.abs(rows.sum(axis=1) - 1.0).max() < 1e-12
    assert found.privacy_loss() <= epsilon
    assert math.log(np.max(rows.max(axis=0) / rows.min(axis=0))) <= epsilon + 1e-12
    reports = found.privatize(np.arange(k), np.random.default_rng(1))
    losses = [found.log_likelihood(reports, 0) - found.log_likelihood(reports, j) for j in range(k)]
    assert np.abs(losses).max() <= epsilon + 1e-12
    assert np.linalg.matrix_rank(rows) == k  # all shares can be estimated


@settings(max_examples=40, deadline=None)
@given(case=cases)
def test_documents_and_pickles_are_the_same_mechanism(case: tuple[str, float, int]) -> None:
    found = make(*case)
    pickled = pickle.loads(pickle.dumps(found))  # noqa: S301 (our own bytes)
    for again in (no.AnswerMechanism.from_json(found.to_json()), pickled):
        assert again == found
        assert hash(again) == hash(found)
        assert np.array_equal(again.weights, found.weights)
    assert found.bits == (found.n_outputs - 1).bit_length()


def p_value(reports: NDArray[np.uint8] | int, probabilities: NDArray[np.float64]) -> float:
    reports = np.atleast_1d(reports)
    counts = np.bincount(reports, minlength=len(probabilities))
    kept = probabilities * reports.size >= 5.0
    seen = np.append(counts[kept], counts[~kept].sum())
    wanted = np.append(probabilities[kept], probabilities[~kept].sum()) * reports.size
    nonzero = wanted > 0.0
    return float(chisquare(seen[nonzero], wanted[nonzero], sum_check=False).pvalue)


@pytest.mark.parametrize("name", NAMES)
def test_the_sampler_fits_its_probabilities_and_no_others(name: str) -> None:
    found, wrong = make(name, 1.0, 5), make(name, 2.0, 5)
    for seed, answer in enumerate((0, 2, 4)):
        reports = found.privatize(np.full(DRAWS, answer), np.random.default_rng(seed))
        assert p_value(reports, found.table()[answer]) > LEVEL
        assert p_value(reports, found.table()[(answer + 1) % 5]) < 1e-12
        if wrong.n_outputs == found.n_outputs:
            assert p_value(reports, wrong.table()[answer]) < 1e-12


def test_secure_draws_fit_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", lambda size: bytes(range(size)))
    found = make("cdf", 1.0, 5)
    reports = found.privatize(np.full(DRAWS, 3))
    assert p_value(reports, found.table()[3]) > LEVEL


def test_arrays_plain_tables_and_threads_draw_the_same() -> None:
    found = make("cdf", 1.0, 5)
    answers = np.random.default_rng(2).integers(0, 5, 200)
    words = np.random.default_rng(3).integers(0, 1 << 64, 200, np.uint64)
    reports = found.privatize(answers, np.random.default_rng(3))
    assert np.array_equal(reports, found.privatize(answers, np.random.default_rng(3), threads=2))
    pairs = zip(answers.tolist(), words.tolist(), strict=True)
    assert [found.plain.draw(*pair) for pair in pairs] == np.asarray(reports).tolist()


def test_objects_cannot_be_changed() -> None:
    found = make("direct-encoding", 1.0, 3)
    with pytest.raises(AttributeError, match="cannot be changed"):
        found.scale = 3  # type: ignore[misc]  # the point of the test
    with pytest.raises(ValueError, match="read-only"):
        found.weights[0, 0] = 1


def test_a_table_that_claims_too_little_is_refused() -> None:
    found = make("cdf", 1.0, 5)
    with pytest.raises(PrivacyError):
        no.AnswerMechanism(0.99, found.weights)


def test_places_that_do_not_exist_are_refused() -> None:
    found = make("cdf", 1.0, 5)
    for bad in ([5], [-1]):
        with pytest.raises(InvalidArgumentError, match="be a place from 0 to 4"):
            found.privatize(bad)
    with pytest.raises(InvalidArgumentError, match="be places of answers"):
        found.privatize([0.5])
