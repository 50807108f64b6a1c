from __future__ import annotations

import random

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from noutput.collector.store import ids as module
from noutput.collector.store.ids import IdSet

# Few different halves, so that ids repeat.
halves = st.integers(0, 3).map(lambda number: number.to_bytes(8, "big"))
ids = st.one_of(st.tuples(halves, halves).map(b"".join), st.binary(min_size=16, max_size=16))
KEY = bytes(range(16))


class FewKeys:
    """A cipher that changes nothing: tests choose the places, and the odd ids, themselves."""

    def update(self, data: bytes) -> bytes:
        return data


def chosen(*pairs: tuple[int, int]) -> bytes:
    return np.array(pairs, np.uint64).tobytes()


@given(st.lists(st.lists(ids, max_size=20), max_size=10), st.booleans())
def test_it_is_a_set(batches: list[list[bytes]], plain: bool) -> None:
    found = IdSet()
    if plain:
        found._encryptor = FewKeys()  # type: ignore[assignment]
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


def small_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make tables tiny and parts tiny, so that they move all the time."""
    monkeypatch.setattr(module, "_FIRST_BITS", 4)
    monkeypatch.setattr(module, "_LEAST_MOVE", 1)


@pytest.mark.parametrize("plain", [False, True])
def test_it_is_a_set_while_it_moves(plain: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids come one or a few at a time, half of them again, and some calls are undone.

    Without encryption, most begin their search at the last places, and go on at the first.
    """
    small_steps(monkeypatch)
    rng = random.Random(5)  # noqa: S311
    found = IdSet()
    if plain:
        found._encryptor = FewKeys()  # type: ignore[assignment]
    known: list[tuple[int, int]] = []
    both = 0
    for _ in range(200 if plain else 800):
        top = (1 << 64) - 1 if rng.random() < 0.7 else rng.randrange(1 << 58, 1 << 64)
        fresh = [(top - rng.randrange(1 << 58), rng.randrange(4)) for _ in range(rng.randrange(4))]
        again = rng.sample(known, min(len(known), rng.randrange(4)))
        mixed = [*fresh, *again]
        rng.shuffle(mixed)
        wanted = [pair not in known and pair not in mixed[:place]
                  for place, pair in enumerate(mixed)]  # fmt: skip
        assert found.add(chosen(*mixed)).tolist() == wanted
        both += found._former is not None
        if rng.random() < 0.2:
            found.undo()
        else:
            known += [pair for pair, new in zip(mixed, wanted, strict=True) if new]
        assert len(found) == len(known)
    assert both >= 5
    assert not found.add(chosen(*known)).any()


def test_equal_halves_of_different_ids_stay_apart() -> None:
    found = IdSet()
    found._encryptor = FewKeys()  # type: ignore[assignment]
    entries = [(a, b) for a in range(12) for b in range(12)]
    random.Random(4).shuffle(entries)  # noqa: S311
    for start in range(0, len(entries), 24):
        assert found.add(chosen(*entries[start : start + 24])).all()
    assert len(found) == 144
    assert not found.add(chosen(*entries)).any()


def test_undo_forgets_the_last_call_only() -> None:
    found = IdSet()
    found._encryptor = FewKeys()  # type: ignore[assignment]
    found.add(chosen((0, 1), (5, 5)))
    found.add(chosen((0, 2), (0, 1), (5, 5), (6, 6)))
    found.undo()
    found.undo()
    assert len(found) == 2
    assert found.add(chosen((0, 1), (0, 2), (5, 5), (6, 6))).tolist() == [False, True, False, True]


def hostile(count: int) -> bytes:
    """Return ids that share few keys a h + b l (mod 2^64), whatever odd numbers a and b are."""
    numbers = range(1 << 7)
    pairs = [(high << 57, low << 57) for high in numbers for low in numbers][:count]
    return b"".join(high.to_bytes(8, "big") + low.to_bytes(8, "big") for high, low in pairs)


# Each is what a stranger may send: a packed batch has up to 10,000 ids, a group of requests 50,000.
BATCHES = {
    "chosen for a linear hash": hostile(10_000),
    "counted up": b"".join(number.to_bytes(16, "big") for number in range(10_000)),
    "of equal first halves": b"".join(bytes(8) + n.to_bytes(8, "big") for n in range(10_000)),
    "of equal second halves": b"".join(n.to_bytes(8, "little") + bytes(8) for n in range(10_000)),
}


@pytest.mark.parametrize("name", BATCHES)
def test_chosen_ids_take_no_more_work_than_random_ones(name: str) -> None:
    """Work is counted in places looked at, and in places moved while the table grows."""
    usual, other = IdSet(key=KEY), IdSet(key=KEY)
    rng = random.Random(8)  # noqa: S311
    batch = BATCHES[name]
    for start in range(0, len(batch), 16_000):
        assert usual.add(rng.randbytes(16_000)).all()
        assert other.add(batch[start : start + 16_000]).all()
    assert other.probes == pytest.approx(usual.probes, rel=0.05)
    assert other.moves == pytest.approx(usual.moves, rel=0.05)
    assert other.probes < 2.5 * len(batch) / 16


def test_one_id_many_times_is_looked_up_once() -> None:
    found = IdSet(key=KEY)
    assert found.add(b"a" * 16 * 20_000).tolist() == [True] + [False] * 19_999
    assert found.probes == 1


def test_no_call_moves_more_than_in_proportion_to_its_ids() -> None:
    """Growing does not stop anything: no call pays for all the ids that came before."""
    rng = random.Random(9)  # noqa: S311
    found = IdSet(key=KEY)
    most = 0
    for _ in range(400):
        before = found.moves
        found.add(rng.randbytes(16 * 500))
        most = max(most, found.moves - before)
    assert len(found) == 200_000
    assert 0 < most < 1.02 * (1 << 14)
    assert found._table.size > 16 * most


def test_a_table_of_the_expected_size_does_not_grow() -> None:
    found = IdSet(50_000)
    found.add(random.Random(1).randbytes(16 * 50_000))  # noqa: S311
    assert found.moves == 0


@pytest.mark.parametrize("plain", [False, True])
def test_it_says_what_it_contains_also_while_it_moves(
    plain: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_steps(monkeypatch)
    found = IdSet()
    if plain:
        found._encryptor = FewKeys()  # type: ignore[assignment]
    pairs = [(high << 40, low) for high in range(20) for low in range(5)]
    both = 0
    for place in range(0, 100, 3):
        found.add(chosen(*pairs[place : place + 3]))
        both += found._former is not None
        wanted = [number < place + 3 for number in range(100)]
        assert found.contain(chosen(*pairs)).tolist() == wanted
        found.add(chosen((1 << 63, place)))
        found.undo()
        assert not found.contain(chosen((1 << 63, place))).any()
    assert both
    assert len(found) == 100


def test_keys_are_secret_and_differ() -> None:
    one, two = IdSet(), IdSet()
    assert one._encryptor.update(bytes(16)) != two._encryptor.update(bytes(16))
