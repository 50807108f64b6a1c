"""Counters in the text format of Prometheus; none names a client.

Those of single campaigns and alarms are for operators: see `Metrics.render`.
"""

from __future__ import annotations

import sys
from bisect import bisect_left
from collections import Counter
from itertools import accumulate
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["METRICS_TYPE", "Metrics"]

METRICS_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_BOUNDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5)


class Metrics:
    """What one collector process did since it started; of campaigns, what was counted before, too.

    Examples
    --------
    >>> metrics = Metrics()
    >>> metrics.commit(0.004, accepted=3, repeated=1)
    >>> "noutput_reports_accepted_total 3" in metrics.render()
    True
    """

    def __init__(self) -> None:
        self.accepted = 0
        self.repeated = 0
        self.failed_commits = 0
        self.queued = 0
        self.estimates = 0
        self.refused: Counter[str] = Counter()
        self.refused_reports: Counter[str] = Counter()
        self._campaigns: Counter[str] = Counter()
        self._rounds: dict[str, Counter[int]] = {}
        self._alarms: Counter[str] = Counter()
        self._alarm_times: dict[str, float] = {}
        self._commits = [0] * (len(_BOUNDS) + 1)
        self._commit_seconds = 0.0

    def commit(self, seconds: float, *, accepted: int, repeated: int) -> None:
        """Note a transaction that was committed."""
        self.accepted += accepted
        self.repeated += repeated
        self._commits[bisect_left(_BOUNDS, seconds)] += 1
        self._commit_seconds += seconds

    def stored(self, campaign: str, reports: int, rounds: Mapping[int, int]) -> None:
        """Note what the database had of a campaign when the process started, also by round.

        Examples
        --------
        >>> metrics = Metrics()
        >>> metrics.stored("commute", 1500, {4: 200})
        >>> metrics.campaign("commute", 10)
        >>> 'noutput_campaign_reports_total{campaign="commute"} 1510' in metrics.render()
        True
        """
        self._campaigns[campaign] += reports
        if rounds:
            self._rounds.setdefault(campaign, Counter()).update(rounds)

    def campaign(self, campaign: str, accepted: int) -> None:
        """Note reports of a campaign that were counted."""
        self._campaigns[campaign] += accepted

    def rounds(self, campaign: str, sizes: Mapping[int, int], accepted: int, over: int) -> None:
        """Note reports of a campaign that were counted, by their rounds.

        Parameters
        ----------
        campaign : str
        sizes : mapping
            How many reports of a request name each round.
        accepted : int
            How many of all of them were counted. Where others had been counted before, nobody
            remembers which: then the rounds share these in proportion.
        over : int
            How many rounds are over; nothing is kept about them.

        Examples
        --------
        >>> metrics = Metrics()
        >>> metrics.rounds("commute", {3: 10, 4: 20}, accepted=15, over=3)
        >>> 'noutput_round_reports_total{campaign="commute",round="4"} 10' in metrics.render()
        True
        """
        known = self._rounds.setdefault(campaign, Counter())
        left, size = accepted, sum(sizes.values())
        for number, reports in sorted(sizes.items()):
            mine = left * reports // size if size else 0
            known[number] += mine
            left, size = left - mine, size - reports
        for number in [each for each in known if each < over]:
            del known[number]

    def alarm(self, campaign: str, kind: str, moment: float) -> None:
        """Note an alarm of a campaign, raised at a moment (seconds since 1970)."""
        label = f'{{campaign="{campaign}",kind="{kind}"}}'
        self._alarms[label] += 1
        self._alarm_times[label] = moment

    def render(self, *, campaigns: bool = True) -> str:
        """Return everything as text, with or without what is told of single campaigns."""
        lines: list[str] = []

        def put(name: str, kind: str, help_: str, *samples: tuple[str, float]) -> None:
            lines.append(f"# HELP noutput_{name} {help_}")
            lines.append(f"# TYPE noutput_{name} {kind}")
            lines.extend(f"noutput_{name}{label} {value}" for label, value in samples)

        put("reports_accepted_total", "counter", "Reports that were counted.", ("", self.accepted))
        put("reports_repeated_total", "counter", "Reports that had been counted before.",
            ("", self.repeated))  # fmt: skip
        refused = [(f'{{problem="{name}"}}', n) for name, n in sorted(self.refused.items())]
        put("requests_refused_total", "counter", "Requests refused, by problem.", *refused)
        limited = [(f'{{limit="{name}"}}', n) for name, n in sorted(self.refused_reports.items())]
        put("reports_refused_total", "counter", "Reports beyond a limit, by limit.", *limited)
        if campaigns:
            counted = [(f'{{campaign="{name}"}}', n) for name, n in self._campaigns.items()]
            put("campaign_reports_total", "counter", "Reports counted, by campaign.",
                *sorted(counted))  # fmt: skip
            rounds = [
                (f'{{campaign="{name}",round="{number}"}}', n)
                for name, known in sorted(self._rounds.items())
                for number, n in sorted(known.items())
            ]
            put("round_reports_total", "counter", "Reports counted, by round; of rounds not over.",
                *rounds)  # fmt: skip
            put("alarms_total", "counter", "Alarms, by campaign and kind.",
                *sorted(self._alarms.items()))  # fmt: skip
            put("alarm_timestamp_seconds", "gauge", "When the last alarm of a kind was raised.",
                *sorted(self._alarm_times.items()))  # fmt: skip
        put("commits_failed_total", "counter", "Transactions that failed.",
            ("", self.failed_commits))  # fmt: skip
        put("estimates_computed_total", "counter", "Estimates not answered from memory.",
            ("", self.estimates))  # fmt: skip
        put("queued_reports", "gauge", "Reports that wait for their commit.", ("", self.queued))
        put("resident_memory_peak_bytes", "gauge", "Largest resident memory.", ("", _peak()))
        sums = list(accumulate(self._commits))
        bounds = [*(f"{bound:g}" for bound in _BOUNDS), "+Inf"]
        buckets = [(f'_bucket{{le="{bound}"}}', n) for bound, n in zip(bounds, sums, strict=True)]
        put("commit_seconds", "histogram", "Time of a transaction, durable commit included.",
            *buckets, ("_sum", round(self._commit_seconds, 6)), ("_count", sums[-1]))  # fmt: skip
        return "\n".join(lines) + "\n"


def _peak() -> int:
    if sys.platform == "win32":
        return 0
    import resource

    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
