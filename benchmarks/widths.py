r"""Widths of intervals, for the tables of ``docs/estimation.md``.

``python -m benchmarks.widths`` draws campaigns with fixed seeds and prints two tables: slack and
guaranteed intervals of mean, variance and CDF, and three intervals of the mean. ``--write`` puts
them into the page.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Sequence
from pathlib import Path

import numpy as np

import noutput as no
from benchmarks.covering import table
from benchmarks.populations import HELD_BACK, Array, Population
from noutput.mechanisms.table import TableMechanism

__all__ = ["main"]

PAGE = Path(__file__).parents[1] / "docs" / "estimation.md"
_AT = (-0.5, 0.0, 0.5)
_CAMPAIGNS = 24
_OF_MEAN = 200
_REPORTS = 20_000
# population, table, people; and of gp's credible intervals and em's bootstrap, which no version
# after 0.1 has: mean, variance, CDF
_ROWS = (
    ("commute", "distribution", 20_000, "0.049, 0.051, 0.046", "0.048, 0.052, 0.050"),
    ("commute", "distribution", 200_000, "0.016, 0.018, 0.016", "0.015, 0.017, 0.018"),
    ("commute", "balanced", 20_000, "0.048, 0.048, 0.049", "0.047, 0.048, 0.051"),
    ("bimodal", "distribution", 20_000, "0.050, 0.031, 0.062", "0.052, 0.035, 0.074"),
    ("five stars", "distribution", 20_000, "0.059, 0.068, 0.053", "0.063, 0.065, 0.065"),
)
_PEOPLE = {
    "commutes": "commute",
    "spread evenly": "uniform",
    "half at either bound": None,
    "three spikes": "three spikes",
    "all at the lower bound": None,
}


def _tally(
    mechanism: TableMechanism, people: Population, count: int, rng: np.random.Generator
) -> no.Tally:
    chances = people.shares @ mechanism.probabilities(people.x)
    counts = rng.multinomial(count, chances / chances.sum())
    return no.Tally(mechanism.fingerprint, tuple(counts.tolist()))


def _widths(mechanism: TableMechanism, tally: no.Tally, kind: str) -> list[float]:
    found = no.estimate_distribution(mechanism, tally, 16, "em", tolerance=1e-3)
    of = found.intervals(_AT, kind=kind)
    ends = (of.mean(), of.variance(), of.cdf(_AT))
    return [float(np.mean(np.subtract(high, low))) for low, high in ends]


def _text(widths: Sequence[Sequence[float]]) -> str:
    return ", ".join(f"{each:.3f}" for each in np.mean(widths, axis=0))


def of_statistics() -> list[str]:
    """Return the table of mean, variance and CDF."""
    heads = (
        "population, table", "slack: mean, variance, CDF", "guaranteed",
        "gp (credible)", "em (bootstrap)",
    )  # fmt: skip
    lines = [f"| {' | '.join(heads)} |", "|---|---|---|---|---|"]
    for name, objective, count, credible, bootstrap in _ROWS:
        mechanism = table(objective, 1.0)
        rng = np.random.default_rng(zlib.crc32(f"{name}/{objective}/{count}".encode()))
        tallies = [_tally(mechanism, HELD_BACK[name](rng), count, rng) for _ in range(_CAMPAIGNS)]
        kinds = [
            _text([_widths(mechanism, tally, kind) for tally in tallies])
            for kind in ("slack", "guaranteed")
        ]
        label = f"{name}, {objective}" + ("" if count == _REPORTS else f", {count:,} people")
        lines.append(f"| {label} | {kinds[0]} | {kinds[1]} | {credible} | {bootstrap} |")
    return lines


def _population(name: str, rng: np.random.Generator) -> Population:
    known = _PEOPLE[name]
    if known is not None:
        return HELD_BACK[known](rng)
    ends = [-1.0] if name == "all at the lower bound" else [-1.0, 1.0]
    return Population(np.array(ends), np.full(len(ends), 1.0 / len(ends)))


def of_means() -> list[str]:
    """Return the table of the mean's intervals, for tables for distributions."""
    lines = [
        "| epsilon | people | decoded | scores | slack | covered | error of scores | of slack |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for epsilon in (2.0, 4.0):
        mechanism = table("distribution", epsilon)
        for name in _PEOPLE:
            found = _three(mechanism, name)
            widths, covered, errors = found
            texts = [f"{width:.3f}" for width in widths]
            texts += [f"{covered:.0%}", *(f"{error:.3f}" for error in errors)]
            lines.append(f"| {epsilon:g} | {name} | " + " | ".join(texts) + " |")
    return lines


def _three(mechanism: TableMechanism, name: str) -> tuple[Array, float, Array]:
    """Return lengths of three intervals, the last one's coverage, and errors of the last two."""
    rng = np.random.default_rng(zlib.crc32(f"{name}/{mechanism.epsilon}".encode()))
    rows, hits, off = [], 0, []
    for _ in range(_OF_MEAN):
        people = _population(name, rng)
        tally = _tally(mechanism, people, _REPORTS, rng)
        best = no.estimate_mean(mechanism, tally)
        if best.method != "slack" or best.by_scores is None:
            raise RuntimeError(f"no slack interval for epsilon = {mechanism.epsilon}")
        ends = [
            each.interval()
            for each in (
                no.estimate_mean(mechanism, tally, method="unbiased"),
                best.by_scores,
                best,
            )
        ]
        rows.append([high - low for low, high in ends])
        hits += ends[2][0] <= people.mean <= ends[2][1]
        off.append([(each.value - people.mean) ** 2 for each in (best.by_scores, best)])
    return np.mean(rows, axis=0), hits / _OF_MEAN, np.sqrt(np.mean(off, axis=0))


def main(arguments: Sequence[str] | None = None) -> None:
    """Print both tables, or put them into the page."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args(arguments)
    text = PAGE.read_text(encoding="utf-8")
    for name, lines in (("widths", of_statistics()), ("widths of means", of_means())):
        shown = "\n".join(lines) + "\n"
        print(shown)
        mark, end = f"<!-- {name} -->\n", f"<!-- end of {name} -->\n"
        if chosen.write:
            before, rest = text.split(mark)
            text = before + mark + shown + end + rest.split(end)[1]
    if chosen.write:
        PAGE.write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
