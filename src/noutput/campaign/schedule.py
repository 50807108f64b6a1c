"""Schedule: rounds of a campaign, and in which of them a device answers."""

from __future__ import annotations

import hmac
import math
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime, timedelta
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

from noutput import _checks
from noutput._text import check_pattern
from noutput.campaign.text import FINGERPRINT, NEWER, format_instant
from noutput.errors import DocumentError, InvalidArgumentError

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign

__all__ = ["EVERY", "MAX_GRACE", "MAX_PER_PERIOD", "MAX_ROUNDS", "SECRET_BYTES", "Round",
           "Schedule", "check_schedule", "next_closing", "rounds_of"]  # fmt: skip

EVERY = {"hour": 3_600, "day": 86_400, "week": 604_800}  # seconds of a round
MAX_PER_PERIOD = 366
MAX_ROUNDS = 5000
MAX_GRACE = 366 * 86_400
SECRET_BYTES = 32
_KEYS = ("every", "rounds_per_period", "answers", "grace")
_CONTEXT = b"noutput rounds 1"
_LARGEST = (1 << 63) - 1


class Round(NamedTuple):
    """A time in which some of the devices answer.

    Parameters
    ----------
    number : int
        From 0, over all periods.
    start, end : datetime
        From `start` until just before `end`.

    Examples
    --------
    >>> from datetime import UTC
    >>> first = Round(0, datetime(2026, 3, 1, tzinfo=UTC), datetime(2026, 3, 2, tzinfo=UTC))
    >>> first.number, first.end - first.start
    (0, datetime.timedelta(days=1))
    """

    number: int
    start: datetime
    end: datetime


@dataclass(frozen=True, slots=True)
class Schedule:
    r"""Rotating panel: a device answers in a few rounds of every period, drawn in advance.

    Parameters
    ----------
    every : "hour", "day" or "week"
        The length of a round. The first begins when the campaign opens.
    rounds_per_period : int
        How many rounds a period has, from 1 to 366.
    answers : int
        In how many rounds of a period a device answers, usually one.
    grace : int
        For how many seconds after its round a report is still counted; the length of a round, if
        not given.

    Guarantees
    ----------
    In which rounds a device answers is drawn from a secret of its own, whatever its values are
    (`rounds_of`), so that knowing the rounds reveals nothing of them. What it sends in one period
    satisfies :math:`\epsilon`-local differential privacy with `answers` times the campaign's
    `epsilon`, and all periods together with the sum.

    Examples
    --------
    >>> weekly = Schedule("day", rounds_per_period=7)
    >>> weekly.seconds, weekly.period_seconds, weekly.grace, weekly.period(15)
    (86400, 604800, 86400, 2)
    >>> weekly.notice
    'A device answers in 1 of 7 days, drawn in advance whatever the answers are, and again in ...'
    >>> weekly.to_document()
    {'every': 'day', 'rounds_per_period': 7, 'answers': 1, 'grace': 86400}
    >>> Schedule.from_document(weekly.to_document()) == weekly
    True
    """

    every: str
    rounds_per_period: int
    answers: int = 1
    grace: int = None  # type: ignore[assignment]  # becomes the length of a round

    def __post_init__(self) -> None:
        _checks.choice("schedule.every", self.every, EVERY)
        given: object = self.grace
        if given is None:
            object.__setattr__(self, "grace", self.seconds)
        size = _checks.whole(
            "schedule.rounds_per_period", self.rounds_per_period, 1, MAX_PER_PERIOD
        )
        object.__setattr__(self, "rounds_per_period", size)
        answers = _checks.whole("schedule.answers", self.answers, 1, size)
        object.__setattr__(self, "answers", answers)
        grace = _checks.whole("schedule.grace", self.grace, 0, MAX_GRACE)
        object.__setattr__(self, "grace", grace)

    @property
    def seconds(self) -> int:
        """The length of a round."""
        return EVERY[self.every]

    @property
    def period_seconds(self) -> int:
        """The length of a period."""
        return self.seconds * self.rounds_per_period

    def period(self, number: int) -> int:
        """Return the period of a round."""
        return number // self.rounds_per_period

    def most_answers(self, days: float, rounds: int = MAX_ROUNDS) -> int:
        r"""Return the largest number of answers of one device in any so many days.

        Parameters
        ----------
        days : float
            The length of the window, as that of a policy.
        rounds : int
            How many rounds the campaign has.

        Notes
        -----
        A window of length :math:`W` that ends with an answer holds those answers that are less than
        :math:`W` older. Answers in rounds :math:`i < j` of length :math:`R` are more than
        :math:`(j - i - 1) R` apart, and can be as little more as one likes: the first at the end of
        its round, the second when its round begins. So a window can hold answers of :math:`n`
        rounds in a row, and not of more, where :math:`(n - 2) R < W`, which is
        :math:`n = \lceil W / R \rceil + 1`. A device may have drawn any rounds, up to `answers` of
        every period; so of :math:`m` rounds in a row of one period it answers at most
        :math:`\min(m, answers)`. The result is the largest sum of these over all places of the
        :math:`n` rounds in the periods.

        Examples
        --------
        >>> weekly = Schedule("day", rounds_per_period=7)
        >>> weekly.most_answers(30), weekly.most_answers(30, rounds=28)
        (6, 4)
        """
        window = Fraction(_checks.positive("days", days) * EVERY["day"])  # as a policy has it
        total = _checks.whole("rounds", rounds, 1, MAX_ROUNDS)
        length = min(math.ceil(window / self.seconds) + 1, total)
        size, most = self.rounds_per_period, self.answers
        found = 0
        for place in range(min(size, total)):  # of the first of these rounds in its period
            left = min(length, total - place)
            first = min(left, size - place)
            periods, last = divmod(left - first, size)
            found = max(found, min(first, most) + periods * most + min(last, most))
        return found

    @property
    def notice(self) -> str:
        """What people are told about when they answer."""
        if self.answers == self.rounds_per_period:
            return f"A device answers in every {self.every}."
        return (
            f"A device answers in {self.answers} of {self.rounds_per_period} {self.every}s, drawn "
            "in advance whatever the answers are, and again in every period that follows."
        )

    def to_document(self) -> dict[str, Any]:
        """Return what the campaign's document says."""
        return {key: getattr(self, key) for key in _KEYS}

    @classmethod
    def from_document(cls, value: object) -> Schedule | None:
        """Read what `to_document` returns, or ``None``, and nothing else."""
        if value is None:
            return None
        if not isinstance(value, dict) or set(value) != set(_KEYS):
            rule = f"be null, or have the keys {list(_KEYS)}: else {NEWER}"
            raise DocumentError("schedule", rule, value)
        if not isinstance(value["every"], str) or value["every"] not in EVERY:
            rule = f"be one of {list(EVERY)}: else {NEWER}"
            raise DocumentError("schedule.every", rule, value["every"])
        for key in _KEYS[1:]:
            if type(value[key]) is not int:
                raise DocumentError(f"schedule.{key}", "be a whole number", value[key])
        return cls(**value)


def check_schedule(campaign: Campaign) -> None:
    """Refuse a schedule that is none, or that does not fit its campaign."""
    found: object = campaign.schedule
    if found is None:
        return
    if not isinstance(found, Schedule):
        raise InvalidArgumentError("schedule", "be a Schedule", type(found).__name__)
    if campaign.next_wave is not None:
        raise InvalidArgumentError("schedule", "be absent where a campaign is adaptive", found)
    if campaign.admission.needs_token:
        rule = "be absent where reports need a token: one would link the periods of its owner"
        raise InvalidArgumentError("schedule", rule, found)
    length = campaign.closes - campaign.opens
    rounds = -(-length // timedelta(seconds=found.seconds))
    if rounds > MAX_ROUNDS:
        raise InvalidArgumentError("schedule", f"have at most {MAX_ROUNDS} rounds", rounds)
    if length % timedelta(seconds=found.period_seconds):
        rule = f"be a whole number of periods of {found.period_seconds} seconds after opens"
        with suppress(OverflowError):
            rule += (
                f", such as {format_instant(next_closing(found, campaign.opens, campaign.closes))}"
            )
        raise InvalidArgumentError("closes", rule, format_instant(campaign.closes))


def next_closing(schedule: Schedule, opens: datetime, closes: datetime) -> datetime:
    """Return the end of the period in which, or at whose end, a campaign would close."""
    period = timedelta(seconds=schedule.period_seconds)
    return opens - (opens - closes) // period * period


def rounds_of(
    schedule: Schedule, root: str, secret: bytes, period: int, joined: int = 0
) -> tuple[int, ...]:
    r"""Return the rounds of a period in which a device answers, in their order.

    Parameters
    ----------
    schedule : Schedule
    root : str
        The fingerprint of the campaign, or of its first wave.
    secret : bytes
        32 random bytes of the device that nobody else knows, for this campaign alone.
    period : int
        From 0.
    joined : int
        The round in which the device joined the campaign. In the period of this round it draws
        among the rounds that are left, this one included.

    Returns
    -------
    tuple of int
        `schedule.answers` different rounds, or all that are left, if fewer are left.

    Notes
    -----
    The numbers are the 32-bit big-endian words of HMAC-SHA256 with the secret as its key, of the
    ASCII text ``noutput rounds 1``, the 32 bytes of the root, the period (8 bytes) and the number
    of the block (4 bytes, from 0), both big-endian. A word that is below the largest multiple of
    :math:`m` in :math:`2^{32}` gives its rest modulo :math:`m`, which is uniform below :math:`m`;
    others are left out. With these numbers, the first steps of a Fisher-Yates shuffle draw from
    the rounds that are left, in their order.

    Guarantees
    ----------
    The rounds are a function of the secret, the campaign and the round of joining, none of which
    depends on a value. Every set of `answers` rounds that are left is equally likely, up to what
    tells HMAC-SHA256 from a random function.

    Examples
    --------
    >>> weekly = Schedule("day", rounds_per_period=7)
    >>> rounds_of(weekly, "0" * 64, bytes(32), period=0), rounds_of(weekly, "0" * 64, bytes(32), 1)
    ((4,), (7,))
    >>> rounds_of(weekly, "0" * 64, bytes(32), period=0, joined=6)
    (6,)
    """
    if len(secret) != SECRET_BYTES:
        raise InvalidArgumentError("secret", f"have {SECRET_BYTES} bytes", len(secret))
    check_pattern("root", root, FINGERPRINT, "be 64 hexadecimal digits")
    _checks.whole("period", period, 0, _LARGEST)
    _checks.whole("joined", joined, 0, _LARGEST)
    size = schedule.rounds_per_period
    left = list(range(max(period * size, joined), (period + 1) * size))
    words = _words(secret, _CONTEXT + bytes.fromhex(root) + period.to_bytes(8))
    chosen = min(schedule.answers, len(left))
    for place in range(chosen):
        other = place + _below(len(left) - place, words)
        left[place], left[other] = left[other], left[place]
    return tuple(sorted(left[:chosen]))


def _words(secret: bytes, message: bytes) -> Iterator[int]:
    block = 0
    while True:
        data = hmac.digest(secret, message + block.to_bytes(4), "sha256")
        yield from (int.from_bytes(data[place : place + 4]) for place in range(0, 32, 4))
        block += 1


def _below(most: int, words: Iterator[int]) -> int:
    limit = (1 << 32) - (1 << 32) % most
    return next(word for word in words if word < limit) % most
