r"""Factor of the misfit's threshold: what it must be for coverage on a family of populations.

``python -m benchmarks.calibrate`` draws campaigns of the populations that thresholds are chosen on
(`CALIBRATION`), and follows the paths of mean, CDF and bins from the best fit up to the *true*
value of each statistic. It is covered if the misfit there is at most the factor times the quantile
of `noutput.estimate.slack.threshold` for the degrees of freedom that are lost there. So one
simulation tells the coverage for all factors. What is printed: for every population and kind of
table, all epsilons and numbers of people together, the lowest coverage of any statistic; and the
smallest factor with which none is below 94%.
"""

from __future__ import annotations

import argparse
import zlib
from collections.abc import Sequence

import numpy as np

from benchmarks.coverage import EPSILONS, PEOPLE
from benchmarks.covering import SIZES, THRESHOLDS, Cell, grid, table, truths
from benchmarks.populations import CALIBRATION, Array
from benchmarks.reaching import ratios
from noutput.estimate.slack.intervals import Slack
from noutput.estimate.slack.threshold import FACTOR, thresholds

__all__ = ["main", "needed"]

FACTORS = np.arange(1.0, 1.61, 0.05)
WANTED = 0.94


def needed(cell: Cell, campaigns: int, *, level: float = 0.95, bins: int = 16) -> Array:
    """Return the factor that each statistic of each campaign needs, of shape (campaigns, B)."""
    rng = np.random.default_rng([zlib.crc32(cell.key.encode()), 1])
    mechanism = table(cell.objective, cell.epsilon)
    edges = np.linspace(-1.0, 1.0, bins + 1)
    limits = thresholds(level) / FACTOR
    rows = []
    for _ in range(campaigns):
        people = cell.draw(rng)
        chances = people.shares @ mechanism.probabilities(people.x)
        shares = rng.multinomial(cell.people, chances / chances.sum()) / cell.people
        found = Slack(mechanism, shares, float(cell.people), level, [*edges, *THRESHOLDS])
        checks = truths(found.places, people, [*THRESHOLDS, *edges[1:-1]], edges)
        goals = [side for check in checks for side in (check.goal.upper, -check.goal.lower)]
        targets = [side for check in checks for side in (check.most, -check.least)]
        jumps = ratios(found.fit, np.array(goals[2:]), np.array(targets[2:]), limits)
        mean = ratios(found.fit, np.array(goals[:2]), np.array(targets[:2]), limits, replaced=0.0)
        factors = np.append(mean, jumps)
        rows.append(factors.reshape(-1, 2).max(axis=1))
    return np.array(rows)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the lowest coverage for every factor."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--campaigns", type=int, default=40)
    parser.add_argument("--populations", nargs="*", default=list(CALIBRATION))
    parser.add_argument("--epsilons", nargs="*", type=float, default=EPSILONS)
    parser.add_argument("--people", nargs="*", type=int, default=PEOPLE)
    parser.add_argument("--level", type=float, default=0.95)
    chosen = parser.parse_args(arguments)
    print(f"{'lowest coverage with a factor of':<40}", *(f"{each:5.2f}" for each in FACTORS))
    lowest = np.ones(len(FACTORS))
    for population in chosen.populations:
        cells = grid([population], chosen.epsilons, chosen.people)
        for objective in SIZES:
            parts = [
                needed(cell, chosen.campaigns, level=chosen.level)
                for cell in cells
                if cell.objective == objective
            ]
            found = np.vstack(parts)
            covered = np.array([(found <= each).mean(axis=0).min() for each in FACTORS])
            lowest = np.minimum(lowest, covered)
            name = f"{population}, {objective} ({len(found)} campaigns)"
            print(f"{name:<40}", *(f"{each:5.3f}" for each in covered), flush=True)
    print(f"{'all':<40}", *(f"{each:5.3f}" for each in lowest))
    enough = FACTORS[lowest >= WANTED - (0.95 - chosen.level)]
    print("smallest factor:", f"{enough[0]:.2f}" if enough.size else f"above {FACTORS[-1]:.2f}")


if __name__ == "__main__":
    main()
