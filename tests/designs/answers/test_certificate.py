"""The checker accepts what the search proves, and notices every change of it."""

from __future__ import annotations

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from noutput.designs.answers import shipped
from noutput.designs.answers.bound import find_bound
from noutput.designs.answers.certificate import AnswerCertificate, prove, verify
from noutput.designs.answers.error import worst_error
from noutput.designs.answers.objective import OBJECTIVES, AnswerObjective
from noutput.designs.answers.saddle import Aim
from noutput.errors import InvalidArgumentError

CDF = AnswerObjective("cdf", 4)
PROOF = find_bound(1.0, CDF)
tables = st.lists(
    st.lists(st.booleans(), min_size=4, max_size=4), min_size=6, max_size=12, unique_by=tuple
)


def test_a_proven_bound_is_verified_and_a_larger_one_is_not() -> None:
    verify(1.0, CDF.factor, PROOF.certificate, PROOF.value)
    with pytest.raises(InvalidArgumentError, match="prove a bound of"):
        verify(1.0, CDF.factor, PROOF.certificate, PROOF.value * 1.000001)


@pytest.mark.parametrize("size", shipped.SIZES)
def test_what_one_processor_proves_every_other_verifies(size: int) -> None:
    """They add up in different orders; so does one that gets the answers in another order."""
    order = np.random.default_rng(size).permutation(size)
    for epsilon, name in product(shipped.EPSILONS, OBJECTIVES):
        ships = shipped.shipped(epsilon, shipped.stand_in(size), name)
        assert ships is not None
        factor, certificate = ships.objective.factor, ships.proof.certificate
        verify(epsilon, factor, certificate, ships.lower_bound)
        same = AnswerCertificate(
            tuple(certificate.population[k] for k in order),
            tuple(certificate.influence[k] for k in order),
            tuple(certificate.multipliers[k] for k in order),
        )
        verify(epsilon, factor, certificate, prove(epsilon, factor[order], same))
        verify(epsilon, factor[order], same, prove(epsilon, factor, certificate))


@pytest.mark.parametrize("part", ["population", "multipliers"])
def test_changed_numbers_prove_less(part: str) -> None:
    numbers = list(getattr(PROOF.certificate, part))
    numbers[0], numbers[1] = numbers[0] * 0.9, numbers[1] + 0.1 * numbers[0]
    forged = replace(PROOF.certificate, **{part: tuple(numbers)})
    assert prove(1.0, CDF.factor, forged) < PROOF.value * 0.9999


def test_a_larger_matrix_proves_less() -> None:
    forged = tuple(tuple(1.05 * entry for entry in row) for row in PROOF.certificate.influence)
    certificate = replace(PROOF.certificate, influence=forged)
    assert prove(1.0, CDF.factor, certificate) < PROOF.value


def test_a_smaller_epsilon_needs_more_and_a_larger_one_breaks_the_proof() -> None:
    assert prove(1.2, CDF.factor, PROOF.certificate) < PROOF.value


@settings(max_examples=40, deadline=None)
@given(members=tables, weights=st.lists(st.floats(0.05, 1.0), min_size=12, max_size=12))
def test_no_private_table_is_below_the_bound(
    members: list[list[bool]], weights: list[float]
) -> None:
    """Any columns with any weights; direct encoding takes up what they leave of every row."""
    columns = (1.0 + np.expm1(1.0) * np.array(members)) * np.array(weights[: len(members)])[:, None]
    table = 0.2 * columns.T / columns.sum(axis=0).max()
    direct = 1.0 + np.expm1(1.0) * np.eye(4)
    rest = np.linalg.solve(direct, 1.0 - table.sum(axis=1))
    assert rest.min() > 0.0
    table = np.hstack([table, direct * rest])
    assert worst_error(table, Aim(CDF.factor)) >= PROOF.value


def test_what_is_no_certificate_is_refused() -> None:
    factor = CDF.factor
    certificate = PROOF.certificate
    cases = {
        "4 shares and 4 multipliers": replace(certificate, population=(0.5, 0.5)),
        "have a matrix of": replace(certificate, influence=certificate.influence[:3]),
        "add up to 1": replace(certificate, population=(0.5, 0.5, 0.5, 0.5)),
        "finite numbers": replace(certificate, multipliers=(np.nan,) * 4),
    }
    for message, each in cases.items():
        with pytest.raises(InvalidArgumentError, match=message):
            prove(1.0, factor, each)


def test_many_answers_must_be_alike() -> None:
    k = 20
    shares = AnswerObjective("shares", k)
    proof = find_bound(1.0, shares)
    assert proof.value == pytest.approx(prove(1.0, shares.factor, proof.certificate))
    uneven = [*proof.certificate.multipliers]
    uneven[0] *= 2.0
    with pytest.raises(InvalidArgumentError, match="at most 18 answers, or all alike"):
        prove(1.0, shares.factor, replace(proof.certificate, multipliers=tuple(uneven)))


def test_symmetric_certificates_agree_with_all_columns() -> None:
    """The same numbers, with all 2^k columns looked at and with one per size."""
    shares = AnswerObjective("shares", 6)
    proof = find_bound(0.7, shares)
    sizes = np.arange(6) < np.arange(7)[:, None]
    entries = 1.0 + np.expm1(0.7) * sizes
    influence, multipliers = (
        np.array(proof.certificate.influence),
        np.array(proof.certificate.multipliers),
    )
    left = np.square(entries @ influence).sum(axis=1)
    right = entries.mean(axis=1) * (entries @ multipliers)
    assert np.all(left <= right * (1.0 + 1e-7))
    noise = 2.0 * np.trace(influence) - multipliers.sum() - 1.0
    assert proof.value == pytest.approx(noise, rel=1e-6)


def test_answers_that_take_no_part_do_not_count() -> None:
    """A proof for two of three answers is a proof for populations that give no third one."""
    half = AnswerCertificate((0.5, 0.0, 0.5), ((2.0,), (0.0,), (-2.0,)), (2.0, 0.0, 2.0))
    pair = AnswerCertificate((0.5, 0.5), ((2.0,), (-2.0,)), (2.0, 2.0))
    wide, narrow = np.array([[1.0], [0.3], [-1.0]]), np.array([[1.0], [-1.0]])
    assert prove(1.0, wide, half) == prove(1.0, narrow, pair)
