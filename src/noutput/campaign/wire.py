"""Reports as JSON, alone and in batches; `docs/wire.md` describes the format."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from noutput.campaign.problems import WireError
from noutput.campaign.report import Report
from noutput.errors import DocumentError, InvalidArgumentError
from noutput.mechanisms import document

if TYPE_CHECKING:
    from noutput.campaign.campaign import Campaign

__all__ = [
    "BATCH_TYPE",
    "MAX_BATCH",
    "MAX_BATCH_BYTES",
    "MAX_REPORT_BYTES",
    "PACKED_TYPE",
    "PROBLEM_TYPE",
    "REPORT_TYPE",
    "VERSION",
    "check_count",
    "check_member",
    "decode_batch",
    "decode_report",
    "encode_batch",
    "encode_report",
]

REPORT_TYPE = "application/vnd.noutput.report+json"
BATCH_TYPE = "application/vnd.noutput.batch+json"
PACKED_TYPE = "application/vnd.noutput.batch"
PROBLEM_TYPE = "application/problem+json"
VERSION = 1
MAX_BATCH = 10_000
MAX_REPORT_BYTES = 1024
MAX_BATCH_BYTES = 1 << 21
_REPORT_KEYS = {"version", "campaign", "attribute", "output", "id"}
_BATCH_KEYS = {"version", "campaign", "reports"}
_ENTRY_KEYS = {"attribute", "output", "id"}


def encode_report(report: Report) -> bytes:
    """Write one report.

    Examples
    --------
    >>> encode_report(Report("0" * 64, "commute", 3, id="f" * 32))
    b'{"version":1,"campaign":"0000...","attribute":"commute","output":3,"id":"ffff..."}'
    """
    return _dump({"version": VERSION, "campaign": report.campaign, **_entry(report)})


def decode_report(data: bytes, campaign: Campaign) -> Report:
    """Read one report of a campaign.

    Raises
    ------
    WireError
        If it is not a report, or not one of this campaign; its `problem` says which.
    """
    found = _parse(data, MAX_REPORT_BYTES, _REPORT_KEYS, campaign)
    return _report("", found, campaign)


def encode_batch(reports: Iterable[Report]) -> bytes:
    """Write from 1 to 10,000 reports of one campaign."""
    entries = list(reports)
    check_count(len(entries))
    fingerprint = entries[0].campaign
    for report in entries:
        if report.campaign != fingerprint:
            raise InvalidArgumentError("reports", "be of one campaign", report.campaign)
    return _dump(
        {"version": VERSION, "campaign": fingerprint, "reports": [_entry(r) for r in entries]}
    )


def decode_batch(data: bytes, campaign: Campaign) -> list[Report]:
    """Read a batch of a campaign: all of it or, with a `WireError`, nothing."""
    found = _parse(data, MAX_BATCH_BYTES, _BATCH_KEYS, campaign)
    entries = found["reports"]
    if not isinstance(entries, list):
        raise WireError("malformed-body", "reports", "be a list", entries)
    check_count(len(entries))
    result = []
    seen = set()
    for index, entry in enumerate(entries):
        name = f"reports[{index}]"
        if not isinstance(entry, dict) or set(entry) != _ENTRY_KEYS:
            rule = f"be an object with the keys {sorted(_ENTRY_KEYS)}"
            raise WireError("malformed-body", name, rule, entry)
        report = _report(f"{name}.", entry, campaign)
        if report.id in seen:
            raise WireError("repeated-id", f"{name}.id", "differ from all before", report.id)
        seen.add(report.id)
        result.append(report)
    return result


def check_count(count: int) -> None:
    """Refuse a batch of no reports, or of more than 10,000."""
    if count < 1:
        raise WireError("malformed-body", "reports", "have at least one entry", count)
    if count > MAX_BATCH:
        rule = f"have at most {MAX_BATCH} entries"
        raise WireError("body-too-large", "reports", rule, count)


def check_member(name: str, attribute: int | str, output: int, campaign: Campaign) -> None:
    """Refuse an attribute or an output that the campaign does not have."""
    known: Iterable[object] = (
        range(len(campaign.attributes))
        if isinstance(attribute, int)
        else campaign.attribute_indexes
    )
    if attribute not in known:
        rule = f"be one of {list(campaign.attribute_indexes)}"
        raise WireError("unknown-attribute", f"{name}attribute", rule, attribute)
    if not 0 <= output < campaign.table.n_outputs:
        rule = f"be a whole number from 0 to {campaign.table.n_outputs - 1}"
        raise WireError("unknown-output", f"{name}output", rule, output)


def _entry(report: Report) -> dict[str, Any]:
    return {"attribute": report.attribute, "output": report.output, "id": report.id}


def _dump(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def _parse(data: bytes, most: int, keys: set[str], campaign: Campaign) -> dict[str, Any]:
    if len(data) > most:
        raise WireError("body-too-large", "body", f"have at most {most} bytes", len(data))
    try:
        found = document.parse(data)
    except DocumentError as error:
        raise WireError("malformed-body", "body", error.rule, error.found) from None
    if type(found.get("version")) is not int or found["version"] != VERSION:
        raise WireError("malformed-body", "version", f"be {VERSION}", found.get("version"))
    if set(found) != keys:
        rule = f"have the keys {sorted(keys)}"
        raise WireError("malformed-body", "body", rule, sorted(found))
    if found["campaign"] != campaign.fingerprint:
        rule = f"be {campaign.fingerprint}"
        raise WireError("wrong-fingerprint", "campaign", rule, found["campaign"])
    return found


def _report(name: str, entry: dict[str, Any], campaign: Campaign) -> Report:
    attribute, output = entry["attribute"], entry["output"]
    if not isinstance(attribute, str):
        raise WireError("malformed-body", f"{name}attribute", "be a name", attribute)
    if type(output) is not int:
        raise WireError("malformed-body", f"{name}output", "be a whole number", output)
    check_member(name, attribute, output, campaign)
    try:
        return Report(campaign.fingerprint, attribute, output, entry["id"])
    except InvalidArgumentError as error:
        raise WireError("malformed-body", name + error.name, error.rule, error.found) from None
