from __future__ import annotations

import numpy as np
import pytest

from noutput.collector.store import filters
from noutput.collector.store.filters import ANY, Filters, Words, build_filter, slots


def some_halves(count: int, seed: int = 1) -> tuple[Words, Words]:
    high, low = np.random.default_rng(seed).integers(0, 1 << 64, (2, count), dtype=np.uint64)
    return high, low


@pytest.mark.parametrize("count", [0, 1, 2, 50, 3_000])
def test_what_is_in_a_filter_passes_and_one_of_256_others(count: int) -> None:
    high, low = some_halves(count)
    third = slots(count)
    found = Filters(3, third)
    found.put(1, *build_filter(high, low, third))
    assert found.loaded.tolist() == [False, True, False]
    assert found.pass_(np.ones(count, np.intp), high, low).all()
    others = some_halves(20_000, seed=2)
    share = found.pass_(np.ones(20_000, np.intp), *others).mean()
    # Where there are few ids most slots are empty, and give the fingerprint 0 to one of 256.
    assert 0.5 / 256 < share < 1.5 / 256


def test_another_seed_is_tried_and_at_last_every_id_passes(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    high, low = some_halves(300)
    peel, calls = filters._peel, []

    def failing(*values: object) -> object:
        calls.append(1)
        return None if len(calls) < 4 else peel(*values)  # type: ignore[arg-type]

    monkeypatch.setattr(filters, "_peel", failing)
    seed, table = build_filter(high, low, slots(300))
    assert seed == 3
    found = Filters(1, slots(300))
    found.put(0, seed, table)
    assert found.pass_(np.zeros(300, np.intp), high, low).all()
    monkeypatch.setattr(filters, "_peel", lambda *_: None)
    seed, table = build_filter(high, low, slots(300))
    assert seed == ANY
    found.put(0, seed, table)
    assert found.pass_(np.zeros(50, np.intp), *some_halves(50, seed=3)).all()


def test_too_few_slots_let_every_id_pass() -> None:
    seed, _ = build_filter(*some_halves(100), 20)
    assert seed == ANY


def test_a_filter_takes_ten_bits_per_id() -> None:
    """As docs/collector.md says."""
    assert 9.8 < 24 * slots(1 << 15) / (1 << 15) < 10.3
    assert 9.8 < 24 * slots(1 << 16) / (1 << 16) < 10.3
