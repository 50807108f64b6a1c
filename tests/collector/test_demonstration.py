from __future__ import annotations

import math
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np

from noutput.campaign.text import parse_instant
from noutput.collector.clock import system_clock
from noutput.collector.demonstration import demonstrate
from noutput.interval import Interval
from tests.tables import window_table


def test_people_arrive_over_time(tmp_path: Path, rng: np.random.Generator) -> None:
    minutes, behind = rng.uniform(0.0, 180.0, 2_000), 3_600
    begun = system_clock()
    mechanism = window_table(1.0, 5, 7, 0.4)
    with demonstrate(tmp_path, mechanism, Interval(0, 180), behind=behind) as shown:
        counted = list(shown.arrive(minutes))
        assert counted == sorted(counted)
        assert counted[-1] == shown.tally().total == 2_000
        assert shown.clock.seconds_behind == 0.0
        row = shown.collector.store.campaign(shown.campaign.id)
        assert row is not None
        assert parse_instant("created", row.created) < begun - timedelta(seconds=behind - 60)
        notes = shown.collector.store.history(row.key)
    instants = [parse_instant("at", each.at) for each in notes]
    assert len(notes) >= 20
    assert instants == sorted(instants)
    assert instants[-1] - instants[0] > timedelta(seconds=0.9 * behind)
    assert all(earlier.reports < later.reports for earlier, later in pairwise(notes))
    # the first intervals may be cut at the bounds, so only the last one has a width that is known
    error = math.sqrt((mechanism.worst_variance() + 1.0) / 2_000) * 90.0
    assert notes[-1].high - notes[-1].low < 5.0 * error


def test_two_people_arrive(tmp_path: Path) -> None:
    mechanism = window_table(1.0, 5, 7, 0.4)
    with demonstrate(tmp_path, mechanism, Interval(0, 180), behind=1.0) as shown:
        assert list(shown.arrive(np.array([1.0, 2.0]))) == [2]
