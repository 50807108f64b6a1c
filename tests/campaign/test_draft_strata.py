from __future__ import annotations

import re
from datetime import UTC, datetime

import pytest

from noutput.campaign import Schedule, Segments
from noutput.campaign.draft import CampaignDraft
from noutput.errors import InvalidArgumentError
from tests.campaign.examples import answer_table

HEAD = """
id = "weekly"
title = "Weekly"
text = "How was it?"
epsilon = 1.5
opens = 2026-03-01T00:00:00Z
closes = 2026-04-01T00:00:00Z

[[questions]]
name = "late"
kind = "yes/no"
"""
SEGMENTS = """
[segments]
platform = ["ios", "web"]
version = ["4.1", "4.2", "other"]
"""
SCHEDULE = """
[schedule]
every = "day"
rounds_per_period = 7
"""


def test_segments_and_schedule_are_read() -> None:
    draft = CampaignDraft.from_toml(HEAD + SEGMENTS + SCHEDULE)
    names = (("platform", ("ios", "web")), ("version", ("4.1", "4.2", "other")))
    assert draft.parts["segments"] == Segments(names)
    assert draft.parts["schedule"] == Schedule("day", 7)
    assert draft.designs[0]["epsilon"] == 1.5
    campaign = draft.campaign([answer_table(1.5, 2)])
    assert campaign.closes == datetime(2026, 4, 5, tzinfo=UTC)
    (note,) = draft.notes
    assert note.startswith("The campaign closes at 2026-04-05T00:00:00Z, the end of a period: not")


def test_a_closing_that_fits_stays() -> None:
    draft = CampaignDraft.from_toml(HEAD.replace("04-01", "03-29") + SCHEDULE)
    assert draft.parts["closes"] == datetime(2026, 3, 29, tzinfo=UTC)
    assert draft.notes == ()


def test_without_them_nothing_changes() -> None:
    draft = CampaignDraft.from_toml(HEAD)
    assert (draft.parts["segments"], draft.parts["schedule"], draft.notes) == (None, None, ())


def test_epsilon_is_the_loss_per_period() -> None:
    more = HEAD + "epsilon = 0.6\n" + SCHEDULE + "answers = 3\ngrace = 60\n"
    draft = CampaignDraft.from_toml(more + HEAD[HEAD.index("[[") :].replace("late", "early"))
    assert [design["epsilon"] for design in draft.designs] == [0.6 / 3, 0.5]
    assert draft.parts["questions"][0].epsilon == 0.6 / 3
    assert draft.parts["schedule"] == Schedule("day", 7, 3, 60)


def test_the_minimum_is_part_of_the_segments() -> None:
    draft = CampaignDraft.from_toml(HEAD + SEGMENTS + "minimum = 1000\n")
    assert draft.parts["segments"].minimum == 1000


BAD = [
    ("segments = 3\n" + HEAD, "segments must be a table, headed [segments]"),
    (HEAD + "[segments]\nplatform = ['ios']", "segments.names[0].labels must be a list of 2"),
    (HEAD + "[segments]\nminimum = 500", "segments.names must have from 1 to 8 names; found 0"),
    (HEAD + SEGMENTS + "minimum = 5", "segments.minimum must be a whole number from 100"),
    ("schedule = 'weekly'\n" + HEAD, "schedule must be a table, headed [schedule]"),
    (HEAD + "[schedule]\nevery = 'day'", "schedule.rounds_per_period must be given"),
    (HEAD + SCHEDULE + "answer = 3", "key schedule.answer must be 'answers'"),
    (HEAD + SCHEDULE + "answers = 8", "schedule.answers must be a whole number from 1 to 7"),
    (HEAD + "epsilon = 'x'" + SCHEDULE, "questions[0].epsilon must be a p"),
]


@pytest.mark.parametrize(("text", "message"), BAD, ids=range(len(BAD)))
def test_errors_name_the_key_and_the_rule(text: str, message: str) -> None:
    with pytest.raises(InvalidArgumentError, match=re.escape(message)):
        CampaignDraft.from_toml(text)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("2026-04-01", "2026-02-01", "closes must be later than opens"),
        ("2026-04-01T00:00:00Z", "9999-12-31T00:00:00Z", "schedule must have at most 5000 rounds"),
    ],
)
def test_a_closing_that_cannot_be_moved_is_refused(old: str, new: str, message: str) -> None:
    draft = CampaignDraft.from_toml(HEAD.replace(old, new) + SCHEDULE)
    with pytest.raises(InvalidArgumentError, match=message):
        draft.campaign([answer_table(1.5, 2)])
