from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from noutput import InvalidArgumentError, TableMechanism, Tally, estimate_mean, frames
from noutput.frames.reports import mark_reports
from tests.frames.conftest import BOUNDS, Backend
from tests.tables import window_table


def stored(mechanism: TableMechanism, indexes: Any) -> Any:
    """Return reports with these outputs about the column x; None is a gap."""
    first = int(mark_reports(np.zeros(1, np.uint8), "x", mechanism)[0])
    reports = [None if index is None else first + index for index in indexes]
    return pa.table({frames.report_name("x", mechanism): reports})


def test_counts(backend: Backend, five_outputs: TableMechanism) -> None:
    frame = backend.make(stored(five_outputs, [4, 0, 1, 1, None, 4, 4]))
    found = frames.tally(frame, "x", five_outputs)
    assert found == Tally(five_outputs.fingerprint, (1, 2, 0, 0, 3))


def test_several_columns(backend: Backend, people: Any, five_outputs: TableMechanism) -> None:
    made = frames.privatize(
        people, ["minutes", "rating"], mechanism=five_outputs, bounds=BOUNDS, skip_missing=True
    )
    found = frames.tally(backend.make(made), ["rating", "minutes"], five_outputs)
    assert list(found) == ["rating", "minutes"]
    for name, tally in found.items():
        reports = made[frames.report_name(name, five_outputs)].to_numpy()
        assert tally == Tally.of(five_outputs, reports % 1000)


def test_reports_of_another_mechanism_are_refused(
    backend: Backend, five_outputs: TableMechanism
) -> None:
    other = window_table(1.0, 5, 5, 0.4)
    frame = backend.make(stored(other, [0, 1, 2]))
    message = f"column 'x' must hold reports of the mechanism {five_outputs.fingerprint[:12]}"
    with pytest.raises(InvalidArgumentError, match=f"{message}; found 'reports of "):
        frames.tally(frame, "x", five_outputs)


def test_values_are_not_reports(backend: Backend, five_outputs: TableMechanism) -> None:
    frame = backend.make(pa.table({"x": [0, 1, 2]}))
    with pytest.raises(InvalidArgumentError, match=r"column 'x' must hold reports.*found 'values'"):
        frames.tally(frame, "x", five_outputs)
    with pytest.raises(InvalidArgumentError, match=r"columns must name reports.*found 'y'"):
        frames.tally(frame, "y", five_outputs)


@pytest.mark.parametrize(
    ("wrong", "rule"),
    [
        (5, r"end in 000 to 004; found 1\d{6}005"),
        (255, r"end in 000 to 004; found 1\d{6}255"),
        (-1, r"all be made by the mechanism \w{12} about this column"),
    ],
)
def test_impossible_reports_are_refused(
    ordered: Backend, wrong: int, rule: str, five_outputs: TableMechanism
) -> None:
    frame = ordered.make(stored(five_outputs, [0, wrong, 4]))
    with pytest.raises(InvalidArgumentError, match=f"reports of 'x' must {rule}"):
        frames.tally(frame, "x", five_outputs)


def test_indexes_without_a_mark_are_refused(backend: Backend, five_outputs: TableMechanism) -> None:
    """Nobody could say which mechanism made them."""
    frame = backend.make(pa.table({frames.report_name("x", five_outputs): [0, 1]}))
    with pytest.raises(InvalidArgumentError, match=r"be whole numbers of ten digits.*found [01]$"):
        frames.tally(frame, "x", five_outputs)


def test_only_whole_numbers_are_reports(ordered: Backend, five_outputs: TableMechanism) -> None:
    whole = ordered.make(stored(five_outputs, [0.0, 1.0, None]))
    assert frames.tally(whole, "x", five_outputs).counts == (1, 1, 0, 0, 0)
    with pytest.raises(InvalidArgumentError, match=r"whole numbers of ten digits.*found 1\d{9}.5"):
        frames.tally(ordered.make(stored(five_outputs, [0.0, 1.5])), "x", five_outputs)
    texts = pa.table({frames.report_name("x", five_outputs): ["0"]})
    with pytest.raises(InvalidArgumentError, match="reports of 'x' must be whole numbers"):
        frames.tally(ordered.make(texts), "x", five_outputs)


def test_all_256_outputs(backend: Backend) -> None:
    """Outputs above 127 must survive in engines without unsigned bytes."""
    mechanism = window_table(4.0, 256, 33, 0.3)
    table = pa.table({"x": np.linspace(-1.0, 1.0, 20_000)})
    reports = backend.rows(backend.privatize(table, "x", mechanism=mechanism))
    found = frames.tally(backend.make(reports), "x", mechanism)
    assert found.total == 20_000
    assert sum(found.counts[128:]) > 5_000


def test_the_mean_is_found(ordered: Backend, people: Any, five_outputs: TableMechanism) -> None:
    options: dict[str, Any] = {"mechanism": five_outputs, "bounds": {"minutes": (0, 180)}}
    frame = ordered.privatize(people, "minutes", seed=2, **options)
    estimate = estimate_mean(five_outputs, frames.tally(frame, "minutes", five_outputs))
    truth = np.mean(people["minutes"].to_numpy()) / 90.0 - 1.0
    assert abs(estimate.value - truth) < 4.0 * estimate.standard_error


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"columns": []}, "columns must name at least one"),
        ({"mechanism": None}, "mechanism must be a TableMechanism"),
        ({"layout": "tall"}, "layout must be one of"),
        ({"frame": 3}, "frame must be a pandas"),
        ({"layout": "long"}, "columns must name reports"),
    ],
)
def test_bad_arguments(
    arguments: dict[str, Any], message: str, five_outputs: TableMechanism
) -> None:
    defaults = {"frame": stored(five_outputs, [0]), "columns": "x", "mechanism": five_outputs}
    with pytest.raises(InvalidArgumentError, match=message):
        frames.tally(**(defaults | arguments))
