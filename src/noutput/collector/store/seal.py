"""Seals: a checksum per campaign over its counts and its ids, kept up with every commit."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["SUM_MASK", "Seal"]

# Sums stay below 2**62, so that adding two of them overflows in no database.
SUM_MASK = (1 << 62) - 1
# Mixing as in SplitMix64 (Steele, Lea and Flood, 2014, doi:10.1145/2660193.2660195).
_FIRST, _SECOND = np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F)
_ROUNDS = (
    (np.uint64(30), np.uint64(0xBF58476D1CE4E5B9)),
    (np.uint64(27), np.uint64(0x94D049BB133111EB)),
)
_LAST = np.uint64(31)
_CELL = 0x9E3779B97F4A7C15


@dataclass(frozen=True, slots=True)
class Seal:
    r"""What the counts and the ids of a campaign add up to.

    Parameters
    ----------
    reports : int
        What the counts add up to.
    ids : int
        How many ids there are.
    id_sum, count_sum : int
        Checksums of the ids, in any order, and of the counts, each in its cell.

    Notes
    -----
    Both checksums are sums modulo :math:`2^{62}`: of a mixed value per id, and of count times a
    factor per cell. So a commit adds its own part, whatever else is stored, and the way in
    which ids are stored, ordered or merged does not matter. Damage that spares the number of
    ids goes unnoticed with a chance of :math:`2^{-62}`. The checksums are no signature: whoever
    may write to the database can make them fit.

    Examples
    --------
    >>> whole = Seal.of({3: 2}, [b"a" * 16 + b"b" * 16])
    >>> whole == Seal.of({3: 1}, [b"b" * 16]) + Seal.of({3: 1}, [b"a" * 16])
    True
    >>> whole == Seal.of({3: 2}, [b"a" * 16 + b"c" * 16])
    False
    """

    reports: int = 0
    ids: int = 0
    id_sum: int = 0
    count_sum: int = 0

    @classmethod
    def of(cls, counts: Mapping[int, int], ids: Iterable[bytes]) -> Seal:
        """Return the seal of counts by cell, and of ids in pieces of whole ids."""
        found = cls.of_counts(counts.items())
        for piece in ids:
            found += cls.of_ids(piece)
        return found

    @classmethod
    def of_ids(
        cls, ids: bytes, new: np.ndarray[tuple[int], np.dtype[np.bool_]] | None = None
    ) -> Seal:
        """Return the part of ids of 16 bytes each, or of the new ones among them."""
        halves = np.frombuffer(ids, "<u8").reshape(-1, 2)
        if new is not None and not new.all():
            halves = halves[new]
        mixed = halves[:, 0] * _FIRST
        mixed += halves[:, 1] * _SECOND
        for shift, factor in _ROUNDS:
            mixed ^= mixed >> shift
            mixed *= factor
        mixed ^= mixed >> _LAST
        return cls(ids=len(mixed), id_sum=int(mixed.sum(dtype=np.uint64)) & SUM_MASK)

    @classmethod
    def of_counts(cls, counts: Iterable[tuple[int, int]]) -> Seal:
        """Return the part of cells and their counts."""
        reports = count_sum = 0
        for cell, number in counts:
            reports += number
            count_sum += number * ((cell + 1) * _CELL & SUM_MASK)
        return cls(reports=reports, count_sum=count_sum & SUM_MASK)

    def __add__(self, other: Seal) -> Seal:
        return Seal(
            self.reports + other.reports,
            self.ids + other.ids,
            (self.id_sum + other.id_sum) & SUM_MASK,
            (self.count_sum + other.count_sum) & SUM_MASK,
        )

    def problems(self, found: Seal, *, ids: bool = True) -> list[str]:
        """Say how what was found differs from what was committed.

        Parameters
        ----------
        found : Seal
            Of what the database holds now.
        ids : bool
            Whether the ids were read.
        """
        told: list[str] = []
        if found.reports != self.reports:
            told.append(
                f"its counts add up to {found.reports:,} reports, and {self.reports:,} were counted"
            )
        elif found.count_sum != self.count_sum:
            told.append("its counts are not those that were committed")
        if ids and found.ids != self.ids:
            told.append(f"it has {found.ids:,} ids, and {self.ids:,} were kept")
        elif ids and found.id_sum != self.id_sum:
            told.append("its ids are not those that were committed")
        return told
