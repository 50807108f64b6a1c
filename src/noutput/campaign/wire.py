"""Reports as JSON, alone and in batches; `docs/wire.md` describes the format."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

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
    "VERSION",
    "Entry",
    "check_count",
    "check_member",
    "check_round",
    "check_spent",
    "decode_batch",
    "decode_entries",
    "decode_entry",
    "decode_report",
    "encode_batch",
    "encode_report",
    "most_reports",
    "report_of",
]

REPORT_TYPE = "application/vnd.noutput.report+json"
BATCH_TYPE = "application/vnd.noutput.batch+json"
PACKED_TYPE = "application/vnd.noutput.batch"
PROBLEM_TYPE = "application/problem+json"
MAX_REPORT_BYTES = 2048
MAX_BATCH_BYTES = 1 << 21
VERSION = 1
_ROOM = ("wave", "labels", "round", "token")  # of campaigns that declare them


class Entry(NamedTuple):
    """What a collector counts of a report.

    Parameters
    ----------
    question : str
    output : int
    id : str
    token : bytes
        In its form for packed batches; empty where there is none.
    stratum : int
        Of the labels and the round, as `Campaign.stratum` numbers it.
    """

    question: str
    output: int
    id: str
    token: bytes
    stratum: int


def encode_report(report: Report) -> bytes:
    """Write one report.

    Examples
    --------
    >>> encode_report(Report("0" * 64, "commute", 3, id="f" * 32))
    b'{"version":1,"campaign":"0000...","question":"commute","output":3,"id":"ffff..."}'
    """
    return _dump({"version": VERSION, "campaign": report.campaign, **_entry(report)})


def decode_report(data: bytes, campaign: Campaign) -> Report:
    """Read one report of a campaign.

    Raises
    ------
    WireError
        If it is not a report, or not one of this campaign; its `problem` says which.
    """
    return report_of(campaign, decode_entry(data, campaign))


def decode_entry(data: bytes, campaign: Campaign) -> Entry:
    """Read what a collector counts of one report."""
    _check_size(data, MAX_REPORT_BYTES)
    found = batch.parse(data)
    keys = _entry_keys(campaign)
    _check_head(found, {"version", "campaign", *keys}, campaign)
    return _read_entry("", found, campaign)


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
    return [report_of(campaign, entry) for entry in decode_entries(data, campaign)]


def report_of(campaign: Campaign, entry: Entry) -> Report:
    """Return the report that an entry was read from."""
    question, output, identity, token, stratum = entry
    text = write_token(campaign, token) if token else ""
    parts = (campaign.fingerprint, question, output, identity, text)
    if campaign.segments is None and campaign.schedule is None:
        return Report(*parts)
    number, combination = divmod(stratum, campaign.n_combinations)
    labels = () if campaign.segments is None else campaign.segments.labels(combination)
    return Report(*parts, labels, None if campaign.schedule is None else number)


def decode_entries(data: bytes, campaign: Campaign) -> Iterator[Entry]:
    """Read the reports of a batch, one after the other."""
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
        result = _read_entry(f"{name}.", entry, campaign)
        if result.id in seen:
            raise WireError("repeated-id", f"{name}.id", "differ from all before", result.id)
        seen.add(result.id)
        yield result


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
        rule = f"be one of {list(campaign.question_indexes)}"
        raise WireError("unknown-question", f"{name}question", rule, question)
    last = campaign.tables[place].n_outputs - 1
    if not 0 <= output <= last:
        rule = f"be a whole number from 0 to {last}"
        raise WireError("unknown-output", f"{name}output", rule, output)


def check_round(name: str, number: int, campaign: Campaign) -> None:
    """Refuse a round that the campaign's schedule does not have."""
    if not 0 <= number < campaign.n_rounds:
        rule = f"be a whole number from 0 to {campaign.n_rounds - 1}"
        raise WireError("unknown-round", f"{name}round", rule, number)


def _entry(report: Report) -> dict[str, Any]:
    entry: dict[str, Any] = {
        "question": report.question,
        "output": report.output,
        "id": report.id,
    }
    if report.token:
        entry["token"] = report.token
    if report.labels:
        entry["labels"] = dict(report.labels)
    if report.round is not None:
        entry["round"] = report.round
    return entry


def _entry_keys(campaign: Campaign) -> set[str]:
    """Return the keys of a report; where there are segments, it may have `labels` as well."""
    keys = {"question", "output", "id"}
    if campaign.admission.needs_token:
        keys.add("token")
    if campaign.schedule is not None:
        keys.add("round")
    if campaign.segments is not None:
        keys.add("labels")
    return keys


def _dump(content: dict[str, Any]) -> bytes:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False).encode()


def _check_size(data: bytes, most: int) -> None:
    if len(data) > most:
        raise WireError("body-too-large", "body", f"have at most {most} bytes", len(data))


def _check_head(found: dict[str, Any], keys: set[str], campaign: Campaign) -> None:
    version = found.get("version")
    if type(version) is not int or version != VERSION:
        raise WireError("malformed-body", "version", f"be {VERSION}", version)
    _check_keys("body", found, keys)
    if found["campaign"] != campaign.fingerprint:
        rule = f"be {campaign.fingerprint}"
        raise WireError("wrong-fingerprint", "campaign", rule, found["campaign"])


def _check_keys(name: str, found: dict[str, Any], keys: set[str]) -> None:
    if found.keys() == keys or ("labels" in keys and found.keys() == keys - {"labels"}):
        return
    for key in _ROOM:
        if key in found and key not in keys:
            rule = "be absent: the campaign declares none"
            raise WireError("malformed-body", f"{name}: {key}", rule, found[key])
    raise WireError("malformed-body", name, f"have the keys {sorted(keys)}", sorted(found))


def _read_entry(name: str, entry: dict[str, Any], campaign: Campaign) -> Entry:
    question, output, identity = entry["question"], entry["output"], entry["id"]
    if not isinstance(question, str):
        raise WireError("malformed-body", f"{name}question", "be a name", question)
    if type(output) is not int:
        raise WireError("malformed-body", f"{name}output", "be a whole number", output)
    check_member(name, question, output, campaign)
    if not isinstance(identity, str) or not ID.fullmatch(identity):
        rule = "be 32 hexadecimal digits"
        raise WireError("malformed-body", f"{name}id", rule, identity)
    stratum = _read_stratum(name, entry, campaign)
    if "token" not in entry:
        return Entry(question, output, identity, b"", stratum)
    token = read_token(campaign, entry["token"], f"{name}token")
    check_spent(name, campaign.question_indexes[question], identity, token, campaign)
    return Entry(question, output, identity, token, stratum)


def _read_stratum(name: str, entry: dict[str, Any], campaign: Campaign) -> int:
    """Return the number of the stratum of a report whose keys are those of its campaign."""
    number = entry.get("round", 0)
    if type(number) is not int:
        raise WireError("malformed-body", f"{name}round", "be a whole number", number)
    check_round(name, number, campaign)
    if "labels" not in entry or campaign.segments is None:
        return number * campaign.n_combinations
    labels = entry["labels"]
    if not isinstance(labels, dict) or not labels:
        rule = "be an object with a label of a segment, and absent where nothing is told"
        raise WireError("malformed-body", f"{name}labels", rule, labels)
    try:
        combination = campaign.segments.combination(labels)
    except InvalidArgumentError as error:
        raise WireError("unknown-label", name + error.name, error.rule, error.found) from None
    return number * campaign.n_combinations + combination
