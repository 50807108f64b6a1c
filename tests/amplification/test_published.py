"""Privacy of published counts, as users call it."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

import noutput as no
from noutput.amplification.lattice import lattice_bounds
from noutput.amplification.law import Laws
from noutput.amplification.normal import normal_bound
from noutput.amplification.result import round_up
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.answers import AnswerMechanism

DUCHI = AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])


@pytest.mark.parametrize(
    ("epsilon", "reports", "known"),
    [
        (1.0, 10**4, 0.0558), (1.0, 10**6, 0.0052), (2.0, 10**4, 0.141),
        (2.0, 10**6, 0.0129), (4.0, 10**4, 0.505), (4.0, 10**6, 0.0444),
    ],
)  # fmt: skip
def test_values_of_an_independent_computation(epsilon: float, reports: int, known: float) -> None:
    found = no.published_privacy(no.design(epsilon, 16, "worst"), reports=reports, delta=1e-8)
    assert 0.9 * known < found.epsilon <= 1.02 * known
    assert found.delta == 1e-8
    assert found.reports == reports
    assert sum(found.errors.values()) <= 0.06 * found.delta


def test_epsilon_and_delta_are_inverse() -> None:
    for reports in (300, 10**5):
        found = no.published_privacy(DUCHI, reports=reports, delta=1e-6)
        back = no.published_delta(DUCHI, reports=reports, epsilon=found.epsilon)
        assert 0.97e-6 < back.delta <= 1e-6 * (1.0 + 1e-9)


def test_every_kind_of_table_counts() -> None:
    design = no.design(1.0, 4, "worst")
    forms = (design, design.mechanism, design.mechanism.plain)
    assert len({no.published_privacy(form, reports=10**4).epsilon for form in forms}) == 1
    plain = no.published_privacy(DUCHI.plain, reports=10**4)
    assert plain == no.published_privacy(DUCHI, reports=10**4)


def test_more_reports_and_more_delta_reveal_less() -> None:
    by_reports = [no.published_privacy(DUCHI, reports=10**k).epsilon for k in range(2, 13)]
    assert by_reports == sorted(by_reports, reverse=True)
    by_delta = [no.published_privacy(DUCHI, reports=1_000, delta=10.0**-k) for k in range(1, 15)]
    assert [found.epsilon for found in by_delta] == sorted(found.epsilon for found in by_delta)


@pytest.mark.parametrize("reports", [10**8, 10**10, 10**12])
def test_huge_numbers_of_reports_approach_the_normal_law(reports: int) -> None:
    """Z of this table has variance 2, so delta is that of a normal sum with mean -c n."""
    c = math.expm1(no.published_privacy(DUCHI, reports=reports).epsilon)
    spread = math.sqrt(2.0 / reports)
    above = 0.5 * math.erfc(c / spread / math.sqrt(2.0))
    density = math.exp(-((c / spread) ** 2) / 2.0) / math.sqrt(2.0 * math.pi)
    assert spread * density - c * above == pytest.approx(1e-8, rel=2e-2)


def test_few_reports_have_the_local_guarantee() -> None:
    for reports in (1, 2, 10):
        found = no.published_privacy(DUCHI, reports=reports)
        assert (found.epsilon, found.delta, found.method) == (DUCHI.privacy_loss(), 0.0, "local")
        assert not found.amplified
        assert "hide nobody" in found.for_readers
    assert no.published_delta(DUCHI, reports=5, epsilon=1.2).delta == 0.0


def test_a_table_that_reveals_nothing_has_epsilon_zero() -> None:
    half = 1 << 31
    useless = AnswerMechanism(0.5, [[half, half], [half, half]])
    assert no.published_privacy(useless, reports=100).epsilon == 0.0
    assert no.published_delta(useless, reports=100, epsilon=0.0).delta == 0.0


def test_the_worst_rows_are_those_of_the_table() -> None:
    rows = np.array([[2, 1, 1], [1, 2, 1], [1, 2, 1], [4, 2, 2]]) * (1 << 29)
    rows = (rows / rows.sum(axis=1, keepdims=True) * (1 << 32)).astype(np.int64)
    table = AnswerMechanism(1.4, rows)
    assert set(no.published_privacy(table, reports=10**4).rows) == {0, 1}


@pytest.mark.parametrize("value", [0.0444001, 1e-8, 0.99999, 4.0, 123.4, 9.996e-5])
def test_printed_numbers_are_upper_bounds(value: float) -> None:
    assert value <= float(round_up(value)) <= value * 1.011


def test_a_result_as_a_document() -> None:
    found = no.published_privacy(DUCHI, reports=10**4)
    assert json.loads(json.dumps(found.to_dict()))["epsilon"] == found.epsilon


@pytest.mark.parametrize(
    ("arguments", "name"),
    [
        ({"reports": 0}, "reports"), ({"reports": 2.5}, "reports"),
        ({"reports": 10**13}, "reports"), ({"reports": 10, "delta": 0.0}, "delta"),
        ({"reports": 10, "delta": 1.0}, "delta"), ({"reports": 10, "lattice": 3}, "lattice"),
    ],
)  # fmt: skip
def test_bad_arguments_are_named(arguments: dict[str, float], name: str) -> None:
    with pytest.raises(InvalidArgumentError, match=rf"^{name} must"):
        no.published_privacy(DUCHI, **arguments)  # type: ignore[arg-type]  # on purpose


def test_only_certified_tables_are_taken() -> None:
    with pytest.raises(InvalidArgumentError, match=r"^mechanism must be a certified table"):
        no.published_privacy(no.mechanism("pm", 1.0), reports=10)  # type: ignore[arg-type]  # on purpose
    with pytest.raises(InvalidArgumentError, match=r"^epsilon must not be negative"):
        no.published_delta(DUCHI, reports=10, epsilon=-0.1)


def test_reports_needed_are_enough_and_hardly_more() -> None:
    for epsilon in (0.02, 0.5):
        found = no.reports_needed(DUCHI, epsilon=epsilon)
        assert found.epsilon <= epsilon
        fewer = int(0.97 * found.reports)
        assert no.published_privacy(DUCHI, reports=fewer).epsilon > epsilon
    assert no.reports_needed(DUCHI, epsilon=2.0).reports == 1
    with pytest.raises(InvalidArgumentError, match=r"^epsilon must be reached"):
        no.reports_needed(DUCHI, epsilon=1e-9)


def test_the_largest_report_epsilon_keeps_to_the_published_one() -> None:
    def family(epsilon: float) -> AnswerMechanism:
        likely = math.floor((1 << 32) * math.exp(epsilon) / (1.0 + math.exp(epsilon)))
        rest = (1 << 32) - likely
        return AnswerMechanism(epsilon * (1 + 1e-9), [[likely, rest], [rest, likely]])

    choices = [k / 4 for k in range(1, 33)]
    found = no.largest_report_epsilon(family, choices, published_epsilon=0.1, reports=10**5)
    assert found is not None
    epsilon, result = found
    assert result.epsilon <= 0.1
    above = no.published_privacy(family(epsilon + 0.25), reports=10**5)
    assert above.epsilon > 0.1
    none = no.largest_report_epsilon(family, choices, published_epsilon=1e-6, reports=100)
    assert none is None


EXTREMES = [(1e-6, 10**11, 0.9), (8.0, 16, 1e-300), (20.0, 10**6, 1e-20), (0.1, 10**10, 1e-300)]


@pytest.mark.parametrize(("spread", "reports", "delta"), EXTREMES)
def test_extreme_tables_numbers_and_deltas_give_sound_results(
    spread: float, reports: int, delta: float
) -> None:
    """No overflow, and what is found for a delta keeps to it."""
    rng = np.random.default_rng(8)
    rows = np.exp(spread * np.round(rng.random((5, 8))))
    weights = np.maximum(np.floor(rows / rows.sum(axis=1, keepdims=True) * 2**32), 1)
    weights = weights.astype(np.int64)
    weights[np.arange(5), weights.argmax(axis=1)] += 2**32 - weights.sum(axis=1)
    table = AnswerMechanism(23.0, weights)
    found = no.published_privacy(table, reports=reports, delta=delta)
    assert 0.0 < found.epsilon <= table.privacy_loss()
    back = no.published_delta(table, reports=reports, epsilon=found.epsilon)
    assert back.delta <= delta * (1.0 + 1e-9)


def test_a_bound_that_overflows_is_infinite() -> None:
    laws = Laws(np.array([[900.0, -900.0], [1.0, -1.5]]), np.array([0.1, 0.2]), 1.0)
    for found in (
        normal_bound(laws, 10, np.array([1.0, 1.0]))[0],
        lattice_bounds(laws, 10, 1.0, 256).log_delta,
    ):
        assert found[0] == math.inf
