"""The run of a scenario: worker processes compute its units, and a file collects them."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from typing import TYPE_CHECKING, Any, TypeAlias

from noutput._progress import shown_progress
from noutput.evaluation import datasets, own_data, scenarios, work
from noutput.evaluation.provenance import commit
from noutput.evaluation.unit_file import UnitFile
from noutput.evaluation.units import WORST_CASE, describe, identity, units

if TYPE_CHECKING:
    from pathlib import Path

    from noutput._progress import Progress
    from noutput.evaluation.datasets import Dataset
    from noutput.evaluation.scenarios import Scenario
    from noutput.evaluation.units import Unit
    from noutput.evaluation.work import Measures
    from noutput.mechanisms.base import Mechanism

__all__ = ["FinishedRun", "Stopped", "execute"]

Mechanisms: TypeAlias = dict[tuple[str, float], "Mechanism"]

_THREADS = (
    "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "VECLIB_MAXIMUM_THREADS",
)  # fmt: skip


class Stopped(KeyboardInterrupt):
    """Somebody stopped the work; what was finished is kept."""


@dataclass(frozen=True)
class FinishedRun:
    """Everything that a scenario produced.

    Parameters
    ----------
    scenario : Scenario
    datasets : dict
        By name.
    mechanisms : dict
        By name and epsilon.
    bounds : dict
        A lower bound of the worst-case variance for every epsilon of the second figure.
    measures : dict
        For every cell and measure, one number per run, in their order.
    commits : set of str
        Which commits computed them.
    """

    scenario: Scenario
    datasets: dict[str, Dataset]
    mechanisms: Mechanisms
    bounds: dict[float, float]
    measures: dict[tuple[str, str, str, float], Measures]
    commits: frozenset[str | None]


def execute(
    scenario: Scenario,
    path: Path,
    jobs: int = 1,
    progress: Progress | None = None,
    warn: Callable[[str], None] = lambda _text: None,
) -> FinishedRun:
    """Compute what the file lacks, and return everything.

    Parameters
    ----------
    scenario : Scenario
    path : path
        The file of finished units.
    jobs : int
        How many processes work. The results do not depend on it.
    progress : callable, optional
        Called with the share of the work that is done; where it is None, a bar shows it in
        terminals and notebooks.
    warn : callable
        Called before any work is done, with what is unusual about the datasets.

    Raises
    ------
    MissingDataError
        If a dataset is needed and is nowhere.
    Stopped
        If somebody interrupts; calling again continues.
    """
    needed = scenario.datasets if "collection" in scenario.tasks else ()
    own = {file.name: file for file in scenario.own}
    data = {
        name: own_data.read(own[name]) if name in own else datasets.load(name, scenario.folder)
        for name in needed
    }
    for found in data.values():
        if found.difference:
            warn(found.difference)
    with (
        UnitFile(path) as finished,
        _pool(jobs, data) as pool,
        shown_progress("Reproducing", progress) as report,
    ):
        mechanisms = _mechanisms(scenario, pool)
        bounds = _bounds(scenario, pool)
        facts = {
            unit: describe(unit, data.get(unit.dataset), mechanisms[unit.mechanism, unit.epsilon])
            for unit in units(scenario)
        }
        named = {unit: identity(known) for unit, known in facts.items()}
        missing = [unit for unit, name in named.items() if name not in finished]
        seconds = {unit: unit.seconds(data.get(unit.dataset)) for unit in missing}
        missing.sort(key=lambda unit: -seconds[unit])  # the last ones to finish shall be short
        tasks = {
            pool.submit(_compute, unit, mechanisms[unit.mechanism, unit.epsilon]): unit
            for unit in missing
        }
        here, done = commit(), 0.0
        report(0.0)
        for unit, measures in _finished(tasks):
            finished.add(named[unit], facts[unit], measures, here)
            done += seconds[unit]
            report(done / sum(seconds.values()))
        finished.arrange()
        return FinishedRun(
            scenario,
            data,
            mechanisms,
            bounds,
            _merge({unit: finished.measures(name) for unit, name in named.items()}),
            frozenset(finished.commit(name) for name in named.values()),
        )


@contextmanager
def _pool(jobs: int, data: dict[str, Dataset]) -> Iterator[ProcessPoolExecutor]:
    """Give fresh processes with one thread each, whatever the parent has; also for one job.

    The sums of a matrix product depend on the number of its threads, and results shall not.
    """
    before = {name: os.environ.get(name) for name in _THREADS}
    os.environ.update(dict.fromkeys(_THREADS, "1"))
    try:
        with ProcessPoolExecutor(jobs, get_context("spawn"), _prepare, (data,)) as pool:
            try:
                yield pool
            except BaseException:
                pool.shutdown(wait=True, cancel_futures=True)
                raise
    except KeyboardInterrupt:
        raise Stopped from None
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


_data: dict[str, Dataset] = {}


def _prepare(data: dict[str, Dataset]) -> None:
    """Set up a worker: the parent decides what an interrupt means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    _data.update(data)


def _compute(unit: Unit, mechanism: Mechanism) -> Measures:
    return work.compute(
        unit, None if unit.dataset == WORST_CASE else _data[unit.dataset], mechanism
    )


def _finished(tasks: dict[Future[Measures], Unit]) -> Iterator[tuple[Unit, Measures]]:
    """Yield results as they come."""
    for future in as_completed(tasks):
        yield tasks[future], future.result()


def _mechanisms(scenario: Scenario, pool: ProcessPoolExecutor) -> Mechanisms:
    """Make every mechanism, several at a time: some are designed on demand."""
    wanted: dict[tuple[str, float], None] = {}
    for name in scenario.mechanisms:
        entry = scenarios.CONTENDERS[name]
        if scenario.tasks:
            wanted |= dict.fromkeys((name, epsilon) for epsilon in scenario.epsilons)
        if entry.for_means and "worst-case-variance" in scenario.figures:
            curve = scenario.curve if entry.curve is None else entry.curve
            wanted |= dict.fromkeys((name, each) for each in scenario.curve if each in curve)
    names = [name for name, _ in wanted]
    epsilons = [epsilon for _, epsilon in wanted]
    return dict(zip(wanted, pool.map(scenarios.make, names, epsilons), strict=True))


def _bounds(scenario: Scenario, pool: ProcessPoolExecutor) -> dict[float, float]:
    if "worst-case-variance" not in scenario.figures:
        return {}
    return dict(zip(scenario.curve, pool.map(scenarios.bound, scenario.curve), strict=True))


def _merge(found: dict[Unit, Measures]) -> dict[tuple[str, str, str, float], Measures]:
    """Put the runs of every cell in their order."""
    merged: dict[tuple[str, str, str, float], Measures] = {}
    for unit in sorted(found, key=lambda unit: (*unit.cell, unit.first)):
        cell: Any = merged.setdefault(unit.cell, {})
        for measure, values in found[unit].items():
            cell.setdefault(measure, []).extend(values)
    return merged
