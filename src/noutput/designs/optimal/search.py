r"""Global search for the right local optimum of outputs and column minima.

Notes
-----
1. *Grids.* Equally spaced outputs on several ranges.
2. *Nesting.* The solution for N - 1 outputs, with the output zero added or split in two, is a
   mechanism with N outputs of the same value, so the value never increases with N.
3. *Insertion.* The multipliers of a solution give the reduced cost c(a) of one more output at a;
   new outputs are tried where c has its deepest minima.
4. *Exchange.* The output that matters least is taken out and inserted where it pays most.

Every number of outputs from 2 to 16 is solved in turn this way. Beyond 16, outputs are inserted
many at a time and refined once per doubling.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from noutput.designs.optimal.best_rows import slide
from noutput.designs.optimal.linear_program import LEAST_MINIMUM, Layout, solve_fixed
from noutput.designs.optimal.refine import (
    average_multipliers,
    average_slopes,
    refine_average,
    refine_worst,
)

if TYPE_CHECKING:
    from noutput.designs.optimal.density import Density
    from noutput.designs.solution import Array, Progress

__all__ = ["NESTED_UP_TO", "Candidate", "Search"]

NESTED_UP_TO = 16
_FEW = 24
_CELLS = 40
# Few knots are worth 0.01% of the worst case. At small epsilon the worst-case design is nearly as
# good on average as the average design, which may give up less.
_WORST_KNOT_SLACK, _AVERAGE_KNOT_SLACK = 1e-4, 1e-6
_SAME_VALUE = 1e-7
_SCREENING, _FINAL = 1e-7, 1e-11
_STARTING_RANGES = tuple((low, high) for high in (1.0001, 1.15, 1.35) for low in (0.0, 0.35, 0.65))


@dataclass(frozen=True)
class Candidate:
    """Free outputs and minima (see `Layout`) with their value."""

    value: float
    layout: Layout
    outputs: Array
    minima: Array


class Search:
    """A search for one epsilon and objective; ``density`` is ``None`` for the worst case."""

    def __init__(self, epsilon: float, density: Density | None) -> None:
        self.epsilon, self.density = epsilon, density
        self.symmetric = density is None or density.symmetric
        self.duchi = 1.0 / float(np.tanh(epsilon / 2))
        self.iterations = 0
        self.converged = True

    def layout(self, n_outputs: int) -> Layout:
        """Return which numbers are free for this many outputs."""
        return Layout(self.epsilon, n_outputs, self.symmetric)

    def from_scratch(self, n_outputs: int, report: Progress) -> tuple[Candidate, float]:
        """Return the best candidate and the value that knot removal may spend."""
        nested = min(n_outputs, NESTED_UP_TO)
        share = 1.0 if n_outputs == nested else 0.5
        solved = self.chain(nested, lambda done: report(done * share))
        best = solved[nested]
        if n_outputs == nested:
            return best, self.allowance(best, solved.get(nested - 1))
        if self.symmetric and (n_outputs - nested) % 2:
            best = solved[nested - 1]
        best = self.grow(best, n_outputs)
        return best, self.allowance(best, solved[nested])

    def chain(self, largest: int, report: Progress) -> dict[int, Candidate]:
        """Return the best candidate with every number of outputs from 2 to ``largest``."""
        solved: dict[int, Candidate] = {}
        for n in range(2, largest + 1):
            solved[n] = self.nested_step(n, solved)
            report(n * (n + 1) / (largest * (largest + 1)))
        return solved

    def allowance(self, best: Candidate, smaller: Candidate | None) -> float:
        """Return the value that knot removal may spend: not more than one output less costs."""
        slack = _WORST_KNOT_SLACK if self.density is None else _AVERAGE_KNOT_SLACK
        return min(np.inf if smaller is None else smaller.value, best.value * (1 + slack))

    def from_start(self, n_outputs: int, start: Array) -> Candidate:
        """Return the best candidate near the outputs of a neighboring design."""
        layout = self.layout(n_outputs)
        free = start[n_outputs - layout.n_free :] if self.symmetric else start
        stretched = max(1.0, 1.0001 * self.duchi / float(np.abs(start).max()))
        found = [self.polish(layout, free * stretched)]
        found += [self.polish(layout, self.grid(layout, *r)) for r in _STARTING_RANGES[:1]]
        best = self.exchange(_best(found), rounds=2)
        return self.polish(layout, best.outputs, best.minima, _FINAL)

    def grid(self, layout: Layout, low: float, high: float) -> Array:
        """Return equally spaced free outputs, in units of Duchi's."""
        n = layout.n_free
        if not self.symmetric:
            return np.linspace(-high, high, n, dtype=np.float64) * self.duchi
        odd = layout.n_outputs % 2
        steps = np.arange(1, n + 1) / n if odd else (np.arange(n) + 0.5) / (n - 0.5)
        return np.asarray((low + (high - low) * steps) * self.duchi, dtype=np.float64)

    def nested_step(self, n: int, solved: dict[int, Candidate]) -> Candidate:
        """Return the best candidate with n outputs, given those with fewer."""
        layout = self.layout(n)
        ranges = _STARTING_RANGES[:: 1 if self.density is None else 4] if n <= 8 else [(0.0, 1.15)]
        found = [self.polish(layout, self.grid(layout, *r)) for r in ranges]
        if n - 1 in solved:
            found.append(self.polish(layout, self.embed(solved[n - 1])))
        step, tries = (2, 4) if self.symmetric else (1, 3)
        if n - step in solved:
            smaller = solved[n - step]
            found += [self.insert(smaller, p) for p in self.insertions(smaller, tries)[:, None]]
        # An unsymmetric search has twice the variables; it exchanges only now and then.
        often = self.symmetric or n <= 8 or n % 4 == 0
        best = self.exchange(_best(found), rounds=1 if often else 0)
        best = self.polish(layout, best.outputs, best.minima, _FINAL)
        if n - 1 in solved and best.value > solved[n - 1].value:
            best = self.keep_value(layout, solved[n - 1])
        return best

    def embed(self, smaller: Candidate) -> Array:
        """Return outputs for one more, at which the smaller solution's value is available."""
        outputs = smaller.outputs
        if not self.symmetric:
            gap = int(np.argmax(np.diff(outputs)))
            return np.insert(outputs, gap + 1, (outputs[gap] + outputs[gap + 1]) / 2)
        if smaller.layout.n_outputs % 2 == 0:
            return outputs
        return np.concatenate([[1e-6 * outputs[0]], outputs])

    def keep_value(self, layout: Layout, smaller: Candidate) -> Candidate:
        """Return the smaller solution as a mechanism with one more output."""
        outputs, minima = self.embed(smaller), smaller.minima
        if self.symmetric and smaller.layout.n_outputs % 2:
            minima = np.concatenate([[minima[0] / 2], minima[1:]])
        else:
            where = 0 if self.symmetric else int(np.argmax(np.diff(smaller.outputs))) + 1
            minima = np.insert(minima, where, LEAST_MINIMUM)
        return self.evaluate(layout, outputs, minima)

    def evaluate(self, layout: Layout, outputs: Array, minima: Array) -> Candidate:
        """Return the candidate, with its outputs enlarged until -1 and 1 are reached."""
        windows = slide(layout.outputs(outputs), layout.minima(minima), self.epsilon)
        reach = min(float(windows.knots[-1]), -float(windows.knots[0]))
        if reach <= 0.5 or minima.sum() <= 0:
            return Candidate(np.inf, layout, outputs, minima)
        if reach < 1.0:
            outputs = outputs / reach
        if self.density is not None:
            moment = average_slopes(layout, outputs, minima, self.density)[0]
            return Candidate(moment - self.density.second_moment, layout, outputs, minima)
        optimum = solve_fixed(layout, outputs, minima)
        if optimum is None:
            return Candidate(np.inf, layout, outputs, minima)
        return Candidate(optimum.value, layout, outputs, optimum.minima)

    def polish(
        self,
        layout: Layout,
        outputs: Array,
        minima: Array | None = None,
        tolerance: float = _SCREENING,
    ) -> Candidate:
        """Return the local optimum reached from these outputs."""
        self.iterations += 1
        if minima is None or self.density is None:
            optimum = solve_fixed(layout, outputs, minima)
            if optimum is None:
                return Candidate(np.inf, layout, outputs, np.ones(layout.n_minima))
            minima, value = optimum.minima, optimum.value
        n = layout.n_outputs
        limit = 200 if n <= _FEW else max(16000 // n, 60)
        if not self.symmetric and tolerance == _SCREENING:
            limit = 80
        if self.density is not None:
            begin = self.evaluate(layout, outputs, minima)
            moved = refine_average(
                layout, outputs, minima, self.density, iterations=limit, tolerance=tolerance
            )
        else:
            begin = Candidate(value, layout, outputs, minima)
            moved = refine_worst(
                layout, outputs, minima, value, iterations=limit, tolerance=tolerance
            )
        if np.any(np.diff(moved[0]) <= 0) or not np.all(np.isfinite(moved[0])):
            return begin
        return _best([begin, self.evaluate(layout, *moved)])

    def insertions(self, candidate: Candidate, count: int) -> Array:
        """Return the points where one more output has the lowest reduced costs."""
        layout = candidate.layout
        if self.density is None:
            optimum = solve_fixed(layout, candidate.outputs, candidate.minima)
            if optimum is None:
                return np.zeros(0)
            multipliers = optimum.multipliers
        else:
            multipliers = average_multipliers(
                layout, candidate.outputs, candidate.minima, self.density
            )
        top = 1.4 * float(np.abs(candidate.outputs).max())
        points = np.linspace(0.0 if self.symmetric else -top, top, 560 + 20 * layout.n_outputs)
        costs = multipliers.reduced_cost(points, self.epsilon)
        padded = np.concatenate([[np.inf], costs, [np.inf]])
        low = (costs <= padded[:-2]) & (costs < padded[2:])
        low &= costs < -1e-9 * candidate.value
        where = np.flatnonzero(low)
        return points[where[np.argsort(costs[where])][:count]]

    def insert(self, candidate: Candidate, points: Array) -> Candidate:
        """Return the local optimum after adding outputs (with their mirror images)."""
        outputs = candidate.outputs
        if self.symmetric:
            points = np.maximum(points, 1e-3 * outputs[0])
        merged = np.concatenate([outputs, points])
        order = np.argsort(merged)
        step = 2 if self.symmetric else 1
        layout = self.layout(candidate.layout.n_outputs + step * points.size)
        odd = candidate.layout.n_outputs % 2 if self.symmetric else 0
        few = np.full(points.size, max(LEAST_MINIMUM, 1e-6 * float(candidate.minima.mean())))
        minima = np.concatenate([candidate.minima[odd:], few])[order]
        minima = np.concatenate([candidate.minima[:odd], minima])
        if layout.n_outputs <= _FEW:
            return self.polish(layout, merged[order])
        if self.density is not None:
            inputs, masses = self.density.cells(_CELLS)
            optimum = solve_fixed(
                layout, merged[order], minima, inputs=inputs, masses=masses, tolerance=1e-4
            )
            minima = minima if optimum is None else optimum.minima
        return self.polish(layout, merged[order], minima, _FINAL)

    def exchange(self, best: Candidate, rounds: int) -> Candidate:
        """Take out the output that matters least and insert it where it pays most."""
        step = 2 if self.symmetric else 1
        n_free, n_outputs = best.layout.n_free, best.layout.n_outputs
        if n_free < 2 or n_outputs < 3 + step:
            return best
        smaller = self.layout(n_outputs - step)
        for _ in range(rounds):
            losses = []
            for i in range(n_free):
                optimum = solve_fixed(smaller, np.delete(best.outputs, i))
                losses.append(np.inf if optimum is None else optimum.value)
            reduced = self.polish(smaller, np.delete(best.outputs, int(np.argmin(losses))))
            tried = [self.insert(reduced, p) for p in self.insertions(reduced, 2)[:, None]]
            improved = _best([best, *tried])
            self.converged = improved.value >= best.value * (1 - _SAME_VALUE)
            best = improved
            if self.converged:
                break
        return best

    def grow(self, candidate: Candidate, n_outputs: int) -> Candidate:
        """Insert outputs many at a time until there are ``n_outputs``."""
        step = 2 if self.symmetric else 1
        while candidate.layout.n_outputs < n_outputs:
            have = candidate.layout.n_outputs
            count = (min(n_outputs, 2 * have) - have) // step
            points = self.insertions(candidate, count)
            if points.size < count:
                points = np.concatenate([points, self.gaps(candidate, points, count)])[:count]
            candidate = self.insert(candidate, points)
        return candidate

    def gaps(self, candidate: Candidate, points: Array, count: int) -> Array:
        """Return midpoints of the widest gaps between outputs and points."""
        found: list[float] = []
        taken = np.concatenate([candidate.outputs, points])
        while len(found) < count:
            taken = np.sort(np.concatenate([taken, found[-1:]]))
            widest = int(np.argmax(np.diff(taken)))
            found.append(float(taken[widest] + taken[widest + 1]) / 2)
        return np.array(found)


def _best(candidates: list[Candidate]) -> Candidate:
    return min(candidates, key=lambda candidate: candidate.value)
