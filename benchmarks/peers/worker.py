"""Runs the peers' own code, in their environment; needs nothing of this project.

Reads one request a line, ``{"peer": ..., "task": ...}``, and answers with one JSON line:
``{"seconds": ..., "count": ...}``. The first line it writes says which peers there are.
"""

from __future__ import annotations

import json
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Any

Task = tuple[int, Callable[[], object]]
EPSILON = 1.0
BINS = 64
SIZES = (100_000, 1_000_000)  # reports that an estimate is made from


@dataclass(frozen=True)
class Data:
    """Numbers of [-1, 1], bins, and reports of direct encoding: what all peers work on."""

    values: list[float]
    bins: list[int]
    reports: list[int]


def estimates(task: str, data: Data, action: Callable[[list[int]], object]) -> dict[str, Task]:
    """Return one task for every number of reports."""
    return {f"{task} {size}": (1, partial(action, data.reports[:size])) for size in SIZES}


def pure_ldp(data: Data) -> dict[str, Task]:
    """Direct encoding, one value per call; the server counts one report per call."""
    oracle = import_module("pure_ldp.frequency_oracles.direct_encoding")
    client = oracle.DEClient(EPSILON, BINS, index_mapper=int)

    def estimate(reports: list[int]) -> object:
        server = oracle.DEServer(EPSILON, BINS, index_mapper=int)
        server.aggregate_all(reports)
        return server.estimate_all(range(BINS), suppress_warnings=True)

    return {
        "privatize": (len(data.bins), lambda: [client.privatise(value) for value in data.bins]),
        **estimates("estimate", data, estimate),
    }


def multi_freq_ldpy(data: Data) -> dict[str, Task]:
    """Generalized randomized response, compiled by numba, one value per call."""
    oracle = import_module("multi_freq_ldpy.pure_frequency_oracles.GRR")
    return {
        "privatize": (
            len(data.bins),
            lambda: [oracle.GRR_Client(v, BINS, EPSILON) for v in data.bins],
        ),
        **estimates("estimate", data, lambda r: oracle.GRR_Aggregator_MI(r, BINS, EPSILON)),
        **estimates("likelihood", data, lambda r: oracle.GRR_Aggregator_IBU(r, BINS, EPSILON)),
    }


def ldp_toolbox(data: Data) -> dict[str, Task]:
    """Generalized randomized response, compiled by numba, one value per call."""
    module = import_module("ldp_toolbox.protocols.frequency.grr")
    oracle = module.GeneralizedRandomizedResponse(BINS, EPSILON)
    return {
        "privatize": (len(data.bins), lambda: [oracle.obfuscate(value) for value in data.bins]),
        **estimates("estimate", data, oracle.estimate),
    }


def diffprivlib(data: Data) -> dict[str, Task]:
    """Laplace noise for a number of [-1, 1], one value per call."""
    module = import_module("diffprivlib.mechanisms")
    mechanism = module.Laplace(epsilon=EPSILON, sensitivity=2.0)
    some = data.values[:5_000]
    return {"privatize": (len(some), lambda: [mechanism.randomise(value) for value in some])}


def opendp(data: Data) -> dict[str, Task]:
    """Laplace noise for numbers of [-1, 1], a vector at once, in steps of 2^-40.

    With its default step of 2^-1074 a value takes five times as long.
    """
    dp = import_module("opendp.prelude")
    dp.enable_features("contrib")
    some = data.values[:10_000]
    domain = dp.vector_domain(dp.atom_domain(T=float, nan=False), size=len(some))
    noise = dp.m.make_laplace(domain, dp.l1_distance(T=float), scale=2.0 / EPSILON, k=-40)
    return {"privatize": (len(some), lambda: noise(some))}


PEERS = {
    "pure-ldp": pure_ldp,
    "multi-freq-ldpy": multi_freq_ldpy,
    "ldp-toolbox": ldp_toolbox,
    "diffprivlib": diffprivlib,
    "opendp": opendp,
}


def main() -> None:
    """Load every peer, say what loaded, then serve requests until the input ends."""
    warnings.simplefilter("ignore")
    data = Data(**json.loads(sys.stdin.readline()))
    tasks: dict[str, dict[str, Task]] = {}
    found: dict[str, dict[str, Any]] = {}
    for name, load in PEERS.items():
        try:
            tasks[name] = load(data)
            for _, action in tasks[name].values():
                action()  # compiles, and fails here if at all
            what = str(load.__doc__).splitlines()[0].rstrip(".")
            found[name] = {"version": version(name), "what": what, "tasks": sorted(tasks[name])}
        except Exception as error:  # noqa: BLE001 (whatever it is, it is reported)
            found[name] = {"error": f"{type(error).__name__}: {error}".splitlines()[0]}
    print(json.dumps(found), flush=True)
    for line in sys.stdin:
        request = json.loads(line)
        count, action = tasks[request["peer"]][request["task"]]
        start = time.perf_counter()
        action()
        print(json.dumps({"seconds": time.perf_counter() - start, "count": count}), flush=True)


if __name__ == "__main__":
    main()
