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
MAX_BATCH = 10_000
MAX_REPORT_BYTES = 1024
MAX_BATCH_BYTES = 1 << 21
_NOUN = {1: "attribute", 2: "question"}  # what a report is about, by version
_ROOM = ("wave", "labels", "round", "token")  # for campaigns that no document can describe yet


def encode_report(report: Report) -> bytes:
    """Write one report.

    Examples
    --------
    >>> encode_report(Report("0" * 64, "commute", 3, id="f" * 32))
    b'{"version":2,"campaign":"0000...","question":"commute","output":3,"id":"ffff..."}'
    """
    return _dump({"version": report.version, "campaign": report.campaign, **_entry(report)})


def decode_report(data: bytes, campaign: Campaign) -> Report:
    """Read one report of a campaign.

    Raises
    ------
    WireError
        If it is not a report, or not one of this campaign; its `problem` says which.
    """
    keys = {"version", "campaign", *_entry_keys(campaign)}
    found = _parse(data, MAX_REPORT_BYTES, keys, campaign)
    return _report("", found, campaign)


def encode_batch(reports: Iterable[Report]) -> bytes:
    """Write from 1 to 10,000 reports of one campaign."""
    entries = list(reports)
    check_count(len(entries))
    fingerprint, version = entries[0].campaign, entries[0].version
    for report in entries:
        if (report.campaign, report.version) != (fingerprint, version):
            raise InvalidArgumentError("reports", "be of one campaign", report.campaign)
    return _dump(
        {"version": version, "campaign": fingerprint, "reports": [_entry(r) for r in entries]}
    )


def decode_batch(data: bytes, campaign: Campaign) -> list[Report]:
    """Read a batch of a campaign: all of it or, with a `WireError`, nothing."""
    found = _parse(data, MAX_BATCH_BYTES, {"version", "campaign", "reports"}, campaign)
    entries = found["reports"]
    if not isinstance(entries, list):
        raise WireError("malformed-body", "reports", "be a list", entries)
    check_count(len(entries))
    keys = _entry_keys(campaign)
    result = []
    seen = set()
    for index, entry in enumerate(entries):
        name = f"reports[{index}]"
        if not isinstance(entry, dict):
            raise WireError("malformed-body", name, "be a JSON object", entry)
        _check_keys(name, entry, keys)
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


def check_member(name: str, question: int | str, output: int, campaign: Campaign) -> None:
    """Refuse a question (by place or name) or an output that the campaign does not have."""
    place = campaign.question_indexes.get(question) if isinstance(question, str) else question
    if place is None or not 0 <= place < len(campaign.questions):
        noun = _NOUN[campaign.version]
        rule = f"be one of {list(campaign.question_indexes)}"
        raise WireError(f"unknown-{noun}", name + noun, rule, question)
    last = campaign.tables[place].n_outputs - 1
    if not 0 <= output <= last:
        rule = f"be a whole number from 0 to {last}"
        raise WireError("unknown-output", f"{name}output", rule, output)


def _entry(report: Report) -> dict[str, Any]:
    return {_NOUN[report.version]: report.question, "output": report.output, "id": report.id}


def _entry_keys(campaign: Campaign) -> set[str]:
    return {_NOUN[campaign.version], "output", "id"}


def _dump(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":")).encode()


def _parse(data: bytes, most: int, keys: set[str], campaign: Campaign) -> dict[str, Any]:
    if len(data) > most:
        raise WireError("body-too-large", "body", f"have at most {most} bytes", len(data))
    try:
        found = document.parse(data)
    except DocumentError as error:
        raise WireError("malformed-body", "body", error.rule, error.found) from None
    version = found.get("version")
    if type(version) is not int or version != campaign.version:
        rule = f"be {campaign.version}, that of the campaign's document"
        raise WireError("malformed-body", "version", rule, version)
    _check_keys("body", found, keys)
    if found["campaign"] != campaign.fingerprint:
        rule = f"be {campaign.fingerprint}"
        raise WireError("wrong-fingerprint", "campaign", rule, found["campaign"])
    return found


def _check_keys(name: str, found: dict[str, Any], keys: set[str]) -> None:
    if set(found) == keys:
        return
    for key in _ROOM:
        if key in found:
            rule = "be absent: the campaign declares none"
            raise WireError("malformed-body", f"{name}: {key}", rule, found[key])
    raise WireError("malformed-body", name, f"have the keys {sorted(keys)}", sorted(found))


def _report(name: str, entry: dict[str, Any], campaign: Campaign) -> Report:
    noun = _NOUN[campaign.version]
    question, output = entry[noun], entry["output"]
    if not isinstance(question, str):
        raise WireError("malformed-body", name + noun, "be a name", question)
    if type(output) is not int:
        raise WireError("malformed-body", f"{name}output", "be a whole number", output)
    check_member(name, question, output, campaign)
    try:
        return Report(campaign.fingerprint, question, output, entry["id"], campaign.version)
    except InvalidArgumentError as error:
        raise WireError("malformed-body", name + error.name, error.rule, error.found) from None
