"""Degrees of freedom that fits with a value give up: against projections, and what they are for."""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.linalg import null_space, orth

from benchmarks import calibrate
from benchmarks.covering import SIZES
from benchmarks.reaching import ratios
from noutput.estimate.slack.path import largest
from noutput.estimate.slack.pieces import Pieces
from noutput.estimate.slack.program import BestFit, Program
from noutput.estimate.slack.threshold import FACTOR, thresholds

Array: TypeAlias = NDArray[np.float64]


def many_outputs(seed: int) -> BestFit:
    """A fit of few of 14 atoms, in 11 dimensions: atoms replace each other only in part."""
    rng = np.random.default_rng(seed)
    rows = rng.dirichlet(np.full(12, 3.0), 14)
    shares = rng.multinomial(2_000, rng.dirichlet(np.full(14, 0.3)) @ rows) / 2_000
    return BestFit(Program(rows), shares, 2_000.0)


def by_projections(fit: BestFit, inside: NDArray[np.bool_], goal: Array) -> float:
    """tr P (I - P0), from bases of what both supports reach."""
    first = orth(fit.weighted[:, fit.inside] @ null_space(np.ones((1, int(fit.inside.sum())))))
    rules = np.vstack([np.ones(int(inside.sum())), goal[inside]])
    second = fit.weighted[:, inside] @ null_space(rules)
    shared = orth(second).T @ first if second.size else np.zeros((1, 1))
    return float(first.shape[1] - (shared**2).sum())


@pytest.mark.parametrize("seed", range(4))
def test_degrees_are_those_of_the_projections(seed: int) -> None:
    fit = many_outputs(seed)
    goals = np.random.default_rng(seed).normal(size=(3, 14))
    paths = Pieces(fit, fit.directions(goals))
    useful = fit.program.useful(goals)
    seen = []
    for _ in range(8):
        moving = np.where(paths.inside, paths.slope, 0.0)
        growth = (moving * goals[paths.names]).sum(axis=1)
        found = paths.degrees(np.ones(len(paths), bool), moving, growth)
        for name, inside, degrees in zip(paths.names, paths.inside, found, strict=True):
            assert degrees == pytest.approx(by_projections(fit, inside, goals[name]), abs=0.02)
        seen.extend(found.tolist())
        following, which = paths.limits(useful[paths.names])
        paths.keep(np.isfinite(following))
        if not len(paths):
            break
        paths.exchange(which[np.isfinite(following)])
    assert seen[:3] == pytest.approx([1.0] * 3, abs=0.01)  # nothing has changed sides
    assert any(abs(each - round(each)) > 0.05 for each in seen)  # some replaced others in part


def test_the_factor_that_a_value_needs_is_the_one_at_which_its_end_reaches_it() -> None:
    fit = many_outputs(7)
    goals = np.random.default_rng(7).normal(size=(4, 14))
    quantiles = thresholds(0.95) / FACTOR
    for factor in (0.5, 1.0, 1.5):
        ends = largest(fit, goals, quantiles * factor)
        inside = ends - 0.01 * (ends - goals @ fit.mixture)
        assert np.all(ratios(fit, goals, inside, quantiles) <= factor)


def test_the_tool_that_chooses_the_factor(capsys: pytest.CaptureFixture[str]) -> None:
    options = ["--epsilons", "1", "--people", "2000", "--populations", "lower end"]
    calibrate.main(["--campaigns", "2", *options])
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(" (")[0] for line in lines[1:4]] == [
        f"lower end, {objective}" for objective in SIZES
    ]
    assert lines[-1].startswith("smallest factor: ")
