from __future__ import annotations

import multiprocessing
import os
from typing import Any

import numpy as np
import pytest

from noutput._random import SecureWords, SeededWords, word_source
from noutput.errors import InvalidArgumentError


def first_words(count: int = 4) -> list[int]:
    words = np.empty(count, np.uint64)
    SecureWords().fill(words)
    return [int(w) for w in words]


def test_every_source_has_its_own_key() -> None:
    streams = {tuple(first_words()) for _ in range(200)}
    assert len(streams) == 200


def test_the_key_comes_from_the_operating_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """The words are the keystream of AES-256-CTR: NIST SP 800-38A, F.5.5, gives the first."""
    key = bytes.fromhex("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    counter = bytes.fromhex("f0f1f2f3f4f5f6f7f8f9fafbfcfdfeff")
    parts = {32: key, 16: counter}
    monkeypatch.setattr(os, "urandom", parts.__getitem__)
    words = np.empty(2, np.uint64)
    SecureWords().fill(words)
    keystream = bytes.fromhex("0bdf7df1591716335e9a8b15c860c502")
    assert words.astype("<u8").tobytes() == keystream


def test_refilling_continues_the_stream(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "urandom", bytes)
    whole = np.empty(100_000, np.uint64)
    SecureWords().fill(whole)
    source = SecureWords()
    parts = [np.empty(n, np.uint64) for n in (1, 40_000, 0, 59_999)]
    for part in parts:
        source.fill(part)
    np.testing.assert_array_equal(whole, np.concatenate(parts))
    assert len(np.unique(whole)) == len(whole)


def test_secure_words_look_uniform() -> None:
    words = np.empty(1 << 18, np.uint64)
    SecureWords().fill(words)
    ones = np.unpackbits(words.view(np.uint8)).mean()
    assert abs(ones - 0.5) < 6 * 0.5 / (64 * len(words)) ** 0.5


def _report(queue: Any) -> None:
    queue.put(first_words())


@pytest.mark.filterwarnings("ignore:.*multi-threaded.*fork:DeprecationWarning")
@pytest.mark.parametrize("start", ["fork", "spawn"])
def test_processes_never_share_a_stream(start: str) -> None:
    context: Any = multiprocessing.get_context(start)
    queue = context.Queue()
    workers = [context.Process(target=_report, args=(queue,)) for _ in range(3)]
    for worker in workers:
        worker.start()
    streams = [tuple(queue.get(timeout=600)) for _ in workers]
    for worker in workers:
        worker.join(60)
    assert len({*streams, tuple(first_words())}) == 4


def test_a_generator_gives_its_own_words() -> None:
    words = np.empty(5, np.uint64)
    SeededWords(np.random.default_rng(3)).fill(words)
    expected = np.random.default_rng(3).bit_generator.random_raw(5)
    np.testing.assert_array_equal(words, expected)


@pytest.mark.parametrize("rng", [7, "seed", np.random.RandomState(3), np.random])
def test_other_generators_are_refused(rng: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="rng must be a numpy Generator"):
        word_source(rng)
