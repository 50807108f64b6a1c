"""Random 64-bit words: the operating system's secure source, or a seeded generator.

Both kinds share one interface, `fill`, so a sampler cannot tell them apart. A secure source is
made for one call and dropped after it. Its key never outlives the call, so forked processes,
threads and later calls cannot share a stream.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Protocol

import numpy as np
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CTR

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from numpy.typing import NDArray

__all__ = ["SecureWords", "SeededWords", "WordSource", "word_source"]

_WORD_BYTES = 8
_BLOCK = 2  # `update_into` asks for room for one more AES block of two words
_STEP = 1 << 14  # words encrypted at once
_ZEROS = memoryview(bytes(_STEP * _WORD_BYTES))


class WordSource(Protocol):
    """Where random words come from."""

    def fill(self, out: NDArray[np.uint64]) -> None:
        """Overwrite a contiguous array with the next words of the stream."""


class SecureWords:
    """Words from AES-256 in counter mode under a fresh key of the operating system.

    Guarantees
    ----------
    Key and first counter block are drawn from `os.urandom` at construction and stored nowhere
    else. The words are those of the keystream, each used once.
    """

    def __init__(self) -> None:
        self._encryptor = Cipher(AES(os.urandom(32)), CTR(os.urandom(16))).encryptor()

    def fill(self, out: NDArray[np.uint64]) -> None:
        """Overwrite `out` with the next words of the keystream."""
        room = out.view(np.uint8)
        direct = max(0, out.size - _BLOCK) * _WORD_BYTES
        for start in range(0, direct, len(_ZEROS)):
            size = min(len(_ZEROS), direct - start)
            self._encryptor.update_into(_ZEROS[:size], room[start:].data)
        room[direct:] = np.frombuffer(
            self._encryptor.update(_ZEROS[: room.size - direct]), np.uint8
        )
        if sys.byteorder == "big":
            out.byteswap(inplace=True)


class SeededWords:
    """Words from a numpy generator: reproducible, for simulation only."""

    def __init__(self, rng: np.random.Generator) -> None:
        self._rng = rng

    def fill(self, out: NDArray[np.uint64]) -> None:
        """Overwrite `out` with the generator's next words."""
        out[:] = self._rng.integers(0, 1 << 64, size=out.size, dtype=np.uint64)


def word_source(rng: np.random.Generator | None) -> WordSource:
    """Return a secure source where `rng` is None, else one over the given generator."""
    if rng is None:
        return SecureWords()
    if isinstance(rng, np.random.Generator):
        return SeededWords(rng)
    raise InvalidArgumentError("rng", "be a numpy Generator, or None for secure randomness", rng)
