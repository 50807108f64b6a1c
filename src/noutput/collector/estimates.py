"""What the counts of a campaign say, computed once for every state of the counts."""

from __future__ import annotations

import json
import math
import threading
import time
from collections import OrderedDict
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from noutput.campaign.text import format_instant
from noutput.estimate import histograms
from noutput.estimate.distribution import DistributionEstimate, estimate_distribution
from noutput.estimate.mean import estimate_mean
from noutput.interval import Interval

if TYPE_CHECKING:
    from noutput.campaign.attribute import Attribute
    from noutput.collector.clock import Clock
    from noutput.collector.metrics import Metrics
    from noutput.collector.store.directory import Entry
    from noutput.collector.store.interface import Store
    from noutput.estimate.channel import Array
    from noutput.mechanisms.table import TableMechanism
    from noutput.tally import Tally

__all__ = ["QUANTILES", "Estimates"]

QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
_METHOD = "gp"  # its draws are from the posterior, so their quantiles are intervals
_DRAWS = 200
_JOINED = 4  # bins of the distribution in one of the histogram
_KEPT = 256
_FRESH_SECONDS = 1.0
_REST = 10.0  # how much longer an answer is used than it took


@dataclass(slots=True)
class _Answer:
    """One answer, and the lock of whoever computes the next."""

    version: int = -1
    content: bytes = b""
    until: float = 0.0
    lock: threading.Lock = field(default_factory=threading.Lock)


class Estimates:
    """Estimates as JSON, kept by campaign and number of reports.

    Notes
    -----
    An answer is used for a second, or ten times as long as it took to compute, before the counts
    are read again, and ever after where they are the same. While one thread computes, others
    get the answer before; `as_of` says of when it is.
    """

    def __init__(self, store: Store, clock: Clock, metrics: Metrics) -> None:
        self._store = store
        self._clock = clock
        self._metrics = metrics
        self._answers: OrderedDict[tuple[int, str, int, float], _Answer] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, entry: Entry, bins: int, level: float) -> bytes:
        """Return the estimates of a campaign."""
        name = (entry.key, entry.state(self._clock()), bins, level)
        with self._lock:
            answer = self._answers.setdefault(name, _Answer())
            self._answers.move_to_end(name)
            if len(self._answers) > _KEPT:
                self._answers.popitem(last=False)
        if answer.content and time.monotonic() < answer.until:
            return answer.content
        if not answer.lock.acquire(blocking=not answer.content):
            return answer.content
        try:
            self._refresh(answer, entry, bins, level)
        finally:
            answer.lock.release()
        return answer.content

    def _refresh(self, answer: _Answer, entry: Entry, bins: int, level: float) -> None:
        start = time.monotonic()
        if answer.content and start < answer.until:
            return
        now = self._clock()
        counts = self._store.counts(entry.key)
        version = sum(counts.values())
        if version != answer.version:
            content = _compute(entry, counts, bins, level)
            content["as_of"] = format_instant(now)
            content["state"] = entry.state(now)
            answer.content = json.dumps(content, allow_nan=False).encode()
            answer.version = version
            self._metrics.estimates += 1
        end = time.monotonic()
        answer.until = end + max(_FRESH_SECONDS, _REST * (end - start))


def _compute(entry: Entry, counts: dict[int, int], bins: int, level: float) -> dict[str, Any]:
    campaign = entry.campaign
    pairs = zip(campaign.attributes, entry.layout.tallies(counts), strict=True)
    return {
        "campaign": campaign.id,
        "fingerprint": campaign.fingerprint,
        "epsilon": campaign.epsilon,
        "reports": sum(counts.values()),
        "level": level,
        "attributes": [
            {
                "name": attribute.name,
                "unit": attribute.unit,
                "lower": attribute.lower,
                "upper": attribute.upper,
                "reports": tally.total,
                **_one_attribute(entry.mechanism, attribute, tally, bins, level),
            }
            for attribute, tally in pairs
        ],
    }


def _one_attribute(
    mechanism: TableMechanism, attribute: Attribute, tally: Tally, bins: int, level: float
) -> dict[str, Any]:
    names = ("mean", "variance", "quantiles", "distribution", "histogram", "goodness_of_fit")
    if tally.total < 2:
        return dict.fromkeys(names)
    bounds = Interval(attribute.lower, attribute.upper)
    mean = estimate_mean(mechanism, tally, bounds)
    found = estimate_distribution(mechanism, tally, bins, _METHOD, bounds=bounds)
    # Equal counts get an equal answer.
    rng = np.random.default_rng([int(tally.fingerprint[:16], 16), tally.total])
    draws = found.draws(_DRAWS, rng)
    shares = np.array(QUANTILES)
    spread = _ends(histograms.variances(draws, found.edges), level)
    ends = zip(*_ends(histograms.quantiles(draws, found.edges, shares), level), strict=True)
    width = _JOINED if bins % _JOINED == 0 else 1
    return {
        "mean": {
            "value": mean.value,
            "standard_error": mean.standard_error,
            "interval": list(mean.interval(level)),
        },
        "variance": {"value": found.variance, "interval": spread},
        "quantiles": [
            {"share": share, "value": found.quantile(share), "interval": list(interval)}
            for share, interval in zip(QUANTILES, ends, strict=True)
        ],
        "distribution": _histogram(found, draws, level),
        "histogram": _histogram(found, draws, level, width),
        "goodness_of_fit": found.p_value if math.isfinite(found.p_value) else None,
    }


def _histogram(
    found: DistributionEstimate, draws: Array, level: float, width: int = 1
) -> dict[str, Any]:
    """Return the distribution with so many neighboring bins as one."""
    low, high = _ends(_join(draws, width), level)
    return {
        "edges": found.edges[::width].tolist(),
        "probabilities": _join(found.probabilities[None, :], width)[0].tolist(),
        "lower": low,
        "upper": high,
        "method": found.method,
    }


def _join(rows: Array, width: int) -> Array:
    result: Array = rows.reshape(len(rows), -1, width).sum(axis=2)
    return result


def _ends(values: Array, level: float) -> list[Any]:
    """Return between which numbers the given share of the draws lies."""
    ends: list[Any] = np.quantile(values, [0.5 - level / 2.0, 0.5 + level / 2.0], axis=0).tolist()
    return ends
