r"""Coverage of slack and guaranteed intervals on a grid of campaigns, to be continued at any time.

``python -m benchmarks.coverage`` draws campaigns for every cell of populations, tables, epsilons
and numbers of people until each has as many as wanted, in blocks, and keeps the counts in
a file after every block: ``benchmarks/coverage.json`` for slack intervals,
``coverage_guaranteed.json`` with ``--guaranteed``, ``coverage_bins.json`` with ``--bins 64``. A
file says what kind of intervals it counts, and campaigns of another kind are refused. ``--write``
puts the tables of all three into ``docs/estimation.md``. ``--family calibration`` looks at the
populations that the threshold of `noutput.estimate.slack.threshold` was chosen on, ``--factor`` at
other thresholds; both take a ``--state`` of their own.
"""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any, TypeAlias
from unittest.mock import patch

import numpy as np
from scipy.stats import binom

from benchmarks.covering import GROUPS, SIZES, Cell, grid, simulate
from benchmarks.populations import CALIBRATION, HELD_BACK
from noutput.errors import NoutputError
from noutput.estimate.slack import intervals
from noutput.estimate.slack.threshold import FACTOR, thresholds

__all__ = ["FILES", "USUAL", "covering", "factor", "load", "main", "rows", "save", "suspicious"]

State: TypeAlias = dict[str, dict[str, Any]]
Options: TypeAlias = dict[str, Any]
PAGE = Path(__file__).parents[1] / "docs" / "estimation.md"
EPSILONS = (0.5, 1.0, 2.0, 4.0)
PEOPLE = (2_000, 20_000, 200_000)
WANTED = 0.93
_BLOCK = 25
USUAL: Options = {"guaranteed": False, "bins": 16, "level": 0.95, "factor": FACTOR}
_HERE = Path(__file__).parent
FILES = (  # what is kept where, under which name of the page
    (_HERE / "coverage.json", "coverage", USUAL),
    (
        _HERE / "coverage_guaranteed.json",
        "guaranteed coverage",
        {**USUAL, "guaranteed": True},
    ),
    (_HERE / "coverage_bins.json", "coverage of many bins", {**USUAL, "bins": 64}),
)


@contextmanager
def factor(value: float) -> Iterator[None]:
    """Let thresholds be another multiple of the quantile of chi-square."""
    with patch.object(intervals, "thresholds", lambda level: thresholds(level) * (value / FACTOR)):
        yield


def suspicious(state: State, wanted: float = WANTED) -> list[str]:
    """Return what covers less often than wanted, beyond what chance explains.

    Looks at every statistic of every cell, and of all cells that share a population and any of
    table, epsilon and number of people: few campaigns in a cell say little, those of many cells
    together notice a small loss. The binomial probability of so few hits or fewer is below 5%,
    divided by the number of all these checks (Bonferroni).
    """
    checks = [
        (f"{pool} {group} {index}", int(hits), count)
        for pool, cells in _pools(state).items()
        for group in GROUPS
        for count in [sum(cell["campaigns"] for cell in cells)]
        for index, hits in enumerate(np.sum([cell["hits"][group] for cell in cells], axis=0))
    ]
    limit = 0.05 / max(len(checks), 1)
    return [
        f"{name}: {hits} of {count}"
        for name, hits, count in checks
        if hits < wanted * count and binom.cdf(hits, count, wanted) < limit
    ]


def _pools(state: State) -> dict[str, list[dict[str, Any]]]:
    """Return cells by themselves, and those of a population that agree in some of three things."""
    pools: dict[str, list[dict[str, Any]]] = {}
    for key, cell in state.items():
        population, *rest = key.split("/")
        for kept in product((True, False), repeat=len(rest)):
            parts = [part if keep else "*" for part, keep in zip(rest, kept, strict=True)]
            pools.setdefault("/".join([population, *parts]), []).append(cell)
    return pools


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
        total = np.array(cell["hits"].get(group, 0)) + hits[group]
        cell["hits"][group] = total.astype(int).tolist()
    for group, width in widths.items():
        mean = (cell["widths"].get(group, 0.0) * before + width * size) / (before + size)
        cell["widths"][group] = round(mean, 5)


def load(path: Path, options: Options) -> State:
    """Read the counts of a file, or none if there is no file.

    Raises
    ------
    NoutputError
        If the file counts intervals of another kind.
    """
    if not path.exists():
        return {}
    kept = json.loads(path.read_text(encoding="utf-8"))
    if kept["options"] != options:
        raise NoutputError(f"{path.name} counts {kept['options']}, not {options}: name a --state")
    state: State = kept["cells"]
    return state


def save(state: State, path: Path, options: Options | None = None) -> None:
    """Write the counts, a line per cell, in place of the former ones; with what they count."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(state[key])}" for key in sorted(state))
    text = f"{{\n{lines}\n}}"
    if options is not None:
        text = f'{{"options": {json.dumps(options)},\n"cells": {text}}}'
    beside = path.with_suffix(".part")
    beside.write_text(f"{text}\n", encoding="utf-8")
    beside.replace(path)


def run(cells: Sequence[Cell], path: Path, campaigns: int, options: Options) -> None:
    """Draw campaigns, a block per cell in turn, until every cell has as many as wanted."""
    state = load(path, options)
    simulated = {name: value for name, value in options.items() if name != "factor"}
    start, done = time.monotonic(), 0
    for block in range(-(-campaigns // _BLOCK)):
        for cell in cells:
            kept = state.setdefault(cell.key, {"campaigns": 0, "hits": {}, "widths": {}})
            if kept["campaigns"] > block * _BLOCK:
                continue
            found = simulate(cell, _BLOCK, block=block, **simulated)
            _add(kept, found.hits, found.widths, _BLOCK)
            save(state, path, options)
            done += 1
            if done % 10 == 0:
                print(f"{block * _BLOCK + _BLOCK} campaigns: {cell.key}, "
                      f"{time.monotonic() - start:.0f} s", flush=True)  # fmt: skip
        wrong = suspicious(state)
        print(f"after {block * _BLOCK + _BLOCK}: {len(wrong)} too low", *wrong[:20], sep="\n  ")


def _pooled(state: State, group: str, start: str) -> list[float]:
    """Return the coverage of each statistic with each kind of table, all epsilons and sizes."""
    parts = [
        [cell for key, cell in state.items() if key.startswith(f"{start}{objective}/")]
        for objective in SIZES
    ]
    return [
        hits / sum(cell["campaigns"] for cell in cells)
        for cells in parts
        if cells
        for hits in np.sum([cell["hits"][group] for cell in cells], axis=0)
    ]


def rows(state: State) -> list[str]:
    """Return the table of the page, and a sentence about its size."""
    lines = [
        "| population | mean | variance | CDF | quantiles | bins |",
        "|---|---|---|---|---|---|",
    ]
    for population in HELD_BACK:
        texts = []
        for group in GROUPS:
            start = f"{population}/"
            found = 100.0 * np.array(covering(state, group, start), np.float64)
            least = 100.0 * min(_pooled(state, group, start))
            texts.append(f"{found.mean():.1f} ({least:.1f})")
        lines.append(f"| {population} | " + " | ".join(texts) + " |")
    sizes = [cell["campaigns"] for cell in state.values()]
    checks = np.concatenate([covering(state, group) for group in GROUPS])
    wanted = len(grid(list(HELD_BACK), EPSILONS, PEOPLE))
    each = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    told = (
        f"{len(state)} of {wanted} cells, {each} campaigns each, {sum(sizes):,} in all. Of "
        f"{len(checks):,} checks of a statistic in a cell, {(checks < 0.93).sum()} are below 93% "
        f"and {(checks < 0.9).sum()} below 90%; the lowest is {100.0 * checks.min():.1f}%."
    )
    return [*lines, "", told]


def write() -> None:
    """Put the tables into the page."""
    text = PAGE.read_text(encoding="utf-8")
    for path, name, options in FILES:
        mark, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        before, rest = text.split(mark)
        _, after = rest.split(end)
        text = before + mark + "\n".join(rows(load(path, options))) + "\n" + end + after
    PAGE.write_text(text, encoding="utf-8")


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
    parser.add_argument("--state", type=Path)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args(arguments)
    if chosen.write:
        write()
        return
    family = HELD_BACK if chosen.family == "held-back" else CALIBRATION
    cells = grid(chosen.populations or list(family), chosen.epsilons, chosen.people)
    options = {name: getattr(chosen, name) for name in USUAL}
    usual = {} if family is CALIBRATION else {str(kept): path for path, _, kept in FILES}
    path = chosen.state or usual.get(str(options))
    if path is None:
        parser.error("--state must be given: these campaigns belong into a file of their own")
    with factor(chosen.factor):
        run(cells, path, chosen.campaigns, options)


if __name__ == "__main__":
    main()
