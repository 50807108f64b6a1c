"""The figure of the trade-off, and what docs/theory.md says about it."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from tests.docs.stated import stated
from tools import draw_tradeoff
from tools.tradeoff_figure import LABELS

PAGE = "docs/theory.md"
POINTS = draw_tradeoff.read()
LIMITS = {
    epsilon: [
        point for point in POINTS if point.epsilon == epsilon and point.name == draw_tradeoff.LIMIT
    ]
    for epsilon in draw_tradeoff.EPSILONS
}
BEST = {point.epsilon: point for point in POINTS if point.name == draw_tradeoff.BEST}


@pytest.mark.parametrize("epsilon", draw_tradeoff.EPSILONS)
def test_mechanisms_are_where_the_figure_shows_them(epsilon: float) -> None:
    shown = {point.name: point for point in POINTS if point.epsilon == epsilon}
    found = {point.name: point for point in draw_tradeoff.evaluate(epsilon)}
    assert set(shown) - {draw_tradeoff.LIMIT, draw_tradeoff.BEST} == set(found)
    for name, point in found.items():
        assert shown[name].slack == pytest.approx(point.slack, rel=1e-4), name
        assert shown[name].error == pytest.approx(point.error, rel=1e-4), name
        below = [limit.bound for limit in LIMITS[epsilon] if limit.slack >= point.slack]
        assert point.error > max([*below, BEST[epsilon].bound])


@pytest.mark.parametrize("epsilon", draw_tradeoff.EPSILONS)
def test_limits_are_proven_and_convex(epsilon: float) -> None:
    (within,) = stated(PAGE, r"limits are proven to within ([\d.]+)%")
    for point in [*LIMITS[epsilon], BEST[epsilon]]:
        assert 0.0 <= point.error / point.bound - 1.0 <= within / 100
    slacks = np.array([point.slack for point in LIMITS[epsilon]])
    errors = np.array([point.error for point in LIMITS[epsilon]])
    slopes = np.diff(errors) / np.diff(slacks)
    assert np.all(slopes < 0.0)
    assert all(later > before for before, later in itertools.pairwise(slopes))


@pytest.mark.parametrize("epsilon", draw_tradeoff.EPSILONS)
def test_what_slack_buys(epsilon: float) -> None:
    patterns = {
        1.0: r"a variance of (\d+)% above the lower bound allows ([\d.]+) times the squared "
        r"error of the table for the mean, and (\d+)% allows ([\d.]+) times; "
        r"more than (\d+)% gains nothing",
        3.0: r"At ε = 3, (\d+)% allows ([\d.]+) times, and (\d+)% allows ([\d.]+) times; more than "
        r"(\d+)% gains 1%",
    }
    first, small, second, large, last = stated(PAGE, patterns[epsilon])
    limits = {round(100 * point.slack, 3): point.error for point in LIMITS[epsilon]}
    (mean,) = [
        point.error for point in POINTS if point.epsilon == epsilon and point.name == "n-output"
    ]
    assert small == pytest.approx(limits[first] / mean, abs=0.005)
    assert large == pytest.approx(limits[second] / mean, abs=0.005)
    assert limits[last] / BEST[epsilon].error - 1.0 < (0.005 if epsilon == 1.0 else 0.015)


def test_the_figure_names_every_mechanism() -> None:
    figure = draw_tradeoff.POINTS.with_suffix(".svg").read_text(encoding="utf-8")
    names = {point.name for point in POINTS} & set(LABELS)
    for name in names:
        for line in LABELS[name].split("\n"):
            assert line in figure, name


def test_how_far_balanced_tables_are_from_the_limit() -> None:
    shares = stated(
        PAGE, r"the limit is ([\d.]+) times its squared error at ε = 1, and ([\d.]+) times"
    )
    for epsilon, share in zip(draw_tradeoff.EPSILONS, shares, strict=True):
        (found,) = [p for p in POINTS if (p.epsilon, p.name) == (epsilon, "n-output-balanced")]
        slacks, errors = zip(*((p.slack, p.error) for p in LIMITS[epsilon]), strict=True)
        limit = float(np.interp(np.log(found.slack), np.log(slacks), errors))
        assert share == pytest.approx(limit / found.error, abs=0.006)
