"""A fixed piece of work for the instruction counter: ``python workload.py ACTION TIMES``.

Every action runs once, so that all is loaded and built; then the named one runs again some times.
Nothing here depends on the clock, on the machine or on secure randomness.
"""

from __future__ import annotations

import sys
from collections.abc import Callable

import numpy as np

from noutput.estimate.em import maximize
from noutput.mechanisms.table import TableMechanism
from noutput.tally import Tally

SIZE = 1 << 16  # values, reports, words
DRAWS = 1 << 8  # one at a time
ITERATIONS = 96
OUTPUTS = 16
KNOTS = 33


def example_table() -> TableMechanism:
    """Return a table of 16 outputs and 33 knots; its outputs get likelier linearly."""
    tilt = np.linspace(-1.0, 1.0, KNOTS)[:, None] * np.linspace(-1.0, 1.0, OUTPUTS)
    weights = np.rint((1.0 + 0.4 * tilt) / OUTPUTS * 2.0**32).astype(np.int64)
    weights[:, 0] += (1 << 32) - weights.sum(axis=1)
    values = np.linspace(-1.0, 1.0, OUTPUTS)
    first, last = weights[[0, -1]] / 2.0**32 @ values
    outputs = (values - (first + last) / 2.0) * 2.0 / (last - first)
    return TableMechanism(1.0, outputs, weights)


def make_actions() -> dict[str, Callable[[], object]]:
    """Return the actions by name; "floor" is what the others are compared with."""
    table = example_table()
    device = table.plain
    rng = np.random.default_rng(1)
    x = rng.uniform(-1.0, 1.0, SIZE)
    numbers = np.empty(SIZE)
    reports = table.privatize(x, rng)
    words = rng.integers(0, 1 << 62, DRAWS).tolist()
    shares = np.bincount(reports, minlength=OUTPUTS)[None, :] / SIZE
    theta = table.transition(64)
    never = np.zeros(1)
    return {
        "floor": lambda: rng.random(out=numbers),
        "privatize": lambda: table.privatize(x, rng),
        "tally": lambda: Tally.of(table, reports),
        "em": lambda: maximize(shares, theta, never, max_iterations=ITERATIONS),
        "device": lambda: [device.draw(0.3, word) for word in words],
    }


def main(name: str, times: int) -> None:
    """Run everything once, and one action some more times."""
    actions = make_actions()
    for action in actions.values():
        action()
    for _ in range(times):
        actions[name]()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
