r"""A table for the mean, with its outputs split: the start of the training.

Notes
-----
Column j of a table goes from :math:`m_j` up to :math:`M_j`. Let :math:`w_j(x)` be where
:math:`P(j \mid x)` lies between them, from 0 to 1. Output j is replaced by n outputs that stand for
the same number, where the i-th of them has the probability

.. math:: \tfrac1n (m_j + (M_j - m_j)\, \min(1, \max(0, n\, w_j(x) - i))), \quad
          i = 0, \dots, n - 1.

They add up to :math:`P(j \mid x)`, and each lies between :math:`m_j / n` and :math:`M_j / n`. So
sum, mean, variance and privacy loss stay the same, but a report tells on which side of a level of
:math:`w_j` the number is: with many outputs every column becomes extreme, which is to say, takes
no values but its least and its largest.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.distribution.training_shapes import BINS

if TYPE_CHECKING:
    from noutput.designs.solution import Array
    from noutput.mechanisms.table import TableMechanism

__all__ = ["SplitTable", "sizes", "split"]

_POINTS = 16  # of a bin


@dataclass(frozen=True)
class SplitTable:
    """Rows of the bins, the least entries of the columns, and what the outputs stand for.

    Mirrored outputs are in mirrored order.
    """

    probabilities: Array
    least: Array
    outputs: Array


def sizes(n_outputs: int, columns: int) -> list[int]:
    """Return into how many each column is split: alike, the same for mirrored ones.

    An odd number needs an odd number of columns; that in the middle stays whole.
    """
    half = columns // 2
    least, more = divmod(n_outputs // 2, half)
    side = [least + (index < more) for index in range(half)]
    return [*side, *[1] * (columns % 2), *side[::-1]]


def split(table: TableMechanism, n_outputs: int) -> SplitTable:
    """Split the outputs of a symmetric table, in 64 bins."""
    points = (np.arange(BINS * _POINTS) + 0.5) * (2.0 / (BINS * _POINTS)) - 1.0
    fine = np.asarray(table.probabilities(points))
    weights = np.asarray(table.weights) / table.scale
    least, most = weights.min(axis=0), weights.max(axis=0)
    flat = most == least  # such an output tells nothing, and its pieces neither
    levels = (fine - least) / np.where(flat, 1.0, most - least)
    columns, lowest, outputs = [], [], []
    for column, pieces in enumerate(sizes(n_outputs, table.n_outputs)):
        order = range(pieces) if column < table.n_outputs / 2 else reversed(range(pieces))
        for piece in order:
            inside = np.clip(levels[:, column] * pieces - piece, 0.0, 1.0)
            share = inside.reshape(BINS, _POINTS).mean(axis=1)
            columns.append((least[column] + (most - least)[column] * share) / pieces)
            lowest.append(least[column] / pieces)
            outputs.append(float(table.outputs[column]))
    return SplitTable(np.array(columns).T, np.array(lowest), np.array(outputs))
