from __future__ import annotations

import copy
import math
import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.errors import InvalidArgumentError, NoutputError, PrivacyError
from noutput.mechanisms.exact import SCALE
from noutput.mechanisms.table import TableMechanism
from tests.tables import tables, window_table

QUARTER = SCALE // 4
GOOD: dict[str, Any] = {
    "epsilon": 1.1,
    "outputs": [-2.0, 2.0],
    "weights": [[3 * QUARTER, QUARTER], [QUARTER, 3 * QUARTER]],
}


def with_changes(**changes: Any) -> dict[str, Any]:
    return {**GOOD, **changes}


@given(tables())
def test_every_table_is_certified_and_unbiased(table: TableMechanism) -> None:
    assert table.privacy_loss() <= table.epsilon
    x = np.random.default_rng(3).uniform(-1.0, 1.0, 50)
    np.testing.assert_allclose(table.probabilities(x) @ table.outputs, x, atol=1e-9)
    np.testing.assert_allclose(table.probabilities(x).sum(axis=1), 1.0, atol=1e-12)


@given(tables(), st.data())
def test_breaking_any_ratio_makes_construction_fail(
    table: TableMechanism, data: st.DataObject
) -> None:
    column = data.draw(st.integers(0, table.n_outputs - 1))
    weights = table.weights.copy()
    lowest, highest = weights[:, column].argmin(), weights[:, column].argmax()
    low = int(weights[lowest, column])
    wanted = math.ceil(low * math.exp(table.epsilon) * (1 + 1e-12)) + 1
    if wanted >= SCALE - table.n_outputs:
        return
    other = (column + 1) % table.n_outputs
    change = wanted - int(weights[highest, column])
    weights[highest, column] += change
    weights[highest, other] -= change
    with pytest.raises(InvalidArgumentError) as caught:
        TableMechanism(table.epsilon, table.outputs, weights)
    if isinstance(caught.value, PrivacyError):
        assert caught.value.weights[0] > caught.value.weights[1]


def test_a_violation_is_named() -> None:
    with pytest.raises(PrivacyError) as caught:
        TableMechanism(**with_changes(epsilon=1.09))
    error = caught.value
    assert (error.output, error.likely, error.unlikely) == (0, 0, 1)
    assert error.weights == (3 * QUARTER, QUARTER)
    assert "output 0" in str(error)
    assert "not private" in str(error)


@pytest.mark.parametrize(
    ("changes", "name"),
    [
        ({"epsilon": 0.0}, "epsilon"),
        ({"epsilon": -1.0}, "epsilon"),
        ({"epsilon": math.nan}, "epsilon"),
        ({"epsilon": math.inf}, "epsilon"),
        ({"epsilon": "1"}, "epsilon"),
        ({"epsilon": True}, "epsilon"),
        ({"epsilon": None}, "epsilon"),
        ({"epsilon": 10**400}, "epsilon"),
        ({"outputs": [2.0, -2.0]}, "outputs"),
        ({"outputs": [2.0, 2.0]}, "outputs"),
        ({"outputs": [2.0]}, "outputs"),
        ({"outputs": [-2.0, math.nan]}, "outputs[1]"),
        ({"outputs": ["a", "b"]}, "outputs"),
        ({"outputs": [[-2.0, 2.0]]}, "outputs"),
        ({"outputs": list(range(257))}, "outputs"),
        ({"weights": [[SCALE, 0], [QUARTER, 3 * QUARTER]]}, "weights[0][0]"),
        ({"weights": [[-1, SCALE + 1], [QUARTER, 3 * QUARTER]]}, "weights[0][0]"),
        ({"weights": [[3 * QUARTER, QUARTER], [QUARTER, QUARTER]]}, "weights[1]"),
        ({"weights": [[0.75, 0.25], [0.25, 0.75]]}, "weights"),
        ({"weights": [["a", "b"], ["c", "d"]]}, "weights"),
        ({"weights": [[1, 2], [1, 2, 3]]}, "weights"),
        ({"weights": [[2**70, 1], [1, 2]]}, "weights"),
        ({"weights": [[True, False], [True, False]]}, "weights"),
        ({"weights": [[3 * QUARTER, QUARTER]]}, "knots"),
        ({"weights": []}, "weights"),
        ({"outputs": [-3.0, 2.0]}, "knots"),
        ({"outputs": [-1.0, 1.0]}, "knots"),
        ({"knots": [-1.0, 0.0, 1.0]}, "knots"),
        ({"knots": [-1.0, 0.9]}, "knots[1]"),
        ({"knots": [1.0, -1.0]}, "knots[1]"),
    ],
)
def test_bad_parts_are_named(changes: dict[str, Any], name: str) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        TableMechanism(**with_changes(**changes))
    assert caught.value.name == name
    assert isinstance(caught.value, NoutputError)
    assert isinstance(caught.value, ValueError)
    assert "must" in str(caught.value)
    assert "found" in str(caught.value)


@pytest.mark.parametrize(
    "x",
    [
        np.ma.masked_array([0.1, 0.2], [False, True]),
        [[0.1], [0.1, 0.2]],
        np.timedelta64(1, "s"),
        10**5000,
    ],
    ids=["masked", "ragged", "time span", "huge"],
)
def test_odd_arrays_are_refused(x: Any) -> None:
    table = TableMechanism(**GOOD)
    with pytest.raises(InvalidArgumentError, match="x must be"):
        table.privatize(x)


def test_a_masked_array_without_a_mask_is_an_array() -> None:
    table = TableMechanism(**GOOD)
    assert np.shape(table.privatize(np.ma.masked_array([0.1, 0.2]))) == (2,)


def test_outputs_whose_squares_overflow_are_refused() -> None:
    with pytest.raises(InvalidArgumentError, match="outputs must lie between"):
        TableMechanism(**with_changes(outputs=[-1e200, 1e200]))


@pytest.mark.parametrize(
    "x", [1.0000001, -2, math.nan, math.inf, "0.5", None, True, [0.0, math.nan], [0.0, 1.5], ["a"]]
)
def test_bad_values_are_refused(x: Any) -> None:
    table = TableMechanism(**GOOD)
    for call in (table.privatize, table.probabilities, table.variance):
        with pytest.raises(InvalidArgumentError, match="x"):
            call(x)


def test_the_place_of_a_bad_value_is_named() -> None:
    x = np.zeros(100_000)
    x[77_777] = 1.5
    with pytest.raises(InvalidArgumentError, match=r"x\[77777\] must be .* found 1\.5"):
        TableMechanism(**GOOD).privatize(x)


def test_clip_is_explicit_and_never_hides_nan() -> None:
    table = TableMechanism(**GOOD)
    assert table.privatize(7.0, clip=True) in (0, 1)
    reports = table.privatize([-9.0, math.inf], np.random.default_rng(1), clip=True)
    np.testing.assert_array_equal(reports, table.privatize([-1.0, 1.0], np.random.default_rng(1)))
    for bad in (math.nan, [0.0, math.nan]):
        with pytest.raises(InvalidArgumentError):
            table.privatize(bad, clip=True)


@pytest.mark.parametrize("shape", [(0,), (3, 0), (5,), (2, 3, 4)])
def test_shapes_are_kept(five_outputs: TableMechanism, shape: tuple[int, ...]) -> None:
    x = np.zeros(shape)
    reports = five_outputs.privatize(x)
    assert isinstance(reports, np.ndarray)
    assert reports.shape == shape
    assert reports.dtype == np.uint8
    assert five_outputs.probabilities(x).shape == (*shape, 5)
    assert five_outputs.variance(x).shape == shape


def test_empty_list_is_fine(five_outputs: TableMechanism) -> None:
    assert np.shape(five_outputs.privatize([])) == (0,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64, np.int8, np.uint16])
def test_any_number_type(five_outputs: TableMechanism, dtype: type[Any]) -> None:
    x = np.array([0, 1, 1, 0], dtype)
    np.testing.assert_array_equal(
        five_outputs.privatize(x, np.random.default_rng(5)),
        five_outputs.privatize(x.astype(float), np.random.default_rng(5)),
    )


def test_layout_in_memory_does_not_matter(five_outputs: TableMechanism) -> None:
    x = np.random.default_rng(1).uniform(-1, 1, (300, 200))
    expected = five_outputs.privatize(x, np.random.default_rng(5))
    for other in (np.asfortranarray(x), np.repeat(x, 2, axis=1)[:, ::2]):
        np.testing.assert_array_equal(
            five_outputs.privatize(other, np.random.default_rng(5)), expected
        )


def test_second_moments_match_brute_force(five_outputs: TableMechanism) -> None:
    x = np.linspace(-1.0, 1.0, 20_001)
    p = five_outputs.probabilities(x)
    brute = p @ five_outputs.outputs**2 - (p @ five_outputs.outputs) ** 2
    np.testing.assert_allclose(five_outputs.variance(x), brute, atol=1e-12)
    worst = five_outputs.worst_variance()
    assert brute.max() <= worst + 1e-12
    assert worst == pytest.approx(brute.max(), rel=1e-7)


@given(tables())
def test_worst_variance_is_a_tight_upper_bound(table: TableMechanism) -> None:
    values = table.variance(np.union1d(np.linspace(-1, 1, 4001), table.knots))
    assert values.max() <= table.worst_variance() * (1 + 1e-12)
    assert table.worst_variance() <= values.max() * (1 + 1e-5) + 1e-6


@pytest.mark.parametrize("bins", [1, 2, 7, 64])
def test_average_variance_matches_quadrature(five_outputs: TableMechanism, bins: int) -> None:
    prior = np.random.default_rng(bins).random(bins)
    x = (np.arange(bins * 40_000) + 0.5) / (bins * 20_000) - 1.0
    values = five_outputs.variance(x).reshape(bins, -1).mean(axis=1)
    expected = float(prior @ values / prior.sum())
    assert five_outputs.average_variance(prior) == pytest.approx(expected, rel=1e-8)


def test_uniform_is_the_default_prior(five_outputs: TableMechanism) -> None:
    assert five_outputs.average_variance() == pytest.approx(
        five_outputs.average_variance(np.ones(13)), rel=1e-12
    )


@pytest.mark.parametrize("prior", [[], [-1.0, 2.0], [0.0, 0.0], [math.nan], "abc", [[1.0]]])
def test_bad_priors_are_refused(five_outputs: TableMechanism, prior: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="prior"):
        five_outputs.average_variance(prior)


@pytest.mark.parametrize("bins", [1, 2, 5, 64, 200])
def test_transition_matches_quadrature(five_outputs: TableMechanism, bins: int) -> None:
    theta = five_outputs.transition(bins)
    x = (np.arange(bins * 4000) + 0.5) / (bins * 2000) - 1.0
    brute = five_outputs.probabilities(x).reshape(bins, 4000, -1).mean(axis=1)
    np.testing.assert_allclose(theta, brute, atol=1e-7)
    np.testing.assert_allclose(theta.sum(axis=1), 1.0, atol=1e-12)


def test_tables_cannot_be_changed(five_outputs: TableMechanism) -> None:
    for array in (five_outputs.weights, five_outputs.outputs, five_outputs.knots):
        with pytest.raises(ValueError, match="read-only"):
            array[0] = 0
        with pytest.raises(ValueError, match="WRITEABLE"):
            array.flags.writeable = True
    for name in ("epsilon", "_epsilon", "_weights", "new"):
        with pytest.raises(AttributeError):
            setattr(five_outputs, name, 1)
    with pytest.raises(AttributeError):
        del five_outputs._weights


def test_arguments_are_copied() -> None:
    weights = np.array(GOOD["weights"])
    table = TableMechanism(**with_changes(weights=weights))
    weights[0, 0] = 1
    assert table.weights[0, 0] == 3 * QUARTER


def test_pickles_are_certified_again(five_outputs: TableMechanism) -> None:
    for twin in (pickle.loads(pickle.dumps(five_outputs)), copy.deepcopy(five_outputs)):  # noqa: S301
        assert twin == five_outputs
        assert hash(twin) == hash(five_outputs)
    kind, arguments = five_outputs.__reduce__()[:2]
    assert kind is TableMechanism
    assert isinstance(arguments, tuple)
    with pytest.raises(PrivacyError):
        TableMechanism(arguments[0] / 2, *arguments[1:])


def test_equality_is_by_content(five_outputs: TableMechanism) -> None:
    assert five_outputs != TableMechanism(**GOOD)
    assert five_outputs != 5
    assert "n_outputs=5" in repr(five_outputs)


def test_bits() -> None:
    assert [window_table(1.0, n, 5, 0.4).bits for n in (2, 3, 4, 5, 8, 9, 16)] == [
        1, 2, 2, 3, 3, 4, 4,
    ]  # fmt: skip


def test_the_largest_table(rng: np.random.Generator) -> None:
    table = window_table(3.0, 256, 129, 0.2)
    x = rng.uniform(-1, 1, 5000)
    reports = table.privatize(x)
    assert reports.max() > 200
    assert table.bits == 8


@pytest.mark.parametrize("x", [0.3, [0.3, 0.2]])
@pytest.mark.parametrize("threads", [0, True, 1.5])
def test_threads_are_checked_for_one_number_too(
    five_outputs: TableMechanism, x: Any, threads: Any
) -> None:
    with pytest.raises(InvalidArgumentError, match="threads must be"):
        five_outputs.privatize(x, threads=threads)
