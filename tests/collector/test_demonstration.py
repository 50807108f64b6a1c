from __future__ import annotations

import math
from datetime import timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np

from noutput.campaign.campaign import Table
from noutput.campaign.text import parse_instant
from noutput.collector.clock import system_clock
from noutput.collector.demonstration import QUESTIONS, commuters, demonstrate
from noutput.questions import Answers
from tests.campaign.examples import answer_table
from tests.tables import window_table


def tables() -> list[Table]:
    return [
        answer_table(1.0, each.n_answers)
        if isinstance(each, Answers)
        else window_table(1.0, 5, 7, 0.4).plain
        for each in QUESTIONS
    ]


def test_people_arrive_over_time(tmp_path: Path, rng: np.random.Generator) -> None:
    people, behind = commuters(6_000, rng), 3_600
    begun = system_clock()
    mechanism = window_table(1.0, 5, 7, 0.4)
    with demonstrate(tmp_path, tables(), behind=behind) as shown:
        counted = list(shown.arrive(people))
        assert counted == sorted(counted)
        assert counted[-1] == sum(each.total for each in shown.tallies()) == 6_000
        assert shown.clock.seconds_behind == 0.0
        row = shown.collector.store.campaign(shown.campaign.id)
        assert row is not None
        assert parse_instant("created", row.created) < begun - timedelta(seconds=behind - 60)
        known = shown.collector.store.history(row.key)
    assert {each.question for each in known} == {0, 1, 2, 3}
    notes = [each for each in known if each.question == 0]
    instants = [parse_instant("at", each.at) for each in notes]
    assert 4 <= len(notes) <= 6  # about 1,500 reports on each question, in steps of 250 or more
    assert all(later.reports - earlier.reports >= 250 for earlier, later in pairwise(notes))
    assert instants == sorted(instants)
    assert instants[-1] - instants[0] > timedelta(seconds=0.6 * behind)
    # the first intervals may be cut at the bounds, so only the last one has a width that is known
    error = math.sqrt((mechanism.worst_variance() + 1.0) / notes[-1].reports) * 90.0
    assert notes[-1].high - notes[-1].low < 5.0 * error


def test_two_people_arrive(tmp_path: Path, rng: np.random.Generator) -> None:
    with demonstrate(tmp_path, tables(), behind=1.0) as shown:
        assert list(shown.arrive(commuters(2, rng))) == [2]
