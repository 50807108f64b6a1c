from __future__ import annotations

import hashlib
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noutput as no
from noutput.estimate.slack.places import linear_knots
from noutput.estimate.stacked import StackedChannel
from noutput.estimate.stacked_scores import clipped_scores, lead, unbiased_scores
from noutput.mechanisms.base import CellModel, Channel
from tests.estimate.samples import sixteen
from tests.tables import tables

BOUNDS = {
    "nested": [(0.0, 100.0), (10.0, 30.0)],
    "same": [(0.0, 100.0), (0.0, 100.0)],
    "disjoint": [(0.0, 20.0), (60.0, 100.0)],
    "overlapping": [(0.0, 60.0), (40.0, 100.0)],
    "three": [(0.0, 100.0), (0.0, 50.0), (0.0, 20.0)],
}


def stack(
    mechanisms: list[Channel], bounds: list[tuple[float, float]], reports: list[int]
) -> StackedChannel:
    parts = []
    for mechanism, ends, total in zip(mechanisms, bounds, reports, strict=True):
        counts = (total, *(0 for _ in range(mechanism.n_cells - 1)))
        parts.append((mechanism, no.Tally(mechanism.fingerprint, counts), ends))
    found = no.Evidence(parts).channel
    assert isinstance(found, StackedChannel)
    return found


def mechanisms_for(name: str) -> list[Channel]:
    first, second = sixteen(1.0), no.design(2.0, 16, objective="balanced").mechanism
    return {
        "nested": [first, second],
        "same": [first, second],
        "disjoint": [first, second],
        "overlapping": [no.mechanism("square-wave", 1.0), second],
        "three": [first, no.mechanism("direct-encoding", 1.0), second],
    }[name]  # type: ignore[return-value]


@pytest.mark.parametrize("name", BOUNDS)
def test_rows_are_those_of_devices_that_clip_and_draw(name: str) -> None:
    mechanisms, reports = mechanisms_for(name), [300, 700, 500][: len(BOUNDS[name])]
    found = stack(mechanisms, BOUNDS[name], reports)
    assert isinstance(found, CellModel)
    rng = np.random.default_rng(3)
    x = np.unique(np.concatenate([rng.uniform(0, 100, 50), np.ravel(BOUNDS[name])]))
    rows = found.probabilities(x / 50.0 - 1.0)
    assert rows.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    for (cells, total), mechanism, ends in zip(found.groups, mechanisms, BOUNDS[name], strict=True):
        units = no.Interval(*ends)
        own = mechanism.probabilities(units.to_unit(x, clip=True))
        assert rows[:, cells] * sum(reports) / total == pytest.approx(own, abs=1e-9)


@pytest.mark.parametrize("name", ["nested", "overlapping"])
def test_simulated_reports_have_the_chances_of_the_rows(name: str) -> None:
    mechanisms, size = mechanisms_for(name), 200_000
    found = stack(mechanisms, BOUNDS[name], [size, size])
    rng = np.random.default_rng(4)
    for x in (5.0, 20.0, 45.0, 80.0):
        row = found.probabilities(x / 50.0 - 1.0)
        for (cells, _), mechanism, ends in zip(found.groups, mechanisms, BOUNDS[name], strict=True):
            value = float(no.Interval(*ends).to_unit([x], clip=True)[0])
            drawn = mechanism.privatize(np.full(size, value), rng)
            counts = np.array(no.Tally.of(mechanism, drawn).counts)
            chances = row[cells] * 2.0 * size
            assert np.abs(counts - chances).max() < 5.0 * np.sqrt(chances.max())


@pytest.mark.parametrize("name", BOUNDS)
def test_rows_are_linear_between_corners(name: str) -> None:
    found = stack(mechanisms_for(name), BOUNDS[name], [30, 70, 50][: len(BOUNDS[name])])
    corners = found.corners()
    assert corners[0] == -1.0
    assert corners[-1] == 1.0
    wide = np.diff(corners) > 1e-5  # between the sides of a jump nothing is promised
    start, end = corners[:-1][wide], corners[1:][wide]
    rows = [found.probabilities(start + share * (end - start)) for share in (0.0, 0.4, 1.0)]
    assert rows[1] == pytest.approx(0.6 * rows[0] + 0.4 * rows[2], abs=1e-7)
    assert len(linear_knots(found)) >= wide.sum()


@pytest.mark.parametrize("name", BOUNDS)
def test_the_transition_matrix_is_the_average_over_bins(name: str) -> None:
    found = stack(mechanisms_for(name), BOUNDS[name], [30, 70, 50][: len(BOUNDS[name])])
    fine = (np.arange(64 * 400) + 0.5) / 12_800.0 - 1.0
    average = found.probabilities(fine).reshape(64, 400, -1).mean(axis=1)
    assert found.transition() == pytest.approx(average, abs=5e-5)


def test_the_fingerprint_is_that_of_parts_bounds_and_numbers_of_reports() -> None:
    m = sixteen(1.0)
    first = stack([m, m], BOUNDS["nested"], [30, 70])
    again = stack([m, m], BOUNDS["nested"], [30, 70])
    assert first == again
    assert hash(first) == hash(again)
    assert len(first.fingerprint) == len(hashlib.sha256().hexdigest())
    assert first != stack([m, m], BOUNDS["nested"], [31, 69])
    assert first != stack([m, m], BOUNDS["overlapping"], [30, 70])
    assert first != 3
    assert first.epsilon == 1.0
    with pytest.raises(no.InvalidArgumentError, match="bins"):
        first.transition(0)


def exact_rows(
    mechanism: no.TableMechanism, ends: tuple[float, float], x: Fraction
) -> list[Fraction]:
    """Return a table's probabilities at a number, clipped, without any rounding."""
    lower, upper = map(Fraction, ends)
    own = (min(max(x, lower), upper) - lower) / (upper - lower) * 2 - 1
    knots = [Fraction(float(each)) for each in mechanism.knots]
    place = max(k for k in range(len(knots) - 1) if knots[k] <= own)
    share = (own - knots[place]) / (knots[place + 1] - knots[place])
    weights = mechanism.weights
    return [
        ((1 - share) * int(weights[place][i]) + share * int(weights[place + 1][i]))
        / Fraction(mechanism.scale)
        for i in range(mechanism.n_outputs)
    ]


@given(
    st.lists(tables(6), min_size=2, max_size=3),
    st.integers(1, 63),
    st.integers(1, 32),
    st.lists(st.integers(0, 1 << 20), min_size=1, max_size=6),
)
@settings(max_examples=25, deadline=None)
def test_unbiased_scores_average_to_the_mean_of_every_population_in_exact_fractions(
    mechanisms: list[no.TableMechanism], start: int, width: int, people: list[int]
) -> None:
    bounds = [(0.0, 64.0), (float(start), min(start + width, 64.0) + 0.5), (0.0, 70.0)]
    bounds = [*bounds[: len(mechanisms) - 1], (0.0, 70.0)]  # the last one covers all
    reports = [1000, 400, 90][: len(mechanisms)]
    found = stack(list(mechanisms), bounds, reports)
    values = unbiased_scores(found)
    assert values is not None
    total = sum(reports)
    population = [Fraction(each * 70, 1 << 20) for each in people]
    expected = Fraction(0)
    for x in population:
        for (cells, size), mechanism, ends in zip(found.groups, mechanisms, bounds, strict=True):
            row = exact_rows(mechanism, ends, x)
            scores = [Fraction(float(each)) for each in values[cells]]
            share = Fraction(size, total)
            expected += share * sum(p * b for p, b in zip(row, scores, strict=True))
    mean = sum(population) / len(population)
    decoded = expected / len(population) * 35 + 35
    largest = float(np.abs(values).max())
    assert abs(float(decoded - mean)) < 1e-8 * max(largest, 1.0)


@pytest.mark.parametrize("name", ["nested", "same", "disjoint", "three"])
def test_clipped_scores_average_to_the_mean_clipped_to_the_lead(name: str) -> None:
    mechanisms = [sixteen(1.0), sixteen(3.0), sixteen(1.0)][: len(BOUNDS[name])]
    found = stack(list(mechanisms), BOUNDS[name], [300, 700, 500][: len(BOUNDS[name])])
    first = lead(found)
    x = np.linspace(-1.0, 1.0, 501)
    wanted = np.clip(x, first.lower, first.upper)
    assert found.probabilities(x) @ clipped_scores(found) == pytest.approx(wanted, abs=1e-9)
    assert (unbiased_scores(found) is None) == (name == "disjoint")
