r"""Errors of adaptive campaigns as multiples of a single wave, to be continued at any time.

``python -m benchmarks.waves`` draws campaigns for every cell of shapes, shares of the range that
they use, epsilons and numbers of people until each has as many as wanted, in blocks, and keeps the
sums in ``benchmarks/waves.json`` after every block. A fifth of the people are the first wave;
`noutput.choose_range` chooses the bounds of all others, and `noutput.Evidence` is both waves. The
single wave has the same first fifth and, where nothing is narrowed, the same others. ``--write``
puts the table into ``docs/adaptive.md``. ``--family training`` looks at the populations that the
constants of the rule were chosen on, also where the rule was told of too few people (``--told``).
"""

from __future__ import annotations

import argparse
import json
import time
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np

import noutput as no
from benchmarks.wave_populations import (
    GRID,
    HELD_BACK,
    OCCUPANCIES,
    TRAINING,
    TRAINING_OCCUPANCIES,
    Array,
)

__all__ = [
    "Cell",
    "compare",
    "grid",
    "main",
    "ratios",
    "rows",
    "save",
    "simulate",
    "single_variance",
    "standard_errors",
]

State: TypeAlias = dict[str, dict[str, Any]]
_Groups: TypeAlias = dict[no.Interval, list[tuple[int, no.Evidence]]]
RESULTS = Path(__file__).with_name("waves.json")
PAGE = Path(__file__).parents[1] / "docs" / "adaptive.md"
EPSILONS = (0.5, 1.0, 2.0)
PEOPLE = (20_000, 200_000)
FIRST = 0.2
BINS = 128
LEVEL = 0.95
DECLARED = no.Interval(0.0, 1.0)
_BLOCK = 5
_RECORDED = ("held-back", FIRST, 1.0)  # the family of the results, the first wave, and what is told
_MARKS = ("<!-- waves -->\n", "<!-- end of waves -->\n")
_NARROW = 0.3  # the largest occupancy of the goals
_LARGEST = 1.05  # what no cell should exceed
_SUMS = (
    "narrowed",
    "hits",
    "narrowed_square",
    "narrowed_fourth",
    "single_distance",
    "wave_distance",
    "single_square",
    "wave_square",
    "product",
)


@dataclass(frozen=True)
class Cell:
    """A kind of campaign."""

    shape: str
    occupancy: float
    epsilon: float
    people: int

    @property
    def key(self) -> str:
        """Its name in files."""
        return f"{self.shape}/{self.occupancy:g}/{self.epsilon:g}/{self.people}"

    @property
    def population(self) -> Array:
        """The share of the people at every place of the grid."""
        return {**TRAINING, **HELD_BACK}[self.shape](self.occupancy)


@lru_cache(maxsize=64)
def _chances(epsilon: float, lower: float, upper: float) -> Array:
    """Return the probabilities of all outputs at every place of the grid."""
    unit = no.Interval(lower, upper).to_unit(GRID, clip=True)
    return no.design(epsilon).mechanism.probabilities(unit)


def _draw(
    people: int, population: Array, chances: Array, rng: np.random.Generator
) -> tuple[int, ...]:
    shares = population @ chances
    return tuple(rng.multinomial(people, shares / shares.sum()).tolist())


def distance(found: no.DistributionEstimate, population: Array) -> float:
    """Return the area between the cumulative distributions of an estimate and of the truth."""
    below = found.cdf(GRID + 0.5 / len(GRID))
    return float(np.abs(below - np.cumsum(population)).mean())


def simulate(
    cell: Cell, campaigns: int, block: int = 0, *, first: float = FIRST, told: float = 1.0
) -> dict[str, float]:
    """Draw campaigns of a cell, and return the sums of their errors, as `compare` does."""
    rng = np.random.default_rng([zlib.crc32(cell.key.encode()), block])
    population = cell.population
    return compare(population, cell.epsilon, cell.people, campaigns, rng, first=first, told=told)


def compare(
    population: Array,
    epsilon: float,
    people: int,
    campaigns: int,
    rng: np.random.Generator,
    *,
    first: float = FIRST,
    told: float = 1.0,
) -> dict[str, float]:
    """Draw campaigns of a population, and return the sums of their errors.

    Parameters
    ----------
    first : float
        The share of the people who are the first wave.
    told : float
        How many people the rule is told to expect, as a multiple of those who follow.
    """
    m, mean = no.design(epsilon).mechanism, float(population @ GRID)
    singles, narrowed = _campaigns(population, m, people, campaigns, rng, first, told)
    means = [no.estimate_mean(m, each, DECLARED) for each in singles]
    fits = no.estimate_distribution(m, singles, BINS, bounds=DECLARED)
    distances = np.array([distance(each, population) for each in fits])
    single, squares = distances.copy(), []
    for group in narrowed.values():
        tallies = [both.tally for _, both in group]
        found = no.estimate_distribution(group[0][1].channel, tallies, bounds=DECLARED)
        for (place, both), fit in zip(group, found, strict=True):
            means[place] = no.estimate_mean(both)
            squares.append((means[place].value - mean) ** 2)
            distances[place] = distance(fit, population)
    intervals = [each.interval(LEVEL) for each in means]
    return {
        "narrowed": float(len(squares)),
        "hits": float(sum(low <= mean <= high for low, high in intervals)),
        "narrowed_square": float(np.sum(squares)),
        "narrowed_fourth": float(np.square(squares).sum()),
        "single_distance": float(single.sum()),
        "wave_distance": float(distances.sum()),
        "single_square": float(single @ single),
        "wave_square": float(distances @ distances),
        "product": float(single @ distances),
    }


def single_variance(population: Array, epsilon: float, people: int) -> float:
    """Return the variance of the mean of a single wave: that of decoded reports, exactly."""
    outputs = DECLARED.half_width * no.design(epsilon).mechanism.outputs
    shares = population @ _chances(epsilon, DECLARED.lower, DECLARED.upper)
    return float(shares @ (outputs - shares @ outputs) ** 2) / people


def _campaigns(
    population: Array,
    m: no.TableMechanism,
    people: int,
    count: int,
    rng: np.random.Generator,
    share: float,
    told: float,
) -> tuple[list[no.Tally], _Groups]:
    """Draw campaigns: reports of single waves, and of both waves where bounds were narrowed."""
    first = round(share * people)
    expected = round(told * (people - first))
    wide = _chances(m.epsilon, DECLARED.lower, DECLARED.upper)
    singles: list[no.Tally] = []
    narrowed: _Groups = defaultdict(list)
    for place in range(count):
        tally, rest = (
            no.Tally(m.fingerprint, _draw(number, population, wide, rng))
            for number in (first, people - first)
        )
        singles.append(tally + rest)
        found = no.choose_range(m, tally, DECLARED, expected=expected)
        if found.narrowed and found.bounds is not None:
            bounds = found.bounds
            chances = _chances(m.epsilon, bounds.lower, bounds.upper)
            others = no.Tally(m.fingerprint, _draw(people - first, population, chances, rng))
            parts = [(m, tally, DECLARED), (m, others, bounds)]
            narrowed[bounds].append((place, no.Evidence(parts, choices=found.choices)))
    return singles, narrowed


def grid(family: str, epsilons: Sequence[float], people: Sequence[int]) -> list[Cell]:
    """Return all cells of a family."""
    shapes, occupancies = (
        (HELD_BACK, OCCUPANCIES) if family == "held-back" else (TRAINING, TRAINING_OCCUPANCIES)
    )
    return [
        Cell(shape, occupancy, epsilon, count)
        for count in people
        for epsilon in epsilons
        for occupancy in occupancies
        for shape in shapes
    ]


def run(
    cells: Sequence[Cell],
    state: State,
    path: Path,
    campaigns: int,
    *,
    first: float = FIRST,
    told: float = 1.0,
) -> None:
    """Draw campaigns, a block per cell in a mixed order, until every cell has as many as wanted."""
    start = time.monotonic()
    cells = [cells[place] for place in np.random.default_rng(1).permutation(len(cells))]
    for block in range(-(-campaigns // _BLOCK)):
        for done, cell in enumerate(cells):
            kept = state.setdefault(cell.key, {"campaigns": 0, **dict.fromkeys(_SUMS, 0.0)})
            if kept["campaigns"] > block * _BLOCK:
                continue
            for name, value in simulate(cell, _BLOCK, block, first=first, told=told).items():
                kept[name] = float(f"{kept[name] + value:.6g}")
            kept["campaigns"] += _BLOCK
            variance = single_variance(cell.population, cell.epsilon, cell.people)
            kept["variance"] = float(f"{variance:.6g}")
            save(state, path)
            if done % 10 == 9:
                print(f"{block}: {cell.key}, {time.monotonic() - start:.0f} s", flush=True)
        print(f"after {_BLOCK * (block + 1)}:", *rows(state), sep="\n", flush=True)


def save(state: State, path: Path) -> None:
    """Write the sums, a line per cell, in place of the former ones."""
    lines = ",\n".join(f"{json.dumps(key)}: {json.dumps(state[key])}" for key in sorted(state))
    beside = path.with_suffix(".part")
    beside.write_text(f"{{\n{lines}\n}}\n", encoding="utf-8")
    beside.replace(path)


def ratios(kept: dict[str, Any]) -> tuple[float, float]:
    """Return the errors of the mean and of the distribution as multiples of a single wave.

    A campaign whose bounds were not narrowed is a single wave, and counts as one; the squared
    error of all others is divided by the exact variance of a single wave.
    """
    count = kept["campaigns"]
    square = kept["narrowed_square"] / kept["variance"] + count - kept["narrowed"]
    return float(np.sqrt(square / count)), float(kept["wave_distance"] / kept["single_distance"])


def standard_errors(kept: dict[str, Any]) -> tuple[float, float]:
    r"""Return the standard errors of both ratios, by the spread between campaigns.

    That of :math:`r = \sqrt{\bar z}`, with z the squared errors over the variance of a single wave,
    is :math:`s_z / (2 r \sqrt{n})`, and that of :math:`r = \bar w / \bar s` is the root of
    :math:`\sum (w - r s)^2 / (n (n - 1))` over :math:`\bar s`.
    """
    count, (mean, distribution) = kept["campaigns"], ratios(kept)
    fourth = kept["narrowed_fourth"] / kept["variance"] ** 2 + count - kept["narrowed"]
    spread = max(fourth - count * mean**4, 0.0) / (count - 1)
    rest = kept["wave_square"] - 2.0 * distribution * kept["product"]
    rest = max(rest + distribution**2 * kept["single_square"], 0.0) / (count - 1)
    single = kept["single_distance"] / count
    return (
        float(np.sqrt(spread / count) / (2.0 * mean)),
        float(np.sqrt(rest / count) / single),
    )


def rows(state: State) -> list[str]:
    """Return the table of the page, sentences about its size, and the cells that exceed 1.05."""
    lines = [
        "| values in | people | narrowed | mean | Wasserstein | largest of a cell | coverage |",
        "|---|---|---|---|---|---|---|",
    ]
    keys = {key: key.split("/") for key in state}
    for occupancy in sorted({float(parts[1]) for parts in keys.values()}):
        for people in PEOPLE:
            cells = [
                state[key]
                for key, parts in keys.items()
                if float(parts[1]) == occupancy and int(parts[3]) == people
            ]
            if cells:
                lines.append(f"| {100.0 * occupancy:g}% | {people:,} | {_row(cells)} |")
    cells = [state[key] for key, parts in keys.items() if float(parts[1]) <= _NARROW]
    if cells:
        lines.append(f"| 5 to 30% | all | {_row(cells)} |")
    for shape in HELD_BACK:
        cells = [
            state[key]
            for key, parts in keys.items()
            if parts[0] == shape and float(parts[1]) <= _NARROW
        ]
        if cells:
            lines.append(f"| 5 to 30%, {shape} | all | {_row(cells)} |")
    errors = _median_errors(state)
    sizes = [cell["campaigns"] for cell in state.values()]
    each = f"{min(sizes)}" if min(sizes) == max(sizes) else f"{min(sizes)} to {max(sizes)}"
    return [
        *lines,
        "",
        (
            f"{len(sizes)} cells, {each} campaigns each, {sum(sizes):,} in all. "
            f"The standard error of a cell's ratio is {errors[0]:.2f} "
            f"(mean) and {errors[1]:.2f} (Wasserstein) in the median of those with narrow bounds."
        ),
        *_exceeding(state),
    ]


def _median_errors(state: State) -> list[float]:
    """Return the medians of both standard errors over the cells with narrow bounds."""
    found = [standard_errors(kept) for kept in state.values() if kept["narrowed"]]
    result: list[float] = np.median(found, axis=0).tolist()
    return result


def _exceeding(state: State) -> list[str]:
    """Return a table of the cells with a ratio above what none should exceed."""
    found = [(key, kept) for key, kept in state.items() if max(ratios(kept)) > _LARGEST]
    if not found:
        return [f"No cell is above {_LARGEST}."]
    lines = [
        "",
        f"Cells above {_LARGEST}, with standard errors:",
        "",
        "| shape | values in | epsilon | people | campaigns | mean | Wasserstein |",
        "|---|---|---|---|---|---|---|",
    ]
    for key, kept in sorted(found, key=lambda each: -max(ratios(each[1]))):
        shape, occupancy, epsilon, people = key.split("/")
        errors = zip(ratios(kept), standard_errors(kept), strict=True)
        mean, distribution = (f"{ratio:.2f} ± {error:.2f}" for ratio, error in errors)
        lines.append(
            f"| {shape} | {100.0 * float(occupancy):g}% | {epsilon} | {int(people):,} | "
            f"{kept['campaigns']} | {mean} | {distribution} |"
        )
    return lines


def _row(cells: Sequence[dict[str, Any]]) -> str:
    found = np.array([ratios(cell) for cell in cells])
    mean, wasserstein = np.exp(np.log(found).mean(axis=0)).tolist()
    largest = found.max(axis=0).tolist()
    campaigns = sum(cell["campaigns"] for cell in cells)
    narrowed = sum(cell["narrowed"] for cell in cells) / campaigns
    hits = sum(cell["hits"] for cell in cells) / campaigns
    return (
        f"{100.0 * narrowed:.0f}% | {mean:.2f} | {wasserstein:.2f} | "
        f"{largest[0]:.2f} / {largest[1]:.2f} | {100.0 * hits:.1f}%"
    )


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
    parser.add_argument("--campaigns", type=int, default=40)
    parser.add_argument("--family", choices=("held-back", "training"), default="held-back")
    parser.add_argument("--epsilons", nargs="*", type=float, default=EPSILONS)
    parser.add_argument("--people", nargs="*", type=int, default=PEOPLE)
    parser.add_argument("--cells", nargs="*", help="Only these, such as 'even/0.1/1/20000'.")
    parser.add_argument("--first", type=float, default=FIRST, help="Share of the first wave.")
    parser.add_argument(
        "--told", type=float, default=1.0,
        help="How many people the rule expects, as a multiple of those who follow.",
    )  # fmt: skip
    parser.add_argument("--state", type=Path, default=RESULTS)
    parser.add_argument("--write", action="store_true")
    chosen = parser.parse_args(arguments)
    state: State = json.loads(chosen.state.read_text()) if chosen.state.exists() else {}
    if chosen.write:
        write(state)
        return
    cells = grid(chosen.family, chosen.epsilons, chosen.people)
    if chosen.cells:
        cells = [cell for cell in cells if cell.key in chosen.cells]
    if chosen.state == RESULTS and (chosen.family, chosen.first, chosen.told) != _RECORDED:
        parser.error("give --state: these are not the campaigns of the page")
    options = {"first": chosen.first, "told": chosen.told}
    run(cells, state, chosen.state, chosen.campaigns, **options)


if __name__ == "__main__":
    main()
