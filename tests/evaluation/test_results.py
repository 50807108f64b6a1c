from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from noutput.evaluation.results import Row, average, root_mean, write_rows
from tests.evaluation.scenes import small


def test_a_standard_error_of_a_mean() -> None:
    value, error = average(np.array([1.0, 2.0, 3.0, 6.0]))
    assert value == 3.0
    assert error == pytest.approx(math.sqrt(14.0 / 3.0 / 4.0))


def test_a_standard_error_of_a_root() -> None:
    """The delta method agrees with simulation."""
    rng = np.random.default_rng(1)
    drawn = np.sqrt((rng.chisquare(4, (4000, 100)) / 4).mean(axis=1))
    value, error = root_mean(rng.chisquare(4, 100) / 4)
    assert value == pytest.approx(1.0, abs=4 * error)
    assert error == pytest.approx(drawn.std(), rel=0.25)


def test_errors_of_zero_have_a_root_of_zero() -> None:
    assert root_mean(np.zeros(5)) == (0.0, 0.0)


def test_runs_that_differ_by_rounding_alone_are_equal() -> None:
    value, error = average(np.array([0.1 + 0.2, 0.3, 0.3]))
    assert value == pytest.approx(0.3)
    assert error == 0.0


def test_equal_runs_do_not_tell_how_far_theory_is() -> None:
    """The spread of equal runs is 0, which says nothing about the noise of the next run."""
    assert math.isnan(Row("mean", "spike", "pm", "", 0.5, 1.5, 0.0, 2, 1.0).deviation)
    assert Row("mean", "spike", "pm", "", 0.5, 1.5, 0.25, 2, 1.0).deviation == 2.0


def test_the_table_says_what_it_follows_from(tmp_path: Path) -> None:
    row = Row("mean", "spike", "pm", "", 0.5, 1 / 3, 0.001, 3, math.nan)
    write_rows(tmp_path / "a.csv", small(seed=7), [row])
    remarks = (tmp_path / "a.csv").read_text().splitlines()
    assert remarks[0].startswith("# seed 7, runs 3, commit ")
    assert remarks[1].startswith("# noutput ")
    assert remarks[2].startswith("figure,dataset,mechanism,estimator,epsilon,value")
    assert remarks[3] == "mean,spike,pm,,0.5,0.33333333,0.001,3,,"
