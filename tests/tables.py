"""Random tables for property tests: any shape that a designer could come up with."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from noutput.mechanisms.certified import Table
from noutput.mechanisms.quantize import quantize, quantize_answers
from noutput.mechanisms.table import TableMechanism


def window_table(epsilon: float, n_outputs: int, n_knots: int, share: float) -> TableMechanism:
    """Return a table whose outputs near x are e^epsilon times as likely as the others."""
    c = math.exp(epsilon)
    width = max(1.0, share * (n_outputs - 1))
    starts = np.linspace(0.0, n_outputs - width, n_knots)[:, None]
    left = np.arange(n_outputs)
    inside = np.clip(np.minimum(left + 1, starts + width) - np.maximum(left, starts), 0.0, 1.0)
    rows = 1.0 + (c - 1.0) * inside
    rows /= rows.sum(axis=1, keepdims=True)
    outputs = np.linspace(-1.0, 1.0, n_outputs)
    return quantize(epsilon, outputs / (rows[-1] @ outputs), rows)


def jump_table(epsilon: float, *axes: int | tuple[float, ...], n_outputs: int = 0) -> Table:
    """Return a table whose rows differ all, on both sides of jumps too, and tell the mean."""
    count = math.prod(axis if isinstance(axis, int) else len(axis) for axis in axes)
    size = max(n_outputs, count)
    # windows whose length has no divisor in common with the size are linearly independent
    window = next(n for n in range(max(1, size // 3), size) if math.gcd(n, size) == 1)
    shift = (np.arange(size) - np.arange(count)[:, None] * (size // count)) % size
    rows = np.where(shift < window, math.exp(epsilon), 1.0)
    rows /= rows.sum(axis=1, keepdims=True)
    return Table(epsilon, axes, quantize_answers(epsilon, rows).plain.weights)


epsilons = st.floats(0.05, 10.0)


@st.composite
def tables(draw: st.DrawFn, max_outputs: int = 16) -> TableMechanism:
    return window_table(
        draw(epsilons),
        draw(st.integers(2, max_outputs)),
        draw(st.integers(2, 33)),
        draw(st.floats(0.1, 0.7)),
    )
