"""The statistics of answers, and what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import noutput as no
from noutput.errors import InvalidArgumentError
from tests.estimate.answer_tables import direct, mixed, populations, whole


def estimate(
    table: no.AnswerMechanism,
    truth: list[float],
    question: no.Question | None = None,
    n: int = 10**6,
) -> no.AnswerEstimate:
    """Return the estimate of counts that are as expected."""
    counts = np.rint(np.array(truth) @ table.table() * n).astype(int)
    return no.estimate_answers(table, no.Tally(table.fingerprint, tuple(counts.tolist())), question)


TRUTH = [0.1, 0.0, 0.3, 0.2, 0.4]
STARS = no.Scale(1, 2, 3, 4, 5)


@pytest.mark.parametrize("table", [direct(5, 1.0), mixed(5, 1.0), mixed(5, 4.0)], ids=repr)
def test_expected_counts_give_back_the_truth(table: no.AnswerMechanism) -> None:
    found = estimate(table, TRUTH, STARS)
    np.testing.assert_allclose(found.shares, TRUTH, atol=2e-4)
    np.testing.assert_allclose(found.cdf, np.cumsum(TRUTH), atol=2e-4)
    assert found.cdf[-1] == pytest.approx(1.0)
    assert found.mean == pytest.approx(np.dot(TRUTH, [1, 2, 3, 4, 5]), abs=1e-3)
    assert found.mean_error is not None
    assert found.mean_error > 0.0
    assert found.difference(5, 1).value == pytest.approx(0.3, abs=4e-4)
    assert found.projected.min() >= 0.0
    assert found.projected.sum() == pytest.approx(1.0)


def test_quantiles_are_the_smallest_answer_with_the_share_at_or_below() -> None:
    found = estimate(mixed(5, 4.0), TRUTH, STARS)
    shares = (0.05, 0.15, 0.35, 0.5, 0.7)
    assert [found.quantile(share) for share in shares] == [1, 3, 3, 4, 5]
    assert found.quantile_interval(0.5) == (4, 4)
    low, high = found.quantile_interval(0.4)  # the CDF at 3 is 0.4 exactly: 3 or 4
    assert (low, high) == (3, 4)
    texts = estimate(mixed(3, 4.0), [0.2, 0.2, 0.6], no.Scale("low", "middle", "high"))
    assert texts.quantile(0.3) == "middle"
    assert texts.mean is None


def test_the_last_cdf_value_is_known() -> None:
    for kind in ("normal", "guaranteed"):
        low, high = estimate(mixed(5, 1.0), TRUTH).interval("cdf", kind=kind, simultaneous=True)
        assert low[-1] == high[-1] == 1.0


def test_simultaneous_intervals_are_wider_and_two_answers_are_one_share() -> None:
    for kind in ("normal", "guaranteed"):
        found = estimate(mixed(5, 1.0), TRUTH, n=5_000)
        (low, high), (all_low, all_high) = (
            found.interval(kind=kind, simultaneous=many) for many in (False, True)
        )
        assert np.all(all_low <= low)
        assert np.all(high <= all_high)
        assert (all_high - all_low).sum() > 1.1 * (high - low).sum()
        two = estimate(direct(2, 1.0), [0.4, 0.6], n=5_000)
        one = two.interval(kind=kind)
        np.testing.assert_allclose(one, two.interval(kind=kind, simultaneous=True), atol=1e-3)


def test_groups_are_compared_across_tables() -> None:
    first = estimate(mixed(5, 1.0), TRUTH, n=10_000)
    second = estimate(direct(5, 2.0), [0.2] * 5, n=20_000)
    normal, exact, joint = (
        first.compare(second, kind="normal"),
        first.compare(second, kind="guaranteed"),
        first.compare(second, simultaneous=True),
    )
    for share, each in zip(np.array(TRUTH) - 0.2, normal, strict=True):
        assert each.value == pytest.approx(share, abs=2e-3)
        assert each.low < share < each.high
        assert (each.high - each.low) / 2 == pytest.approx(1.96 * each.standard_error, rel=0.05)
    for wider in (exact, joint):
        pairs = zip(wider, normal, strict=True)
        assert all(w.high - w.low > n.high - n.low for w, n in pairs)
    with pytest.raises(InvalidArgumentError, match="AnswerEstimate with the answers"):
        first.compare(estimate(direct(2, 1.0), [0.5, 0.5]))
    with pytest.raises(InvalidArgumentError, match="AnswerEstimate with the answers"):
        first.compare(None)  # type: ignore[arg-type]


def test_two_reports_that_agree_are_no_certainty() -> None:
    table = mixed(5, 1.0)
    found = no.estimate_answers(table, no.Tally(table.fingerprint, (2, *[0] * 12)))
    assert np.all(found.standard_errors > 0.5)
    for kind in ("normal", "guaranteed"):
        low, high = found.interval(kind=kind)
        assert np.all(high - low > 0.2)


def test_reports_are_counted() -> None:
    table = direct(3, 1.0)
    reports = table.privatize([0, 1, 2, 2], rng=np.random.default_rng(1))
    found = no.estimate_answers(table, reports)
    assert found.tally == no.Tally.of(table, reports)
    assert found.labels == ("0", "1", "2")
    assert found.difference(0, 1).standard_error > 0.0


def test_forged_counts_are_noticed() -> None:
    table = mixed(5, 1.0)
    assert estimate(table, TRUTH).goodness.p_value > 0.5
    skewed = no.Tally(table.fingerprint, (900, *[10] * (table.n_outputs - 1)))
    found = no.estimate_answers(table, skewed).goodness
    assert found.p_value < 0.01
    assert found.degrees_of_freedom > 0


@pytest.mark.parametrize("name", list(populations(11)))
def test_goodness_of_honest_counts_raises_no_alarm(name: str) -> None:
    table = mixed(11, 1.0)
    drawn = np.random.default_rng(8).multinomial(5_000, populations(11)[name] @ table.table())
    found = no.estimate_answers(table, no.Tally(table.fingerprint, tuple(drawn.tolist())))
    assert found.goodness.p_value > 0.01


def test_bad_input() -> None:
    table = direct(3, 1.0)
    counted = no.Tally(table.fingerprint, (10, 20, 30))
    choice = no.estimate_answers(table, counted, no.Choice("a", "b", "c"))
    nothing: Any = None
    cases: list[tuple[Callable[[], object], str]] = [
        (lambda: no.estimate_answers(nothing, counted), "mechanism must be an AnswerMechanism"),
        (lambda: no.estimate_answers(table, counted, no.Number(0, 1)), "question must be a Scale"),
        (lambda: no.estimate_answers(table, counted, no.YesNo()), "as the table has rows, 3"),
        (lambda: no.estimate_answers(table, [1]), "at least two reports"),
        (lambda: no.estimate_answers(table, [0, 3]), "indexes from 0 to 2"),
        (lambda: no.estimate_answers(direct(3, 2.0), counted), "a tally of the mechanism"),
        (lambda: no.estimate_answers(table, counted, level=0.0), "level must lie strictly"),
        (lambda: choice.cdf, "answers of a choice have no order"),
        (lambda: choice.quantile(0.5), "answers of a choice have no order"),
        (lambda: choice.interval("cdf"), "answers of a choice have no order"),
        (lambda: choice.interval("mean"), "statistic must be one of 'shares', 'cdf'"),
        (lambda: choice.interval(kind="exact"), "kind must be one of 'normal', 'guaranteed'"),
        (lambda: choice.mean_interval(), "question must have scores"),
        (lambda: choice.difference("a", "d"), r"other must be one of \['a', 'b', 'c'\]"),
        (lambda: choice.difference("a", "a"), "be another answer"),
        (lambda: choice.interval(level=2.0), "level must lie strictly"),
    ]
    for call, message in cases:
        with pytest.raises(InvalidArgumentError, match=message):
            call()


def test_a_table_that_does_not_tell_all_answers_apart_is_refused() -> None:
    alike = whole(np.array([[2.0, 1.0, 1.0], [1.0, 2.0, 1.0], [1.5, 1.5, 1.0]]))
    with pytest.raises(InvalidArgumentError, match="does not tell all answers apart"):
        no.estimate_answers(alike, no.Tally(alike.fingerprint, (3, 3, 3)))
    narrow = whole(np.array([[2.0, 1.0], [1.0, 2.0], [1.0, 1.0]]))
    with pytest.raises(InvalidArgumentError, match="does not tell all answers apart"):
        no.estimate_answers(narrow, no.Tally(narrow.fingerprint, (3, 3)))
