from __future__ import annotations

import random

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from noutput.collector.store.ids import IdSet

# Few different halves, so that ids repeat and keys collide in every way.
halves = st.integers(0, 3).map(lambda number: number.to_bytes(8, "big"))
ids = st.one_of(st.tuples(halves, halves).map(b"".join), st.binary(min_size=16, max_size=16))


@given(st.lists(st.lists(ids, max_size=20), max_size=10))
def test_it_is_a_set(batches: list[list[bytes]]) -> None:
    found = IdSet()
    known: set[bytes] = set()
    for batch in batches:
        wanted = []
        for entry in batch:
            wanted.append(entry not in known)
            known.add(entry)
        assert found.add(b"".join(batch)).tolist() == wanted
    assert len(found) == len(known)


def test_it_grows() -> None:
    rng = random.Random(3)  # noqa: S311
    found = IdSet()
    batches = [rng.randbytes(16 * 7_000) for _ in range(12)]
    for batch in batches:
        assert found.add(batch).all()
    for batch in batches:
        assert not found.add(batch).any()
    assert len(found) == 84_000


def test_equal_keys_of_different_ids_stay_apart() -> None:
    """With factors of 1 the key is the sum of the halves, which many ids share."""
    found = IdSet()
    found._factors = np.array([1, 1], np.uint64)
    entries = [a.to_bytes(8, "big") + b.to_bytes(8, "big") for a in range(12) for b in range(12)]
    random.Random(4).shuffle(entries)  # noqa: S311
    for start in range(0, len(entries), 24):
        assert found.add(b"".join(entries[start : start + 24])).all()
    assert len(found) == 144
    assert not found.add(b"".join(entries)).any()
