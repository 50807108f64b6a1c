"""Events for an audit: sets of reports that tell two inputs apart.

Reports of any library are read as features. A number falls into one cell of a partition that
isolates every value seen more than twice, whole numbers without rounding; the fields of a record
make one cell together; a row of bits has one feature for each value of each bit. Short rows, and
rows of which few differ, are read a second time, as one value each: bits can hide together what
none of them tells. Numbers that hardly repeat are read a second time, too, by their lowest set bit:
floating-point samplers give away there what the size of a report hides.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput.errors import InvalidArgumentError
from noutput.estimate.low_bits import NO_BIT, lowest_bit

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Event", "Reader", "find_event", "readers_of"]

_CELLS = 64
_MOST_ATOMS = 512
_SIZES = 8  # classes of numbers whose lowest bits are told apart
_MOST_LEVELS = 64  # different lowest bits, and values of another field next to them
_MOST_ROWS = 1 << 14  # different rows of bits that are told apart
_SHORT_ROW = 16  # bits
_BLOCK = 1 << 22  # bits read at once
_SIGNIFICANT = 4.0  # standard errors
_CLOSE = 1.2  # ratios of events that differ less are alike
_MARGIN = 3.0  # standard errors by which an event must stand out in the pilot


class Reader(ABC):
    """How reports are turned into features."""

    n_features: int

    @abstractmethod
    def counts(self, reports: NDArray[Any]) -> NDArray[np.float64]:
        """Return how many of the reports have each feature."""

    @abstractmethod
    def score(self, reports: NDArray[Any], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the scores of each report's features."""

    @abstractmethod
    def describe(self, scores: NDArray[np.float64], threshold: float) -> str:
        """Name the reports whose score reaches a threshold."""

    def clean(self, scores: NDArray[np.float64], clear: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Drop scores that would only add noise, given which are clear of it."""
        del clear
        return scores


def readers_of(reports: NDArray[Any]) -> list[Reader]:
    """Return the ways to read reports like these.

    Parameters
    ----------
    reports : array
        Numbers, records of numbers, or rows of bits: one byte or number a bit, or packed.
    """
    names = reports.dtype.names
    if reports.ndim == 1 and (names or reports.dtype.kind in "biuf"):
        columns = _columns(reports)
        distinct = [len(np.unique(column)) for column in columns]
        few = [i for i, count in enumerate(distinct) if count <= _MOST_LEVELS]
        many = [i for i, count in enumerate(distinct) if count > _MOST_ATOMS]
        return [_CellReader(reports), *(_LowBitReader(reports, i, few) for i in many)]
    if reports.ndim == 2 and reports.dtype.kind in "biu" and not names:
        plain = reports.min() >= 0 and reports.max() <= 1
        if plain or reports.dtype == np.uint8:
            bits = reports.shape[1] * (1 if plain else 8)
            rows, counts = np.unique(_row_keys(reports, packed=not plain), return_counts=True)
            single = _BitReader(bits, packed=not plain)
            if bits > _SHORT_ROW and len(rows) > min(_MOST_ROWS, len(reports) // 4):
                return [single]
            often = np.sort(np.argsort(counts, kind="stable")[::-1][:_MOST_ROWS])
            return [single, _RowReader(rows[often], packed=not plain)]
    rule = "make numbers, records of numbers or rows of bits"
    raise InvalidArgumentError("sampler", rule, (str(reports.dtype), reports.shape))


class _PartitionReader(Reader):
    """Reports of which each has one feature."""

    @abstractmethod
    def _cells(self, reports: NDArray[Any]) -> NDArray[np.intp]:
        """Return the feature of each report."""

    def counts(self, reports: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(self._cells(reports), minlength=self.n_features).astype(np.float64)

    def score(self, reports: NDArray[Any], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores[self._cells(reports)]


class _CellReader(_PartitionReader):
    """Numbers and records: the feature of a report is its cell."""

    def __init__(self, reports: NDArray[Any]) -> None:
        self._names = reports.dtype.names
        self._edges = [_edges(column) for column in _columns(reports)]
        self.n_features = int(np.prod([len(edges) + 1 for edges in self._edges]))

    def _cells(self, reports: NDArray[Any]) -> NDArray[np.intp]:
        cells = np.zeros(len(reports), np.intp)
        for edges, column in zip(self._edges, _columns(reports), strict=True):
            cells *= len(edges) + 1
            cells += np.searchsorted(edges, column, side="right")
        return cells

    def describe(self, scores: NDArray[np.float64], threshold: float) -> str:
        cells = np.flatnonzero(scores >= threshold)
        if self._names:
            return f"{len(cells)} of {self.n_features} cells of {', '.join(self._names)}"
        runs = np.split(cells, np.flatnonzero(np.diff(cells) > 1) + 1)
        parts = [self._range(run[0], run[-1]) for run in runs[:3] if len(run)]
        more = f" or {len(runs) - 3} other ranges" if len(runs) > 3 else ""
        return "report " + " or ".join(parts) + more

    def _range(self, first: int, last: int) -> str:
        edges = self._edges[0].tolist()
        whole = self._edges[0].dtype.kind != "f"
        low = edges[first - 1] if first else -math.inf
        high = edges[last] if last < len(edges) else math.inf
        if (low + 1 if whole else math.nextafter(low, math.inf)) == high:
            return f"= {_shown(low)}"
        return f"in [{_shown(low)}, {_shown(high)})"


class _LowBitReader(_PartitionReader):
    """Numbers that hardly repeat: by their lowest set bit, their size and fields of few values."""

    def __init__(self, reports: NDArray[Any], place: int, others: list[int]) -> None:
        self._place, self._others = place, others
        self._name = reports.dtype.names[place] if reports.dtype.names else "report"
        columns = _columns(reports)
        numbers = np.sort(columns[place])
        found, counts = np.unique(lowest_bit(numbers), return_counts=True)
        often = np.argsort(counts, kind="stable")[::-1][:_MOST_LEVELS]
        self._levels = np.sort(found[often])
        cuts = np.unique(numbers[len(numbers) * np.arange(1, _SIZES) // _SIZES])
        self._edges = [*(_edges(columns[i]) for i in others), cuts]
        shape = [*(len(edges) + 1 for edges in self._edges), len(self._levels) + 1]
        self.n_features = int(np.prod(shape))

    def _cells(self, reports: NDArray[Any]) -> NDArray[np.intp]:
        columns = _columns(reports)
        cells = np.zeros(len(reports), np.intp)
        for edges, i in zip(self._edges, [*self._others, self._place], strict=True):
            cells *= len(edges) + 1
            cells += np.searchsorted(edges, columns[i], side="right")
        level = lowest_bit(columns[self._place])
        rank = np.minimum(np.searchsorted(self._levels, level), len(self._levels) - 1)
        cells *= len(self._levels) + 1
        return cells + np.where(self._levels[rank] == level, rank, len(self._levels))

    def describe(self, scores: NDArray[np.float64], threshold: float) -> str:
        chosen = np.flatnonzero(scores >= threshold)
        ranks = np.unique(chosen % (len(self._levels) + 1)).tolist()
        known = [_bit(level) for level in self._levels[[r for r in ranks if r < len(self._levels)]]]
        more = f" or {len(known) - 3} others" if len(known) > 3 else ""
        share = f"{len(chosen)} of {self.n_features} classes of bit and size"
        bits = " or ".join(known[:3]) or "a rare one"
        return f"lowest set bit of {self._name} = {bits}{more} ({share})"


def _bit(level: int) -> str:
    return "none" if level == NO_BIT else f"2^{level}"


def _columns(reports: NDArray[Any]) -> list[NDArray[Any]]:
    """Return numbers, or the fields of records, in types that hold them without rounding."""
    names = reports.dtype.names
    return [_exact(reports[name]) for name in names] if names else [_exact(reports)]


def _shown(end: float) -> str:
    return str(end) if isinstance(end, int) else f"{end:.6g}"


def _exact(values: NDArray[Any]) -> NDArray[Any]:
    """Return numbers in a type that holds them without rounding."""
    if values.dtype.kind == "f":
        return values.astype(np.float64)
    return values.astype(np.uint64 if values.dtype == np.uint64 else np.int64)


def _edges(values: NDArray[Any]) -> NDArray[Any]:
    """Return where cells start: atoms have their own, the rest is cut by rank and by length."""
    numbers = _exact(values)
    distinct, counts = np.unique(numbers, return_counts=True)
    if len(distinct) <= _MOST_ATOMS:
        atoms, cuts = distinct, distinct[:0]
    else:
        order = np.argsort(counts, kind="stable")[::-1][:_MOST_ATOMS]
        atoms = distinct[order][counts[order] > 2]
        ranks = np.linspace(0, len(numbers) - 1, _CELLS + 1).astype(np.intp)
        cuts = np.concatenate([np.sort(numbers)[ranks], _steps(distinct[0], distinct[-1])])
    if numbers.dtype.kind == "f":
        return np.unique(np.concatenate([cuts, atoms, np.nextafter(atoms, np.inf)]))
    following = atoms[atoms < np.iinfo(numbers.dtype).max] + numbers.dtype.type(1)
    return np.unique(np.concatenate([cuts, atoms, following]))


def _steps(low: Any, high: Any) -> NDArray[Any]:
    """Return equal steps from one number to another, of their own type."""
    if low.dtype.kind == "f":
        return np.linspace(low, high, _CELLS + 1)
    first, length = int(low), int(high) - int(low)
    return np.array([first + length * k // _CELLS for k in range(_CELLS + 1)], low.dtype)


class _BitReader(Reader):
    """Rows of bits: feature 2 v + b stands for the value b of bit v."""

    def __init__(self, bits: int, *, packed: bool) -> None:
        self.n_features = 2 * bits
        self._packed = packed

    def _blocks(self, reports: NDArray[Any]) -> Iterator[NDArray[np.uint8]]:
        step = max(1, _BLOCK // self.n_features)
        for start in range(0, len(reports), step):
            block = reports[start : start + step].astype(np.uint8, copy=False)
            yield np.unpackbits(block, axis=1, bitorder="little") if self._packed else block

    def counts(self, reports: NDArray[Any]) -> NDArray[np.float64]:
        ones = sum(block.sum(axis=0, dtype=np.int64) for block in self._blocks(reports))
        return np.stack([len(reports) - ones, ones], axis=1).reshape(-1).astype(np.float64)

    def score(self, reports: NDArray[Any], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        gains = scores[1::2] - scores[0::2]
        used = np.flatnonzero(gains)
        parts = [block[:, used] @ gains[used] for block in self._blocks(reports)]
        result: NDArray[np.float64] = np.concatenate(parts) + scores[0::2].sum()
        return result

    def describe(self, scores: NDArray[np.float64], threshold: float) -> str:
        pairs = scores.reshape(-1, 2)
        slack = pairs.max(axis=1).sum() - threshold
        needed = np.flatnonzero(np.ptp(pairs, axis=1) > slack)
        shown = [f"bit {v} = {pairs[v].argmax()}" for v in needed[:4].tolist()]
        return " and ".join(shown) or "several bits together"

    def clean(self, scores: NDArray[np.float64], clear: NDArray[np.bool_]) -> NDArray[np.float64]:
        """Drop bits that tell nothing: the sum over many would drown in their noise."""
        return np.where(np.repeat(clear.reshape(-1, 2).any(axis=1), 2), scores, 0.0)


def _row_keys(reports: NDArray[Any], *, packed: bool) -> NDArray[Any]:
    """Return rows of bits as strings of bytes, which can be sorted."""
    rows = reports if packed else np.packbits(reports != 0, axis=1, bitorder="little")
    rows = np.ascontiguousarray(rows)
    return rows.view(f"S{rows.shape[1]}")[:, 0]


class _RowReader(_PartitionReader):
    """Rows of bits as one value each: a feature a row seen before, and one for all others."""

    def __init__(self, rows: NDArray[Any], *, packed: bool) -> None:
        self._rows = rows
        self._packed = packed
        self.n_features = len(rows) + 1

    def _cells(self, reports: NDArray[Any]) -> NDArray[np.intp]:
        keys = _row_keys(reports, packed=self._packed)
        place = np.minimum(np.searchsorted(self._rows, keys), len(self._rows) - 1)
        return np.where(self._rows[place] == keys, place, len(self._rows))

    def describe(self, scores: NDArray[np.float64], threshold: float) -> str:
        return f"{np.count_nonzero(scores >= threshold)} of {self.n_features} rows of bits"


@dataclass(frozen=True)
class Event:
    """The reports whose features score at least a threshold."""

    reader: Reader
    scores: NDArray[np.float64]
    threshold: float

    def count(self, reports: NDArray[Any]) -> int:
        """Return how many of the reports belong to the event."""
        scores = self.reader.score(reports, self.scores)
        return int(np.count_nonzero(scores >= self.threshold))

    def __str__(self) -> str:
        return self.reader.describe(self.scores, self.threshold)


def find_event(readers: list[Reader], likely: NDArray[Any], unlikely: NDArray[Any]) -> Event:
    r"""Return the event that is clearly more likely for one input than for another.

    Notes
    -----
    By the lemma of Neyman and Pearson the best events are those of a large likelihood ratio. A
    report is scored by the sum of the estimated log-ratios of its features (bits are taken as
    independent), and the threshold is the one at which the ratio, with a margin for the size of
    the pilot, is largest. Of several ways to read reports the first counts whose ratio is about as
    large as the largest: the others have more features, and say less about what they are.
    """
    found = [_select(reader, likely, unlikely) for reader in readers]
    enough = max(ratio for ratio, _ in found) / _CLOSE
    return next(event for ratio, event in found if ratio >= enough)


def _select(reader: Reader, likely: NDArray[Any], unlikely: NDArray[Any]) -> tuple[float, Event]:
    """Return the best ratio of one way to read reports, and its event."""
    half = len(likely) // 2  # one half scores, the other selects: no feature profits from luck
    scores = _log_ratios(reader, likely[:half], unlikely[:half])
    first, second = (reader.score(part[half:], scores) for part in (likely, unlikely))
    thresholds = np.unique(np.round(np.concatenate([first, second]), 9)) - 1e-8
    share = 1.0 - np.searchsorted(np.sort(first), thresholds) / len(first)
    other = 1.0 - np.searchsorted(np.sort(second), thresholds) / len(second)
    low = share - _MARGIN * np.sqrt(share / len(first))
    high = other + _MARGIN * np.sqrt(other / len(second)) + _MARGIN**2 / len(second)
    ratios = np.maximum(low, 0.0) / high
    best = int(np.argmax(ratios))
    return float(ratios[best]), Event(reader, scores, float(thresholds[best]))


def _log_ratios(
    reader: Reader, likely: NDArray[Any], unlikely: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the logarithm of how much more often each feature is seen."""
    first, second = reader.counts(likely) + 0.5, reader.counts(unlikely) + 0.5
    clear = np.abs(first - second) > _SIGNIFICANT * np.sqrt(first + second)
    return reader.clean(np.log(first / second), clear)
