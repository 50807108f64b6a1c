"""The numbers of docs/theory.md are those of the tables that ship."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

import noutput as no
from noutput.designs import catalog, distribution
from noutput.designs.answers.error import worst_error
from noutput.designs.answers.saddle import Aim
from noutput.mechanisms.answer_baselines import answer_mechanism
from noutput.mechanisms.square_wave import square_wave
from tests.docs.stated import rows, stated

PAGE = "docs/theory.md"
NUMBER = r"([\d.]+\d)"
MEASURED = dict(rows(PAGE, "N = 4 (2 bits)"))
_LEAST_MOVE = 4.0


def _near(shown: str, value: float) -> bool:
    """Whether a number of the page is `value`, rounded to as many digits as it shows."""
    half = 0.5 * 10.0 ** -len(shown.partition(".")[2])
    return abs(float(shown) - value) <= half * (1 + 1e-6)


def _check_cell(cell: str, design: no.Design) -> None:
    value, gap = cell.split(", ")
    assert design.gap is not None
    assert _near(value, design.value), cell
    assert _near(gap.rstrip("%"), 100 * design.gap), cell


@pytest.mark.parametrize("epsilon", MEASURED)
def test_values_bounds_and_gaps_of_the_catalog(epsilon: str) -> None:
    bound, *cells = MEASURED[epsilon][:4]
    designs = [no.design(float(epsilon), size, "worst") for size in (4, 8, 16)]
    lower = designs[-1].lower_bound
    assert lower is not None
    assert _near(bound, lower)
    for cell, design in zip(cells, designs, strict=True):
        _check_cell(cell, design)


@pytest.mark.slow
@pytest.mark.parametrize("epsilon", MEASURED)
def test_values_and_gaps_of_64_outputs(
    epsilon: str, tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOUTPUT_CACHE", str(tmp_path_factory.mktemp("cache")))
    _check_cell(MEASURED[epsilon][4], no.design(float(epsilon), 64, "worst"))


def test_values_do_not_increase_with_outputs_but_for_rounding() -> None:
    for epsilon in catalog.EPSILONS:
        values = np.array([no.design(epsilon, size, "worst").value for size in catalog.SIZES])
        assert np.all(values[1:] <= values[:-1] * (1 + 1e-6)), epsilon


def _move(epsilon: float, size: int) -> float:
    """How far the outputs lie from the decoded cells of Square Wave."""
    wave = square_wave(epsilon)
    edges = wave.edges(size)
    decoded = wave.decode((edges[1:] + edges[:-1]) / 2.0)
    return float(np.abs(distribution._outputs(epsilon, size) - decoded).max())


def test_outputs_move_by_4_at_least_up_to_some_epsilon() -> None:
    limits = stated(
        PAGE,
        r"with 16 outputs up to \$\\epsilon = (\d)\$, with 32 up to \$\\epsilon = (\d)\$ and "
        r"with 64 up to \$\\epsilon = (\d)\$",
    )
    for size, limit in zip(catalog.TRAINED_SIZES, limits, strict=True):
        for epsilon in catalog.TRAINED_EPSILONS:
            move, deviation = _move(epsilon, size), math.sqrt(square_wave(epsilon).worst_variance())
            least = _LEAST_MOVE if epsilon <= limit else 0.0
            assert move == pytest.approx(max(deviation, least)), (epsilon, size)


def test_how_many_reports_the_tilt_moves() -> None:
    wide, narrow = stated(
        PAGE, r"moves less than (\d+)% of the reports \(less than (\d+)% where ε is so large"
    )
    for epsilon in catalog.TRAINED_EPSILONS:
        for size in catalog.TRAINED_SIZES:
            table = no.design(epsilon, size, "distribution").mechanism
            rows = np.asarray(table.weights, float) / table.scale
            moved = 0.5 * np.abs(rows[::2] - rows[1::2]).sum(axis=1).mean()
            assert 100 * moved < (wide if _move(epsilon, size) >= _LEAST_MOVE else narrow)


def test_what_tables_for_distributions_cost_the_mean() -> None:
    low_ratio, high_ratio, low, high, low_narrow, high_narrow = stated(
        PAGE,
        rf"have {NUMBER} to {NUMBER} times that of Square Wave for \$\\epsilon\$ up to 1, and "
        rf"{NUMBER} to {NUMBER} for larger ones where the outputs move by 4; where they move by "
        rf"less, the variances are {NUMBER} to {NUMBER}\.",
    )
    ratios: list[float] = []
    wide: list[float] = []
    narrow: list[float] = []
    for epsilon in catalog.TRAINED_EPSILONS:
        for size in catalog.TRAINED_SIZES:
            found = no.design(epsilon, size, "distribution").mechanism.worst_variance()
            if epsilon <= 1:
                ratios.append(found / square_wave(epsilon).worst_variance())
            else:
                (wide if _move(epsilon, size) >= _LEAST_MOVE else narrow).append(found)
    _check_range((low_ratio, high_ratio), ratios, 0.1)
    _check_range((low, high), wide, 0.1)
    _check_range((low_narrow, high_narrow), narrow, 0.01)


def _check_range(shown: tuple[float, float], found: list[float], step: float) -> None:
    """The range holds all that was found, and is not wider than its last digit."""
    assert shown[0] <= min(found) < shown[0] + step
    assert shown[1] - step < max(found) <= shown[1]


ANSWERS = dict(rows(PAGE, "one threshold"))
BASELINES = ("direct-encoding", "subset-selection", "threshold", "oue", "sue")


def _multiple(table: NDArray[np.float64], design: no.AnswerDesign) -> float:
    return worst_error(table, Aim(design.objective.factor)) / design.lower_bound


@pytest.mark.parametrize("case", ANSWERS)
def test_what_other_mechanisms_for_answers_lose(case: str) -> None:
    k, epsilon = int(case.split(", ")[0]), float(case.split(", ")[1])
    design = no.design(epsilon, question=no.Scale(*range(k)))
    assert design.objective.name == "cdf"
    found = [_multiple(design.mechanism.table(), design)]
    for name in BASELINES:
        try:
            found.append(_multiple(answer_mechanism(name, epsilon, k).table(), design))
        except no.InvalidArgumentError:  # needs too many outputs
            found.append(math.nan)
    values = np.linspace(-1.0, 1.0, k)
    for size, objective in ((16, "worst"), (64, "distribution")):
        table = no.design(epsilon, size, objective).mechanism
        found.append(_multiple(table.probabilities(values), design))
    for shown, value in zip(ANSWERS[case], found, strict=True):
        assert shown == "" if math.isnan(value) else _near(shown, value), (shown, value)


def test_direct_encoding_for_a_choice() -> None:
    (times,) = stated(PAGE, r"For 11 answers at ε = 0.5 it has ([\d.]+) times the squared error")
    factors = {}
    for k, epsilon in ((2, 0.5), (5, 1.0), (11, 2.0), (11, 0.5)):
        design = no.design(epsilon, question=no.Scale(*range(k)), objective="shares")
        direct = answer_mechanism("direct-encoding", epsilon, k)
        factors[k, epsilon] = _multiple(direct.table(), design)
    assert factors.pop((11, 0.5)) == pytest.approx(times, abs=0.005)
    assert max(factors.values()) < 1.00001


@pytest.mark.slow
@pytest.mark.parametrize(("place", "answers"), [(0, 20), (2, 32)])
def test_gaps_above_16_answers(
    place: int, answers: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("NOUTPUT_CACHE", str(tmp_path))
    gaps = stated(
        PAGE,
        rf'the gap of "cdf" is {NUMBER}% for 20 answers, {NUMBER}% for 24, {NUMBER}% for 32 and '
        rf"{NUMBER}% for 64",
    )
    found = no.design(1.0, question=no.Scale(*range(1, answers + 1)))
    assert 100.0 * found.gap == pytest.approx(gaps[place], rel=0.05)
    pattern = rf"the gap is {NUMBER}% for 20 answers at epsilon 1, and {NUMBER}% for 32"
    assert stated("docs/choosing.md", pattern) == [gaps[0], gaps[2]]
