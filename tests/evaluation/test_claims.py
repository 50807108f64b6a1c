"""Verdicts on made-up numbers."""

from __future__ import annotations

import math

import pytest

from noutput.evaluation import claims
from noutput.evaluation.claims import FAILS, HOLDS, PART
from noutput.evaluation.comparison import Comparison, Score, compare, score
from noutput.evaluation.results import BOUND, Row
from tests.evaluation.scenes import made_up

DATASETS = ("adult", "credit")
EPSILONS = (0.5, 1.0, 3.0, 4.0)
MEAN_BASELINES = ("duchi", "three-output", "pm", "pm-sub")
ESTIMATORS = {"oue": "shares", "direct-encoding": "shares"}


def row(
    figure: str, mechanism: str, value: float, *, dataset: str = "adult", epsilon: float = 1.0,
    estimator: str = "", error: float = 0.01, predicted: float = math.nan,
) -> Row:  # fmt: skip
    return Row(figure, dataset, mechanism, estimator, epsilon, value, error, 100, predicted)


def test_errors_differ_from_three_standard_errors_on() -> None:
    first, second = row("mean", "a", 1.0, error=0.03), row("mean", "b", 1.14, error=0.04)
    pair = Comparison(first, second)
    assert pair.distance == pytest.approx(2.8)
    assert not pair.better
    far = Comparison(first, row("mean", "b", 1.16, error=0.04))
    assert far.better
    assert Comparison(far.second, far.first).worse
    assert str(far) == "1.16 ± 0.05"


def test_computed_values_differ_at_once() -> None:
    first, second = row("mean", "a", 1.0, error=0.0), row("mean", "b", 1.1, error=0.0)
    assert Comparison(first, second).better
    assert Comparison(first, first).distance == 0.0


def test_scores_count_each_setting() -> None:
    rows = [row("mean", "pm", 1.0), row("mean", "a", 1.5), row("mean", "b", 1.0)]
    rows.append(row("mean", "c", 0.5))
    found = score(compare(rows, "pm", ["a", "b", "c"]))
    assert found == Score(1, 1, 3)
    assert str(found) == "1 better, 1 equal within noise, 1 worse"


def variances(paper: float, rival: float, bound: float = 0.99) -> list[Row]:
    figure = "worst-case-variance"
    rows = [row(figure, "numerical-worst", paper, error=0.0), row(figure, BOUND, bound, error=0.0)]
    names = ("duchi", "three-output", "pm", "pm-sub", "hybrid", "pm-opt")
    return [*rows, *(row(figure, name, rival, error=0.0) for name in names)]


def test_the_lowest_variance() -> None:
    assert claims.lowest_variance(made_up(*variances(1.0, 1.2))).verdict == HOLDS
    assert claims.lowest_variance(made_up(*variances(1.0, 0.9))).verdict == FAILS
    mixed = variances(1.0, 1.2)
    mixed = [row(r.figure, "pm", 0.9, error=0.0) if r.mechanism == "pm" else r for r in mixed]
    found = claims.lowest_variance(made_up(*mixed))
    assert found.verdict == PART
    assert "not larger in 3 of 4 comparisons; the closest is PM at epsilon 1" in found.numbers[0]


def test_a_lost_comparison_that_16_outputs_could_win_is_told() -> None:
    rows = [*variances(1.0, 0.9), row("worst-case-variance", "optimal-16", 0.8, error=0.0)]
    found = claims.lowest_variance(made_up(*rows))
    assert found.verdict == FAILS
    assert found.numbers[-1].startswith("in 4 of the 4 lost comparisons our optimal table")


@pytest.mark.parametrize(("bound", "verdict"), [(0.97, HOLDS), (0.9, FAILS)])
def test_sixteen_outputs(bound: float, verdict: str) -> None:
    found = claims.sixteen_outputs_suffice(made_up(*variances(1.0, 1.2, bound)))
    assert found.verdict == verdict


def means(paper: float, rival: float, *, error: float = 0.01, theory: float = 1.2) -> list[Row]:
    values = dict.fromkeys((*MEAN_BASELINES, "numerical-average"), (rival, theory))
    values["numerical-worst"] = (paper, 1.0)
    return [
        row("mean", name, value, dataset=dataset, epsilon=e, error=error, predicted=predicted)
        for name, (value, predicted) in values.items()
        for dataset in DATASETS
        for e in EPSILONS
    ]


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        (means(1.0, 1.2), HOLDS),
        (means(1.0, 1.2, theory=0.99), PART),  # theory says otherwise
        (means(1.0, 1.2, error=1.0), FAILS),  # nothing but noise
        (means(1.0, 0.8), FAILS),
    ],
)
def test_the_lowest_mean_error(rows: list[Row], verdict: str) -> None:
    assert claims.lowest_mean_error(made_up(*rows)).verdict == verdict


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        (means(1.0, 1.01, theory=1.01), HOLDS),
        (means(1.0, 1.2, theory=1.2), FAILS),
        (means(1.0, 1.01, theory=1.2), FAILS),
    ],
)
def test_the_average_design(rows: list[Row], verdict: str) -> None:
    assert claims.average_is_nearly_identical(made_up(*rows)).verdict == verdict


def histograms(figure: str, ratios: dict[str, float]) -> list[Row]:
    values = {"numerical-worst": 1.0, "numerical-average": 1.0, **ratios}
    return [
        row(figure, name, value, dataset=dataset, epsilon=e, estimator=ESTIMATORS.get(name, "em"))
        for name, value in values.items()
        for dataset in DATASETS
        for e in EPSILONS
    ]


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ({"pm": 1.3, "square-wave": 1.2, "oue": 5.5}, HOLDS),
        ({"pm": 1.3, "square-wave": 1.2, "oue": 3.0}, PART),
        ({"pm": 0.8, "square-wave": 1.2, "oue": 5.5}, PART),
        ({"pm": 0.8, "square-wave": 1.2, "oue": 3.0}, FAILS),
    ],
)
def test_five_times_better(ratios: dict[str, float], verdict: str) -> None:
    found = claims.five_times_better_distributions(made_up(*histograms("distribution", ratios)))
    assert found.verdict == verdict


@pytest.mark.parametrize(
    ("ratios", "verdict"),
    [
        ({"pm": 1.6, "oue": 4.2}, HOLDS),
        ({"pm": 1.6, "oue": 3.0}, PART),
        ({"pm": 1.1, "oue": 4.2}, PART),
        ({"pm": 1.1, "square-wave": 1.2, "oue": 4.2}, FAILS),
    ],
)
def test_better_variances_at_high_privacy(ratios: dict[str, float], verdict: str) -> None:
    found = claims.better_variances_at_high_privacy(made_up(*histograms("variance", ratios)))
    assert found.verdict == verdict


def test_the_exception_of_square_wave() -> None:
    rows = histograms("variance", {"square-wave": 1.2})
    assert claims.square_wave_wins_on_credit(made_up(*rows)).verdict == FAILS
    named = [
        row("variance", r.mechanism, 0.8, dataset="credit", epsilon=r.epsilon, estimator="em")
        if r.mechanism == "square-wave" and r.dataset == "credit" and r.epsilon >= 3.0
        else r
        for r in rows
    ]
    assert claims.square_wave_wins_on_credit(made_up(*named)).verdict == HOLDS
    everywhere = histograms("variance", {"square-wave": 0.8})
    assert claims.square_wave_wins_on_credit(made_up(*everywhere)).verdict == PART


def test_the_table_of_bits() -> None:
    found = claims.bits_table(made_up())
    assert found.verdict == PART
    assert "2 bits: 2.54 in the paper, 2.54 by its count, 3.53 needed" in found.numbers[0]


def test_claims_without_rows_are_not_decided() -> None:
    found = claims.check(made_up(*variances(1.0, 1.2), row("worst-case-variance", "analytical", 1)))
    assert {claim.figure for claim, _ in found} == {"worst-case-variance"}
    assert len({claim.text for claim in claims.CLAIMS}) == 13
