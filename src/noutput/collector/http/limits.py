"""Limits of requests, reports and bodies, and the rate limiter."""

from __future__ import annotations

import ipaddress
import math
import secrets
import time
from collections import OrderedDict
from dataclasses import dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING

from noutput import _checks
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Limits", "RateLimiter", "check_network", "client_network"]

_REMEMBERED_CLIENTS = 65_536
_ROUNDING = 1e-9
_LEAST_RATES = {"requests_per_second": 1e-6, "client_reports_per_hour": 1}


@dataclass(frozen=True, slots=True)
class Limits:
    """What one collector process accepts.

    Parameters
    ----------
    requests_per_second : float
        Of one client in the long run; 0 for no limit. Every 64 KiB of a body count as one more.
    burst : int
        How many requests a client may send at once after a pause.
    client_reports_per_hour : float
        How many reports of one client are counted in one campaign, at once or spread over an hour;
        0 for no limit. See `noutput.collector.ingest.quotas`.
    client_share : float
        Which share of a release one client may send where reports need no token, a quarter by
        default; 0 for no limit, as without a limit per hour. See `noutput.collector.ingest.shares`.
    aggregators : tuple of str
        Addresses or networks that send for many people: they have neither limit.
    body_seconds, header_seconds : float
        How long a body and the head of a request may take to arrive.
    header_bytes : int
        How long the head of a request may be.
    campaign_bytes : int
        How long a campaign document may be.
    queued_reports : int
        How many reports may wait for their commit; more are told to come back.
    large_bodies : int
        How many bodies of more than 64 KiB are read or decoded at once.
    connections : int
        How many connections are open at once.
    """

    requests_per_second: float = 100.0
    burst: int = 200
    client_reports_per_hour: float = 1000.0
    client_share: float = 0.25
    aggregators: tuple[str, ...] = ()
    body_seconds: float = 10.0
    header_seconds: float = 10.0
    header_bytes: int = 16_384
    campaign_bytes: int = 1 << 24
    queued_reports: int = 200_000
    large_bodies: int = 8
    connections: int = 2000

    def __post_init__(self) -> None:
        for name, least in _LEAST_RATES.items():
            rate = _checks.finite(name, getattr(self, name))
            if rate and rate < least:
                raise InvalidArgumentError(name, f"be 0 or at least {least:g}", rate)
        if not 0.0 <= _checks.finite("client_share", self.client_share) <= 1.0:
            rule = "lie between 0 and 1"
            raise InvalidArgumentError("client_share", rule, self.client_share)
        for each in self.aggregators:
            check_network("aggregators", each)
        _checks.whole("burst", self.burst, 1, 1 << 30)
        _checks.positive("body_seconds", self.body_seconds)
        _checks.positive("header_seconds", self.header_seconds)
        _checks.whole("header_bytes", self.header_bytes, 1024, 1 << 20)
        _checks.whole("campaign_bytes", self.campaign_bytes, 1024, 1 << 24)
        _checks.whole("queued_reports", self.queued_reports, 10_000, 1 << 30)
        _checks.whole("large_bodies", self.large_bodies, 1, 1 << 16)
        _checks.whole("connections", self.connections, 1, 1 << 20)


def check_network(name: str, text: str) -> None:
    """Raise where a text is neither an IP address nor a network."""
    try:
        ipaddress.ip_network(text)
    except ValueError:
        rule = "be IP addresses or networks, such as 127.0.0.1 or 10.0.0.0/8"
        raise InvalidArgumentError(name, rule, text) from None


def client_network(address: str) -> str:
    """Return what limits take for one client: an IPv4 address, or a /64 network of IPv6.

    A household has a /64 network or more, so the addresses in it are one client's. An IPv4 address
    in the form of IPv6 is an IPv4 address. Texts that are no addresses stay as they are.

    Examples
    --------
    >>> client_network("2001:db8::7:1"), client_network("::ffff:192.0.2.1")
    ('2001:db8::', '192.0.2.1')
    >>> client_network("192.0.2.1"), client_network("unix:")
    ('192.0.2.1', 'unix:')
    """
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Address(int(found) >> 64 << 64))


class RateLimiter:
    """A bucket of requests, or of reports, for every client that was seen lately.

    Parameters
    ----------
    rate : float
        How many per second in the long run; 0 for no limit.
    burst : float
        How many at once after a pause.
    clock : callable

    Guarantees
    ----------
    No address is kept: a client is a hash under a key that this process drew at its start and
    never writes anywhere. The least recent of more than 65,536 clients are forgotten. Addresses of
    one `client_network` are one client.

    Examples
    --------
    >>> limiter = RateLimiter(rate=1.0, burst=2, clock=lambda: 0.0)
    >>> [limiter.wait("192.0.2.1") for _ in range(3)]
    [0, 0, 1]
    >>> limiter.wait("192.0.2.2")
    0
    """

    def __init__(
        self, rate: float, burst: float, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._rate = rate
        self._burst = float(burst)
        self._clock = clock
        self._key = secrets.token_bytes(32)
        self._buckets: OrderedDict[bytes, tuple[float, float]] = OrderedDict()

    def name(self, client: str) -> bytes:
        """Return what stands for the address of a client, here and in other limiters."""
        text = client_network(client) if ":" in client else client
        return blake2b(text.encode(), digest_size=12, key=self._key).digest()

    def wait(self, client: str | bytes, amount: float = 1.0, part: int = 0) -> int:
        """Take an amount; return 0, or after how many seconds to come back.

        A client is an address or its `name`, and has a bucket for each `part`, such as a campaign.
        """
        if not self._rate:
            return 0
        key, level, now = self._level(client, part)
        allowed = level >= amount - _ROUNDING
        self._set(key, level - amount if allowed else level, now)
        return 0 if allowed else max(1, math.ceil((amount - level) / self._rate))

    def is_used_up(self, client: str) -> bool:
        """Say whether the next request of a client would have to wait; nothing is taken."""
        if not self._rate:
            return False
        key, level, now = self._level(client)
        self._set(key, level, now)
        return level < 1.0

    def charge(self, client: str | bytes, amount: float, part: int = 0) -> None:
        """Count a request that was allowed as so many more: the next has to wait for them.

        A negative amount is given back.
        """
        if self._rate and amount:
            key, level, now = self._level(client, part)
            self._set(key, min(level - amount, self._burst), now)

    def _level(self, client: str | bytes, part: int = 0) -> tuple[bytes, float, float]:
        key = client if isinstance(client, bytes) else self.name(client)
        if part:
            key += b"%d" % part
        now = self._clock()
        level, since = self._buckets.pop(key, (self._burst, now))
        return key, min(self._burst, level + (now - since) * self._rate), now

    def _set(self, key: bytes, level: float, now: float) -> None:
        self._buckets[key] = level, now
        if len(self._buckets) > _REMEMBERED_CLIENTS:
            self._buckets.popitem(last=False)
