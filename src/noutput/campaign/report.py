"""A report: all that ever leaves a device."""

from __future__ import annotations

import re
import secrets
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from noutput import _checks
from noutput._text import check_name, check_pattern, check_text
from noutput.campaign.schedule import MAX_ROUNDS
from noutput.campaign.text import FINGERPRINT
from noutput.campaign.tokens import check_token

if TYPE_CHECKING:
    from noutput.campaign.segments import Told

__all__ = ["ID", "ID_BYTES", "Report", "new_id"]

ID_BYTES = 16
ID = re.compile(r"[0-9a-f]{32}", re.ASCII)


def new_id() -> str:
    """Return 128 random bits as 32 hexadecimal digits.

    Examples
    --------
    >>> len(new_id())
    32
    """
    return secrets.token_hex(ID_BYTES)


@dataclass(frozen=True, slots=True)
class Report:
    """All that ever leaves a device.

    Parameters
    ----------
    campaign : str
        The fingerprint of the campaign that was answered.
    question : str
        The name of the question that it is about.
    output : int
        The index of the output that the question's table drew.
    id : str
        128 random bits as 32 hexadecimal digits: the same in every attempt to send the report,
        so that it is counted once. A new one unless given.
    token : str
        What admits the report to a campaign that is not open; empty otherwise. The id is a hash of
        it then.
    labels : tuple of (str, str)
        The public labels that it tells, by the names of the campaign's segments and in their
        order. They are not protected.
    round : int, optional
        The round that it was made in, where the campaign has a schedule.

    Examples
    --------
    >>> Report("0" * 64, "commute", 3, id="f" * 32)
    Report(campaign='0000...', question='commute', output=3, id='ffff...', ...)
    """

    campaign: str
    question: str
    output: int
    id: str = field(default_factory=new_id)
    token: str = field(default="", repr=False)
    labels: Told = ()
    round: int | None = None

    def __post_init__(self) -> None:
        check_pattern("campaign", self.campaign, FINGERPRINT, "be 64 hexadecimal digits")
        check_text("question", self.question, 1, 64)
        _checks.whole("output", self.output, 0, 255)
        check_pattern("id", self.id, ID, "be 32 hexadecimal digits")
        check_token("token", self.token)
        for name, label in self.labels:
            check_name("labels", name)
            check_text(f"labels[{name!r}]", label, 1, 64)
        if self.round is not None:
            _checks.whole("round", self.round, 0, MAX_ROUNDS - 1)
