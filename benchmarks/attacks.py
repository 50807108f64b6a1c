"""Attacks of a client that obeys no rule, each in a process of its own, against loopback only."""

from __future__ import annotations

import asyncio
import json
import os
import resource
import secrets
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.http_client import exchange, get, post
from noutput.campaign.campaign import Campaign
from noutput.campaign.packed import widths
from noutput.campaign.wire import BATCH_TYPE, MAX_BATCH, PACKED_TYPE, REPORT_TYPE

__all__ = ["ATTACKS", "Attack", "packed_batch"]

_SOURCE = "127.0.0.66"  # one machine: one address, which the rate limiter may know
_PATIENCE = 60.0
_SHIFT = 57
_random = secrets.SystemRandom()


@dataclass(frozen=True)
class Target:
    """What an attack needs to know: the port, a campaign, and when to end."""

    port: int
    campaign: Campaign
    until: float

    @property
    def path(self) -> str:
        """The address of the campaign."""
        return f"/campaigns/{self.campaign.id}"


Request = Callable[[Target], bytes]


@dataclass(frozen=True)
class Attack:
    """Many connections that send requests one after the other.

    Parameters
    ----------
    title : str
    connections : int
    request : callable
        Makes one request; None only connects, and waits.
    pause : float
        Seconds between two requests of one connection; 0 sends as fast as answers come.
    campaign : str
        Which one is attacked: that of the honest reports ("load"), one with 64 questions ("wide"),
        one with 63 labels ("labeled"), or one that gets forged reports only ("forged"; "limited"
        expects 10,000 per hour).
    fresh : bool
        Whether every request has a connection of its own.
    """

    title: str
    connections: int
    request: Request | None
    pause: float = 0.0
    campaign: str = "load"
    fresh: bool = False


def packed_batch(campaign: Campaign, ids: np.ndarray) -> bytes:
    """Return a packed batch of reports with these ids (rows of two 64-bit halves)."""
    ordered = np.sort(ids.astype(">u8").view("S16").ravel())
    _, places, outputs = widths(campaign)
    head = bytes([2, 0, 0, places, outputs, 0, 0, 0]) + len(ordered).to_bytes(4, "little")
    # Any bits are answers: the campaigns have 1 or 64 questions, and 16 outputs.
    answers = os.urandom(len(ordered) * (places + outputs) // 8)
    body = head + bytes.fromhex(campaign.fingerprint) + ordered.tobytes() + answers
    return post(f"/campaigns/{campaign.id}/reports", PACKED_TYPE, body)


def _colliding_ids(target: Target) -> bytes:
    """Return 10,000 ids that a hash a h + b l modulo 2^64 maps to 128 keys, whatever a and b."""
    steps = np.arange(1 << (2 * (64 - _SHIFT)), dtype=np.uint64)[:MAX_BATCH]
    side = np.uint64(1 << (64 - _SHIFT))
    base = [_random.getrandbits(_SHIFT) for _ in range(2)]
    halves = [(steps // side, base[0]), (steps % side, base[1])]
    parts = [(part << np.uint64(_SHIFT)) + np.uint64(start) for part, start in halves]
    return packed_batch(target.campaign, np.stack(parts, axis=1))


def _new_estimates(target: Target) -> bytes:
    """Ask for what is in no cache, also by a report that changes the counts."""
    if not _random.randrange(4):
        ids = np.frombuffer(os.urandom(16 * 8), np.uint64).reshape(-1, 2)
        return packed_batch(target.campaign, ids)
    new = f"0.{5 * 10**8 + _random.randrange(4 * 10**8)}"
    level = _random.choice([new, "0.9", "0.95", "0.99"])
    bins = _random.choice([_random.randint(4, 256), 4, 8, 16, 32, 64, 128, 256])
    return get(f"{target.path}/estimates?level={level}&bins={bins}")


def _costly_reading(target: Target) -> bytes:
    """Ask for what takes long to compute or much memory to keep, and was never asked for before."""
    label, number = f"state:s{_random.randrange(63):02}", f"{_random.uniform(1, 99):.6f}"
    paths = [
        f"/segments?by=state&weight=s00:{number}",
        f"/segments?by=state&question=number&statistic=below+{number}",
        f"/estimates?bins=256&segment={label}",
        f"/estimates?level=0.94&segment={label}",
        f"?question=number&segment={label}&target={number}",
        f"?question=number&statistic=quantile+0.{_random.randrange(1, 999):03}",
    ]
    return get(target.path + _random.choice(paths), "accept: text/html")


_refused: list[bytes] = []


def _refused_json(target: Target) -> bytes:
    """Return a JSON batch of nearly 2 MiB that is well formed up to its last report."""
    if not _refused:
        name = target.campaign.questions[0].name
        reports = [
            {"question": name, "output": 0, "id": os.urandom(16).hex(), "": " " * 110}
            for _ in range(MAX_BATCH)
        ]
        for each in reports[:-1]:
            each.pop("")
        reports[-1]["output"] = -1
        body = {"version": 1, "campaign": target.campaign.fingerprint, "reports": reports}
        text = json.dumps(body).encode()
        text += b" " * (2_097_152 - len(text))
        _refused.append(post(f"{target.path}/reports", BATCH_TYPE, text))
    return _refused[0]


def _forged(target: Target) -> bytes:
    """Return forged reports: as many as one client may send at once, or a few of the next."""
    size = _random.choice([MAX_BATCH, 1000, 100, 10, 2])
    return packed_batch(target.campaign, np.frombuffer(os.urandom(16 * size), np.uint64)
                        .reshape(-1, 2))  # fmt: skip


def _page(target: Target) -> bytes:
    return get(target.path, "accept: text/html")


def _malformed_head(target: Target) -> bytes:  # noqa: ARG001 (as the others)
    return b"\x16\x03\x01 what is this\r\n\r\n"


def _huge_length(target: Target) -> bytes:
    digits = "0" * 5000 + "9"  # without the zeros, the parser of HTTP refuses it
    head = f"POST {target.path}/reports HTTP/1.1\r\nhost: localhost\r\n"
    return f"{head}content-type: {REPORT_TYPE}\r\ncontent-length: {digits}\r\n\r\n".encode()


ATTACKS: dict[str, Attack] = {
    "ids": Attack("colliding ids, one packed batch per second", 1, _colliding_ids, pause=1.0),
    "estimates": Attack("estimates at new levels, 64 questions, 20 requests/s", 20,
                        _new_estimates, pause=1.0, campaign="wide"),
    "readers": Attack("costly estimates that nobody asked for, 12 connections", 12,
                      _costly_reading, campaign="labeled"),
    "json-20": Attack("refused 2 MiB JSON batches, 20 connections", 20, _refused_json),
    "json-60": Attack("refused 2 MiB JSON batches, 60 connections", 60, _refused_json),
    "forged": Attack("forged reports, 20 connections", 20, _forged, campaign="forged"),
    "limited": Attack("forged reports, campaign of 10,000 per hour", 20, _forged,
                      campaign="limited"),
    "dashboards": Attack("50 open dashboards", 50, _page, pause=2.0),
    "idle": Attack("1,100 idle sockets", 1100, None),
    "heads": Attack("malformed heads, 20 connections", 20, _malformed_head, fresh=True),
    "length": Attack("Content-Length of 5,000 digits, 20 connections", 20, _huge_length,
                     fresh=True),
}  # fmt: skip


def _play(name: str, port: int, document: Path, seconds: float) -> dict[int, int]:
    """Attack a collector for some seconds; return how many answers of each status came."""
    attack = ATTACKS[name]
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    target = Target(port, Campaign.from_json(document.read_bytes()), time.monotonic() + seconds)
    statuses: dict[int, int] = {}

    async def everybody() -> None:
        clients = (_client(attack, target, place, statuses) for place in range(attack.connections))
        await asyncio.gather(*clients)

    asyncio.run(everybody())
    return statuses


async def _client(attack: Attack, target: Target, place: int, statuses: dict[int, int]) -> None:
    """Keep one connection busy, and open it again whenever the server closes it."""
    await asyncio.sleep(attack.pause * place / attack.connections)
    while time.monotonic() < target.until:
        left = target.until - time.monotonic()
        status = 0
        with suppress(TimeoutError, OSError, asyncio.IncompleteReadError, ValueError):
            async with asyncio.timeout(min(_PATIENCE, max(left, 0.1))):
                await _connection(attack, target, statuses)
                continue
        statuses[status] = statuses.get(status, 0) + 1
        await asyncio.sleep(0.01)


async def _connection(attack: Attack, target: Target, statuses: dict[int, int]) -> None:
    reader, writer = await asyncio.open_connection(
        "127.0.0.1", target.port, local_addr=(_SOURCE, 0)
    )
    try:
        while time.monotonic() < target.until:
            if attack.request is None:
                await reader.read()
                return
            began = time.monotonic()
            status, head = await exchange(reader, writer, attack.request(target))
            statuses[status] = statuses.get(status, 0) + 1
            await asyncio.sleep(max(0.0, attack.pause - (time.monotonic() - began)))
            if attack.fresh or b"connection: close" in head.lower():
                return
    finally:
        writer.close()


def main() -> None:
    """Say that the process is ready, wait for a line, attack, and print what was answered."""
    name, port, document, seconds = sys.argv[1:]
    print("ready", flush=True)
    sys.stdin.readline()
    print(json.dumps(_play(name, int(port), Path(document), float(seconds))), flush=True)


if __name__ == "__main__":
    main()
