"""What the JVM client sends, and when it gives up, over real sockets."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from tests.campaign.examples import late_campaign
from tests.campaign.server import COUNTED, Answer, problem, serving
from tests.jvm.conftest import Machine

DOCUMENT = Answer(body=late_campaign().to_json().encode())


def take(machine: Machine, *urls: str, **more: Any) -> list[str]:
    """Let one person after the other answer; each task has the same settings."""
    tasks = [{"url": url, "values": True, "epsilon": 1, **more} for url in urls]
    return machine.run("Taking", given="".join(json.dumps(each) + "\n" for each in tasks))


@contextmanager
def dripping() -> Iterator[str]:
    """Send one byte of the answer's head at a time, for as long as the client listens."""
    listener = socket.create_server(("127.0.0.1", 0))

    def drip() -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                with client, suppress(OSError):
                    client.recv(4096)
                    client.sendall(b"HTTP/1.1 200 OK\r\nX-Long: ")
                    while True:
                        client.sendall(b"x")
                        stop.wait(0.02)

    stop = threading.Event()
    thread = threading.Thread(target=drip, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{listener.getsockname()[1]}/campaigns/late"
    finally:
        listener.close()


def test_what_travels_is_the_report_alone(machine: Machine) -> None:
    again = problem(503, "unavailable", Retry_After="0")
    short = Answer(body=b"{}", headers={"Content-Length": "27"})
    moved = Answer(307, headers={"Location": "http://127.0.0.1:1/"})
    with (
        serving(DOCUMENT, again, Answer(None), short, COUNTED) as (good, seen),
        serving(moved) as (elsewhere, _),
        serving(Answer(line=b"SSH-2.0-OpenSSH_9.2")) as (other, _),
        serving(Answer(body=b"x" * 70_000), DOCUMENT) as (_large, _),
    ):
        found = take(machine, good, elsewhere)
        found += take(machine, other, attempts=1)
    assert found[0] == "accepted 1, repeated 0"
    assert found[1].startswith("DeliveryException: the server redirects to 'http://127.0.0.1:1/'")
    assert found[2].startswith("DeliveryException: no answer from")
    assert [each.method for each in seen] == ["GET", *["POST"] * 4]
    bodies = {each.body for each in seen[1:]}
    assert len(bodies) == 1
    assert set(json.loads(bodies.pop())) == {"version", "campaign", "question", "output", "id"}
    for each in seen:
        names = {name.lower() for name in each.headers}
        allowed = {
            "user-agent", "accept", "accept-encoding", "host", "connection", "cache-control",
            "pragma", "content-type", "content-length",
        }  # fmt: skip
        assert names <= allowed
        assert each.headers["User-Agent"] == "noutput"


def test_a_server_that_drips_is_given_up(machine: Machine) -> None:
    with dripping() as slow:
        (line,) = take(machine, slow, timeout=400, attempts=2)
    assert line.endswith("the time for an answer is over")


def test_nothing_is_left_running(machine: Machine) -> None:
    """The program ends by itself while a request that was given up is still open."""
    with dripping() as slow:
        task = {"url": slow, "values": True, "epsilon": 1, "timeout": 300, "attempts": 1}
        done = subprocess.run(
            machine.command("Taking"), input=json.dumps(task), capture_output=True, text=True,
            check=True, timeout=60,
        )  # fmt: skip
    assert done.stderr == ""
