"""The four datasets of the paper's evaluation, from the folder that NOUTPUT_DATA names."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

from noutput.evaluation import datasets

Array: TypeAlias = NDArray[np.float64]


def load(dataset: str) -> Array:
    """Return the scaled numbers, a row a person; a test without the file is skipped."""
    folder = os.environ.get("NOUTPUT_DATA")
    if not folder:
        pytest.skip("NOUTPUT_DATA does not name a folder with the evaluation's datasets")
    path = Path(folder) / f"{dataset}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} does not exist")
    return datasets.load(dataset, folder).values
