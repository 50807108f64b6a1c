"""Clients of collectors that are killed under load: what all kill tests share."""

from __future__ import annotations

import http.client
import random
import threading
import time
from abc import abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from noutput.campaign import Campaign, Report
from noutput.collector.cells import CellLayout
from noutput.collector.store import open_store
from noutput.collector.store.interface import Snapshot
from tests.collector.process import Running

PATH = "/campaigns/commute"
_PATIENCE_SECONDS = 240


@dataclass
class Progress:
    """How often a collector was killed; senders spread their reports over all kills.

    Parameters
    ----------
    kills : int
        How many there will be.
    first : float
        The share of all reports that may be sent before the first.
    """

    kills: int
    first: float = 0.0
    count: int = 0

    @property
    def allowed(self) -> float:
        """The share of all reports that may be sent before the next kill."""
        first = self.first or 1 / (self.kills + 1)
        return first + (1.0 - first) * self.count / self.kills


@dataclass
class Sender(threading.Thread):
    """A client that sends its reports, each until it is acknowledged."""

    ports: list[int]
    seed: int
    progress: Progress
    acknowledged: dict[str, Report] = field(default_factory=dict)
    retries: int = 0
    failure: BaseException | None = None

    def __post_init__(self) -> None:
        super().__init__(daemon=True)
        self._connection: http.client.HTTPConnection | None = None

    def __hash__(self) -> int:
        return id(self)

    @abstractmethod
    def work(self, rng: random.Random) -> None:
        """Send all reports."""

    def run(self) -> None:
        try:
            self.work(random.Random(self.seed))  # noqa: S311
        except BaseException as error:  # noqa: BLE001
            self.failure = error
        finally:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._connection is not None:
            self._connection.close()
        self._connection = None

    def wait_for(self, share: float) -> None:
        """Wait until this share of all reports may be sent."""
        while share > self.progress.allowed:
            time.sleep(0.005)

    def ask(self, method: str, path: str, body: bytes | None = None, media: str = "") -> bytes:
        """Return the answer 200 to a request, that is sent again until there is one."""
        deadline = time.monotonic() + _PATIENCE_SECONDS
        headers = {"Content-Type": media} if body else {"Accept": "application/json"}
        while time.monotonic() < deadline:
            try:
                if self._connection is None:  # the other collector, where there are two
                    port = self.ports[(self.seed + self.retries) % len(self.ports)]
                    self._connection = http.client.HTTPConnection("127.0.0.1", port, 20)
                self._connection.request(method, path, body, headers)
                answer = self._connection.getresponse()
                content = answer.read()
            except (OSError, http.client.HTTPException):
                self._disconnect()
                self.retries += 1
                time.sleep(0.02)
                continue
            if answer.status == 503:
                self.retries += 1
                time.sleep(0.05)
                continue
            assert answer.status == 200, content
            return content
        raise TimeoutError(f"no acknowledgement within {_PATIENCE_SECONDS} seconds")


def run_with_kills(
    start: Callable[[int], Running],
    senders: Sequence[Sender],
    progress: Progress,
    *,
    pauses: tuple[float, float],
    crash: Callable[[int], None] = lambda _: None,
) -> None:
    """Kill a collector again and again while clients send, and start it anew.

    Parameters
    ----------
    start : callable
        Starts a collector at a port.
    senders : sequence of Sender
    progress : Progress
    pauses : (float, float)
        How long the next kill is waited for, in seconds: at random between both.
    crash : callable
        Called after each kill with its number, from 1.
    """
    ports = senders[0].ports
    servers = [start(port) for port in ports]
    rng = random.Random(7)  # noqa: S311
    try:
        for sender in senders:
            sender.start()
        for number in range(1, progress.kills + 1):
            time.sleep(rng.uniform(*pauses))
            place = rng.randrange(len(servers))
            servers[place].kill()
            progress.count = number
            crash(number)
            servers[place] = start(ports[place])
        for sender in senders:
            sender.join(600)
    finally:
        for server in servers:
            server.kill()
    for sender in senders:
        assert sender.failure is None, sender.failure
        assert not sender.is_alive()


def check_counts(database: str, senders: Sequence[Sender], wanted: int) -> Snapshot:
    """Acknowledged = counted, in every cell and id by id; return what the database has."""
    store = open_store(database)
    try:
        with store.snapshot("commute") as found:
            assert found is not None
            kept = b"".join(found.ids)
    finally:
        store.close()
    campaign = Campaign.from_json(found.row.document)
    layout = CellLayout(campaign)
    counts: Counter[int] = Counter()
    ids: set[bytes] = set()
    for sender in senders:
        for report in sender.acknowledged.values():
            wave = layout.wave(report.campaign)
            assert wave is not None
            stratum = layout.strata.renumbered(campaign.stratum(report.labels, report.round))
            cell = wave.cell(report.question, report.output, stratum)
            assert cell is not None
            counts[cell] += 1
            ids.add(bytes.fromhex(report.id))
    assert found.reports == dict(counts)
    assert len(ids) == len(kept) // 16 == wanted
    assert {kept[start : start + 16] for start in range(0, len(kept), 16)} == ids
    return found
