"""Compared with the peers.

Each peer is measured with its mechanism nearest to ours, called as its documentation says,
alternating with ours. Diffprivlib and OpenDP add Laplace noise to a number. Pure-ldp,
multi-freq-ldpy and ldp-toolbox support only categories, and report one of 64 bins by direct
encoding. All estimates are made from the same reports: as lists for the peers, which count lists
fastest, and as an array for us. The peers' estimate counts the reports and inverts the mechanism.
It is compared with our estimate of the same kind ("shares"), and with em, a better estimate that
takes a thousand iterations or more, which matter most where few reports have to be counted. Slow
peers get fewer values; times are per value.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from functools import partial

import numpy as np
from numpy.typing import NDArray

from benchmarks.measure import Case, best_seconds
from benchmarks.peers.client import Peers, start
from noutput.designs.design import design
from noutput.estimate.distribution import estimate_distribution
from noutput.mechanisms.binning import norm_sub
from noutput.mechanisms.direct_encoding import DirectEncoding
from noutput.tally import Tally

__all__ = ["cases", "found"]

_TURNS = 5
_VALUES = 10_000_000
_PEER_SIZE = 100_000
_SIZES = (100_000, 1_000_000)  # reports, as in `benchmarks.peers.worker`
_REPORTS = _SIZES[-1]
_BINS = 64
_NUMERICAL = {"diffprivlib", "opendp"}
_FASTER = "times as fast"
found: dict[str, tuple[str, str]] = {}  # version and mechanism, or why it could not be measured


def cases() -> Iterator[Case]:
    """Measure ours and theirs in turns."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-1.0, 1.0, _VALUES)
    encoding = DirectEncoding(1.0, _BINS)
    people = np.clip(rng.normal(0.1, 0.3, _REPORTS), -1.0, 1.0)
    reports = encoding.privatize(people, rng)
    bins = rng.integers(0, _BINS, _PEER_SIZE)
    with start(x[:_PEER_SIZE].tolist(), bins.tolist(), reports.tolist()) as peers:
        for name, facts in peers.found.items():
            if "error" in facts:
                found[name] = ("not measured", facts["error"])
            else:
                found[name] = (facts["version"], facts["what"])
        yield from _sampling(peers, x)
        yield from _estimates(peers, encoding, reports)


def _in_turns(
    peers: Peers, task: str, action: Callable[[], object]
) -> tuple[float, dict[str, float]]:
    """Return the best time of our action, and that of the task of every peer that has it."""
    ours, theirs = math.inf, dict.fromkeys(peers.able(task), math.inf)
    for _ in range(_TURNS):
        ours = min(ours, best_seconds(action, 1))
        for name, best in theirs.items():
            theirs[name] = min(best, peers.seconds(name, task))
    return ours, theirs


def _sampling(peers: Peers, x: NDArray[np.float64]) -> Iterator[Case]:
    table = design(1.0, 16, "worst").mechanism
    whole, theirs = _in_turns(peers, "privatize", lambda: table.privatize(x))
    ours = whole / x.size
    for name, seconds in theirs.items():
        detail = f"{seconds * 1e9:,.0f} ns per value; ours {ours * 1e9:.1f} ns"
        yield Case(f"privatize, against {name}", seconds / ours, 20.0, _FASTER, True, detail)
    numerical = {name: seconds for name, seconds in theirs.items() if name in _NUMERICAL}
    if numerical:
        fastest = min(numerical, key=numerical.__getitem__)
        label = "privatize, against the fastest for numbers"
        yield Case(label, numerical[fastest] / ours, 4.0, _FASTER, True, fastest)


def _estimates(
    peers: Peers, encoding: DirectEncoding, reports: NDArray[np.uint16]
) -> Iterator[Case]:
    for size in _SIZES:
        some = reports[:size]
        for task, label, action in (
            ("estimate", "64 shares", _shares),
            ("estimate", "64 bins, em,", partial(_fit, "em")),
            ("likelihood", "64 bins, mle,", partial(_fit, "mle")),
        ):
            ours, theirs = _in_turns(peers, f"{task} {size}", partial(action, encoding, some))
            for name, seconds in theirs.items():
                title = f"{label} from 10^{round(math.log10(size))} reports, against {name}"
                detail = f"{seconds * 1e3:.1f} ms; ours {ours * 1e3:.2f} ms"
                yield Case(title, seconds / ours, 10.0, _FASTER, True, detail)


def _shares(encoding: DirectEncoding, reports: NDArray[np.uint16]) -> None:
    norm_sub(encoding.estimate(Tally.of(encoding, reports).counts, reports.size))


def _fit(method: str, encoding: DirectEncoding, reports: NDArray[np.uint16]) -> None:
    estimate_distribution(encoding, Tally.of(encoding, reports), _BINS, method)
