"""The range rule: what it narrows, what it leaves alone, and that everybody computes the same."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noutput as no
from noutput.planner.adaptive import OBJECTIVES, _functions

MINUTES = no.Interval(0.0, 600.0)


@cache
def table(epsilon: float = 1.0) -> no.TableMechanism:
    return no.design(epsilon).mechanism


def first_wave(
    values: np.ndarray, seed: int = 0, bounds: no.Interval = MINUTES, epsilon: float = 1.0
) -> no.Tally:
    """Return the reports of people with these values."""
    m = table(epsilon)
    unit = bounds.to_unit(values, clip=True)
    return no.Tally.of(m, m.privatize(unit, np.random.default_rng(seed)))


def commuters(people: int = 20_000, seed: int = 1) -> np.ndarray:
    """Return minutes of a population of which 99% are below 110."""
    return np.random.default_rng(seed).gamma(3.0, 13.0, people)


def test_range_far_too_wide_is_narrowed_to_what_holds_nearly_everybody() -> None:
    values = commuters()
    found = no.choose_range(table(), first_wave(values), MINUTES, expected=80_000)
    assert found.narrowed
    assert found.bounds is not None
    assert found.bounds.lower == 0.0
    assert np.quantile(values, 0.95) < found.bounds.upper < 200.0
    assert found.forecast.error_ratio < 0.6
    assert found.mechanism is table()
    assert f"between 0 and {found.bounds.upper:g}" in found.reason


def test_people_in_the_middle_move_both_ends() -> None:
    values = np.random.default_rng(2).normal(300.0, 20.0, 40_000)
    found = no.choose_range(table(), first_wave(values), MINUTES, expected=160_000)
    assert found.bounds is not None
    assert 150.0 < found.bounds.lower < 260.0
    assert 340.0 < found.bounds.upper < 450.0


def test_people_spread_over_the_whole_range_keep_it() -> None:
    values = np.random.default_rng(3).uniform(0.0, 600.0, 20_000)
    found = no.choose_range(table(), first_wave(values), MINUTES, expected=80_000)
    assert (found.narrowed, found.bounds) == (False, MINUTES)
    assert found.forecast.error_ratio == 1.0


def test_bounds_are_round_numbers_of_the_declared_range() -> None:
    for bounds, step in ((MINUTES, 10.0), (no.Interval(-1.0, 1.0), 0.02), (no.Interval(3, 90), 1)):
        values = bounds.from_unit(-1.0) + bounds.half_width * commuters() / 300.0
        tally = first_wave(values, bounds=bounds)
        found = no.choose_range(table(), tally, bounds, expected=80_000).bounds
        assert found is not None
        assert found.upper < bounds.upper
        for end in (found.lower, found.upper):
            assert end in (bounds.lower, bounds.upper) or end == pytest.approx(
                step * round(end / step), abs=1e-12
            )


@pytest.mark.parametrize("objective", OBJECTIVES)
def test_result_is_a_function_of_the_arguments(objective: str) -> None:
    tally = first_wave(commuters(4_000))
    first, again = (
        no.choose_range(table(), tally, (0, 600), expected=16_000, objective=objective)
        for _ in range(2)
    )
    assert first == again


def test_units_do_not_matter() -> None:
    tally = first_wave(commuters())
    minutes = no.choose_range(table(), tally, (0, 600), expected=80_000).bounds
    seconds = no.choose_range(table(), tally, (0, 6_000), expected=80_000).bounds
    assert minutes is not None
    assert seconds == no.Interval(10.0 * minutes.lower, 10.0 * minutes.upper)


def test_few_reports_change_nothing() -> None:
    few = no.choose_range(table(), first_wave(commuters(499)), MINUTES, expected=80_000)
    assert not few.narrowed
    assert "499 reports are too few" in few.reason


def test_whoever_comes_although_nobody_is_expected_has_a_narrow_range_too() -> None:
    tally = first_wave(commuters(4_000))
    nobody = no.choose_range(table(), tally, MINUTES, expected=0)
    assert nobody.bounds == no.choose_range(table(), tally, MINUTES, expected=16_000).bounds
    assert nobody.narrowed
    assert nobody.forecast.error_ratio == 1.0  # of the first wave alone, which is a single one
    assert "Nobody is expected" in nobody.reason


@pytest.mark.parametrize(("people", "expected"), [(700, 300), (4_000, 1_000), (2_000, 100)])
def test_few_who_are_expected_do_not_make_a_sliver(people: int, expected: int) -> None:
    values = np.random.default_rng(8).lognormal(np.log(35.0), 0.6, people)
    found = no.choose_range(table(), first_wave(values), MINUTES, expected=expected)
    assert found.bounds is not None
    inside = (values >= found.bounds.lower) & (values <= found.bounds.upper)
    assert inside.mean() > 0.9
    many = no.choose_range(table(), first_wave(values), MINUTES, expected=4 * people)
    assert found.bounds == many.bounds


@cache
def waves_of_many_kinds() -> list[tuple[float, no.Tally]]:
    """Return first waves of one hump and of people everywhere, small and large, by epsilon."""
    rng = np.random.default_rng(9)
    return [
        (epsilon, first_wave(values, seed, epsilon=epsilon))
        for seed, (epsilon, people) in enumerate([(0.5, 600), (1.0, 700), (1.0, 5_000), (2.0, 900)])
        for values in (
            rng.normal(200.0, 30.0, people),
            rng.lognormal(np.log(40.0), 0.6, people),
            np.where(rng.random(people) < 0.1, rng.uniform(0.0, 600.0, people), 50.0),
        )
    ]


@given(
    st.integers(0, 11),
    st.one_of(st.integers(0, 2_000), st.integers(0, 10**7)),
    st.sampled_from(OBJECTIVES),
)
@settings(deadline=None, max_examples=60)
def test_bounds_leave_few_beyond_however_many_are_expected(
    kind: int, expected: int, objective: str
) -> None:
    epsilon, tally = waves_of_many_kinds()[kind]
    m = table(epsilon)
    found = no.choose_range(m, tally, MINUTES, expected=expected, objective=objective)
    assert found.forecast.share_beyond <= 0.1
    assert found.forecast.error_ratio <= 1.0
    more = no.choose_range(m, tally, MINUTES, expected=2 * expected + 1, objective=objective)
    assert found.bounds is not None
    assert more.bounds is not None
    assert more.bounds.half_width >= found.bounds.half_width - 6.0  # two steps of rounding


def test_reports_that_fit_no_distribution_narrow_nothing() -> None:
    honest = first_wave(commuters())
    place = table().n_outputs // 8
    counts = [count + 3_000 * (i == place) for i, count in enumerate(honest.counts)]
    forged = no.Tally(honest.fingerprint, tuple(counts))
    found = no.choose_range(table(), forged, MINUTES, expected=80_000)
    assert not found.narrowed
    assert found.forecast.p_value < 0.01
    assert "forged" in found.reason


def test_no_random_number_decides_whether_reports_look_forged(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Generators may draw other numbers in another version of numpy."""

    def fails(*_: object) -> None:
        raise AssertionError("the rule drew a random number")

    honest = first_wave(commuters(2_000))
    place = table().n_outputs // 8
    forged = [
        no.Tally(
            honest.fingerprint,
            tuple(count + more * (i == place) for i, count in enumerate(honest.counts)),
        )
        for more in (0, 40, 60, 80, 400)
    ]
    monkeypatch.setattr(np.random, "default_rng", fails)
    found = [no.choose_range(table(), tally, MINUTES, expected=8_000) for tally in forged]
    assert [each.narrowed for each in found] == sorted([each.narrowed for each in found])[::-1]
    assert found[0].narrowed
    assert not found[-1].narrowed


def test_questions_with_answers_keep_their_table() -> None:
    m = no.design(1.0, question=no.Scale(1, 2, 3, 4, 5)).mechanism
    tally = no.Tally.of(m, m.privatize([0, 1, 2] * 500, np.random.default_rng(0)))
    found = no.choose_range(m, tally, None, expected=1_000)
    assert (found.bounds, found.mechanism, found.narrowed) == (None, m, False)


@pytest.mark.parametrize(
    ("changed", "name"),
    [
        ({"expected": -1}, "expected"),
        ({"expected": 2.5}, "expected"),
        ({"objective": "median"}, "objective"),
        ({"bounds": (5, 5)}, "bounds"),
        ({"bounds": None}, "bounds"),
        ({"tally": no.Tally("another", (1,))}, "tally"),
    ],
)
def test_bad_arguments_are_named(changed: dict[str, Any], name: str) -> None:
    m = table()
    tally = no.Tally(m.fingerprint, (9,) * m.n_outputs)
    arguments: dict[str, Any] = {"tally": tally, "bounds": (0, 1), "expected": 5}
    with pytest.raises(no.InvalidArgumentError, match=name):
        no.choose_range(m, **(arguments | changed))


@given(st.lists(st.floats(0.0, 1.0), min_size=1, max_size=3))
@settings(deadline=None, max_examples=30)
def test_what_lies_beyond_a_place_is_averaged_over_bins(places: list[float]) -> None:
    below, above, shares = _functions(np.array(places))
    fine = (np.arange(64 * 500) + 0.5) / (64 * 500)
    for row, place in enumerate(places):
        for found, exact in (
            (below, np.maximum(place - fine, 0.0)),
            (above, np.maximum(fine - place, 0.0)),
            (shares, (fine <= place) * 1.0),
        ):
            assert found[row] == pytest.approx(exact.reshape(64, -1).mean(axis=1), abs=2e-3)


@pytest.mark.slow
def test_a_table_for_the_estimated_distribution_gains_little() -> None:
    """Designed for one hump in the range that was found, and used by exactly such people."""
    balanced, people = table(), np.linspace(-1.0, 1.0, 401)
    hump = np.maximum(0.36 - people**2, 0.0) + 0.01
    prior = np.add.reduceat(hump[:-1], np.arange(0, 400, 20))
    designed = no.design(1.0, objective="average", prior=prior).mechanism
    worst = no.design(1.0, objective="worst").mechanism

    def error(m: no.TableMechanism) -> float:
        shares = hump @ m.probabilities(people) / hump.sum()
        return float(np.sqrt(shares @ (m.outputs - shares @ m.outputs) ** 2))

    assert 0.9 < error(designed) / error(balanced) < 0.97
    assert 0.93 < error(designed) / error(worst) < 1.0
