"""Sets of reports that tell two inputs apart: what an audit counts.

Reports of any library are read as features. A number falls into one cell of a partition that
isolates every value seen more than twice; the fields of a record make one cell together; a row
of bits has one feature for each value of each bit.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Event", "Reader", "find_event", "reader_of"]

_CELLS = 64
_MOST_ATOMS = 512
_BLOCK = 1 << 22  # bits read at once
_SIGNIFICANT = 4.0  # standard errors
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


def reader_of(reports: NDArray[Any]) -> Reader:
    """Return how to read reports like these.

    Parameters
    ----------
    reports : array
        Numbers, records of numbers, or rows of bits: one byte or number a bit, or packed.
    """
    names = reports.dtype.names
    if reports.ndim == 1 and (names or reports.dtype.kind in "biuf"):
        return _CellReader(reports)
    if reports.ndim == 2 and reports.dtype.kind in "biu" and not names:
        plain = reports.min() >= 0 and reports.max() <= 1
        if plain or reports.dtype == np.uint8:
            return _BitReader(reports.shape[1] * (1 if plain else 8), packed=not plain)
    rule = "make numbers, records of numbers or rows of bits"
    raise InvalidArgumentError("sampler", rule, (str(reports.dtype), reports.shape))


class _CellReader(Reader):
    """Numbers and records: one feature a report, its cell."""

    def __init__(self, reports: NDArray[Any]) -> None:
        self._names = reports.dtype.names
        self._edges = [_edges(column) for column in self._columns(reports)]
        self.n_features = int(np.prod([len(edges) + 1 for edges in self._edges]))

    def _columns(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        return [reports[name] for name in self._names] if self._names else [reports]

    def _cells(self, reports: NDArray[Any]) -> NDArray[np.intp]:
        cells = np.zeros(len(reports), np.intp)
        for edges, column in zip(self._edges, self._columns(reports), strict=True):
            cells *= len(edges) + 1
            cells += np.searchsorted(edges, column.astype(np.float64), side="right")
        return cells

    def counts(self, reports: NDArray[Any]) -> NDArray[np.float64]:
        return np.bincount(self._cells(reports), minlength=self.n_features).astype(np.float64)

    def score(self, reports: NDArray[Any], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        return scores[self._cells(reports)]

    def describe(self, scores: NDArray[np.float64], threshold: float) -> str:
        cells = np.flatnonzero(scores >= threshold)
        if self._names:
            return f"{len(cells)} of {self.n_features} cells of {', '.join(self._names)}"
        runs = np.split(cells, np.flatnonzero(np.diff(cells) > 1) + 1)
        parts = [self._range(run[0], run[-1]) for run in runs[:3] if len(run)]
        more = f" or {len(runs) - 3} other ranges" if len(runs) > 3 else ""
        return "report " + " or ".join(parts) + more

    def _range(self, first: int, last: int) -> str:
        ends = np.concatenate([[-np.inf], self._edges[0], [np.inf]])
        low, high = ends[first], ends[last + 1]
        if np.nextafter(low, np.inf) == high:
            return f"= {low:.6g}"
        return f"in [{low:.6g}, {high:.6g})"


def _edges(values: NDArray[Any]) -> NDArray[np.float64]:
    """Return where cells start: atoms have their own, the rest is cut by rank and by length."""
    numbers = values.astype(np.float64)
    distinct, counts = np.unique(numbers, return_counts=True)
    if len(distinct) <= _MOST_ATOMS:
        atoms, cuts = distinct, distinct[:0]
    else:
        order = np.argsort(counts, kind="stable")[::-1][:_MOST_ATOMS]
        atoms = distinct[order][counts[order] > 2]
        ranks = np.linspace(0.0, 1.0, _CELLS + 1)
        steps = np.linspace(distinct[0], distinct[-1], _CELLS + 1)
        cuts = np.concatenate([np.quantile(numbers, ranks), steps])
    return np.unique(np.concatenate([cuts, atoms, np.nextafter(atoms, np.inf)]))


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


def find_event(reader: Reader, likely: NDArray[Any], unlikely: NDArray[Any]) -> Event:
    r"""Return the event that is clearly more likely for one input than for another.

    Notes
    -----
    By the lemma of Neyman and Pearson the best events are those of a large likelihood ratio. A
    report is scored by the sum of the estimated log-ratios of its features (bits are taken as
    independent), and the threshold is the one at which the ratio, with a margin for the size of
    the pilot, is largest.
    """
    half = len(likely) // 2  # one half scores, the other selects: no feature profits from luck
    scores = _log_ratios(reader, likely[:half], unlikely[:half])
    first, second = (reader.score(part[half:], scores) for part in (likely, unlikely))
    thresholds = np.unique(np.round(np.concatenate([first, second]), 9)) - 1e-8
    share = 1.0 - np.searchsorted(np.sort(first), thresholds) / len(first)
    other = 1.0 - np.searchsorted(np.sort(second), thresholds) / len(second)
    low = share - _MARGIN * np.sqrt(share / len(first))
    high = other + _MARGIN * np.sqrt(other / len(second)) + _MARGIN**2 / len(second)
    best = int(np.argmax(np.maximum(low, 0.0) / high))
    return Event(reader, scores, float(thresholds[best]))


def _log_ratios(
    reader: Reader, likely: NDArray[Any], unlikely: NDArray[Any]
) -> NDArray[np.float64]:
    """Return the logarithm of how much more often each feature is seen."""
    first, second = reader.counts(likely) + 0.5, reader.counts(unlikely) + 0.5
    clear = np.abs(first - second) > _SIGNIFICANT * np.sqrt(first + second)
    return reader.clean(np.log(first / second), clear)
