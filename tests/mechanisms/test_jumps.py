"""Tables with jumps, in the question's own unit: plain draws, arrays, moments, and refusals."""

from __future__ import annotations

import json
import math
import pickle
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from numpy.typing import NDArray
from scipy.stats import chisquare

from noutput.errors import InvalidArgumentError, PrivacyError
from noutput.mechanisms import exact
from noutput.mechanisms.answers import AnswerMechanism
from noutput.mechanisms.certified import Table
from noutput.mechanisms.kernel import TableKernel
from noutput.mechanisms.table import TableMechanism, unit_mechanism
from tests.campaign.vectors import vectors
from tests.tables import jump_table

KNOTS: dict[str, tuple[float, ...]] = {
    "minutes": (0, 15, 15, 30, 45, 45, 60, 180),
    "no jump": (0, 15, 30, 180),
    "all inner knots": (-1, -0.5, -0.5, 0, 0, 0.7, 0.7, 1),
    "huge": (-1e99, 0, 0, 1e99),
    "near the largest": (-8e307, -1e99, -1e99, 1e99, 8e307),
    "tiny": (0, 5e-324, 5e-324, 1e-323),
    "subnormal": (-3e-310, 0, 0, 1e-312, 3e-310),
    "small": (2.0**-1000, 2.0**-999, 2.0**-999, 2.0**-998),
    "offset": (1e15, 1e15 + 5, 1e15 + 5, 1e15 + 7.5, 1e15 + 10),
    "negative offset": (-(2.0**53), -(2.0**53) + 4, -(2.0**53) + 4, -(2.0**53) + 16),
    "tenths": (-0.1, 0.1, 0.1, 0.3, 0.30000000000000004, 0.7, 0.7, 1.0),
    "crowded": (0.0, *(x for k in range(1, 13) for x in (k * 1e-9,) * 2), 1.0),
    "next to the ends": (0, 5e-324, 5e-324, math.nextafter(1.0, 0.0), math.nextafter(1.0, 0.0), 1),
}
LEVEL = 1e-6


def numbers_near(knots: tuple[float, ...], rng: np.random.Generator) -> list[float]:
    """Return knots, their neighbors among the floats, and numbers between all of them."""
    lower, upper = float(knots[0]), float(knots[-1])
    near = [math.nextafter(knot, side) for knot in knots for side in (-math.inf, math.inf)]
    inner = [lower + (upper - lower) * float(share) for share in rng.random(60)]
    halves = [a / 2 + b / 2 for a, b in pairwise(knots)]
    return [float(x) for x in [*knots, *near, *inner, *halves] if lower <= x <= upper]


def row_by_definition(knots: tuple[float, ...], x: float, high: int) -> int:
    """Return the row as the documentation of the format defines it."""
    cell = min(sum(knot <= x for knot in knots) - 1, len(knots) - 2)
    position = (x - knots[cell]) * (4294967296 / (knots[cell + 1] - knots[cell]))
    return cell + (high < position)


def output_by_definition(table: Table, row: int, low: int) -> int:
    return int(sum(total <= low for total in np.cumsum(table.weights[row]).tolist()))


@pytest.mark.parametrize("name", KNOTS)
def test_plain_draws_and_arrays_follow_the_definition(name: str) -> None:
    rng = np.random.default_rng(len(name))
    table = jump_table(1.0, KNOTS[name])
    knots = table.knots
    x = np.repeat(numbers_near(knots, rng), 40)
    words = rng.integers(0, 1 << 64, x.size, dtype=np.uint64)
    sums = np.cumsum(table.weights, axis=1)[:, :-1].ravel()
    words[::3] &= np.uint64(0xFFFF_FFFF << 32)
    words[::3] |= rng.choice(np.r_[sums, sums - 1], words[::3].size).astype(np.uint64)
    words[1::7] |= np.uint64(0xFFFF_FFFF << 32)
    words[2::7] &= np.uint64(0xFFFF_FFFF)
    expected = [
        output_by_definition(table, row_by_definition(knots, a, w >> 32), w & 0xFFFF_FFFF)
        for a, w in zip(x.tolist(), words.tolist(), strict=True)
    ]
    assert [table.draw(a, w) for a, w in zip(x.tolist(), words.tolist(), strict=True)] == expected
    out = np.empty(x.size, np.uint8)
    mechanism = TableMechanism.of(table)
    with np.errstate(all="raise", under="ignore"):
        TableKernel(mechanism.knots, mechanism.weights).draw(x, words, out)
    assert out.tolist() == expected


@st.composite
def jump_tables(draw: st.DrawFn) -> Table:
    lower = draw(st.floats(-1e18, 1e18))
    width = draw(st.floats(1e-6, 1e18))
    assume(lower < lower + width)
    inner = sorted({lower + width * draw(st.floats(0.0, 1.0)) for _ in range(5)})
    inner = [x for x in inner if lower < x < lower + width]
    knots = [lower, *(x for x in inner for _ in range(draw(st.integers(1, 2)))), lower + width]
    return jump_table(draw(st.floats(0.1, 4.0)), tuple(knots))


@given(jump_tables(), st.integers(0, 1 << 32))
def test_arrays_and_plain_python_agree(table: Table, seed: int) -> None:
    rng = np.random.default_rng(seed)
    x = rng.choice(numbers_near(table.knots, rng), 300)
    words = rng.integers(0, 1 << 64, 300, dtype=np.uint64)
    out = np.empty(300, np.uint8)
    TableKernel(np.array(table.knots), np.array(table.weights)).draw(x, words, out)
    pairs = zip(x.tolist(), words.tolist(), strict=True)
    assert out.tolist() == [table.draw(a, w) for a, w in pairs]


def test_pairs_agree_with_the_vectors_and_their_definition() -> None:
    found = vectors("draws")
    tables = [Table.from_document(each) for each in found["pair_tables"]]
    assert [len(table.axes) for table in tables] == [2] * len(tables)
    for case in found["pair_draws"]:
        table, words = tables[case["table"]], [int(word, 16) for word in case["words"]]
        rows = [
            x if isinstance(axis, int) else row_by_definition(axis, x, word >> 32)
            for axis, x, word in zip(table.axes, case["x"], words, strict=True)
        ]
        size = table.axes[1] if isinstance(table.axes[1], int) else len(table.axes[1])
        row = rows[0] * size + rows[1]
        assert output_by_definition(table, row, words[0] & 0xFFFF_FFFF) == case["output"]
        assert table.draw(case["x"], words) == case["output"]
        assert table.draw(tuple(case["x"]), tuple(words)) == case["output"]


EDGE = 45.0
SIDES = (math.nextafter(EDGE, 0.0), EDGE, 40.0, 50.0, 0.0, 180.0)


def left_and_right() -> Table:
    return jump_table(1.0, (0, EDGE, EDGE, 180), n_outputs=8)


def plain_draws(table: Table, x: float, seed: int) -> list[int]:
    words = np.random.default_rng(seed).integers(0, 1 << 64, 20_000, dtype=np.uint64)
    return [table.draw(x, word) for word in words.tolist()]


def array_draws(table: Table, x: float, seed: int) -> list[int]:
    drawn = TableMechanism.of(table).privatize(np.full(200_000, x), np.random.default_rng(seed))
    result: list[int] = np.asarray(drawn).tolist()
    return result


def p_value(table: Table, x: float, drawn: list[int]) -> float:
    """Return how well draws fit the table: rows by definition, in proportion to the position."""
    low = row_by_definition(table.knots, x, exact.SCALE)
    share = (x - table.knots[low]) / (table.knots[low + 1] - table.knots[low])
    rows = np.array(table.weights) / exact.SCALE
    chances = (1.0 - share) * rows[low] + share * rows[low + 1]
    counts = np.bincount(drawn, minlength=table.n_outputs)
    return float(chisquare(counts, chances / chances.sum() * len(drawn)).pvalue)


@pytest.mark.parametrize("draws", [plain_draws, array_draws])
@pytest.mark.parametrize("x", SIDES)
def test_draws_fit_the_table_on_both_sides_of_a_jump(
    draws: Callable[[Table, float, int], list[int]], x: float
) -> None:
    table = left_and_right()
    assert p_value(table, x, draws(table, x, 5)) > LEVEL


def test_a_plain_draw_from_the_wrong_side_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    table = left_and_right()

    def wrong(values: Sequence[Any], x: Any) -> int:  # the row of an edge is taken from below
        return (bisect_left if isinstance(x, float) else bisect_right)(values, x)

    monkeypatch.setattr("noutput.mechanisms.exact.bisect_right", wrong)
    assert p_value(table, EDGE, plain_draws(table, EDGE, 5)) < 1e-12
    assert p_value(table, 40.0, plain_draws(table, 40.0, 5)) > LEVEL  # noticed at the edge alone


def test_an_array_draw_from_the_wrong_side_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    table = left_and_right()

    def wrong(
        self: TableKernel, x: NDArray[np.float64], high: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        knots = self._knots
        cell = np.clip(np.searchsorted(knots, x, side="left") - 1, 0, len(knots) - 2)
        return cell + (high < (x - knots[cell]) * (exact.SCALE / (knots[cell + 1] - knots[cell])))

    monkeypatch.setattr(TableKernel, "_rows", wrong)
    assert p_value(table, EDGE, array_draws(table, EDGE, 5)) < 1e-12
    assert p_value(table, 40.0, array_draws(table, 40.0, 5)) > LEVEL


def test_probabilities_belong_to_the_cell_above_and_the_last_cell_is_closed() -> None:
    table = left_and_right()
    mechanism = TableMechanism.of(table)
    rows = np.array(table.weights) / exact.SCALE
    found = mechanism.probabilities([0.0, math.nextafter(EDGE, 0.0), EDGE, 180.0])
    np.testing.assert_allclose(found, rows, atol=1e-12)
    np.testing.assert_allclose(mechanism.probabilities(112.5), rows[2:].mean(axis=0))
    np.testing.assert_allclose(
        np.exp(mechanism.log_likelihood([0, 1], EDGE)), rows[2, :2], atol=1e-12
    )
    assert mechanism.bounds == (0.0, 180.0)


@pytest.mark.parametrize("name", ["minutes", "no jump", "all inner knots", "tenths"])
def test_moments_match_brute_force(name: str) -> None:
    mechanism = TableMechanism.of(jump_table(1.0, KNOTS[name]))
    lower, upper = mechanism.bounds
    b = mechanism.outputs
    x = lower + (upper - lower) * (np.arange(60_000) + 0.5) / 60_000
    p = mechanism.probabilities(x)
    np.testing.assert_allclose(p @ b, x, atol=1e-9 * (upper - lower))
    squares = p @ b**2 - x**2
    np.testing.assert_allclose(mechanism.variance(x), squares, rtol=1e-9)
    assert mechanism.worst_variance() == pytest.approx(squares.max(), rel=1e-3)
    assert mechanism.worst_variance() >= squares.max() * (1.0 - 1e-12)
    assert mechanism.average_variance() == pytest.approx(squares.mean(), rel=1e-3)
    prior = np.array([1.0, 0.0, 3.0])
    parts = squares.reshape(3, -1).mean(axis=1)
    expected = float(prior @ parts / prior.sum())
    assert mechanism.average_variance(prior) == pytest.approx(expected, rel=2e-3)
    means = p.reshape(5, 12_000, -1).mean(axis=1)
    np.testing.assert_allclose(mechanism.transition(5), means, atol=1e-4)


@pytest.mark.parametrize("name", ["minutes", "no jump", "all inner knots", "tenths", "crowded"])
def test_computed_outputs_have_the_least_variance_of_all_that_are_right(name: str) -> None:
    knots = KNOTS[name]
    mechanism = TableMechanism.of(jump_table(1.0, knots, n_outputs=3 * len(knots)))
    rows = mechanism.weights / exact.SCALE
    half = (knots[-1] - knots[0]) / 2
    middle = (knots[-1] + knots[0]) / 2
    b = (mechanism.outputs - middle) / half
    np.testing.assert_allclose(rows @ b, (mechanism.knots - middle) / half, atol=1e-8)
    even = rows.mean(axis=0)
    nothing = np.linalg.svd(rows)[2][len(rows) :]  # directions that change no mean
    assert len(nothing) == 2 * len(knots)
    for direction in nothing:
        assert even @ (b * direction) == pytest.approx(0.0, abs=1e-7)


def test_large_offsets_do_not_spoil_computed_outputs() -> None:
    near, far = (jump_table(1.0, (x, x + 5, x + 5, x + 10)) for x in (0.0, 1e15))
    outputs = [TableMechanism.of(table).outputs for table in (near, far)]
    np.testing.assert_allclose(outputs[1] - 1e15, outputs[0], atol=0.125)


def test_a_table_that_does_not_tell_the_mean_says_so() -> None:
    steps = ((3 << 30, 1 << 30),) * 2 + ((1 << 30, 3 << 30),) * 2
    mechanism = TableMechanism.of(Table(1.1, ((0.0, 1.0, 1.0, 2.0),), steps))
    assert mechanism.privatize([0.5, 1.5], np.random.default_rng(1)).shape == (2,)
    for call in (lambda: mechanism.outputs, lambda: mechanism.decode([0]),
                 mechanism.worst_variance):  # fmt: skip
        with pytest.raises(InvalidArgumentError, match="mechanism must tell the mean"):
            call()


def test_corners_need_a_table_without_jumps() -> None:
    with pytest.raises(InvalidArgumentError, match=r"without jumps.* found 'jumps at \(45.0,\)'"):
        TableMechanism.of(left_and_right()).corners()


def test_tables_move_to_other_bounds() -> None:
    table = left_and_right()
    unit = table.rescaled(-1, 1)
    assert unit.axes == ((-1.0, -0.5, -0.5, 1.0),)
    assert unit.weights == table.weights
    assert table.rescaled(0, 180) is table
    assert unit.rescaled(0, 180) == table
    third = jump_table(1.0, (0.0, 0.1, 0.1, 0.3)).rescaled(0.1, 25_000.7)
    assert (third.knots[0], third.knots[-1]) == (0.1, 25_000.7)
    assert len(third.jumps) == 1
    for bounds in ((1, 1), (2, 1), (0.0, 5e-324), (1e15, math.nextafter(1e15, 2e15))):
        with pytest.raises(InvalidArgumentError, match="bounds must be far enough apart for 3"):
            table.rescaled(*bounds)
    with pytest.raises(InvalidArgumentError, match="table must be one of a number; found 'a table"):
        Table(1.1, (2,), ((3 << 30, 1 << 30), (1 << 30, 3 << 30))).rescaled(0, 1)


def test_estimators_get_the_table_of_a_campaign_on_the_unit_interval() -> None:
    table = left_and_right()
    mechanism = unit_mechanism(table)
    assert isinstance(mechanism, TableMechanism)
    assert mechanism.bounds == (-1.0, 1.0)
    assert mechanism.fingerprint == table.fingerprint
    assert mechanism == pickle.loads(pickle.dumps(mechanism))  # noqa: S301
    assert mechanism != TableMechanism.of(table.rescaled(-1, 1))
    inner = TableMechanism.of(table)
    np.testing.assert_allclose(mechanism.outputs, inner.outputs / 90.0 - 1.0, atol=1e-9)
    answers = unit_mechanism(jump_table(1.0, 3))
    assert isinstance(answers, AnswerMechanism)


ROWS = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))


@pytest.mark.parametrize(
    ("axes", "x"),
    [
        (((0.0, 180.0),), 180.5), (((0.0, 180.0),), math.nan), (((0.0, 180.0),), -4242.5),
        (((0.0, 180.0),), (4242.5, 1.0)), ((2,), 4242), ((2,), 4242.5), ((2,), True), ((2,), -1),
    ],
)  # fmt: skip
def test_values_that_a_table_does_not_hold_are_refused_without_repeating_them(
    axes: tuple[int | tuple[float, ...], ...], x: float
) -> None:
    table = Table(1.1, axes, ROWS)
    for draw in (lambda: table.draw(x, 0), lambda: table.privatize(x)):
        with pytest.raises(InvalidArgumentError, match="x must") as caught:
            draw()  # type: ignore[no-untyped-call]
        assert "4242" not in str(caught.value)


def test_a_pair_takes_two_values_and_two_words() -> None:
    table = jump_table(1.0, (0.0, 1.0), 2)
    assert table.privatize((0.5, 1)) in range(4)
    for x, word in ((0.5, 0), ((0.5,), (0,)), ((0.5, 1, 1), (0, 0, 0))):
        with pytest.raises(
            InvalidArgumentError, match="x must be 2 values with 2 words, one per axis"
        ):
            table.draw(x, word)
    with pytest.raises(InvalidArgumentError, match="x must be 2 values with 2 words, one per axis"):
        table.draw((0.5, 1), 0)


@pytest.mark.parametrize("axes", [(2,), ((0, 1),), ((0, 1, 1, 2),), (2, 3), ((0.0, 1.0), 4)])
def test_every_kind_of_table_survives_documents_and_pickles(
    axes: tuple[int | tuple[float, ...], ...],
) -> None:
    table = jump_table(1.0, *axes)
    assert Table.from_json(table.to_json()) == table
    assert pickle.loads(pickle.dumps(table)) == table  # noqa: S301
    assert table.n_rows == len(table.weights)
    document = json.loads(table.to_json())
    assert "outputs" not in document
    document["weights"][-1] = document["weights"][0]
    with pytest.raises(InvalidArgumentError, match="fingerprint must be"):
        Table.from_document(document)
    with pytest.raises(PrivacyError):
        Table(table.privacy_loss() * 0.999, table.axes, table.weights)


def test_one_row_of_a_jump_decides_about_privacy() -> None:
    """The certificate covers both sides of a jump."""
    rows = ((2 << 30, 2 << 30),) * 4
    Table(0.1, ((0, 1, 1, 2),), rows)
    for index in range(4):
        bad = [*rows[:index], (3 << 30, 1 << 30), *rows[index + 1 :]]
        with pytest.raises(PrivacyError):
            Table(0.4, ((0, 1, 1, 2),), tuple(bad))
        assert Table(0.7, ((0, 1, 1, 2),), tuple(bad)).privacy_loss() == pytest.approx(math.log(2))


def test_mechanisms_with_given_outputs_check_them_on_both_sides() -> None:
    table = left_and_right()
    found = TableMechanism.of(table).outputs
    order = np.argsort(found)
    weights = np.array(table.weights)[:, order]
    mechanism = TableMechanism(1.0, found[order], weights, table.knots)
    assert mechanism.given_outputs is not None
    twin = pickle.loads(pickle.dumps(mechanism))  # noqa: S301
    assert twin.outputs.tolist() == mechanism.outputs.tolist()
    wrong = [0.0, EDGE, EDGE + 1.0, 180.0]
    with pytest.raises(
        InvalidArgumentError, match=r"knots\[2\] must be the mean output of its row"
    ):
        TableMechanism(1.0, found[order], weights, wrong)
    with pytest.raises(InvalidArgumentError, match="knots must be given where outputs are not"):
        TableMechanism(1.0, None, weights)
