from __future__ import annotations

import numpy as np
import pytest

import noutput as no
from noutput.estimate.mean import reports_needed
from noutput.estimate.stacked import StackedChannel
from noutput.planner.adaptive import choose_range
from tests.estimate.evidence.populations import HULL, Array, part, two_waves
from tests.estimate.samples import sixteen


def values(shape: str, size: int, rng: np.random.Generator) -> Array:
    """Return numbers of which most lie in the lowest tenth of 0 to 100."""
    if shape == "beta":
        return 10.0 * rng.beta(2.0, 3.0, size)
    if shape == "even":
        return rng.uniform(0.0, 10.0, size)
    return np.where(rng.random(size) < 0.97, rng.uniform(0.0, 5.0, size), 60.0)


def test_the_mean_of_narrow_bounds_is_the_clipped_mean_with_what_lies_beyond() -> None:
    m, rng = no.design(1.0, 16).mechanism, np.random.default_rng(3)
    people = values("beta", 20_000, rng)
    both, single = two_waves(m, people, 12.0, rng), two_waves(m, people, 100.0, rng)
    found, known = no.estimate_mean(both), no.estimate_mean(single)
    assert found.method == "combined"
    assert known.method == "unbiased"
    assert abs(found.value - 4.0) < 0.5 * known.standard_error
    low, high = found.interval()
    assert low < 4.0 < high
    assert found.value - low < 0.5 * known.half_width()  # nothing is below: short on that side
    certain = found.interval(kind="guaranteed")
    assert certain[0] <= low
    assert certain[1] >= high
    assert found.half_width(kind="guaranteed") == pytest.approx((certain[1] - certain[0]) / 2)
    assert found.interval(of="respondents") == found.interval()
    assert 0.0 < found.poisoning_bound(200) <= HULL.upper - HULL.lower
    assert reports_needed(both, None, found, found.half_width() / 2) == pytest.approx(80_000)


def test_people_beyond_narrow_bounds_are_not_forgotten() -> None:
    """A thirtieth of the people at 60: the clipped mean alone would be off by 1.5."""
    m, rng = no.design(2.0, 16).mechanism, np.random.default_rng(3)
    people = values("far", 200_000, rng)
    found = no.estimate_mean(two_waves(m, people, 10.0, rng))
    true = float(people.mean())
    assert found.method == "combined"
    low, high = found.interval()
    assert low < true < high
    assert abs(found.value - true) < 0.7


def test_unbiased_scores_are_not_taken_for_an_interval_that_is_about_as_short() -> None:
    """Their error would be that of the few people of the first wave alone."""
    m, rng = no.design(0.5).mechanism, np.random.default_rng(4)
    people, narrow = rng.uniform(29.0, 33.0, 200_000), no.Interval(22, 38)
    parts = [part(m, people[:40_000], HULL, rng), part(m, people[40_000:], narrow, rng)]
    found = no.estimate_mean(no.Evidence(parts))
    assert found.method == "combined"
    alone = no.estimate_mean(*parts[0])
    assert abs(found.value - 31.0) < 0.3 * alone.standard_error


def test_another_epsilon_in_the_same_bounds_is_combined_without_bias() -> None:
    rng = np.random.default_rng(8)
    first, second = (no.design(epsilon, 16).mechanism for epsilon in (1.0, 2.0))
    people = values("beta", 20_000, rng)
    parts = [part(first, people[:10_000], HULL, rng), part(second, people[10_000:], HULL, rng)]
    both = no.estimate_mean(no.Evidence(parts))
    alone = [no.estimate_mean(*each) for each in parts]
    assert both.method == "unbiased"
    precisions = [1.0 / each.standard_error**2 for each in alone]
    assert both.standard_error < 1.03 * sum(precisions) ** -0.5
    low, high = both.interval()
    assert both.interval(kind="guaranteed")[0] < low
    assert both.interval(kind="guaranteed")[1] > high
    limited = no.estimate_mean(no.Evidence(parts), influence=2.0)
    assert limited.bias_bound > 0.0
    assert limited.poisoning_bound(20_000) <= 2.0 * 100.0 * (1 + 1e-9)


def test_unbiased_means_of_two_tables_have_intervals_of_their_level() -> None:
    rng, x = np.random.default_rng(8), np.array([-0.9, -0.2, 0.7])
    tables = [no.design(epsilon, 16).mechanism for epsilon in (1.0, 2.0)]
    chances = [each.probabilities(x).mean(axis=0) for each in tables]
    hits = []
    for _ in range(150):
        drawn = [rng.multinomial(5_000, each / each.sum()).tolist() for each in chances]
        tallies = [no.Tally(m.fingerprint, tuple(c)) for m, c in zip(tables, drawn, strict=True)]
        parts = [(m, tally, (-1, 1)) for m, tally in zip(tables, tallies, strict=True)]
        low, high = no.estimate_mean(no.Evidence(parts)).interval()
        hits.append(low < x.mean() < high)
    assert 0.9 <= np.mean(hits) <= 0.99


def test_unbiased_scores_are_had_on_demand() -> None:
    m, rng = no.design(1.0, 16).mechanism, np.random.default_rng(3)
    both = two_waves(m, values("beta", 20_000, rng), 12.0, rng)
    found = no.estimate_mean(both, method="unbiased")
    assert found.method == "unbiased"
    assert found.bias_bound == 0.0
    low, high = found.interval()
    assert low < 4.0 < high


def test_tables_of_disjoint_bounds_tell_what_they_can() -> None:
    m, rng = no.design(1.0, 16).mechanism, np.random.default_rng(3)
    people = rng.uniform(0.0, 100.0, 40_000)
    both = no.Evidence(
        [part(m, people[:20_000], (0, 60), rng), part(m, people[20_000:], (40, 100), rng)]
    )
    found = no.estimate_mean(both)
    low, high = found.interval()
    assert low < 50.0 < high < 60.0
    assert low > 40.0
    assert found.interval(kind="guaranteed")[0] <= low
    for arguments in ({"method": "unbiased"}, {"influence": 2.0}):
        with pytest.raises(no.InvalidArgumentError, match="no part's bounds cover"):
            no.estimate_mean(both, **arguments)


def test_few_reports_have_guaranteed_intervals() -> None:
    m, rng = no.design(1.0, 16).mechanism, np.random.default_rng(3)
    people = rng.uniform(0.0, 100.0, 60)
    parts = [part(m, people[:30], (0, 60), rng), part(m, people[30:], (40, 100), rng)]
    found = no.estimate_mean(no.Evidence(parts))
    assert found.interval() == found.interval(kind="guaranteed")
    covered = no.Evidence([part(m, people[:30], HULL, rng), part(m, people[30:], (0, 50), rng)])
    assert no.estimate_mean(covered).slack is None


def test_choices_make_guaranteed_intervals_wider_and_no_others() -> None:
    m, rng = no.design(1.0, 16).mechanism, np.random.default_rng(3)
    once = two_waves(m, values("beta", 20_000, rng), 12.0, rng)
    chosen = no.Evidence(once.parts, choices=5_000)
    assert (once + once).choices == 1
    assert (chosen + once).choices == 5_000
    for estimate in (no.estimate_mean, no.estimate_distribution):
        first, second = estimate(once), estimate(chosen)
        statistic = () if isinstance(first, no.MeanEstimate) else ("mean",)
        wide = second.interval(*statistic, kind="guaranteed")
        narrow = first.interval(*statistic, kind="guaranteed")
        assert wide[0] < narrow[0]
        assert wide[1] > narrow[1]
    assert no.estimate_mean(once).interval() == no.estimate_mean(chosen).interval()
    unbiased = [no.estimate_mean(each, method="unbiased") for each in (once, chosen)]
    halves = [each.half_width(kind="guaranteed") for each in unbiased]
    assert halves[0] < halves[1]


def test_the_other_statistics_of_evidence_have_intervals_that_cover() -> None:
    m, rng = no.design(1.0, 16).mechanism, np.random.default_rng(6)
    people = values("beta", 20_000, rng)
    both = two_waves(m, people, 12.0, rng)
    found = no.estimate_distribution(both, bins=50)
    low, high = found.interval("cdf", 5.0)
    assert low < np.mean(people < 5.0) < high
    low, high = found.interval("share", (2.0, 6.0), kind="guaranteed")
    assert low < np.mean((people >= 2.0) & (people < 6.0)) < high
    low, high = found.interval("quantile", 0.5)
    assert low <= np.median(people) <= high
    low, high = no.estimate_variance(both).interval()
    assert low < np.var(people) < high
    assert found.draws(2, rng).shape == (2, 50)
    assert no.resolution(both, reports=20_000).reports == 20_000
    assert isinstance(both.channel, StackedChannel)


def test_the_variance_is_that_of_clipped_numbers() -> None:
    """A smooth histogram puts a few people far beyond narrow bounds, who would make most of it."""
    m, rng = no.design(1.0).mechanism, np.random.default_rng(6)
    clipped, smooth = [], []
    for _ in range(4):
        both = two_waves(m, values("beta", 20_000, rng), 12.0, rng)
        found = no.estimate_variance(both)
        low, high = found.interval()
        assert low <= 4.0 <= high
        clipped.append(found.value)
        smooth.append(found.distribution.variance)
    assert np.abs(np.subtract(clipped, 4.0)).mean() < 0.5 * np.abs(np.subtract(smooth, 4.0)).mean()
    shown = no.summarize(both, None, no.Number(0, 100))
    assert shown.variance.low <= shown.variance.value < 0.9 * shown.distribution.variance
    single = two_waves(m, values("beta", 20_000, rng), 100.0, rng)
    usual = no.estimate_variance(single)
    assert usual.value == usual.distribution.variance


def adaptive(shape: str, size: int, rng: np.random.Generator) -> no.Evidence:
    """Return two waves, the second with bounds that the first one chose."""
    m, people = no.design(1.0, 16).mechanism, values(shape, size, rng)
    first = part(m, people[: size // 5], HULL, rng)
    chosen = choose_range(*first, expected=size - size // 5)
    assert chosen.bounds is not None
    return no.Evidence([first, part(m, people[size // 5 :], chosen.bounds, rng)])


def coverage(shape: str, size: int, campaigns: int) -> tuple[float, float]:
    """Return how often intervals cover where the first wave chose the second one's bounds."""
    true = {"beta": 4.0, "even": 5.0, "far": 0.97 * 2.5 + 0.03 * 60.0}[shape]
    rng = np.random.default_rng(21)
    ends = []
    for _ in range(campaigns):
        found = no.estimate_mean(adaptive(shape, size, rng))
        ends.append((*found.interval(), *found.interval(kind="guaranteed")))
    low, high, least, most = np.array(ends).T
    return float(np.mean((low <= true) & (true <= high))), float(
        np.mean((least <= true) & (true <= most))
    )


def test_bounds_that_the_first_wave_chose_leave_intervals_right() -> None:
    usual, certain = coverage("beta", 5_000, 3)
    assert usual == 1.0
    assert certain == 1.0


def test_intervals_cover_given_that_the_range_was_narrowed() -> None:
    """Campaigns whose first wave chose much narrower bounds are no worse than others."""
    rng = np.random.default_rng(33)
    hits: list[bool] = []
    while len(hits) < 12:
        both = adaptive("even", 3_000, rng)
        if len(both.parts) == 2 and both.parts[1].bounds.half_width < 0.25 * HULL.half_width:
            low, high = no.estimate_mean(both).interval()
            hits.append(low <= 5.0 <= high)
    assert sum(hits) >= 10


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["beta", "far"])
def test_coverage_given_that_the_range_was_narrowed(shape: str) -> None:
    true = {"beta": 4.0, "far": 0.97 * 2.5 + 0.03 * 60.0}[shape]
    rng = np.random.default_rng(34)
    hits: list[bool] = []
    while len(hits) < 100:
        both = adaptive(shape, 10_000, rng)
        if len(both.parts) == 2 and both.parts[1].bounds.half_width < 0.5 * HULL.half_width:
            low, high = no.estimate_mean(both).interval()
            hits.append(low <= true <= high)
    assert np.mean(hits) >= 0.93


@pytest.mark.slow
@pytest.mark.parametrize("shape", ["beta", "even", "far"])
def test_coverage_of_adaptive_waves(shape: str) -> None:
    usual, certain = coverage(shape, 20_000, 120)
    assert usual >= 0.93
    assert certain >= 0.95


def test_a_mean_needs_tables() -> None:
    m, wave = sixteen(1.0), no.mechanism("square-wave", 1.0)
    counts = no.Tally(wave.fingerprint, (1,) * wave.n_cells)  # type: ignore[attr-defined]
    both = no.Evidence([(m, no.Tally(m.fingerprint, (9,) * 16), (0, 10)), (wave, counts, (0, 5))])
    with pytest.raises(no.InvalidArgumentError, match="be a TableMechanism"):
        no.estimate_mean(both)
    assert no.estimate_distribution(both, bins=8).n_reports == both.total
