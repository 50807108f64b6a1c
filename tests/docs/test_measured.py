"""Numbers that pages state about designs, plans and estimates are what code computes."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import norm

import noutput as no
from noutput.designs import catalog
from noutput.designs.objective import Objective
from noutput.estimate import mean_scores
from noutput.estimate.gaussian import KERNELS
from noutput.estimate.mean_scores import decoded_scores, scores_for
from noutput.planner import SHAPES as PLANNED
from noutput.planner.expectation import SCORE
from tests.docs.stated import rows, stated

NUMBER = r"([\d.]+\d)"
Histogram: TypeAlias = NDArray[np.float64]
MINUTES = no.Interval(0, 180)
MILLION = 10**6
CAMPAIGNS = 48
SHAPES = {
    name: np.array(PLANNED[name].weights) for name in ("even", "one hump", "two humps", "skewed")
}


def half_width(
    epsilon: float = 1.0, people: int = 50_000, n_outputs: int = 16, objective: str = "worst"
) -> float:
    """Half the width of the 95% interval, for minutes that are spread evenly."""
    return no.plan(
        epsilon=epsilon, people=people, bounds=MINUTES, n_outputs=n_outputs, objective=objective
    ).half_width


def test_the_gap_of_four_bits() -> None:
    low, high = stated(
        "docs/comparison.md",
        rf"within {NUMBER}% of the limit up to ε = 1, and within {NUMBER}% up to ε = 4",
    )
    gaps = {epsilon: no.design(epsilon, 16, "worst").gap for epsilon in catalog.EPSILONS}
    for limit, last in ((low, 1.0), (high, 4.0)):
        found = [100 * gap for epsilon, gap in gaps.items() if epsilon <= last and gap is not None]
        assert limit - 0.1 < max(found) <= limit


def test_more_outputs_may_cost_one_kind_of_population() -> None:
    shown = stated(
        "docs/choosing.md",
        rf"half width is {NUMBER} with 3 outputs, {NUMBER} with 4 and {NUMBER} with 5",
    )
    found = [half_width(n_outputs=size) for size in (3, 4, 5)]
    np.testing.assert_allclose(shown, found, atol=5e-4)


def test_what_no_mechanism_can_remove() -> None:
    of_choice, people, of_all = stated(
        "docs/choosing.md", rf"\({NUMBER} for ([\d,]+) people here, of {NUMBER} at epsilon 4\)"
    )
    spread = 2 * MINUTES.half_width / math.sqrt(12)
    assert of_choice == pytest.approx(SCORE * spread / math.sqrt(people), abs=5e-3)
    assert of_all == pytest.approx(half_width(epsilon=4.0, people=int(people)), abs=5e-3)


@pytest.mark.slow
def test_more_outputs_at_a_large_epsilon(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NOUTPUT_CACHE", str(tmp_path))
    shown = stated("docs/choosing.md", r"the gap at epsilon 8 from (\d+)% to ([\d.]+)%")
    gaps = [no.design(8.0, size, "worst").gap for size in (16, 64)]
    np.testing.assert_allclose(shown, 100 * np.array(gaps, float), rtol=0.05)


def test_the_interval_of_the_quick_start() -> None:
    people, epsilon, width = stated(
        "docs/quickstart/campaign.md",
        r"With ([\d,]+) people and epsilon (\d) the interval is about (\d+) minutes wide",
    )
    found = 2 * no.plan(epsilon=epsilon, people=int(people), bounds=MINUTES).half_width
    assert found == pytest.approx(width, rel=0.1)


def test_what_a_balanced_table_costs_the_mean() -> None:
    (percent,) = stated(
        "docs/choosing.md", r"the default, a balanced table, adds at most (\d+)% to it"
    )
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        balanced = no.design(epsilon).mechanism.average_variance()
        mean = no.design(epsilon, 16, "worst").mechanism.average_variance()
        ratio = (balanced + 1 / 3) / (mean + 1 / 3)  # of numbers that are spread evenly
        assert math.sqrt(ratio) <= 1 + percent / 100


def test_the_default_numbers_of_outputs() -> None:
    small_epsilon, turn, large_epsilon = stated(
        "docs/choosing.md", r"\| (\d+) \(7 bits\), from epsilon (\d) on (\d+) \(6 bits\)"
    )
    goal = Objective.parse("balanced")
    for epsilon in catalog.TRAINED_EPSILONS:
        expected = small_epsilon if epsilon < turn else large_epsilon
        assert catalog.default_size(goal, epsilon) == expected


def test_a_forger_against_the_interval() -> None:
    """1% of 20,000 reports move the mean by twice the half width."""
    stated("docs/privacy.md", r"with (1)% of 20,000 reports at epsilon 1 and bounds from 0 to 180")
    stated("docs/privacy.md", r"which is twice the half width of that campaign's (95)% interval")
    m = no.design(1.0, 16, "worst").mechanism
    tally = no.Tally(m.fingerprint, (1_250,) * m.n_outputs)
    bound = no.estimate_mean(m, tally, MINUTES).poisoning_bound(200)
    assert bound == pytest.approx(2 * half_width(people=20_000), rel=0.05)


def test_the_kernels_of_gp() -> None:
    shown = [
        [float(cell) for cell in (first, *rest[:3])]
        for first, rest in rows("docs/estimation.md", r"$s_1$ | $l$ | $s_2$ | $s_e$")
    ]
    found = [[k.smooth, k.length, k.rough, k.ends] for k in KERNELS]
    assert shown == found


def test_the_guaranteed_interval_with_many_reports() -> None:
    (shown,) = stated(
        "docs/estimation.md",
        rf"reports it is about {NUMBER} times as wide as the normal one at 95%",
    )
    m = no.design(1.0, 16, "worst").mechanism
    mean = no.estimate_mean(m, no.Tally(m.fingerprint, (MILLION,) * m.n_outputs))
    widths = [np.subtract(*mean.interval(kind=kind)) for kind in ("guaranteed", "normal")]
    assert widths[0] / widths[1] == pytest.approx(shown, abs=0.05)


def test_the_nearly_unbiased_mean() -> None:
    quantiles = (np.arange(2_000) + 0.5) / 2_000
    x = np.clip(30.0 * np.exp(0.6 * norm.ppf(quantiles)) / 90.0 - 1.0, -1.0, 1.0)
    for epsilon, cells in rows("docs/estimation.md", "2,000 reports: length, error"):
        mechanism = no.design(float(epsilon), 64, objective="distribution").mechanism
        chances = mechanism.probabilities(x).mean(axis=0)
        for people, cell in zip((2_000, 20_000, 200_000), cells, strict=True):
            used, decoded = scores_for(mechanism, people), decoded_scores(mechanism)
            variances = [each.variance(chances) / people for each in (used, decoded)]
            widths = [
                mean_scores.half_width(variance**0.5, each.bias_bound, 0.95)
                for variance, each in zip(variances, (used, decoded), strict=True)
            ]
            squared = variances[0] + (chances @ used.values - x.mean()) ** 2
            found = widths[0] / widths[1], (squared / variances[1]) ** 0.5
            np.testing.assert_allclose(list(map(float, cell.split(","))), found, atol=0.02)


def test_designs_for_the_average() -> None:
    worst, average = stated("docs/choosing.md", rf"\(from {NUMBER} to {NUMBER} here\)")
    assert worst == pytest.approx(half_width(), abs=5e-3)
    assert average == pytest.approx(half_width(objective="average"), abs=5e-3)


def test_several_attributes() -> None:
    """One attribute per person costs the square root of d, splitting epsilon costs d."""
    for epsilon, number in ((0.5, 2), (1.0, 4)):  # also the parts are in the catalog
        alone = half_width(epsilon=epsilon)
        one_each = half_width(epsilon=epsilon, people=50_000 // number)
        assert one_each == pytest.approx(alone * math.sqrt(number), rel=0.01)
        assert half_width(epsilon=epsilon / number) == pytest.approx(alone * number, rel=0.05)


@pytest.mark.parametrize("shape", SHAPES)
def test_stopping_early_with_a_million_reports(shape: str) -> None:
    page = "docs/estimation.md"
    low, high = stated(page, r"1e-5 has (\d+) to (\d+) times the mean Wasserstein error")
    (even,) = stated(page, rf"1e-5 has less than {NUMBER} times the error there")
    m = no.design(1.0, 16, "worst").mechanism
    people = SHAPES[shape]
    rng = np.random.default_rng(1)
    counts = rng.multinomial(MILLION, people @ m.transition(64), size=CAMPAIGNS)
    tallies = [no.Tally(m.fingerprint, tuple(row)) for row in counts.tolist()]
    errors = [
        np.mean([no.wasserstein(found.probabilities, people) for found in estimates])
        for estimates in (
            no.estimate_distribution(m, tallies, method="em", tolerance=1e-5),
            no.estimate_distribution(m, tallies, method="em"),
        )
    ]
    ratio = errors[0] / errors[1]
    assert ratio < even if shape == "even" else low <= ratio <= high


def mean_errors(people: Histogram, reports: int, campaigns: int, seed: int) -> dict[str, float]:
    """The Wasserstein error of every method, at epsilon 1 with 16 outputs."""
    m = no.design(1.0, 16, "worst").mechanism
    rng = np.random.default_rng(seed)
    counts = rng.multinomial(reports, people @ m.transition(64), size=campaigns)
    tallies = [no.Tally(m.fingerprint, tuple(row)) for row in counts.tolist()]
    return {
        method: float(
            np.mean(
                [
                    no.wasserstein(found.probabilities, people)
                    for found in no.estimate_distribution(m, tallies, method=method)
                ]
            )
        )
        for method in ("em", "gp", "mle")
    }


def test_few_reports_from_three_atoms() -> None:
    shown = stated(
        "docs/estimation.md",
        rf"its error is {NUMBER} times that of em, and that of mle is {NUMBER} times \(means over",
    )
    ratios = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        people = np.zeros(64)
        people[rng.choice(64, 3, replace=False)] = rng.dirichlet([1, 1, 1])
        errors = mean_errors(people, 1_000, 20, seed)
        ratios.append([errors["gp"] / errors["em"], errors["mle"] / errors["em"]])
    np.testing.assert_allclose(shown, np.exp(np.log(ratios).mean(axis=0)), atol=0.07)


@pytest.mark.parametrize("shape", SHAPES)
def test_very_many_reports(shape: str) -> None:
    page = "docs/estimation.md"
    (even,) = stated(page, rf"gp has more than {NUMBER} times its error")
    (other,) = stated(page, rf"and less than {NUMBER} times with one hump")
    errors = mean_errors(SHAPES[shape], 10**8, 8, 3)
    ratio = errors["gp"] / errors["em"]
    assert ratio > even if shape == "even" else ratio < other


def test_what_tables_for_distributions_cost_the_decoded_mean() -> None:
    stated_ratios = stated(
        "docs/choosing.md",
        rf"{NUMBER} times the limit at epsilon 0\.25, {NUMBER} at 1, {NUMBER} at 3",
    )
    for epsilon, ratio in zip((0.25, 1.0, 3.0), stated_ratios, strict=True):
        found = no.design(epsilon, 64, "distribution").mechanism.worst_variance()
        assert found / catalog_bound(epsilon) == pytest.approx(ratio, rel=0.03)


def catalog_bound(epsilon: float) -> float:
    bound = catalog.lower_bound(epsilon)
    assert bound is not None
    return bound


def test_what_a_balanced_table_adds_to_the_half_width() -> None:
    (most,) = stated("docs/choosing.md", r"a balanced table, adds at most (\d+)% to it")
    for epsilon in (0.5, 1.0, 2.0, 4.0):
        for people in (1_000, 1_000_000):
            ours = no.plan(epsilon=epsilon, people=people, bounds=no.Interval(0, 180))
            best = half_width(epsilon=epsilon, people=people)
            assert ours.half_width <= (1.0 + most / 100.0) * best
