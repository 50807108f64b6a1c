"""Errors of adaptive campaigns on the columns of Online News, as a figure.

``NOUTPUT_DATA=folder python -m benchmarks.wave_columns`` asks everybody of the dataset for every
column, min-max scaled as in the paper, at epsilon 1. It keeps the sums of the errors in
``benchmarks/wave_columns.json``, measures what is missing there, and draws
``docs/images/adaptive-columns.svg`` and ``.png``.
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib import rc_context
from matplotlib.figure import Figure

from benchmarks.wave_populations import GRID, Array
from benchmarks.waves import compare, ratios, save, single_variance
from noutput.evaluation.datasets import load

__all__ = ["draw", "main", "measure"]

DATASET = "online_news"
EPSILON = 1.0
RESULTS = Path(__file__).with_name("wave_columns.json")
FIGURE = Path(__file__).parents[1] / "docs" / "images" / "adaptive-columns"
_INSIDE = 0.98  # of the people, whose share of the range orders the columns


def measure(values: Array, campaigns: int, seed: int) -> dict[str, Any]:
    """Return sums of errors for numbers of [-1, 1], and the share of the range that they use."""
    unit = (values + 1.0) / 2.0
    places = np.minimum((unit * len(GRID)).astype(np.intp), len(GRID) - 1)
    population = np.bincount(places, minlength=len(GRID)) / len(places)
    rng = np.random.default_rng(seed)
    low, high = np.quantile(unit, [(1.0 - _INSIDE) / 2.0, (1.0 + _INSIDE) / 2.0]).tolist()
    found = compare(population, EPSILON, len(values), campaigns, rng)
    found["variance"] = single_variance(population, EPSILON, len(values))
    rounded = {name: float(f"{value:.6g}") for name, value in found.items()}
    return {"campaigns": campaigns, "occupied": round(high - low, 5), **rounded}


def draw(state: dict[str, dict[str, Any]]) -> None:
    """Draw both ratios of every column, in the order of the share of the range that it uses."""
    names = sorted(state, key=lambda name: state[name]["occupied"])
    found = np.array([ratios(state[name]) for name in names])
    occupied = [state[name]["occupied"] for name in names]
    figure = Figure(figsize=(7.2, 0.19 * len(names) + 1.4), layout="constrained")
    axes = figure.subplots()
    rows = np.arange(len(names))
    axes.hlines(rows, found.min(axis=1), found.max(axis=1), color="0.8", linewidth=1.0)
    axes.plot(found[:, 0], rows, "o", color="#1a6fb3", markersize=4.5, label="mean")
    axes.plot(found[:, 1], rows, "D", color="#d1661c", markersize=4.0, label="distribution")
    axes.axvline(1.0, color="0.3", linewidth=0.8)
    labels = [f"{name}  ({_percent(share)})" for name, share in zip(names, occupied, strict=True)]
    axes.set_yticks(rows, labels, fontsize=6.5)
    axes.set_ylim(-1.0, len(names))
    axes.set_xscale("log")
    ticks = [0.05, 0.1, 0.2, 0.5, 1.0, 2.0]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.minorticks_off()
    axes.set_xlabel("error with two waves, as a multiple of a single wave")
    axes.grid(axis="x", alpha=0.3)
    axes.legend(loc="upper left", fontsize=8)
    with rc_context({"svg.fonttype": "none", "svg.hashsalt": "noutput"}):
        figure.savefig(FIGURE.with_suffix(".svg"), metadata={"Date": None})
        figure.savefig(FIGURE.with_suffix(".png"), dpi=130)


def _percent(share: float) -> str:
    return f"{100.0 * share:.0f}%" if share >= 0.01 else "< 1%"


def main() -> None:
    """Measure what is missing, and draw."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=4)
    parser.add_argument("--every", type=int, default=1, help="Measure every second, third, ...")
    parser.add_argument("--state", type=Path, default=RESULTS)
    parser.add_argument("--draw", action="store_true", help="Only draw what was measured.")
    chosen = parser.parse_args()
    state = json.loads(chosen.state.read_text()) if chosen.state.exists() else {}
    if not chosen.draw:
        data, start = load(DATASET), time.monotonic()
        for name, values in list(zip(data.columns, data.values.T, strict=True))[:: chosen.every]:
            if name not in state and np.ptp(values) > 0.0:
                state[name] = measure(values, chosen.campaigns, zlib.crc32(name.encode()))
                save(state, chosen.state)
                print(
                    f"{name}: {ratios(state[name])}, {time.monotonic() - start:.0f} s", flush=True
                )
    draw(state)


if __name__ == "__main__":
    main()
