"""Random tables for property tests: any shape that a designer could come up with."""

from __future__ import annotations

import math

import numpy as np
from hypothesis import strategies as st

from noutput.mechanisms.quantize import quantize
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


epsilons = st.floats(0.05, 10.0)


@st.composite
def tables(draw: st.DrawFn, max_outputs: int = 16) -> TableMechanism:
    return window_table(
        draw(epsilons),
        draw(st.integers(2, max_outputs)),
        draw(st.integers(2, 33)),
        draw(st.floats(0.1, 0.7)),
    )
