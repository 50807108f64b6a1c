r"""Coverage of slack and guaranteed intervals on a grid of campaigns, to be continued at any time.

``python -m benchmarks.coverage`` draws campaigns for every cell of populations, tables, epsilons
and numbers of people until each has as many as wanted, in blocks, and keeps the counts in
``benchmarks/coverage.json`` after every block. ``--write`` puts the tables into
``docs/estimation.md``. ``--family calibration`` looks at the populations that the threshold of
`noutput.estimate.slack.threshold` was chosen on, ``--factor`` at other thresholds.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
from scipy.stats import binom

from benchmarks.covering import GROUPS, Cell, grid, simulate
from benchmarks.populations import CALIBRATION, HELD_BACK
from noutput.estimate.slack import intervals
from noutput.estimate.slack.threshold import FACTOR, thresholds

__all__ = ["covering", "main", "rows", "suspicious"]

State: TypeAlias = dict[str, dict[str, Any]]
RESULTS = Path(__file__).with_name("coverage.json")
PAGE = Path(__file__).parents[1] / "docs" / "estimation.md"
EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEOPLE = (2_000, 20_000, 200_000)
WANTED = 0.93
_BLOCK = 25
_MARKS = ("<!-- coverage -->\n", "<!-- end of coverage -->\n")


@contextmanager
def factor(value: float) -> Iterator[None]:
    """Let thresholds be another multiple of the quantile of chi-square."""
    with patch.object(intervals, "thresholds", lambda level: thresholds(level) * (value / FACTOR)):
        yield


def suspicious(state: State, wanted: float = WANTED) -> list[str]:
    """Return what covers less often than wanted, beyond what chance explains.

    The binomial probability of so few hits or fewer is below 5%, divided by the number of all
    statistics of all cells (Bonferroni).
    """
    checks = [
        (f"{key} {group} {index}", hits, cell["campaigns"])
        for key, cell in state.items()
        for group, found in cell["hits"].items()
        for index, hits in enumerate(found)
    ]
    limit = 0.05 / max(len(checks), 1)
    return [
        f"{name}: {hits:g} of {count}"
        for name, hits, count in checks
        if hits < wanted * count and binom.cdf(hits, count, wanted) < limit
    ]


def covering(state: State, group: str, start: str = "") -> list[float]:
    """Return the coverage of each statistic of a group, of all cells whose keys start so."""
    return [
        hits / cell["campaigns"]
        for key, cell in state.items()
        if key.startswith(start)
        for hits in cell["hits"][group]
    ]


def _add(cell: dict[str, Any], hits: dict[str, Any], widths: dict[str, float], size: int) -> None:
    before = cell["campaigns"]
    cell["campaigns"] = before + size
    for group in GROUPS:
        cell["hits"][group] = (np.array(cell["hits"].get(group, 0.0)) + hits[group]).tolist()
    for group, width in widths.items():
        mean = (cell["widths"].get(group, 0.0) * before + width * size) / (before + size)
        cell["widths"][group] = mean


def run(cells: Sequence[Cell], state: State, path: Path, campaigns: int, **options: Any) -> None:
    """Draw campaigns, a block per cell in turn, until every cell has as many as wanted."""
    start, done = time.monotonic(), 0
    for block in range(-(-campaigns // _BLOCK)):
        for cell in cells:
            kept = state.setdefault(cell.key, {"campaigns": 0, "hits": {}, "widths": {}})
            if kept["campaigns"] > block * _BLOCK:
                continue
            found = simulate(cell, _BLOCK, block=block, **options)
            _add(kept, found.hits, found.widths, _BLOCK)
            path.write_text(json.dumps(state, indent=0, sort_keys=True) + "\n", encoding="utf-8")
            done += 1
            if done % 10 == 0:
                print(f"{block * _BLOCK + _BLOCK} campaigns: {cell.key}, "
                      f"{time.monotonic() - start:.0f} s", flush=True)  # fmt: skip
        wrong = suspicious(state)
        print(f"after {block * _BLOCK + _BLOCK}: {len(wrong)} too low", *wrong[:20], sep="\n  ")


def rows(state: State) -> list[str]:
    """Return the table of the page: mean coverage, smallest and largest of a population."""
    lines = [
        "| population | mean | variance | CDF | quantiles | bins |",
        "|---|---|---|---|---|---|",
    ]
    for population in HELD_BACK:
        texts = []
        for group in GROUPS:
            found = 100.0 * np.array(covering(state, group, f"{population}/"), np.float64)
            texts.append(f"{found.mean():.1f} ({found.min():.1f})" if found.size else "")
        lines.append(f"| {population} | " + " | ".join(texts) + " |")
    return lines


def write(state: State) -> None:
    """Put the table into the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, rest = text.split(_MARKS[0])
    _, after = rest.split(_MARKS[1])
    table = "\n".join(rows(state)) + "\n"
    PAGE.write_text(before + _MARKS[0] + table + _MARKS[1] + after, encoding="utf-8")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the grid, or write its table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=400)
    parser.add_argument("--family", choices=("held-back", "calibration"), default="held-back")
    parser.add_argument("--populations", nargs="*")
    parser.add_argument("--epsilons", nargs="*", type=float, default=EPSILONS)
    parser.add_argument("--people", nargs="*", type=int, default=PEOPLE)
    parser.add_argument("--level", type=float, default=0.95)
    parser.add_argument("--bins", type=int, default=16)
    parser.add_argument("--guaranteed", action="store_true")
    parser.add_argument("--factor", type=float, default=FACTOR)
    parser.add_argument("--state", type=Path, default=RESULTS)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args(arguments)
    state: State = json.loads(chosen.state.read_text()) if chosen.state.exists() else {}
    if chosen.write:
        write(state)
        return
    family = HELD_BACK if chosen.family == "held-back" else CALIBRATION
    cells = grid(chosen.populations or list(family), chosen.epsilons, chosen.people)
    options = {"bins": chosen.bins, "level": chosen.level, "guaranteed": chosen.guaranteed}
    with factor(chosen.factor):
        run(cells, state, chosen.state, chosen.campaigns, **options)


if __name__ == "__main__":
    main()
