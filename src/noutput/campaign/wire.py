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
    _check_size(data, MAX_REPORT_BYTES)
    found = batch.parse(data)
    keys = _entry_keys(campaign)
    _check_head(found, {"version", "campaign", *keys}, campaign)
    question, output, report_id = _read_entry("", found, campaign)
    return Report(campaign.fingerprint, question, output, report_id, campaign.version)


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
    fingerprint, version = campaign.fingerprint, campaign.version
    return [Report(fingerprint, *entry, version) for entry in decode_entries(data, campaign)]


def decode_entries(data: bytes, campaign: Campaign) -> Iterator[tuple[str, int, str]]:
    """Read question, output and id of every report of a batch, one after the other."""
    _check_size(data, MAX_BATCH_BYTES)
    found = batch.split(data)
    _check_head(found.head, {"version", "campaign", "reports"}, campaign)
    if found.head["reports"] != []:
        raise WireError("malformed-body", "reports", "be a list", found.head["reports"])
    check_count(len(found.spans))
    keys = _entry_keys(campaign)
    seen = set()
    for index, entry in enumerate(found.entries()):
        name = f"reports[{index}]"
        _check_keys(name, entry, keys)
        question, output, report_id = _read_entry(f"{name}.", entry, campaign)
        if report_id in seen:
            raise WireError("repeated-id", f"{name}.id", "differ from all before", report_id)
        seen.add(report_id)
        yield question, output, report_id


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


def _check_size(data: bytes, most: int) -> None:
    if len(data) > most:
        raise WireError("body-too-large", "body", f"have at most {most} bytes", len(data))


def _check_head(found: dict[str, Any], keys: set[str], campaign: Campaign) -> None:
    version = found.get("version")
    if type(version) is not int or version != campaign.version:
        rule = f"be {campaign.version}, that of the campaign's document"
        raise WireError("malformed-body", "version", rule, version)
    _check_keys("body", found, keys)
    if found["campaign"] != campaign.fingerprint:
        rule = f"be {campaign.fingerprint}"
        raise WireError("wrong-fingerprint", "campaign", rule, found["campaign"])


def _check_keys(name: str, found: dict[str, Any], keys: set[str]) -> None:
    if found.keys() == keys:
        return
    for key in _ROOM:
        if key in found:
            rule = "be absent: the campaign declares none"
            raise WireError("malformed-body", f"{name}: {key}", rule, found[key])
    raise WireError("malformed-body", name, f"have the keys {sorted(keys)}", sorted(found))


def _read_entry(name: str, entry: dict[str, Any], campaign: Campaign) -> tuple[str, int, str]:
    noun = _NOUN[campaign.version]
    question, output, report_id = entry[noun], entry["output"], entry["id"]
    if not isinstance(question, str):
        raise WireError("malformed-body", name + noun, "be a name", question)
    if type(output) is not int:
        raise WireError("malformed-body", f"{name}output", "be a whole number", output)
    check_member(name, question, output, campaign)
    if not isinstance(report_id, str) or not ID.fullmatch(report_id):
        rule = "be 32 hexadecimal digits"
        raise WireError("malformed-body", f"{name}id", rule, report_id)
    return question, output, report_id
