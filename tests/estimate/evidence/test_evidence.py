from __future__ import annotations

import pickle

import numpy as np
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import noutput as no
from noutput.estimate.evidence import Part
from noutput.estimate.stacked import StackedChannel
from tests.estimate.evidence.populations import HULL, two_waves
from tests.estimate.samples import sixteen
from tests.tables import tables


@st.composite
def single_parts(draw: st.DrawFn) -> tuple[no.TableMechanism, no.Tally, no.Interval]:
    mechanism = draw(tables(6))
    size = mechanism.n_outputs
    counts = draw(st.lists(st.integers(0, 10_000), min_size=size, max_size=size))
    counts[0] += 200
    lower = draw(st.floats(-100, 100))
    width = draw(st.floats(0.5, 500))
    tally = no.Tally(mechanism.fingerprint, tuple(counts))
    return mechanism, tally, no.Interval(lower, lower + width)


@given(single_parts())
@settings(max_examples=5, deadline=None, phases=[Phase.explicit, Phase.generate])
def test_one_part_gives_the_results_of_its_table_bit_for_bit(
    part: tuple[no.TableMechanism, no.Tally, no.Interval],
) -> None:
    m, tally, bounds = part
    evidence = no.Evidence([part])
    mean, known = no.estimate_mean(evidence), no.estimate_mean(m, tally, bounds)
    assert mean == known
    assert mean.interval() == known.interval()
    assert mean.interval(kind="guaranteed") == known.interval(kind="guaranteed")
    for method in ("em", "mle", "gp"):
        found = no.estimate_distribution(evidence, bins=16, method=method)
        same = no.estimate_distribution(m, tally, 16, method, bounds=bounds)
        assert found.probabilities.tobytes() == same.probabilities.tobytes()
        assert found.bounds == same.bounds
        assert found.log_likelihood == same.log_likelihood
    for kind in ("slack", "guaranteed"):
        assert found.interval("mean", kind=kind) == same.interval("mean", kind=kind)
    assert no.estimate_variance(evidence).value == no.estimate_variance(m, tally, bounds).value
    seeds = [np.random.default_rng(3) for _ in range(2)]
    tests = [no.goodness_of_fit(evidence, rng=seeds[0]), no.goodness_of_fit(m, tally, rng=seeds[1])]
    assert tests[0] == tests[1]
    assert no.resolution(evidence, reports=100) == no.resolution(m, bounds, reports=100)


def test_equal_tables_and_bounds_become_one_part() -> None:
    m = sixteen(1.0)
    tally = no.Tally(m.fingerprint, tuple(range(10, 26)))
    evidence = no.Evidence([(m, tally, (0, 10)), (m, tally, no.Interval(0, 10))])
    assert evidence.parts == (Part(m, tally + tally, no.Interval(0, 10)),)
    assert evidence.channel is m
    assert evidence.tally == tally + tally


def test_parts_without_reports_take_no_part() -> None:
    m = sixteen(1.0)
    tally = no.Tally(m.fingerprint, tuple(range(10, 26)))
    empty = no.Tally(m.fingerprint, (0,) * 16)
    evidence = no.Evidence([(m, tally, (0, 10)), (m, empty, (0, 5))])
    assert evidence.channel is m
    assert len(evidence.parts) == 2
    narrow = no.Evidence([(m, empty, (0, 10)), (m, tally, (0, 5))])
    assert isinstance(narrow.channel, StackedChannel)
    assert narrow.channel.n_cells == 16
    nothing = no.Evidence([(m, empty, (0, 10)), (m, empty, (0, 5))])
    with pytest.raises(no.InvalidArgumentError, match="at least two reports"):
        no.estimate_mean(nothing)


def test_evidence_adds_up_in_any_order_of_counting() -> None:
    m, rng = sixteen(1.0), np.random.default_rng(1)
    values = rng.uniform(0, 20, 600)
    first, second = two_waves(m, values, 30.0, rng), two_waves(m, values, 30.0, rng)
    both = first + second
    assert both.total == 1200
    assert len(both.parts) == 2
    assert both.bounds == HULL
    assert both == second + first
    assert hash(both) == hash(second + first)
    assert pickle.loads(pickle.dumps(both)) == both  # noqa: S301
    with pytest.raises(TypeError):
        first + 1  # type: ignore[operator]


@pytest.mark.parametrize(
    ("parts", "told"),
    [
        ([], "parts must have at least one part"),
        (7, "parts must be a sequence"),
        ([(1, 2)], r"parts\[0\] must be \(mechanism, tally, bounds\)"),
        ([("m", "t", (0, 1))], "mechanism must have reports that fall into cells"),
    ],
)
def test_wrong_parts_are_refused(parts: object, told: str) -> None:
    with pytest.raises(no.InvalidArgumentError, match=told):
        no.Evidence(parts)  # type: ignore[arg-type]


def test_wrong_contents_of_parts_are_refused() -> None:
    m = sixteen(1.0)
    tally = no.Tally(m.fingerprint, (1,) * 16)
    with pytest.raises(no.InvalidArgumentError, match="be a tally of the mechanism"):
        no.Evidence([(sixteen(3.0), tally, (0, 1))])
    with pytest.raises(no.InvalidArgumentError, match=r"parts\[1\].bounds must"):
        no.Evidence([(m, tally, (0, 1)), (m, tally, 3)])  # type: ignore[list-item]
    yes = no.AnswerMechanism(1.1, [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    with pytest.raises(
        no.InvalidArgumentError, match=r"parts\[0\].bounds must be None for answers"
    ):
        no.Evidence([(yes, no.Tally(yes.fingerprint, (1, 1)), (0, 1))])
    with pytest.raises(no.InvalidArgumentError, match="choices"):
        no.Evidence([(m, tally, (0, 1))], choices=0)


def test_what_evidence_has_is_not_given_again() -> None:
    m = sixteen(1.0)
    tally = no.Tally(m.fingerprint, (9,) * 16)
    evidence = no.Evidence([(m, tally, (0, 1))])
    with pytest.raises(no.InvalidArgumentError, match="tally must be left out"):
        no.estimate_mean(evidence, tally)
    with pytest.raises(no.InvalidArgumentError, match="bounds must be left out"):
        no.estimate_distribution(evidence, bounds=(0, 1))
    with pytest.raises(no.InvalidArgumentError, match="tally must be a Tally"):
        no.estimate_mean(m)


def test_people_are_no_matter_of_several_parts() -> None:
    rng = np.random.default_rng(1)
    evidence = two_waves(sixteen(1.0), rng.uniform(0, 20, 600), 30.0, rng)
    with pytest.raises(no.InvalidArgumentError, match="people must be left out"):
        no.estimate_mean(evidence, people=1000)


def test_goodness_of_fit_has_one_degree_of_freedom_less_per_part() -> None:
    """Counts that are exactly those of a table's middle knot fit with nothing left over."""
    m, rng = sixteen(3.0), np.random.default_rng(1)
    values = np.full(40_000, 10.0)  # everybody at one number: best fit near a corner of the hull
    evidence = two_waves(m, values, 20.0, rng)
    found = no.goodness_of_fit(evidence, rng=np.random.default_rng(0))
    assert found.p_value > 0.01
    assert found.degrees_of_freedom <= 32 - 2
    assert found.statistic < 60.0


def test_goodness_of_fit_notices_two_populations() -> None:
    m, rng = sixteen(1.0), np.random.default_rng(1)
    values = np.concatenate([np.full(4_000, 80.0), np.full(16_000, 5.0)])
    found = no.goodness_of_fit(two_waves(m, values, 20.0, rng), rng=np.random.default_rng(0))
    assert found.p_value < 0.001


def test_clipping_costs_the_distribution_nothing() -> None:
    """Four of five people in a tenth of the range: the distribution has half the error."""
    m, rng = no.design(1.0, 16).mechanism, np.random.default_rng(5)
    values = 10.0 * rng.beta(2.0, 3.0, 20_000)
    single = two_waves(m, values, 100.0, rng, share=1.0)
    both = two_waves(m, values, 11.0, rng)
    true = np.histogram(values, np.linspace(0, 100, 129))[0] / len(values)
    errors = [
        no.wasserstein(no.estimate_distribution(each, bins=128).probabilities, true)
        for each in (single, both)
    ]
    assert errors[1] < 0.6 * errors[0]
