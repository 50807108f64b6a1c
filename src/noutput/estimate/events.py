"""Sets of reports that tell two inputs apart: what an audit counts.

Reports of any library are read as rows of features. A number falls into one cell of a partition
that isolates every value seen more than once; the fields of a record make one cell together;
packed bits are many small columns.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

__all__ = ["Event", "Reader", "find_event"]

_CELLS = 64
_BLOCK = 1 << 22  # features read at once
_MOST_ATOMS = 512
_SIGNIFICANT = 4.0  # standard errors
_MARGIN = 3.0  # standard errors by which an event must stand out in the pilot


@dataclass(frozen=True)
class _Cells:
    """A partition of the real line by edges, each of which starts a cell."""

    edges: NDArray[np.float64]

    @classmethod
    def fit(cls, values: NDArray[Any]) -> _Cells:
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
        return cls(np.unique(np.concatenate([cuts, atoms, np.nextafter(atoms, np.inf)])))

    @property
    def count(self) -> int:
        return len(self.edges) + 1

    def read(self, values: NDArray[Any]) -> NDArray[np.intp]:
        return np.searchsorted(self.edges, values.astype(np.float64), side="right")

    def label(self, cells: range) -> str:
        """Describe neighbouring cells."""
        low = self.edges[cells[0] - 1] if cells[0] else -np.inf
        high = self.edges[cells[-1]] if cells[-1] < len(self.edges) else np.inf
        if np.nextafter(low, np.inf) == high:
            return f"= {low:.6g}"
        return f"in [{low:.6g}, {high:.6g})"


class Reader:
    """How reports are turned into features, fixed by a first batch of them.

    Parameters
    ----------
    reports : array
        One-dimensional numbers or records, or rows of bytes (packed bits) or of numbers.
    """

    def __init__(self, reports: NDArray[Any]) -> None:
        self._names = reports.dtype.names
        self._bits = reports.ndim == 2 and reports.dtype in (np.uint8, np.bool_)
        if reports.ndim not in (1, 2) or (reports.dtype.kind not in "biuf" and not self._names):
            rule = "make numbers, records of numbers or rows of bits"
            raise InvalidArgumentError("sampler", rule, (reports.dtype, reports.shape))
        if self._bits:
            width = reports.shape[1] * 8
            self._cells = [_Cells(np.array([1.0]))] * width
        else:
            self._cells = [_Cells.fit(column) for column in self._columns(reports)]
        sizes = [cells.count for cells in self._cells]
        if self._names:
            self.n_columns, self.n_features = 1, int(np.prod(sizes))
        else:
            self.n_columns, self.n_features = len(sizes), sum(sizes)

    def _columns(self, reports: NDArray[Any]) -> list[NDArray[Any]]:
        if self._names:
            return [reports[name] for name in self._names]
        return list(reports.T) if reports.ndim == 2 else [reports]

    def read(self, reports: NDArray[Any]) -> NDArray[np.intp]:
        """Return the features of every report, of shape (reports, columns)."""
        if self._bits:
            bits = np.unpackbits(reports.astype(np.uint8, copy=False), axis=1, bitorder="little")
            return bits + 2 * np.arange(bits.shape[1])
        codes = [c.read(v) for c, v in zip(self._cells, self._columns(reports), strict=True)]
        if self._names:
            joint = codes[0]
            for cells, code in zip(self._cells[1:], codes[1:], strict=True):
                joint = joint * cells.count + code
            return joint[:, None]
        starts = np.cumsum([0, *(cells.count for cells in self._cells[:-1])])
        rows: NDArray[np.intp] = np.stack(codes, axis=1) + starts
        return rows

    def _blocks(self, reports: NDArray[Any]) -> Iterator[NDArray[np.intp]]:
        step = max(1, _BLOCK // self.n_columns)
        for start in range(0, len(reports), step):
            yield self.read(reports[start : start + step])

    def frequencies(self, reports: NDArray[Any]) -> NDArray[np.float64]:
        """Return which share of the reports has each feature, smoothed by half a report."""
        counts = np.full(self.n_features, 0.5)
        for block in self._blocks(reports):
            counts += np.bincount(block.reshape(-1), minlength=self.n_features)
        counts /= len(reports) + 1.0
        return counts

    def score(self, reports: NDArray[Any], scores: NDArray[np.float64]) -> NDArray[np.float64]:
        """Return the sum of the scores of each report's features."""
        return np.concatenate([scores[block].sum(axis=1) for block in self._blocks(reports)])

    def describe(self, features: NDArray[np.intp]) -> str:
        """Name a set of features."""
        if self._bits:
            return " and ".join(f"bit {f // 2} = {f % 2}" for f in features[:4].tolist())
        if self._names or self.n_columns > 1:
            return f"{len(features)} of {self.n_features} cells"
        runs = np.split(features, np.flatnonzero(np.diff(features) > 1) + 1)
        parts = [self._cells[0].label(range(run[0], run[-1] + 1)) for run in runs[:3] if len(run)]
        more = f" or {len(runs) - 3} other ranges" if len(runs) > 3 else ""
        return "report " + " or ".join(parts) + more


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
        if self.reader.n_columns == 1:
            return self.reader.describe(np.flatnonzero(self.scores >= self.threshold))
        return self.reader.describe(np.flatnonzero(self.scores > 0.0))


def find_event(reader: Reader, likely: NDArray[Any], unlikely: NDArray[Any]) -> Event:
    r"""Return the event that is clearly more likely for one input than for another.

    Notes
    -----
    By the lemma of Neyman and Pearson the best events are those of a large likelihood ratio. A
    report is scored by the sum of the estimated log-ratios of its features (exact for a single
    column, a naive product model for many), and the threshold is the one at which the ratio,
    with a margin for the size of the pilot, is largest.
    """
    half = len(likely) // 2  # one half scores, the other selects: no feature profits from luck
    scores = _scores(reader, likely[:half], unlikely[:half])
    first, second = (reader.score(part[half:], scores) for part in (likely, unlikely))
    thresholds = np.unique(np.round(np.concatenate([first, second]), 12))
    share = 1.0 - np.searchsorted(np.sort(first), thresholds - 1e-9) / len(first)
    other = 1.0 - np.searchsorted(np.sort(second), thresholds - 1e-9) / len(second)
    low = share - _MARGIN * np.sqrt(share / len(first))
    high = other + _MARGIN * np.sqrt(other / len(second)) + _MARGIN**2 / len(second)
    best = int(np.argmax(np.maximum(low, 0.0) / high))
    return Event(reader, scores, float(thresholds[best]) - 1e-9)


def _scores(reader: Reader, likely: NDArray[Any], unlikely: NDArray[Any]) -> NDArray[np.float64]:
    first, second = reader.frequencies(likely), reader.frequencies(unlikely)
    scores: NDArray[np.float64] = np.log(first / second)
    if reader.n_columns == 1:
        return scores
    # the sum over many columns would drown in the noise of those that tell nothing
    error = np.sqrt(1.0 / (first * len(likely)) + 1.0 / (second * len(unlikely)))
    clear = np.abs(scores) > _SIGNIFICANT * error
    return np.where(clear, scores, 0.0)
