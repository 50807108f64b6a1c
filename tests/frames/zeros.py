"""What processes draw that were started afresh, and that load no more than it needs."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from noutput import TableMechanism, frames

SIZE = 400


def reports_of_zeros(text: str) -> list[int]:
    mechanism = TableMechanism.from_json(text)
    drawn = frames.privatize(
        pa.table({"x": np.zeros(SIZE)}), "x", mechanism=mechanism, bounds=(-1, 1)
    )
    column: list[int] = drawn.column(0).to_pylist()
    return column
