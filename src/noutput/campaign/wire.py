"""Reports as JSON, alone and in batches; `docs/wire.md` describes the format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from noutput.campaign import batch
from noutput.campaign.batch import MAX_BATCH, check_count
from noutput.campaign.problems import WireError
from noutput.campaign.report import ID, Report
from noutput.errors import InvalidArgumentError

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
    "decode_entries",
    "decode_report",
    "encode_batch",
    "encode_report",
]

REPORT_TYPE = "application/vnd.noutput.report+json"
BATCH_TYPE = "application/vnd.noutput.batch+json"
PACKED_TYPE = "application/vnd.noutput.batch"
PROBLEM_TYPE = "application/problem+json"
VERSION = 1
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
    _check_size(data, MAX_REPORT_BYTES)
    found = batch.parse(data)
    _check_head(found, _REPORT_KEYS, campaign)
    _check_entry("", found, campaign)
    return Report(campaign.fingerprint, found["attribute"], found["output"], found["id"])


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
    fingerprint = campaign.fingerprint
    return [Report(fingerprint, *entry) for entry in decode_entries(data, campaign)]


def decode_entries(data: bytes, campaign: Campaign) -> Iterator[tuple[str, int, str]]:
    """Read attribute, output and id of every report of a batch, one after the other."""
    _check_size(data, MAX_BATCH_BYTES)
    found = batch.split(data)
    _check_head(found.head, _BATCH_KEYS, campaign)
    if found.head["reports"] != []:
        raise WireError("malformed-body", "reports", "be a list", found.head["reports"])
    check_count(len(found.spans))
    seen = set()
    for index, entry in enumerate(found.entries()):
        name = f"reports[{index}]"
        if entry.keys() != _ENTRY_KEYS:
            rule = f"be an object with the keys {sorted(_ENTRY_KEYS)}"
            raise WireError("malformed-body", name, rule, entry)
        _check_entry(f"{name}.", entry, campaign)
        if entry["id"] in seen:
            raise WireError("repeated-id", f"{name}.id", "differ from all before", entry["id"])
        seen.add(entry["id"])
        yield entry["attribute"], entry["output"], entry["id"]


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


def _check_size(data: bytes, most: int) -> None:
    if len(data) > most:
        raise WireError("body-too-large", "body", f"have at most {most} bytes", len(data))


def _check_head(found: dict[str, Any], keys: set[str], campaign: Campaign) -> None:
    if type(found.get("version")) is not int or found["version"] != VERSION:
        raise WireError("malformed-body", "version", f"be {VERSION}", found.get("version"))
    if set(found) != keys:
        rule = f"have the keys {sorted(keys)}"
        raise WireError("malformed-body", "body", rule, sorted(found))
    if found["campaign"] != campaign.fingerprint:
        rule = f"be {campaign.fingerprint}"
        raise WireError("wrong-fingerprint", "campaign", rule, found["campaign"])


def _check_entry(name: str, entry: dict[str, Any], campaign: Campaign) -> None:
    attribute, output, report_id = entry["attribute"], entry["output"], entry["id"]
    if not isinstance(attribute, str):
        raise WireError("malformed-body", f"{name}attribute", "be a name", attribute)
    if type(output) is not int:
        raise WireError("malformed-body", f"{name}output", "be a whole number", output)
    check_member(name, attribute, output, campaign)
    if not isinstance(report_id, str) or not ID.fullmatch(report_id):
        rule = "be 32 hexadecimal digits"
        raise WireError("malformed-body", f"{name}id", rule, report_id)
