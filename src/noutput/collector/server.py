"""Running the application: one process, one socket, no log of who called."""

from __future__ import annotations

import gc
import logging
import os
import signal
import sys
import threading
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from noutput import _checks
from noutput._extras import need
from noutput.campaign.campaign import Campaign
from noutput.campaign.text import format_instant
from noutput.collector.archive.archive import Archive, open_archive
from noutput.collector.clock import Clock, system_clock
from noutput.collector.estimable import check_estimable
from noutput.collector.http.auth import creation, first_admin_token, new_token
from noutput.collector.http.connections import BACKLOG, address, affordable, listen
from noutput.collector.http.limits import Limits, check_network
from noutput.collector.logs import LOG_FORMATS, event, start_logging
from noutput.collector.publishing import ReleasePolicy
from noutput.collector.store import open_store
from noutput.collector.store.check import check_at_start
from noutput.collector.store.interface import COMMAND_LINE, Action
from noutput.errors import InvalidArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    import uvicorn

    from noutput.collector.http.guard import Guard
    from noutput.collector.store.interface import Store

__all__ = ["Options", "Running", "run", "running"]

_log = logging.getLogger("noutput.collector")
_DRAIN_SECONDS = 5
# The thread that commits needs its turn several times a commit; Python's 5 ms would be a
# commit's own time for each.
_SWITCH_SECONDS = 0.001
# Hundreds of requests in flight are no garbage, and looking through them costs.
_COLLECT_AFTER = (20_000, 20, 20)


@dataclass(frozen=True, slots=True)
class Options:
    """How a collector process runs.

    Parameters
    ----------
    database : str
        See `open_store`.
    host : str
    port : int
        0 takes a free one.
    campaigns : tuple of Path
        Campaign documents to keep at the start.
    trusted_proxies : tuple of str
        Addresses or networks whose ``X-Forwarded-For`` names the client, and whose
        ``X-Forwarded-Proto`` the scheme.
    new_admin_token : bool
        Make another admin token, for those who lost theirs.
    admin_token_file : Path, optional
        Where a new admin token is written, for its owner only, in place of being said.
    archive : Path, optional
        A folder in which reports are kept as Parquet as well.
    log_format : "text" or "json"
        Of the lines on the standard error.
    limits : Limits
    policy : ReleasePolicy
        When counts are published.
    clock : Clock
        Says what time it is, for opening and closing times and for the history.
    """

    database: str
    host: str = "127.0.0.1"
    port: int = 8000
    campaigns: tuple[Path, ...] = ()
    trusted_proxies: tuple[str, ...] = ()
    new_admin_token: bool = False
    admin_token_file: Path | None = None
    archive: Path | None = None
    log_format: str = "text"
    limits: Limits = field(default_factory=Limits)
    policy: ReleasePolicy = field(default_factory=ReleasePolicy)
    clock: Clock = system_clock

    def __post_init__(self) -> None:
        _checks.choice("log_format", self.log_format, LOG_FORMATS)
        for each in self.trusted_proxies:
            check_network("trusted_proxies", each)
        file = self.admin_token_file
        if file is not None and not file.absolute().parent.is_dir():  # else the token would be lost
            raise InvalidArgumentError("admin_token_file", "lie in a folder that exists", str(file))


def run(options: Options, say: Callable[[str], object] = print) -> None:
    """Serve until a signal ends the process.

    SIGTERM and SIGINT end it in order: requests that have begun are answered, what they counted
    is moved into the database, and then the signal has its usual effect.

    Parameters
    ----------
    options : Options
    say : callable
        Gets the first admin token, which is shown nowhere else, and the address. Where the log is
        JSON, the address is in the log, and a token alone is said.
    """
    _need_all()
    start_logging(options.log_format)
    sys.setswitchinterval(_SWITCH_SECONDS)
    store = open_store(options.database)
    archive = None
    try:
        archive = None if options.archive is None else open_archive(options.archive)
        check_at_start(store)
        token = _prepare(store, options)
        if token is not None:
            _hand_over(token, options, say)
        server = _server(_app(store, options, archive), options)
        with listen(options.host, options.port) as listener:
            _announce(address(options.host, listener), options, say)
            gc.collect()
            gc.freeze()  # what is there now stays: no need to look at it again and again
            gc.set_threshold(*_COLLECT_AFTER)
            with _signals_end(server):
                server.run(sockets=[listener])
                _close(store, archive)  # a signal ends the process at the end of the block
    finally:
        _close(store, archive)


def _close(store: Store, archive: Archive | None) -> None:
    store.close()
    if archive is not None:
        archive.close()


@dataclass(frozen=True, slots=True)
class Running:
    """A collector in a thread of this process.

    Parameters
    ----------
    url : str
    admin_token : str
    store : Store
    note : callable
        Lets the collector publish what is due now; it does so every second by itself.
    """

    url: str
    admin_token: str
    store: Store
    note: Callable[[], None]


@contextmanager
def running(options: Options) -> Iterator[Running]:
    """Serve a new database in a thread, until the block is left.

    Raises
    ------
    InvalidArgumentError
        If the database has an admin token already, or nobody can listen at the address.
    """
    _need_all()
    store = open_store(options.database)
    archive = None
    try:
        archive = None if options.archive is None else open_archive(options.archive)
        token = _prepare(store, options)
        if token is None:
            raise InvalidArgumentError("database", "be new", options.database)
        app = _app(store, options, archive)
        server = _server(app, options)
        with listen(options.host, options.port) as listener:
            thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
            thread.start()
            try:
                yield Running(address(options.host, listener), token, store, app.services.note)
            finally:
                server.should_exit = True
                thread.join()
    finally:
        _close(store, archive)


@contextmanager
def _signals_end(server: uvicorn.Server) -> Iterator[None]:
    """Let signals stop the server, and end the process only after the block.

    uvicorn stops at a signal by itself, and then raises it again at once.
    """
    received: list[int] = []

    def note(number: int, _: object) -> None:
        received.append(number)
        server.should_exit = True

    before = {number: signal.signal(number, note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        signal.raise_signal(received[0])


def _need_all() -> None:
    for package in ("fastapi", "uvicorn", "httptools", "jinja2"):
        need(package, "collector")


def _app(store: Store, options: Options, archive: Archive | None) -> Guard:
    from noutput.collector.app import create_app

    return create_app(
        store, clock=options.clock, limits=options.limits, policy=options.policy, archive=archive
    )


def _server(app: Guard, options: Options) -> uvicorn.Server:
    import uvicorn

    from noutput.collector.http.protocol import limited_protocol

    limits = replace(options.limits, connections=affordable(options.limits.connections))
    config = uvicorn.Config(
        app,
        http=limited_protocol(
            limits, app.services.limiter, app.services.metrics, hold=not options.trusted_proxies
        ),
        ws="none",
        lifespan="on",
        log_config=None,  # as `start_logging` says
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=bool(options.trusted_proxies),
        forwarded_allow_ips=list(options.trusted_proxies),
        backlog=BACKLOG,
        timeout_keep_alive=30,
        timeout_graceful_shutdown=_DRAIN_SECONDS,
    )
    return uvicorn.Server(config)


def _prepare(store: Store, options: Options) -> str | None:
    """Keep the campaigns; return an admin token where there is a new one."""
    now = options.clock()
    token = first_admin_token(store, now)
    if token is None and options.new_admin_token:
        token, row = new_token("admin", None, now, label="noutput serve")
        store.add_token(row, action=creation(row))
    for path in options.campaigns:
        try:
            campaign = Campaign.from_json(path.read_bytes())
            check_estimable(campaign)
        except InvalidArgumentError as error:
            name = f"{error.name} in {path}"
            raise InvalidArgumentError(name, error.rule, error.found) from None
        at = format_instant(now)
        action = Action(at, COMMAND_LINE, "campaign.create", campaign.id)
        store.create(campaign.id, campaign.fingerprint, campaign.to_json(), at, action)
    return token


def _hand_over(token: str, options: Options, say: Callable[[str], object]) -> None:
    """Show a new admin token, or keep it in a file of its owner: a log would keep it for many."""
    file = options.admin_token_file
    if file is None:
        say(f"Admin token, shown only now: {token}")
        return
    file.unlink(missing_ok=True)  # an earlier one; whoever has it open does not see the new one
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as opened:
        opened.write(f"{token}\n")
    if options.log_format == "json":
        _log.info(
            "admin token written to %s", file, extra=event("admin-token-written", file=str(file))
        )
    else:
        say(f"Admin token written to {file}")


def _announce(address: str, options: Options, say: Callable[[str], object]) -> None:
    """Tell where the collector listens, in the form that programs wait for or people read."""
    if options.log_format == "json":
        _log.info("collecting at %s", address, extra=event("started", address=address))
    else:
        say(f"Collecting at {address}")
