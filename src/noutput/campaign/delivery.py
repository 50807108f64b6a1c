"""Fetching campaigns and sending reports over HTTP, with the standard library."""

from __future__ import annotations

import http.client
import re
import secrets
import time
import urllib.error
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from noutput._text import check_pattern
from noutput.campaign import wire
from noutput.campaign.campaign import Campaign
from noutput.campaign.connection import Deadline, Request, open_request
from noutput.campaign.document import FORMAT
from noutput.campaign.packed import encode_packed
from noutput.errors import DeliveryError, DocumentError, InvalidArgumentError
from noutput.mechanisms import document

if TYPE_CHECKING:
    from email.message import Message

    from noutput.campaign.report import Report

__all__ = [
    "DEFAULT_ROUTE", "Receipt", "Route", "check_address", "exchange", "fetch_campaign",
    "read_object", "send_batch", "send_report",
]  # fmt: skip

_URL = re.compile(r"(?=[!-~]+\Z)https?://[^/?#@]+(/[^?#]*)?", re.IGNORECASE)
_AGAIN = frozenset({408, 425, 429, 500, 502, 503, 504})
_MAX_CAMPAIGN = 1 << 24
_MAX_ANSWER = 1 << 16
_LONGEST_RETRY_AFTER = 60.0
_FIRST_WAIT = 0.5
_LONGEST_WAIT = 30.0
_PIECE = 1 << 16


@dataclass(frozen=True, slots=True)
class Receipt:
    """A collector's acknowledgement: each report was counted, now or before.

    Parameters
    ----------
    accepted, repeated : int
        How many reports were counted now, and how many had been counted before.
    left_out : tuple of str
        The names of the labels that were given to `Client.submit` and that the reports do not
        carry, because the policy did not name them when the reports were made.

    Examples
    --------
    >>> receipt = Receipt(accepted=1, repeated=0)
    >>> receipt.accepted + receipt.repeated  # what was sent
    1
    """

    accepted: int
    repeated: int
    left_out: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Route:
    """How patiently a server is spoken to.

    Parameters
    ----------
    timeout : float
        Seconds for one attempt, from connection to the last byte of the answer. Looking up
        the address of a name takes as long as the operating system allows.
    attempts : int
        How often the same bytes are sent before giving up.
    sleep : callable
        Waits a number of seconds between attempts.
    clock : callable
        Returns a time in seconds that never goes back.

    Examples
    --------
    >>> Route().attempts, Route(timeout=2.0, attempts=1).timeout
    (6, 2.0)
    """

    timeout: float = 10.0
    attempts: int = 6
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


DEFAULT_ROUTE = Route()


def fetch_campaign(url: str, route: Route = DEFAULT_ROUTE, root: str | None = None) -> Campaign:
    """Fetch a campaign from its address, and certify it: its newest wave, where it has several.

    Parameters
    ----------
    url : str
    route : Route
    root : str, optional
        The fingerprint of the campaign, or of its first wave, as it is known from elsewhere; any
        other campaign is refused.

    Raises
    ------
    DeliveryError
        If the server cannot be reached, refuses or redirects.
    DocumentError, PrivacyError
        If what it sends is not a campaign, not the one that is known, or one that is less private
        than it claims.

    Examples
    --------
    >>> from noutput.errors import DeliveryError
    >>> try:
    ...     fetch_campaign("http://127.0.0.1:1/campaigns/commute", Route(attempts=1))
    ... except DeliveryError as error:
    ...     print(error)  # nobody listens there
    no answer from http://127.0.0.1:1/campaigns/commute: ...
    """
    address = _address(url)
    data = exchange(address, None, None, _MAX_CAMPAIGN, route)
    if FORMAT.encode() not in data:
        base = re.sub(r"(?<=[^:/])/.*", "", address)
        rule = f"be the address of a campaign, such as {base}/campaigns/commute"
        raise DocumentError("url", rule, data[:12].decode(errors="replace"))
    campaign = Campaign.from_json(data)
    if root is not None and campaign.root != root:
        raise DocumentError("root", f"be {root}", campaign.root)
    return campaign


def send_report(url: str, report: Report, route: Route = DEFAULT_ROUTE) -> Receipt:
    """Send one report to the campaign at an address; attempts share the report's id.

    Raises
    ------
    DeliveryError
        If no attempt was acknowledged. The report may have been counted nevertheless; to send
        it again is always safe.

    Examples
    --------
    >>> from noutput.campaign import Report
    >>> from noutput.errors import DeliveryError
    >>> report = Report("0" * 64, "commute", 3)
    >>> try:
    ...     send_report("http://127.0.0.1:1/campaigns/commute", report, Route(attempts=1))
    ... except DeliveryError as error:
    ...     print(error.status)  # the server did not answer: send the same report again later
    None
    """
    return _send(url, wire.REPORT_TYPE, wire.encode_report(report), 1, route)


def send_batch(
    url: str, campaign: Campaign, reports: Iterable[Report], route: Route = DEFAULT_ROUTE
) -> Receipt:
    """Send up to 10,000 reports of a campaign as one packed batch.

    Examples
    --------
    >>> from datetime import UTC, datetime
    >>> from noutput.campaign import Number, Table, draw_report
    >>> from noutput.errors import DeliveryError
    >>> rows = ((3 << 30, 1 << 30), (1 << 30, 3 << 30))
    >>> campaign = Campaign(
    ...     id="commute", title="Commute", text="How long was your way to work?",
    ...     questions=(Number(0, 180, "minutes", name="commute"),),
    ...     tables=(Table(1.1, ((0, 180),), rows),),
    ...     opens=datetime(2026, 3, 1, tzinfo=UTC), closes=datetime(2036, 4, 1, tzinfo=UTC),
    ... )
    >>> reports = [draw_report(campaign, minutes) for minutes in (20, 35, 90)]
    >>> try:
    ...     send_batch("http://127.0.0.1:1/campaigns/commute", campaign, reports, Route(attempts=1))
    ... except DeliveryError as error:
    ...     print(error)
    no answer from http://127.0.0.1:1/campaigns/commute/reports: ...
    """
    entries = list(reports)
    body = encode_packed(campaign, entries)
    return _send(url, wire.PACKED_TYPE, body, len(entries), route)


def _send(url: str, kind: str, body: bytes, count: int, route: Route) -> Receipt:
    answer = exchange(f"{_address(url)}/reports", kind, body, _MAX_ANSWER, route)
    found = read_object(answer)
    accepted, repeated = found.get("accepted"), found.get("repeated")
    if type(accepted) is not int or type(repeated) is not int or accepted + repeated != count:
        rule = f"{accepted!r} accepted and {repeated!r} repeated of {count} reports"
        raise DeliveryError(f"the server acknowledged {rule[:200]}")
    return Receipt(accepted, repeated)


def _address(url: object) -> str:
    rule = "be the http or https address of a campaign, without query or user name"
    return check_address("url", url, rule)


def check_address(name: str, url: object, rule: str) -> str:
    """Return an http or https address without the slashes at its end."""
    if isinstance(url, str) and not url.isascii():
        letters = "have ASCII letters only: xn--... for others in a name, %C3%BC in a path"
        raise InvalidArgumentError(name, letters, url)
    address = check_pattern(name, url, _URL, rule).rstrip("/")
    try:
        parts = urlsplit(address)
        good = bool(parts.hostname and parts.hostname.encode("idna")) and parts.port != 0
    except ValueError:  # of brackets, of the port, or of a part of the name
        good = False
    if not good:
        raise InvalidArgumentError(name, rule, url)
    return address


def exchange(
    url: str,
    kind: str | None,
    body: bytes | None,
    most: int,
    route: Route,
    more: Mapping[str, str] | None = None,
    method: str | None = None,
) -> bytes:
    """Make attempts until one is answered for good; `more` are further headers.

    Without a method it is GET, or POST where there is a body.
    """
    headers = {"User-Agent": "noutput", "Accept": "application/json", **(more or {})}
    if kind is not None:
        headers["Content-Type"] = kind
    for attempt in range(route.attempts):
        wait: float | None = None
        try:
            request = Request(url, body, headers, Deadline(route.timeout, route.clock), method)
            with open_request(request) as response:
                return _read(response, most)
        except urllib.error.HTTPError as refusal:
            with refusal:
                failure = _refusal(refusal)
                wait = _retry_after(refusal.headers)
            if failure.status not in _AGAIN:
                raise failure from None
        except DeliveryError:
            raise
        except (OSError, http.client.HTTPException) as error:
            why = _shown(str(getattr(error, "reason", error)), 200)
            failure = DeliveryError(f"no answer from {url}: {why}")
        if attempt + 1 < route.attempts:
            ceiling = min(_FIRST_WAIT * 2.0**attempt, _LONGEST_WAIT)
            route.sleep(secrets.SystemRandom().uniform(0.0, ceiling) if wait is None else wait)
    raise failure


def _read(response: http.client.HTTPResponse, most: int) -> bytes:
    pieces: list[bytes] = []
    length = 0
    while piece := response.read1(_PIECE):
        pieces.append(piece)
        length += len(piece)
        if length > most:
            raise DeliveryError(f"the server sent more than {most} bytes")
    if response.length:  # what is missing of the announced length
        raise http.client.IncompleteRead(b"", response.length)
    return b"".join(pieces)


def _refusal(refusal: urllib.error.HTTPError) -> DeliveryError:
    status = refusal.code
    if 300 <= status < 400:
        moved = refusal.headers.get("Location", "nowhere")
        return DeliveryError(f"the server redirects to {moved[:200]!r}: use that address", status)
    try:
        found = read_object(refusal.read(_MAX_ANSWER))
    except (DeliveryError, OSError, http.client.HTTPException):
        found = {}
    problem = found.get("type")
    words = _shown(str(found.get("detail") or found.get("title") or refusal.reason), 500)
    message = f"the server refused with status {status}: {words}"
    return DeliveryError(message, status, problem if isinstance(problem, str) else None)


def _shown(words: str, most: int) -> str:
    """Return what a server says without anything that a terminal would obey."""
    return "".join(letter for letter in words[:most] if letter.isprintable())


def read_object(answer: bytes) -> dict[str, Any]:
    """Return the JSON object that a server answered."""
    try:
        return document.parse(answer)
    except DocumentError:
        raise DeliveryError("the server's answer is not a JSON object") from None


def _retry_after(headers: Message) -> float | None:
    text = headers.get("Retry-After", "")
    return min(float(text), _LONGEST_RETRY_AFTER) if re.fullmatch(r"[0-9]{1,9}", text) else None
