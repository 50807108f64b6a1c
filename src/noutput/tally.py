"""Counts of reports, tied to the mechanism that made them."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput import _checks
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms import document
from noutput.mechanisms.base import check_channel

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from noutput.mechanisms.answers import AnswerMechanism
    from noutput.mechanisms.base import Channel

__all__ = ["Tally"]

FORMAT = "noutput-tally"
VERSION = 1
_NEEDED = ("cells", "n_cells", "fingerprint")
_CHUNK = 1 << 16  # reports counted at once
_KEYS = ("fingerprint", "counts")


@dataclass(frozen=True, slots=True)
class Tally:
    """How often each output was reported. Tallies of one mechanism can be added.

    Parameters
    ----------
    fingerprint : str
        The fingerprint of the mechanism.
    counts : sequence of int
        One count per output, of any size: whole numbers of Python, never rounded.

    Examples
    --------
    >>> import noutput as no
    >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
    >>> tally = Tally.of(m, [0, 1, 1]) + Tally.of(m, [1])
    >>> tally  # doctest: +ELLIPSIS
    Tally(fingerprint='...', counts=(1, 3))
    >>> Tally.from_json(tally.to_json()) == tally
    True
    >>> tally.total, Tally.sum([tally, tally]).counts
    (4, (2, 6))
    """

    fingerprint: str
    counts: tuple[int, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.fingerprint, str):
            raise InvalidArgumentError("fingerprint", "be a string", self.fingerprint)
        try:
            counts = tuple(self.counts)
        except TypeError:
            rule = "be a sequence of whole numbers"
            raise InvalidArgumentError("counts", rule, self.counts) from None
        for count in counts:
            if type(count) is not int or count < 0:
                raise InvalidArgumentError("counts", "be whole numbers, none negative", count)
        object.__setattr__(self, "counts", counts)

    @classmethod
    def of(cls, mechanism: Channel | AnswerMechanism, reports: ArrayLike) -> Tally:
        """Count reports of a mechanism."""
        check_channel(mechanism, *_NEEDED)
        counts = np.zeros(mechanism.n_cells, np.int64)
        for (part,) in _chunks(reports):
            counts += np.bincount(mechanism.cells(part).reshape(-1), minlength=counts.size)
        return cls(mechanism.fingerprint, tuple(counts.tolist()))

    @classmethod
    def by_attribute(
        cls,
        mechanism: Channel,
        attributes: ArrayLike,
        reports: ArrayLike,
        n_attributes: int,
    ) -> tuple[Tally, ...]:
        """Count the reports on each of several attributes.

        Parameters
        ----------
        mechanism : Channel
            What made all reports.
        attributes, reports : arrays of whole numbers, of one shape
            Which attribute (from 0) every report is about, and the report.
        n_attributes : int
            How many attributes there are; one that nobody reported gets zeros.

        Examples
        --------
        >>> import noutput as no
        >>> m = no.TableMechanism(1.1, [-2.0, 2.0], [[3 << 30, 1 << 30], [1 << 30, 3 << 30]])
        >>> [t.counts for t in Tally.by_attribute(m, [0, 2, 0], [1, 1, 0], 3)]
        [(1, 1), (0, 0), (0, 1)]
        """
        check_channel(mechanism, *_NEEDED)
        groups = _checks.whole("n_attributes", n_attributes, 1, 1 << 24)
        if np.shape(attributes) != np.shape(reports):
            rule = f"have the shape of reports, {np.shape(reports)}"
            raise InvalidArgumentError("attributes", rule, np.shape(attributes))
        size = mechanism.n_cells
        counts = np.zeros(groups * size, np.int64)
        for who, part in _chunks(attributes, reports):
            place = _indexes("attributes", who, groups) * size
            place += mechanism.cells(part).reshape(-1)
            counts += np.bincount(place, minlength=counts.size)
        rows = counts.reshape(groups, size).tolist()
        return tuple(cls(mechanism.fingerprint, tuple(row)) for row in rows)

    @property
    def total(self) -> int:
        """How many reports were counted."""
        return sum(self.counts)

    @staticmethod
    def sum(tallies: Iterable[Tally]) -> Tally:
        """Add up tallies of one mechanism (at least one)."""
        result: Tally | None = None
        for tally in tallies:
            if not isinstance(tally, Tally):
                raise InvalidArgumentError("tallies", "be tallies", type(tally).__name__)
            result = tally if result is None else result + tally
        if result is None:
            raise InvalidArgumentError("tallies", "have at least one tally", [])
        return result

    def __add__(self, other: Tally) -> Tally:
        if not isinstance(other, Tally):
            return NotImplemented
        if other.fingerprint != self.fingerprint:
            rule = f"be a tally of the same mechanism ({self.fingerprint[:12]})"
            raise InvalidArgumentError("tally", rule, other.fingerprint[:12])
        if len(other.counts) != len(self.counts):
            rule = f"have {len(self.counts)} counts"
            raise InvalidArgumentError("tally", rule, len(other.counts))
        pairs = zip(self.counts, other.counts, strict=True)
        return Tally(self.fingerprint, tuple(a + b for a, b in pairs))

    def to_json(self) -> str:
        """Return the tally as a JSON document with a format version, on one line."""
        return json.dumps(
            {
                "format": FORMAT,
                "version": VERSION,
                "fingerprint": self.fingerprint,
                "counts": self.counts,
            }
        )

    @classmethod
    def from_json(cls, text: str | bytes) -> Tally:
        """Read a tally from JSON.

        Raises
        ------
        DocumentError
            If the text is not such a document.
        """
        found = document.read(text, FORMAT, VERSION, _KEYS)
        if not isinstance(found["fingerprint"], str):
            raise DocumentError("fingerprint", "be a string", found["fingerprint"])
        counts = found["counts"]
        if not isinstance(counts, list) or any(type(n) is not int or n < 0 for n in counts):
            raise DocumentError("counts", "be a list of whole numbers, none negative", counts)
        return cls(found["fingerprint"], tuple(counts))


def _chunks(*columns: ArrayLike) -> Iterator[tuple[ArrayLike, ...]]:
    """Cut large arrays of one shape into parts: indexes are eight times as large as their bytes.

    Where one is not an array, what it holds is as large already, and all are left whole.
    """
    arrays = [column for column in columns if isinstance(column, np.ndarray)]
    if len(arrays) < len(columns) or arrays[0].size <= _CHUNK:
        yield columns
        return
    flat = [array.reshape(-1) if array.flags.c_contiguous else array.flat for array in arrays]
    for start in range(0, arrays[0].size, _CHUNK):
        yield tuple(part[start : start + _CHUNK] for part in flat)


def _indexes(name: str, values: ArrayLike, size: int) -> NDArray[np.intp]:
    """Return a flat array of indexes below `size`."""
    array = np.asarray(values)
    if array.dtype.kind not in "iu" and array.size:
        raise InvalidArgumentError(name, "be whole numbers", values)
    if array.size and not (array.min() >= 0 and array.max() < size):
        bad = array.min() if array.min() < 0 else array.max()
        raise InvalidArgumentError(name, f"be indexes from 0 to {size - 1}", int(bad))
    return array.reshape(-1).astype(np.intp, copy=False)
