"""The four datasets of the paper's evaluation, from the folder that NOUTPUT_DATA names."""

from __future__ import annotations

import gzip
import os
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

Array: TypeAlias = NDArray[np.float64]

DATASETS = ("adult", "credit", "online_news", "beijing_housing")
LEFT_OUT = {"ladderRatio", "DOM"}  # mostly missing, or with two absurd values


def folder() -> Path:
    name = os.environ.get("NOUTPUT_DATA")
    if not name:
        pytest.skip("NOUTPUT_DATA does not name a folder with the evaluation's datasets")
    return Path(name)


def load(dataset: str) -> Array:
    """Return the complete rows, every column scaled to [-1, 1] by its own range."""
    path = folder() / f"{dataset}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} does not exist")
    with gzip.open(path, "rt", encoding="utf-8") as file:
        names = file.readline().rstrip("\n").split(",")
        keep = [place for place, name in enumerate(names) if name.strip('"') not in LEFT_OUT]
        rows = [line.rstrip("\n").split(",") for line in file]
    complete = [cells for row in rows if all(cells := [row[place] for place in keep])]
    values = np.array(complete, np.float64)
    low, high = values.min(axis=0), values.max(axis=0)
    varied = high > low
    scaled = 2.0 * (values[:, varied] - low[varied]) / (high[varied] - low[varied]) - 1.0
    return np.asarray(np.clip(scaled, -1.0, 1.0))
