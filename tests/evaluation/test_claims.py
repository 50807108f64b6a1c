"""Verdicts on made-up numbers."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

import pytest

from noutput.evaluation import claims, claims_histogram, claims_mean, readings
from noutput.evaluation.comparison import Comparison, compare, limit
from noutput.evaluation.results import BINNED, BOUND, RAW, Results, Row
from noutput.evaluation.scenarios import FULL
from noutput.evaluation.verdicts import FAILS, HOLDS, PART, UNDECIDED, UNTESTED, Score, alike
from tests.evaluation.scenes import made_up

DATASETS = ("adult", "credit")
EPSILONS = (0.5, 1.0, 3.0, 4.0)
MEAN_BASELINES = ("duchi", "three-output", "pm", "pm-sub")
ESTIMATORS = {"oue": "shares", "direct-encoding": "shares"}


def row(
    figure: str, mechanism: str, value: float, *, dataset: str = "adult", epsilon: float = 1.0,
    estimator: str = "", error: float = 0.01, predicted: float = math.nan, truth: str = "",
    runs: int | None = None,
) -> Row:  # fmt: skip
    if runs is None:
        runs = 1000 if error else 0  # what has no error is computed
    return Row(figure, dataset, mechanism, estimator, epsilon, value, error, runs, predicted, truth)


def test_errors_differ_from_three_standard_errors_on() -> None:
    first, second = row("mean", "a", 1.0, error=0.03), row("mean", "b", 1.145, error=0.04)
    assert Comparison(first, second).exceeds() == 0
    far = Comparison(first, row("mean", "b", 1.155, error=0.04))
    assert far.better
    assert Comparison(far.second, far.first).worse
    assert str(far) == "1.16 ± 0.05"
    assert far.exceeds(0.9) == 1
    assert far.exceeds(1.1) == 0
    assert far.exceeds(1.5) == -1


def test_few_runs_take_more() -> None:
    """With 5 runs each, equally noisy: the t quantile of 8 degrees of freedom."""
    first = row("mean", "a", 1.0, error=0.03, runs=5)
    assert limit(8.0) == pytest.approx(4.277, abs=1e-3)
    for second, stand in ((1.12, 0), (1.18, 0), (1.19, 1)):
        pair = Comparison(first, row("mean", "b", second, error=0.03, runs=5))
        assert pair.exceeds() == stand
    assert limit(4.0) == pytest.approx(6.620, abs=1e-3)
    assert Comparison(first, row("mean", "b", 1.19, error=0.0, runs=0)).exceeds() == 0
    assert Comparison(first, row("mean", "b", 1.21, error=0.0, runs=0)).exceeds() == 1


def test_a_single_run_tells_nothing() -> None:
    first, second = (
        row("mean", name, v, error=math.nan, runs=1) for name, v in (("a", 1), ("b", 9))
    )
    assert Comparison(first, second).exceeds() == 0
    assert alike(Comparison(first, second)) == 0


def test_computed_values_differ_at_once() -> None:
    first, second = row("mean", "a", 1.0, error=0.0), row("mean", "b", 1.1, error=0.0)
    assert Comparison(first, second).better
    assert Comparison(first, first).exceeds() == 0


def test_equal_runs_leave_a_comparison_open() -> None:
    first = row("mean", "a", 1.0, error=0.0, runs=2)
    assert Comparison(first, row("mean", "b", 1.5, error=0.0, runs=2)).exceeds() == 0


def test_ratios_to_an_error_of_zero() -> None:
    zero, some = (row("mean", "a", value, error=value / 10, runs=5) for value in (0.0, 1.0))
    assert Comparison(zero, some).ratio == math.inf
    assert math.isnan(Comparison(zero, zero).ratio)
    assert math.isnan(Comparison(zero, some).ratio_error)
    assert Comparison(some, zero).ratio == 0.0
    assert Comparison(some, zero).ratio_error == 0.0


def test_scores_count_each_setting() -> None:
    rows = [row("mean", "pm", 1.0), row("mean", "a", 1.5), row("mean", "b", 1.0)]
    rows.append(row("mean", "c", 0.5))
    found = Score.of(pair.exceeds() for pair in compare(rows, "pm", ["a", "b", "c"]))
    assert found == Score(1, 1, 1)
    assert str(found) == "1 better, 1 equal within noise, 1 worse"


@pytest.mark.parametrize(
    ("score", "everywhere", "mostly", "somewhere"),
    [
        (Score(0, 0, 0), UNTESTED, UNTESTED, UNTESTED),
        (Score(0, 9, 0), UNDECIDED, UNDECIDED, UNDECIDED),
        (Score(5, 5, 0), HOLDS, UNDECIDED, HOLDS),
        (Score(4, 5, 0), UNDECIDED, UNDECIDED, HOLDS),
        (Score(5, 0, 5), PART, FAILS, HOLDS),
        (Score(6, 0, 4), PART, HOLDS, HOLDS),
        (Score(4, 0, 5), FAILS, FAILS, HOLDS),
        (Score(0, 5, 5), FAILS, FAILS, UNDECIDED),
        (Score(0, 0, 9), FAILS, FAILS, FAILS),
    ],
)
def test_the_rules(score: Score, everywhere: str, mostly: str, somewhere: str) -> None:
    assert (score.everywhere(), score.mostly(), score.somewhere()) == (
        everywhere,
        mostly,
        somewhere,
    )


def variances(paper: float, rival: float, bound: float = 0.99) -> list[Row]:
    figure = "worst-case-variance"
    rows = [row(figure, "numerical-worst", paper, error=0.0), row(figure, BOUND, bound, error=0.0)]
    names = ("duchi", "three-output", "pm", "pm-sub", "hybrid", "pm-opt")
    return [*rows, *(row(figure, name, rival, error=0.0) for name in names)]


def test_the_lowest_variance() -> None:
    assert claims_mean.lowest_variance(made_up(*variances(1.0, 1.2))).verdict == HOLDS
    assert claims_mean.lowest_variance(made_up(*variances(1.0, 0.9))).verdict == FAILS
    mixed = variances(1.0, 1.2)
    mixed = [row(r.figure, "pm", 0.9, error=0.0) if r.mechanism == "pm" else r for r in mixed]
    found = claims_mean.lowest_variance(made_up(*mixed))
    assert found.verdict == PART
    assert "not larger in 3 of 4 comparisons; the closest is PM at epsilon 1" in found.numbers[0]


def test_a_lost_comparison_that_16_outputs_could_win_is_told() -> None:
    rows = [*variances(1.0, 0.9), row("worst-case-variance", "optimal-16", 0.8, error=0.0)]
    found = claims_mean.lowest_variance(made_up(*rows))
    assert found.verdict == FAILS
    assert found.numbers[-1].startswith("in 4 of the 4 lost comparisons our optimal table")


@pytest.mark.parametrize(("bound", "verdict"), [(0.97, HOLDS), (0.9, FAILS)])
def test_sixteen_outputs(bound: float, verdict: str) -> None:
    found = claims_mean.sixteen_outputs_suffice(made_up(*variances(1.0, 1.2, bound)))
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
        ([replace(r, predicted=0.99) if r.mechanism == "pm" else r for r in means(1, 1.2)], PART),
        (means(1.0, 1.2, theory=0.99), FAILS),  # theory says otherwise, everywhere
        (means(1.0, 1.2, theory=1.0), UNDECIDED),  # theory knows no difference
        (means(1.0, 1.2, error=1.0), HOLDS),  # noise cannot hide what theory knows
        (means(1.0, 1.2, error=1.0, theory=math.nan), UNDECIDED),  # nothing but noise
        (means(1.0, 1.2, theory=math.nan), HOLDS),
        (means(1.0, 0.8), FAILS),
        (means(1.0, 0.8, theory=math.nan), FAILS),
    ],
)
def test_the_lowest_mean_error(rows: list[Row], verdict: str) -> None:
    assert claims_mean.lowest_mean_error(made_up(*rows)).verdict == verdict


@pytest.mark.parametrize(
    ("rows", "verdict"),
    [
        (means(1.0, 1.01, theory=1.01), HOLDS),
        (means(1.0, 1.2, theory=1.2), FAILS),
        (means(1.0, 1.01, theory=1.2), FAILS),
        (means(1.0, 1.2, theory=1.01), FAILS),  # measured otherwise, beyond noise
        (means(1.0, 1.01, error=0.001, theory=math.nan), HOLDS),
        (means(1.0, 1.2, theory=math.nan), FAILS),
        (means(1.0, 1.01, error=1.0, theory=math.nan), UNDECIDED),  # nothing but noise
    ],
)
def test_the_average_design(rows: list[Row], verdict: str) -> None:
    assert claims_mean.average_is_nearly_identical(made_up(*rows)).verdict == verdict


def histograms(figure: str, ratios: dict[str, float], **options: Any) -> list[Row]:
    values = {"numerical-worst": 1.0, "numerical-average": 1.0, **ratios}
    return [
        row(
            figure, name, value, dataset=dataset, epsilon=e, estimator=ESTIMATORS.get(name, "em"),
            truth=truth, **options,
        )
        for name, value in values.items()
        for dataset in DATASETS
        for e in EPSILONS
        for truth in ((RAW, BINNED) if figure == "variance" else ("",))
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("ratios", "most", "five"),
    [
        ({"pm": 1.3, "square-wave": 1.2, "oue": 5.5}, HOLDS, HOLDS),
        ({"pm": 1.3, "square-wave": 1.2, "oue": 4.96}, HOLDS, HOLDS),  # within 5%
        ({"pm": 1.3, "square-wave": 1.2, "oue": 4.76}, HOLDS, UNDECIDED),
        ({"pm": 1.3, "square-wave": 1.2, "oue": 3.0}, HOLDS, FAILS),
        ({"pm": 0.8, "square-wave": 1.2, "oue": 5.5}, FAILS, HOLDS),
        ({"pm": 1.0, "square-wave": 1.2}, UNDECIDED, FAILS),
    ],
)
def test_better_distributions(ratios: dict[str, float], most: str, five: str) -> None:
    found = made_up(*histograms("distribution", ratios))
    assert claims_histogram.better_distributions(found).verdict == most
    assert claims_histogram.five_times_better_distributions(found).verdict == five


def test_neither_the_weaker_nor_the_stronger_design_stands_for_both() -> None:
    rows = histograms("distribution", {"pm": 1.2})
    rows = [
        replace(r, value=1.5) if r.mechanism == "numerical-average" else r for r in rows
    ]  # the worst-case design wins all its settings, the other one loses all
    found = claims_histogram.better_distributions(made_up(*rows))
    assert "against all baselines of a setting: 8 better, 0 equal within noise, 8 worse" in (
        found.numbers
    )
    assert found.verdict == FAILS


@pytest.mark.parametrize(
    ("ratios", "least", "four"),
    [
        ({"pm": 1.6, "oue": 4.2}, HOLDS, HOLDS),
        ({"pm": 1.6, "oue": 3.0}, HOLDS, FAILS),
        ({"pm": 1.1, "oue": 4.2}, PART, HOLDS),
        ({"pm": 1.1, "square-wave": 1.2, "oue": 4.2}, FAILS, HOLDS),
        ({"pm": 1.43, "oue": 3.82}, HOLDS, UNDECIDED),
    ],
)
def test_better_variances_at_high_privacy(ratios: dict[str, float], least: str, four: str) -> None:
    found = made_up(*histograms("variance", ratios))
    assert claims_histogram.better_variances_at_high_privacy(found).verdict == least
    assert claims_histogram.four_times_better_variances(found).verdict == four


def test_variances_are_judged_by_the_histogram_and_the_other_truth_is_told() -> None:
    rows = histograms("variance", {"pm": 1.2})
    rows = [replace(r, value=0.8) if (r.mechanism, r.truth) == ("pm", RAW) else r for r in rows]
    found = claims_histogram.better_variances(made_up(*rows))
    assert found.verdict == HOLDS
    assert found.numbers[-1] == "against the variance of the numbers it would be: does not hold"


def test_the_exception_of_square_wave() -> None:
    rows = histograms("variance", {"square-wave": 1.2})
    verdict = claims_histogram.square_wave_wins_on_credit
    assert verdict(made_up(*rows)).verdict == FAILS
    named = [
        replace(r, value=0.8)
        if r.mechanism == "square-wave" and r.dataset == "credit" and r.epsilon >= 3.0
        else r
        for r in rows
    ]
    assert verdict(made_up(*named)).verdict == HOLDS
    everywhere = histograms("variance", {"square-wave": 0.8})
    assert verdict(made_up(*everywhere)).verdict == PART
    assert verdict(made_up(*(r for r in rows if r.dataset == "adult"))).verdict == UNTESTED
    assert verdict(made_up(*(r for r in rows if r.epsilon < 3.0))).verdict == UNTESTED


NOISE = [
    *means(1.0, 1.0, error=0.5, theory=math.nan),
    *histograms("distribution", {"pm": 1.0, "square-wave": 1.0, "oue": 4.9}, error=0.5),
    *histograms("variance", {"pm": 1.4, "square-wave": 1.0, "oue": 1.5}, error=0.5),
]


@pytest.mark.parametrize("claim", [c for c in claims.CLAIMS if c.about_data], ids=lambda c: c.text)
def test_noise_alone_leaves_every_claim_undecided(claim: claims.Claim) -> None:
    assert claim.check(made_up(*NOISE)).verdict == UNDECIDED


@pytest.mark.parametrize("claim", claims.CLAIMS, ids=lambda c: c.text)
def test_without_rows_nothing_is_judged(claim: claims.Claim) -> None:
    if claim.figure != "bits":  # which is computed
        assert claim.check(Results(FULL, ())).verdict == UNTESTED


@pytest.mark.parametrize("claim", [c for c in claims.CLAIMS if c.about_data], ids=lambda c: c.text)
def test_real_data_are_not_judged_on_synthetic_sets(claim: claims.Claim) -> None:
    rows = [*means(1.0, 1.2), *histograms("distribution", {"pm": 1.2})]
    rows += histograms("variance", {"pm": 1.2, "square-wave": 1.2})
    synthetic = [
        replace(r, dataset={"adult": "uniform", "credit": "spike"}[r.dataset]) for r in rows
    ]
    found = claim.check(made_up(*synthetic))
    assert found.verdict == UNTESTED
    assert "only Uniform, Spike at the edge took part" in found.numbers[0]
    mixed = claim.check(made_up(*rows, *synthetic))
    assert mixed == claim.check(made_up(*rows))
    assert mixed.numbers[-1] == "on 2 of the paper's 4 datasets only: Adult, Credit"


def test_another_reading_takes_the_place_of_the_papers_em() -> None:
    rows = histograms("distribution", {"pm": 1.2, "oue": 1.3})
    other = [
        replace(r, estimator="em-sum", value=0.7 if r.mechanism == "pm" else r.value)
        for r in rows
        if r.estimator == "em"
    ]
    found = made_up(*rows, *other)
    assert claims_histogram.better_distributions(found).verdict == HOLDS
    assert claims_histogram.better_distributions(readings.under(found, "em")).verdict == HOLDS
    read = readings.under(found, "em-sum")
    assert claims_histogram.better_distributions(read).verdict == FAILS
    assert len(read.rows) == len(rows)
    blocks = list(readings.sections(found))
    assert "**does not hold**" in blocks[2].rows[0]  # type: ignore[union-attr] # it is the table
    assert list(readings.sections(made_up(*rows))) == []


def test_the_table_of_bits() -> None:
    found = claims_mean.bits_table(made_up())
    assert found.verdict == PART
    assert "2 bits: 2.54 in the paper, 2.54 by its count, 3.53 needed" in found.numbers[0]


def test_claims_without_rows_are_not_decided() -> None:
    found = claims.check(made_up(*variances(1.0, 1.2), row("worst-case-variance", "analytical", 1)))
    assert {claim.figure for claim, _ in found} == {"worst-case-variance"}
    assert len({claim.text for claim in claims.CLAIMS}) == 15
