"""What a collector logs: one form of lines, and nothing that is private."""

from __future__ import annotations

import io
import json
import logging
import re
import socket
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from click.testing import CliRunner
from sqlalchemy import Connection, insert

from noutput.campaign import Campaign, draw_report
from noutput.campaign.wire import REPORT_TYPE, encode_report
from noutput.cli.serve import command
from noutput.collector.logs import LogFormatter, event, start_logging
from noutput.collector.server import Options, running
from noutput.collector.store.schema import tokens
from noutput.errors import InvalidArgumentError
from tests.docs.blocks import ROOT

LINE = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z (WARNING|ERROR) [a-z.]+: \S.*")
TOKEN = "noutput_0123456789ab_" + "s" * 43


@pytest.fixture
def log(request: pytest.FixtureRequest) -> Iterator[io.StringIO]:
    root, own = logging.getLogger(), logging.getLogger("noutput")
    before = root.handlers[:], root.level, own.level
    stream = io.StringIO()
    # pytest has its own handlers at the root, which must outlive the test
    root.handlers = []
    start_logging(getattr(request, "param", "text"), stream)
    yield stream
    root.handlers, root.level, own.level = before[0], before[1], before[2]


def test_lines_cannot_be_forged(log: io.StringIO) -> None:
    forged = "x\n2026-01-01T00:00:00.000Z ERROR noutput.collector: all is lost\x1b[2J\u2028y"
    logging.getLogger("uvicorn.error").warning("%s", forged)
    first, second = log.getvalue().splitlines()
    assert LINE.fullmatch(first)
    assert second.startswith("    2026")
    assert second.endswith(r"lost\x1b[2J\u2028y")


def test_lines_that_repeat_are_written_once(log: io.StringIO) -> None:
    for _ in range(3):
        logging.getLogger("uvicorn.error").warning("Invalid HTTP request received.")
        logging.getLogger("noutput.collector").error("the commit failed")
    assert len(log.getvalue().splitlines()) == 2


def test_no_secret_is_written(log: io.StringIO) -> None:
    try:
        raise ValueError(f"Bearer {TOKEN} is wrong")
    except ValueError:
        logging.getLogger("noutput.collector").exception("refused %s", TOKEN)
    assert "s" * 43 not in log.getvalue()
    assert log.getvalue().count("noutput_0123456789ab_...") == 2


def test_json_lines() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        record = logging.LogRecord(
            "noutput.collector", logging.ERROR, "", 1, "it %s", ("failed",), sys.exc_info()
        )
    text = LogFormatter("json").format(record)
    assert "\n" not in text
    found = json.loads(text)
    assert list(found) == ["time", "level", "event", "fields", "logger", "message", "traceback"]
    assert found["message"] == "it failed"
    assert found["traceback"].endswith("ValueError: two\nlines")
    with pytest.raises(InvalidArgumentError, match="log_format must be one of"):
        Options("x.db", log_format="xml")


def test_events_have_names_and_fields() -> None:
    record = logging.LogRecord("noutput.collector", logging.WARNING, "", 1, "alarm", (), None)
    vars(record).update(event("alarm", kind="shape", campaign=f"x\n{TOKEN}"))
    found = json.loads(LogFormatter("json").format(record))
    assert found["event"] == "alarm"
    assert found["fields"] == {"kind": "shape", "campaign": "x\nnoutput_0123456789ab_..."}
    assert "shape" not in LogFormatter("text").format(record)
    plain = logging.LogRecord("uvicorn.error", logging.WARNING, "", 1, "alarm", (), None)
    found = json.loads(LogFormatter("json").format(plain))
    assert (found["event"], found["fields"]) == ("uvicorn.error", {})


def test_the_page_lists_every_event() -> None:
    code = "".join(path.read_text() for path in (ROOT / "src/noutput/collector").rglob("*.py"))
    page = (ROOT / "docs" / "collector.md").read_text(encoding="utf-8")
    table = page.partition("| event | fields |")[2].partition("\n\n")[0]
    names = [name for row in table.splitlines()[2:] for name in row.split("|")[1].split(",")]
    used = set(re.findall(r'extra=event\(\s*"([a-z-]+)"', code))
    assert used == {name.strip(" `") for name in names}


@pytest.mark.parametrize("log", ["text", "json"], indirect=True)
def test_a_running_collector_logs_nothing_private(
    log: io.StringIO, tmp_path: Path, campaign: Campaign, monkeypatch: pytest.MonkeyPatch
) -> None:
    document = tmp_path / "commute.json"
    document.write_text(campaign.to_json())
    options = Options(str(tmp_path / "reports.db"), port=0, campaigns=(document,))
    report = draw_report(campaign, {"minutes": 41.578125, "rides": 2.0, "cost": 12.5})
    headers = {"Content-Type": REPORT_TYPE, "User-Agent": "private-agent"}
    with running(options) as collector:
        headers["Authorization"] = f"Bearer {collector.admin_token}"
        host = collector.url.removeprefix("http://")
        with socket.create_connection((host.split(":")[0], int(host.split(":")[1]))) as client:
            client.sendall(b"what is this\r\n\r\n")
            client.recv(4096)
        store = type(collector.store)
        # what a mistake in the store would be: an error of the database with its parameters
        monkeypatch.setattr(store, "_count", _insert_twice)
        address = f"{collector.url}/campaigns/commute/reports"
        assert status(address, headers, encode_report(report)) == 503
        # a mistake in a route
        monkeypatch.setattr(store, "totals", lambda _: float(collector.admin_token))
        assert status(f"{collector.url}/campaigns", headers) == 500
        secret = collector.admin_token.split("_", 2)[2]
    text = log.getvalue()
    records = [line for line in text.splitlines() if not line.startswith("    ")]
    assert len(records) >= 3
    if text.startswith("{"):
        lines = [json.loads(line) for line in text.splitlines()]
        events = {(each["level"], each["event"]) for each in lines}
        assert {("WARNING", "uvicorn.error"), ("ERROR", "commit-failed")} <= events
    else:
        for line in records:
            assert LINE.fullmatch(line), line
        assert "uvicorn.error: Invalid HTTP request received." in text
        assert "ERROR noutput.collector: the commit failed" in text
    for hidden in (secret, report.id, str(bytes.fromhex(report.id)), "41.578125", "private-agent",
                   "private-label", "127.0.0.1"):  # fmt: skip
        assert hidden not in text, hidden


def serve(folder: Path, *options: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "noutput", "serve", "--log-format", "json", "--port", "0"]
    return subprocess.Popen([*command, *options], cwd=folder, text=True, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE)  # fmt: skip


@pytest.mark.parametrize("options", [(), ("--admin-token-file", "token")])
def test_a_json_log_has_the_start_and_no_token(tmp_path: Path, options: tuple[str, ...]) -> None:
    process = serve(tmp_path, *options)
    assert process.stderr is not None
    lines = []
    for line in process.stderr:
        lines.append(json.loads(line))
        if lines[-1]["event"] == "started":
            break
    process.terminate()
    told, rest = process.communicate(timeout=60)
    lines += [json.loads(line) for line in rest.splitlines()]
    events = {each["event"]: each["fields"] for each in lines}
    assert events["started"]["address"].startswith("http://127.0.0.1:")
    if options:
        assert events["admin-token-written"] == {"file": "token"}
        assert told == ""
        token = (tmp_path / "token").read_text().strip()
    else:  # the only text, and not where the log is
        assert "admin-token-written" not in events
        token = told.removeprefix("Admin token, shown only now: ").strip()
        assert len(told.splitlines()) == 1
    assert token.startswith("noutput_")
    assert token not in json.dumps(lines)


def test_a_failed_start_is_in_a_json_log(tmp_path: Path) -> None:
    for options, words in (
        (("--database", "postgresql://noutput:s3cret@127.0.0.1:1/none"), "is unavailable"),
        (("--trusted-proxy", "nobody"), "trusted_proxies must be"),
        (("--host", "203.0.113.1"), "host and port must be an address to listen at"),
    ):
        told, logged = (process := serve(tmp_path, *options)).communicate(timeout=60)
        assert process.returncode == 2
        *_, last = [json.loads(line) for line in logged.splitlines()]
        assert (last["level"], last["event"]) == ("ERROR", "start-failed")
        assert words in last["message"]
        assert "s3cret" not in told + logged


@pytest.mark.usefixtures("log")  # which puts the handlers back
def test_a_mistake_at_the_start_is_in_a_json_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise ZeroDivisionError("a mistake")

    monkeypatch.setattr("noutput.collector.server.run", fail)
    database = str(tmp_path / "reports.db")
    done = CliRunner().invoke(command, ["--log-format", "json", "--database", database])
    assert done.exit_code == 1
    found = json.loads(done.stderr)
    assert (found["event"], found["message"]) == ("start-failed", "ZeroDivisionError: a mistake")
    assert found["traceback"].endswith("ZeroDivisionError: a mistake")
    raised = CliRunner().invoke(command, ["--database", database])  # text: as every program
    assert isinstance(raised.exception, ZeroDivisionError)


def status(address: str, headers: dict[str, str], body: bytes | None = None) -> int:
    request = urllib.request.Request(address, body, headers)  # noqa: S310
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:  # noqa: S310
            return int(answer.status)
    except urllib.error.HTTPError as error:
        error.close()
        return error.code


def _insert_twice(_: object, connection: object, __: object) -> None:
    assert isinstance(connection, Connection)
    values = {"id": "0" * 12, "kind": "read", "label": "private-label", "salt": b"", "digest": b"",
              "created": ""}  # fmt: skip
    for _ in range(2):
        connection.execute(insert(tokens).values(values))
