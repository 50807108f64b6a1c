"""Reports as JSON, alone and in batches; `docs/wire.md` describes the format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any

from noutput.campaign import batch
from noutput.campaign.batch import MAX_BATCH, check_count
from noutput.campaign.problems import WireError
from noutput.campaign.report import ID, Report
from noutput.campaign.tokens import MAX_SIGNED, read_token, report_id, write_token
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
    "check_spent",
    "decode_batch",
    "decode_entries",
    "decode_report",
    "encode_batch",
    "encode_report",
    "most_reports",
]

REPORT_TYPE = "application/vnd.noutput.report+json"
BATCH_TYPE = "application/vnd.noutput.batch+json"
PACKED_TYPE = "application/vnd.noutput.batch"
PROBLEM_TYPE = "application/problem+json"
MAX_REPORT_BYTES = 1024
MAX_BATCH_BYTES = 1 << 21
_NOUN = {1: "attribute", 2: "question"}  # what a report is about, by version
_ROOM = ("wave", "labels", "round", "token")  # of campaigns that declare them


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
    question, output, identity, _ = _read_entry("", found, campaign)
    token = found.get("token", "")
    return Report(campaign.fingerprint, question, output, identity, campaign.version, token)


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
    result = []
    for question, output, identity, token in decode_entries(data, campaign):
        text = write_token(campaign, token) if token else ""
        result.append(Report(fingerprint, question, output, identity, version, text))
    return result


def decode_entries(data: bytes, campaign: Campaign) -> Iterator[tuple[str, int, str, bytes]]:
    """Read question, output, id and token of every report of a batch, one after the other."""
    _check_size(data, MAX_BATCH_BYTES)
    found = batch.split(data)
    _check_head(found.head, {"version", "campaign", "reports"}, campaign)
    if found.head["reports"] != []:
        raise WireError("malformed-body", "reports", "be a list", found.head["reports"])
    check_count(len(found.spans), most_reports(campaign))
    keys = _entry_keys(campaign)
    seen = set()
    for index, entry in enumerate(found.entries()):
        name = f"reports[{index}]"
        _check_keys(name, entry, keys)
        question, output, identity, token = _read_entry(f"{name}.", entry, campaign)
        if identity in seen:
            raise WireError("repeated-id", f"{name}.id", "differ from all before", identity)
        seen.add(identity)
        yield question, output, identity, token


def most_reports(campaign: Campaign) -> int:
    """Return how many reports a batch may have: fewer where each has a signature to verify."""
    return MAX_SIGNED if campaign.admission.kind == "anonymous" else MAX_BATCH


def check_spent(name: str, place: int, identity: str, token: bytes, campaign: Campaign) -> None:
    """Refuse a report whose id is not the one by which it spends its token."""
    if token and identity != report_id(campaign, token, place):
        rule = "be the hash of the token that the wire format describes"
        raise WireError("invalid-token", f"{name}id", rule, identity)


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
    entry = {_NOUN[report.version]: report.question, "output": report.output, "id": report.id}
    return {**entry, "token": report.token} if report.token else entry


def _entry_keys(campaign: Campaign) -> set[str]:
    keys = {_NOUN[campaign.version], "output", "id"}
    return {*keys, "token"} if campaign.admission.needs_token else keys


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
        if key in found and key not in keys:
            rule = "be absent: the campaign declares none"
            raise WireError("malformed-body", f"{name}: {key}", rule, found[key])
    raise WireError("malformed-body", name, f"have the keys {sorted(keys)}", sorted(found))


def _read_entry(
    name: str, entry: dict[str, Any], campaign: Campaign
) -> tuple[str, int, str, bytes]:
    noun = _NOUN[campaign.version]
    question, output, identity = entry[noun], entry["output"], entry["id"]
    if not isinstance(question, str):
        raise WireError("malformed-body", name + noun, "be a name", question)
    if type(output) is not int:
        raise WireError("malformed-body", f"{name}output", "be a whole number", output)
    check_member(name, question, output, campaign)
    if not isinstance(identity, str) or not ID.fullmatch(identity):
        rule = "be 32 hexadecimal digits"
        raise WireError("malformed-body", f"{name}id", rule, identity)
    if "token" not in entry:
        return question, output, identity, b""
    token = read_token(campaign, entry["token"], f"{name}token")
    check_spent(name, campaign.question_indexes[question], identity, token, campaign)
    return question, output, identity, token
