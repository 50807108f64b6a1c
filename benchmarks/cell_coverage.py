r"""Coverage and widths of the intervals of numbers with cells, to be continued at any time.

``python -m benchmarks.cell_coverage --campaigns 1000`` draws campaigns for every case of
`benchmarks.cell_populations`, in blocks, and keeps the counts in ``cell_coverage.json`` after every
round of blocks. ``--show`` prints them per statistic, ``--time`` how long a summary takes.
"""

from __future__ import annotations

import argparse
import json
import time
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from benchmarks.cell_populations import LAYOUTS, REPORTS, Case, cases
from benchmarks.populations import Population
from noutput.designs.cells import design_cells
from noutput.estimate.answers.linear import Linear
from noutput.estimate.summary import summarize
from noutput.estimate.summary.cells import CellSummary
from noutput.mechanisms.table import TableMechanism
from noutput.questions import Number
from noutput.tally import Tally

__all__ = ["main", "shares_of_rows", "simulate"]

Array: TypeAlias = NDArray[np.float64]
State: TypeAlias = dict[str, dict[str, Any]]
FILE = Path(__file__).parent / "cell_coverage.json"
BLOCK = 100
QUARTILES = (0.25, 0.5, 0.75)
_CLOSE = 1e-9
_NEAR = 2.2  # best standard deviations: closer to a bound, intervals may cover more often
_ENOUGH = 5_000  # reports from which the goal is closer
_GOALS = {True: (94.5, 96.0), False: (94.0, 100.0)}


@lru_cache
def _table(layout: str, epsilon: float) -> TableMechanism:
    found = design_cells(epsilon, LAYOUTS[layout])
    return TableMechanism(epsilon, None, found.mechanism.weights, found.knots.numbers)


def shares_of_rows(knots: Array, people: Population) -> Array:
    """The shares of people that act as each row of a table."""
    cell = np.clip(np.searchsorted(knots, people.x, side="right") - 1, 0, len(knots) - 2)
    upper = (people.x - knots[cell]) / (knots[cell + 1] - knots[cell])
    shares = np.zeros(len(knots))
    np.add.at(shares, cell, people.shares * (1.0 - upper))
    np.add.at(shares, cell + 1, people.shares * upper)
    return shares


def _names(edges: tuple[float, ...]) -> list[str]:
    below = [f"below edge {index}" for index in range(1, len(edges) - 1)]
    return ["mean", *below, *(f"cell {index}" for index in range(1, len(edges)))]


def simulate(case: Case, block: int, campaigns: int = BLOCK) -> dict[str, Any]:
    """Campaigns of one case: what is covered and how wide it is, per statistic."""
    mechanism, edges, people = (
        _table(case.layout, case.epsilon),
        LAYOUTS[case.layout],
        case.population,
    )
    table, knots = mechanism.table(), mechanism.knots
    question, weights = Number(-1.0, 1.0), _weights(case.layout, knots)
    below = np.array([people.below(edge) for edge in edges[1:-1]])
    truth = np.array([people.mean, *below, *np.diff(np.concatenate([[0.0], below, [1.0]]))])
    quantiles = np.array([people.quantile(share) for share in QUARTILES])
    chances = shares_of_rows(knots, people) @ table
    drawn = case.generator(block).multinomial(case.reports, chances / chances.sum(), campaigns)
    size = len(truth)
    found = {name: np.zeros(size) for name in ("hits", "width", "likely", "unbiased")}
    others = np.zeros(1 + len(QUARTILES))
    for counts in drawn:
        tally = Tally(mechanism.fingerprint, tuple(counts.tolist()))
        summary = CellSummary(question, mechanism, tally, 0.95)
        figures = (summary.mean, *summary.cdf, *summary.shares)
        value, low, high = np.array([(each.value, each.low, each.high) for each in figures]).T
        linear = Linear(summary.observed, weights)
        found["hits"] += (low <= truth + _CLOSE) & (truth <= high + _CLOSE)
        found["width"] += high - low
        found["likely"] += (value - truth) ** 2
        found["unbiased"] += (linear.values - truth) ** 2
        spread, sure = summary.spread, np.sqrt(people.variance)
        if spread is not None:
            others[0] += spread.low <= sure + _CLOSE and sure <= spread.high + _CLOSE
        for index, share in enumerate(QUARTILES):
            each = summary.quantile(share)
            others[1 + index] += each.low <= quantiles[index] <= each.high
    return {"campaigns": campaigns, "others": others, **found}


def _weights(layout: str, knots: Array) -> Array:
    """The vectors of all statistics over the rows of a table."""
    edges = LAYOUTS[layout]
    index = np.searchsorted(edges, knots, side="right") - 1
    index -= np.append(knots[1:] == knots[:-1], [True])  # the left side of a jump, and the bound
    cells = np.eye(len(edges) - 1)[index]
    return np.column_stack([knots, np.cumsum(cells, axis=1)[:, :-1], cells])


def _best(case: Case) -> tuple[Array, NDArray[np.bool_]]:
    """The standard deviations of the best unbiased estimates; what is near a bound."""
    mechanism = _table(case.layout, case.epsilon)
    table, knots = mechanism.table(), mechanism.knots
    weights = _weights(case.layout, knots)
    shares = shares_of_rows(knots, case.population)
    information = (table / (shares @ table)) @ table.T
    truth = shares @ weights
    squares = np.einsum("ij,ij->j", weights, np.linalg.solve(information, weights)) - truth**2
    best = np.sqrt(np.maximum(squares, 0.0) / case.reports)
    away = np.minimum(truth - weights.min(axis=0), weights.max(axis=0) - truth)
    return best, away < _NEAR * best


def run(path: Path, campaigns: int) -> None:
    """Draw campaigns, a block per case in turn, until every case has as many as wanted."""
    state: State = json.loads(path.read_text("utf-8")) if path.exists() else {}
    start = time.process_time()
    for block in range(-(-campaigns // BLOCK)):
        for case in cases():
            kept = state.setdefault(case.key, {"campaigns": 0})
            if kept["campaigns"] > block * BLOCK:
                continue
            for name, value in simulate(case, block).items():
                total = np.add(kept.get(name, 0), value)
                kept[name] = total.tolist() if name in ("campaigns", "hits", "others") else [
                    float(f"{each:.6g}") for each in total]  # fmt: skip
        lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(state[key])}" for key in sorted(state))
        path.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
        print(f"{(block + 1) * BLOCK} campaigns, {time.process_time() - start:.0f} s", flush=True)


def show(path: Path) -> None:
    """Print coverage per number of reports and statistic, pooled over people and epsilons."""
    state: State = json.loads(path.read_text("utf-8"))
    missed = 0
    for layout in LAYOUTS:
        for reports in REPORTS:
            rows = [case for case in cases() if (case.layout, case.reports) == (layout, reports)
                    and case.key in state]  # fmt: skip
            if not rows:
                continue
            kept = [state[case.key] for case in rows]
            best, near = (np.array(part) for part in zip(*map(_best, rows), strict=True))
            number = np.array([[each["campaigns"]] for each in kept])
            hits = np.array([each["hits"] for each in kept])
            width = (
                np.array([each["width"] for each in kept])
                / number
                / (3.92 * np.maximum(best, 1e-12))
            )
            error = [np.array([each[name] for each in kept]) for name in ("likely", "unbiased")]
            ratios = [np.sqrt(error[0][:, part].sum() / error[1][:, part].sum())
                      for part in (slice(1), slice(1, None))]  # fmt: skip
            print(f"\n{layout}, {reports} reports, {number.sum()} campaigns: error of likeliest "
                  f"values {ratios[0]:.2f} (mean) {ratios[1]:.2f} (shares)")  # fmt: skip
            for index, name in enumerate(_names(LAYOUTS[layout])):
                inner = ~near[:, index]
                told = f"  {name:13s}"
                if inner.any():
                    count = number[inner, 0].sum()
                    share = 100.0 * hits[inner, index].sum() / count
                    noise = 100.0 * np.sqrt(0.05 * 0.95 / count)
                    low, high = _GOALS[reports >= _ENOUGH]
                    wrong = not low - 2 * noise <= share <= high + 2 * noise
                    missed += wrong
                    widest = width[inner, index].max()
                    told += f" inner {share:.2f} ± {noise:.2f}%{' MISSED' if wrong else ''}"
                    lowest = 100.0 * (hits[inner, index] / number[inner, 0]).min()
                    told += f" (lowest case {lowest:.1f}), widest {widest:.3f}"
                if near[:, index].any():
                    part = near[:, index]
                    share = 100.0 * hits[part, index].sum() / number[part, 0].sum()
                    told += f"; near a bound {share:.2f}%"
                print(told)
            others = np.array([each["others"] for each in kept]) / number
            texts = [f"{100 * x.mean():.1f} (lowest case {100 * x.min():.0f})" for x in others.T]
            print(f"  spread {texts[0]}, quartiles {', '.join(texts[1:])}")
    print(f"\n{missed} pooled statistics beyond the goals by two standard errors")


def measure(reports: int = 1_000_000, times: int = 50) -> None:
    """Print the processor time of a summary of 12 cells, and of its text."""
    found = design_cells(1.0, np.linspace(-1.0, 1.0, 13))
    table = TableMechanism(1.0, None, found.mechanism.weights, found.knots.numbers)
    people = Case("zeros", "8 cells", 1.0, reports).population
    chances = shares_of_rows(table.knots, people) @ table.table()
    drawn = np.random.default_rng(0).multinomial(reports, chances / chances.sum(), times)
    spent = np.zeros((times, 2))
    for index, counts in enumerate(drawn):
        start = time.process_time()
        summary = summarize(table, Tally(table.fingerprint, tuple(counts.tolist())))
        _ = summary.mean, summary.cdf, summary.shares, summary.spread, summary.quantiles
        middle = time.process_time()
        str(summary)
        spent[index] = middle - start, time.process_time() - middle
    told = " and ".join(f"{1e3 * part:.1f}" for part in np.median(spent, axis=0))
    print(f"12 cells, {table.n_outputs} outputs, {reports} reports: {told} ms (median of {times})")


def main() -> None:
    """Run, show or measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--campaigns", type=int, default=1_000)
    parser.add_argument("--state", type=Path, default=FILE)
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--time", action="store_true")
    options = parser.parse_args()
    if options.time:
        measure()
        return
    if not options.show:
        run(options.state, options.campaigns)
    show(options.state)


if __name__ == "__main__":
    main()
