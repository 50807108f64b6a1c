from __future__ import annotations

import numpy as np
import pytest
from numpy.typing import NDArray

from noutput.designs.distribution import solve, training
from noutput.designs.distribution.error import expected_error
from noutput.designs.distribution.simulated import Schedule
from noutput.designs.distribution.unrolled import Batch, Errors, errors_and_gradient
from noutput.errors import InvalidArgumentError
from noutput.mechanisms.quantize import quantize
from noutput.mechanisms.table import TableMechanism

EDGES = np.linspace(-1.0, 1.0, 65)


def trained(epsilon: float, size: int, steps: int) -> TableMechanism:
    schedule = Schedule(steps=steps, collections=48, most_iterations=150)
    found = solve(epsilon, size, schedule=schedule)
    assert found.iterations == steps
    return quantize(epsilon, found.outputs, found.probabilities)


def test_training_helps() -> None:
    start, found = trained(1.0, 8, 0), trained(1.0, 8, 60)
    assert expected_error(found) < 0.95 * expected_error(start)


def test_shares_of_the_work_are_reported() -> None:
    shares: list[float] = []
    solve(2.0, 8, schedule=Schedule(steps=4, collections=8), progress=shares.append)
    assert shares == [0.25, 0.5, 0.75, 1.0]


@pytest.mark.parametrize(
    ("schedule", "fixed"),
    [(Schedule(2, collections=8), True), (Schedule(2, collections=8, tolerance="auto"), False)],
)
def test_collections_stop_at_the_rule_of_the_schedule(
    schedule: Schedule, fixed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    batches: list[Batch[np.float32]] = []

    def watched(
        transition: NDArray[np.float32], batch: Batch[np.float32], most_iterations: int
    ) -> tuple[Errors[np.float32], NDArray[np.float32]]:
        batches.append(batch)
        return errors_and_gradient(transition, batch, most_iterations)

    monkeypatch.setattr(training, "errors_and_gradient", watched)
    solve(2.0, 8, schedule=schedule)
    assert len(batches) == 2  # one per step
    for batch in batches:
        wanted = np.full(len(batch.people), 1e-5) if fixed else 0.01 / batch.people
        assert batch.tolerances == pytest.approx(wanted, rel=1e-6)


@pytest.mark.parametrize("tolerance", ["fast", 0.0, -1e-5])
def test_other_rules_are_refused(tolerance: float | str) -> None:
    with pytest.raises(InvalidArgumentError, match="tolerance"):
        Schedule(steps=2, tolerance=tolerance)


@pytest.mark.parametrize(("epsilon", "size"), [(0.05, 8), (0.3, 17), (12.0, 9), (3.0, 100)])
def test_tables_have_one_row_a_bin_and_are_unbiased(epsilon: float, size: int) -> None:
    table = trained(epsilon, size, 1)
    assert table.epsilon == epsilon
    assert table.n_outputs == size
    assert table.knots[::2] == pytest.approx(EDGES[:-1], abs=1e-6)
    assert np.diff(table.knots[1:-1])[::2].max() < 5e-6
    inside = (EDGES[:-1] + EDGES[1:]) / 2.0 + np.linspace(-0.015, 0.015, 64)
    assert np.abs(table.probabilities(inside) - table.transition(64)).sum(axis=1).max() < 0.1
    assert table.probabilities(inside) @ table.outputs == pytest.approx(inside, abs=1e-9)
