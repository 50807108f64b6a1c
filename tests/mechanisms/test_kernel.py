from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.mechanisms import exact
from noutput.mechanisms.kernel import CHUNK, TableKernel
from noutput.mechanisms.table import TableMechanism
from tests.tables import tables, window_table


def awkward_inputs(table: TableMechanism) -> list[float]:
    """Knots, their neighbors among the floats, and numbers around zero."""
    near = [np.nextafter(k, d) for k in table.knots for d in (-2.0, 2.0)]
    tiny = [0.0, -0.0, 1e-300, -1e-300, 5e-324, -5e-324, 1e-17, -1e-17]
    edges = np.arange(-64, 65) / 64.0
    near += [np.nextafter(e, d) for e in edges for d in (-2.0, 2.0)]
    return [float(x) for x in [*table.knots, *near, *tiny, *edges] if -1.0 <= x <= 1.0]


def awkward_words(table: TableMechanism) -> list[int]:
    edges = np.cumsum(table.weights, axis=1)[:, :-1].ravel().tolist()
    lows = [0, exact.SCALE - 1, *(e + d for e in edges for d in (-1, 0))]
    return [high << 32 | low for low in lows for high in (0, 1, 1 << 31, exact.SCALE - 1)]


@given(tables(), st.randoms(use_true_random=False))
def test_arrays_and_plain_python_agree(table: TableMechanism, random: object) -> None:
    rng = np.random.default_rng(getattr(random, "getrandbits")(32))  # noqa: B009
    x = np.array([*rng.uniform(-1, 1, 300), *rng.choice(awkward_inputs(table), 300)])
    words = rng.integers(0, 1 << 64, 600, dtype=np.uint64)
    words[::3] = rng.choice(np.array(awkward_words(table), np.uint64), 200)
    out = np.empty(600, np.uint8)
    TableKernel(table.knots, table.weights).draw(x, words, out)
    expected = [table.draw(float(a), int(w)) for a, w in zip(x, words, strict=True)]
    assert out.tolist() == expected


@pytest.mark.parametrize(
    ("epsilon", "n_outputs", "n_knots"), [(9.0, 256, 2), (9.0, 200, 3000), (0.1, 2, 2)]
)
def test_agreement_where_lookups_are_crowded(epsilon: float, n_outputs: int, n_knots: int) -> None:
    table = window_table(epsilon, n_outputs, n_knots, 0.05)
    rng = np.random.default_rng(8)
    x = rng.uniform(-1, 1, 2000)
    words = rng.integers(0, 1 << 64, 2000, dtype=np.uint64)
    out = np.empty(2000, np.uint8)
    TableKernel(table.knots, table.weights).draw(x, words, out)
    assert out.tolist() == [table.draw(float(a), int(w)) for a, w in zip(x, words, strict=True)]


def test_agreement_where_knots_share_a_bucket() -> None:
    """Many knots within a thousandth of the range."""
    n = 12
    high = np.linspace(0.5, 0.501, n)
    first = np.concatenate([[0.2], high, [0.8]])
    weights = np.rint(np.stack([1 - first, first], axis=1) * exact.SCALE).astype(np.int64)
    weights[:, 1] = exact.SCALE - weights[:, 0]
    middle = weights[0, 1] / 2 + weights[-1, 1] / 2
    stretch = 2 * exact.SCALE / (weights[-1, 1] - weights[0, 1])
    shift = 1 - stretch * middle / exact.SCALE - 1
    table = TableMechanism(2.0, [shift, shift + stretch], weights)
    kernel = TableKernel(table.knots, table.weights)
    rng = np.random.default_rng(8)
    x = np.concatenate([rng.uniform(-1, 1, 500), rng.uniform(-0.01, 0.01, 500)])
    words = rng.integers(0, 1 << 64, 1000, dtype=np.uint64)
    out = np.empty(1000, np.uint8)
    kernel.draw(x, words, out)
    assert out.tolist() == [table.draw(float(a), int(w)) for a, w in zip(x, words, strict=True)]


def edge_words(kernel_shift: int, thresholds: list[int]) -> list[int]:
    """Lower halves at every threshold and at both ends of the bucket that holds it."""
    starts = [t >> kernel_shift << kernel_shift for t in thresholds]
    edges = [*thresholds, *starts, *(s + (1 << kernel_shift) for s in starts)]
    lows = {0, exact.SCALE - 1, *(e + d for e in edges for d in (-1, 0, 1))}
    return sorted(low for low in lows if 0 <= low < exact.SCALE)


@pytest.mark.parametrize("n_outputs", [2, 3, 16, 256])
@pytest.mark.parametrize("shape", ["even", "random", "all but one weight is 1", "one is large"])
@pytest.mark.parametrize("n_knots", [2, 3, 40])
def test_agreement_at_the_ends_of_all_buckets(n_outputs: int, shape: str, n_knots: int) -> None:
    """Tables that need not be private: the kernel must be right whatever the weights."""
    rng = np.random.default_rng(n_outputs * n_knots)
    shares = {
        "even": np.ones((n_knots, n_outputs)),
        "random": rng.dirichlet(np.full(n_outputs, 0.1), n_knots),
        "all but one weight is 1": np.eye(n_outputs)[rng.integers(0, n_outputs, n_knots)],
        "one is large": 1.0 + 1e5 * np.eye(n_outputs)[rng.integers(0, n_outputs, n_knots)],
    }[shape]
    shares /= shares.sum(axis=1, keepdims=True)
    weights = np.maximum(1, shares * (exact.SCALE - n_outputs)).astype(np.int64)
    weights[np.arange(n_knots), weights.argmax(axis=1)] += exact.SCALE - weights.sum(axis=1)
    knots = np.array([-1.0, *np.sort(rng.uniform(-1.0, 1.0, n_knots - 2)), 1.0])
    sums = np.cumsum(weights, axis=1)
    lows = edge_words(32 - 8, sums.ravel().tolist()) + edge_words(32 - 12, sums.ravel().tolist())
    words = rng.choice(np.array(lows, np.uint64), 3000)
    words |= rng.choice(np.array([0, 1, 1 << 31, exact.SCALE - 1], np.uint64), 3000) << np.uint64(
        32
    )
    x = rng.choice([*knots, *rng.uniform(-1.0, 1.0, 40)], 3000)
    out = np.empty(3000, np.uint8)
    TableKernel(knots, weights).draw(x, words, out)
    rows = sums.tolist()
    expected = [
        exact.draw([knots.tolist()], rows, [a], [w])
        for a, w in zip(x.tolist(), words.tolist(), strict=True)
    ]
    assert out.tolist() == expected


@pytest.mark.parametrize("gap", [5e-324, 1e-300, 2.0**-52])
def test_agreement_where_knots_almost_coincide(gap: float) -> None:
    knots = np.array([-1.0, 0.0, gap, 1.0])
    weights = np.array([[3, 1], [2, 2], [2, 2], [1, 3]]) << 30
    x = np.array([-1.0, -gap, -0.0, 0.0, gap, gap / 2.0, 2.0 * gap, 1.0] * 4)
    words = np.repeat(np.array([0, exact.SCALE - 1], np.uint64), 16) << np.uint64(32)
    words |= np.tile(np.repeat(np.array([0, 9 << 28], np.uint64), 8), 2)
    out = np.empty(x.size, np.uint8)
    with np.errstate(all="raise", under="ignore"):
        TableKernel(knots, weights).draw(x, words, out)
    rows = np.cumsum(weights, axis=1).tolist()
    pairs = zip(x.tolist(), words.tolist(), strict=True)
    assert out.tolist() == [exact.draw([knots.tolist()], rows, [a], [w]) for a, w in pairs]


@pytest.mark.parametrize("size", [1, CHUNK - 1, CHUNK, CHUNK + 1, 3 * CHUNK + 5])
def test_chunking_is_invisible(five_outputs: TableMechanism, size: int) -> None:
    """The i-th value uses the i-th word, however the array is cut."""
    x = np.random.default_rng(2).uniform(-1, 1, size)
    whole = np.asarray(five_outputs.privatize(x, np.random.default_rng(9)))
    rng = np.random.default_rng(9)
    cut = size // 3
    parts = [np.asarray(five_outputs.privatize(part, rng)) for part in (x[:cut], x[cut:])]
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    rng = np.random.default_rng(9)
    assert [five_outputs.privatize(float(v), rng) for v in x[:50]] == whole[:50].tolist()


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_are_invisible(five_outputs: TableMechanism, threads: int) -> None:
    x = np.random.default_rng(2).uniform(-1, 1, 300_001)
    alone = five_outputs.privatize(x, np.random.default_rng(9))
    together = five_outputs.privatize(x, np.random.default_rng(9), threads=threads)
    np.testing.assert_array_equal(alone, together)
