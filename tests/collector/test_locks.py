"""Locks of PostgreSQL: one order in all transactions, and victims of deadlocks begin again."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing

import numpy as np
import psycopg
import pytest

from noutput.campaign import Campaign
from noutput.collector.cells import CellLayout
from noutput.collector.publishing import Publishing, ReleasePolicy
from noutput.collector.store import open_store
from noutput.collector.store.interface import Outcome, Store, Submission, UnavailableError
from tests.collector.labeled import labeled_campaign
from tests.collector.postgresql import PostgresqlServer
from tests.collector.test_order import create

NOW = "2026-05-01T00:00:00Z"
LABELS = {name: tuple(f"{name}{number}" for number in range(9)) for name in ("state", "plan")}
CAMPAIGN = labeled_campaign(LABELS)  # 100 combinations: some people tell none
SENDERS, BATCHES, BATCH = 6, 40, 200


@pytest.fixture
def database(postgresql: PostgresqlServer) -> str:
    return postgresql.new_database()


@pytest.fixture
def stores(database: str) -> Iterator[tuple[Store, Store]]:
    """Two collectors on one database."""
    with closing(open_store(database)) as one, closing(open_store(database)) as two:
        yield one, two


def submission(rng: np.random.Generator, key: int, campaign: Campaign, size: int) -> Submission:
    layout = CellLayout(campaign)
    questions = np.zeros(size, np.int32)
    outputs = rng.integers(0, 5, size).astype(np.int32)
    strata = rng.integers(0, layout.strata.combinations, size)
    cells = layout.cells(questions, outputs, strata)
    assert cells is not None
    return Submission(key, rng.bytes(16 * size), cells.tobytes())


def release(store: Store, key: int) -> int:
    publishing = Publishing(CellLayout(CAMPAIGN), ReleasePolicy(100, 0.0))
    return len(store.release(key, publishing, NOW, lambda *_: None))


def test_publishing_and_counting_never_wait_in_a_circle(
    postgresql: PostgresqlServer, stores: tuple[Store, Store]
) -> None:
    key = create(stores[0], CAMPAIGN)
    log = postgresql.folder / "log"
    before = log.read_text().count("deadlock detected")
    done = threading.Event()

    def send(sender: int) -> None:
        rng = np.random.default_rng(sender)
        for _ in range(BATCHES):
            waiting = [submission(rng, key, CAMPAIGN, BATCH)]
            assert stores[sender % 2].add(waiting) == [Outcome(BATCH, 0)]

    def publish(store: Store) -> int:
        steps = 0
        while not done.is_set():
            steps += release(store, key)
        return steps

    with ThreadPoolExecutor(SENDERS + 2) as pool:
        publishers = [pool.submit(publish, store) for store in stores]
        senders = [pool.submit(send, sender) for sender in range(SENDERS)]
        try:
            for sender in senders:
                sender.result()
        finally:
            done.set()
        assert sum(publisher.result() for publisher in publishers) > 0
    assert log.read_text().count("deadlock detected") == before
    release(stores[0], key)
    total = SENDERS * BATCHES * BATCH
    assert stores[0].totals() == {key: total}


def test_whoever_publishes_waits_for_the_campaign_before_any_cell(
    database: str, stores: tuple[Store, Store]
) -> None:
    store, _ = stores
    key = create(store, CAMPAIGN)
    store.add([submission(np.random.default_rng(1), key, CAMPAIGN, 1000)])
    with psycopg.connect(database) as other, ThreadPoolExecutor(1) as pool:
        other.execute("SELECT FROM campaigns FOR NO KEY UPDATE")
        publishing = pool.submit(release, store, key)
        while not waiting(database):
            assert not publishing.done()
        locked = other.execute("SELECT count(*) FROM counts").fetchone()
        free = other.execute("SELECT cell FROM counts FOR UPDATE SKIP LOCKED").fetchall()
        assert locked == (len(free),)
        store.probe()  # a health check waits for none of these locks
        other.rollback()
        assert publishing.result() > 0


def waiting(database: str) -> bool:
    """Say whether a transaction of this database waits for a lock."""
    query = "SELECT FROM pg_stat_activity WHERE datname = current_database()"
    with psycopg.connect(database) as connection:
        found = connection.execute(f"{query} AND wait_event_type = 'Lock'".encode())
        return found.fetchone() is not None


@pytest.mark.parametrize("state", ["40P01", "40001"])
@pytest.mark.parametrize("table", ["id_runs", "counts"])
def test_a_victim_counts_again(
    database: str, stores: tuple[Store, Store], state: str, table: str
) -> None:
    """The server ends three attempts of the first transaction, and all four of the second."""
    store, another = stores
    key = create(store, CAMPAIGN)
    with psycopg.connect(database) as other:
        other.execute("CREATE SEQUENCE attempts MINVALUE -100 START 1")
        other.execute(
            "CREATE FUNCTION fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
            f" IF nextval('attempts') <= 3 THEN RAISE SQLSTATE '{state}'; END IF;"
            " RETURN NULL; END $$".encode()
        )
        other.execute(
            f"CREATE TRIGGER fail AFTER INSERT ON {table} EXECUTE FUNCTION fail()".encode()
        )
    rng = np.random.default_rng(2)
    first, second = (submission(rng, key, CAMPAIGN, 50) for _ in range(2))
    assert store.add([first]) == [Outcome(50, 0)]
    with psycopg.connect(database) as other:
        other.execute("ALTER SEQUENCE attempts RESTART -100")
    with pytest.raises(UnavailableError):
        store.add([second])
    assert (store.totals(), another.totals()) == ({key: 50}, {key: 50})
    with psycopg.connect(database) as other:
        other.execute(f"DROP TRIGGER fail ON {table}".encode())
        assert other.execute("SELECT last_value FROM attempts").fetchone() == (-97,)
    assert store.add([first, second]) == [Outcome(0, 50), Outcome(50, 0)]
    assert another.add([first, second]) == [Outcome(0, 50), Outcome(0, 50)]
