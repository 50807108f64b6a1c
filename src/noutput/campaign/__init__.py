"""Campaigns: what a device needs to answer one, and the form in which answers travel.

Neither numpy nor scipy nor a web framework is loaded, and what speaks HTTP is loaded when it is
first used.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from noutput.campaign.admission import Admission
from noutput.campaign.campaign import Campaign
from noutput.campaign.client import Client
from noutput.campaign.drawing import draw_report, draw_reports
from noutput.campaign.ledger import Ledger
from noutput.campaign.policy import Policy
from noutput.campaign.report import Report
from noutput.campaign.schedule import Round, Schedule
from noutput.campaign.segments import Segments
from noutput.campaign.waves import NextWave
from noutput.errors import (
    DeliveryError,
    DocumentError,
    InvalidArgumentError,
    NotDueError,
    NoutputError,
    PolicyError,
    PrivacyError,
)
from noutput.mechanisms.certified import Table
from noutput.questions import Choice, Number, Scale, YesNo

if TYPE_CHECKING:
    from noutput.campaign.delivery import Receipt, Route, fetch_campaign, send_batch, send_report
    from noutput.campaign.enrollment import enroll

__all__ = [
    "Admission",
    "Campaign",
    "Choice",
    "Client",
    "DeliveryError",
    "DocumentError",
    "InvalidArgumentError",
    "Ledger",
    "NextWave",
    "NotDueError",
    "NoutputError",
    "Number",
    "Policy",
    "PolicyError",
    "PrivacyError",
    "Receipt",
    "Report",
    "Round",
    "Route",
    "Scale",
    "Schedule",
    "Segments",
    "Table",
    "YesNo",
    "draw_report",
    "draw_reports",
    "enroll",
    "fetch_campaign",
    "send_batch",
    "send_report",
]

_LATE = {  # by the module that is loaded for it
    "Receipt": "delivery",
    "Route": "delivery",
    "enroll": "enrollment",
    "fetch_campaign": "delivery",
    "send_batch": "delivery",
    "send_report": "delivery",
}


def __getattr__(name: str) -> object:
    if name not in _LATE:
        raise AttributeError(f"module 'noutput.campaign' has no attribute {name!r}")
    value = getattr(import_module(f"noutput.campaign.{_LATE[name]}"), name)
    globals()[name] = value
    return value
