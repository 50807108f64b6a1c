"""Summaries of numbers with cells: values, intervals, spread, quantiles, text and documents."""

from __future__ import annotations

import json
import math
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import noutput as no
from noutput.estimate.answers.scores import likeliest
from noutput.mechanisms.table import unit_mechanism
from tests.estimate.cell_tables import (
    EDGES,
    KNOTS,
    acting,
    drawn,
    expected,
    made,
    summary,
)

MANY = 10**12
TABLE = drawn(KNOTS, 12, seed=1)
MINUTES = no.Number(0, 60, "minutes", edges=EDGES, label="Way to work")


def table_of_thresholds(epsilon: float) -> no.TableMechanism:
    """Return a table whose columns are thresholds and single rows: it tells everything."""
    rows = len(KNOTS)
    below = np.arange(rows)[:, None] < np.arange(1, rows)
    columns = np.concatenate([below, ~below, np.eye(rows, dtype=bool)], axis=1)
    table = np.where(columns, np.exp(epsilon), 1.0)
    return made(KNOTS, table / table.sum(axis=1, keepdims=True), 2.0 * epsilon)


@settings(max_examples=60)
@given(
    counts=st.lists(st.integers(0, 300), min_size=12, max_size=12).filter(lambda c: sum(c) > 1),
    seed=st.integers(0, 20),
    level=st.sampled_from([0.5, 0.95, 0.999]),
    kind=st.sampled_from(["normal", "guaranteed"]),
)
def test_all_values_are_of_one_population_and_lie_in_their_intervals(
    counts: list[int], seed: int, level: float, kind: str
) -> None:
    """Whatever was counted, impossible counts included."""
    table = drawn(KNOTS, 12, seed)
    found = summary(table, no.Tally(table.fingerprint, tuple(counts)), level, kind)
    shares, below = ([each.value for each in part] for part in (found.shares, found.cdf))
    assert sum(shares) == pytest.approx(1.0, abs=1e-9)
    np.testing.assert_allclose(np.cumsum(shares)[:-1], below, atol=1e-9)
    assert min(shares) >= 0.0
    assert 0.0 <= found.mean.value <= 60.0
    spread = found.spread
    assert spread is not None
    assert spread.high <= 30.0
    for each in (*found.shares, *found.cdf, found.mean, spread, *found.joint_shares):
        assert each.low <= each.value <= each.high
    for share in (0.1, 0.5, 0.9):
        quantile = found.quantile(share)
        assert {quantile.low, quantile.high} <= {0.0, *EDGES, 60.0}
        assert math.isnan(quantile.value) or quantile.low <= quantile.value <= quantile.high
    json.dumps(found.to_dict(), allow_nan=False)


def test_values_and_intervals_are_those_of_the_people() -> None:
    numbers, shares = [3.0, 15.0, 29.0, 50.0], [0.4, 0.3, 0.2, 0.1]
    found = summary(TABLE, expected(TABLE, acting(KNOTS, numbers, shares), MANY))
    wanted = {
        "mean": 16.5, "below 15": 0.4, "below 30": 0.9, "share 15 to 30": 0.5,
        "share 30 to 60": 0.1, "share 0 to 30": 0.9,
    }  # fmt: skip
    for name, value in wanted.items():
        each = found.estimate(name)
        assert each.value == pytest.approx(value, rel=1e-3), name
        assert each.low <= value <= each.high, name
        assert each.high - each.low < 1e-2, name
    assert found.below(15.0) == found.estimate("below 15")
    assert found.share(15.0, 30.0) == found.estimate("share 15 to 30")
    assert found.as_mean("below 30").value == pytest.approx(0.9, rel=1e-3)


@pytest.mark.parametrize("kind", ["normal", "guaranteed"])
@pytest.mark.parametrize(
    "numbers",
    [[0.0, 60.0], [15.0], [7.5, 22.5, 45.0], [7.5], [45.0], [1.0, 14.0, 59.0], [0.0, 15.0, 30.0]],
)
def test_the_spread_allows_for_numbers_inside_cells(numbers: list[float], kind: str) -> None:
    """Its interval holds the truth wherever numbers are inside their cells."""
    shares = np.full(len(numbers), 1.0 / len(numbers))
    population = acting(KNOTS, numbers, shares)
    found = summary(TABLE, expected(TABLE, population, MANY), kind=kind).spread
    assert found is not None
    assert found.low - 1e-3 <= np.std(numbers) <= found.high + 1e-3
    gap = np.array(KNOTS[1::2]) - np.array(KNOTS[::2])
    widest = shares.sum() * gap.max() ** 2 / 4.0
    assert found.high**2 - found.low**2 <= widest + 0.1


def test_the_spread_of_evenly_spread_numbers_is_their_own() -> None:
    numbers = np.concatenate([np.linspace(low, high, 4_001)[:-1] + (high - low) / 8_000
                              for low, high in pairwise((0.0, *EDGES, 60.0))])  # fmt: skip
    shares = np.repeat([0.5, 0.2, 0.3], 4_000) / 4_000
    found = summary(TABLE, expected(TABLE, acting(KNOTS, numbers, shares), MANY)).spread
    assert found is not None
    wanted = np.sqrt(shares @ (numbers - shares @ numbers) ** 2)
    assert found.value == pytest.approx(wanted, rel=1e-4)


@pytest.mark.parametrize(
    ("share", "low", "high", "value"),
    [(0.2, 0.0, 15.0, 7.5), (0.5, 15.0, 30.0, 18.0), (0.95, 30.0, 60.0, 45.0),
     (0.9, 15.0, 60.0, 30.0)],
)  # fmt: skip
def test_quantiles_are_ranges_of_edges(share: float, low: float, high: float, value: float) -> None:
    """With 40% below 15 and 90% below 30; the value takes numbers as evenly spread."""
    population = acting(KNOTS, [7.0, 20.0, 50.0], [0.4, 0.5, 0.1])
    found = summary(TABLE, expected(TABLE, population, MANY)).quantile(share)
    assert (found.low, found.high) == (low, high)
    assert found.value == pytest.approx(value, rel=1e-3)


def test_a_quantile_that_may_be_in_three_cells_has_no_single_value() -> None:
    population = acting(KNOTS, [7.0, 20.0, 50.0], [0.34, 0.33, 0.33])
    found = summary(TABLE, expected(TABLE, population, 20), kind="guaranteed")
    assert (found.quantile(0.5).low, found.quantile(0.5).high) == (0.0, 60.0)
    assert math.isnan(found.quantile(0.5).value)
    assert found.to_dict()["quartiles"][1]["value"] is None
    assert "Median" not in found.lines  # its range is all that is possible
    assert any("median" in note for note in found.notes)


@pytest.mark.parametrize("epsilon", [0.5, 2.0])
def test_no_report_can_do_more_than_its_influence(epsilon: float) -> None:
    """Every report that was counted is exchanged for every other."""
    table = table_of_thresholds(epsilon)
    rows, rng = table.table(), np.random.default_rng(3)
    units, knots = np.eye(rows.shape[1]), np.array(KNOTS)
    for numbers in ([7.0, 20.0, 50.0], [60.0], [15.0, 15.0]):
        population = acting(KNOTS, numbers, np.full(len(numbers), 1.0 / len(numbers)))
        counts = rng.multinomial(400, population @ rows).astype(float)
        found = summary(table, no.Tally(table.fingerprint, tuple(map(int, counts))))
        exchanged = [counts - one + other for one in units if counts @ one for other in units]
        moved = likeliest(rows, np.array(exchanged), 1e-9) @ knots - found.mean.value
        assert np.abs(moved).max() == pytest.approx(found.influence(), rel=1e-3)
    assert found.influence("below 15", forged=4) > found.influence("below 15")
    assert found.influence(forged=399) <= 60.0


def test_influence_of_one_of_many_reports_is_not_lost_in_rounding() -> None:
    table = table_of_thresholds(1.0)
    population = acting(KNOTS, [7.0, 20.0, 50.0], [0.34, 0.33, 0.33])
    few, many = (summary(table, expected(table, population, n)) for n in (10**4, 10**8))
    assert many.influence() * 10**8 == pytest.approx(few.influence() * 10**4, rel=0.01)


def test_below_100_reports_intervals_are_guaranteed() -> None:
    population = acting(KNOTS, [7.0, 20.0, 50.0], [0.34, 0.33, 0.33])
    few = summary(TABLE, expected(TABLE, population, 80))
    assert few.interval_kind == "guaranteed"
    assert few.shares == summary(TABLE, few.tally, kind="guaranteed").shares
    assert "Intervals are guaranteed: fewer than 100 reports." in few.notes
    many = expected(TABLE, population, 5_000)
    normal, sure = (summary(TABLE, many, kind=kind) for kind in ("normal", "guaranteed"))
    for short, long in zip(normal.shares, sure.shares, strict=True):
        assert long.high - long.low > short.high - short.low


def test_intervals_for_all_cells_together_are_wider() -> None:
    found = summary(TABLE, expected(TABLE, acting(KNOTS, [7.0, 20.0], [0.5, 0.5]), 5_000))
    for alone, joint in zip(found.shares, found.joint_shares, strict=True):
        assert joint.low <= alone.low <= alone.high <= joint.high
    assert found.joint_shares != found.shares


def test_text_shows_cells_mean_spread_and_quartiles() -> None:
    table = table_of_thresholds(1.0)
    population = acting(KNOTS, [7.0, 20.0, 50.0], [0.5, 0.3, 0.2])
    found = no.summarize(table, expected(table, population, 50_000), MINUTES)
    lines = str(found).splitlines()
    assert lines[0] == "Way to work: 50,000 reports, epsilon = 2"
    assert [line.split("  ")[0] for line in lines[2:5]] == ["0 to 15", "15 to 30", "30 to 60"]
    assert lines[6].startswith("Mean")
    assert lines[6].endswith("minutes)")
    assert [line.partition("  ")[0] for line in lines[7:11]] == [
        "Standard deviation", "Lower quartile", "Median", "Upper quartile",
    ]  # fmt: skip
    assert "(0 to 15 minutes)" in lines[8]
    records = {row["statistic"]: row["value"] for row in found.records()}
    assert list(records)[5:] == [
        "below 15", "below 30", "share 0 to 15", "share 15 to 30", "share 30 to 60",
    ]  # fmt: skip
    document = found.to_dict()
    assert [cell["from"] for cell in document["cells"]] == [0.0, 15.0, 30.0]
    assert document["mean"]["interval"] == [found.mean.low, found.mean.high]
    assert document["question"]["edges"] == list(EDGES)


def test_where_reports_are_probably_forged_no_interval_is_claimed() -> None:
    counts = [40] * 12
    counts[3] += 1_000
    found = summary(TABLE, no.Tally(TABLE.fingerprint, tuple(counts)))
    assert found.warning
    assert all((low, high) == ("", "") for _, low, high in found.lines.values())
    assert found.to_dict()["mean"]["interval"] is None


def test_a_table_without_edges_tells_the_mean_alone() -> None:
    table = made((0.0, 60.0), [[0.75, 0.25], [0.25, 0.75]])
    found = no.summarize(table, no.Tally(table.fingerprint, (400, 600)), no.Number(0, 60, edges=()))
    assert found.mean.value == pytest.approx(42.0)
    assert found.bars == []
    assert list(found.lines) == ["Mean"]
    assert "Shares and quantiles are not told: ask with edges to learn them." in found.notes
    with pytest.raises(no.InvalidArgumentError, match="which has none: ask with an edge at 45"):
        found.below(45)
    with pytest.raises(no.InvalidArgumentError, match="have edges, for quantiles"):
        found.quantile(0.5)
    json.dumps(found.to_dict())


def test_an_edge_at_which_the_table_does_not_jump_is_not_told() -> None:
    """Rows that are alike on both sides of 30: neither shares up to it nor a bar."""
    rows = drawn(KNOTS, 12, seed=4).table()
    rows[3] = rows[4]
    found = summary(made(KNOTS, rows), no.Tally("", (10,) * 12))
    assert found.edges == (15.0,)
    assert [len(found.shares), len(found.cdf)] == [2, 1]
    with pytest.raises(no.InvalidArgumentError, match="its rows are alike"):
        found.below(30)


def test_a_knot_inside_a_cell_changes_nothing_of_what_is_offered() -> None:
    knots = (0.0, 15.0, 15.0, 22.5, 30.0, 30.0, 60.0)
    found = summary(drawn(knots, 12, seed=4), no.Tally("", (10,) * 12))
    assert found.edges == EDGES
    with pytest.raises(no.InvalidArgumentError, match=r"ask with an edge at 22\.5"):
        found.below(22.5)


def test_tables_of_campaigns_are_read_in_the_unit_of_their_question() -> None:
    tally = expected(TABLE, acting(KNOTS, [7.0, 20.0, 50.0], [0.34, 0.33, 0.33]), 5_000)
    moved = unit_mechanism(TABLE.plain)
    assert str(no.summarize(moved, tally, MINUTES)) == str(no.summarize(TABLE, tally, MINUTES))
    assert TABLE.in_own_unit is TABLE


def test_summarize_checks_question_and_counts() -> None:
    tally = expected(TABLE, acting(KNOTS, [7.0], [1.0]), 1_000)
    assert no.summarize(TABLE, tally).question == no.Number(0, 60, edges=EDGES)
    for question in (no.Number(0, 61), no.YesNo()):
        with pytest.raises(no.InvalidArgumentError, match="bounds of the table, 0 to 60"):
            no.summarize(TABLE, tally, question)
    with pytest.raises(no.InvalidArgumentError, match="kind must"):
        no.summarize(TABLE, tally, kind="slack")
    with pytest.raises(no.InvalidArgumentError, match="bins must be given for numbers without"):
        no.summarize(TABLE, tally, bins=8)
    with pytest.raises(no.InvalidArgumentError, match="at least two"):
        no.summarize(TABLE, [3])
    with pytest.raises(no.InvalidArgumentError, match="made by the mechanism"):
        no.summarize(TABLE, no.Tally(TABLE.fingerprint, (0,) * 11 + (1_000,)))


@pytest.mark.parametrize(
    ("lower", "upper"), [(-1e300, 5e299), (1e12, 1e12 + 64), (-1e-300, 2e-300), (0.0, 1.0)]
)
def test_units_make_no_difference(lower: float, upper: float) -> None:
    """Neither large nor tiny bounds, nor a large offset."""
    width = upper - lower
    knots = [
        lower,
        lower + width / 4,
        lower + width / 4,
        lower + width / 2,
        lower + width / 2,
        upper,
    ]
    table = no.TableMechanism(4.0, None, TABLE.weights, knots)
    same = no.TableMechanism(4.0, None, TABLE.weights, [0.0, 0.25, 0.25, 0.5, 0.5, 1.0])
    counts = expected(TABLE, acting(KNOTS, [7.0, 20.0, 50.0], [0.34, 0.33, 0.33]), 5_000).counts
    for kind in ("normal", "guaranteed"):
        found = summary(table, no.Tally(table.fingerprint, counts), kind=kind)
        plain = summary(same, no.Tally(same.fingerprint, counts), kind=kind)
        pairs = [
            ((found.mean.value - lower) / width, plain.mean.value),
            ((found.mean.high - lower) / width, plain.mean.high),
            ((found.as_mean().value - lower) / width, plain.as_mean().value),
            ((found.quantile(0.5).low - lower) / width, plain.quantile(0.5).low),
        ]
        assert found.spread is not None
        assert plain.spread is not None
        pairs += [(found.spread.high / width, plain.spread.high)]
        pairs += [(found.influence() / width, plain.influence())]
        for scaled, wanted in pairs:
            assert scaled == pytest.approx(wanted, rel=1e-3)
        for one, other in zip(found.shares, plain.shares, strict=True):
            assert one.low == pytest.approx(other.low, abs=1e-9)
